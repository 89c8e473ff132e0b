import type { Outcome } from '../bank/outcome';
import { EmployerTransaction } from '../database/database';
import { wordsOf } from '../employer/bank-calls';

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
  if (!(await finishIfIntended(tx, callId, outcome)))
    throw new Error('the intent of an answered call is not in the database');
}

/** As `finishCall`. @returns whether the intent is there */
export async function finishIfIntended(
  tx: EmployerTransaction,
  callId: string,
  outcome: Outcome<unknown>,
): Promise<boolean> {
  const told = { yes: 'YES', no: 'NO', 'in-doubt': 'IN_DOUBT' }[outcome.kind];
  const finished = await tx.query(
    `WITH finished AS (
       UPDATE bank_call SET outcome = $3, outcome_detail = $4, finished_at = clock_timestamp()
       WHERE employer_id = $1 AND id = $2 RETURNING id)
     SELECT id FROM finished`,
    [tx.employerId, callId, told, wordsOf(outcome)],
    'kept',
  );
  return finished.length > 0;
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
