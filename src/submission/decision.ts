import type { BankInstruction } from '../bank/records';
import type { RefusalReason } from '../bank/outcome';
import { isPastSubmit, readBankStatus } from '../domain/bank-status';
import type { PersonalData } from '../database/personal-data';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import type { Differences } from '../pay-run/difference';
import { differencesIn, fingerprintsOf, type Judgement, type Totals } from '../pay-run/match';

/** Calculated totals against the plan: less may be lag; more, or the same count with another sum, is a mismatch. */
export function judgeTotals(planned: Totals, calculated: Partial<Totals>): 'equal' | 'fewer' | 'different' {
  const { count, totalMinor } = calculated;
  if (count !== undefined && count > planned.count) return 'different';
  if (totalMinor !== undefined && totalMinor > planned.totalMinor) return 'different';
  if (count !== undefined && count < planned.count) return 'fewer';
  if (totalMinor !== undefined && totalMinor !== planned.totalMinor) {
    return count === undefined ? 'fewer' : 'different';
  }
  return 'equal';
}

/** What was read of an instruction that is not submitted and shows no status past that, held against its approved rows. */
export type Concluded =
  | { kind: 'equal'; judgement: Judgement & { kind: 'equal' } }
  | { kind: 'fewer'; judgement: Judgement & { kind: 'equal' | 'fewer' } }
  | { kind: 'unidentified'; why: string }
  | Different;

/** What differs from what was approved: in words of all, and each in its own, by what is asked of it. */
export interface Different {
  kind: 'different';
  why: string;
  named: { readonly [Kind in Differences['kind']]: readonly string[] };
}

/**
 * @param otherwise the fields of the instruction itself that contradict what was initiated
 * @param shown the instruction itself, where it was read
 */
export function conclude(
  judgement: Judgement,
  totals: ReturnType<typeof judgeTotals>,
  otherwise: readonly string[],
  shown: Partial<BankInstruction> | undefined,
  personal: Pick<PersonalData, 'hexHash'>,
): Concluded {
  const { foreign, ours: named } = wordsOf(judgement, personal);
  const reading = (fields: readonly string[]) => readingIn(personal, shown, fields);
  if (otherwise.length > 0) named.push(`it differs in ${otherwise.join(', ')}${reading(otherwise)}`);
  else if (judgement.kind === 'equal' && totals === 'different')
    named.push(`the calculated totals are not the planned ones${reading(['calculated'])}`);
  if (judgement.kind === 'different' || named.length > 0) {
    const why = textOfFirstFew([...foreign, ...named], MOST_NAMED);
    return { kind: 'different', why, named: { FOREIGN_RECORD: foreign, ECHO_MISMATCH: named } };
  }
  if (judgement.kind === 'unidentified')
    return { kind: 'unidentified', why: differencesIn(judgement, personal).join() };
  if (judgement.kind === 'fewer' || totals === 'fewer') return { kind: 'fewer', judgement };
  return { kind: 'equal', judgement };
}

/** What is shown in some fields, in words that tell it from another; a reference is another one in each attempt. */
function readingIn(
  personal: Pick<PersonalData, 'hexHash'>,
  shown: Partial<BankInstruction> = {},
  fields: readonly string[],
): string {
  const { requestedCount: count, requestedTotalMinor: total, currency, debtorIban, executionDate } = shown;
  const calculated = `${shown.calculatedCount}, ${shown.calculatedTotalMinor}`;
  const readings = fingerprintsOf(
    personal,
    { count, total, currency, debtorIban, executionDate, calculated },
    fields,
  );
  return readings.length > 0 ? ` (reading ${readings.join(', ')})` : '';
}

/** What differs by payments that were never sent, and by those that were. */
function wordsOf(judgement: Judgement, personal: Pick<PersonalData, 'hexHash'>) {
  const faults = judgement.kind === 'different' ? judgement.faults : [];
  const of = (isForeign: boolean) =>
    differencesIn(
      { kind: 'different', faults: faults.filter(({ kind }) => (kind === 'foreign') === isForeign) },
      personal,
    );
  return { foreign: of(true), ours: of(false) };
}

/** Whether an instruction that was not submitted by us may be submitted, must be waited for, or has moved. */
export function judgeUnsubmitted(bankStatus: string): 'open' | 'wait' | 'moved' | 'dead' {
  if (bankStatus === 'INITIATED') return 'open';
  if (isPastSubmit(bankStatus)) return 'moved';
  const reading = readBankStatus(bankStatus);
  return reading.kind === 'terminal' ? 'dead' : 'wait';
}

/** The kinds of answers of a POST that decide what comes next, as far as they matter here. */
export interface Answer {
  kind: 'yes' | 'no' | 'in-doubt';
  reason?: RefusalReason;
  retryAfterMs?: number;
}

/** What follows an initiate or an add that was not a yes. */
export type AfterRefusal =
  { kind: 'doubt' } | { kind: 'refused' } | { kind: 'wait'; ms: number } | { kind: 'credentials' };

/** How long to wait when nothing could be sent at all. */
const UNSENT_PAUSE_MS = 2_000;

/** Outcome table of the protocol for initiate and add. */
export function afterBuildAnswer(answer: Answer): AfterRefusal {
  if (answer.kind === 'in-doubt') return { kind: 'doubt' };
  switch (answer.reason) {
    case 'invalid':
      return { kind: 'refused' };
    case 'no-token':
    case 'unauthorised':
    case 'forbidden':
      return { kind: 'credentials' };
    case 'rate-limited':
      return { kind: 'wait', ms: answer.retryAfterMs ?? UNSENT_PAUSE_MS };
    case 'not-sent':
    case undefined:
      return { kind: 'wait', ms: Math.max(answer.retryAfterMs ?? 0, UNSENT_PAUSE_MS) };
  }
}

/** What follows a submit: it was executed, provably never left, was refused, or is in doubt (rule 8). */
export type AfterSubmit = 'executed' | 'unsent' | 'refused' | 'in-doubt' | 'rejected-unexecuted';

/**
 * Outcome table of the protocol for the submit. `rejectsBeforeExecuting` is the bank's word that a 401 or 429 never
 * executes; even then a read must still say INITIATED before it is armed again.
 */
export function afterSubmitAnswer(answer: Answer, rejectsBeforeExecuting: boolean): AfterSubmit {
  if (answer.kind === 'yes') return 'executed';
  if (answer.kind === 'in-doubt') return 'in-doubt';
  switch (answer.reason) {
    case 'not-sent':
    case 'no-token':
      return 'unsent';
    case 'invalid':
    case 'forbidden':
      return 'refused';
    case 'unauthorised':
    case 'rate-limited':
      return rejectsBeforeExecuting ? 'rejected-unexecuted' : 'in-doubt';
    case undefined:
      return 'in-doubt';
  }
}

/** The prefix of an attempt's detail when the bank turned it away before executing anything, by its own word. */
export const TURNED_AWAY = 'turned away: ';

/** A submit attempt that stands, and a read that does not show that it was executed. */
export interface Doubt {
  /** What was written down of it; null before anybody did. */
  outcome: string | null;
  detail: string | null;
  /** Whether the instruction was read, and is INITIATED. */
  stillInitiated: boolean;
  /** Since its outcome was written down. */
  ageMs: number;
  /** How long before that the read began: what it shows may be as old as that. */
  readAgoMs: number;
  /** How often the submit of these rows was turned away and armed again. */
  timesTurnedAway: number;
  /** Whether the database was restored since: that it was armed again may be forgotten. */
  olderThanARestore: boolean;
}

/** What decides of a doubt, as configured; `rejectsBeforeExecuting` as for `afterSubmitAnswer`. */
export interface DoubtLimits {
  rejectsBeforeExecuting: boolean;
  lagBoundMs: number;
  doubtMs: number;
  rebuildLimit: number;
}

/** What follows a doubt: it begins, is armed again, read again, or parked for people. */
export type AfterDoubt = 'begin' | 'arm' | 'read-again' | 'park';

/**
 * A submit without an answer is armed again only where the bank turned it away and gave its word that it then executes
 * nothing, and a read after the lag bound still says INITIATED (rule 8). After a restore that may have been done before, and
 * the bank have the next submit in its queue (rule 17).
 */
export function afterDoubt(doubt: Doubt, limits: DoubtLimits): AfterDoubt {
  if (doubt.outcome === null) return 'begin';
  const isProvenUnexecuted =
    limits.rejectsBeforeExecuting &&
    (doubt.detail?.startsWith(TURNED_AWAY) ?? false) &&
    doubt.stillInitiated &&
    !doubt.olderThanARestore &&
    doubt.ageMs - doubt.readAgoMs >= limits.lagBoundMs;
  if (isProvenUnexecuted && doubt.timesTurnedAway < limits.rebuildLimit) return 'arm';
  return doubt.ageMs < limits.doubtMs ? 'read-again' : 'park';
}
