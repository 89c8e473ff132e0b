import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { isPaid } from '../domain/bank-status';
import { raise } from './attention.store';
import { NEVER_REPLACED } from './attention-words';
import type { MovedPayment } from './second-reading';
import { named, stopSuccessors } from './stop-successors';

/**
 * What a second look showed: it is kept, since the bank may show it no more (rule 10), successors are stopped, and who
 * follows the old instructions tells what became of them. People are asked anew for its word on what it shows no more, and
 * what was shown as paid is never replaced (rule 12).
 * @returns the statuses shown, for people
 */
export async function tellOfMoved(tx: EmployerTransaction, moved: readonly MovedPayment[]): Promise<string> {
  const shown = [...new Set(moved.map(({ bankStatus }) => bankStatus))].join(', ');
  const instructions = [...new Set(moved.map(({ bankInstructionId }) => named(bankInstructionId)))].sort();
  const told = { shown: `${shown} in ${instructions.join(', ')}`, words: instructions };
  await stopSuccessors(tx, moved, () => told);
  await keepMoved(tx, moved);
  await tellOfPaid(
    tx,
    moved.filter(({ bankStatus }) => isPaid(bankStatus)),
  );
  await askAnew(tx, moved);
  wake(tx, 'FOLLOW', [...new Set(moved.map(({ instructionId }) => instructionId))]);
  return shown;
}

/** In one order, so that two that keep some of the same do not wait for one another. */
async function keepMoved(tx: EmployerTransaction, moved: readonly MovedPayment[]): Promise<void> {
  await tx.query(
    `INSERT INTO moved_payment AS kept (employer_id, instruction_id, row_no, bank_status, is_elsewhere, back_minor)
     SELECT $1, b.instruction_id, b.row_no, (array_agg(u.bank_status ORDER BY u.bank_status = 'SETTLED' DESC))[1],
       bool_or(u.is_elsewhere), min(u.back_minor)
     FROM ${SHOWN} GROUP BY 2, 3 ORDER BY 2, 3
     ON CONFLICT (employer_id, instruction_id, row_no) DO UPDATE SET bank_status = excluded.bank_status,
       is_elsewhere = kept.is_elsewhere OR excluded.is_elsewhere,
       back_minor = least(kept.back_minor, excluded.back_minor), seen_at = clock_timestamp()`,
    shownOf(tx, moved),
  );
}

/** What a look showed, as `u`, of the payments `b` at the bank. */
const SHOWN = `unnest($2::uuid[], $3::uuid[], $4::text[], $5::boolean[], $6::bigint[])
    AS u(instruction_id, payment_id, bank_status, is_elsewhere, back_minor)
  JOIN bank_payment b ON b.employer_id = $1 AND b.instruction_id = u.instruction_id AND b.payment_id = u.payment_id`;

function shownOf({ employerId }: EmployerTransaction, moved: readonly MovedPayment[]): unknown[] {
  return [
    employerId,
    moved.map(({ instructionId }) => instructionId),
    moved.map(({ paymentId }) => paymentId),
    moved.map(({ bankStatus }) => bankStatus),
    moved.map(({ isElsewhere }) => isElsewhere === true),
    moved.map(({ backMinor }) => backMinor ?? null),
  ];
}

interface Paid {
  paymentId: string;
  payRunId: string;
  instructionId: string;
  bankReference: string | null;
  amountMinor: string;
  shown: string;
}

/** Asks about what ended unpaid and was shown as paid, unless people were asked; what came back may be shown so by an older read. */
async function tellOfPaid(tx: EmployerTransaction, paid: readonly MovedPayment[]): Promise<void> {
  if (paid.length === 0) return;
  const untold = await tx.query<Paid>(
    `SELECT DISTINCT ON (p.id) p.id AS "paymentId", p.pay_run_id AS "payRunId", i.id AS "instructionId",
       i.bank_instruction_id AS "bankReference", p.amount_minor AS "amountMinor",
       u.bank_status || coalesce(' after ' || b.bank_status, '') || ' (row ' || p.row_no || ', payment '
         || coalesce(b.bank_payment_id, 'without an id') || ')' AS shown
     FROM ${SHOWN}
     JOIN instruction i ON i.employer_id = $1 AND i.id = b.instruction_id
     JOIN payment p ON p.employer_id = $1 AND p.id = b.payment_id AND p.status <> 'SETTLED'
     WHERE NOT EXISTS (SELECT FROM attention a WHERE a.employer_id = $1 AND a.payment_id = p.id
       AND a.kind = 'CONTRADICTION' AND strpos(a.happened, ': SETTLED ') > 0)
     ORDER BY p.id, i.id`,
    shownOf(tx, paid),
  );
  for (const { shown, amountMinor, ...it } of untold)
    await raise(tx, {
      ...it,
      kind: 'CONTRADICTION',
      subjectId: it.paymentId,
      happened: `A payment that had ended unpaid was shown as paid, by itself or with its instruction: ${shown}.`,
      certain: `Its end is kept, and not both are right about whether it was paid. ${NEVER_REPLACED}`,
      payments: 1,
      amountMinor: BigInt(amountMinor),
    });
}

/** What is proposed on a question from before would rest on a word from before. */
async function askAnew(tx: EmployerTransaction, moved: readonly MovedPayment[]): Promise<void> {
  await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(),
       resolution = 'the bank has shown some of it to have moved: told anew while it shows it no more'
     WHERE employer_id = $1 AND kind = 'REPLACED_UNSEEN' AND resolved_at IS NULL
       AND EXISTS (SELECT FROM unnest($2::text[]) AS id WHERE strpos(happened, '"' || id || '"') > 0)`,
    [tx.employerId, [...new Set(moved.map(({ bankInstructionId }) => bankInstructionId))]],
  );
}
