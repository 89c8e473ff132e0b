import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { append } from '../audit/audit';
import { isBankError } from '../bank/errors';
import { describeError } from '../config/describe-error';
import { CONFIG, Config } from '../config/env';
import { shownWithinMs } from '../config/shown-within';
import { BankLists } from '../database/bank-lists';
import { Database, EmployerTransaction } from '../database/database';
import { lockRestores, recordRestore, RestoreGuard, untoldRestores } from '../database/restore-guard';
import { employerIds } from '../database/worker-ids';
import { DAY_MS } from '../domain/durations';
import { DomainError } from '../domain/errors';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { Metrics } from '../http/metrics';
import { showId } from '../http/prefixed-id';
import { raise } from '../pay-run/attention.store';
import { stopEverything } from '../pay-run/stop';
import { waitsForOf } from '../submission/waits-for';
import { isWritten } from '../submission/written-word';
import { Restore, RestoreCheck } from './restore-check';
import { type Fenced, RestoreFence, seenAgain } from './restore-fence';
import { type Owned, RestoreOwners } from './restore-owners';
import { type Before, RestoreSweep, Sweep } from './restore-sweep';
import { happenedAtFirst } from './restore-words';

/** A bank that could not be read is tried again after so long; nothing is sent meanwhile. */
const TRY_AGAIN_MS = 5_000;

/** That the list shows what is not submitted is believed for as long: three monthly payrolls. */
const SHOWS_FOR_DAYS = 100;

interface Pending extends Restore {
  dataUntil: Date | null;
  noticedAt: Date;
  /** Whether the list is known to show what is not submitted: the check itself deletes what showed it. */
  showsUnsubmitted: boolean;
  employerIds: string[];
}

/** A restore for some of whose employers the check is to be passed yet. */
interface Unpassed extends Pending {
  unpassed: string[];
}

/** What the bank's list shows, and what of it the record does not know, by whose it is. */
interface Reading {
  sweep: Sweep;
  byEmployer: Owned['byEmployer'];
  /** Whether what the bank answered oddly was believed to last: so it is of the same list read once more. */
  lasted: boolean;
}

/**
 * What follows when the database was restored (rule 17): every submit of every employer is stopped, every employer is
 * asked, the bank is read and held against what was restored, and two people of each employer let it go on.
 */
@Injectable()
export class Restores {
  private readonly logger = new Logger(Restores.name);
  private readonly sight: Gauge<'sees'>;
  /** By the clock that nobody sets, as `performance.now()`. */
  private nextReadMs = 0;
  /** Since when the bank's list could not be read, each time, by the same clock. */
  private failingSinceMs?: number;

  constructor(
    private readonly database: Database,
    private readonly guard: RestoreGuard,
    private readonly sweep: RestoreSweep,
    private readonly lists: BankLists,
    private readonly owners: RestoreOwners,
    private readonly fence: RestoreFence,
    private readonly check: RestoreCheck,
    { registry }: Metrics,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.sight = new Gauge({
      name: 'payrun_restore_guard',
      help: 'Whether this kind of restore is noticed by itself: 1, or 0 where the server or the settings hide it.',
      labelNames: ['sees'],
      registers: [registry],
    });
  }

  /** Looks whether the database was restored, and takes what was noticed a step further. */
  async tick(): Promise<void> {
    let told: boolean | null = false;
    try {
      told = await this.guard.check();
    } finally {
      // Also where the witness cannot be written: what was noticed nobody else tells.
      this.showSight();
      if (told === false) await this.tellAll();
    }
    // What follows is of restores, and most databases never had one.
    if (told === null || performance.now() < this.nextReadMs) return;
    try {
      await eachOf([() => this.reconcileAll(), () => this.adoptAll()], (work) => work());
    } catch (error) {
      this.nextReadMs = performance.now() + TRY_AGAIN_MS;
      const isOfBank = isBankError(error);
      const message = 'the bank could not be read after a restore';
      if (isOfBank) this.logger.warn({ message, error: describeError(error) });
      await this.keepWhy(waitsForOf(error)).catch((also: unknown) => {
        throw isOfBank ? also : error;
      });
      if (!isOfBank) throw error;
    }
  }

  /**
   * A person says that the database was restored: from the answer on nothing is submitted; the next tick tells everybody.
   * Who says the same again before that, because the answer was lost or at once, says it once.
   * @returns the restore's id
   */
  async say(personId: string, reason: string): Promise<string> {
    return this.database.outsideEmployers(async (tx) => {
      const what = `An administrator says that the database was restored: ${reason}.`;
      await lockRestores(tx);
      const said = (await untoldRestores(tx)).find((untold) => untold.what === what);
      if (said !== undefined) return said.id;
      const restoreId = await recordRestore(tx, what, 'unknown');
      await append(tx, {
        personId,
        action: 'service.restored',
        subject: 'service',
        detail: { reason, restoreId },
      });
      return restoreId;
    });
  }

  private showSight(): void {
    const { sight } = this.guard;
    if (sight === undefined) return;
    this.sight.set({ sees: 'another_cluster' }, Number(sight.systemIdentifier));
    this.sight.set({ sees: 'another_timeline' }, Number(sight.timeline));
    this.sight.set({ sees: 'older_copy' }, Number(sight.olderCopy));
  }

  /** Only when the last employer was told is the restore told; until then the database itself refuses submits. */
  private async tellAll(): Promise<void> {
    for (const restore of await this.database.outsideEmployers(untoldRestores)) {
      this.logger.error({ message: 'the database was restored', what: restore.what });
      for await (const employerId of employerIds(this.database))
        await this.database.inEmployer(employerId, (tx) => tellOne(tx, restore));
      await this.database.outsideEmployers(async (tx) => {
        const told = await tx.query(
          'UPDATE database_restore SET told_at = clock_timestamp() WHERE id = $1 AND told_at IS NULL RETURNING id',
          [restore.id],
        );
        if (told.length === 0) return;
        const detail = { restoreId: restore.id, what: restore.what };
        await append(tx, { action: 'service.restore-told', subject: 'service', detail });
      });
    }
  }

  private async reconcileAll(): Promise<void> {
    if ((await this.unpassed()).length === 0) {
      this.fence.allPassed();
      return;
    }
    // From a list that another replica reads meanwhile, what is deleted would push some unseen.
    await this.database.exclusivelyIfFree('restores', async () => {
      for (const restore of await this.unpassed()) await this.reconcile(restore);
    });
  }

  private async unpassed(): Promise<Unpassed[]> {
    const all: Unpassed[] = [];
    for (const pending of await this.pending()) {
      const unpassed: string[] = [];
      for (const employerId of pending.employerIds)
        if (!(await this.database.inEmployer(employerId, (tx) => hasPassed(tx, pending.id))))
          unpassed.push(employerId);
      if (unpassed.length > 0) all.push({ ...pending, unpassed });
    }
    return all;
  }

  /** @throws BankClientError of the first employer for whom the bank cannot be read; the others are passed */
  private async reconcile(restore: Unpassed): Promise<void> {
    const reading = await this.read(restore);
    const fenced = new Map<string, Fenced>();
    const fence = async (id: string) => {
      const own = reading.byEmployer.get(id) ?? [];
      fenced.set(id, await this.fence.fence(id, restore.id, reading.sweep, own));
    };
    await eachOf(
      [() => eachOf(restore.unpassed, fence), () => this.passAll(restore, reading, fenced)],
      (work) => work(),
    );
  }

  private async passAll(
    restore: Unpassed,
    reading: Reading,
    fenced: ReadonlyMap<string, Fenced>,
  ): Promise<void> {
    const isOpen = [...fenced.values()].some((one) => one.isOpen || one.gone.length > 0);
    if (isOpen) await sleep(this.config.BANK_LAG_BOUND_MS);
    const { sweep, byEmployer } = isOpen ? await this.read(restore, reading) : reading;
    await eachOf([...fenced], async ([id, one]) => {
      const givenUp = await this.fence.endGone(restore.id, one, sweep);
      const own = isOpen ? seenAgain(one.findings, byEmployer.get(id) ?? [], sweep) : one.findings;
      await this.check.reconcile(id, restore, sweep, { own, givenUp });
    });
  }

  /** @param before an earlier reading of this pass */
  private async read(restore: Unpassed, before?: Reading): Promise<Reading> {
    const lasted = before?.lasted === true || this.hasLasted();
    const sweep = await this.sweepOf(restore, lasted, before?.sweep ?? (await this.knownOf(restore)));
    const owned = await this.owners.of(sweep.unknown);
    await this.owners.keepForgotten(restore.id, sweep, owned);
    sweep.unidentified.push(...owned.ownerless.map((one) => one.bankInstructionId));
    this.reportStrangers(restore, sweep);
    return { sweep, byEmployer: owned.byEmployer, lasted };
  }

  private async knownOf({ showsUnsubmitted }: Unpassed): Promise<Before> {
    const isShown = showsUnsubmitted || (await this.lists.showsUnsubmitted(SHOWS_FOR_DAYS));
    return { unknown: [], unidentified: [], showsUnsubmitted: isShown };
  }

  private async adoptAll(): Promise<void> {
    await eachOf(await this.withForgotten(), (employerId) => this.check.adoptWaiting(employerId));
  }

  /** Whoever asks to resume meanwhile is told what is in the way. */
  private async keepWhy(waitsFor: string): Promise<void> {
    const waiting = new Set((await this.pending()).flatMap(({ employerIds }) => employerIds));
    await eachOf([...waiting], (employerId) =>
      this.database.inEmployer(employerId, async (tx) => {
        await tx.query(
          `UPDATE restore_check SET waits_for = $2
           WHERE employer_id = $1 AND passed_at IS NULL AND waits_for IS DISTINCT FROM $2`,
          [employerId, waitsFor],
        );
      }),
    );
  }

  /** What the bank answered oddly all the while since it first did it may answer for ever. */
  private hasLasted(): boolean {
    return performance.now() - (this.failingSinceMs ?? Infinity) >= this.config.SUBMIT_DOUBT_MS;
  }

  /** @throws BankClientError */
  private async sweepOf(restore: Unpassed, lasted: boolean, before: Before): Promise<Sweep> {
    const from = await this.sinceOf(restore);
    try {
      const sweep = await this.sweep.since(from, lasted, restore.employerIds, before);
      this.failingSinceMs = undefined;
      return sweep;
    } catch (error) {
      if (isBankError(error)) this.failingSinceMs ??= performance.now();
      throw error;
    }
  }

  /** Employers with instructions at the bank that were not taken back into their record. */
  private async withForgotten(): Promise<string[]> {
    const rows = await this.database.asWorker((tx) =>
      tx.query<{ id: string }>(
        'SELECT DISTINCT employer_id AS id FROM forgotten_instruction WHERE adopted_at IS NULL',
      ),
    );
    return rows.map(({ id }) => id);
  }

  /** Restores that somebody is still stopped for; young ones wait for what was under way. */
  private pending(): Promise<Pending[]> {
    return this.database.outsideEmployers((tx) =>
      tx.query<Pending>(
        `SELECT r.id, r.what, r.data_until AS "dataUntil", r.noticed_at AS "noticedAt",
           r.unsubmitted_shown_at IS NOT NULL AS "showsUnsubmitted",
           array_agg(s.employer_id::text) AS "employerIds"
         FROM service_stop s JOIN database_restore r ON r.id = s.subject_id
         WHERE s.kind = 'RESTORED' AND s.lifted_at IS NULL AND r.told_at IS NOT NULL
           AND r.noticed_at < clock_timestamp() - make_interval(secs => $1::double precision / 1000)
         GROUP BY r.id ORDER BY r.noticed_at`,
        [shownWithinMs(this.config)],
      ),
    );
  }

  /**
   * A day before the data end, for the two clocks; where that is not known, as long as anything is watched, and a day before
   * the oldest run was made that may have been submitted since.
   */
  private async sinceOf({ dataUntil, noticedAt, unpassed }: Unpassed): Promise<Date> {
    if (dataUntil !== null) return new Date(dataUntil.getTime() - DAY_MS);
    let since = noticedAt.getTime() - this.config.WATCH_DAYS * DAY_MS;
    for (const employerId of unpassed) {
      const oldest = await this.database.inEmployer(employerId, oldestUnsubmitted);
      if (oldest !== null) since = Math.min(since, oldest.getTime() - DAY_MS);
    }
    return new Date(since);
  }

  private reportStrangers(
    pending: Restore,
    { readable, showsUnsubmitted, unknown, unidentified }: Sweep,
  ): void {
    const submitted = unknown
      .filter((one) => one.submitted)
      .map(({ bankInstructionId }) => bankInstructionId);
    this.logger.warn({
      message: 'the bank was read after a restore',
      restoreId: pending.id,
      readable,
      showsUnsubmitted,
      submitted,
      unidentified,
    });
  }
}

/** Does the work for each, such as every employer, whatever happens to the one before it. @throws the first error */
async function eachOf<One>(all: readonly One[], work: (one: One) => Promise<void>): Promise<void> {
  const failed: unknown[] = [];
  for (const one of all) await work(one).catch((error: unknown) => failed.push(error));
  if (failed.length > 0) throw failed[0];
}

async function hasPassed(tx: EmployerTransaction, restoreId: string): Promise<boolean> {
  const passed = await tx.query(
    'SELECT FROM restore_check WHERE employer_id = $1 AND restore_id = $2 AND passed_at IS NOT NULL',
    [tx.employerId, restoreId],
  );
  return passed.length > 0;
}

/** When the oldest run was made that is not submitted whole; null where there is none. */
async function oldestUnsubmitted(tx: EmployerTransaction): Promise<Date | null> {
  const [found] = await tx.query<{ oldest: Date | null }>(
    'SELECT min(created_at) AS oldest FROM pay_run WHERE employer_id = $1 AND status <> ALL ($2)',
    [tx.employerId, [...PAY_RUN_FINALS, 'FOLLOWING']],
  );
  return found?.oldest ?? null;
}

async function tellOne(tx: EmployerTransaction, restore: Restore): Promise<void> {
  const first = await tx.query(
    `INSERT INTO restore_check (employer_id, restore_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING restore_id`,
    [tx.employerId, restore.id],
  );
  if (first.length === 0) return;
  await stopEverything(tx, { kind: 'RESTORED', subjectId: restore.id });
  await raise(tx, { kind: 'RESTORED', subjectId: restore.id, happened: happenedAtFirst(restore.what) });
  await append(tx, {
    action: 'employer.restore-told',
    subject: showId('emp', tx.employerId),
    detail: { restoreId: restore.id },
  });
}

/**
 * Whether two people may let things go on after a restore.
 * @throws DomainError NOT_RECONCILED, EVIDENCE_REQUIRED where the bank did not show everything
 */
export async function assertReconciled(
  tx: EmployerTransaction,
  restoreId: string,
  evidence: string | null,
): Promise<void> {
  const [check] = await tx.query<{ passed: boolean; needs_evidence: boolean; waits_for: string | null }>(
    `SELECT passed_at IS NOT NULL AS passed, needs_evidence, waits_for FROM restore_check
     WHERE employer_id = $1 AND restore_id = $2`,
    [tx.employerId, restoreId],
  );
  if (!check?.passed) {
    throw new DomainError(
      'NOT_RECONCILED',
      `The bank was not yet read and held against the record after the restore (${check?.waits_for ?? 'it is about to be'}). It is tried again and again.`,
    );
  }
  if (check.needs_evidence && !isWritten(evidence)) {
    throw new DomainError(
      'EVIDENCE_REQUIRED',
      'The bank did not show everything. Have it say in writing what was submitted, withdraw this proposal, and propose it anew with its reference as evidence.',
    );
  }
}
