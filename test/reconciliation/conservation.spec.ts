import fc from 'fast-check';
import { Company, PayOffice } from '../pay-run/pay-office';
import { Reconciliations, RunReport } from '../../src/reconciliation/reconciliation';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { add } from '../../src/domain/reconciliation';
import { mixedRun, mixes, STAGES } from './mixed-run';

/** The n-th of some rows of the run ($1), counted round. */
const pick = (table: string, where = 'true') =>
  `(SELECT t.ctid FROM ${table} t WHERE t.pay_run_id = $1 AND ${where}
    ORDER BY t.ctid OFFSET ($2::int % greatest(1, (SELECT count(*) FROM ${table} t WHERE t.pay_run_id = $1 AND ${where}))) LIMIT 1)`;
const standing = `t.run_version = (SELECT run_version FROM pay_run WHERE id = $1)`;
const bankRow = `(SELECT b.ctid FROM bank_payment b JOIN instruction i ON i.id = b.instruction_id
  WHERE i.pay_run_id = $1 AND i.status NOT IN ('ABANDONED', 'CANCELLED') ORDER BY b.ctid LIMIT 1 OFFSET $2 % 2)`;

/** What somebody with the database in hand might do to a run ($1): one row of one table. */
const TAMPERINGS: Record<string, string> = {
  'a cent more on a payment': `UPDATE payment SET amount_minor = amount_minor + 1 WHERE ctid = ${pick('payment')}`,
  'a payment removed': `DELETE FROM payment WHERE ctid = ${pick('payment')}`,
  'a payment said to be settled, or not': `UPDATE payment SET excluded_reason = NULL, returned_at = NULL,
      live = status <> 'SETTLED', status = CASE status WHEN 'SETTLED' THEN 'FAILED' ELSE 'SETTLED' END
    WHERE ctid = ${pick('payment')}`,
  'a cent more in the file': `UPDATE pay_file SET total_minor = total_minor + 1 WHERE pay_run_id = $1 AND $2 = $2`,
  'a row more in the file': `UPDATE pay_file SET row_count = row_count + 1 WHERE pay_run_id = $1 AND $2 = $2`,
  'the file removed': 'DELETE FROM pay_file WHERE pay_run_id = $1 AND $2 = $2',
  'a cent more in a plan': `UPDATE planned_instruction SET total_minor = total_minor + 1
    WHERE ctid = ${pick('planned_instruction', standing)}`,
  'a plan removed': `DELETE FROM planned_instruction WHERE ctid = ${pick('planned_instruction', standing)}`,
  'a cent more in the run': `UPDATE pay_run SET total_minor = total_minor + 1 WHERE id = $1 AND $2 = $2`,
  'a cent more in its version': `UPDATE pay_run_version SET total_minor = total_minor + 1
    WHERE ctid = ${pick('pay_run_version', standing)}`,
  'its version removed': `DELETE FROM pay_run_version WHERE ctid = ${pick('pay_run_version', standing)}`,
  'an instruction removed': `DELETE FROM instruction
    WHERE ctid = ${pick('instruction', "t.status NOT IN ('ABANDONED', 'CANCELLED')")}`,
  'a bank payment removed': `DELETE FROM bank_payment WHERE ctid = ${bankRow}`,
  'a bank payment said to be settled, or not': `UPDATE bank_payment
    SET bank_status = CASE WHEN bank_status IN ('SETTLED', 'RETURNED') THEN 'FAILED' ELSE 'SETTLED' END
    WHERE ctid = ${bankRow}`,
  'an abandoned instruction that moved': `INSERT INTO moved_instruction (employer_id, instruction_id, bank_status)
    SELECT employer_id, id, 'EXECUTED' FROM instruction
    WHERE $2 = $2 AND pay_run_id = $1 AND status = 'ABANDONED' LIMIT 1`,
  'history of a held row removed': `DELETE FROM state_change WHERE pay_run_id = $1 AND $2 = $2 AND to_status = 'HELD'`,
};

describe('conservation of a run, count and cents', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
    company = await office.company({ rowsPerInstruction: 2 });
  });
  afterAll(() => office?.close());

  const reconcile = ({ id }: PayRun): Promise<RunReport> =>
    office.app.get(Reconciliations).ofRun(company.employerId, id);

  it('explains every run, however far it got and whatever became of its payments', async () => {
    await fc.assert(
      fc.asyncProperty(mixes(), async (mix) => {
        const { report, differences } = await reconcile(await mixedRun(office, company, mix));
        const open = report.lines.filter((line) => line.differenceCount !== 0 || line.differenceMinor !== 0n);
        expect([open, differences, report.contradictions.count]).toEqual([[], [], 0]);
        expect(report).toMatchObject({ explained: true, difference: { count: 0, amountMinor: 0n } });
      }),
      { numRuns: 60 },
    );
  });

  it('accounts for every cent of the file: in the run, held or excluded, and each of those of the run once', async () => {
    await fc.assert(
      fc.asyncProperty(mixes(STAGES.filter((stage) => stage !== 'CANCELLED')), async (mix) => {
        const { report } = await reconcile(await mixedRun(office, company, mix));
        const { uploaded, approved, held, excluded, ...places } = report.table;
        const file = mix.rows.reduce((sum, { cents }) => sum + BigInt(cents), 0n);
        expect(uploaded.amountMinor).toBe(file);
        expect(approved.amountMinor + held.amountMinor + excluded.amountMinor).toBe(file);
        const { notSent, waiting, inDoubt, inFlight, settled, notPaid, void: voided } = places;
        expect(add([notSent, waiting, inDoubt, inFlight, settled, notPaid, voided])).toEqual(approved);
      }),
      { numRuns: 20 },
    );
  });

  it.each(Object.entries(TAMPERINGS))('does not explain a run with %s', async (_what, sql) => {
    let tampered = 0;
    await fc.assert(
      fc.asyncProperty(
        mixes(['VERIFIED', 'SUBMITTING', 'FOLLOWING']),
        fc.nat({ max: 50 }),
        async (mix, nth) => {
          const held = { cents: 7, held: true, fate: 'SETTLED' as const };
          const rows = [...mix.rows, held];
          const run = await mixedRun(office, company, { ...mix, rows, rebuilt: true });
          if ((await office.tamper(sql, [run.id, nth])) === 0) return;
          tampered += 1;
          expect((await reconcile(run)).report.explained).toBe(false);
        },
      ),
      { numRuns: 6 },
    );
    expect(tampered).toBeGreaterThan(0);
  });

  it('does not explain a run whose one submitted instruction, which the bank cancelled, is removed', async () => {
    const run = await mixedRun(office, company, {
      rows: [{ cents: 500, held: false, fate: 'CANCELLED' }],
      stage: 'FOLLOWING',
      submits: ['SUBMITTED'],
      rebuilt: false,
      excluded: false,
    });
    expect((await reconcile(run)).report.explained).toBe(true);
    await office.tamper('DELETE FROM instruction WHERE pay_run_id = $1', [run.id]);
    expect((await reconcile(run)).report.explained).toBe(false);
  });

  it('does not let two rows with equal amounts swap their ends', async () => {
    const swap = { cents: 500, held: false };
    const run = await mixedRun(office, company, {
      rows: [
        { ...swap, fate: 'SETTLED' },
        { ...swap, fate: 'PRO_ROUTING_FAILED' },
      ],
      stage: 'FOLLOWING',
      submits: ['SUBMITTED'],
      rebuilt: false,
      excluded: false,
    });
    await office.tamper(
      `UPDATE bank_payment b SET bank_status = CASE b.bank_status WHEN 'SETTLED' THEN 'FAILED' ELSE 'SETTLED' END
       FROM instruction i WHERE i.id = b.instruction_id AND i.pay_run_id = $1`,
      [run.id],
    );
    const { report, differences } = await reconcile(run);
    expect(report).toMatchObject({
      explained: false,
      difference: { count: 0 },
      contradictions: { count: 2 },
    });
    expect(differences.map(({ row, difference }) => [row, difference])).toEqual([
      [1, 'BANK_STATUS_CONTRADICTS'],
      [2, 'BANK_STATUS_CONTRADICTS'],
    ]);
  });
});
