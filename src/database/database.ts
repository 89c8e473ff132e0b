import { Injectable } from '@nestjs/common';
import { Client } from 'pg';
import { DataSource, EntityManager } from 'typeorm';

/** PostgreSQL says so when a commit is local only: it must not be built upon. */
const NOT_REPLICATED = '01000';

/** A commit whose durability is not certain: nothing may be sent to the bank on its strength. */
export class NotDurable extends Error {}

/** One open transaction. Entities through `manager`, sets through `query`, COPY through `client`. */
export interface Transaction {
  readonly manager: EntityManager;
  readonly client: Client;
  query<Row = Record<string, unknown>>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /**
   * Leaves work to the very end of the transaction. Rows that many transactions write, such as leases and counters,
   * are locked there only, in the order of the stages, so that no two transactions wait for one another.
   */
  beforeCommit(stage: Stage, work: () => Promise<void>): void;
}

/** What is done at the end of a transaction, in this order. */
const STAGES = ['wake', 'history'] as const;
export type Stage = (typeof STAGES)[number];

/** A transaction that sees the rows of one employer only. */
export interface EmployerTransaction extends Transaction {
  readonly employerId: string;
}

/** The one door to the database: every unit of work is a transaction opened here. */
@Injectable()
export class Database {
  constructor(private readonly dataSource: DataSource) {}

  /** Runs `work` in a transaction that sees and writes the rows of `employerId` only (row-level security). */
  inEmployer<T>(employerId: string, work: (tx: EmployerTransaction) => Promise<T>): Promise<T> {
    return this.transaction(`SELECT set_config('payrun.employer_id', $1, true)`, [employerId], (tx) =>
      work({ ...tx, employerId }),
    );
  }

  /** Runs `work` on what belongs to no employer: persons, keys, roles, the inbox and leases. */
  outsideEmployers<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transaction(`SELECT set_config('payrun.employer_id', '', true)`, [], work);
  }

  /** Runs `work` as the narrow role that may claim work of every employer, and read identifiers only. */
  asWorker<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transaction('SET LOCAL ROLE payrun_worker', [], work);
  }

  /**
   * Runs `work` while nobody else, in any process, works under the same name. No transaction is open meanwhile, so
   * `work` may call the outside. It holds one connection of the pool and may need another: queue before it.
   * @throws the server's lock time-out when it was not free in time.
   */
  async exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      await runner.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
      try {
        return await work();
      } finally {
        await runner.query('SELECT pg_advisory_unlock(hashtext($1))', [name]);
      }
    } finally {
      await runner.release();
    }
  }

  private async transaction<T>(
    setting: string,
    parameters: unknown[],
    work: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as Client;
      await runner.startTransaction();
      let result: T;
      try {
        await runner.query(setting, parameters);
        const last = new Map<Stage, (() => Promise<void>)[]>(STAGES.map((stage) => [stage, []]));
        result = await work({
          manager: runner.manager,
          client,
          query: async <Row>(sql: string, values?: unknown[]) =>
            rowsOf<Row>(await runner.query(sql, values, true)),
          beforeCommit: (stage, ending) => last.get(stage)?.push(ending),
        });
        for (const ending of STAGES.flatMap((stage) => last.get(stage) ?? [])) await ending();
      } catch (error) {
        await runner.rollbackTransaction().catch(() => undefined);
        throw error;
      }
      await commit(client);
      return result;
    } finally {
      await runner.release();
    }
  }
}

function rowsOf<Row>(result: { records: unknown }): Row[] {
  return (result.records ?? []) as Row[];
}

/** Not by TypeORM, which passes over what the server answers: a failed transaction is rolled back without an error. */
async function commit(client: Client): Promise<void> {
  let warning: string | undefined;
  const onNotice = (notice: { code?: string }) => {
    if (notice.code === NOT_REPLICATED) warning = notice.code;
  };
  client.on('notice', onNotice);
  try {
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error('a statement had failed, so nothing was committed');
  } finally {
    client.off('notice', onNotice);
  }
  if (warning !== undefined) throw new NotDurable('the commit might not have been replicated');
}
