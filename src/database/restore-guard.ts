import { Injectable, Logger } from '@nestjs/common';
import { Database, Transaction } from './database';
import { newId } from './new-id';
import { RestoreWitness } from './restore-witness';

/** How often a mark is made without a submit: so exactly is known up to when restored data reach. */
const MARK_MS = 60_000;

/** The database is behind what this process saw committed: nothing may be sent on its strength. */
export class DatabaseIsBehind extends Error {
  constructor() {
    super('the database is behind what was committed in it');
  }
}

/** A restore that nobody was told of yet. */
export interface UntoldRestore {
  readonly id: string;
  readonly what: string;
}

/** What the guard can see of the server. */
export interface Sight {
  readonly systemIdentifier: boolean;
  readonly timeline: boolean;
  /** Whether an older copy of the same files is noticed at a start. */
  readonly olderCopy: boolean;
}

interface Found {
  recorded: boolean;
  was_system: string | null;
  was_timeline: number | null;
  same_database: boolean | null;
  same_row: boolean | null;
  system_identifier: string | null;
  timeline: number | null;
  seq: string | null;
  mark_age_ms: number | null;
  told: boolean | null;
}

const LOOK = `SELECT i.id IS NOT NULL AS recorded, i.system_identifier AS was_system, i.timeline AS was_timeline,
    i.database_oid = now.database_oid AS same_database,
    i.xmin::text::bigint = i.written_by::text::bigint % 4294967296 AS same_row,
    now.system_identifier, now.timeline, m.seq,
    extract(epoch FROM clock_timestamp() - m.seen_at)::float8 * 1000 AS mark_age_ms,
    (SELECT bool_and(told_at IS NOT NULL) FROM database_restore) AS told
  FROM read_database() now
  LEFT JOIN database_identity i ON true
  LEFT JOIN restore_mark m ON m.id = $1`;

/**
 * Notices that the database is not the one the service last ran on, or an older state of it: another cluster or
 * timeline, another database, rows loaded from a dump, or files that a witness outside knows to be older. What is
 * noticed is written down; until everybody is told, no submit is intended (`database_is_known`).
 */
@Injectable()
export class RestoreGuard {
  private readonly logger = new Logger(RestoreGuard.name);
  private seen: Sight | undefined;

  constructor(
    private readonly database: Database,
    private readonly witness: RestoreWitness,
  ) {}

  /** What the last look could see, and whether its witness can remember now; undefined before the first. */
  get sight(): Sight | undefined {
    return this.seen && { ...this.seen, olderCopy: this.witness.outlivesProcess };
  }

  /**
   * Looks once, and makes the first record.
   * @returns whether everybody is known to have been told of every restore; null where there never was one
   * @throws Error when the witness cannot be read or written
   */
  async check(): Promise<boolean | null> {
    await this.witness.recall();
    const expected = this.witness.seq;
    const found = seenIn(await this.database.ask<Found>(LOOK, [this.witness.id]));
    this.tell(found);
    if (isNews(found) || reasonsIn(found, expected).length > 0) {
      await this.record();
      return false;
    }
    if (found.seq === null || isDue(found.mark_age_ms ?? 0)) await this.mark();
    else await this.keep(BigInt(found.seq));
    return found.told;
  }

  /**
   * Makes a mark in the transaction of a submit's intent, which so cannot be forgotten without being noticed.
   * @returns the number to `keep` once the transaction is committed.
   * @throws DatabaseIsBehind
   */
  async markWithin(tx: Transaction): Promise<bigint> {
    const [made] = await tx.query<{ seq: string }>(
      `UPDATE restore_mark SET seq = seq + 1, seen_at = clock_timestamp() WHERE id = $1 AND seq >= $2 RETURNING seq`,
      [this.witness.id, (this.witness.seq ?? 0n).toString()],
    );
    if (made === undefined) throw new DatabaseIsBehind();
    return BigInt(made.seq);
  }

  /** Remembers a committed mark outside the database. @throws Error of the file system */
  keep(seq: bigint): Promise<void> {
    return this.witness.remember(seq);
  }

  private async mark(): Promise<void> {
    const seq = await this.database.outsideEmployers(async (tx) => {
      await putMarksRight(tx);
      return makeMark(tx, this.witness);
    });
    await this.keep(seq);
  }

  /** The new identity and what was noticed are one transaction, so that one of several replicas writes it down. */
  private async record(): Promise<void> {
    const seq = await this.database.outsideEmployers(async (tx) => {
      await lockRestores(tx);
      const expected = this.witness.seq;
      const found = seenIn(await tx.query<Found>(LOOK, [this.witness.id]));
      const reasons = reasonsIn(found, expected);
      const what = `The database is not as this service left it: ${reasons.join('; ')}.`;
      // Others may have worked on an older state, and marked it, before this one noticed it.
      const since = isOlder(found, expected) ? 'unknown' : 'last mark';
      if (reasons.length > 0) await recordRestore(tx, what, since);
      if (isNews(found) || reasons.length > 0) await recordIdentity(tx);
      return makeMark(tx, this.witness);
    });
    await this.keep(seq);
  }

  private tell(found: Found): void {
    const sight = {
      systemIdentifier: found.system_identifier !== null,
      timeline: found.timeline !== null,
      olderCopy: this.witness.outlivesProcess,
    };
    const first = this.seen === undefined;
    this.seen = sight;
    if (!first) return;
    if (!sight.systemIdentifier || !sight.timeline) {
      this.logger.warn('the server hides its system identifier or timeline: some restores are not noticed');
    }
    if (!sight.olderCopy) {
      this.logger.log('an older copy of the database files is not noticed: RESTORE_WITNESS_FILE is not set');
    }
  }
}

/** Waits for whoever writes down a restore at this moment; from then on this transaction sees it. */
export async function lockRestores(tx: Transaction): Promise<void> {
  await tx.query('SELECT FROM database_identity FOR UPDATE');
}

/**
 * Writes down that the database was restored; no submit is intended until every employer was told.
 * @param since when the restored data end, where they are what is found; a service may have worked on them since
 */
export async function recordRestore(
  tx: Transaction,
  what: string,
  since: 'last mark' | 'unknown',
): Promise<string> {
  const id = newId();
  await tx.query(
    `INSERT INTO database_restore (id, what, data_until)
     SELECT $1, $2, max(seen_at) FILTER (WHERE $3 = 'last mark') FROM restore_mark`,
    [id, what, since],
  );
  return id;
}

/** The restores of which not everybody was told, the oldest first. */
export function untoldRestores(tx: Transaction): Promise<UntoldRestore[]> {
  return tx.query<UntoldRestore>(
    'SELECT id, what FROM database_restore WHERE told_at IS NULL ORDER BY noticed_at, id',
  );
}

function seenIn([found]: readonly Found[]): Found {
  if (found === undefined) throw new Error('the database says nothing of itself');
  return found;
}

async function recordIdentity(tx: Transaction): Promise<void> {
  await tx.query(
    `INSERT INTO database_identity (system_identifier, timeline, database_oid, written_by)
     SELECT now.system_identifier, now.timeline, now.database_oid, pg_current_xact_id() FROM read_database() now
     ON CONFLICT (id) DO UPDATE SET system_identifier = excluded.system_identifier, timeline = excluded.timeline,
       database_oid = excluded.database_oid, written_by = excluded.written_by, known_since = clock_timestamp()`,
  );
}

/** Above whatever the witness remembers, so that what was noticed once is not noticed again. */
async function makeMark(tx: Transaction, { id, seq }: RestoreWitness): Promise<bigint> {
  const [made] = await tx.query<{ seq: string }>(
    `INSERT INTO restore_mark AS m (id, seq) VALUES ($1, $2::bigint + 1)
     ON CONFLICT (id) DO UPDATE SET seq = greatest(m.seq, $2::bigint) + 1, seen_at = clock_timestamp() RETURNING seq`,
    [id, (seq ?? 0n).toString()],
  );
  if (made === undefined) throw new Error('a mark was not made');
  return BigInt(made.seq);
}

/** Whether a mark is to be made: the last is old, or dated ahead by a clock that was put right since. */
function isDue(ageMs: number): boolean {
  return ageMs < 0 || ageMs >= MARK_MS;
}

/** Of what is dated ahead, also by a witness that is no more, nobody could tell later that it was: data do not reach so far. */
async function putMarksRight(tx: Transaction): Promise<void> {
  await tx.query('UPDATE restore_mark SET seen_at = clock_timestamp() WHERE seen_at > clock_timestamp()');
}

/** Whether there is something to record for the first time. */
function isNews(found: Found): boolean {
  const { was_system: wasSystem, was_timeline: wasTimeline, system_identifier: system, timeline } = found;
  return (
    !found.recorded || (wasSystem === null && system !== null) || (wasTimeline === null && timeline !== null)
  );
}

/** Whether the database lacks a mark that this process, or its witness, knows to be committed. */
function isOlder({ seq }: Found, expected: bigint | undefined): boolean {
  return expected !== undefined && (seq === null || BigInt(seq) < expected);
}

/** What shows that the database was restored, for people; nothing where it is as it was left. */
function reasonsIn(found: Found, expected: bigint | undefined): string[] {
  const reasons: string[] = [];
  const { was_system: wasSystem, was_timeline: wasTimeline, system_identifier: system, timeline } = found;
  if (found.recorded) {
    if (wasSystem !== null && system !== null && system !== wasSystem)
      reasons.push(`another cluster (system identifier ${system} instead of ${wasSystem})`);
    if (wasTimeline !== null && timeline !== null && timeline !== wasTimeline)
      reasons.push(`another timeline (${timeline} instead of ${wasTimeline})`);
    if (found.same_database === false) reasons.push('another database of the cluster');
    if (found.same_row === false) reasons.push('rows loaded from a dump');
  }
  if (isOlder(found, expected))
    reasons.push(`an older state (mark ${found.seq ?? 'none'} where ${expected} was remembered)`);
  return reasons;
}
