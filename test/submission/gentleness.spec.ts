import { newId } from '../../src/database/new-id';
import { Instruction, PlannedInstruction } from '../../src/pay-run/instruction.entity';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { Gentleness, gentlenessFor } from '../../src/submission/gentleness';
import { Company, PayOffice, rows } from '../pay-run/pay-office';
import { RunAtBank } from '../pay-run/run-at-bank';

const ROWS = 40;

describe('how gently an instruction is filled', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
    company = await office.company({ rowsPerInstruction: ROWS });
  });
  afterAll(() => office?.close());

  /** A run of three instructions that are being built. */
  async function building(): Promise<{ run: PayRun; atBank: RunAtBank }> {
    const run = await office.run(company, rows(...Array.from({ length: 3 * ROWS }, () => 100)));
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    return { run, atBank };
  }

  /** Builds the n-th instruction, of which so many adds stay in doubt, answered so. */
  async function inDoubt(atBank: RunAtBank, ordinal: number, adds: number, answer: string | null) {
    await atBank.build(ordinal, ROWS);
    await office.tamper(
      `UPDATE bank_payment b SET add_outcome = 'IN_DOUBT', bank_payment_id = NULL, bank_status = NULL, add_doubt = $4
       FROM instruction i JOIN planned_instruction p ON p.id = i.planned_instruction_id
       WHERE b.instruction_id = i.id AND i.pay_run_id = $1 AND i.status = 'BUILDING' AND p.ordinal = $2
         AND b.row_no < p.first_row + $3`,
      [atBank.run.id, ordinal, adds, answer],
    );
  }

  async function failed(atBank: RunAtBank, ordinal: number, adds: number, answer: string | null) {
    await inDoubt(atBank, ordinal, adds, answer);
    await atBank.rebuild(ordinal);
  }

  const gentleness = (run: PayRun, ordinal: number): Promise<Gentleness> =>
    office.in(company, async (tx) => {
      const planned = await tx.manager.findOneByOrFail(PlannedInstruction, {
        payRunId: run.id,
        runVersion: run.runVersion,
        ordinal,
      });
      const [instruction] = await tx.manager.find(Instruction, {
        where: { plannedInstructionId: planned.id },
        order: { attempt: 'DESC' },
      });
      return gentlenessFor(tx, { instruction: instruction!, planned });
    });
  const steps = async (run: PayRun) =>
    Promise.all([1, 2, 3].map(async (ordinal) => (await gentleness(run, ordinal)).step));

  it('as fast as may be at first, and with each attempt in vain a step more', async () => {
    const { run, atBank } = await building();
    expect(await steps(run)).toEqual([0, 0, 0]);
    await failed(atBank, 1, 1, null);
    expect(await steps(run)).toEqual([1, 0, 0]);
    await failed(atBank, 1, 1, null);
    expect(await steps(run)).toEqual([2, 0, 0]);
  });

  it('and two where several of its adds were refused, which says nothing of the others', async () => {
    const { run, atBank } = await building();
    const refused = async (adds: number) => {
      await inDoubt(atBank, 1, adds, null);
      await office.tamper(
        `UPDATE bank_payment b SET add_outcome = 'REFUSED' FROM instruction i
         WHERE i.id = b.instruction_id AND i.pay_run_id = $1 AND b.add_outcome = 'IN_DOUBT'`,
        [run.id],
      );
      await atBank.rebuild(1);
    };
    await refused(1);
    expect(await steps(run)).toEqual([1, 0, 0]);
    await refused(2);
    expect(await steps(run)).toEqual([3, 0, 0]);
  });

  it('as the others of its run that the bank answered several adds of in doubt, also before they are given up', async () => {
    const { run, atBank } = await building();
    await failed(atBank, 1, 1, 'status 409');
    expect(await steps(run)).toEqual([1, 0, 0]);
    await failed(atBank, 1, 2, 'status 409');
    expect(await steps(run)).toEqual([2, 1, 1]);
    await inDoubt(atBank, 2, ROWS - 1, 'status 409');
    await failed(atBank, 1, 2, 'status 409');
    expect(await steps(run)).toEqual([3, 2, 2]);
  });

  it('as fast as ever where the others were given up with no add in doubt, are answered with what cannot be read or has the id of another payment, or were built before the run was amended', async () => {
    const { run, atBank } = await building();
    await failed(atBank, 1, 0, null);
    expect(await steps(run)).toEqual([0, 0, 0]);
    await inDoubt(atBank, 3, ROWS, 'status 200 (not as it must be)');
    expect(await steps(run)).toEqual([0, 0, 0]);
    await office.tamper(
      `UPDATE bank_payment b SET add_doubt = 'the id 4711 of another payment' FROM instruction i
       WHERE i.id = b.instruction_id AND i.pay_run_id = $1 AND b.add_doubt LIKE 'status 2%'`,
      [run.id],
    );
    expect(await steps(run)).toEqual([0, 0, 0]);
    await failed(atBank, 2, ROWS, 'status 503');
    expect(await steps(run)).toEqual([1, 1, 1]);
    await office.tamper(
      'UPDATE planned_instruction SET run_version = 0 WHERE pay_run_id = $1 AND ordinal = 2',
      [run.id],
    );
    expect((await gentleness(run, 1)).step).toBe(0);
  });

  it('knowing for how long the bank has had the instruction', async () => {
    const { run } = await building();
    expect(await gentleness(run, 1)).toEqual({ step: 0 });
    await office.tamper(
      `INSERT INTO bank_call (employer_id, id, operation, instruction_id, target, body_hash, attempt, epoch, intended_at, finished_at)
       SELECT i.employer_id, $2, 'initiate', i.id, '/', '', 1, 1, now() - interval '1 hour', now() - interval '40 s'
       FROM instruction i JOIN planned_instruction p ON p.id = i.planned_instruction_id
       WHERE i.pay_run_id = $1 AND p.ordinal = 1`,
      [run.id, newId()],
    );
    const { openedAgoMs = 0 } = await gentleness(run, 1);
    expect(Math.round(openedAgoMs / 10_000)).toBe(4);
  });

  it('without reading what the bank took of the others', async () => {
    const { run, atBank } = await building();
    for (const ordinal of [1, 2]) await atBank.build(ordinal, ROWS);
    await office.tamper('ANALYZE bank_payment');
    const read = (tx: { query: <T>(sql: string) => Promise<T[]> }) =>
      tx.query<{ rows: string }>(
        `SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_xact_user_tables WHERE relname = 'bank_payment'`,
      );
    const planned = await office.in(company, (tx) =>
      tx.manager.findOneByOrFail(PlannedInstruction, { payRunId: run.id, ordinal: 3 }),
    );
    const [before, after] = await office.in(company, async (tx) => {
      const [first] = await read(tx);
      await gentlenessFor(tx, { instruction: { id: newId() } as Instruction, planned });
      return [first, (await read(tx))[0]];
    });
    expect(after).toEqual(before);
  });
});
