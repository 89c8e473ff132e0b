import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock';
import { ClockWatch } from '../database/clock-watch';
import { Database } from '../database/database';
import { IdempotencyKeys } from '../identity/idempotency-keys';
import { forgetRefusedFiles } from '../pay-file/faulty-file.store';
import { forEveryEmployer } from './every-employer';

/** The current month and two more: rows find their partition through weeks in which this fails. */
const MONTHS_OF_PARTITIONS = 3;

/**
 * What keeps the database in shape. Nothing of a payroll that was taken is ever deleted here, and nothing at all by a process
 * whose clock is not the database's: to one that is ahead all of it is old.
 */
@Injectable()
export class Maintenance {
  constructor(
    private readonly database: Database,
    private readonly idempotencyKeys: IdempotencyKeys,
    private readonly clock: Clock,
    private readonly watch: ClockWatch,
  ) {}

  /**
   * Makes the monthly partitions that are missing. The month is the database's, by whose clock rows are dated.
   * @returns how many were made.
   */
  async ensurePartitions(): Promise<number> {
    const [row] = await this.database.outsideEmployers((tx) =>
      tx.query<{ made: number }>(
        `SELECT ensure_month_partitions((now() AT TIME ZONE 'UTC')::date, $1::integer) AS made`,
        [MONTHS_OF_PARTITIONS],
      ),
    );
    return row?.made ?? 0;
  }

  /** Forgets answers kept for idempotency keys that are too old to be asked for again. @returns how many. */
  async forgetIdempotencyKeys(): Promise<number> {
    if (!(await this.watch.check())) return 0;
    let forgotten = 0;
    await forEveryEmployer(this.database, 'all', async (employerId) => {
      forgotten += await this.idempotencyKeys.forgetOldKeys(employerId, this.clock.now());
    });
    return forgotten;
  }

  /** Forgets the faulty rows of files that were refused some days ago. @returns of how many files. */
  async forgetRefusedFiles(): Promise<number> {
    if (!(await this.watch.check())) return 0;
    let forgotten = 0;
    await forEveryEmployer(this.database, 'all', async (employerId) => {
      forgotten += await this.database.inEmployer(employerId, (tx) =>
        forgetRefusedFiles(tx, this.clock.now()),
      );
    });
    return forgotten;
  }
}
