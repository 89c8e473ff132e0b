import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { Client, escapeLiteral, QueryResult, Submittable } from 'pg';
import { DataSource, EntityManager, QueryRunner, QueryRunnerAlreadyReleasedError } from 'typeorm';
import { CONFIG } from '../config/env';
import { DEFAULT_WAITS, LOCK_TIMEOUT_MS, Waits } from './data-source';
import {
  Availability,
  DatabaseAway,
  isConnectionLoss,
  isPassing,
  isRefusal,
  isStalePlan,
  NotDurable,
} from './outage';
import { SilenceBound } from './silence-bound';

/** PostgreSQL says so when a commit is local only: it must not be built upon. */
const NOT_REPLICATED = '01000';

/** Pauses before work is done again: a deadlock has passed after the first, a restart of the server after the last. */
const REPEAT_PAUSES_MS = [50, 200, 800, 1_600];

/** One open transaction. Entities through `manager`, sets through `query`, COPY and cursors through `stream`. */
export interface Transaction {
  readonly manager: EntityManager;
  /**
   * Runs one statement. With a `kept` plan the connection parses and plans it once: for statements that run again and
   * again and find their rows by key, because a kept plan does not follow the statistics.
   */
  query<Row = Record<string, unknown>>(sql: string, parameters?: unknown[], plan?: 'kept'): Promise<Row[]>;
  /** Runs a COPY or a cursor. Until it has ended, and while a `query` is unanswered, nothing else may be under way. */
  stream<T extends Submittable>(query: T): T;
  /**
   * Leaves a statement to the very end of the transaction, where it is sent together with the COMMIT; if it fails, all is
   * rolled back. Rows that many transactions write, such as leases and counters, are locked there only, in the order
   * of the stages: so no two transactions wait for one another, and none for a process that is busy.
   */
  beforeCommit(stage: Stage, statement: () => Statement | undefined): void;
}

/** A statement, its parameters, and whether its plan is kept. */
export type Statement = [sql: string, parameters?: unknown[], plan?: 'kept'];

/** What is written at the end of a transaction, in this order. */
const STAGES = ['record', 'wake', 'history'] as const;
export type Stage = (typeof STAGES)[number];

/** A transaction that sees the rows of one employer only. */
export interface EmployerTransaction extends Transaction {
  readonly employerId: string;
}

/** A connection of the pool, in the hands of one unit of work. */
export interface Lent {
  readonly runner: QueryRunner;
  readonly client: Client;
  readonly bound: SilenceBound;
}

/** The server ends a session that holds a lock of `exclusively` and says nothing for so long, and gives the lock to others. */
const SILENT_MS = 30_000;

/**
 * The one door to the database: every unit of work is a transaction opened here, or one question. Each throws
 * DatabaseAway when nothing was committed for want of a connection, and NotDurable when it cannot be known what was.
 */
@Injectable()
export class Database {
  constructor(
    private readonly dataSource: DataSource,
    @Optional() @Inject(CONFIG) private readonly waits: Waits = DEFAULT_WAITS,
    @Optional() readonly availability: Availability = new Availability(),
  ) {}

  /** Runs `work` in a transaction that sees and writes the rows of `employerId` only (row-level security). */
  inEmployer<T>(employerId: string, work: (tx: EmployerTransaction) => Promise<T>): Promise<T> {
    return this.transaction(actingFor(employerId), (tx) => work({ ...tx, employerId }));
  }

  /** As `inEmployer`, for work that only reads: all its statements see the same moment. */
  inEmployerAtOnce<T>(employerId: string, work: (tx: EmployerTransaction) => Promise<T>): Promise<T> {
    const begin = `${ONE_MOMENT}; ${actingFor(employerId)}`;
    return this.transaction(begin, (tx) => work({ ...tx, employerId }));
  }

  /**
   * As `inEmployer`, for work that may be done again where nothing was committed: after a deadlock, a serialization
   * failure, a lock not had in time or a lost connection, four times at most. What the bank answered is written down
   * so, because it cannot be asked again.
   */
  async inEmployerRepeatedly<T>(
    employerId: string,
    work: (tx: EmployerTransaction) => Promise<T>,
  ): Promise<T> {
    for (const pauseMs of REPEAT_PAUSES_MS) {
      try {
        return await this.inEmployer(employerId, work);
      } catch (error) {
        if (!isPassing(error)) throw error;
        await sleep(pauseMs);
      }
    }
    return this.inEmployer(employerId, work);
  }

  /** Runs `work` on what belongs to no employer: persons, keys, roles, the inbox and leases. */
  outsideEmployers<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transaction(actingFor(''), work);
  }

  /** Runs `work` as the narrow role that may claim work of every employer, and read identifiers only. */
  asWorker<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transaction('SET LOCAL ROLE payrun_worker', work);
  }

  /**
   * Asks, by one statement that neither writes nor locks, what belongs to no employer: for what is asked at every tick, by
   * the application's role and a kept plan. A transaction of ours would take three statements more. Who is not answered
   * as soon as a transaction begins counts the database as away.
   */
  ask<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.onConnection(async (lent) => {
      lent.bound.allow(this.waits.DATABASE_CONNECT_MS);
      const rows = await rowsOf<Row>(lent, [sql, parameters, 'kept']).catch(async (error: unknown) => {
        if (!isConnectionLoss(error)) throw error;
        const { cause = error } = lent.bound;
        await lent.bound.cut();
        throw this.away(cause);
      });
      this.availability.reached();
      return rows;
    });
  }

  /**
   * Runs `work` while nobody else, in any process, works under the same name. No transaction is open meanwhile, so
   * `work` may call the outside. It holds one connection of the pool and may need another: queue before it. A process that
   * is paused or lost meanwhile holds it for `SILENT_MS` at most, and finds others at work when it goes on.
   * @throws the server's lock time-out when it was not free in time.
   */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.underLock('pg_advisory_lock', name, work) as Promise<T>;
  }

  /** As `exclusively`; where somebody works under the name at this moment nothing is done, and nobody waited for. */
  async exclusivelyIfFree(name: string, work: () => Promise<void>): Promise<void> {
    await this.underLock('pg_try_advisory_lock', name, work);
  }

  private async underLock<T>(
    lock: 'pg_advisory_lock' | 'pg_try_advisory_lock',
    name: string,
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    const lent = await this.lend();
    const { runner, bound } = lent;
    const connectMs = this.waits.DATABASE_CONNECT_MS;
    try {
      bound.allow(LOCK_TIMEOUT_MS + connectMs);
      const asked = runner.query(`SELECT ${lock}(hashtext($1)) AS held`, [name]) as Promise<
        { held: unknown }[]
      >;
      const [lockOf] = await asked.catch((error: unknown) => {
        throw isConnectionLoss(error) ? this.away(error) : error;
      });
      bound.allow(0);
      if (lockOf?.held === false) return undefined;
      const beHeard = () =>
        runner
          .query(`SELECT set_config('idle_session_timeout', $1, false)`, [String(SILENT_MS)])
          .catch(() => undefined);
      const beats = setInterval(() => void beHeard(), SILENT_MS / 3);
      try {
        await beHeard();
        return await work();
      } finally {
        clearInterval(beats);
        bound.allow(connectMs);
        const free = `SELECT pg_advisory_unlock(hashtext($1)), set_config('idle_session_timeout', NULL, false)`;
        // A connection that ends gives its locks back as well.
        await runner.query(free, [name]).catch(() => bound.cut());
      }
    } finally {
      await giveBack(lent);
    }
  }

  /** Gives `work` a connection of its own meanwhile, which is ended where it can do no such work any more. */
  protected async onConnection<T>(work: (lent: Lent) => Promise<T>): Promise<T> {
    const lent = await this.lend();
    try {
      return await work(lent);
    } catch (error) {
      if (!isStalePlan(error)) throw error;
      await lent.bound.cut();
      throw this.away(error);
    } finally {
      await giveBack(lent);
    }
  }

  /** Runs one transaction under a setting of the session. */
  private transaction<T>(setting: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.onConnection(async (lent) => {
      const { result, last } = await this.carryOut(lent, setting, work);
      await this.commit(lent, last);
      this.availability.reached();
      return result;
    });
  }

  /**
   * Begins (not by TypeORM, which takes a statement more) and works; what fails is rolled back, and a connection that
   * cannot be rolled back is ended. The first statement of the work goes with the BEGIN: in a process that is busy
   * every answer waited for costs a turn of its loop. Were the BEGIN refused, that statement would belong to no employer
   * and see no row of any.
   */
  private async carryOut<T>(
    lent: Lent,
    setting: string,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<{ result: T; last: Statement[] }> {
    const { DATABASE_CONNECT_MS: connectMs, DATABASE_STATEMENT_MS: statementMs } = this.waits;
    const { runner, client, bound } = lent;
    bound.allow(connectMs);
    pipelined(client, true);
    // Or TypeORM would lock no row.
    Object.assign(runner, { isTransactionActive: true });
    const endings = new Map<Stage, (() => Statement | undefined)[]>(STAGES.map((stage) => [stage, []]));
    const [begun, working] = together(client, () => [
      // The server cancels what takes too long; it is not heard when the network is gone.
      client.query(`BEGIN; ${setting}`).then(() => bound.allow(statementMs + connectMs)),
      begin(work, {
        manager: runner.manager,
        query: <Row>(...statement: Statement) => rowsOf<Row>(lent, statement),
        stream: (query) => pipelined(client, false).query(query),
        beforeCommit: (stage, statement) => endings.get(stage)?.push(statement),
      }),
    ]);
    begun.catch(() => undefined);
    try {
      const result = await working;
      const last = STAGES.flatMap((stage) => endings.get(stage) ?? []).map((statement) => statement());
      await begun;
      if (bound.ended) throw new Error('Connection terminated before the commit');
      return { result, last: last.filter((statement) => statement !== undefined) };
    } catch (failure) {
      // Where the server refused to begin, what came behind it says less.
      const error: unknown = await begun.then(
        () => failure,
        (first: unknown) => (isRefusal(first) ? first : failure),
      );
      bound.allow(connectMs);
      await runner.rollbackTransaction().catch(() => bound.cut());
      // A socket of somebody else's may break in the same words.
      throw bound.ended && isConnectionLoss(error) ? this.away(bound.cause ?? error) : error;
    }
  }

  /** Not by TypeORM, which passes over what the server answers: a failed transaction is rolled back without an error. */
  private async commit(lent: Lent, last: readonly Statement[]): Promise<void> {
    const { client, bound } = lent;
    const { DATABASE_STATEMENT_MS: statementMs, DATABASE_COMMIT_MS: commitMs } = this.waits;
    let warning: string | undefined;
    const onNotice = (notice: { code?: string }) => {
      if (notice.code === NOT_REPLICATED) warning = notice.code;
    };
    client.on('notice', onNotice);
    pipelined(client, true);
    bound.allow(last.length === 0 ? commitMs : statementMs + commitMs);
    const [sent, committed] = together(client, () => [
      Promise.all(last.map((statement) => rowsOf(lent, statement))).then(() => bound.allow(commitMs)),
      client.query('COMMIT'),
    ]);
    sent.catch(() => undefined);
    try {
      const { command } = await committed;
      await sent;
      if (command !== 'COMMIT')
        throw new NothingCommitted('a statement had failed, so nothing was committed');
    } catch (error) {
      if (error instanceof NothingCommitted || isRefusal(error)) throw error;
      const lost = new DatabaseAway(error);
      this.availability.lost(lost);
      throw new NotDurable('the commit was not answered', { cause: lost });
    } finally {
      client.off('notice', onNotice);
    }
    if (warning !== undefined) throw new NotDurable('the commit might not have been replicated');
  }

  private async lend(): Promise<Lent> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as Client;
      return { runner, client, bound: new SilenceBound(client) };
    } catch (error) {
      await runner.release();
      throw this.away(error);
    }
  }

  private away(error: unknown): DatabaseAway {
    const away = new DatabaseAway(error);
    this.availability.lost(away);
    return away;
  }
}

/** Lets statements be sent before those before are answered, or not: a stream must have the connection alone. */
function pipelined(client: Client, pipeline: boolean): Client {
  return Object.assign(client, { pipeline });
}

/** What is sent by `send` before it waits leaves as one write, which wakes the server once. */
function together<T>(client: Client, send: () => T): T {
  const { stream } = client.connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

/** Begins work at once; also what it throws before it waits is its promise's. */
async function begin<T>(work: (tx: Transaction) => Promise<T>, tx: Transaction): Promise<T> {
  return work(tx);
}

const ONE_MOMENT = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY';

function actingFor(employerId: string): string {
  return `SELECT set_config('payrun.employer_id', ${escapeLiteral(employerId)}, true)`;
}

/** The server rolled back without an error. */
class NothingCommitted extends Error {}

function giveBack({ runner, bound }: Lent): Promise<void> {
  bound.lift();
  return runner.release();
}

/** Names of the statements whose plans are kept, by their texts. */
const KEPT = new Map<string, string>();

/** By the driver itself: TypeORM's way through a statement costs as much as the statement. */
async function rowsOf<Row>({ runner, client }: Lent, [text, values, plan]: Statement): Promise<Row[]> {
  // By now the connection may be in other hands.
  if (runner.isReleased) throw new QueryRunnerAlreadyReleasedError();
  const name = plan && (KEPT.get(text) ?? `kept_${KEPT.size + 1}`);
  if (name !== undefined) KEPT.set(text, name);
  // Several statements in one text have several results.
  const result: QueryResult | unknown[] = await pipelined(client, true).query({ name, text, values });
  return Array.isArray(result) ? [] : (result.rows as Row[]);
}
