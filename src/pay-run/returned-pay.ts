import { EmployerTransaction } from '../database/database';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { sumMinor } from '../domain/money';
import { aboutInstruction, clear, raise } from './attention.store';
import type { Instruction } from './instruction.entity';
import { IS_MADE_AGAIN } from './replaced.store';

/**
 * The payments `p` of an instruction `i` that came back, and of which nobody has taken note: they are not made again, and
 * came back after the last decision of two people about such.
 */
const UNPAID_AGAIN = `FROM planned_instruction n
  JOIN payment p ON p.employer_id = $1 AND p.pay_run_id = n.pay_run_id AND p.row_no BETWEEN n.first_row AND n.last_row
  WHERE n.employer_id = $1 AND n.id = i.planned_instruction_id AND p.returned_at IS NOT NULL AND NOT ${IS_MADE_AGAIN}
    AND p.returned_at > coalesce((SELECT max(d.confirmed_at) FROM attention x
      JOIN attention_action d ON d.employer_id = x.employer_id AND d.attention_id = x.id
      WHERE x.employer_id = $1 AND x.kind = 'PAYMENT_RETURNED' AND x.subject_id = i.id), '-infinity')`;

/** Tells of the payments of an instruction that came back, once the bank shows more of them: these people are not paid. */
export async function tellOfReturned(
  tx: EmployerTransaction,
  instruction: Pick<Instruction, 'id' | 'payRunId' | 'bankInstructionId'>,
): Promise<void> {
  const back = await tx.query<{ row_no: number; amount_minor: string }>(
    `SELECT p.row_no, p.amount_minor FROM instruction i CROSS JOIN LATERAL (SELECT p.row_no, p.amount_minor ${UNPAID_AGAIN}) p
     WHERE i.employer_id = $1 AND i.id = $2 ORDER BY p.row_no`,
    [tx.employerId, instruction.id],
  );
  if (back.length === 0) return;
  await clear(tx, ['PAYMENT_RETURNED'], instruction.id, 'there is more to it: told anew');
  const rows = back.map((one) => String(one.row_no));
  const which = `${rows.length === 1 ? 'row' : 'rows'} ${textOfFirstFew(rows, MOST_NAMED)}`;
  await raise(tx, {
    kind: 'PAYMENT_RETURNED',
    ...aboutInstruction(instruction),
    happened: `What had been paid by a submitted instruction came back: ${which}.`,
    payments: back.length,
    amountMinor: sumMinor(back.map((one) => BigInt(one.amount_minor))),
  });
}

/** Closes what people are told of payments that came back, once each is made again by a run that is submitted. */
export async function closePaidAgain(tx: EmployerTransaction): Promise<void> {
  await tx.query(
    `UPDATE attention a SET resolved_at = clock_timestamp(), resolution = 'another run was made of its payments, and is submitted or has ended'
     FROM instruction i
     WHERE a.employer_id = $1 AND a.kind = 'PAYMENT_RETURNED' AND a.resolved_at IS NULL
       AND i.employer_id = $1 AND i.id = a.instruction_id AND NOT EXISTS (SELECT ${UNPAID_AGAIN})`,
    [tx.employerId],
  );
}
