import { EmployerTransaction } from '../database/database';
import { isBeforeSubmit, isEndedUnpaid } from '../domain/bank-status';
import { isPaymentFinal } from '../domain/payment';
import { aboutInstruction, clear, raiseNaming } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { FollowedPayment } from './follow-plan';

/**
 * The bank has ended a submitted instruction unpaid, such as for a strong authentication that somebody refused, and
 * leaves its payments where they were before the submit: nothing it shows from now on says more, so a person is told.
 * @param before the instruction's status before its payments were read: what ended meanwhile may show an older state
 */
export async function tellOfEnded(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  before: string | null,
): Promise<void> {
  const { bankStatus } = instruction;
  if (bankStatus === null || !isEndedUnpaid(bankStatus)) return;
  const open = payments.filter(({ status }) => !isPaymentFinal(status));
  const left = open.every((payment) => payment.bankStatus === null || isBeforeSubmit(payment.bankStatus));
  if (open.length === 0 || !left)
    return clear(tx, ['ENDED_BY_BANK'], instruction.id, 'the bank went on with its payments');
  if (before === null || !isEndedUnpaid(before)) return;
  const alarm = {
    kind: 'ENDED_BY_BANK',
    ...aboutInstruction(instruction),
    happened: `The bank ended the submitted instruction as ${bankStatus}, and did not end ${open.length} of its payments.`,
    payments: open.length,
    amountMinor: open.reduce((sum, { amountMinor }) => sum + amountMinor, 0n),
  } as const;
  await raiseNaming(tx, alarm, [` ${bankStatus},`]);
}
