import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { append, INSTALLATION_CHAIN } from '../audit/audit';
import { isBankError } from '../bank/errors';
import { Ages } from '../config/ages';
import { describeError } from '../config/describe-error';
import { CONFIG, Config } from '../config/env';
import { shownWithinMs } from '../config/shown-within';
import { BankLists } from '../database/bank-lists';
import { Database, EmployerTransaction, Transaction } from '../database/database';
import { lockRestores, recordRestore, RestoreGuard, untoldRestores } from '../database/restore-guard';
import { employerIds } from '../database/worker-ids';
import { Metrics } from '../http/metrics';
import { showId } from '../http/prefixed-id';
import { keyReused } from '../identity/idempotency.interceptor';
import { raise } from '../pay-run/attention.store';
import { stopEverything } from '../pay-run/stop';
import { waitsForOf } from '../submission/waits-for';
import { pendingRestores, sinceOf, type Unpassed, unpassedRestores } from './pending-restores';
import { Restore, RestoreCheck } from './restore-check';
import { type Fenced, RestoreFence, seenAgain } from './restore-fence';
import { type Owned, RestoreOwners } from './restore-owners';
import { type Before, RestoreSweep, Sweep, type Unknown } from './restore-sweep';
import { happenedAtFirst } from './restore-words';

/** A bank that could not be read is tried again after so long; nothing is sent meanwhile. */
const TRY_AGAIN_MS = 5_000;

/** That the list shows what is not submitted is believed for as long: three monthly payrolls. */
const SHOWS_FOR_DAYS = 100;

const NONE_SHOWN = { unknown: [], moved: [], unidentified: [] } as const satisfies Omit<
  Before,
  'showsUnsubmitted'
>;

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
  /** What a restore's list has shown so far, by its id: a pass that fails takes none of it back. */
  private readonly shown = new Map<string, Before>();
  /** Since when the bank's list could not be read, each time, by the same clock. */
  private failingSinceMs?: number;
  private readonly ages = new Ages();

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
   * Who says the same again before that, because the answer was lost or at once, says it once; for a day by the same key too.
   * @returns the restore's id, and whether it was said before
   * @throws Problem 422 `IDEMPOTENCY_KEY_REUSED`
   */
  async say(
    personId: string,
    reason: string,
    key?: string,
  ): Promise<{ restoreId: string; replayed: boolean }> {
    return this.database.outsideEmployers(async (tx) => {
      const what = `An administrator says that the database was restored: ${reason}.`;
      await lockRestores(tx);
      const before = key === undefined ? undefined : await saidByKey(tx, personId, key);
      if (before !== undefined && before.reason !== reason) throw keyReused();
      if (before !== undefined) return { restoreId: before.restoreId, replayed: true };
      const said = (await untoldRestores(tx)).find((untold) => untold.what === what);
      if (said !== undefined) return { restoreId: said.id, replayed: true };
      const restoreId = await recordRestore(tx, what, 'unknown');
      await append(tx, {
        personId,
        action: 'service.restored',
        subject: 'service',
        detail: { reason, restoreId, key },
      });
      return { restoreId, replayed: false };
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
      this.shown.clear();
      return;
    }
    // From a list that another replica reads meanwhile, what is deleted would push some unseen.
    await this.database.exclusivelyIfFree('restores', async () => {
      for (const restore of await this.unpassed()) await this.reconcile(restore);
    });
  }

  private unpassed(): Promise<Unpassed[]> {
    return unpassedRestores(this.database, shownWithinMs(this.config), this.ages);
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

  /**
   * What it shows is kept also where it fails then.
   * @param before an earlier reading of this pass
   * @throws BankClientError
   */
  private async read(restore: Unpassed, before?: Reading): Promise<Reading> {
    const lasted = before?.lasted === true || this.hasLasted();
    const sweep = await this.sweepOf(restore, lasted, before?.sweep ?? (await this.knownOf(restore)));
    const owned = await this.owners.of(sweep.unknown);
    await this.owners.keepForgotten(restore.id, sweep, owned);
    sweep.unidentified.push(...owned.ownerless.map((one) => one.bankInstructionId));
    this.shown.set(restore.id, { ...sweep, unknown: withBefore(sweep.unknown, this.shown.get(restore.id)) });
    if (sweep.failure) throw sweep.failure;
    this.reportStrangers(restore, sweep);
    return { sweep, byEmployer: owned.byEmployer, lasted };
  }

  private async knownOf({ id, showsUnsubmitted }: Unpassed): Promise<Before> {
    const isShown = showsUnsubmitted || (await this.lists.showsUnsubmitted(SHOWS_FOR_DAYS));
    return { ...(this.shown.get(id) ?? NONE_SHOWN), showsUnsubmitted: isShown };
  }

  private async adoptAll(): Promise<void> {
    await eachOf(await this.withForgotten(), (employerId) => this.check.adoptWaiting(employerId));
  }

  /** Whoever asks to resume meanwhile is told what is in the way. */
  private async keepWhy(waitsFor: string): Promise<void> {
    const pending = await pendingRestores(this.database, shownWithinMs(this.config), this.ages);
    const waiting = new Set(pending.flatMap(({ employerIds }) => employerIds));
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

  private async sweepOf(restore: Unpassed, lasted: boolean, before: Before): Promise<Sweep> {
    const from = await sinceOf(this.database, restore, this.config.WATCH_DAYS);
    const sweep = await this.sweep.since(from, lasted, restore.employerIds, before);
    this.failingSinceMs = sweep.failure && (this.failingSinceMs ?? performance.now());
    return sweep;
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

/**
 * What a person said by an idempotency key within a day: who says it of a second restore by the key of the first one must be
 * heard. A database that was restored to before that has forgotten it: it is said anew.
 */
async function saidByKey(
  tx: Transaction,
  personId: string,
  key: string,
): Promise<{ restoreId: string; reason: string } | undefined> {
  const [said] = await tx.query<{ restoreId: string; reason: string }>(
    `SELECT detail ->> 'restoreId' AS "restoreId", detail ->> 'reason' AS reason FROM audit_entry
     WHERE chain_id = $1 AND action = 'service.restored' AND person_id = $2 AND detail ->> 'key' = $3
       AND at > clock_timestamp() - interval '1 day'
     ORDER BY seq DESC LIMIT 1`,
    [INSTALLATION_CHAIN, personId, key],
  );
  return said;
}

function withBefore(unknown: readonly Unknown[], before?: Before): Unknown[] {
  const shown = new Set(unknown.map(({ bankInstructionId }) => bankInstructionId));
  const others = before?.unknown.filter(({ bankInstructionId }) => !shown.has(bankInstructionId)) ?? [];
  return [...unknown, ...others];
}

/** Does the work for each, such as every employer, whatever happens to the one before it. @throws the first error */
async function eachOf<One>(all: readonly One[], work: (one: One) => Promise<void>): Promise<void> {
  const failed: unknown[] = [];
  for (const one of all) await work(one).catch((error: unknown) => failed.push(error));
  if (failed.length > 0) throw failed[0];
}

async function tellOne(tx: EmployerTransaction, restore: Restore): Promise<void> {
  const first = await tx.query(
    `INSERT INTO restore_check (employer_id, restore_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING restore_id`,
    [tx.employerId, restore.id],
  );
  if (first.length === 0) return;
  // First: who confirms one at this moment may hold what is locked below.
  const proposals = await withdrawProposals(tx);
  await stopEverything(tx, { kind: 'RESTORED', subjectId: restore.id });
  await raise(tx, { kind: 'RESTORED', subjectId: restore.id, happened: happenedAtFirst(restore.what) });
  await append(tx, {
    action: 'employer.restore-told',
    subject: showId('emp', tx.employerId),
    detail: { restoreId: restore.id, withdrawn: proposals.map((id) => showId('act', id)) },
  });
}

/** What was proposed before may have been taken back since: one person's word would carry it out. @returns the proposals */
async function withdrawProposals(tx: EmployerTransaction): Promise<string[]> {
  const withdrawn = await tx.query<{ id: string }>(
    `UPDATE attention_action SET withdrawn_at = clock_timestamp()
     WHERE employer_id = $1 AND confirmed_at IS NULL AND withdrawn_at IS NULL RETURNING id`,
    [tx.employerId],
  );
  return withdrawn.map(({ id }) => id);
}
