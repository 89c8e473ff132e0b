import { EVENTS, UNEXPLAINED_EVENT } from '../bank/types';
import { EmployerTransaction, Transaction } from '../database/database';
import { newId } from '../database/new-id';
import { namedSubject } from '../pay-run/named-subject';
import { raiseUndecided } from '../pay-run/attention.store';

const KNOWN: ReadonlySet<string> = new Set([...EVENTS, UNEXPLAINED_EVENT]);

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

/** Whether the interface document names the event (Events, Subscribable events), be it without its meaning. */
export function isKnownEvent(event: string): boolean {
  return KNOWN.has(event);
}

/** An event's name without anything that could garble a line of a log or a question to the bank. */
export function plainName(event: string): string {
  return event.replace(/[^\w.-]/g, '_');
}

/** What is kept of the same bytes besides their body, and how often they came. */
export interface Received {
  event: string;
  bodyHash: Buffer;
  times: number;
}

/**
 * Keeps events of the transaction's employer, each body once and in the order of their hashes. One that is not in the
 * document is told to people, and not again once two of them have decided it; each name for itself.
 */
export async function keepEvents(
  tx: EmployerTransaction,
  received: readonly (Received & { accountIds: readonly string[] })[],
): Promise<void> {
  const isNew = await tx.query<{ event: string }>(
    `WITH kept AS (
       INSERT INTO bank_event AS e (employer_id, id, body_hash, event, account_ids, times)
       SELECT $1, id, hash, event, account_ids::uuid[], times
       FROM unnest($2::uuid[], $3::bytea[], $4::text[], $5::text[], $6::integer[])
         AS r (id, hash, event, account_ids, times)
       ON CONFLICT (employer_id, body_hash)
       DO UPDATE SET times = e.times + excluded.times, last_received_at = clock_timestamp()
       RETURNING id, event)
     SELECT DISTINCT event FROM kept WHERE id = ANY ($2) ORDER BY event`,
    [
      tx.employerId,
      received.map(() => newId()),
      received.map(({ bodyHash }) => bodyHash),
      received.map(({ event }) => event),
      received.map(({ accountIds }) => `{${accountIds.join(',')}}`),
      received.map(({ times }) => times),
    ],
  );
  for (const { event } of isNew.filter((one) => !isKnownEvent(one.event)))
    await raiseUndecided(tx, {
      kind: 'UNKNOWN_EVENT',
      subjectId: namedSubject(event),
      bankReference: plainName(event),
      happened: `The bank sent the event ${plainName(event)}, which its interface document does not name.`,
    });
}

/** Keeps events that concern no employer, as `keepEvents` does. @returns the names of those whose bytes are new */
export async function keepInstallationEvents(
  tx: Transaction,
  received: readonly Received[],
): Promise<readonly string[]> {
  const isNew = await tx.query<{ event: string }>(
    `WITH kept AS (
       INSERT INTO installation_event AS e (id, body_hash, event, times)
       SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::text[], $4::integer[])
       ON CONFLICT (body_hash)
       DO UPDATE SET times = e.times + excluded.times, last_received_at = clock_timestamp()
       RETURNING id, event)
     SELECT event FROM kept WHERE id = ANY ($1)`,
    [
      received.map(() => newId()),
      received.map(({ bodyHash }) => bodyHash),
      received.map(({ event }) => event),
      received.map(({ times }) => times),
    ],
  );
  return isNew.map(({ event }) => event);
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
