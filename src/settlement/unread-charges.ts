import type { BankPayment } from '../bank/records';
import type { EmployerTransaction } from '../database/database';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { sumMinor } from '../domain/money';
import { aboutInstruction, clear, raiseNaming } from '../pay-run/attention.store';
import type { Instruction } from '../pay-run/instruction.entity';
import { namedSubject } from '../pay-run/named-subject';
import type { FollowedPayment } from './follow-plan';

/**
 * Whether what the bank charges for a payment is left unread by a read of it: what is not shown any more is no better known.
 * @param shown all that the read shows of it
 */
export function isChargeUnread(
  { chargesUnread }: Pick<FollowedPayment, 'chargesUnread'>,
  shown: readonly Pick<BankPayment, 'chargesMinor' | 'chargesUnread'>[],
): boolean {
  if (shown.some((one) => one.chargesUnread === true)) return true;
  return chargesUnread && shown.every(({ chargesMinor }) => chargesMinor === undefined);
}

const UNREAD =
  'The bank shows charges that cannot be read: they are of another currency than EUR, or no whole amount of cents';

/**
 * Asks once for each instruction about charges of its payments that cannot be read, and anew for more of them: they count in
 * no sum. Cleared as soon as all are read.
 * @param before the payments as they stood before the read
 * @param unread those of which the charges cannot be read now
 */
export async function tellOfCharges(
  tx: EmployerTransaction,
  instruction: Instruction,
  before: readonly FollowedPayment[],
  unread: readonly FollowedPayment[],
): Promise<void> {
  const subjectId = namedSubject(`${instruction.id} charges`);
  if (unread.length === 0) {
    if (before.some(({ chargesUnread }) => chargesUnread))
      await clear(tx, ['CONTRACT_DRIFT'], subjectId, 'a later read shows what was charged');
    return;
  }
  const rows = unread.map(({ rowNo }) => rowNo);
  const ids = unread.map(({ bankIds, messageId }) => `"${bankIds[0] ?? messageId}"`);
  const alarm = {
    kind: 'CONTRACT_DRIFT',
    ...aboutInstruction(instruction),
    subjectId,
    happened: `${UNREAD} (rows ${textOfFirstFew(rows.map(String), MOST_NAMED)}).`,
    certain:
      'All else that is shown of these payments is recorded. What was charged for them is not known, and is in no sum of a report. It closes by itself once the bank shows it so that it can be read.',
    askBank: `How much, in euro and cents, did you charge for the payments ${textOfFirstFew(ids, MOST_NAMED)} of customer instruction {ref}? Your interface does not show it as a whole amount of cents in EUR.`,
    payments: unread.length,
    amountMinor: sumMinor(unread.map(({ amountMinor }) => amountMinor)),
    isAboutAll: true,
    askedRows: [{ status: 'chargesAmount', rows }],
  } as const;
  await raiseNaming(tx, alarm, [UNREAD]);
}
