import type { Outcome } from '../bank/outcome';
import { EmployerTransaction } from '../database/database';
import { writeOutcome } from '../employer/bank-calls';

/**
 * Writes down what became of a call whose intent was recorded.
 * @throws Error where the intent is not there: a database that lost it, after a failover, is not told what its work
 * became; it begins as it stands, once people have let it
 */
export async function finishCall(
  tx: EmployerTransaction,
  callId: string,
  outcome: Outcome<unknown>,
): Promise<void> {
  if (!(await writeOutcome(tx, callId, outcome)))
    throw new Error('the intent of an answered call is not in the database');
}

/** What an outcome was, for everybody: without the bank's words, which may name a person. */
export function whyOf(outcome: Outcome<unknown>): string {
  switch (outcome.kind) {
    case 'yes':
      return 'done';
    case 'no':
      return outcome.error?.message ?? outcome.why ?? outcome.reason;
    case 'in-doubt':
      return outcome.why;
  }
}

/** The bank's words on a refusal, masked by the client: for whoever may see payments. */
export function saidIn(outcome: Outcome<unknown>): string | undefined {
  return outcome.kind === 'no' ? outcome.error?.words : undefined;
}

/** What a bank refuses for good, of this one and not of everything. */
const REFUSED_FOR_GOOD: ReadonlySet<number | undefined> = new Set([400, 404, 409, 410, 422]);

/**
 * Whether a bank that confirmed the delete of an instruction, and does not find it since, refuses to delete it once more. One
 * that confirms that too does so of what is gone, be it that it was submitted: then neither says that anything was deleted.
 * What may pass, and want of access, says nothing.
 */
export function refusesWhatIsGone(again: Outcome<undefined>): boolean {
  return again.kind !== 'yes' && REFUSED_FOR_GOOD.has(again.status);
}
