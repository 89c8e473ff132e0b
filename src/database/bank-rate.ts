import { Injectable } from '@nestjs/common';
import {
  LONGEST_PAUSE_MS,
  paceOf,
  plausible,
  reserveTurns,
  TurnRequest,
  Turns,
  UNPACED,
} from '../domain/request-pace';
import { Database, Transaction } from './database';

/** A limit the bank named counts for a day: it is named again with every answer, and a raised one shows. */
const LEARNED_FOR = `interval '1 day'`;
const LEARNED = `CASE WHEN learned_at > clock_timestamp() - ${LEARNED_FOR} THEN learned_per_minute END`;

/**
 * The rate of requests to the bank that all replicas share: one row, by the database's clock. Each call is a short
 * transaction of its own, which holds the row for two statements.
 */
@Injectable()
export class BankRate {
  constructor(private readonly database: Database) {}

  /**
   * Takes turns under the configured limit per minute, or else the learned one, and answers with that limit.
   * Without either, only a pause can make the turns wait.
   */
  reserve(
    configured: number | undefined,
    request: TurnRequest,
  ): Promise<{ perMinute: number | undefined; turns: Turns }> {
    return this.database.outsideEmployers(async (tx) => {
      const [row] = await tx.query<{ due_in_ms: string; paused_in_ms: string; learned: number | null }>(
        `SELECT extract(epoch FROM next_due_at - clock_timestamp()) * 1000 AS due_in_ms,
           extract(epoch FROM paused_until - clock_timestamp()) * 1000 AS paused_in_ms, ${LEARNED} AS learned
         FROM bank_rate FOR NO KEY UPDATE`,
      );
      if (!row) throw new Error('the row of bank_rate is gone');
      const perMinute = configured ?? row.learned ?? undefined;
      const state = plausible({ dueInMs: Number(row.due_in_ms), pausedInMs: Number(row.paused_in_ms) });
      const turns = reserveTurns(state, perMinute === undefined ? UNPACED : paceOf(perMinute), request);
      if (turns.kind === 'reserved') {
        await tx.query(`UPDATE bank_rate SET next_due_at = clock_timestamp() + ${inMs('$1')}`, [
          turns.dueInMs,
        ]);
      }
      return { perMinute, turns };
    });
  }

  /** Nobody sends for `ms` from now; a pause that lasts longer stands, unless nobody can have asked for it. */
  async pause(ms: number): Promise<void> {
    await this.database.outsideEmployers((tx) =>
      tx.query(
        `UPDATE bank_rate SET paused_until = greatest(
           CASE WHEN paused_until <= clock_timestamp() + ${inMs('$2')} THEN paused_until END,
           clock_timestamp() + ${inMs('$1')})`,
        [ms, LONGEST_PAUSE_MS],
      ),
    );
  }

  /** How long nobody may send from now, in ms; one that nobody can have asked for is none. */
  async pauseLeftMs(): Promise<number> {
    const [row] = await this.database.outsideEmployers((tx) =>
      tx.query<{ left_ms: string | null }>(
        'SELECT extract(epoch FROM paused_until - clock_timestamp()) * 1000 AS left_ms FROM bank_rate',
      ),
    );
    const { pausedInMs } = plausible({ dueInMs: 0, pausedInMs: Number(row?.left_ms ?? 0) });
    return Math.max(0, pausedInMs);
  }

  /** Writes down a limit the bank named, unless a lower one stands. */
  async learn(perMinute: number): Promise<void> {
    await this.database.outsideEmployers((tx) =>
      tx.query(
        `UPDATE bank_rate SET learned_per_minute = $1, learned_at = clock_timestamp()
         WHERE coalesce(${LEARNED}, $1) >= $1`,
        [perMinute],
      ),
    );
  }
}

/** The limit in force, in requests per minute: the configured one, or else the one that the bank named. */
export async function requestsPerMinute(
  tx: Transaction,
  configured: number | undefined,
): Promise<number | undefined> {
  const [row] = await tx.query<{ learned: number | null }>(`SELECT ${LEARNED} AS learned FROM bank_rate`);
  return configured ?? row?.learned ?? undefined;
}

function inMs(parameter: string): string {
  return `make_interval(secs => ${parameter}::double precision / 1000)`;
}
