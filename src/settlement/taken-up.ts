import { EmployerTransaction } from '../database/database';
import { isEndedUnpaid, isUndocumented, mayBeTaken } from '../domain/bank-status';
import { isLeftToInstruction } from '../domain/replacement';
import { clear } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { STATUS_AS_FOLLOWED } from '../pay-run/instruction.store';
import { tellOfMoved } from '../pay-run/moved-payment';

/** How what is asked of an instruction that was ended is resolved once the bank goes on with it all the same. */
export const WENT_ON = 'the bank went on with it, or with its payments';

/**
 * The bank shows an instruction as taken up, whatever it shows of its payments: the next read need not show that again, so
 * it is kept, and no word of the bank from before ends its payments (rule 10). Where two people have declared them already,
 * they have moved.
 * @param before its status as it was shown before; null where none was
 */
export async function keepThatItWasTaken(
  tx: EmployerTransaction,
  instruction: Instruction,
  before: string | null,
): Promise<void> {
  const { id, bankStatus, status } = instruction;
  if (bankStatus === null || bankStatus === before || !mayBeTaken(bankStatus)) return;
  if (status !== 'SUBMITTED') return tellOfDeclared(tx, instruction, bankStatus);
  if (before !== null && isEndedUnpaid(before)) await recordWentOn(tx, instruction);
  await clear(tx, ['ENDED_BY_BANK'], id, WENT_ON);
}

/** Keeps that the bank went on with an instruction, or with a payment of it, though it was seen to be ended. */
export async function recordWentOn(tx: EmployerTransaction, instruction: Instruction): Promise<void> {
  const { employerId } = tx;
  const [kept] = await tx.query<{ went_on_at: Date }>(
    'UPDATE instruction SET went_on_at = clock_timestamp() WHERE employer_id = $1 AND id = $2 RETURNING went_on_at',
    [employerId, instruction.id],
  );
  instruction.wentOnAt = kept?.went_on_at ?? null;
}

async function tellOfDeclared(
  tx: EmployerTransaction,
  { id, bankInstructionId }: Instruction,
  bankStatus: string,
): Promise<void> {
  // Before a repay such a status is asked about.
  if (isUndocumented(bankStatus)) return;
  const declared = await tx.query<{ payment_id: string; own: string | null; decided: string[] }>(
    `SELECT p.id AS payment_id, coalesce(b.shown_status, ${STATUS_AS_FOLLOWED}) AS own,
       ARRAY(SELECT d.bank_status FROM payment_decision d
         WHERE d.employer_id = $1 AND d.payment_id = p.id) AS decided
     FROM bank_payment b JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND p.status = 'VOID' ORDER BY b.row_no`,
    [tx.employerId, id],
  );
  const moved = declared.flatMap(({ payment_id: paymentId, own, decided: decidedStatuses }) => {
    const payment = { status: 'VOID', decidedStatuses } as const;
    const isLeft = isLeftToInstruction(payment, own === null ? [] : [own]);
    if (!isLeft || decidedStatuses.includes(bankStatus)) return [];
    return { paymentId, instructionId: id, bankInstructionId: bankInstructionId ?? '', bankStatus };
  });
  if (moved.length > 0) await tellOfMoved(tx, moved);
}
