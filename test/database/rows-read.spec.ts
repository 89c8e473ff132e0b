import type { Outcome } from '../../src/bank/outcome';
import type { PreparedAdd } from '../../src/bank/prepared';
import type { BankPayment } from '../../src/bank/records';
import { EmployerTransaction, Statement } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { TERMINAL_RANK } from '../../src/domain/bank-status';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { movePayments, movePaymentSet } from '../../src/pay-run/payment.store';
import { followedPayments, recordProgress } from '../../src/settlement/follow.store';
import { intendAdds, recordAdds } from '../../src/submission/add-record';
import { PayableRow, payableRows, Work } from '../../src/submission/work';
import { Company, IBAN, PayOffice } from '../pay-run/pay-office';

const INSTRUCTION_ROWS = 200;
const INSTRUCTIONS = 20;
/** As large as another employer's history. */
const RUN_ROWS = INSTRUCTION_ROWS * INSTRUCTIONS;

let office: PayOffice;
beforeEach(async () => {
  office = await PayOffice.open();
  // Statistics come when the test says so.
  for (const table of ['payment', 'instruction', 'bank_payment'])
    await office.tamper(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
});
afterEach(() => office.close());

/** A run with its payments and its instructions, none of which is at the bank yet. */
async function run(company: Company, instructions: number, status = 'APPROVED'): Promise<Work[]> {
  const payRunId = newId();
  await office.tamper(
    `INSERT INTO payment (employer_id, id, pay_run_id, row_no, line, period, kind_of_pay, employee_id, name_sealed,
       name_hash, iban_sealed, iban_hash, amount_minor, currency, row_hash, status, live)
     SELECT $1, gen_random_uuid(), $2, n, n + 1, '2026-11', $5, 'E' || n, '0:Ada', '', $3, '', n, 'EUR',
       sha256(''), $6, true FROM generate_series(1, $4::int) AS n`,
    [company.employerId, payRunId, `0:${IBAN}`, instructions * INSTRUCTION_ROWS, `PAY-${payRunId}`, status],
  );
  const works = Array.from({ length: instructions }, (_, n) => {
    const id = newId();
    const planned = {
      id: newId(),
      payRunId,
      firstRow: n * INSTRUCTION_ROWS + 1,
      lastRow: (n + 1) * INSTRUCTION_ROWS,
    };
    return { instruction: { id, payRunId, bankInstructionId: id }, planned, run: { id: payRunId } } as Work;
  });
  await office.tamper(
    `INSERT INTO instruction (employer_id, id, pay_run_id, planned_instruction_id, attempt, status)
     SELECT $1, i.id, $2, i.planned, 1, 'BUILDING' FROM unnest($3::uuid[], $4::uuid[]) AS i(id, planned)`,
    [
      company.employerId,
      payRunId,
      works.map(({ instruction }) => instruction.id),
      works.map(({ planned }) => planned.id),
    ],
  );
  return works;
}

/** Plans of the updates from arrays: a nested loop in one compares each row with each, which reads no row of a table. */
const joins: string[] = [];

function watched(tx: EmployerTransaction): EmployerTransaction {
  const query: EmployerTransaction['query'] = async (sql, parameters) => {
    if (/^\s*UPDATE[^]+unnest/.test(sql)) {
      const plan = await tx.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, parameters);
      joins.push(
        ...plan.flatMap((line) => /Nested Loop|Hash Join|Merge Join/.exec(line['QUERY PLAN'])?.[0] ?? []),
      );
    }
    return tx.query(sql, parameters);
  };
  return { ...tx, query, beforeCommit: (_stage, statement) => void left.push(statement) };
}

/** What would go with the COMMIT. */
const left: (() => Statement | undefined)[] = [];

/** How many rows of tables a piece of work reads for each row of an instruction, foreign keys' checks included. */
function readPerRow(company: Company, work: (tx: EmployerTransaction) => Promise<unknown>): Promise<number> {
  return office.in(company, async (tx) => {
    const before = await rowsRead(tx);
    await work(watched(tx));
    for (const statement of left.splice(0)) await tx.query(...(statement() ?? ['SELECT']));
    return ((await rowsRead(tx)) - before) / INSTRUCTION_ROWS;
  });
}

async function rowsRead(tx: EmployerTransaction): Promise<number> {
  const [read] = await tx.query<{ rows: string }>(
    `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS rows FROM pg_stat_xact_user_tables
     WHERE relname IN ('payment', 'instruction', 'bank_payment')`,
  );
  return Number(read?.rows);
}

function answered(row: PayableRow): { row: PayableRow; outcome: Outcome<BankPayment> } {
  const bankPaymentId = row.paymentId;
  const value: BankPayment = { bankPaymentId, ids: [bankPaymentId], status: 'INITIATED', wasSettled: false };
  return { row, outcome: { kind: 'yes', value, status: 201 } };
}

/** Takes an instruction from its plan to its end. Rows read for each row of it, by step. */
async function settle(company: Company, work: Work): Promise<Record<string, number>> {
  const { instruction, planned } = work;
  const set = { payRunId: planned.payRunId, planned, actor: 'service' } as const;
  const rows = await office.in(company, (tx) => payableRows(tx, office.personal, work));
  const intended = rows.map(() => ({ bodyHash: Buffer.alloc(32) }) as PreparedAdd);
  await office.in(company, (tx) => intendAdds(tx, work, rows, intended, { epoch: '1', finished: false }));
  return {
    begin: await readPerRow(company, (tx) => movePaymentSet(tx, { ...set, from: 'APPROVED', to: 'AT_BANK' })),
    load: await readPerRow(company, (tx) => payableRows(tx, office.personal, work)),
    add: await readPerRow(company, (tx) => recordAdds(tx, office.personal, work, 1, rows.map(answered), 0)),
    submit: await readPerRow(company, (tx) =>
      movePaymentSet(tx, { ...set, from: 'AT_BANK', to: 'SUBMITTED' }),
    ),
    read: await readPerRow(company, (tx) => followedPayments(tx, office.personal, instruction)),
    follow: await readPerRow(company, (tx) => follow(tx, instruction)),
  };
}

async function follow(tx: EmployerTransaction, instruction: Instruction): Promise<void> {
  const payments = await followedPayments(tx, office.personal, instruction);
  const progress = payments.map((payment) => ({
    payment,
    bankStatus: 'SETTLED',
    shown: 'SETTLED',
    shownStatus: null,
    rank: TERMINAL_RANK,
    returned: false,
    move: { to: 'SETTLED' as const, settledOn: '2026-11-27', chargesMinor: BigInt(payment.rowNo) },
  }));
  await recordProgress(tx, instruction, progress);
}

/** The rows themselves, and for an add the payment and the instruction it refers to. */
const LIMITS = { begin: 1, load: 1, add: 2, submit: 1, read: 2, follow: 4 };
/** An analyzed table of one page is read whole: 40 instructions, in the check of each row that refers to one. */
const WITH_STATISTICS = { ...LIMITS, add: 1 + 2 * INSTRUCTIONS };
/** The instruction's own record, and what else is read once. */
const ONCE = 0.5;

async function expectLinear(company: Company, works: readonly Work[], limits = LIMITS): Promise<void> {
  const [, second] = works;
  if (!second) throw new Error('a run has a second instruction');
  joins.length = 0;
  const read = await settle(company, second);
  const over = Object.entries(limits).filter(([step, limit]) => !((read[step] ?? NaN) <= limit + ONCE));
  expect({ over, read }).toEqual({ over: [], read });
  expect(joins).toEqual(['Hash Join', 'Hash Join']);
  const [done] = await office.query<{ n: number }>(
    company,
    `SELECT count(*)::int AS n FROM payment WHERE pay_run_id = $1 AND status = 'SETTLED' AND charges_minor = row_no`,
    [second.run.id],
  );
  expect(done?.n).toBe(INSTRUCTION_ROWS);
}

describe('an instruction is built and followed by reading its own rows only', () => {
  it('while the tables have no statistics', async () => {
    const company = await office.company();
    await expectLinear(company, await run(company, INSTRUCTIONS));
  });

  it('while the statistics are those of another employer', async () => {
    await run(await office.company(), INSTRUCTIONS, 'SETTLED');
    await office.tamper('ANALYZE');
    const company = await office.company();
    await expectLinear(company, await run(company, INSTRUCTIONS), WITH_STATISTICS);
  });

  it('while the statistics are those of the upload', async () => {
    const company = await office.company();
    const works = await run(company, INSTRUCTIONS);
    await office.tamper('ANALYZE');
    await expectLinear(company, works, WITH_STATISTICS);
  });

  it('over connections that wrote down a small run when the tables were as good as empty', async () => {
    const company = await office.company();
    for (let n = 0; n < 2; n += 1) {
      const [small] = await run(company, 1);
      if (!small) throw new Error('a run has an instruction');
      await settle(company, small);
    }
    await expectLinear(company, await run(company, INSTRUCTIONS));
  });
});

it.each(['of the upload', 'of another employer'])(
  'payments named one by one are moved without reading the others of their run, with statistics %s',
  async (statistics) => {
    await run(await office.company(), INSTRUCTIONS);
    await office.tamper('ANALYZE');
    const company = await office.company();
    const [first] = await run(company, 5 * INSTRUCTIONS, 'READY');
    const { id } = first?.run ?? { id: '' };
    if (statistics === 'of the upload') await office.tamper('ANALYZE');
    const named = await office.query<{ id: string }>(
      company,
      'SELECT id FROM payment WHERE pay_run_id = $1 AND row_no % 1000 = 0',
      [id],
    );
    const moves = named.map((payment) => ({
      paymentId: payment.id,
      to: 'EXCLUDED' as const,
      reason: 'she left',
    }));
    const read = await readPerRow(company, async (tx) =>
      expect(await movePayments(tx, id, 'READY', moves, 'service')).toBe((5 * RUN_ROWS) / 1000),
    );
    expect(read * INSTRUCTION_ROWS).toBeLessThanOrEqual(2 * moves.length);
  },
);
