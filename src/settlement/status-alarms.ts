import { EmployerTransaction } from '../database/database';
import { isPastSubmit } from '../domain/bank-status';
import { clear, raise } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { alarmOfStatus } from './follow-plan';
import { HAPPENED, PASSING } from './follow.store';

/** Open payments of an instruction that share a status; the amount in minor units. */
interface StatusGroup {
  status: string;
  payments: number;
  amount: string;
  rows: number[];
}

/** Rows named in an attention; the report names them all. */
const ROWS_NAMED = 10;

/**
 * Asks once for each instruction, however many of its open payments share the status: about statuses nobody documents,
 * and about those in which the bank waits for a person. Cleared as soon as none is left.
 */
export async function tellOfStatuses(tx: EmployerTransaction, instruction: Instruction): Promise<void> {
  const groups = await openStatuses(tx, instruction);
  for (const kind of PASSING) {
    const alarming = groups.filter(({ status }) => alarmOfStatus(status) === kind);
    const [first] = alarming;
    if (first === undefined) {
      await clear(tx, [kind], instruction.id, 'the bank went on to a documented status');
      continue;
    }
    const where = first.rows.length > 0 ? `rows ${first.rows.join(', ')}` : 'the instruction itself';
    await raise(tx, {
      kind,
      subjectId: instruction.id,
      payRunId: instruction.payRunId,
      instructionId: instruction.id,
      bankReference: instruction.bankInstructionId,
      happened: `${HAPPENED[kind]}: ${first.status} (${where}).`,
      payments: alarming.reduce((sum, { payments }) => sum + payments, 0),
      amountMinor: alarming.reduce((sum, { amount }) => sum + BigInt(amount), 0n),
    });
  }
}

/** The statuses of the open payments, and that of the instruction while no payment has got past it. */
async function openStatuses(tx: EmployerTransaction, instruction: Instruction): Promise<StatusGroup[]> {
  const groups = await tx.query<StatusGroup>(
    `SELECT b.bank_status AS status, count(*)::int AS payments, sum(p.amount_minor)::text AS amount,
       (array_agg(b.row_no ORDER BY b.row_no))[1:$3] AS rows
     FROM bank_payment b JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.bank_status IS NOT NULL AND p.status = 'SUBMITTED'
     GROUP BY b.bank_status ORDER BY min(b.row_no)`,
    [tx.employerId, instruction.id, ROWS_NAMED],
  );
  const waiting = groups.length > 0 && groups.every(({ status }) => !isPastSubmit(status));
  if (!waiting || instruction.bankStatus === null) return groups;
  return [...groups, { status: instruction.bankStatus, payments: 0, amount: '0', rows: [] }];
}
