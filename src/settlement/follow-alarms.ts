import { type NotAllowed, NoReadAllowed } from '../bank/errors';
import type { BankPayment } from '../bank/records';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { firstFew, MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { maskIban } from '../domain/iban';
import { formatMoney, isSummed, sumMinor } from '../domain/money';
import { foldIban } from '../domain/party';
import type { EmployerAccount } from '../employer/employer.entity';
import {
  aboutInstruction,
  type Alarm,
  clear,
  isResumed,
  openText,
  raiseNaming,
  raiseUndecided,
} from '../pay-run/attention.store';
import { NOTHING_TO_ASK } from '../pay-run/attention-words';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { readingsOf } from '../pay-run/match';
import { namesOf as isNamedBy, readMessageId } from '../pay-run/message-id';
import { PayRun } from '../pay-run/pay-run.entity';
import { named } from '../pay-run/stop-successors';
import { stopRunUnlessDecided, stopUnlessDecided } from '../pay-run/stop';
import { FollowedPayment } from './follow-plan';
import { unseenOf } from './status-alarms';

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
  return isResumed(
    tx,
    { kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', subjectId: id },
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
      'It was submitted once and is never sent again. What the bank pays, and to whom, is not certain. What of the run was not submitted is not sent until two people resume it.',
    askBank: `Which amount, and to which IBAN, does the bank pay for payment ${payment.bankIds[0] ?? payment.messageId} of customer instruction {ref}? If it is not what we sent, please stop it.`,
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

const HIDDEN = 'The bank refuses to show instructions of this run that have ended';

const UNASKED = 'Instructions of this run that have ended are not read any more';

type Asked = Pick<Alarm, 'happened' | 'askBank'>;

/** What is told where the bank was not asked: it may show them, and a detached account cannot be probed again. */
function unasked({ detachedAt }: EmployerAccount, refusal: NoReadAllowed): Asked {
  if (detachedAt === null) return { happened: `${UNASKED}: ${refusal.message}.`, askBank: NOTHING_TO_ASK };
  return {
    happened: `${UNASKED}: when their account was last probed, no read of its payments was found to be allowed, and it is detached since, so that no probe can find another.`,
    askBank:
      'Did anything move of our instructions from account {ref} since they ended, and does money of them come back? We do not read them any more.',
  };
}

/**
 * What ended is not shown any more, or not asked for: told once for its run, and no reason to stop what others are paid by.
 */
export async function tellOfHidden(
  tx: EmployerTransaction,
  run: PayRun,
  account: EmployerAccount,
  refusal: NotAllowed,
): Promise<void> {
  const isAsked = !(refusal instanceof NoReadAllowed);
  const asked = isAsked
    ? {
        happened: `${HIDDEN}: ${refusal.message}.`,
        askBank: 'Why are instructions of ours not shown any more, and did anything of them move since?',
      }
    : unasked(account, refusal);
  const told = isAsked ? HIDDEN : asked.happened;
  if (await isToldOf(tx, run, told)) return;
  const alarm = {
    kind: 'ROW_UNSEEN',
    ...aboutEnded(run),
    bankReference: account.bankAccountId,
    ...asked,
  } as const;
  const open = (await openText(tx, alarm)) ?? '';
  const isOther = [HIDDEN, UNASKED].some((words) => open.startsWith(words));
  await raiseNaming(tx, alarm, isOther ? [told] : [], 'over');
}

/**
 * Whether people were told so since ended instructions of the run are missing: what they decided stands for that long, and
 * is asked anew should they be missing again.
 */
async function isToldOf(tx: EmployerTransaction, run: PayRun, happened: string): Promise<boolean> {
  const told = await tx.query(
    `SELECT FROM attention a WHERE a.employer_id = $1 AND a.kind = 'ROW_UNSEEN' AND a.subject_id = $2
       AND starts_with(a.happened, $3) AND (a.resolved_at IS NULL OR a.resolved_at >= (
           SELECT min(l.missing_since) FROM lease l
           JOIN instruction i ON i.employer_id = l.employer_id AND i.id = l.subject_id
           WHERE i.employer_id = $1 AND i.pay_run_id = $2 AND l.kind = 'FOLLOW' AND l.missing = $4)
         AND EXISTS (SELECT FROM attention_action d
           WHERE d.employer_id = a.employer_id AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL))
     LIMIT 1`,
    [tx.employerId, run.id, happened, ENDED],
  );
  return told.length > 0;
}

/** Of a run whose ended instructions nobody sees. */
function aboutEnded(run: PayRun) {
  return {
    subjectId: run.id,
    payRunId: run.id,
    certain:
      'Nothing more is sent for them. While the bank does not show them, nobody sees whether money of them moves or comes back.',
    payments: run.rowCount,
    amountMinor: run.totalMinor,
  };
}

/** What a lease lacks whose ended instruction could not be read. */
export const ENDED = 'ENDED';

const UNREAD = 'Instructions of this run that have ended could not be read in full for a day';

/**
 * What ended cannot be read, for whatever reason: asked once for its run, naming one instruction, however many are not,
 * and stops nobody.
 */
export async function tellOfUnread(
  tx: EmployerTransaction,
  run: PayRun,
  { bankInstructionId }: Pick<Instruction, 'bankInstructionId'>,
  failure: Pick<Error, 'message'>,
): Promise<void> {
  if (await isToldOf(tx, run, UNREAD)) return;
  const alarm = {
    kind: 'ROW_UNSEEN',
    ...aboutEnded(run),
    bankReference: bankInstructionId,
    happened: `${UNREAD}, such as ${named(bankInstructionId)}: ${failure.message}.`,
    askBank:
      'Why can instructions of ours, such as customer instruction {ref}, not be read any more in full, and did anything of them move since?',
  } as const;
  await raiseNaming(tx, alarm, [UNREAD], 'over');
}

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

/**
 * Closes what `tellOfHidden` and `tellOfUnread` asked once every ended instruction of the run could be read again.
 * @param instructionId which of them was read now
 */
export async function nowRead(tx: EmployerTransaction, run: PayRun, instructionId: string): Promise<void> {
  // One sweep answers several at once: who comes second sees that the first can be read.
  await tx.query(
    `SELECT FROM attention WHERE employer_id = $1 AND kind = 'ROW_UNSEEN' AND subject_id = $2 AND resolved_at IS NULL
     FOR NO KEY UPDATE`,
    [tx.employerId, run.id],
  );
  await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = 'the bank could be read again'
     WHERE employer_id = $1 AND kind = 'ROW_UNSEEN' AND subject_id = $2 AND resolved_at IS NULL
       AND EXISTS (SELECT FROM unnest($3::text[]) AS told WHERE starts_with(happened, told)) AND NOT EXISTS (
         SELECT FROM lease l JOIN instruction i ON i.employer_id = l.employer_id AND i.id = l.subject_id
         WHERE i.employer_id = $1 AND i.pay_run_id = $2 AND i.id <> $5 AND l.kind = 'FOLLOW' AND l.missing = $4)`,
    [tx.employerId, run.id, [UNREAD, HIDDEN, UNASKED], ENDED, instructionId],
  );
}

const NOT_FINAL = ' not final two banking days after the execution date.';

/**
 * Payments should be final by now, and neither are nor show a status that is asked about: told anew as their number
 * changes while it is open, and no more once none is left. What is decided is not asked again as they become fewer.
 * @param payments of an overdue instruction, as they stand
 * @param why what else is to be said of it, or nothing
 */
export async function tellOfUnseen(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  why: string,
): Promise<void> {
  const unseen = unseenOf(instruction, payments);
  if (unseen.length === 0)
    return clear(
      tx,
      ['ROW_UNSEEN'],
      instruction.id,
      'what is left shows how far it got, and is asked about by that',
    );
  const happened = (unseen.length === 1 ? '1 payment is' : `${unseen.length} payments are`) + NOT_FINAL;
  const alarm = {
    kind: 'ROW_UNSEEN',
    ...aboutInstruction(instruction),
    happened: happened + why,
    payments: unseen.length,
    amountMinor: sumMinor(unseen.map(({ amountMinor }) => amountMinor)),
  } as const;
  const open = await openText(tx, alarm);
  if (open?.startsWith(happened) === false)
    await clear(tx, ['ROW_UNSEEN'], instruction.id, 'other payments are left: told anew');
  else if (why === '' && open !== undefined && open !== happened)
    await clear(tx, ['ROW_UNSEEN'], instruction.id, 'the bank is read again: told anew');
  await raiseNaming(tx, alarm, [NOT_FINAL]);
}
