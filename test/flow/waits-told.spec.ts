import axios from 'axios';
import { RateLimited } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { WaitingRuns } from '../../src/schedule/waiting-runs';
import { InstructionReader } from '../../src/submission/read-back';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { MovedClock, Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(() => payroll.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const decide = async (path: string, action: string) => {
  expect((await payroll.decide(path, { action, reason: 'the bank was asked' })).status).toBe(200);
};

/** The account is taken for one that was checked under the other unit of amounts. */
const flip = () =>
  execute(
    payroll.database.superuserUrl,
    `UPDATE employer_account SET unit_confirmed = CASE unit_confirmed WHEN 'minor' THEN 'major' ELSE 'minor' END`,
  );

describe('a run that cannot pass its gate, for the bank cannot be read', () => {
  it.each([
    ['403', 'CREDENTIALS'],
    ['404', 'ACCOUNT_UNUSABLE'],
    ['garbage', 'CONTRACT_DRIFT'],
  ])('is asked about, and goes on once it can (%s)', async (kind, asked) => {
    payroll = await Payroll.start();
    await payroll.fault({ operation: 'getAccount', kind, every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, asked);
    expect((await payroll.run(id)).status).toBe('VERIFIED');
    await payroll.clearFaults();
    if (asked === 'CREDENTIALS') await decide(path, 'RESUME');
    await payroll.untilSettled(id);
    expect(await kinds()).toEqual([]);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });
});

describe('a due run that does not get on, for the bank cannot be reached or used', () => {
  const look = () => payroll.services[0]!.app.get(WaitingRuns).tick();
  const remembered = () =>
    eventually(
      async () =>
        (await select(payroll.database.superuserUrl, 'SELECT FROM lease WHERE waits_since IS NOT NULL'))
          .length > 0,
      15_000,
    );
  const hasWaitedLong = () =>
    execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE lease SET waits_since = waits_since - interval '11 minutes' WHERE waits_since IS NOT NULL;
       UPDATE bank_payment SET last_seen_at = last_seen_at - interval '11 minutes'`,
    );
  const refusing = (method: 'sendInitiate' | 'sendAdd' | 'sendSubmit') => async () => {
    const unsent = { kind: 'no', reason: 'not-sent', why: 'ECONNREFUSED' } as const;
    const sending = jest.spyOn(payroll.services[0]!.app.get(BankGateway), method).mockResolvedValue(unsent);
    return async () => sending.mockRestore();
  };
  const failing =
    (kind: string, ...operations: string[]) =>
    async () => {
      for (const operation of operations) await payroll.fault({ operation, kind, every: 1, retryAfterS: 2 });
      return () => payroll.clearFaults();
    };
  const LISTS = ['listInstructionPaymentTransactions', 'listPaymentTransactions', 'getPaymentTransaction'];

  it.each([
    [
      'no connection to open an instruction',
      'BUILDING',
      /POST \S+: nothing was sent \(ECONNREFUSED\)/,
      refusing('sendInitiate'),
    ],
    [
      'no connection to add a payment',
      'BUILDING',
      /POST \S+\/payment-transactions: nothing was sent/,
      refusing('sendAdd'),
    ],
    ['no connection to submit', 'SUBMITTING', /POST \S+\/submit: nothing was sent/, refusing('sendSubmit')],
    [
      'its limit of requests',
      'BUILDING',
      /POST \S+\/payment-transactions: (The bank answered 429|nothing was sent \(the rate limit)/,
      failing('429', 'add'),
    ],
    [
      'payments that cannot be read',
      'BUILDING',
      /GET \S+: The bank answered 50\d/,
      failing('500-before', ...LISTS),
    ],
    [
      'an account that cannot be read',
      'VERIFIED',
      /GET \S+\/accounts\/\d+: The bank answered 50\d/,
      failing('500-before', 'getAccount'),
    ],
  ])(
    'is told with its cause once that has lasted, and closes when it gets on: %s',
    async (_, status, cause, breaks) => {
      payroll = await Payroll.start();
      const mend = await breaks();
      const id = await payroll.paid(payFile(payRows(2)));
      await remembered();
      await look();
      expect(await kinds()).toEqual([]);
      await hasWaitedLong();
      await look();
      const path = await payroll.askedAbout(id, 'DUE_BUT_WAITING');
      const { happened, certain, askBank } = (await payroll.as('operator').get(path)).data;
      expect(happened).toMatch(cause);
      expect(happened).toMatch(
        /has not got on since \d{4}-\S+Z, .*The bank takes it until \S+Z, \d+ (h|min)/,
      );
      expect(certain).toMatch(
        status === 'SUBMITTING' ? /What of this run is not submitted/ : /Nothing of this run is submitted/,
      );
      expect(askBank).toMatch(/is your interface/i);
      await look();
      expect(await kinds()).toEqual(['DUE_BUT_WAITING']);
      expect((await payroll.run(id)).status).toBe(status);
      await mend();
      await payroll.untilSettled(id);
      await look();
      expect(await kinds()).toEqual([]);
      expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
    },
  );

  it('is no more said to have nothing submitted once it has passed its gate, whatever it waits for then', async () => {
    payroll = await Payroll.start();
    await failing('500-before', 'getAccount')();
    const id = await payroll.paid(payFile(payRows(2)));
    await remembered();
    await hasWaitedLong();
    await look();
    const path = await payroll.askedAbout(id, 'DUE_BUT_WAITING');
    jest.spyOn(payroll.services[0]!.app.get(WaitingRuns), 'tick').mockResolvedValue();
    await payroll.clearFaults();
    await payroll.untilSettled(id);
    const { resolution } = (await payroll.as('operator').get(path)).data;
    expect(resolution).toBe('the run passed its gate');
  });
});

describe('a run whose account is not shown, for a limit that the bank asks to wait an hour for', () => {
  it('lapses soon after the cut-off all the same', async () => {
    let date: string;
    ({ payroll, date } = await Payroll.startOnPayday({}));
    const gateway = payroll.services[0]!.app.get(BankGateway);
    jest.spyOn(gateway, 'getAccount').mockRejectedValue(new RateLimited(3_600_000));
    const id = await payroll.paid(payFile(payRows(2)));
    const limited = `SELECT FROM lease WHERE kind = 'RUN' AND waits_for LIKE '%rate limit%'`;
    await eventually(async () => (await select(payroll.database.superuserUrl, limited)).length > 0, 15_000);
    payroll.clock.set(new Date(`${date}T16:00:01Z`));
    await payroll.askedAbout(id, 'APPROVAL_LAPSED');
  });
});

describe('a run whose account is not ready', () => {
  const UNCHECKED = 'unit_confirmed = NULL, unit_confirmed_at = NULL, unit_confirmed_by = NULL';

  it.each([
    ['of what only we can mend', UNCHECKED, /^Nothing: this is decided here\.$/],
    ['what a probe did not find out', 'probed_at = NULL', /^If a further probe .* account 1002, .*\?$/],
    ['to allow a read of payments', `reads = '{BALANCE}'`, /^Will you allow us .* account 1002 .*\?$/],
    [
      'each of several',
      `${UNCHECKED}, bank_status = 'SUSPENDED', probed_at = NULL`,
      /^If a further probe .*\? Is account 1002 open, .*\?$/,
    ],
  ])('asks the bank only what it can answer: %s', async (_, change, asked) => {
    payroll = await Payroll.start();
    await execute(payroll.database.superuserUrl, `UPDATE employer_account SET ${change}`);
    // Nobody reads meanwhile that it is open.
    await payroll.fault({ operation: 'getAccount', kind: '404', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, 'ACCOUNT_UNUSABLE');
    expect((await payroll.as('operator').get(path)).data.askBank).toMatch(asked);
  });

  it('is told anew where it waits for something else as well, and again with what is left', async () => {
    payroll = await Payroll.start({ settings: { ACCOUNT_READ_MS: '100' } });
    await execute(payroll.database.superuserUrl, `UPDATE employer_account SET ${UNCHECKED}`);
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, 'ACCOUNT_UNUSABLE');
    await axios.post(`${payroll.bank.url}/sandbox/accounts/1002/block`);
    await eventually(async () => {
      await payroll.wakeAll();
      return (await payroll.attention()).some(({ happened }) => happened.includes('SUSPENDED'));
    }, 15_000);
    expect(await payroll.askedAbout(id, 'ACCOUNT_UNUSABLE')).not.toBe(path);
    expect(await kinds()).toEqual(['ACCOUNT_UNUSABLE']);
    await axios.post(`${payroll.bank.url}/sandbox/accounts/1002/unblock`);
    await eventually(async () => {
      await payroll.wakeAll();
      return !(await payroll.attention()).some(({ happened }) => happened.includes('SUSPENDED'));
    }, 15_000);
    const left = (await payroll.as('operator').get(await payroll.askedAbout(id, 'ACCOUNT_UNUSABLE'))).data;
    expect(left.happened).toMatch(/not ready: nobody has checked the unit of amounts against its balance\.$/);
    expect(left.askBank).toBe('Nothing: this is decided here.');
    expect(await kinds()).toEqual(['ACCOUNT_UNUSABLE']);
  });
});

describe('what was submitted by a process that is now set to another unit of amounts', () => {
  const asked = async () => {
    await eventually(async () => {
      await payroll.wakeAll();
      return (await kinds()).length > 0;
    }, 15_000);
    return payroll.attention();
  };
  const noneAsked = () =>
    eventually(async () => {
      await payroll.wakeAll();
      return (await kinds()).length === 0;
    }, 20_000);
  const untilUnusable = (isAsked: boolean) =>
    eventually(async () => {
      await payroll.wakeAll();
      return (await kinds()).includes('ACCOUNT_UNUSABLE') === isAsked;
    }, 15_000);
  /** Until what is woken now has been worked on. */
  const workedOn = async (kind = 'FOLLOW') => {
    const { superuserUrl } = payroll.database;
    await payroll.wakeAll();
    const due = `SELECT FROM lease WHERE kind = $1 AND (holder IS NOT NULL OR wake_at < clock_timestamp())`;
    await eventually(async () => (await select(superuserUrl, due, [kind])).length === 0, 15_000);
  };
  /** The setting is wrong from the next submit on. */
  const flipOnIntent = () =>
    execute(
      payroll.database.superuserUrl,
      `CREATE FUNCTION flip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         UPDATE employer_account SET unit_confirmed = CASE unit_confirmed WHEN 'minor' THEN 'major' ELSE 'minor' END;
         RETURN NULL; END $$;
       CREATE TRIGGER flip AFTER UPDATE ON instruction FOR EACH ROW
         WHEN (NEW.status = 'SUBMIT_INTENT' AND OLD.status <> NEW.status) EXECUTE FUNCTION flip()`,
    );

  it('is told of as not followed where it has ended, and closes once the setting is right again', async () => {
    payroll = await Payroll.start();
    await payroll.untilSettled(await payroll.paid(payFile(payRows(2))));
    await flip();
    const told = await asked();
    expect(told).toMatchObject([
      {
        kind: 'ACCOUNT_UNUSABLE',
        happened: expect.stringMatching(/^What was submitted from account \S+ is not followed/),
      },
    ]);
    expect(told[0]!.askBank).toBe('Nothing: this is decided here.');
    await flip();
    await noneAsked();
  });

  it('is asked about no further where nobody knows the outcome of its submit, which is asked already', async () => {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '1500', BANK_LAG_BOUND_MS: '300' } });
    await payroll.parked(payRows(2));
    await flip();
    await workedOn('INSTRUCTION');
    expect(await kinds()).toEqual(['SUBMIT_UNKNOWN']);
  });

  it('is asked about in time where its submit is not answered, whatever was decided of the account before', async () => {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '1500' } });
    await payroll.untilSettled(await payroll.paid(payFile(payRows(2))));
    await flip();
    const [before] = await asked();
    await decide(payroll.path(`/attention/${before!.id}`), 'ACKNOWLEDGE');
    await flip();
    await flipOnIntent();
    const reading = jest.spyOn(payroll.services[0]!.app.get(InstructionReader), 'standing');
    await payroll.fault({ operation: 'submit', kind: 'answer-lost', nth: 1 });
    const rows = payRows(2, 11);
    const id = await payroll.paid(payFile(rows));
    const path = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    const told = (await payroll.as('finance').get(path)).data;
    expect(told).toMatchObject({ payments: 2, amount: (await payroll.run(id)).total });
    expect(told.happened).toMatch(/ It was not read, for BANK_AMOUNT_UNIT was not what its account was/);
    expect(await kinds()).toEqual(['SUBMIT_UNKNOWN']);
    expect(reading).not.toHaveBeenCalled();
    await flip();
    await payroll.untilSettled(id);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1]);
    await noneAsked();
  });

  it('is no more said to be read in another unit once the setting is right, though the bank refuses every read', async () => {
    payroll = await Payroll.start();
    await payroll.untilSettled(await payroll.paid(payFile(payRows(2))));
    await flip();
    await asked();
    const reads = ['getInstruction', 'listInstructionPaymentTransactions', 'listPaymentTransactions'];
    for (const operation of [...reads, 'getPaymentTransaction', 'getAccount'])
      await payroll.fault({ operation, kind: '403', every: 1 });
    await flip();
    await untilUnusable(false);
    expect(await kinds()).toEqual(['ROW_UNSEEN']);
  });

  it('is one question for all of an account, after which time alone tells what it told before', async () => {
    const clock = new MovedClock();
    payroll = await Payroll.start({
      clock,
      sandbox: { stepMs: 600_000, variants: { linkReads: 'allowed', submitRuns: 'at-once' } },
    });
    const ids = [await payroll.paid(payFile(payRows(2))), await payroll.paid(payFile(payRows(2, 11)))];
    for (const id of ids) await payroll.until(id, ['FOLLOWING'], 20_000);
    await flip();
    const [told, ...others] = await asked();
    expect([told?.kind, others]).toEqual(['ACCOUNT_UNUSABLE', []]);
    await decide(payroll.path(`/attention/${told!.id}`), 'ACKNOWLEDGE');
    await workedOn();
    expect(await kinds()).toEqual([]);
    clock.offsetMs = 9 * 86_400_000;
    await eventually(async () => {
      await payroll.wakeAll();
      const late = (await payroll.attention()).filter(({ kind }) => kind !== 'ACCOUNT_UNUSABLE');
      return ids.every((id) => late.some(({ payRunId }) => payRunId === id));
    }, 20_000);
    expect((await kinds()).filter((kind) => kind === 'ACCOUNT_UNUSABLE')).toEqual([]);
    await flip();
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
    for (const id of ids) await payroll.untilSettled(id);
    await noneAsked();
  });

  it('is told of again where the setting is wrong once more after it was right', async () => {
    payroll = await Payroll.start({
      sandbox: { stepMs: 600_000, variants: { linkReads: 'allowed', submitRuns: 'at-once' } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await flip();
    const [told] = await asked();
    await decide(payroll.path(`/attention/${told!.id}`), 'ACKNOWLEDGE');
    await workedOn();
    expect(await kinds()).toEqual([]);
    await flip();
    await workedOn();
    await flip();
    expect((await asked()).map(({ happened }) => happened)).toEqual([told!.happened]);
  });
});

describe('a run that got on after its account was acknowledged as one of another unit of amounts', () => {
  const LISTS = ['listInstructionPaymentTransactions', 'listPaymentTransactions', 'getPaymentTransaction'];
  const failing = async (kind: string, ...operations: string[]) => {
    for (const operation of operations) await payroll.fault({ operation, kind, every: 1, retryAfterS: 1 });
  };

  it('is asked about anew where the setting is wrong once more', async () => {
    payroll = await Payroll.start({ settings: { BANK_REJECTS_BEFORE_EXECUTING: 'true' } });
    const { superuserUrl } = payroll.database;
    const asked = async (id: string) => {
      await payroll.wakeAll();
      return payroll.askedAbout(id, 'ACCOUNT_UNUSABLE');
    };
    await failing('429', 'add');
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['BUILDING'], 20_000);
    await flip();
    await decide(await asked(id), 'ACKNOWLEDGE');
    await payroll.wakeAll();
    await payroll.letRest('INSTRUCTION');
    expect(await kinds()).toEqual([]);
    await payroll.clearFaults();
    await failing('500-before', ...LISTS);
    await flip();
    const added = `SELECT FROM bank_payment WHERE bank_payment_id IS NOT NULL`;
    await eventually(async () => {
      await payroll.wakeAll();
      return (await select(superuserUrl, added)).length === 2;
    }, 20_000);
    await flip();
    await asked(id);
  });
});

describe('a run whose process is set to another unit of amounts than its account was checked under', () => {
  it.each([
    ['while it is built', 'BUILDING', 'add'],
    ['at its gate', 'VERIFIED', 'submit'],
    ['once it is being submitted', 'SUBMITTING', 'submit'],
  ] as const)('writes no amount and sends no submit, and is asked about: %s', async (_, status, never) => {
    payroll = await Payroll.start();
    const { superuserUrl } = payroll.database;
    const [account] = await select<{ unit: string }>(
      superuserUrl,
      'SELECT unit_confirmed AS unit FROM employer_account',
    );
    const unit = account!.unit;
    await execute(
      superuserUrl,
      `CREATE FUNCTION other_unit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         UPDATE employer_account SET unit_confirmed = '${unit === 'minor' ? 'major' : 'minor'}'; RETURN NULL; END $$;
       CREATE TRIGGER other_unit AFTER UPDATE ON pay_run FOR EACH ROW
         WHEN (NEW.status = '${status}' AND OLD.status <> NEW.status) EXECUTE FUNCTION other_unit()`,
    );
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, 'ACCOUNT_UNUSABLE');
    const { happened } = (await payroll.as('operator').get(path)).data;
    expect(happened).toMatch(/the unit of amounts was checked under another BANK_AMOUNT_UNIT/);
    expect((await payroll.calls())[never] ?? 0).toBe(0);
    await execute(
      superuserUrl,
      `DROP TRIGGER other_unit ON pay_run; UPDATE employer_account SET unit_confirmed = '${unit}'`,
    );
    await payroll.untilSettled(id);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });
});
