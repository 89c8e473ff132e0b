import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { BEFORE_ALL } from '../database/new-id';
import { DatabaseAway } from '../database/outage';
import { PersonalData } from '../database/personal-data';
import { words } from '../database/words';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { describeError } from '../config/describe-error';
import { tellOf } from './breach';
import { Finding, Invariant, Looked, Position } from './invariant';
import { INVARIANTS } from './invariants';
import { ReconcilerMetrics } from './reconciler-metrics';

/** Rows of runs looked at in one pass: 100,000 cost 2.4 s of the database's processor, of the 300 s until the next. */
const CURRENT_ROWS = 100_000;
/** The rest is gone through over and over: five years of 10,000 rows a month in three hours. */
const OLDER_ROWS = 20_000;

/** A run that ended is current for a week after its execution date. */
const CURRENT = `(status NOT IN (${words(PAY_RUN_FINALS)}) OR execution_date > current_date - 7)`;

/** More than ten times what the largest pass takes: a database that is that slow has more urgent work. */
const STATEMENT_TIMEOUT_MS = 60_000;

/**
 * What asserts does not write. Of rows so fresh that they are in no statistics the planner believes there are few, and
 * would loop over all of them for each of them.
 */
const READING = `SET LOCAL transaction_read_only = on; SET LOCAL enable_nestloop = off;
  SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`;

const START: Position = {
  currentRun: BEFORE_ALL,
  olderRun: BEFORE_ALL,
  rowsOfPlan: BEFORE_ALL,
  auditSeq: '0',
  auditHash: '',
  installationSeq: '0',
  installationHash: '',
};

/** A breach that was told in a pass. */
export interface Breach extends Finding {
  invariant: string;
}

/**
 * Asserts over the stored data of an employer what must always hold, a bounded part in each pass, and tells people
 * and stops what is concerned where it does not. Any number of replicas share the passes.
 */
@Injectable()
export class StandingReconciler {
  private readonly logger = new Logger(StandingReconciler.name);
  private stopping = false;

  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly metrics: ReconcilerMetrics,
    @Inject(CONFIG) private readonly config: Pick<Config, 'RECONCILE_MS'>,
  ) {}

  /**
   * One pass over an employer, unless another replica made one in the last half of an interval.
   * @returns the breaches told now.
   * @throws DatabaseAway at once, Error after the pass when an invariant could not be asserted.
   */
  async check(employerId: string): Promise<Breach[]> {
    if (this.stopping) return [];
    const position = await this.claim(employerId);
    if (position === undefined) return [];
    const stop = this.metrics.duration.startTimer();
    const { told, failed } = await this.pass(employerId, position);
    await this.keep(employerId, position);
    stop();
    this.metrics.lastCheck.setToCurrentTime();
    if (failed.length > 0) throw new Error(`not asserted: ${failed.join(', ')}`);
    return told;
  }

  /** Begins no other pass, and ends the one under way after the invariant in hand. */
  drain(): Promise<void> {
    this.stopping = true;
    return Promise.resolve();
  }

  /** Half an interval, so that of several replicas, however their ticks lie, one checks in each interval. */
  private async claim(employerId: string): Promise<Position | undefined> {
    const rows = await this.database.inEmployer(employerId, (tx) =>
      tx.query<{ position: Partial<Position> }>(
        `INSERT INTO reconciler_pass AS p (employer_id) VALUES ($1)
         ON CONFLICT (employer_id) DO UPDATE SET checked_at = clock_timestamp()
           WHERE p.checked_at <= clock_timestamp() - make_interval(secs => $2::double precision / 2000)
             OR p.checked_at > clock_timestamp()
         RETURNING position`,
        [employerId, this.config.RECONCILE_MS],
      ),
    );
    return rows[0] && { ...START, ...rows[0].position };
  }

  private async pass(employerId: string, position: Position): Promise<{ told: Breach[]; failed: string[] }> {
    const { payRunIds, standing } = await this.database.inEmployer(employerId, async (tx) => ({
      payRunIds: await nextRuns(tx, position),
      standing: await standingBreaches(tx),
    }));
    const told: Breach[] = [];
    const failed: string[] = [];
    for (const invariant of INVARIANTS) {
      if (this.stopping) break;
      if (payRunIds.length === 0 && !invariant.sliced) continue;
      try {
        const found = await this.find(employerId, invariant, position, payRunIds);
        if (found.broken.length === 0 && !standing.has(invariant.name)) continue;
        const findings = await this.tell(employerId, invariant, found);
        told.push(...findings.map((finding) => ({ ...finding, invariant: invariant.name })));
      } catch (error) {
        // An outage is told once, for all work.
        if (error instanceof DatabaseAway) throw error;
        failed.push(invariant.name);
        this.metrics.failures.inc({ invariant: invariant.name });
        this.logger.error({
          message: 'not asserted',
          invariant: invariant.name,
          error: describeError(error),
        });
      }
    }
    return { told, failed };
  }

  private find(
    employerId: string,
    invariant: Invariant,
    position: Position,
    payRunIds: readonly string[],
  ): Promise<Looked> {
    const find = async (tx: EmployerTransaction) => {
      await tx.query(READING);
      return invariant.find({ tx, personal: this.personal, payRunIds, position });
    };
    return invariant.ofInstallation
      ? this.database.outsideEmployers((tx) => find({ ...tx, employerId }))
      : this.database.inEmployer(employerId, find);
  }

  private async tell(employerId: string, invariant: Invariant, looked: Looked): Promise<Finding[]> {
    const told = await this.database.inEmployer(employerId, (tx) => tellOf(tx, invariant, looked));
    if (told.length === 0) return told;
    const { name } = invariant;
    this.metrics.breaches.inc({ invariant: name }, told.length);
    this.logger.error({
      message: 'an invariant is broken',
      invariant: name,
      employerId,
      breaches: told.length,
    });
    return told;
  }

  private async keep(employerId: string, position: Position): Promise<void> {
    await this.database.inEmployer(employerId, (tx) =>
      tx.query('UPDATE reconciler_pass SET position = $2 WHERE employer_id = $1', [
        employerId,
        JSON.stringify(position),
      ]),
    );
  }
}

/** The invariants of which a breach was told that lasts, as far as is known. */
async function standingBreaches(tx: EmployerTransaction): Promise<Set<string>> {
  const rows = await tx.query<{ invariant: string }>(
    'SELECT DISTINCT invariant FROM invariant_breach WHERE employer_id = $1 AND gone_at IS NULL',
    [tx.employerId],
  );
  return new Set(rows.map(({ invariant }) => invariant));
}

/** The runs of this pass: the next of the ring of current runs and of the ring of older ones, at least one of each. */
async function nextRuns(tx: EmployerTransaction, position: Position): Promise<string[]> {
  const current = await ring(tx, CURRENT, position.currentRun, CURRENT_ROWS);
  const older = await ring(tx, `NOT ${CURRENT}`, position.olderRun, OLDER_ROWS);
  position.currentRun = current.at(-1) ?? BEFORE_ALL;
  position.olderRun = older.at(-1) ?? BEFORE_ALL;
  return [...current, ...older];
}

async function ring(tx: EmployerTransaction, which: string, after: string, rows: number): Promise<string[]> {
  const runs = await tx.query<{ id: string }>(
    `SELECT id FROM (
       SELECT id, row_number() OVER turn AS place, sum(row_count + 1) OVER turn - row_count AS before
       FROM pay_run WHERE employer_id = $1 AND ${which}
       WINDOW turn AS (ORDER BY id <= $2, id)) AS ring
     WHERE before <= $3 ORDER BY place`,
    [tx.employerId, after, rows],
  );
  return runs.map(({ id }) => id);
}
