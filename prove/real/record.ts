import { PATHS } from '../../src/bank/types';
import { execute, select } from '../../test/support/database';
import { eventually } from '../../test/support/eventually';
import { type Payroll } from '../../test/support/payroll';
import type { SaidOfRun } from './judge';
import type { Post } from './proxy';
import { callOf } from './calls';
import { saidAgain } from './said-again';

/** A read that failed is made again after five seconds, and a stand may follow a hundred instructions. */
const READ_AGAIN_MS = 20_000;
/** The service's rows in one hexadecimal text of hashes. */
const HASH_DIGITS = 64;
/** Clocks of one machine, told to the millisecond. */
const CLOCK_MS = 2;

/** The kinds of everything people were asked since then. */
export async function raisedSince({ database }: Payroll, startedMs: number): Promise<string[]> {
  const rows = await select<{ kind: string }>(
    database.superuserUrl,
    `SELECT DISTINCT kind FROM attention WHERE opened_at >= to_timestamp($1::double precision / 1000) ORDER BY kind`,
    [startedMs],
  );
  return rows.map(({ kind }) => kind);
}

/** What the service says of every payment of a run, and whether it has told people that the bank contradicted it. */
export async function saidOf(payroll: Payroll, runId: string): Promise<SaidOfRun['payments']> {
  const path = payroll.path(`/pay-runs/${runId}/payments`);
  const contradicted = await contradictedOf(payroll, runId);
  const said: SaidOfRun['payments'][number][] = [];
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const params = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { data } = await saidAgain(() => payroll.as('finance').get(path, { params }));
    const items = data.items as SaidOfRun['payments'];
    said.push(...items.map((one) => ({ ...one, contradicted: contradicted.has(one.employeeId) })));
    cursor = data.nextCursor ?? undefined;
  }
  return said;
}

/** The employees of a run about whose payment people were told two ends, whatever they said to that. */
async function contradictedOf({ database }: Payroll, runId: string): Promise<Set<string>> {
  const told = await select<{ id: string }>(
    database.superuserUrl,
    `SELECT p.employee_id AS id FROM attention a JOIN payment p ON p.employer_id = a.employer_id AND p.id = a.payment_id
     WHERE a.kind = 'CONTRADICTION' AND p.pay_run_id = $1`,
    [uuidOf(runId)],
  );
  return new Set(told.map(({ id }) => id));
}

/** Has the service read once more whatever it follows or watches of the runs; of what was submitted, until that is answered. */
export async function readAgain({ database }: Payroll, runs: readonly string[]): Promise<void> {
  const { superuserUrl } = database;
  const of = `kind = 'FOLLOW' AND subject_id IN (SELECT id FROM instruction WHERE pay_run_id = ANY ($1::uuid[]))`;
  const ids = [runs.map(uuidOf)];
  const now = 'wake_at = clock_timestamp(), woken_at = clock_timestamp()';
  await execute(superuserUrl, settingLeases(now, of), ids);
  const isRead = async () => {
    const due = await select(
      superuserUrl,
      `SELECT FROM lease WHERE ${of} AND (holder IS NOT NULL OR wake_at <= clock_timestamp() OR woken_at IS NOT NULL
         AND subject_id IN (SELECT id FROM instruction WHERE status IN ('SUBMITTED', 'CLOSED')))`,
      ids,
    );
    return due.length === 0;
  };
  await eventually(isRead, READ_AGAIN_MS, () => 'what is followed was not read once more');
}

/** Whether somebody works on a run, or is to: a slow step moves nothing that can be seen before its end. */
export async function isUnderway({ database }: Payroll, runId: string): Promise<boolean> {
  const leases = await select(
    database.superuserUrl,
    `SELECT FROM lease
     WHERE (subject_id = $1 OR subject_id IN (SELECT id FROM instruction WHERE pay_run_id = $1))
       AND (holder IS NOT NULL OR wake_at <= clock_timestamp())`,
    [uuidOf(runId)],
  );
  return leases.length > 0;
}

/** Waits until the service itself reads nothing of the runs again within the hour. */
export function untilReadDaily({ database }: Payroll, runs: readonly string[]): Promise<void> {
  const soon = async () => {
    const leases = await select(
      database.superuserUrl,
      `SELECT FROM lease
       WHERE kind = 'FOLLOW' AND subject_id IN (SELECT id FROM instruction WHERE pay_run_id = ANY ($1::uuid[]))
         AND (holder IS NOT NULL OR wake_at < clock_timestamp() + interval '1 hour')`,
      [runs.map(uuidOf)],
    );
    return leases.length === 0;
  };
  return eventually(soon, READ_AGAIN_MS, () => 'what has ended is read again and again');
}

/** What is watched of earlier runs must not meet the faults of the next. */
export function forgetWatches({ database }: Payroll): Promise<void> {
  return execute(
    database.superuserUrl,
    settingLeases(`wake_at = clock_timestamp() + interval '2 years'`, `kind = 'FOLLOW' AND holder IS NULL`),
  );
}

/** In the order of ids, as the service locks them. */
function settingLeases(to: string, those: string): string {
  return `WITH locked AS (SELECT subject_id FROM lease WHERE ${those} ORDER BY subject_id FOR NO KEY UPDATE)
    UPDATE lease SET ${to} FROM locked WHERE lease.subject_id = locked.subject_id`;
}

export interface Intent {
  target: string;
  hash: string;
  ms: number;
}

/** What the service sent to the bank without having written down before that it would. */
export async function unintended(payroll: Payroll, posts: readonly Post[]): Promise<string[]> {
  return unintendedOf(posts, await intentsOf(payroll));
}

/**
 * The calls for which there is no earlier intent of their own with the same target and the same hash of the body.
 * @returns them without their bodies
 */
export function unintendedOf(posts: readonly Post[], intents: readonly Intent[]): string[] {
  const left = intents.map((intent) => ({ intent, renewed: false }));
  return posts.flatMap(({ method, path, hash, atMs, status }) => {
    const mine = left.findIndex(
      ({ intent }) => intent.target === path && intent.hash === hash && intent.ms <= atMs + CLOCK_MS,
    );
    const one = left[mine];
    if (one === undefined) return [`${method} ${path}`];
    // With another token the same attempt is made once more.
    if (status === 401 && !one.renewed && mayRenew(method, path)) one.renewed = true;
    else left.splice(mine, 1);
    return [];
  });
}

/** Whether a call may be made again after a 401: one that moves no money. */
function mayRenew(method: string, path: string): boolean {
  return method === 'DELETE' || ['initiate', 'add'].includes(callOf(method, path) ?? '');
}

async function intentsOf({ database }: Payroll): Promise<Intent[]> {
  const { superuserUrl } = database;
  const calls = await select<{ target: string; hash: string; ms: string }>(
    superuserUrl,
    `SELECT target, encode(body_hash, 'hex') AS hash, extract(epoch FROM intended_at) * 1000 AS ms
     FROM bank_call ORDER BY intended_at`,
  );
  const adds = await select<{ id: string; hashes: string; ms: string }>(
    superuserUrl,
    `SELECT i.bank_instruction_id AS id, encode(a.body_hashes, 'hex') AS hashes,
       extract(epoch FROM a.intended_at) * 1000 AS ms
     FROM add_intent a JOIN instruction i USING (employer_id) WHERE i.id = a.instruction_id ORDER BY a.intended_at`,
  );
  return [
    ...calls.map(({ target, hash, ms }) => ({ target, hash, ms: Number(ms) })),
    ...adds.flatMap(({ id, hashes, ms }) =>
      (hashes.match(new RegExp(`.{${HASH_DIGITS}}`, 'g')) ?? []).map((hash) => ({
        target: PATHS.addPaymentTransaction(id),
        hash,
        ms: Number(ms),
      })),
    ),
  ];
}

/** The audit chains that no longer verify. */
export async function brokenChains(payroll: Payroll): Promise<string[]> {
  const chains = [
    await saidAgain(() => payroll.as('operator').get(payroll.path('/audit/verification'))),
    await saidAgain(() => payroll.as('administrator').get('/v1/service/audit/verification')),
  ];
  return chains.flatMap(({ data, config }) => (data.intact === true ? [] : [String(config.url)]));
}

export function uuidOf(id: string): string {
  return id.replace(/^run_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Ends every connection of the service to PostgreSQL, as its restart would. @returns how many there were */
export async function cut({ database }: Payroll): Promise<number> {
  const [cutOff] = await select<{ connections: number }>(
    database.superuserUrl,
    `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))::int AS connections FROM pg_stat_activity
     WHERE datname = current_database() AND usename <> current_user`,
  );
  return cutOff?.connections ?? 0;
}
