import { KnownIds, knownIds } from '../bank/payment-ids';
import { EmployerTransaction } from '../database/database';
import { Instruction } from '../pay-run/instruction.entity';

/** The ids of the payments of an instruction, as far as the bank has told them: of one whose add is in doubt there may be none. */
export async function knownPayments(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
): Promise<KnownIds[]> {
  const known = await tx.query<{ id: string | null; other: string | null }>(
    `SELECT bank_payment_id AS id, bank_transaction_id AS other FROM bank_payment
     WHERE employer_id = $1 AND instruction_id = $2 AND (bank_payment_id IS NOT NULL OR add_outcome = 'IN_DOUBT')`,
    [tx.employerId, id],
  );
  return known.map((one) => knownIds(one.id, one.other));
}
