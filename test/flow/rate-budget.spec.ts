import axios from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import type { SandboxOptions } from '../../src/bank-sandbox/sandbox';
import { BankGateway } from '../../src/bank/gateway';
import type { BankInstruction } from '../../src/bank/records';
import { addDays } from '../../src/domain/calendar';
import { BankReads } from '../../src/employer/bank-reads';
import { InstructionReader, Otherwise } from '../../src/submission/read-back';
import type { BankRead } from '../../src/employer/employer.entity';
import { payFile, payRows } from '../support/pay-rows';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
import { MovedClock, Payroll } from '../support/payroll';
import { passThrough } from '../support/payments-shown';

type Shown = Awaited<ReturnType<BankReads['payments']>>;

/** Ten turns a second, less the tenth that is kept back. */
const PER_MINUTE = 600;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const callsOf = async (payroll: Payroll) =>
  Object.values(await payroll.calls()).reduce((sum, count) => sum + count, 0);

async function shared(payroll: Payroll): Promise<{ learned: number | null; pauseLeftMs: number }> {
  const [row] = await select<{ learned: number | null; left: string }>(
    payroll.database.superuserUrl,
    `SELECT learned_per_minute AS learned, extract(epoch FROM paused_until - clock_timestamp()) * 1000 AS left
     FROM bank_rate`,
  );
  return { learned: row?.learned ?? null, pauseLeftMs: Number(row?.left) };
}

/** Asks one of the replicas for what it must ask the bank for. @returns the status of its answer */
async function askBankThrough(payroll: Payroll, replica: number): Promise<number> {
  payroll.url = payroll.services[replica]!.url;
  const { status } = await payroll.as('operator').get(payroll.path('/bank-accounts'));
  return status;
}

describe('the budget of requests that replicas share', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('keeps two replicas together at the pace of the limit, and the bank turns nothing away', async () => {
    payroll = await Payroll.start({
      replicas: 2,
      rowsPerInstruction: 5,
      sandbox: { variants: { requestsPerMinute: PER_MINUTE } },
      settings: { BANK_REQUESTS_PER_MINUTE: String(PER_MINUTE) },
    });
    const began = Date.now();
    const before = await callsOf(payroll);
    const id = await payroll.paid(payFile(payRows(30)));
    const { estimate } = await payroll.run(id);
    await payroll.until(id, ['FOLLOWING', 'SETTLED'], 30_000);
    const [sent, seconds] = [(await callsOf(payroll)) - before, (Date.now() - began) / 1_000];
    // Nine a second evenly, and of the tenth kept back at most the six submits at once; late what was given before.
    expect(sent).toBeLessThanOrEqual(9 * seconds + 6 + 2 + 8);
    expect(seconds).toBeGreaterThan(5);
    // Which counts what is read again where a reading, or a turn, takes long.
    expect(estimate.requests).toBeLessThan(2 * sent);
    expect(estimate.seconds).toBeGreaterThan(estimate.requests / 10);
    await payroll.until(id, ['SETTLED'], 30_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual(Array(30).fill(1));
    expect((await shared(payroll)).pauseLeftMs).toBeLessThan(0);
  });

  it('slows both down to a limit that the bank names, before it turns anything away', async () => {
    payroll = await Payroll.start({
      replicas: 2,
      sandbox: { stepMs: 600_000, variants: { requestsPerMinute: 240 } },
      settings: { FOLLOW_DELAYS_MS: '10', ACCOUNT_READ_MS: '50' },
    });
    await payroll.paid(payFile(payRows(2)));
    await eventually(async () => ((await payroll.calls()).submit ?? 0) > 0, 30_000);
    expect((await shared(payroll)).learned).toBe(240);
    const [before, began] = [await callsOf(payroll), Date.now()];
    await pause(4_000);
    const [sent, seconds] = [(await callsOf(payroll)) - before, (Date.now() - began) / 1_000];
    // A busy machine sends late what it was given before; without a limit it would be a hundred times as much.
    expect(sent).toBeLessThanOrEqual(3.6 * seconds + 3 + 8);
    expect(sent).toBeGreaterThan(3);
    expect((await shared(payroll)).pauseLeftMs).toBeLessThan(0);
  });

  it('pauses the other replica too when one is told 429, and a replica that is started meanwhile', async () => {
    payroll = await Payroll.start({
      replicas: 2,
      settings: { BANK_REQUESTS_PER_MINUTE: '6000' },
    });
    await payroll.fault({ operation: 'listAccounts', kind: '429', nth: 1, retryAfterS: 6 });
    const told = Date.now();
    const refused = askBankThrough(payroll, 0);
    await eventually(async () => (await shared(payroll)).pauseLeftMs > 0, 1_000);
    const before = await callsOf(payroll);
    expect(await askBankThrough(payroll, 1)).toBe(200);
    expect(await refused).toBe(200);
    expect(Date.now() - told).toBeGreaterThan(5_900);
    expect((await callsOf(payroll)) - before).toBeGreaterThan(0);

    await payroll.fault({ operation: 'listAccounts', kind: '429', nth: 1, retryAfterS: 600 });
    expect(await askBankThrough(payroll, 0)).toBe(503);
    await eventually(async () => (await shared(payroll)).pauseLeftMs > 500_000, 1_000);
    await payroll.stopServices();
    await payroll.addReplica();
    const stopped = await callsOf(payroll);
    expect(await askBankThrough(payroll, 0)).toBe(503);
    expect(await callsOf(payroll)).toBe(stopped);
  });
});

describe('a limit at which each request waits for its turn', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  /** Three requests a minute are allowed from now on, and time passes twenty times as fast. */
  const slowDown = async () => {
    await execute(
      payroll.database.superuserUrl,
      `CREATE FUNCTION pass_faster() RETURNS trigger LANGUAGE plpgsql AS $$
         DECLARE due timestamptz = greatest(OLD.next_due_at, clock_timestamp());
         BEGIN NEW.next_due_at = due + (NEW.next_due_at - due) / 20; RETURN NEW; END $$;
       CREATE TRIGGER passes_faster BEFORE UPDATE OF next_due_at ON bank_rate
         FOR EACH ROW EXECUTE FUNCTION pass_faster()`,
    );
    await payroll.stopServices();
    for (let n = 0; n < 2; n += 1) await payroll.addReplica({ BANK_REQUESTS_PER_MINUTE: '3' });
    payroll.url = payroll.services[0]!.url;
  };

  /** However slow the machine, a turn that was given is not lost by the time the submit is written down. */
  const keepTurns = () => {
    for (const { app } of payroll.services) {
      const gateway = app.get(BankGateway);
      const { sendSubmit } = gateway;
      jest.spyOn(gateway, 'sendSubmit').mockImplementation((prepared, { turn, ...leaving } = {}) => {
        const kept = turn && { atMs: performance.now() };
        return sendSubmit.call(gateway, prepared, { ...leaving, turn: kept });
      });
    }
  };

  it('has a run submitted at the first try, also while another replica is busy', async () => {
    ({ payroll } = await Payroll.startOnPayday({
      replicas: 2,
      rowsPerInstruction: 2,
    }));
    await slowDown();
    keepTurns();
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 60_000);
    const tries = await select(payroll.database.superuserUrl, 'SELECT outcome FROM submit_attempt');
    expect(tries).toEqual([{ outcome: 'EXECUTED' }]);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('gives no turn to adds any more once the service is stopped, which are made by the next one', async () => {
    payroll = await Payroll.start();
    await payroll.stopServices();
    payroll.url = (await payroll.addReplica({ BANK_REQUESTS_PER_MINUTE: '30' })).url;
    const id = await payroll.paid(payFile(payRows(20)));
    await eventually(async () => ((await payroll.calls()).add ?? 0) > 0, 30_000);
    // What is under way besides waits for its turn, and not for those of the adds.
    const { superuserUrl } = payroll.database;
    await execute(superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'ACCOUNT'`);
    const isRead = async () =>
      (await select(superuserUrl, `SELECT FROM lease WHERE kind = 'ACCOUNT' AND holder IS NOT NULL`)).length >
      0;
    await eventually(isRead, 5_000);
    const askedMs = performance.now();
    await payroll.stopServices();
    // The turns of all the adds would be forty seconds.
    expect(performance.now() - askedMs).toBeLessThan(20_000);
    const { add } = await payroll.calls();
    await pause(5_000);
    expect((await payroll.calls()).add).toBe(add);
    const open = 'SELECT FROM add_intent WHERE finished_at IS NULL';
    expect(await select(payroll.database.superuserUrl, open)).toEqual([]);
    payroll.url = (await payroll.addReplica()).url;
    await payroll.until(id, ['SETTLED']);
    expect((await payroll.run(id)).instructions).toMatchObject([{ attempt: 1 }]);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual(Array(20).fill(1));
  });
});

describe('a bank that takes ten adds in a second, and names no limit', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is sent fewer at once, and then ever more slowly, until it turns none away', async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 80 });
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { sendAdd } = gateway;
    const sent: number[] = [];
    const turnedAway: number[] = [];
    jest.spyOn(gateway, 'sendAdd').mockImplementation((add, givenUp) => {
      const nowMs = performance.now();
      if (sent.filter((atMs) => atMs > nowMs - 1_000).length < 10) {
        sent.push(nowMs);
        return sendAdd.call(gateway, add, givenUp);
      }
      turnedAway.push(nowMs);
      const pause = { retryAfterMs: 1_000, isVague: true };
      return Promise.resolve({ kind: 'no', reason: 'rate-limited', status: 429, ...pause });
    });
    const id = await payroll.paid(payFile(payRows(80)));
    await payroll.until(id, ['SETTLED'], 60_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual(Array(80).fill(1));
    expect(turnedAway.length).toBeLessThan(50);
  });
});

describe('a bank that shows payments each by itself alone, and names no limit', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('has a run submitted that is larger than what it shows at once', async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 10,
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    await payroll.letsRead('PAYMENT');
    await payroll.fault({ operation: 'getPaymentTransaction', kind: '429', every: 8, retryAfterS: 1 });
    const id = await payroll.paid(payFile(payRows(10)));
    await payroll.until(id, ['SETTLED'], 60_000);
    const tries = await select(payroll.database.superuserUrl, 'SELECT outcome FROM submit_attempt');
    expect(tries).toEqual([{ outcome: 'EXECUTED' }]);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual(Array(10).fill(1));
  });
});

/** The next submit waits for its turn until it is let go. */
function holdsTurn({ services }: Payroll): { waits: () => Promise<void>; letGo: () => void } {
  const gateway = services[0]!.app.get(BankGateway);
  const turnToSubmit = gateway.turnToSubmit.bind(gateway);
  let itsTurn: (() => void) | undefined;
  jest.spyOn(gateway, 'turnToSubmit').mockImplementationOnce(async () => {
    await new Promise<void>((resolve) => (itsTurn = resolve));
    return turnToSubmit();
  });
  return { waits: () => eventually(async () => itsTurn !== undefined, 20_000), letGo: () => itsTurn?.() };
}

describe('a submit that has waited for its turn until the service is stopped', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is not begun any more, and is sent once by the next one', async () => {
    payroll = await Payroll.start();
    const { waits, letGo } = holdsTurn(payroll);
    const id = await payroll.paid(payFile(payRows(2)));
    await waits();
    const stopped = payroll.stopServices();
    await pause(500);
    letGo();
    await stopped;
    const attempts = 'SELECT outcome FROM submit_attempt';
    expect(await select(payroll.database.superuserUrl, attempts)).toEqual([]);
    payroll.url = (await payroll.addReplica()).url;
    await payroll.until(id, ['SETTLED']);
    expect(await select(payroll.database.superuserUrl, attempts)).toEqual([{ outcome: 'EXECUTED' }]);
  });
});

describe('a submit that waits for its turn longer than what was read before it holds', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  /** A submit waits for its turn, until it is let go; then the bank has been asked nothing for six seconds. */
  async function waiting(
    meanwhile: (runId: string) => Promise<unknown>,
    { reads, shown }: { reads?: BankRead[]; shown?: Partial<BankInstruction> } = {},
  ) {
    payroll = await Payroll.start({ sandbox: { variants: { secondSubmit: 'executed' } } });
    if (reads) await payroll.letsRead(...reads);
    if (shown) shows(shown);
    const { waits, letGo } = holdsTurn(payroll);
    const id = await payroll.paid(payFile(payRows(2)));
    await waits();
    await meanwhile(id);
    await pause(6_000);
    letGo();
    return id;
  }
  /** From now on the bank shows instructions so. */
  const shows = (otherwise: Partial<BankInstruction>) => {
    const reads = payroll.services[0]!.app.get(BankReads);
    const { instruction } = BankReads.prototype;
    jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
      const shown = await instruction.apply(reads, asked);
      return shown && { ...shown, ...otherwise };
    });
  };
  const itsId = async (runId: string): Promise<string> =>
    (await payroll.run(runId)).instructions[0].bankInstructionId;
  const submitted = async (runId: string) => payroll.submitAtBank(await itsId(runId));
  const attempts = () => select(payroll.database.superuserUrl, 'SELECT outcome FROM submit_attempt');
  const submits = async () =>
    (await payroll.ledger()).instructions.flatMap((one) => (one.submits > 0 ? one.submits : []));

  it.each([
    ['which is read by itself', undefined],
    ['of which its payments alone are shown', ['INSTRUCTION_PAYMENTS']],
  ] satisfies [string, BankRead[]?][])(
    'is not sent where somebody else submitted the instruction meanwhile, %s',
    async (_which, reads) => {
      const id = await waiting(submitted, { reads });
      await eventually(
        async () => (await payroll.attention()).length + (await attempts()).length > 0,
        15_000,
      );
      expect(await attempts()).toEqual([]);
      await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
      expect(await submits()).toEqual([1]);
      expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
    },
  );

  const withoutTotals = { calculatedCount: undefined, calculatedTotalMinor: undefined };
  it.each<[string, string, (runId: string) => Promise<void>, Partial<BankInstruction> | undefined]>([
    [
      'a payment was added to what the bank shows no totals of',
      'FOREIGN_RECORD',
      async (runId) => payroll.addAtBank(await itsId(runId)),
      withoutTotals,
    ],
    [
      'it is to be executed earlier',
      'ECHO_MISMATCH',
      async () => shows({ executionDate: addDays(payroll.executionDate(), -1) }),
      undefined,
    ],
  ])('is not sent where meanwhile %s', async (_what, kind, meanwhile, shown) => {
    const id = await waiting(meanwhile, { shown });
    await eventually(async () => (await payroll.attention()).length + (await attempts()).length > 0, 15_000);
    expect(await attempts()).toEqual([]);
    await payroll.askedAbout(id, kind);
    expect(await submits()).toEqual([]);
  });

  /** A run that pays again what failed, not approved yet, and the instruction that it replaces. */
  async function payingAgain(sandbox?: SandboxOptions) {
    const FAILS = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;
    payroll = await Payroll.start({ settings: { FOLLOW_DELAYS_MS: '600000' }, sandbox });
    const parent = await payroll.paid(payFile(payRows(1).map((row) => ({ ...row, iban: FAILS }))));
    await eventually(async () => {
      const follow = `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`;
      await execute(payroll.database.superuserUrl, follow);
      return (await payroll.run(parent)).status === 'FAILED';
    }, 20_000);
    const { data: run } = await payroll.successorOf(parent);
    // Only the look before the submit is to meet what was executed.
    await payroll.letRest('FOLLOW');
    return { run, replaced: await itsId(parent) };
  }
  /** From now on what is shown of an instruction's payments passes through this. */
  const paymentsOf = (id: string, through: (shown: Shown) => Shown | Promise<Shown>) => {
    const reads = payroll.services[0]!.app.get(BankReads);
    passThrough(reads, (shown, { bankInstructionId }) => (bankInstructionId === id ? through(shown) : shown));
  };

  it.each([
    ['', undefined],
    [', once all was read again for long', 2_500],
  ])('is not sent where what it pays again was executed meanwhile%s', async (_when, readMs) => {
    const { run, replaced } = await payingAgain();
    const { waits, letGo } = readMs === undefined ? holdsTurn(payroll) : readsFor(readMs);
    await payroll.approve(run);
    await waits();
    paymentsOf(replaced, (shown) => shown.map((one) => ({ ...one, status: 'SETTLED' })));
    await pause(6_000);
    letGo();
    const tried = async () => (await attempts()).length > 1 || (await payroll.run(run.id)).stopped !== null;
    await eventually(tried, 15_000);
    expect(await attempts()).toHaveLength(1);
    await payroll.askedAbout(run.id, 'REPLACED_PAYMENT_MOVED');
  });

  /** Each pair of turns is waited for so long from now on. */
  const pairsTake = (ms: number, passes = pause) => {
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { turnToSubmitAfter } = gateway;
    return jest.spyOn(gateway, 'turnToSubmitAfter').mockImplementation(async (read) => {
      await passes(ms);
      return turnToSubmitAfter.call(gateway, read);
    });
  };
  /** From now on what is read grows as old as is said, and no older however long it takes. @returns how to say it */
  const agesAsSaid = (): ((ms: number) => Promise<void>) => {
    let passedMs = 0;
    jest.spyOn(payroll.clock, 'within').mockImplementation((ms) => {
      const setMs = passedMs;
      return () => passedMs - setMs <= ms;
    });
    return async (ms) => {
      passedMs += ms;
    };
  };

  it.each([
    ['nobody again', async () => (payroll = await Payroll.start()).uploaded(payFile(payRows(1)))],
    ['again what another did not', async () => (await payingAgain()).run],
  ])('is looked at once where its turns come within three seconds, and it pays %s', async (_whom, made) => {
    const run = await made();
    const passes = agesAsSaid();
    const pairs = pairsTake(3_000, passes);
    const { waits, letGo } = holdsTurn(payroll);
    await payroll.approve(run);
    await waits();
    await passes(3_000);
    letGo();
    await eventually(
      async () => ['FOLLOWING', 'SETTLED'].includes((await payroll.run(run.id)).status),
      20_000,
    );
    expect(pairs).toHaveBeenCalledTimes(1);
  });

  it('is not sent on a look at what it pays again of a minute ago, and waits for one that is later', async () => {
    const { run, replaced } = await payingAgain();
    const { clock } = payroll;
    const { within } = clock;
    // What must leave within a minute is looked at for four seconds.
    jest.spyOn(clock, 'within').mockImplementation((ms) => within.call(clock, ms === 55_000 ? 4_000 : ms));
    const pairs = pairsTake(5_500);
    const { waits, letGo } = holdsTurn(payroll);
    await payroll.approve(run);
    await waits();
    await pause(3_000);
    letGo();
    const told = `SELECT FROM lease WHERE kind = 'INSTRUCTION' AND holder IS NULL
      AND waits_for LIKE 'this service: reading what it pays again in the minute before its submit (tried for %'
      AND wake_at > now() + interval '1 minute'`;
    await eventually(async () => (await select(payroll.database.superuserUrl, told)).length === 1, 40_000);
    expect(pairs).toHaveBeenCalledTimes(3);
    paymentsOf(replaced, (shown) => shown.map((one) => ({ ...one, status: 'SETTLED' })));
    await payroll.wakeAll();
    await payroll.askedAbout(run.id, 'REPLACED_PAYMENT_MOVED');
    expect(await attempts()).toHaveLength(1);
  });

  it('is not sent where somebody submitted it while what it pays again was looked at for long', async () => {
    const { run, replaced } = await payingAgain({ variants: { secondSubmit: 'executed' } });
    const { waits, letGo } = holdsTurn(payroll);
    await payroll.approve(run);
    await waits();
    let isLooking = false;
    paymentsOf(replaced, async (shown) => {
      if (isLooking) return shown;
      isLooking = true;
      await submitted(run.id);
      await pause(6_000);
      return shown;
    });
    await pause(3_000);
    letGo();
    await payroll.askedAbout(run.id, 'UNRECORDED_SUBMIT');
    expect(isLooking).toBe(true);
    expect(await attempts()).toHaveLength(1);
  });

  /**
   * All of an instruction that is to be submitted, whose totals are not shown, takes so long to read. Once it was read again the
   * next turn waits for somebody.
   */
  function readsFor(ms: number): { reads: () => number; waits: () => Promise<void>; letGo: () => void } {
    shows(withoutTotals);
    const { app } = payroll.services[0]!;
    const [reader, gateway] = [app.get(InstructionReader), app.get(BankGateway)];
    const { readBack } = reader;
    let reads = 0;
    jest.spyOn(reader, 'readBack').mockImplementation(async (work, rows) => {
      const read = await readBack.call(reader, work, rows);
      if (work.run.status !== 'SUBMITTING') return read;
      await pause(ms);
      reads += 1;
      return read;
    });
    let [itsTurn, isHeld]: [(() => void)?, boolean?] = [];
    const held = async () => {
      if (reads < 2 || isHeld) return;
      isHeld = true;
      await new Promise<void>((resolve) => (itsTurn = resolve));
    };
    const { turnToSubmit, turnToSubmitAfter } = gateway;
    jest.spyOn(gateway, 'turnToSubmit').mockImplementation(async () => {
      await held();
      return turnToSubmit.call(gateway);
    });
    jest.spyOn(gateway, 'turnToSubmitAfter').mockImplementation(async (read) => {
      await held();
      return turnToSubmitAfter.call(gateway, read);
    });
    const waits = () => eventually(async () => itsTurn !== undefined, 20_000);
    return { reads: () => reads, waits, letGo: () => itsTurn?.() };
  }

  it.each<[string, string, (runId: string) => Promise<void>]>([
    ['somebody else submitted it', 'UNRECORDED_SUBMIT', submitted],
    ['a payment was added to it', 'FOREIGN_RECORD', async (runId) => payroll.addAtBank(await itsId(runId))],
    [
      'it is to be executed earlier',
      'ECHO_MISMATCH',
      async () => shows({ ...withoutTotals, executionDate: addDays(payroll.executionDate(), -1) }),
    ],
  ])(
    'is not sent where, once all was read again for long, it waits anew and %s',
    async (_what, kind, meanwhile) => {
      payroll = await Payroll.start({ sandbox: { variants: { secondSubmit: 'executed' } } });
      const { waits, letGo } = readsFor(2_500);
      const id = await payroll.paid(payFile(payRows(2)));
      await waits();
      await meanwhile(id);
      await pause(6_000);
      letGo();
      await eventually(
        async () => (await payroll.attention()).length + (await attempts()).length > 0,
        25_000,
      );
      expect(await attempts()).toEqual([]);
      await payroll.askedAbout(id, kind);
    },
  );

  it('is sent once where all is read too long each time, and the turn comes too late each time', async () => {
    payroll = await Payroll.start();
    const { reads, waits, letGo } = readsFor(5_500);
    const id = await payroll.paid(payFile(payRows(2)));
    await waits();
    await pause(6_000);
    letGo();
    await payroll.until(id, ['SETTLED']);
    expect([await attempts(), await submits(), reads()]).toEqual([[{ outcome: 'EXECUTED' }], [1], 3]);
  });

  it('is sent once where nothing but its payments is shown, and a turn of its own comes too late each time', async () => {
    payroll = await Payroll.start();
    await payroll.letsRead('INSTRUCTION_PAYMENTS');
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { turnToSubmit, turnToSubmitAfter } = gateway;
    jest.spyOn(gateway, 'turnToSubmit').mockImplementation(async () => {
      await pause(6_000);
      return turnToSubmit.call(gateway);
    });
    jest.spyOn(gateway, 'turnToSubmitAfter').mockImplementation(async (read) => {
      const { answer } = await turnToSubmitAfter.call(gateway, read);
      return { answer };
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect([await attempts(), await submits()]).toEqual([[{ outcome: 'EXECUTED' }], [1]]);
  });

  it('leaves open what is asked about it until its turn has come, where it is not shown whole then', async () => {
    payroll = await Payroll.start();
    const reader = payroll.services[0]!.app.get(InstructionReader);
    const { readBack } = reader;
    const lacking: Otherwise = {
      kind: 'fewer',
      judgement: { kind: 'fewer', matched: new Map(), missing: [1] },
    };
    let [isWhole, reads] = [false, 0];
    jest.spyOn(reader, 'readBack').mockImplementation(async (work, rows) => {
      const read = await readBack.call(reader, work, rows);
      if (work.instruction.status !== 'VERIFIED') return read;
      reads += 1;
      return isWhole ? read : lacking;
    });
    const again = jest.spyOn(reader, 'readAgain').mockResolvedValueOnce(lacking);
    const readOn = (enough: () => boolean) =>
      eventually(async () => {
        await payroll.wakeAll();
        return enough();
      }, 15_000);
    const id = await payroll.paid(payFile(payRows(2)));
    await readOn(() => reads > 1);
    await execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET missing_since = missing_since - interval '11 minutes' WHERE missing IS NOT NULL`,
    );
    await readOn(() => reads > 4);
    const path = await payroll.askedAbout(id, 'ROW_UNSEEN');
    const { waits, letGo } = holdsTurn(payroll);
    isWhole = true;
    await payroll.wakeAll();
    await waits();
    isWhole = false;
    await pause(3_000);
    letGo();
    await eventually(() => again.mock.calls.length > 0, 15_000);
    const before = reads;
    await readOn(() => reads > before + 1);
    expect(await payroll.askedAbout(id, 'ROW_UNSEEN')).toBe(path);
    isWhole = true;
    await payroll.untilSettled(id);
    expect(await payroll.attention()).toEqual([]);
  });

  it('is sent once though the bank shows no totals, where nothing was added', async () => {
    const id = await waiting(() => Promise.resolve(), { shown: withoutTotals });
    await payroll.until(id, ['SETTLED']);
    expect([await attempts(), await submits()]).toEqual([[{ outcome: 'EXECUTED' }], [1]]);
  });

  it('is sent once after one more read where nobody did', async () => {
    let before = 0;
    const id = await waiting(async () => (before = (await payroll.calls()).getInstruction ?? 0));
    await eventually(async () => (await payroll.calls()).submit === 1, 10_000);
    expect((await payroll.calls()).getInstruction).toBeGreaterThan(before);
    await payroll.until(id, ['SETTLED']);
    expect(await attempts()).toEqual([{ outcome: 'EXECUTED' }]);
  });

  it('is not sent where that read fails, and waits for one that does not', async () => {
    const id = await waiting(() =>
      payroll.fault({ operation: 'getInstruction', kind: '500-before', nth: 1 }),
    );
    await payroll.until(id, ['SETTLED'], 30_000);
    expect(await attempts()).toEqual([{ outcome: 'EXECUTED' }]);
    expect(await submits()).toEqual([1]);
  });
});

describe('the estimate of a run', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  const emptyAccount = async () => {
    const url = `${payroll.bank.url}/sandbox`;
    const { data } = await axios.get<{ accountId: string; balance: string }[]>(`${url}/portal/accounts`);
    const { accountId, balance } = data.find((one) => one.accountId === '1002')!;
    await axios.post(`${url}/postings`, { accountId, type: 'FEE', amountMinor: balance.replace('.', '') });
  };

  it.each([
    ['a bank without links, whose general list is read for each instruction', 'refused'],
    ['a bank whose pages are small', 'allowed'],
  ] as const)('is not below what its sending asks of %s', async (_what, linkReads) => {
    payroll = await Payroll.start({
      rowsPerInstruction: 5,
      sandbox: { variants: { linkReads, maxPageSize: 2 } },
    });
    await payroll.until(await payroll.paid(payFile(payRows(15))), ['SETTLED'], 40_000);
    // The second look at what has just ended is not of this run.
    await payroll.restsForADay();
    const run = await payroll.uploaded(payFile(payRows(15, 100)));
    const { estimate } = await payroll.run(run.id);
    // Built, it waits for money: what was asked so far is one reading of each instruction, and the gates need another.
    await emptyAccount();
    const before = await payroll.calls();
    await payroll.approve(run);
    await payroll.until(run.id, ['VERIFIED'], 40_000);
    const now = await payroll.calls();
    const asked = (...operations: string[]) =>
      operations.reduce((sum, one) => sum + (now[one] ?? 0) - (before[one] ?? 0), 0);
    const built = asked('initiate', 'add');
    const reading = asked('getInstruction', 'listPaymentTransactions', 'listInstructionPaymentTransactions');
    expect([built, asked('submit')]).toEqual([3 + 15, 0]);
    expect(reading).toBeGreaterThan(9);
    const submits = 3;
    expect(estimate.requests).toBeGreaterThanOrEqual(built + 2 * reading + 1 + submits);
    expect(estimate.requests).toBeLessThan(3 * (built + 2 * reading + 1 + submits));
  });
});

describe('the estimate of a run that pays again what another did not', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  const followNow = () =>
    execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
    );

  const SENDING =
    'initiate add submit getAccount getInstruction listPaymentTransactions ' +
    'listInstructionPaymentTransactions getPaymentTransaction';
  const askedSince = async (before: Record<string, number>): Promise<number> => {
    const now = await payroll.calls();
    return SENDING.split(' ').reduce((sum, one) => sum + (now[one] ?? 0) - (before[one] ?? 0), 0);
  };

  it.each([
    ['a bank without links, whose general list is read each time', 'refused', 4],
    ['a bank whose pages are small', 'allowed', 3],
  ] as const)('is not below what its sending asks of %s', async (_what, linkReads, most) => {
    payroll = await Payroll.start({
      rowsPerInstruction: 5,
      settings: { FOLLOW_DELAYS_MS: '600000' },
      sandbox: { variants: { linkReads, maxPageSize: 2 } },
    });
    const iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;
    const rows = payRows(15).map((row, n) => ({ ...row, name: 'Ann Smith', iban, amount: `${100 + n}.00` }));
    const parent = await payroll.paid(payFile(rows));
    await eventually(async () => {
      await followNow();
      return (await payroll.run(parent)).status === 'FAILED';
    }, 40_000);
    const executionDate = payroll.executionDate();
    const made = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${parent}/successor`), { executionDate, submitAt: new Date() });
    expect([made.status, made.data.payments]).toEqual([201, 15]);
    await payroll.letRest('FOLLOW');
    const { estimate } = await payroll.run(made.data.id);
    const before = await payroll.calls();
    await payroll.approve(made.data);
    await payroll.until(made.data.id, ['FOLLOWING'], 40_000);
    const asked = await askedSince(before);
    expect(estimate.requests).toBeGreaterThanOrEqual(asked);
    // Of up to four looks before each submit, five where no instruction can be read, one is needed here.
    expect(estimate.requests).toBeLessThan(most * asked);
  });

  it('counts each payment that the list of its instruction lacks, by itself, and is not below what its sending asks', async () => {
    payroll = await Payroll.start({
      settings: { FOLLOW_DELAYS_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;
    const rows = payRows(3).map((row, n) => ({ ...row, name: 'Ann Smith', iban, amount: `${100 + n}.00` }));
    const parent = await payroll.paid(payFile(rows));
    await eventually(async () => {
      await followNow();
      return (await payroll.run(parent)).status === 'FAILED';
    }, 40_000);
    await payroll.letRest('FOLLOW');
    const [{ bankInstructionId }] = (await payroll.run(parent)).instructions;
    const bank = payroll.services[0]!.app.get(BankGateway);
    const { listInstructionPayments } = bank;
    jest.spyOn(bank, 'listInstructionPayments').mockImplementation(async function* (...asked) {
      for await (const one of listInstructionPayments.apply(bank, asked)) {
        yield one;
        if (asked[0] === bankInstructionId) return;
      }
    });
    const before = (await payroll.calls()).listPaymentTransactions;
    const made = await payroll.successorOf(parent);
    expect(made.status).toBe(201);
    // The general list is searched once, and not for what its own lacks.
    expect((await payroll.calls()).listPaymentTransactions).toBe((before ?? 0) + 2);
    const { estimate } = await payroll.run(made.data.id);
    await execute(payroll.database.superuserUrl, 'UPDATE bank_list SET lacked_at = NULL');
    const { estimate: unaware } = await payroll.run(made.data.id);
    const [ids] = await select<{ count: number }>(
      payroll.database.superuserUrl,
      'SELECT (count(bank_payment_id) + count(bank_transaction_id))::int AS count FROM bank_payment',
    );
    // For the gate, and four times before the submit.
    expect(estimate.requests - unaware.requests).toBe(5 * ids!.count);
    const calls = await payroll.calls();
    await payroll.approve(made.data);
    await payroll.until(made.data.id, ['FOLLOWING'], 40_000);
    expect((await payroll.calls()).getPaymentTransaction).toBeGreaterThan(calls.getPaymentTransaction ?? 0);
    expect(estimate.requests).toBeGreaterThanOrEqual(await askedSince(calls));
  });
});

describe('a run that cannot be sent before its cut-off', () => {
  let payroll: Payroll;
  let date: string;
  beforeEach(async () => {
    const clock = new MovedClock();
    payroll = await Payroll.start({ clock, rowsPerInstruction: 2, settings: { BANK_CUT_OFF: '16:00' } });
    date = payroll.executionDate();
    clock.set(new Date(`${date}T10:00:00Z`));
  });
  afterEach(() => payroll.close());

  /** The bank names a limit at which 24 payments take hours. */
  const slowDown = () =>
    execute(payroll.database.superuserUrl, 'UPDATE bank_rate SET learned_per_minute = 1, learned_at = now()');

  it('is not approved, and can be once it is executed later', async () => {
    const run = await payroll.uploaded(payFile(payRows(24)), {
      executionDate: date,
      submitAt: `${date}T15:00:00Z`,
    });
    await slowDown();
    const refused = await payroll.approve(run);
    expect([refused.status, refused.data.code]).toEqual([409, 'CUT_OFF_CANNOT_BE_MET']);
    expect(refused.data.seconds).toBeGreaterThan(3_600);
    expect(refused.data.detail).toMatch(
      / The limit in force is 1 requests a minute, as the bank named it; BANK_REQUESTS_PER_MINUTE sets another\.$/,
    );
    expect((await payroll.run(run.id)).approvals).toEqual([]);
    const { data } = await payroll.as('preparer').post(payroll.path(`/pay-runs/${run.id}/amendments`), {
      executionDate: refused.data.earliestExecutionDate,
      reason: 'the bank is slow',
    });
    expect((await payroll.approve({ ...run, rootHash: data.rootHash })).status).toBe(200);
  });

  it('lapses when it became too much after its approval, before anything is sent', async () => {
    const run = await payroll.uploaded(payFile(payRows(24)), {
      executionDate: date,
      submitAt: `${date}T15:00:00Z`,
    });
    expect((await payroll.approve(run)).status).toBe(200);
    const before = await payroll.calls();
    // A step that has read the limit before must not see the later hour.
    await payroll.letRest('RUN');
    await slowDown();
    payroll.clock.set(new Date(`${date}T15:00:01Z`));
    await payroll.wakeAll();
    await payroll.until(run.id, ['READY'], 15_000);
    expect((await payroll.attention()).map((one) => one.kind)).toEqual(['APPROVAL_LAPSED']);
    const { initiate, add } = await payroll.calls();
    expect([initiate, add]).toEqual([before.initiate, before.add]);
  });

  it('lapses at the gate when its submits became too much while it was built, and none is sent', async () => {
    await payroll.fault({ operation: 'add', kind: 'slow-drip', every: 1, delayMs: 30 });
    payroll.clock.set(new Date(`${date}T15:30:00Z`));
    const before = (await payroll.calls()).add ?? 0;
    const id = await payroll.paid(payFile(payRows(24)), { executionDate: date });
    await eventually(async () => ((await payroll.calls()).add ?? 0) > before, 10_000);
    await slowDown();
    await payroll.until(id, ['READY'], 20_000);
    const { lapseReason, instructionsByStatus } = await payroll.run(id);
    expect(lapseReason).toBeNull();
    expect(instructionsByStatus).toEqual({ ABANDONED: 12 });
    expect((await payroll.attention()).map((one) => one.kind)).toContain('APPROVAL_LAPSED');
    expect((await payroll.calls()).submit).toBe(0);
  });
});
