import { Database, EmployerTransaction } from '../database/database';

/** More identities than one installation serves; beyond it their events wait for polling. */
const MAX_IDENTITIES = 20_000;
/** A hook is made when an address changes or the bank loses one: these are many years of both. */
const MAX_REMEMBERED = 1_000;
/** Stands for a hook where an identity's events were given up before any hook reached it. */
const NO_HOOK = 'none';

/** An identity that holds an account of the employer, whether its events are wanted, and the hooks that reach it. */
export interface HookWish {
  employer_id: string;
  identity: string;
  wanted: boolean;
  hook_ids: string[];
}

/** A hook that this service made, or has asked the bank to end. */
export interface RememberedHook {
  id: string;
  /** The address it was asked for; null for one that was only found. */
  url: string | null;
  /** The address as the bank gives it; null where that was not kept. */
  shown_as: string | null;
  /** What it was subscribed to. */
  events: string[];
  /** Its end was asked for, so it is never used again. */
  ended: boolean;
  /** Made so lately that the bank's list need not show it yet. */
  young: boolean;
}

/** What this service knows of its hooks: the addresses it ever had, the current one first, and the hooks by their ids. */
export interface HookMemory {
  addresses: readonly string[];
  hooks: ReadonlyMap<string, RememberedHook>;
}

/** The wishes of every employer that has an account at the bank. */
export function hookWishes(database: Database): Promise<HookWish[]> {
  return database.asWorker((tx) =>
    tx.query<HookWish>(
      // A link from before the hook was made is one to another hook: a bank may give ids again.
      `SELECT a.employer_id, a.identity, count(h.bank_hook_id) = 0 OR bool_or(h.removed_at IS NULL) AS wanted,
         coalesce(array_agg(h.bank_hook_id) FILTER (WHERE h.removed_at IS NULL
           AND h.associated_at >= coalesce(s.subscribed_at, '-infinity')), '{}') AS hook_ids
       FROM (SELECT DISTINCT employer_id, bank_user_id AS identity FROM employer_account
             WHERE detached_at IS NULL ORDER BY 1, 2 LIMIT ${MAX_IDENTITIES}) a
       LEFT JOIN bank_hook h ON h.employer_id = a.employer_id AND h.bank_identity_id = a.identity
       LEFT JOIN hook_subscription s ON s.bank_hook_id = h.bank_hook_id
       GROUP BY a.employer_id, a.identity ORDER BY a.employer_id, a.identity`,
    ),
  );
}

/** Makes an address the current one. Committed before the bank is asked for a hook there. */
export async function declareAddress(database: Database, url: string): Promise<void> {
  await database.outsideEmployers((tx) =>
    tx.query(
      `INSERT INTO hook_address (url) VALUES ($1) ON CONFLICT (url) DO UPDATE SET declared_at = clock_timestamp()`,
      [url],
    ),
  );
}

/** @param lagBoundMs how old a read at the bank can be. */
export function recallHooks(database: Database, lagBoundMs: number): Promise<HookMemory> {
  return database.outsideEmployers(async (tx) => {
    const addresses = await tx.query<{ url: string }>(
      `SELECT url FROM hook_address ORDER BY declared_at DESC, url LIMIT ${MAX_REMEMBERED}`,
    );
    const hooks = await tx.query<RememberedHook>(
      `SELECT bank_hook_id AS id, url, shown_as, events, ended_at IS NOT NULL AS ended,
         subscribed_at > clock_timestamp() - make_interval(secs => $1::double precision / 1000) AS young
       FROM hook_subscription ORDER BY subscribed_at DESC, bank_hook_id LIMIT ${MAX_REMEMBERED}`,
      [lagBoundMs],
    );
    return {
      addresses: addresses.map(({ url }) => url),
      hooks: new Map(hooks.map((hook) => [hook.id, hook])),
    };
  });
}

/** Writes down a hook that the bank made. */
export async function rememberHook(
  database: Database,
  hook: { id: string; shownAs: string },
  asked: { url: string; events: readonly string[] },
): Promise<void> {
  await database.outsideEmployers((tx) =>
    tx.query(
      `INSERT INTO hook_subscription (bank_hook_id, url, shown_as, events) VALUES ($1, $2, $3, $4)
       ON CONFLICT (bank_hook_id) DO UPDATE SET url = excluded.url, shown_as = excluded.shown_as,
         events = excluded.events, subscribed_at = excluded.subscribed_at, ended_at = NULL`,
      [hook.id, asked.url, hook.shownAs, asked.events],
    ),
  );
}

/** Writes down that a hook is to end, before the bank is asked for it. */
export async function rememberEnding(
  database: Database,
  hook: { id: string; shownAs: string },
): Promise<void> {
  await database.outsideEmployers((tx) =>
    tx.query(
      `INSERT INTO hook_subscription AS s (bank_hook_id, shown_as, ended_at) VALUES ($1, $2, clock_timestamp())
       ON CONFLICT (bank_hook_id)
       DO UPDATE SET shown_as = excluded.shown_as, ended_at = coalesce(s.ended_at, excluded.ended_at)`,
      [hook.id, hook.shownAs],
    ),
  );
}

/** Writes down that an identity's events reach the hook, and come through no other. */
export async function keepAssociation(
  tx: EmployerTransaction,
  bankHookId: string,
  bankIdentityId: string,
): Promise<void> {
  await tx.query(
    `UPDATE bank_hook SET removed_at = now()
     WHERE employer_id = $1 AND bank_hook_id <> $2 AND bank_identity_id = $3 AND removed_at IS NULL`,
    [tx.employerId, bankHookId, bankIdentityId],
  );
  await tx.query(
    `INSERT INTO bank_hook (employer_id, bank_hook_id, bank_identity_id) VALUES ($1, $2, $3)
     ON CONFLICT (employer_id, bank_hook_id, bank_identity_id)
     DO UPDATE SET removed_at = NULL, associated_at = now()`,
    [tx.employerId, bankHookId, bankIdentityId],
  );
}

/** Wants the employer's events again: the last link of each identity counts as it did before it was given up. */
export async function wantAgain(tx: EmployerTransaction): Promise<void> {
  await tx.query(
    `UPDATE bank_hook SET removed_at = NULL
     WHERE employer_id = $1 AND (bank_hook_id, bank_identity_id) IN (
       SELECT DISTINCT ON (bank_identity_id) bank_hook_id, bank_identity_id FROM bank_hook
       WHERE employer_id = $1 ORDER BY bank_identity_id, associated_at DESC)`,
    [tx.employerId],
  );
}

/** Gives the events of the employer's identities up. @returns the hooks they came through. */
export async function giveUpAssociations(tx: EmployerTransaction, now: Date): Promise<string[]> {
  const rows = await tx.query<{ bank_hook_id: string }>(
    `UPDATE bank_hook SET removed_at = $2 WHERE employer_id = $1 AND removed_at IS NULL RETURNING bank_hook_id`,
    [tx.employerId, now],
  );
  await tx.query(
    `INSERT INTO bank_hook (employer_id, bank_hook_id, bank_identity_id, removed_at)
     SELECT DISTINCT a.employer_id, '${NO_HOOK}', a.bank_user_id, $2::timestamptz FROM employer_account a
     WHERE a.employer_id = $1 AND NOT EXISTS (
       SELECT FROM bank_hook h WHERE h.employer_id = $1 AND h.bank_identity_id = a.bank_user_id)`,
    [tx.employerId, now],
  );
  return [...new Set(rows.map((row) => row.bank_hook_id))].filter((id) => id !== NO_HOOK);
}
