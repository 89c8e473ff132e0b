import type { RefusalReason } from '../bank/outcome';
import { isPastSubmit, readBankStatus } from '../domain/bank-status';
import type { Totals } from '../pay-run/match';

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
