import { EVENTS } from '../bank/types';
import { EmployerTransaction, Transaction } from '../database/database';
import { newId } from '../database/new-id';
import { namedSubject } from '../pay-run/named-subject';
import { raiseUndecided } from '../pay-run/attention.store';

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

/** An event that concerns no employer. */
export type InstallationEvent = Omit<BankEvent, 'account_ids'>;

/** Whether the interface document names the event (Events, Subscribable events). */
export function isKnownEvent(event: string): boolean {
  return KNOWN.has(event);
}

/** An event's name without anything that could garble a line of a log or a question to the bank. */
export function plainName(event: string): string {
  return event.replace(/[^\w.-]/g, '_');
}

/**
 * Keeps an event of the transaction's employer. One that is not in the document is told to people, and
 * not again once two of them have decided it; each name for itself.
 */
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
  await raiseUndecided(tx, {
    kind: 'UNKNOWN_EVENT',
    subjectId: namedSubject(event),
    bankReference: plainName(event),
    happened: `The bank sent the event ${plainName(event)}, which its interface document does not name.`,
  });
}

/** Keeps an event that concerns no employer. @returns whether these bytes are new. */
export async function keepInstallationEvent(
  tx: Transaction,
  { event, bodyHash }: { event: string; bodyHash: Buffer },
): Promise<boolean> {
  const [kept] = await tx.query<{ times: number }>(
    `INSERT INTO installation_event AS e (id, body_hash, event) VALUES ($1, $2, $3)
     ON CONFLICT (body_hash) DO UPDATE SET times = e.times + 1, last_received_at = clock_timestamp()
     RETURNING times`,
    [newId(), bodyHash, event],
  );
  return kept?.times === 1;
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

/** Events that concern no employer, those that came last first. */
export function listInstallationEvents(
  tx: Transaction,
  before: { at: string; id: string } | undefined,
  limit: number,
): Promise<InstallationEvent[]> {
  return tx.query<InstallationEvent>(
    `SELECT id, event, times, first_received_at, last_received_at, last_received_at::text AS position
     FROM installation_event
     WHERE $1::timestamptz IS NULL OR (last_received_at, id) < ($1, $2::uuid)
     ORDER BY last_received_at DESC, id DESC LIMIT $3`,
    [before?.at ?? null, before?.id ?? null, limit],
  );
}
