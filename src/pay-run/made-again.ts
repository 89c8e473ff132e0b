import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { sumMinor } from '../domain/money';
import { aboutInstruction, raiseAnew } from './attention.store';
import type { AttentionKind } from './attention-words';
import type { Instruction } from './instruction.entity';

/** Each payment `p` of an instruction `i` that no run of which nothing is left to be submitted makes again. */
const notMadeAgain = (instructionId: string) => `FROM instruction i
  JOIN planned_instruction n ON n.employer_id = i.employer_id AND n.id = i.planned_instruction_id
  JOIN payment p ON p.employer_id = $1 AND p.pay_run_id = n.pay_run_id AND p.row_no BETWEEN n.first_row AND n.last_row
  WHERE i.employer_id = $1 AND i.id = ${instructionId} AND (
    SELECT count(*) = 0 FROM payment s CROSS JOIN ${byKey('pay_run', 's.pay_run_id')} r
    WHERE s.employer_id = $1 AND s.replaces_payment_id = p.id AND s.status NOT IN ('EXCLUDED', 'HELD')
      AND r.status IN ('FOLLOWING', 'SETTLED', 'PARTLY_SETTLED', 'FAILED'))`;

/** Whether one of them came back after the last decision of two people about such of its instruction. */
const CAME_BACK = `p.returned_at > coalesce((SELECT max(d.confirmed_at) FROM attention x
  JOIN attention_action d ON d.employer_id = x.employer_id AND d.attention_id = x.id
  WHERE x.employer_id = $1 AND x.kind = 'PAYMENT_RETURNED' AND x.subject_id = i.id), '-infinity')`;

/** Tells of the payments of an instruction that came back, once the bank shows more of them: these people are not paid. */
export async function tellOfReturned(
  tx: EmployerTransaction,
  instruction: Pick<Instruction, 'id' | 'payRunId' | 'bankInstructionId'>,
): Promise<void> {
  const back = await tx.query<{ row_no: number; amount_minor: string }>(
    `SELECT p.row_no, p.amount_minor ${notMadeAgain('$2')} AND ${CAME_BACK} ORDER BY p.row_no`,
    [tx.employerId, instruction.id],
  );
  if (back.length === 0) return;
  const rows = back.map((one) => String(one.row_no));
  const which = `${rows.length === 1 ? 'row' : 'rows'} ${textOfFirstFew(rows, MOST_NAMED)}`;
  await raiseAnew(tx, {
    kind: 'PAYMENT_RETURNED',
    ...aboutInstruction(instruction),
    happened: `What had been paid by a submitted instruction came back: ${which}.`,
    payments: back.length,
    amountMinor: sumMinor(back.map((one) => BigInt(one.amount_minor))),
  });
}

/**
 * Closes what people are told of instructions that were released at their cut-off, and of payments that came back, once
 * each of these is made again by a run of which nothing is left to be submitted.
 */
export async function closeMadeAgain(tx: EmployerTransaction): Promise<void> {
  await closeUnless(tx, 'STALE_DATE', `p.status = 'VOID'`);
  await closeUnless(tx, 'PAYMENT_RETURNED', CAME_BACK);
}

async function closeUnless(tx: EmployerTransaction, kind: AttentionKind, isLeft: string): Promise<void> {
  await tx.query(
    `UPDATE attention a SET resolved_at = clock_timestamp(), resolution = 'another run was made of its payments, and is submitted or has ended'
     WHERE a.employer_id = $1 AND a.kind = $2 AND a.resolved_at IS NULL AND a.instruction_id IS NOT NULL
       AND NOT EXISTS (SELECT ${notMadeAgain('a.instruction_id')} AND ${isLeft})`,
    [tx.employerId, kind],
  );
}
