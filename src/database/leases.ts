import { Injectable } from '@nestjs/common';
import { escapeLiteral } from 'pg';
import { Database, EmployerTransaction, Statement, Transaction } from './database';

/** Cut-offs are judged by the process's clock: one that is further from the database's is not trusted with work. */
export const CLOCK_TOLERANCE_MS = 60_000;

const LEASE_KINDS = ['RUN', 'INSTRUCTION', 'FOLLOW', 'ACCOUNT'] as const;
export type LeaseKind = (typeof LEASE_KINDS)[number];

/** By the least of each kind, which is the first entry of an index, whatever is known of how many are due. */
const DUE = `SELECT kind FROM unnest($1::text[]) AS asked (kind)
  WHERE (SELECT min(coalesce(leased_until, wake_at)) FROM lease WHERE lease.kind = asked.kind) <= statement_timestamp()`;

/** Set by whatever writes a lease, so that `setRight` finds what a clock that was ahead has written. */
const WRITTEN = 'written_at = greatest(written_at, clock_timestamp())';

/** What is written while a statement begins may seem to be so much ahead of it. */
const AHEAD_OF_STATEMENT = `interval '1 second'`;

/** Work taken by this process until `epoch` is overtaken or the lease runs out by the database's clock. */
export interface Claim {
  readonly kind: LeaseKind;
  readonly subjectId: string;
  readonly employerId: string;
  readonly holder: string;
  readonly epoch: string;
  /** When somebody last asked for it (PostgreSQL's text), until that was answered; null where it is only due again. */
  readonly wokenAt: string | null;
  /** What it lacked when it was last taken up; null where nothing was missing. */
  readonly missing: Missing | null;
}

/** What work waits for, and for how long it has lacked just that, in ms by the database's clock. */
export interface Missing {
  readonly what: string;
  readonly forMs: number;
}

interface ClaimedRow {
  subject_id: string;
  employer_id: string;
  epoch: string;
  woken_at: string | null;
  missing: string | null;
  missing_for_ms: string | null;
}

/** Another worker took over, or the lease ran out: whatever this one was about to do, it must not. */
export class Fenced extends Error {
  constructor(claim: Claim) {
    super(`the lease of ${claim.kind} ${claim.subjectId} at epoch ${claim.epoch} is no longer held`);
  }
}

/**
 * The work list. A claim takes due rows with SKIP LOCKED and raises their epoch; every transaction that intends
 * a call to the bank or moves a state proves with `fence` that its epoch still stands.
 */
@Injectable()
export class Leases {
  constructor(private readonly database: Database) {}

  /** The kinds of which `claim` may find something now. Several replicas may be told of the same; one of them claims it. */
  async due(): Promise<ReadonlySet<LeaseKind>> {
    const rows = await this.database.ask<{ kind: LeaseKind }>(DUE, [LEASE_KINDS]);
    return new Set(rows.map(({ kind }) => kind));
  }

  /**
   * Takes up to `limit` subjects that are due or whose lease ran out, in the order in which they became so; none while
   * this process's clock is a minute or more from the database's.
   * @param among SQL that says which rows of `lease` are claimed; all of the kind unless it is said
   */
  async claim(
    kind: LeaseKind,
    holder: string,
    limit: number,
    leaseMs: number,
    among = 'true',
  ): Promise<Claim[]> {
    const rows = await this.database.asWorker((tx) =>
      tx.query<ClaimedRow>(
        // An array, which is made once: a join may run it again for each row, or go through all leases for each of it.
        // What is held is due when its lease ends. By the time of the statement: an index serves no volatile clock.
        `UPDATE lease SET holder = $2, epoch = epoch + 1, wake_at = 'infinity', ${WRITTEN},
           leased_until = clock_timestamp() + make_interval(secs => $4::double precision / 1000)
         WHERE subject_id = ANY (ARRAY(
           SELECT subject_id FROM lease
           WHERE kind = $1 AND coalesce(leased_until, wake_at) <= statement_timestamp()
             AND abs(extract(epoch FROM statement_timestamp())::float8 * 1000 - $5::float8) < $6::float8 AND ${among}
           ORDER BY coalesce(leased_until, wake_at) LIMIT $3 FOR UPDATE SKIP LOCKED))
         RETURNING subject_id, employer_id, epoch, woken_at::text, missing,
           extract(epoch FROM clock_timestamp() - missing_since) * 1000 AS missing_for_ms`,
        [kind, holder, limit, leaseMs, Date.now(), CLOCK_TOLERANCE_MS],
      ),
    );
    return rows.map((row) => ({
      kind,
      subjectId: row.subject_id,
      employerId: row.employer_id,
      holder,
      epoch: row.epoch,
      wokenAt: row.woken_at,
      missing: row.missing === null ? null : { what: row.missing, forMs: Number(row.missing_for_ms) },
    }));
  }

  /** Prolongs a lease that is still held. @throws Fenced when it is not. */
  async renew(claim: Claim, leaseMs: number): Promise<void> {
    const renewed = await this.database.asWorker((tx) =>
      tx.query(
        `UPDATE lease SET leased_until = clock_timestamp() + make_interval(secs => $4::double precision / 1000), ${WRITTEN}
         WHERE subject_id = $1 AND holder = $2 AND epoch = $3 AND leased_until > clock_timestamp()
         RETURNING epoch`,
        [claim.subjectId, claim.holder, claim.epoch, leaseMs],
      ),
    );
    if (renewed.length === 0) throw new Fenced(claim);
  }

  /** What the claim was asked for was done; what was asked since stands. */
  async answer(claim: Claim): Promise<void> {
    if (claim.wokenAt === null) return;
    await this.database.asWorker((tx) =>
      tx.query('UPDATE lease SET woken_at = NULL WHERE subject_id = $1 AND woken_at = $2::timestamptz', [
        claim.subjectId,
        claim.wokenAt,
      ]),
    );
  }

  /**
   * Gives the work back, to be taken again after `wakeInMs`, or earlier if somebody woke it meanwhile, though not before
   * `restMs` have passed.
   * @param waitsFor what its step failed in, counted from the first failure on; null where it got on; undefined where that
   * is not known, and what was remembered stands
   */
  async release(
    claim: Claim,
    wakeInMs: number | 'never',
    restMs = 0,
    waitsFor?: string | null,
  ): Promise<void> {
    await this.database.asWorker((tx) =>
      tx.query(
        `UPDATE lease SET holder = NULL, leased_until = NULL, rest_until = rest.until, ${WRITTEN},
           wake_at = least(greatest(wake_at, rest.until), CASE
             WHEN $4::double precision IS NULL THEN 'infinity'
             ELSE clock_timestamp() + make_interval(secs => $4::double precision / 1000) END),
           waits_for = CASE WHEN $6::boolean THEN $7::text ELSE waits_for END,
           waits_since = CASE WHEN NOT $6 THEN waits_since
             WHEN $7 IS NOT NULL THEN coalesce(waits_since, clock_timestamp()) END
         FROM (SELECT CASE WHEN $5::double precision > 0
           THEN clock_timestamp() + make_interval(secs => $5::double precision / 1000) END AS until) AS rest
         WHERE subject_id = $1 AND holder = $2 AND epoch = $3`,
        [
          claim.subjectId,
          claim.holder,
          claim.epoch,
          wakeInMs === 'never' ? null : wakeInMs,
          restMs,
          waitsFor !== undefined,
          waitsFor ?? null,
        ],
        'kept',
      ),
    );
  }

  /**
   * Takes back what was asked by the database's clock while that was ahead, once it was put right: all of it is as far from
   * now as it was from when it was written, and nothing began later than now. What was asked before is only due sooner; a
   * lease that was prolonged since stands. What another transaction writes is left for the next time.
   * @returns of how many subjects
   */
  async setRight(): Promise<number> {
    const now = 'statement_timestamp()';
    const notAhead = (column: string) =>
      `${column} = CASE WHEN ${column} > ${now} THEN ${now} ELSE ${column} END`;
    const ahead = `written_at > ${now} + ${AHEAD_OF_STATEMENT}`;
    const by = `(written_at - ${now})`;
    const taken = await this.database.asWorker((tx) =>
      tx.query(
        `UPDATE lease SET wake_at = wake_at - ${by}, rest_until = rest_until - ${by},
           leased_until = CASE WHEN leased_until > ${now} + ${by} / 2 THEN leased_until - ${by} ELSE leased_until END,
           ${['woken_at', 'missing_since', 'waits_since', 'written_at'].map(notAhead).join(', ')}
         WHERE subject_id = ANY (ARRAY(
           SELECT subject_id FROM lease WHERE ${ahead} ORDER BY subject_id FOR NO KEY UPDATE SKIP LOCKED))
         RETURNING subject_id`,
      ),
    );
    return taken.length;
  }
}

/**
 * Whether the claim still stands, and keeps it standing until the commit: a claim by another skips a row under this lock,
 * while waking and prolonging it go on.
 */
export async function stands(tx: Transaction, claim: Claim): Promise<boolean> {
  const held = await tx.query(
    `SELECT 1 FROM lease WHERE subject_id = $1 AND holder = $2 AND epoch = $3
       AND leased_until > clock_timestamp() FOR KEY SHARE`,
    [claim.subjectId, claim.holder, claim.epoch],
    'kept',
  );
  return held.length > 0;
}

/** Proves, inside a transaction, that the claim `stands`. @throws Fenced */
export async function fence(tx: Transaction, claim: Claim): Promise<void> {
  if (!(await stands(tx, claim))) throw new Fenced(claim);
}

/** What a transaction changes of leases at its end. */
interface Changes {
  readonly wakes: Map<string, Wake>;
  /** Subjects of which it remembers what is missing. */
  readonly remembered: Set<string>;
  /** SQL that says of which leases it wakes what the kill switches held back; of none unless it is there. */
  heldBack?: string;
}

const CHANGES = new WeakMap<Transaction, Changes>();

function changesOf(tx: Transaction): Changes {
  const begun = CHANGES.get(tx);
  if (begun) return begun;
  const changes: Changes = { wakes: new Map(), remembered: new Set() };
  CHANGES.set(tx, changes);
  tx.beforeCommit('wake', () => lockingAll(changes));
  tx.beforeCommit('wake', () => writingWakes([...changes.wakes.values()]));
  return changes;
}

/**
 * Locks all that the statements after it change, in the order of ids, so that two transactions never wait for one another's
 * leases. By a statement of its own, as in `wakeThose`; what the kill switches held back is woken by its block too. What
 * one statement changes by itself, that one locks.
 */
function lockingAll({ wakes, remembered, heldBack }: Changes): Statement | undefined {
  const named = [...wakes.keys(), ...remembered];
  if (heldBack === undefined) {
    if (remembered.size === 0 || wakes.size === 0) return undefined;
    const locking = 'SELECT FROM lease WHERE subject_id = ANY ($1) ORDER BY subject_id FOR NO KEY UPDATE';
    return [locking, [named], 'kept'];
  }
  const ids = escapeLiteral(`{${named.join()}}`);
  return [
    `DO $$ DECLARE locked uuid[]; BEGIN
       locked := ARRAY(
         SELECT subject_id FROM lease
         WHERE subject_id = ANY (${ids}::uuid[])
           OR kind IN ('RUN', 'INSTRUCTION') AND wake_at > clock_timestamp() AND ${heldBack}
         ORDER BY subject_id FOR NO KEY UPDATE);
       UPDATE lease SET wake_at = least(wake_at, clock_timestamp()), ${WRITTEN}
       WHERE subject_id = ANY (locked) AND kind IN ('RUN', 'INSTRUCTION');
     END $$`,
  ];
}

/**
 * Remembers, for whoever takes the work up next, that it lacks something, at the end of the transaction. It remembers one
 * thing: another begins anew.
 * @returns for how long it has lacked just that, in ms
 */
export function missingForMs(tx: Transaction, claim: Claim, what: string): number {
  if (claim.missing?.what === what) return claim.missing.forMs;
  remember(tx, claim, what);
  return 0;
}

/** It is there: should it be missing again, that is counted from then on. */
export function isThere(tx: Transaction, claim: Claim, what: string): void {
  if (claim.missing?.what === what) remember(tx, claim, null);
}

function remember(tx: Transaction, { subjectId, holder, epoch }: Claim, missing: string | null): void {
  changesOf(tx).remembered.add(subjectId);
  tx.beforeCommit('wake', () => [
    `UPDATE lease SET missing = $4, missing_since = CASE WHEN $4::text IS NOT NULL THEN clock_timestamp() END, ${WRITTEN}
     WHERE subject_id = $1 AND holder = $2 AND epoch = $3`,
    [subjectId, holder, epoch, missing],
  ]);
}

interface Wake {
  kind: LeaseKind;
  employerId: string;
  subjectId: string;
  inMs: number;
}

/**
 * Puts subjects of the transaction's employer on the work list, or wakes them when they are on it, at the end of the
 * transaction. What is followed stays so: who wakes an instruction for the bank's calls may not know yet that it was
 * submitted meanwhile. An account that was read a moment ago is due once it has rested.
 * @param inMs when they are due; those that are due earlier stay so
 */
export function wake(
  tx: EmployerTransaction,
  kind: LeaseKind,
  subjectIds: readonly string[],
  inMs = 0,
): void {
  const { employerId } = tx;
  const { wakes } = changesOf(tx);
  for (const subjectId of subjectIds) {
    const earlierMs = wakes.get(subjectId)?.inMs ?? inMs;
    wakes.set(subjectId, { kind, employerId, subjectId, inMs: Math.min(inMs, earlierMs) });
  }
}

/** One statement in the order of ids, so that two transactions never wait for one another's leases. */
function writingWakes(wakes: readonly Wake[]): Statement | undefined {
  if (wakes.length === 0) return undefined;
  return [
    `INSERT INTO lease (subject_id, kind, employer_id, wake_at, woken_at, written_at)
     SELECT w.id, w.kind, w.employer_id, clock_timestamp() + make_interval(secs => w.in_ms / 1000), clock_timestamp(), clock_timestamp()
     FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::double precision[]) AS w(id, kind, employer_id, in_ms)
     ORDER BY w.id
     ON CONFLICT (subject_id) DO UPDATE
       SET wake_at = least(lease.wake_at, CASE lease.kind
           WHEN 'ACCOUNT' THEN greatest(excluded.wake_at, lease.rest_until) ELSE excluded.wake_at END),
         woken_at = excluded.woken_at, written_at = greatest(lease.written_at, excluded.written_at),
         kind = CASE WHEN lease.kind = 'FOLLOW' THEN lease.kind ELSE excluded.kind END`,
    [
      wakes.map((one) => one.subjectId),
      wakes.map((one) => one.kind),
      wakes.map((one) => one.employerId),
      wakes.map((one) => one.inMs),
    ],
    'kept',
  ];
}

/**
 * Wakes the leases that fit a condition, once what they are of has rested, and answers of which subjects. They are locked in the
 * order of ids by a statement of its own: one that locked and changed them would lock a second time what another
 * transaction changed meanwhile, and beside a fence two of them then wait for one another.
 */
export async function wakeThose(
  tx: Transaction,
  fits: string,
  values: unknown[] = [],
): Promise<readonly string[]> {
  const locked = await tx.query<{ id: string }>(
    `SELECT subject_id AS id FROM lease WHERE ${fits} ORDER BY subject_id FOR NO KEY UPDATE`,
    values,
  );
  const subjects = locked.map(({ id }) => id);
  if (subjects.length === 0) return subjects;
  await tx.query(
    `UPDATE lease SET wake_at = least(wake_at, greatest(clock_timestamp(), rest_until)), woken_at = clock_timestamp(), ${WRITTEN}
     WHERE subject_id = ANY ($1)`,
    [subjects],
  );
  return subjects;
}

/** Wakes whatever the kill switches held back, of one employer or of all, at the end of the transaction. */
export function wakeAll(tx: Transaction, employerId?: string): void {
  changesOf(tx).heldBack = employerId === undefined ? 'true' : `employer_id = ${escapeLiteral(employerId)}`;
}
