import axios from 'axios';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { MovedClock, Payroll, PayrollOptions } from '../support/payroll';

const DAY_MS = 86_400_000;

let payroll: Payroll;
const start = async (options: PayrollOptions = {}) => {
  payroll = await Payroll.start({ rowsPerInstruction: 4, ...options });
};
const startOnPayday = async (options: PayrollOptions) => {
  const started = await Payroll.startOnPayday({ rowsPerInstruction: 4, ...options });
  ({ payroll } = started);
  return started.date;
};
const CUT_OFF_SETTINGS = { rowsPerInstruction: 1, settings: { SUBMIT_DOUBT_MS: '500' } };
afterEach(() => payroll.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind).sort();
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const bankFails = (kind: string) => payroll.fault({ operation: '*', kind, every: 1 });
const asked = (expected: readonly string[]) =>
  eventually(
    async () => JSON.stringify(await kinds()) === JSON.stringify([...expected].sort()),
    20_000,
    () => `nobody was asked about ${expected.join(' and ')}`,
  );
/** What was being read when something changed at the bank has been judged by then. */
const readTwice = async () => {
  const all = async () => Object.values(await payroll.calls()).reduce((sum, calls) => sum + calls, 0);
  const before = await all();
  await eventually(async () => (await all()) > before + 2, 15_000);
};
const submitSent = () => eventually(async () => ((await payroll.calls()).submit ?? 0) > 0, 15_000);

const resume = async () => {
  const { id } = (await payroll.attention()).find(({ kind }) => kind === 'CREDENTIALS')!;
  const path = payroll.path(`/attention/${id}`);
  const reason = 'the bank gave us new credentials';
  expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
};

describe('a submit that was not answered, at a bank that cannot be read afterwards', () => {
  it.each(['500-before', '403', 'hang-before'])(
    'is parked when the time for doubts is over, says that nothing could be read, and clears itself (%s)',
    async (kind) => {
      await start({ settings: { SUBMIT_DOUBT_MS: '5000', BANK_TIMEOUT_MS: '500' } });
      await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
      const id = await payroll.paid(payFile(payRows(4)));
      await submitSent();
      await bankFails(kind);
      await eventually(async () => (await kinds()).includes('SUBMIT_UNKNOWN'), 20_000);
      const { happened } = (await payroll.attention()).find((one) => one.kind === 'SUBMIT_UNKNOWN')!;
      expect(happened).toContain('The bank could not be read either');
      await payroll.until(id, ['FOLLOWING'], 5_000);
      await payroll.clearFaults();
      if (kind === '403') await resume();
      const [instruction] = (await payroll.run(id)).instructions;
      await payroll.submitAtBank(instruction.bankInstructionId);
      await payroll.until(id, ['SETTLED'], 20_000);
      await asked([]);
      expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    },
  );
});

describe('a submit that was not answered, of which the bank refuses to show what became', () => {
  it('stops its employer until two people resume it, and not again while the refusal lasts', async () => {
    await start({ settings: { SUBMIT_DOUBT_MS: '1000' } });
    await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    await submitSent();
    await bankFails('403');
    await asked(['CREDENTIALS', 'SUBMIT_UNKNOWN']);
    await resume();
    const reads = async () => (await payroll.calls()).getInstruction ?? 0;
    const before = await reads();
    await eventually(async () => (await reads()) > before + 2, 20_000);
    expect(await kinds()).toEqual(['SUBMIT_UNKNOWN']);
    expect((await payroll.as('operator').get(payroll.path(''))).data.stopped).toBeNull();
    await payroll.clearFaults();
    const [instruction] = (await payroll.run(id)).instructions;
    await payroll.submitAtBank(instruction.bankInstructionId);
    await payroll.until(id, ['SETTLED'], 20_000);
    await asked([]);
  });
});

describe('a submitted run whose bank cannot be read any more', () => {
  const clock = new MovedClock();
  const following = async (options: PayrollOptions = {}) => {
    clock.offsetMs = 0;
    await start({ clock, ...options, sandbox: { stepMs: 600_000, ...options.sandbox } });
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['FOLLOWING'], 15_000);
    return id;
  };
  const bankGoesOn = async (id: string) => {
    await payroll.clearFaults();
    await payroll.bankClock(new Date(Date.now() + 10 * DAY_MS));
    await payroll.until(id, ['SETTLED'], 20_000);
  };

  it.each(['403', '401'])('asks about the access that is refused, and goes on trying (%s)', async (kind) => {
    const id = await following();
    await bankFails(kind);
    await asked(['CREDENTIALS']);
    expect((await payroll.as('operator').get(payroll.path(''))).data.stopped).not.toBeNull();
    // Not resumed yet: a stopped employer is followed all the same.
    await bankGoesOn(id);
    expect(await kinds()).toEqual(['CREDENTIALS']);
    await resume();
    expect(await kinds()).toEqual([]);
  });

  it('asks about a token that is refused', async () => {
    await following({ sandbox: { variants: { tokenLifetimeS: 10 } } });
    await payroll.fault({ operation: 'token', kind: '401', every: 1 });
    await asked(['CREDENTIALS']);
  });

  it('asks by time alone where the bank is down, and not before', async () => {
    const id = await following();
    await bankFails('500-before');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await kinds()).toEqual([]);
    clock.offsetMs = 9 * DAY_MS;
    await eventually(async () => (await kinds()).includes('UNKNOWN_STATUS'), 15_000);
    const { happened } = (await payroll.attention()).find(({ kind }) => kind === 'UNKNOWN_STATUS')!;
    expect(happened).toContain('Nothing can be read');
    await bankGoesOn(id);
    await asked([]);
  });
});

describe('a bank that cannot be read while a run is being submitted', () => {
  it.each(['500-before', '403'])(
    'has what was not submitted released at the cut-off, without a read, and is asked no more about it once it can be read (%s)',
    async (kind) => {
      const date = await startOnPayday(CUT_OFF_SETTINGS);
      await payroll.fault({ operation: 'submit', kind: 'slow-drip', every: 1, delayMs: 20 });
      const id = await payroll.paid(payFile(payRows(16)), { executionDate: date });
      await submitSent();
      await bankFails(kind);
      payroll.clock.set(new Date(`${date}T16:00:01Z`));
      await payroll.until(id, ['FOLLOWING'], 30_000);
      const { instructions } = await payroll.run(id);
      const released = (instructions as { status: string }[]).filter(({ status }) => status === 'RELEASED');
      expect(released.length).toBeGreaterThan(0);
      const stale = (await payroll.attention()).filter((one) => one.kind === 'STALE_DATE');
      expect(stale).toHaveLength(released.length);
      const { data } = await payroll.as('operator').get(await payroll.askedAbout(id, 'STALE_DATE'));
      expect(data.happened).toMatch(/does not say whether somebody else submitted it: it could not be read/);
      expect(data.askBank).toMatch(/^Was customer instruction \d+ submitted by anybody/);
      await payroll.clearFaults();
      const lookAgain = `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND leased_until IS NULL`;
      const doubted = async () =>
        (await payroll.attention()).filter((one) =>
          one.happened.includes('whether somebody else submitted it'),
        );
      await eventually(async () => {
        await execute(payroll.database.superuserUrl, lookAgain);
        return (await doubted()).length === 0;
      }, 10_000);
      expect((await kinds()).filter((one) => one === 'STALE_DATE')).toHaveLength(released.length);
      const again = (await payroll.as('operator').get(await payroll.askedAbout(id, 'STALE_DATE'))).data;
      expect(again.askBank).toBe('Nothing: this is decided here.');
      const { unsubmitted } = await payroll.ledger();
      expect(unsubmitted.length).toBeGreaterThanOrEqual(released.length);
      expect((await timesPaid()).every((count) => count === 1)).toBe(true);
    },
  );
});

describe('a service that is stopped while the bank cannot be read', () => {
  it('releases nothing unread past the cut-off: a restored database may have forgotten a submit', async () => {
    const date = await startOnPayday(CUT_OFF_SETTINGS);
    await payroll.fault({ operation: 'submit', kind: 'slow-drip', every: 1, delayMs: 20 });
    const id = await payroll.paid(payFile(payRows(16)), { executionDate: date });
    await submitSent();
    await payroll.as('administrator').post('/v1/service/stop', { reason: 'restored' });
    await bankFails('500-before');
    payroll.clock.set(new Date(`${date}T16:00:01Z`));
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    const verified = async () => (await payroll.run(id)).instructionsByStatus.VERIFIED ?? 0;
    expect(await verified()).toBeGreaterThan(0);
    expect(await kinds()).not.toContain('STALE_DATE');
    await payroll.clearFaults();
    await eventually(async () => (await verified()) === 0, 20_000);
    expect(await kinds()).toContain('STALE_DATE');
  });
});

describe('a submitted instruction whose payments do not move, and nothing says why', () => {
  it('is asked about once the cut-off of the execution date has passed for a while, by what is known of it, until they move', async () => {
    const date = await startOnPayday({
      sandbox: {
        variants: { submitWaitsFor: 'strong-authentication', linkReads: 'refused', submitRuns: 'later' },
      },
    });
    const id = await payroll.paid(payFile(payRows(4)), { executionDate: date });
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await kinds()).toEqual([]);
    await bankFails('500-before');
    await readTwice();
    payroll.clock.set(new Date(`${date}T16:10:01Z`));
    const told = async () => (await payroll.as('operator').get(payroll.path('/attention'))).data.items;
    await asked(['BANK_ACTION_REQUIRED']);
    const [unread] = await told();
    expect(unread.happened).toContain(
      'is known to have moved. Nothing can be read from the bank at present.',
    );
    expect(unread.askBank).toMatch(/^Was customer instruction \d+ executed\?/);
    await payroll.clearFaults();
    await eventually(async () => (await told())[0].id !== unread.id, 15_000);
    await asked(['BANK_ACTION_REQUIRED']);
    const [one] = await told();
    expect(one).toMatchObject({ payments: 4 });
    expect(one.happened).toContain('no open payment of the submitted instruction has moved');
    expect(one.askBank).toContain('Which approval or strong authentication');
    for (const instruction of (await payroll.ledger()).instructions)
      await axios
        .post(`${payroll.bank.url}/sandbox/instructions/${instruction.id}/release`)
        .catch((error: unknown) => axios.isAxiosError(error) || Promise.reject(error as Error));
    await payroll.until(id, ['SETTLED'], 20_000);
    await asked([]);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });
});

describe('a list of payments that is full and always the same, where no other read tells whether it is whole', () => {
  it('is told to a person long before the cut-off, since reading it again tells no more', async () => {
    await start({
      rowsPerInstruction: 20,
      sandbox: { variants: { instructionList: 'whole', linkReads: 'allowed' } },
    });
    for (const operation of ['getInstruction', 'listPaymentTransactions', 'getPaymentTransaction'])
      await payroll.fault({ operation, kind: '403', every: 1 });
    const probed = await payroll.as('operator').post(payroll.path(`/accounts/${payroll.account}/probe`));
    expect(probed.data.reads).toEqual(['INSTRUCTION_PAYMENTS', 'BALANCE']);
    const id = await payroll.paid(payFile(payRows(20)));
    await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    const told = await payroll.attention();
    expect(told.map((one) => one.happened)).toEqual([
      expect.stringContaining('it shows the same page again'),
    ]);
    expect(told.map((one) => one.askBank)).toEqual([
      expect.stringMatching(/GET \S+\/customer-instructions\/\d+\/payment-transactions /),
    ]);
    expect(await timesPaid()).toEqual([]);
  });
});

describe('answers to reads that cannot be read', () => {
  const READS = ['getInstruction', 'listInstructionPaymentTransactions'];
  const everAsked = () =>
    select(payroll.database.superuserUrl, 'SELECT kind, resolution FROM attention ORDER BY opened_at');
  /** Until nobody is asked, with no pause of ours in between. */
  const closed = () =>
    eventually(async () => {
      await payroll.wakeAll();
      return (await kinds()).length === 0;
    }, 15_000);

  it.each(['garbage', 'truncated'])(
    'come again at once where it was one of them: nobody is asked and nothing waits (%s)',
    async (kind) => {
      await start({ sandbox: { variants: { linkReads: 'allowed' } } });
      for (const operation of READS) for (const nth of [1, 3]) await payroll.fault({ operation, kind, nth });
      // One instruction: with two, a third read may be the one asked again.
      const id = await payroll.paid(payFile(payRows(4)));
      await payroll.until(id, ['SETTLED'], 15_000);
      expect(await everAsked()).toEqual([]);
      expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    },
  );

  it.each([
    ['while it is built', 0, 'a later read showed every row as approved'],
    ['while it is followed', 600_000, 'a later read followed the interface'],
  ])('are asked about as long as they last, %s', async (_when, stepMs, resolution) => {
    await start({ sandbox: { stepMs, variants: { linkReads: 'allowed' } } });
    const broken = async () => {
      for (const operation of READS) await payroll.fault({ operation, kind: 'garbage', every: 1 });
    };
    if (stepMs === 0) await broken();
    const id = await payroll.paid(payFile(payRows(4)));
    if (stepMs > 0) {
      await payroll.until(id, ['FOLLOWING'], 15_000);
      await broken();
    }
    await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    await payroll.clearFaults();
    await closed();
    expect(await everAsked()).toEqual([{ kind: 'CONTRACT_DRIFT', resolution }]);
  });
});

describe('what ended, of which a list answers what cannot be used', () => {
  it('is asked about until a list is read again, whatever the instruction itself shows', async () => {
    await start({
      settings: { SUBMIT_DOUBT_MS: '3600000', FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    await payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 20_000);
    await eventually(async () => (await leases('holder IS NULL AND woken_at IS NULL')).length === 1, 5_000);
    await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
    await payroll.fault({ operation: 'listInstructionPaymentTransactions', kind: 'garbage', every: 1 });
    payroll.clock.offsetMs += 7_200_000;
    await execute(payroll.database.superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
    await asked(['CONTRACT_DRIFT']);
    await payroll.clearFaults();
    await eventually(async () => (await leases('holder IS NULL')).length === 1, 5_000);
    await execute(payroll.database.superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
    await payroll.restsForADay();
    expect(await kinds()).toEqual(['CONTRACT_DRIFT']);
    await payroll.aDayLater();
    expect(await kinds()).toEqual([]);
  });

  const leases = (are: string) =>
    select(payroll.database.superuserUrl, `SELECT FROM lease WHERE kind = 'FOLLOW' AND ${are}`);
});
