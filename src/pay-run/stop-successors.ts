import { EmployerTransaction } from '../database/database';
import { Alarm, openAbout, raise } from './attention.store';
import { MADE_SINCE_BACK } from './same-pay';
import { SENT } from './sent';
import { awaitTurnOfRuns, stopRunByService, stopUnlessDecided } from './stop';

/** A payment that was replaced, and whether people were told before that it moved. */
export interface MovedAfterAll {
  paymentId: string;
  toldBefore?: boolean;
  /** Whether people are asked what became of it by another question, or were: of what was sent that says no more. */
  isAsked?: boolean;
}

/** What the bank shows of such payments, and the words by which a decision on it is known again. */
export interface ShownOfMoved {
  shown: string;
  words: readonly string[];
  /** Whether an open question, as it happened, says less of a payment that it names than is shown: it is told anew. */
  isOutdated?: (asked: string) => boolean;
}

interface SuccessorRow {
  pay_run_id: string;
  replaced: string[];
  sent: boolean;
  payments: number;
  amount_minor: string;
  /** The bank's ids of the instructions of what they replace. */
  bank_instruction_ids: string | null;
}

/**
 * Payments that were replaced turn out to have moved at the bank: every run that pays them again is stopped and people
 * are told, of what they were told before no more: a stop that two of them took back is not thrown again. Where a
 * successor was submitted already, or its submit is not known to be unsent, somebody may be paid twice: everything stops,
 * unless two people have decided it of what the words name, or are asked otherwise.
 * @param shownOf what is shown of those of them that one run pays again, by their ids
 */
export async function stopSuccessors(
  tx: EmployerTransaction,
  moved: readonly MovedAfterAll[],
  shownOf: (paymentIds: readonly string[]) => ShownOfMoved,
): Promise<void> {
  if (moved.length === 0) return;
  const ids = moved.map(({ paymentId }) => paymentId);
  const told = new Set(moved.flatMap(({ paymentId, toldBefore }) => (toldBefore ? [paymentId] : [])));
  const isTold = ({ replaced }: SuccessorRow) => replaced.every((paymentId) => told.has(paymentId));
  const unsent = (await liveSuccessors(tx, ids)).filter((one) => !one.sent);
  await awaitTurnOfRuns(
    tx,
    unsent.map((one) => one.pay_run_id),
  );
  for (const one of unsent)
    if (!isTold(one)) await stopRunByService(tx, one.pay_run_id, 'REPLACED_PAYMENT_MOVED');
  // Anew: a submit that was being intended, for which the stop has waited, is sent.
  const live = await liveSuccessors(tx, ids);
  const unasked = moved.flatMap(({ paymentId, isAsked }) => (isAsked ? [] : paymentId));
  const ofUnasked = unasked.length === ids.length ? live : await liveSuccessors(tx, unasked);
  for (const one of [...live.filter(({ sent }) => !sent), ...ofUnasked.filter(({ sent }) => sent)]) {
    const { pay_run_id: payRunId, replaced, sent, payments, ...paid } = one;
    const now = shownOf(replaced);
    const about = {
      subjectId: payRunId,
      payRunId,
      payments,
      amountMinor: BigInt(paid.amount_minor),
      bankReference: paid.bank_instruction_ids,
    };
    if (sent) {
      const happened = `${payments} payments of this run were submitted, or may have been, and the bank shows that those they replace moved after all: ${now.shown}.`;
      await stopForPaidTwice(tx, { ...about, kind: 'INVARIANT_BREACH', happened }, now);
      continue;
    }
    if (isTold(one)) continue;
    await raise(tx, {
      ...about,
      kind: 'REPLACED_PAYMENT_MOVED',
      happened: `The bank shows that ${payments} payments which this run pays again moved after all: ${now.shown}.`,
    });
  }
}

/** One question about a run after another: what else has moved than it names is told once it is decided. */
async function stopForPaidTwice(
  tx: EmployerTransaction,
  alarm: Alarm & { kind: 'INVARIANT_BREACH' },
  { words, isOutdated }: ShownOfMoved,
): Promise<void> {
  const asked = (await openAbout(tx, alarm))?.happened;
  await stopUnlessDecided(tx, alarm, words, asked !== undefined && isOutdated?.(asked) ? words : []);
}

/** The runs that pay some payments again by what was not submitted, for certain. */
export async function unsentSuccessors(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
): Promise<string[]> {
  return (await liveSuccessors(tx, paymentIds)).flatMap((one) => (one.sent ? [] : one.pay_run_id));
}

/** How many of these payments were paid again and it did not come back, or may have been, and by which runs. */
export async function paidAgain(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
): Promise<{ payments: number; payRunIds: string[] }> {
  const sent = (await liveSuccessors(tx, paymentIds, 'p.returned_at IS NULL')).filter((one) => one.sent);
  return {
    payments: new Set(sent.flatMap(({ replaced }) => replaced)).size,
    payRunIds: sent.map((one) => one.pay_run_id),
  };
}

/** An instruction as such a question names it: in quotes, so that its name is no part of another's. */
export function named(bankInstructionId: string | null): string {
  return `customer instruction "${bankInstructionId ?? ''}"`;
}

/**
 * The live payments that replace these, or what replaced these in its turn, by run and by whether they were sent; and what is
 * not sent of all that was made for the same employees since these came back, which may be meant in their stead unlinked.
 * `narrowed` is a further condition on such a payment `p`.
 */
function liveSuccessors(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
  narrowed = 'true',
): Promise<SuccessorRow[]> {
  return tx.query<SuccessorRow>(
    `WITH RECURSIVE successor AS (
       SELECT s.id, s.replaces_payment_id AS origin FROM payment s
       WHERE s.employer_id = $1 AND s.replaces_payment_id = ANY ($2)
       UNION SELECT s.id, f.origin FROM successor f
       JOIN payment s ON s.employer_id = $1 AND s.replaces_payment_id = f.id),
     since AS (
       SELECT p.id, b.id AS origin FROM payment b JOIN payment p ON ${MADE_SINCE_BACK}
       WHERE b.employer_id = $1 AND b.id = ANY ($2) AND p.live AND NOT ${SENT})
     SELECT p.pay_run_id, ${SENT} AS sent, array_agg(DISTINCT f.origin) AS replaced, count(DISTINCT p.id)::int AS payments,
       sum(p.amount_minor) AS amount_minor,
       string_agg(DISTINCT i.bank_instruction_id, ', ' ORDER BY i.bank_instruction_id) AS bank_instruction_ids
     FROM (SELECT id, (array_agg(origin))[1] AS origin
       FROM (TABLE successor UNION ALL TABLE since) AS again GROUP BY id) AS f
     JOIN payment p ON p.employer_id = $1 AND p.id = f.id AND p.live AND ${narrowed}
     JOIN payment o ON o.employer_id = $1 AND o.id = f.origin
     LEFT JOIN instruction i ON i.employer_id = o.employer_id AND i.pay_run_id = o.pay_run_id
       AND i.status NOT IN ('ABANDONED', 'CANCELLED')
       AND EXISTS (SELECT FROM bank_payment b WHERE b.employer_id = i.employer_id AND b.instruction_id = i.id
         AND b.row_no = o.row_no)
     GROUP BY 1, 2
     ORDER BY p.pay_run_id`,
    [tx.employerId, paymentIds],
  );
}
