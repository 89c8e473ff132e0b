import { ContractDrift } from '../../src/bank/errors';
import { InstructionReader } from '../../src/submission/read-back';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

/** Ends a hindrance of what follows a submit without an answer. */
type Mend = () => Promise<void> | void;

describe('a submit without an answer, where a defect of the service hinders what follows it', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '700' } });
  });
  afterEach(() => payroll.close());

  function failsToRead(): Mend {
    const reader = payroll.services[0]!.app.get(InstructionReader);
    const standing = reader.standing.bind(reader);
    const read = jest.spyOn(reader, 'standing').mockImplementation((work) => {
      if (work.instruction.status.startsWith('SUBMIT_')) throw new TypeError('a defect');
      return standing(work);
    });
    return () => read.mockRestore();
  }

  async function failsToRecord(): Promise<Mend> {
    const { superuserUrl } = payroll.database;
    await execute(
      superuserUrl,
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a defect'; END $$;
       CREATE TRIGGER fail BEFORE UPDATE ON submit_attempt FOR EACH ROW
         WHEN (NEW.outcome = 'EXECUTED') EXECUTE FUNCTION fail()`,
    );
    return () => execute(superuserUrl, 'DROP TRIGGER fail ON submit_attempt');
  }

  it.each([
    ['no read can be understood', failsToRead],
    ['what was read cannot be recorded', failsToRecord],
  ])('is asked about once its time is up, and found executed afterwards: %s', async (_what, hinder) => {
    const mend = await hinder();
    await payroll.fault({ operation: 'submit', kind: 'answer-lost', nth: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    const { happened } = (await payroll.as('operator').get(path)).data;
    expect(happened).toMatch(/What the bank shows of it cannot be recorded\.$/);
    await mend();
    await payroll.wakeAll();
    await payroll.untilSettled(id);
    expect(await payroll.attention()).toEqual([]);
    expect(await select(payroll.database.superuserUrl, 'SELECT outcome FROM submit_attempt')).toEqual([
      { outcome: 'EXECUTED' },
    ]);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });
});

describe('a submit without an answer, at a bank that fails to show anything for good', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '3000' } });
  });
  afterEach(() => payroll.close());

  it('keeps the question about an unusable answer open, since nothing was read well, and says so', async () => {
    const reader = payroll.services[0]!.app.get(InstructionReader);
    const standing = reader.standing.bind(reader);
    let reads = 0;
    jest.spyOn(reader, 'standing').mockImplementation((work) => {
      if (!work.instruction.status.startsWith('SUBMIT_')) return standing(work);
      if ((reads += 1) === 1) return Promise.reject(new ContractDrift(['status']));
      return Promise.resolve({ isGone: false, failing: 'instruction', isUnclear: true, statuses: [] });
    });
    await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    const drift = await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    await payroll.wakeAll();
    const path = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    expect((await payroll.as('operator').get(path)).data.happened).toContain(
      ' The bank fails again and again to show what became of it.',
    );
    expect((await payroll.as('operator').get(drift)).data.resolvedAt).toBeNull();
  });
});

describe('a submit without an answer, dated two hours ahead by a clock that was put right since', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is asked about once the doubt has lasted, as every other is, and not before', async () => {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '6000' } });
    await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    const { superuserUrl } = payroll.database;
    const doubts = "SELECT FROM submit_attempt WHERE outcome = 'IN_DOUBT'";
    await eventually(async () => (await select(superuserUrl, doubts)).length === 1, 20_000);
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE submit_attempt SET attempted_at = attempted_at + interval '2 hours',
         finished_at = finished_at + interval '2 hours'`,
    );
    const sinceMs = performance.now();
    await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    expect(performance.now() - sinceMs).toBeGreaterThan(4_000);
  });
});
