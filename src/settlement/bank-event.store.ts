import { EVENTS } from '../bank/types';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { raise } from '../pay-run/attention.store';

const KNOWN: ReadonlySet<string> = new Set(EVENTS);

/** An event as an employer may see it: its name, when it came and how often, and which accounts it named. */
export interface BankEvent {
  id: string;
  event: string;
  account_ids: string[];
  times: number;
  first_received_at: Date;
  last_received_at: Date;
  /** `last_received_at` to the microsecond, for the cursor. */
  position: string;
}

/** Whether the interface document names the event (Events, Subscribable events). */
export function isKnownEvent(event: string): boolean {
  return KNOWN.has(event);
}

/** Keeps an event of the transaction's employer; one that is not in the document is told to people when it is new. */
export async function keepEvent(
  tx: EmployerTransaction,
  { event, bodyHash, accountIds }: { event: string; bodyHash: Buffer; accountIds: readonly string[] },
): Promise<void> {
  const [kept] = await tx.query<{ times: number }>(
    `INSERT INTO bank_event AS e (employer_id, id, body_hash, event, account_ids) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (employer_id, body_hash)
     DO UPDATE SET times = e.times + 1, last_received_at = clock_timestamp()
     RETURNING times`,
    [tx.employerId, newId(), bodyHash, event, accountIds],
  );
  if (kept?.times !== 1 || isKnownEvent(event)) return;
  await raise(tx, {
    kind: 'UNKNOWN_EVENT',
    subjectId: tx.employerId,
    happened: `The bank sent the event ${event.replace(/[^\w.-]/g, '_')}, which its interface document does not name.`,
  });
}

/** Events of the transaction's employer, those that came last first. */
export function listEvents(
  tx: EmployerTransaction,
  before: { at: string; id: string } | undefined,
  limit: number,
): Promise<BankEvent[]> {
  return tx.query<BankEvent>(
    `SELECT id, event, account_ids, times, first_received_at, last_received_at, last_received_at::text AS position
     FROM bank_event
     WHERE employer_id = $1 AND ($2::timestamptz IS NULL OR (last_received_at, id) < ($2, $3::uuid))
     ORDER BY last_received_at DESC, id DESC LIMIT $4`,
    [tx.employerId, before?.at ?? null, before?.id ?? null, limit],
  );
}
