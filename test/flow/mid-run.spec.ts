import { earliestExecutionDate } from '../../src/domain/business-day';
import { Database } from '../../src/database/database';
import { PersonalData } from '../../src/database/personal-data';
import { instructionOfRun } from '../../src/pay-run/instruction.store';
import { recordAdds } from '../../src/submission/add-record';
import { Work } from '../../src/submission/work';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, PayrollOptions } from '../support/payroll';

interface Shown {
  id: string;
  status: string;
  bankInstructionId: string;
}

let payroll: Payroll;
let date: string;
afterEach(() => payroll.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const instructions = async (id: string): Promise<Shown[]> => (await payroll.run(id)).instructions;
const asked = async (path: string) => (await payroll.as('operator').get(path)).data;
const decide = (path: string, action: string) =>
  payroll.decide(path, { action, reason: 'the bank has mended what it was' });

/** A run of four past its gate; the bank drops its second instruction, and hinders it from being built again. */
async function hindered(hinder: () => Promise<unknown>, options: PayrollOptions = {}): Promise<string> {
  const variants = { linkReads: 'allowed', enforceControlTotals: false, listingLagMs: 0 } as const;
  ({ payroll, date } = await Payroll.startOnPayday({
    rowsPerInstruction: 2,
    sandbox: { variants },
    ...options,
  }));
  await payroll.stopPastTheGate();
  const terms = { executionDate: date, submitAt: `${date}T10:00:00Z` };
  const id = await payroll.paid(payFile(payRows(4)), terms);
  await payroll.until(id, ['SUBMITTING'], 20_000);
  const [, dropped] = await instructions(id);
  await payroll.deleteAtBank(dropped!.bankInstructionId);
  await hinder();
  await payroll.letRunsGoOn();
  return id;
}

/** Waits for the others of the run, which are worked on side by side. */
const othersAreSent = (id: string) =>
  eventually(
    async () => (await instructions(id)).some(({ status }) => ['SUBMITTED', 'CLOSED'].includes(status)),
    20_000,
  );
const passCutOff = () => payroll.clock.set(new Date(`${date}T16:00:01Z`));

describe('an instruction that is built again while others of its run are submitted', () => {
  it('says of a refused row that others are paid, and offers only what can be done', async () => {
    const id = await hindered(() => payroll.fault({ operation: 'add', kind: '422', nth: 1 }));
    const path = await payroll.askedAbout(id, 'ROW_REFUSED_IN_MID_RUN');
    const { certain, actions, payments } = await asked(path);
    expect(certain).toMatch(/others of the run are, or may be, and are followed/);
    expect([actions, payments]).toEqual([['TRY_AGAIN'], 2]);
    expect((await decide(path, 'TRY_AGAIN')).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
    expect(await kinds()).toEqual([]);
  });

  it('is not built again once somebody else has submitted it: people are asked about that instead', async () => {
    const id = await hindered(() => payroll.fault({ operation: 'add', kind: '422', nth: 2 }));
    const path = await payroll.askedAbout(id, 'ROW_REFUSED_IN_MID_RUN');
    const before = await instructions(id);
    const building = before.find(({ status }) => status === 'BUILDING')!;
    await payroll.submitAtBank(building.bankInstructionId);
    // That we may read nothing is no answer.
    await payroll.fault({ operation: 'getInstruction', kind: '401', every: 1 });
    expect((await decide(path, 'TRY_AGAIN')).data.code).toBe('BANK_UNREADABLE');
    await payroll.clearFaults();
    const { status, data } = await decide(path, 'TRY_AGAIN');
    expect([status, data.code]).toEqual([409, 'WAS_EXECUTED']);
    await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    expect(await kinds()).toEqual(expect.arrayContaining(['INVARIANT_BREACH']));
    expect(await kinds()).not.toContain('ROW_REFUSED_IN_MID_RUN');
    expect((await instructions(id)).length).toBe(before.length);
  });

  it('whose stored rows are not those approved is released at the cut-off, and its run ends', async () => {
    const changed = `UPDATE payment SET amount_minor = amount_minor + 1 WHERE row_no >= 3`;
    ({ payroll, date } = await Payroll.startOnPayday({ rowsPerInstruction: 2 }));
    await payroll.stopPastTheGate();
    const terms = { executionDate: date, submitAt: `${date}T10:00:00Z` };
    const id = await payroll.paid(payFile(payRows(4)), terms);
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await execute(payroll.database.superuserUrl, changed);
    await payroll.letRunsGoOn();
    await payroll.askedAbout(id, 'INVARIANT_BREACH');
    passCutOff();
    await payroll.until(id, ['PARTLY_SETTLED', 'FAILED'], 30_000);
    const states = await select<{ status: string }>(
      payroll.database.superuserUrl,
      'SELECT i.status FROM instruction i JOIN planned_instruction p ON p.id = i.planned_instruction_id WHERE p.ordinal = 2',
    );
    expect(states).toEqual([{ status: 'RELEASED' }]);
  });

  it('says of a refused initiation that others are paid', async () => {
    const id = await hindered(() => payroll.fault({ operation: 'initiate', kind: '422', nth: 1 }));
    const path = await payroll.askedAbout(id, 'INITIATE_REFUSED');
    expect((await asked(path)).certain).toMatch(/others of the run are, or may be, and are followed/);
    expect((await decide(path, 'TRY_AGAIN')).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await kinds()).toEqual([]);
  });

  it('says of an initiation that stays unanswered that others are paid', async () => {
    const lost = () => payroll.fault({ operation: 'initiate', kind: '500-before', every: 1 });
    const id = await hindered(lost, { settings: { REBUILD_LIMIT: '1' } });
    const path = await payroll.askedAbout(id, 'REBUILD_LIMIT');
    expect((await asked(path)).certain).toMatch(/others of the run are, or may be, and are followed/);
    await payroll.clearFaults();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await kinds()).toEqual([]);
  });

  it('gets no row any more once the bank has shown that it was submitted', async () => {
    const later = () => payroll.fault({ operation: 'add', kind: '429', every: 1, retryAfterS: 1 });
    const id = await hindered(later);
    const building = `status = 'BUILDING' AND bank_instruction_id IS NOT NULL`;
    const adds = async () => (await payroll.calls()).add ?? 0;
    const before = await adds();
    await eventually(async () => (await adds()) > before, 20_000);
    // Whoever works on it has read it before.
    const free = `SELECT subject_id FROM lease WHERE kind = 'INSTRUCTION' AND holder IS NULL FOR UPDATE`;
    const past = `WITH free AS (${free}) UPDATE instruction SET bank_status = 'SUBMITTED' FROM free
      WHERE id = subject_id AND ${building} RETURNING id`;
    await eventually(async () => (await select(payroll.database.superuserUrl, past)).length > 0, 20_000);
    const sent = await adds();
    await payroll.clearFaults();
    await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    expect(await kinds()).toEqual(expect.arrayContaining(['INVARIANT_BREACH']));
    expect(await adds()).toBe(sent);
  });

  it('is released at the cut-off also where it was built too often, and its run ends', async () => {
    const lost = () => payroll.fault({ operation: 'add', kind: '500-before', every: 1 });
    const id = await hindered(lost, { settings: { REBUILD_LIMIT: '1', BANK_CUT_OFF: '16:00' } });
    await payroll.askedAbout(id, 'REBUILD_LIMIT');
    await othersAreSent(id);
    passCutOff();
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    expect((await instructions(id)).map(({ status }) => status).sort()).toEqual(['CLOSED', 'RELEASED']);
    expect(await kinds()).toEqual(['STALE_DATE']);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });

  const FEW_READS = { BANK_LAG_BOUND_MS: '20000', BANK_CUT_OFF: '16:00' };

  it('stays asked about once it is released where an add was answered otherwise, in words that are true then', async () => {
    const otherwise = () =>
      payroll.fault({ operation: 'add', kind: 'echo-corrupted', field: 'iban', nth: 1 });
    const id = await hindered(otherwise, { settings: FEW_READS });
    const before = await asked(await payroll.askedAbout(id, 'ECHO_MISMATCH'));
    expect(before.certain).toMatch(/^Nothing of the instruction is submitted before a read/);
    await othersAreSent(id);
    const run = payroll.path(`/pay-runs/${id}`);
    expect((await payroll.as('operator').post(`${run}/stop`, { reason: 'a second look' })).status).toBe(200);
    passCutOff();
    await payroll.askedAbout(id, 'STALE_DATE');
    const after = await asked(await payroll.askedAbout(id, 'ECHO_MISMATCH'));
    expect(after.happened).toBe(before.happened);
    expect(after.certain).toMatch(/we did not submit this instruction, and it is never submitted any more/);
    expect((await payroll.resume(run, 'second', 'looked')).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
  });

  it.each([
    ['holds a payment nobody sent', 'FOREIGN_RECORD', { what: 'foreign' }],
    ['differs', 'ECHO_MISMATCH', { what: 'changed', field: 'iban' }],
  ] as const)('is asked about where the read at its release shows that it %s', async (_, kind, wrong) => {
    const later = () => payroll.fault({ operation: 'add', kind: '422', nth: 2 });
    const variants = {
      linkReads: 'allowed',
      enforceControlTotals: false,
      listingLagMs: 0,
      omitFromLists: [],
    } as const;
    const id = await hindered(later, { settings: FEW_READS, sandbox: { variants } });
    await payroll.askedAbout(id, 'ROW_REFUSED_IN_MID_RUN');
    await othersAreSent(id);
    for (const operation of ['listInstructionPaymentTransactions', 'listPaymentTransactions'])
      await payroll.fault({ operation, kind: 'list-wrong', every: 1, ...wrong });
    passCutOff();
    await payroll.askedAbout(id, 'STALE_DATE');
    await payroll.clearFaults();
    const told = (await payroll.attention()).filter((one) => one.kind === kind);
    const before = told.find(({ happened }) => happened.includes(' otherwise than it was approved: '))!;
    const { certain } = await asked(payroll.path(`/attention/${before.id}`));
    expect(certain).toMatch(/it is never submitted any more\. Its STALE_DATE says what can pay its rows\.$/);
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    const executionDate = earliestExecutionDate(payroll.clock.now(), { cutOff: '16:00', timeZone: 'UTC' });
    const terms = { executionDate };
    const made = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), terms);
    expect([made.status, made.data.payments]).toEqual([201, 2]);
    const known = { action: 'RESUME', reason: 'we know' };
    expect((await payroll.decide(payroll.path(`/attention/${before.id}`), known)).status).toBe(200);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data.acknowledged).toEqual([]);
  });

  it('is not asked about any more once it is released, also while its run goes on', async () => {
    const id = await hindered(() => payroll.fault({ operation: 'add', kind: '422', nth: 1 }));
    const path = await payroll.askedAbout(id, 'ROW_REFUSED_IN_MID_RUN');
    await othersAreSent(id);
    await execute(
      payroll.database.superuserUrl,
      `CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
       CREATE TRIGGER stays_submitting BEFORE UPDATE ON pay_run FOR EACH ROW
         WHEN (NEW.status = 'FOLLOWING') EXECUTE FUNCTION stay()`,
    );
    passCutOff();
    await payroll.askedAbout(id, 'STALE_DATE');
    expect(await kinds()).toEqual(['STALE_DATE']);
    expect((await decide(path, 'TRY_AGAIN')).data.code).toBe('ATTENTION_IS_RESOLVED');
  });
});

describe('a refusal that was recorded late', () => {
  it('asks nothing about an instruction that was given up meanwhile', async () => {
    payroll = await Payroll.start();
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    const [given] = await select<{ id: string; employer_id: string }>(
      payroll.database.superuserUrl,
      'SELECT id, employer_id FROM instruction',
    );
    const database = payroll.services[0]!.app.get(Database);
    const work = await database.inEmployer(given!.employer_id, (tx) => instructionOfRun(tx, given!.id));
    expect((await decide(path, 'TRY_AGAIN')).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    await database.inEmployer(given!.employer_id, (tx) =>
      recordAdds(tx, personal(), work!, 99, [refusal(work!)], 0),
    );
    expect(await kinds()).toEqual([]);
  });

  it('is not asked about any more once the instruction is built again', async () => {
    payroll = await Payroll.start({ settings: { BANK_LAG_BOUND_MS: '10000' } });
    await payroll.fault({ operation: 'add', kind: 'request-lost', nth: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    const { superuserUrl } = payroll.database;
    const inDoubt = `SELECT instruction_id AS id, employer_id, payment_id FROM bank_payment WHERE add_outcome = 'IN_DOUBT'`;
    await eventually(async () => (await select(superuserUrl, inDoubt)).length === 1, 15_000);
    // Built again, it would end what is asked.
    await payroll.letRest('INSTRUCTION');
    const [given] = await select<Record<'id' | 'employer_id' | 'payment_id', string>>(superuserUrl, inDoubt);
    const database = payroll.services[0]!.app.get(Database);
    await database.inEmployer(given!.employer_id, async (tx) => {
      const work = await instructionOfRun(tx, given!.id);
      await recordAdds(tx, personal(), work!, 99, [refusal(work!, given!.payment_id)], 0);
    });
    expect(await kinds()).toEqual(['ROW_REFUSED_BY_BANK']);
    await payroll.wakeAll();
    await payroll.until(id, ['SETTLED'], 60_000);
    const told = await select(superuserUrl, 'SELECT kind, resolution FROM attention');
    expect(told).toEqual([{ kind: 'ROW_REFUSED_BY_BANK', resolution: 'its instruction is built again' }]);
  });

  const personal = () => payroll.services[0]!.app.get(PersonalData);
  const refusal = ({ planned }: Work, paymentId = planned.id) =>
    ({
      row: { rowNo: planned.rowCount, paymentId },
      outcome: { kind: 'no', reason: 'invalid' },
    }) as unknown as Parameters<typeof recordAdds>[4][number];
});

describe('a refused initiation that goes on by itself', () => {
  it('is not asked about any more once the bank has opened the instruction', async () => {
    payroll = await Payroll.start();
    await payroll.fault({ operation: 'initiate', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.askedAbout(id, 'INITIATE_REFUSED');
    const path = payroll.path(`/pay-runs/${id}`);
    expect((await payroll.as('operator').post(`${path}/stop`, { reason: 'a look first' })).status).toBe(200);
    expect((await payroll.resume(path, 'second', 'looked')).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    const told = await select(payroll.database.superuserUrl, 'SELECT kind, resolution FROM attention');
    expect(told).toEqual([{ kind: 'INITIATE_REFUSED', resolution: 'the bank opened it' }]);
  });
});

describe('an instruction that differs from what was approved', () => {
  const changed = (field: string) =>
    payroll.fault({
      operation: 'listInstructionPaymentTransactions',
      kind: 'list-wrong',
      what: 'changed',
      field,
      every: 1,
    });

  it('is told, stopped and given up at once or not at all', async () => {
    payroll = await Payroll.start({ sandbox: { variants: { linkReads: 'allowed' } } });
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await execute(
      payroll.database.superuserUrl,
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
       CREATE TRIGGER not_given_up BEFORE UPDATE ON instruction FOR EACH ROW
         WHEN (NEW.status = 'ABANDONED') EXECUTE FUNCTION refuse()`,
    );
    await changed('amount');
    const before = (await payroll.calls()).listInstructionPaymentTransactions ?? 0;
    await payroll.letRunsGoOn();
    const reads = async () => ((await payroll.calls()).listInstructionPaymentTransactions ?? 0) - before;
    await eventually(async () => (await reads()) > 1, 20_000);
    expect([await kinds(), (await payroll.run(id)).stopped]).toEqual([[], null]);
    await execute(payroll.database.superuserUrl, 'DROP TRIGGER not_given_up ON instruction');
    await payroll.askedAbout(id, 'ECHO_MISMATCH');
    expect((await payroll.run(id)).stopped?.reason).toMatch(/^an instruction differed/);
    expect((await payroll.calls()).submit ?? 0).toBe(0);
  });

  it('by a payment nobody sent is built again, stops nothing, and is told so', async () => {
    const variants = { linkReads: 'allowed', omitFromLists: [] } as const;
    payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '20' }, sandbox: { variants } });
    const operation = 'listInstructionPaymentTransactions';
    await payroll.fault({ operation, kind: 'list-wrong', what: 'foreign', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, 'FOREIGN_RECORD');
    await payroll.clearFaults();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect((await asked(path)).certain).toMatch(
      /^We never sent this payment\. .* It is built again, unless /,
    );
    expect((await payroll.run(id)).stopped).toBeNull();
    expect((await decide(path, 'RESUME')).status).toBe(200);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true, acknowledged: [] });
  });

  it.each(['amount', 'iban'])(
    'in the %s of a payment is built again, and asked about until people have read it',
    async (field) => {
      const variants = { linkReads: 'allowed', omitFromLists: [] } as const;
      payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '20' }, sandbox: { variants } });
      await changed(field);
      const id = await payroll.paid(payFile(payRows(2)));
      const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
      await payroll.clearFaults();
      await payroll.until(id, ['SETTLED'], 20_000);
      expect(await kinds()).toContain('ECHO_MISMATCH');
      const { happened, certain } = await asked(path);
      expect(happened).toMatch(new RegExp(`row \\d differs in ${field} [(]reading ${field} \\w+[)]\\.$`));
      expect(certain).toMatch(/It is built again, unless its run has ended or it was built too often\.$/);
      expect((await payroll.run(id)).stopped).toBeNull();
      for (const open of await payroll.attention())
        expect((await decide(payroll.path(`/attention/${open.id}`), 'RESUME')).status).toBe(200);
      expect(await kinds()).toEqual([]);
    },
  );

  it('names every row of which the bank answers the add otherwise', async () => {
    payroll = await Payroll.start({ settings: { BANK_LAG_BOUND_MS: '20000' } });
    await payroll.fault({ operation: 'add', kind: 'echo-corrupted', field: 'iban', every: 1, times: 2 });
    const id = await payroll.paid(payFile(payRows(3)));
    const { happened } = await asked(await payroll.askedAbout(id, 'ECHO_MISMATCH'));
    expect(new Set(happened.match(/row \d/g)).size).toBe(2);
  });

  it('by payments nobody sent, in each of its attempts, is asked about with all of these', async () => {
    const variants = { linkReads: 'allowed', omitFromLists: [] } as const;
    payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '2' }, sandbox: { variants } });
    const operation = 'listInstructionPaymentTransactions';
    await payroll.fault({ operation, kind: 'list-wrong', what: 'foreign', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.askedAbout(id, 'REBUILD_LIMIT');
    const { askBank, happened } = await asked(await payroll.askedAbout(id, 'FOREIGN_RECORD'));
    const ids = await select<{ id: string }>(
      payroll.database.superuserUrl,
      `SELECT bank_instruction_id AS id FROM instruction WHERE status = 'ABANDONED' ORDER BY attempt`,
    );
    expect(ids).toHaveLength(3);
    expect(askBank).toContain(`customer instruction ${ids.map((one) => one.id).join(', ')} come from`);
    for (const one of ids) expect(happened).toContain(one.id);
  });

  it('is one question of all its attempts, asked again only where it differs otherwise, and outlives its run', async () => {
    const variants = { linkReads: 'allowed', omitFromLists: [] } as const;
    payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '3' }, sandbox: { variants } });
    await changed('iban');
    const id = await payroll.paid(payFile(payRows(2)));
    const differences = async () =>
      (await payroll.attention()).filter(({ kind }) => kind === 'ECHO_MISMATCH');
    /** Has it built once more, which is once too often, by a bank that shows one field otherwise. */
    const builtAgain = async (field: string) => {
      await payroll.clearFaults();
      await changed(field);
      const limit = await payroll.askedAbout(id, 'REBUILD_LIMIT');
      expect((await decide(limit, 'TRY_AGAIN')).status).toBe(200);
      await payroll.askedAbout(id, 'REBUILD_LIMIT');
    };
    await payroll.askedAbout(id, 'REBUILD_LIMIT');
    expect(await differences()).toMatchObject([
      { happened: expect.stringMatching(/: row \d differs in iban [(]reading iban \w+[)]\.$/) },
    ]);
    await builtAgain('amount');
    const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
    expect((await asked(path)).happened).toMatch(/ differs in iban [^.]*\. .* differs in amount [^.]*\.$/);
    expect((await decide(path, 'RESUME')).status).toBe(200);
    await builtAgain('iban');
    await builtAgain('amount');
    expect(await kinds()).toEqual(['REBUILD_LIMIT']);
    await builtAgain('currency');
    const cancelled = payroll.path(`/pay-runs/${id}/cancellation`);
    expect((await payroll.as('preparer').post(cancelled, { reason: 'paid in another way' })).status).toBe(
      200,
    );
    await payroll.until(id, ['CANCELLED'], 20_000);
    expect(await differences()).toMatchObject([
      { happened: expect.stringMatching(/: row \d differs in currency [^.]*\.$/) },
    ]);
  });

  it('is asked about once where only names differ, and is paid all the same', async () => {
    const variants = { linkReads: 'allowed', omitFromLists: [] } as const;
    payroll = await Payroll.start({ rowsPerInstruction: 2, sandbox: { variants } });
    await changed('name');
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['SETTLED'], 20_000);
    const [told, ...more] = await payroll.attention();
    expect([told?.kind, more]).toEqual(['NAME_DIFFERS', []]);
    const path = payroll.path(`/attention/${told!.id}`);
    expect((await asked(path)).certain).toMatch(/^Amounts and IBANs are as approved.* row \d\.$/);
    expect((await decide(path, 'ACKNOWLEDGE')).status).toBe(200);
    expect(await kinds()).toEqual([]);
  });
});

describe('an instruction of which an add was not answered', () => {
  it('is not taken for gone where a read is older than it', async () => {
    payroll = await Payroll.start({
      settings: { BANK_LAG_BOUND_MS: '1000' },
      sandbox: { variants: { linkReads: 'allowed', listingLagMs: 900 } },
    });
    await payroll.fault({ operation: 'add', kind: 'request-lost', nth: 1 });
    await payroll.until(await payroll.paid(payFile(payRows(2))), ['SETTLED'], 20_000);
    const ended = await select(
      payroll.database.superuserUrl,
      'SELECT ended_reason AS why FROM instruction WHERE ended_reason IS NOT NULL',
    );
    expect(ended).toEqual([{ why: 'an add without an answer was not seen within the lag bound' }]);
  });

  it('is adopted by what a read of the payment alone shows, where lists leave its mark out', async () => {
    payroll = await Payroll.start({
      settings: { BANK_LAG_BOUND_MS: '500' },
      sandbox: { variants: { linkReads: 'allowed', omitFromLists: ['messageId'] } },
    });
    await payroll.fault({ operation: 'add', kind: 'answer-lost', nth: 2 });
    await payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 20_000);
    const added = await select(
      payroll.database.superuserUrl,
      'SELECT add_outcome AS how, count(*)::int AS n FROM bank_payment GROUP BY 1 ORDER BY 1',
    );
    expect(added).toEqual([
      { how: 'ADDED', n: 3 },
      { how: 'ADOPTED', n: 1 },
    ]);
  });
});
