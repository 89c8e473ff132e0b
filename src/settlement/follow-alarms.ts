import type { NotAllowed } from '../bank/errors';
import type { BankPayment } from '../bank/records';
import { EmployerTransaction } from '../database/database';
import { aboutInstruction, raise, raiseUndecided } from '../pay-run/attention.store';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { PayRun } from '../pay-run/pay-run.entity';
import { stopRunUnlessDecided, stopUnlessDecided } from '../pay-run/stop';
import { FollowedPayment } from './follow-plan';

/** Foreign payments named in an attention; of more their number is told. */
const FOREIGN_NAMED = 100;

/**
 * Adds after the submit, or payments of somebody else: outside what is assumed of the bank, so all stops. All that a
 * read shows are one question, so that who decides it has read of each.
 */
export async function tellOfForeign(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly Pick<BankPayment, 'bankPaymentId'>[],
): Promise<void> {
  const ids = [...new Set(payments.map(({ bankPaymentId }) => `"${bankPaymentId}"`))].sort();
  const named = ids.slice(0, FOREIGN_NAMED);
  if (ids.length > named.length) named.push(`${ids.length - named.length} more`);
  const alarm = {
    kind: 'FOREIGN_RECORD',
    ...aboutInstruction(instruction),
    happened: `The submitted instruction holds what was never sent: payment ${named.join(', ')}.`,
  } as const;
  await stopUnlessDecided(tx, alarm, named);
}

/**
 * A payment is shown with `fields` that contradict what was sent: its status moves nothing, and what of its run was not
 * submitted is held back (rule 6).
 */
export function tellOfDifference(
  tx: EmployerTransaction,
  instruction: Instruction,
  payment: FollowedPayment,
  fields: readonly string[],
): Promise<void> {
  return stopRunUnlessDecided(tx, {
    kind: 'ECHO_MISMATCH',
    ...aboutInstruction(instruction),
    subjectId: payment.paymentId,
    paymentId: payment.paymentId,
    happened: `After the submit, row ${payment.rowNo} is shown with another ${fields.join(', ')}.`,
    certain:
      'It was submitted once and is never sent again. What the bank pays, and to whom, is not certain. What of the run was not submitted is not sent until two people resume it.',
    askBank: `Which amount, and to which IBAN, does the bank pay for payment ${payment.bankIds[0] ?? payment.messageId} of customer instruction {ref}? If it is not what we sent, please stop it.`,
    payments: 1,
    amountMinor: payment.amountMinor,
  });
}

/** Nothing the bank shows would tell of a payment it made twice, so a person asks it. */
export function tellOfUnseenTotals(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
): Promise<void> {
  return raise(tx, {
    kind: 'TOTALS_UNSEEN',
    ...aboutInstruction(instruction, planned),
    happened: `The instruction ended, of ${planned.rowCount} payments, without the bank ever showing its totals.`,
  });
}

/** What ended is not shown any more: asked once for its run, and no reason to stop what others are paid by. */
export function tellOfHidden(tx: EmployerTransaction, run: PayRun, refusal: NotAllowed): Promise<void> {
  return raiseUndecided(tx, {
    kind: 'ROW_UNSEEN',
    subjectId: run.id,
    payRunId: run.id,
    happened: `The bank refuses to show instructions of this run that have ended: ${refusal.loggedAs}.`,
    certain:
      'Nothing more is sent for them. While the bank does not show them, nobody sees whether money of them moves or comes back.',
    askBank: 'Why are instructions of ours not shown any more, and did anything of them move since?',
    payments: run.rowCount,
    amountMinor: run.totalMinor,
  });
}

/** Payments should be final by now and are not. @param why what else is to be said of it, or nothing */
export function tellOfUnfinished(
  tx: EmployerTransaction,
  instruction: Instruction,
  open: readonly FollowedPayment[],
  why: string,
): Promise<void> {
  return raiseUndecided(tx, {
    kind: 'ROW_UNSEEN',
    ...aboutInstruction(instruction),
    happened: `${open.length} payments are not final two banking days after the execution date.${why}`,
    payments: open.length,
    amountMinor: open.reduce((sum, payment) => sum + payment.amountMinor, 0n),
  });
}
