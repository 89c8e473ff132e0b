import { EmployerTransaction } from '../database/database';
import {
  BANK_STATUSES,
  isEnd,
  isEndedUnpaid,
  isUnclear,
  isUnfinished,
  NOT_PROCESSABLE,
  readBankStatus,
  TERMINAL_RANK,
} from '../domain/bank-status';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { showId } from '../http/prefixed-id';
import { aboutInstruction, type Alarm, openAbout, raiseNaming } from '../pay-run/attention.store';
import { NEVER_REPLACED } from '../pay-run/attention-words';
import { Instruction } from '../pay-run/instruction.entity';
import { named, stopSuccessors } from '../pay-run/stop-successors';
import { FollowedPayment, isBehindEnd, isPaidByWord, Progress } from './follow-plan';

/** All statuses that say what became of a payment. */
const ENDS = BANK_STATUSES.filter(isEnd);

/**
 * For how long, in milliseconds, the latest open CONTRADICTION of an instruction has been about a payment that the bank was
 * not seen to end; undefined where none is: the bank may end it at any time. What people ended keeps its rank: of that the
 * question says how it is shown.
 */
export async function contradictedForMs(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
): Promise<number | undefined> {
  const [latest] = await tx.query<{ for_ms: string }>(
    `SELECT extract(epoch FROM clock_timestamp() - a.opened_at) * 1000 AS for_ms FROM attention a
     WHERE a.employer_id = $1 AND a.instruction_id = $2 AND a.kind = 'CONTRADICTION' AND a.resolved_at IS NULL
       AND EXISTS (SELECT FROM bank_payment b
         WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.payment_id = a.payment_id AND b.bank_rank < $3)
       AND NOT EXISTS (SELECT FROM unnest($4::text[]) AS ended WHERE strpos(a.happened, ': ' || ended || ' ') > 0)
     ORDER BY a.opened_at DESC LIMIT 1`,
    [tx.employerId, id, TERMINAL_RANK, ENDS],
  );
  return latest === undefined ? undefined : Number(latest.for_ms);
}

/** Asks about each payment that a read showed otherwise than it had ended, and stops what pays it again. */
export async function tellOfContradictions(
  tx: EmployerTransaction,
  instruction: Instruction,
  progress: readonly Progress[],
): Promise<void> {
  const contradicted = progress.filter(({ alarm }) => alarm === 'CONTRADICTION');
  if (contradicted.length === 0) return;
  const before = await toldBefore(
    tx,
    contradicted.map(({ payment }) => payment.paymentId),
  );
  await stopContradicted(tx, instruction, contradicted, before);
  for (const one of contradicted)
    // That what was told as paid is shown as not done with is no news: it is less than people were asked about.
    if (!before.get(one.payment.paymentId) || isEnd(one.shown))
      await raiseContradiction(tx, instruction, one);
}

/** Where the bank shows money to be, for people. */
function shownAs(status: string): string {
  if (isUnclear(status)) return 'unclear';
  if (isUnfinished(status)) return 'on its way';
  if (isEndedUnpaid(status)) return 'not paid';
  return readBankStatus(status).kind === 'returned' ? 'returned' : 'paid';
}

/** Of which payments, by their ids, people were told before that they contradict their end, and whether as paid. */
async function toldBefore(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, boolean>> {
  const told = await tx.query<{ payment_id: string; as_paid: boolean }>(
    `SELECT payment_id, bool_or(strpos(happened, ': SETTLED ') > 0) AS as_paid FROM attention
     WHERE employer_id = $1 AND payment_id = ANY ($2) AND kind = 'CONTRADICTION' GROUP BY payment_id`,
    [tx.employerId, paymentIds],
  );
  return new Map(told.map((one) => [one.payment_id, one.as_paid]));
}

/**
 * Every read shows it again: a successor that was sent is asked about as long as not each payment it pays again was named
 * in what two people decided, where the bank shows its money. That it is on its way, or came back, decides nothing of its
 * being paid; that it was paid decides whatever is shown of it since.
 */
async function stopContradicted(
  tx: EmployerTransaction,
  { bankInstructionId }: Instruction,
  contradicted: readonly Progress[],
  before: ReadonlyMap<string, boolean>,
): Promise<void> {
  const shown = new Map(contradicted.map((one) => [one.payment.paymentId, shownAs(one.shown)] as const));
  const moved = [...shown.keys()].map((paymentId) => ({ paymentId, toldBefore: before.has(paymentId) }));
  const isPaid = (id: string) => before.get(id) === true || shown.get(id) === 'paid';
  const name = (id: string) => `${showId('pay', id)} (`;
  const word = (id: string) => name(id) + (isPaid(id) ? 'paid' : shown.get(id));
  const text = (id: string) =>
    `${word(id)}${isPaid(id) && shown.get(id) !== 'paid' ? `, and since then ${shown.get(id)}` : ''})`;
  await stopSuccessors(tx, moved, (paymentIds) => {
    const paid = paymentIds.filter(isPaid);
    // Those first of which no decision may be missing: of many, not all are named.
    const ids = [...paid, ...paymentIds.filter((id) => !isPaid(id))];
    return {
      shown: `a status that contradicts the end of ${textOfFirstFew(ids.map(text), MOST_NAMED)} in ${named(bankInstructionId)}`,
      words: ids.slice(0, MOST_NAMED).map(word),
      isOutdated: (asked) => paid.some((id) => asked.includes(name(id)) && !asked.includes(word(id))),
    };
  });
}

/** Between what a contradiction says that was shown. */
const BEFORE = ', before that ';

/** Told anew, it says before what the open question says, the latest of it: a bank may show both by turns. */
async function raiseContradiction(
  tx: EmployerTransaction,
  instruction: Instruction,
  { payment, bankStatus, shown }: Progress,
): Promise<void> {
  const before = bankStatus === NOT_PROCESSABLE ? 'group NOTPROCESSABLE' : bankStatus;
  const status = before === null || shown === bankStatus ? shown : `${shown} after ${before}`;
  const { happened, ...words } = wordsOfContradiction(payment, shown);
  const about = { kind: 'CONTRADICTION', subjectId: payment.paymentId } as const;
  const asked = (await openAbout(tx, about))?.happened;
  const now = `${status} (row ${payment.rowNo}, payment ${payment.bankIds[0] ?? 'without an id'})`;
  const alarm = {
    ...aboutInstruction(instruction),
    ...about,
    paymentId: payment.paymentId,
    ...words,
    happened: `${happened}: ${latestOf([now, ...shownIn(asked)])}.`,
    payments: 1,
    amountMinor: payment.amountMinor,
  };
  await raiseNaming(tx, alarm, [` ${status} (`]);
}

/** What an open contradiction, as it happened, says that was shown; none where none is open. */
function shownIn(happened?: string): string[] {
  return happened?.slice(happened.indexOf(': ') + 2, -1).split(BEFORE) ?? [];
}

/** A bank may make up a status at every read. */
function latestOf(shown: readonly string[]): string {
  const others = shown.length > MOST_NAMED ? ['others'] : [];
  return [...shown.slice(0, MOST_NAMED), ...others].join(BEFORE);
}

const DECLARED = `What two people declared is kept, and the bank shows otherwise. ${NEVER_REPLACED}`;
const WAS_IT_PAID =
  'Was this payment in {ref} paid, against what you confirmed to us, and where is the money?';
const KEPT = `Its end is kept, and the bank has shown otherwise for longer than what it shows can be old. ${NEVER_REPLACED}`;
const WHICH_IS_RIGHT =
  'Which is right of this payment in {ref}: its end, or the status that is shown since, and where is the money?';

/** A contradiction in words: to what the bank said first, or to what two people did. */
function wordsOfContradiction(
  payment: FollowedPayment,
  shown: string,
): Pick<Alarm, 'happened'> & Partial<Pick<Alarm, 'certain' | 'askBank'>> {
  if (isBehindEnd(payment, shown)) {
    const happened = 'The bank shows a payment that had ended as if it had not';
    return { happened, certain: KEPT, askBank: WHICH_IS_RIGHT };
  }
  const against = { certain: DECLARED, askBank: WAS_IT_PAID };
  if (payment.status === 'VOID')
    return { happened: 'A payment that two people declared not executed went on', ...against };
  if (isPaidByWord(payment))
    return { happened: 'A payment that two people declared paid is shown otherwise', ...against };
  if (payment.bankStatus === NOT_PROCESSABLE)
    return {
      happened: 'A payment that the bank had left in its group of what is not processable went on',
      ...REVIVED,
    };
  return {
    happened: 'The bank showed a second final status that differs from the first in whether it was paid',
  };
}

const REVIVED = {
  certain: `It counts as failed in the record, and the bank goes on with it. ${NEVER_REPLACED}`,
  askBank:
    'Your group NOTPROCESSABLE named this payment in {ref}, and it goes on. Is it still executed? If it was replaced already, please stop it.',
};
