import { EmployerTransaction } from '../database/database';
import { isEndedUnpaid, isStepFurther, isUntaken } from '../domain/bank-status';
import { sumMinor } from '../domain/money';
import { isPaymentFinal } from '../domain/payment';
import { aboutInstruction, ALL_ENDED, clear, raiseNaming } from '../pay-run/attention.store';
import { WERE_PAID } from '../pay-run/attention-actions';
import { IF_EXECUTED } from '../pay-run/attention-words';
import { Instruction } from '../pay-run/instruction.entity';
import { FollowedPayment, Progress } from './follow-plan';
import { recordWentOn, WENT_ON } from './taken-up';

/** What a read showed of an instruction beside its payments as they stand. */
interface ReadOfEnded {
  /** The instruction's status before its payments were read: what ended meanwhile may show an older state. */
  before: string | null;
  progress: readonly Progress[];
  /** Whether the bank executes nothing more on the execution date. */
  isDayOver: boolean;
}

/**
 * The bank has ended a submitted instruction unpaid, such as for a strong authentication that somebody refused, and
 * leaves its payments where they were before it took them: nothing it shows from now on says more, so a person is told.
 * Not while it takes them further after that end, nor, once it did, before its day is over: it may pay them yet.
 */
export async function tellOfEnded(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  { before, progress, isDayOver }: ReadOfEnded,
): Promise<void> {
  const { bankStatus } = instruction;
  if (bankStatus === null || !isEndedUnpaid(bankStatus)) return;
  const open = openUntaken(payments);
  if (open.length === 0) {
    const allEnded = payments.every(({ status }) => isPaymentFinal(status));
    return clear(tx, ['ENDED_BY_BANK'], instruction.id, allEnded ? ALL_ENDED : WENT_ON);
  }
  if (before === null || !isEndedUnpaid(before)) return;
  const goesOn = progress.some(({ payment, shown }) => isStepFurther(shown, payment.rank));
  if (goesOn) await recordWentOn(tx, instruction);
  const wentOn = instruction.wentOnAt !== null;
  if (goesOn || (wentOn && !isDayOver)) return clear(tx, ['ENDED_BY_BANK'], instruction.id, WENT_ON);
  const happened =
    `The bank ended the submitted instruction as ${bankStatus}, and did not end ${open.length} of its payments.` +
    (wentOn ? ' It went on with it, or with payments of it, after that.' : '');
  await tellOfLeft(tx, instruction, { payments, open, happened }, [` ${bankStatus},`]);
}

/**
 * Asks about the payments that are left open, and anew once their sum is another. Of an instruction of which some were paid
 * nobody says as a whole that it was not executed.
 */
async function tellOfLeft(
  tx: EmployerTransaction,
  instruction: Instruction,
  left: {
    payments: readonly FollowedPayment[];
    open: readonly FollowedPayment[];
    happened: string;
    certain?: string;
  },
  words: readonly string[],
): Promise<void> {
  const { payments, open, happened, certain } = left;
  const paid = payments.filter(({ status }) => status === 'SETTLED').length;
  const alarm = {
    kind: 'ENDED_BY_BANK',
    ...aboutInstruction(instruction),
    happened: paid > 0 ? `${happened} ${paid}${WERE_PAID}` : happened,
    ...(paid > 0 ? ABOUT_REST : certain !== undefined && { certain }),
    payments: open.length,
    amountMinor: sumMinor(open.map(({ amountMinor }) => amountMinor)),
    isAboutSum: true,
  } as const;
  await raiseNaming(tx, alarm, paid > 0 ? [...words, WERE_PAID] : words);
}

const ABOUT_REST = {
  certain:
    'It was submitted once and is never sent again, and no other instruction pays these people. Some of its payments were paid: what became of each of the others two people decide in the UNKNOWN_STATUS that asks two banking days after the date.',
  askBank:
    'What became of the payments of customer instruction {ref} that have not ended: was each of them paid, or is it certain that it never will be? Please confirm that in writing.',
};

/** Payments that have not ended, where the bank has taken none of them; otherwise none. */
function openUntaken(payments: readonly FollowedPayment[]): readonly FollowedPayment[] {
  const open = payments.filter(({ status }) => !isPaymentFinal(status));
  return open.every(({ bankStatus }) => isUntaken(bankStatus)) ? open : [];
}

const GONE = 'The bank shows neither the submitted instruction any more nor a payment of it';

/**
 * The bank says that there is no such instruction, and no list shows a payment of it, longer after its date than payments
 * take: nothing it shows from now on may say more, so a person asks it in writing. That it is not there proves nothing.
 * Closed once anything of it is shown again.
 * @param payments of a submitted instruction that is past the patience with its payments
 */
export async function tellOfGone(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  { gone, shown }: { gone: boolean; shown: boolean },
): Promise<void> {
  if (isEndedUnpaid(instruction.bankStatus ?? '')) return;
  if (shown) return clear(tx, ['ENDED_BY_BANK'], instruction.id, 'the bank shows it again');
  const open = openUntaken(payments);
  if (!gone || open.length === 0) return;
  const happened = `${GONE}, two banking days after the execution date.`;
  const certain = `It is never sent again, and no other instruction pays these people. That the bank does not show it proves nothing: it may have been executed all the same. ${IF_EXECUTED}`;
  await tellOfLeft(tx, instruction, { payments, open, happened, certain }, [GONE]);
}
