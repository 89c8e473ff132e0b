import type { BankPayment } from '../bank/records';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { firstFew, MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { maskIban } from '../domain/iban';
import { formatMoney, isSummed, sumMinor } from '../domain/money';
import { foldIban } from '../domain/party';
import {
  aboutInstruction,
  type Alarm,
  isConfirmed,
  raiseNaming,
  raiseUndecided,
} from '../pay-run/attention.store';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { readingsOf } from '../pay-run/match';
import { namesOf as isNamedBy, readMessageId } from '../pay-run/message-id';
import { stopRunUnlessDecided, stopUnlessDecided } from '../pay-run/stop';
import { FollowedPayment } from './follow-plan';

/** Foreign payments named in an attention; of more their number is told. */
const FOREIGN_NAMED = 100;

/**
 * Adds after the submit, or payments of somebody else: outside what is assumed of the bank, so all stops. All that a
 * read shows are one question, so that who decides it has read of each. What was decided as totals is none, but for such
 * as bear our mark: of whom they pay a second time totals say nothing.
 */
export async function tellOfForeign(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly (Pick<BankPayment, 'bankPaymentId' | 'messageId'> & Partial<BankPayment>)[],
): Promise<void> {
  const ids = namesOf(payments);
  const isOurs = isNamedBy(instruction.id);
  const doubled = payments.filter(({ messageId = '' }) => isOurs(messageId));
  const rows = [...new Set(doubled.map(({ messageId = '' }) => String(readMessageId(messageId)?.rowNo)))];
  const shown = recorded(payments);
  if (rows.length === 0 && (await areDecidedAsTotals(tx, instruction, shown))) return;
  const alarm = {
    kind: 'FOREIGN_RECORD',
    ...aboutInstruction(instruction),
    happened:
      `The submitted instruction holds what was never sent: payment ${ids.join(', ')}.` +
      (rows.length > 0 ? ` Such bear our mark of rows ${textOfFirstFew(rows, MOST_NAMED)}.` : ''),
    ...(rows.length > 0 && DOUBLED),
    ...shown,
  } as const;
  await stopUnlessDecided(tx, alarm, ids);
}

/**
 * Whether they are, in count and to the cent, what totals showed beyond the approved payments, and two people decided. Of a
 * record without an amount in euros nobody knows that it is that money.
 */
async function areDecidedAsTotals(
  tx: EmployerTransaction,
  { id }: Instruction,
  { payments, amountMinor, records }: Recorded,
): Promise<boolean> {
  if (records.some(({ minor }) => BigInt(minor) <= 0n)) return false;
  return isConfirmed(
    tx,
    { kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', subjectId: id, action: 'RESUME' },
    [payments, amountMinor],
    'a.beyond_payments = $4 AND a.beyond_minor = $5',
  );
}

/** Of payments that bear our own mark beside those we know. */
const DOUBLED = {
  certain:
    'Each row was sent once, and is followed by the id the bank gave it. Whom such another payment of it pays may be paid twice.',
  askBank:
    'Customer instruction {ref} holds payments that bear the message id of another one in it. Is each of ours executed once only? Please stop what is there twice.',
};

type Recorded = Required<Pick<Alarm, 'payments' | 'amountMinor' | 'records'>> & Pick<Alarm, 'bankWords'>;
type OwnEntry = Pick<BankPayment, 'bankPaymentId' | 'transactionType' | 'amountMinor' | 'currency'>;

/**
 * Fees and refunds that the bank lists in a submitted instruction (Transaction types) pay nobody, so nothing is stopped;
 * a person asks what they are, and anew when there are more.
 */
export async function tellOfEntries(
  tx: EmployerTransaction,
  instruction: Instruction,
  entries: readonly OwnEntry[],
): Promise<void> {
  const ids = namesOf(entries);
  const types = [...new Set(entries.map(({ transactionType }) => transactionType))].sort().join(', ');
  const alarm = {
    kind: 'ENTRY_OF_THE_BANK',
    ...aboutInstruction(instruction),
    happened: `The submitted instruction lists what was never sent and is no payment (${types}): ${ids.join(', ')}.`,
    ...recorded(entries),
  } as const;
  await raiseNaming(tx, alarm, ids);
}

/**
 * How many records they are, and what the bank shows of their amounts: the sum of those in euros, and each in words, which
 * are not in `happened`, since one may tell what one person earns.
 */
function recorded(shown: readonly OwnEntry[]): Recorded {
  const once = [...new Map(shown.map((one) => [one.bankPaymentId, one] as const)).values()];
  const words = once.flatMap(wordsOfEntry).sort().slice(0, FOREIGN_NAMED).join(' ');
  const euros = once.map(({ amountMinor = 0n, currency }) => (isSummed(currency) ? amountMinor : 0n));
  return {
    payments: once.length,
    amountMinor: sumMinor(euros),
    bankWords: words === '' ? undefined : words,
    records: once.map(({ bankPaymentId }, n) => ({ id: bankPaymentId, minor: String(euros[n]) })),
  };
}

/** Nothing where the bank does not show its amount. */
function wordsOfEntry({ bankPaymentId, transactionType, amountMinor, currency }: OwnEntry): string[] {
  if (amountMinor === undefined) return [];
  return [`${transactionType ?? 'Payment'} "${bankPaymentId}": ${formatMoney(amountMinor, currency)}.`];
}

function namesOf(records: readonly Pick<BankPayment, 'bankPaymentId'>[]): string[] {
  return firstFew(
    [...new Set(records.map(({ bankPaymentId }) => `"${bankPaymentId}"`))].sort(),
    FOREIGN_NAMED,
  );
}

/**
 * A payment is shown with `fields` that contradict what was sent: its status moves nothing, and what of its run was not
 * submitted is held back (rule 6). What is shown is told to whom may see payments; by a keyed fingerprint of it everybody
 * can tell one difference from another, which is asked about anew.
 */
export function tellOfDifference(
  tx: EmployerTransaction,
  personal: PersonalData,
  instruction: Instruction,
  payment: FollowedPayment,
  { shown, fields }: { shown: BankPayment; fields: readonly string[] },
): Promise<void> {
  const readings = readingsOf(personal, shown, fields);
  const alarm = {
    kind: 'ECHO_MISMATCH',
    ...aboutInstruction(instruction),
    subjectId: payment.paymentId,
    paymentId: payment.paymentId,
    happened: `After the submit, row ${payment.rowNo} is shown with another ${fields.join(', ')} (reading ${readings.join(', ')}).`,
    bankWords: wordsOf(shown),
    certain:
      'It was submitted once and is never sent again. What the bank pays, and to whom, is not certain: it may pay others of the instruction with it. What of the run was not submitted is not sent until two people resume it, and nobody of the instruction is paid again until then, and until this payment has ended.',
    askBank: `Which amount, and to which IBAN, does the bank pay for payment ${payment.bankIds[0] ?? payment.messageId} of customer instruction {ref}? If it is not what we sent, please stop it. Which other payments of the instruction does it hold, if any?`,
    payments: 1,
    amountMinor: payment.amountMinor,
  } as const;
  return stopRunUnlessDecided(tx, alarm, readings);
}

function wordsOf({ amountMinor, currency, iban }: BankPayment): string {
  const amount = amountMinor === undefined ? 'no amount' : formatMoney(amountMinor, currency);
  return `Shown: ${amount}, to ${iban === undefined ? 'no IBAN' : maskIban(foldIban(iban))}.`;
}

/**
 * Nothing the bank shows would tell of a payment it made twice, so a person asks it: of all there are, or of what joined
 * them since the totals were shown.
 */
export function tellOfUnseenTotals(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
): Promise<void> {
  const ended = `The instruction ended, of ${planned.rowCount} payments, without the bank`;
  return raiseUndecided(tx, {
    kind: 'TOTALS_UNSEEN',
    ...aboutInstruction(instruction, planned),
    ...(instruction.totalsCheckedAt === null
      ? { happened: `${ended} ever showing its totals.` }
      : { happened: `${ended} showing its totals again.`, certain: SHOWN_ONCE }),
  });
}

const SHOWN_ONCE =
  'Every payment that was sent is settled or has failed, once each, and the bank showed their count and sum once, at the submit. No read shows them since, nor which instruction its payments belong to: one that joined it after the submit would not be seen.';

/** Payments named where the bank does not show them; of more their number is told. */
const MISSING_NAMED = 10;

/** That payments are not shown, in words. @param bankIds of these, of which there is at least one */
export function wordsOfMissing(bankIds: readonly string[], rows: number): string {
  const ids = textOfFirstFew(
    bankIds.map((id) => `"${id}"`),
    MISSING_NAMED,
  );
  return `${bankIds.length} of ${rows} payments of it are not shown (${ids})`;
}
