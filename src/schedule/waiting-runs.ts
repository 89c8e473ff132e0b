import { Inject, Injectable } from '@nestjs/common';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { ClockWatch } from '../database/clock-watch';
import { Database, EmployerTransaction } from '../database/database';
import { MINUTE_MS } from '../domain/durations';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { PAY_RUN_GOING_ON } from '../domain/pay-run';
import { LAST_CALL_MS, sendingCloses, sendingOpens } from '../domain/send-window';
import { showId } from '../http/prefixed-id';
import { approvedVersion, standingApprovals } from '../pay-run/approval';
import { Alarm, clearOthers, isDecided, MAY_HOLD, raise } from '../pay-run/attention.store';
import { AttentionKind, NOTHING_TO_ASK } from '../pay-run/attention-words';
import { PayRun } from '../pay-run/pay-run.entity';
import { findRun } from '../pay-run/pay-run.store';
import { sendOutlook } from '../pay-run/send-outlook';
import { unsentOf } from '../pay-run/unsent';
import { THIS_SERVICE } from '../submission/waits-for';
import { forEveryEmployer } from './every-employer';

const KIND = 'DUE_BUT_WAITING';

/** What has been due for so long waits for its place among what is worked on, and no more for what it failed in. */
const QUEUED = `interval '1 minute'`;

const LAST_CALL = 'is not submitted in full yet, though the time for that is nearly over';

const TOO_SLOW = 'gets to the bank too slowly';

const HOW_FAST =
  'How many requests a minute, and how many at once, may we send you? Until when, and what becomes of payments for this execution date that reach you after the cut-off?';

const IN_MID_RUN =
  'What of this run is not submitted yet waits, and is tried again by itself; what was submitted is followed, and is not sent again. What is not submitted by the cut-off becomes VOID and can be paid by a successor.';

/** A run that is not ended, amended or held back by a switch. */
interface Going {
  id: string;
  /**
   * Since when every step of something of it has failed, or the bank last took a payment of it, in what the last one
   * failed, and for how long that is by now, by the database's clock.
   */
  since: Date | null;
  waitsFor: string | null;
  waitsMs: number | null;
  /** When people were last told of that, and acknowledged it. */
  decidedAt: Date | null;
}

/** Until when a run can still be submitted, and by when that must begin. */
interface Deadline {
  now: Date;
  cutOff: Date;
  beginBy: Date;
  rowsAtBank: number;
}

/** Payments that the bank took of late, and since when. */
interface Progress {
  taken: number;
  ms: number;
}

/**
 * Due runs that do not get on: nothing of the bank can be reached, or not what they need of it, or nobody is asked any
 * more what they wait for. What the workers remember with their leases tells it, so that it does not matter which process
 * failed. Nothing is stopped.
 */
@Injectable()
export class WaitingRuns {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    private readonly watch: ClockWatch,
  ) {}

  /** Tells every employer, as `OverduePeriods.tick`. @throws Error after the last employer when any failed. */
  async tick(): Promise<void> {
    if (!(await this.watch.check())) return;
    await forEveryEmployer(this.database, 'all', (employerId) =>
      this.database.inEmployer(employerId, (tx) => this.tell(tx)),
    );
  }

  /** Tells people of each such run of the transaction's employer, and closes what gets on again. */
  async tell(tx: EmployerTransaction): Promise<void> {
    const waiting: string[] = [];
    for (const going of await runsGoingOn(tx)) if (await this.isTold(tx, going)) waiting.push(going.id);
    await clearOthers(tx, KIND, waiting, 'the run gets on again, or waits for something else');
  }

  /** Tells of one where that is due. @returns whether what is told of it stands */
  private async isTold(tx: EmployerTransaction, going: Going): Promise<boolean> {
    const run = await findRun(tx, going.id);
    const deadline = await this.deadlineOf(tx, run);
    // Too late by now: what is told stands until the run ends, which tells of that.
    if (deadline === undefined) return true;
    const { since, waitsMs, decidedAt } = going;
    const hasWaited = waitsMs !== null && isLong(waitsMs, this.config.BANK_PATIENCE_MS);
    const isDecidedOn = decidedAt !== null && since !== null && decidedAt >= since;
    if (hasWaited && !isDecidedOn && !(await isAskedAbout(tx, run, ['REBUILD_LIMIT']))) {
      const happened = `has not got on since ${since?.toISOString()}, and is tried again and again; it failed last in ${going.waitsFor}`;
      await raise(tx, await this.alarm(tx, run, deadline, { happened, waitsFor: going.waitsFor }));
      return true;
    }
    if (await this.isTooSlow(tx, run, deadline)) return true;
    const isLast = await this.isLastCall(tx, run, deadline, hasWaited);
    return isLast || waitsMs !== null;
  }

  /** Told as soon as it shows that what is left to be added is not added by then at the pace at which the bank takes it. */
  private async isTooSlow(tx: EmployerTransaction, run: PayRun, deadline: Deadline): Promise<boolean> {
    const left = run.rowCount - deadline.rowsAtBank;
    if (run.status !== 'BUILDING' || left <= 0) return false;
    const { BANK_PATIENCE_MS } = this.config;
    const { taken, ms } = await progressOf(tx, run, BANK_PATIENCE_MS);
    if (taken === 0 || ms < BANK_PATIENCE_MS / 2) return false;
    const beginBy = new Date(deadline.cutOff.getTime() - (left * ms) / taken);
    if (beginBy >= deadline.now || (await isAskedAbout(tx, run))) return false;
    const happened = `${TOO_SLOW}: it took ${taken} payments in the last ${inMinutes(ms)}, and ${left} are left`;
    const alarm = await this.alarm(tx, run, { ...deadline, beginBy }, { happened, waitsFor: null });
    const version = await approvedVersion(tx, run, showId('run', run.id));
    if (!(await isDecided(tx, alarm, [version, TOO_SLOW]))) await raise(tx, { ...alarm, askBank: HOW_FAST });
    return true;
  }

  /** Told before it is too late where a run stands still and nobody is asked about it: what was acknowledged may last. */
  private async isLastCall(
    tx: EmployerTransaction,
    run: PayRun,
    deadline: Deadline,
    hasWaited: boolean,
  ): Promise<boolean> {
    if (deadline.now.getTime() < deadline.beginBy.getTime() - LAST_CALL_MS) return false;
    if (!hasWaited && !(await this.standsStill(tx, run, deadline.now))) return false;
    if (await isAskedAbout(tx, run)) return false;
    const happened = `${LAST_CALL}: ${await acknowledgedOf(tx, run)}`;
    const alarm = await this.alarm(tx, run, deadline, { happened, waitsFor: null });
    const version = await approvedVersion(tx, run, showId('run', run.id));
    if (!(await isDecided(tx, alarm, [version, LAST_CALL]))) await raise(tx, alarm);
    return true;
  }

  private async standsStill(tx: EmployerTransaction, run: PayRun, now: Date): Promise<boolean> {
    const { BANK_PATIENCE_MS } = this.config;
    const approvals = await standingApprovals(tx, run);
    const approvedAt = approvals.at(-1)?.approvedAt ?? now;
    const opens = sendingOpens(run.submitAt, approvedAt, now, bankHours(this.config));
    if (now.getTime() - opens.getTime() < BANK_PATIENCE_MS) return false;
    const moved = await movedForMs(tx, run);
    return moved === undefined || isLong(moved, BANK_PATIENCE_MS);
  }

  /** Undefined where the cut-off has passed. */
  private async deadlineOf(tx: EmployerTransaction, run: PayRun): Promise<Deadline | undefined> {
    const hours = bankHours(this.config);
    const now = this.clock.now();
    const cutOff = sendingCloses(run.executionDate, hours);
    if (now >= cutOff) return undefined;
    const outlook = await sendOutlook(tx, run, this.config, now);
    const beginBy = new Date(cutOff.getTime() - (outlook?.ms ?? 0));
    return { now, cutOff, beginBy, rowsAtBank: outlook?.rowsAtBank ?? 0 };
  }

  private async alarm(
    tx: EmployerTransaction,
    run: PayRun,
    { now, cutOff, beginBy }: Deadline,
    { happened, waitsFor }: { happened: string; waitsFor: string | null },
  ): Promise<Alarm> {
    const version = await approvedVersion(tx, run, showId('run', run.id));
    const takesMs = cutOff.getTime() - beginBy.getTime();
    const takes = takesMs > 0 ? `, and what is left to be sent takes ${inMinutes(takesMs)}` : '';
    const isOurs = waitsFor === null || waitsFor.startsWith(THIS_SERVICE);
    return {
      kind: KIND,
      subjectId: run.id,
      payRunId: run.id,
      happened: `${version} is due for ${run.executionDate} and ${happened}. The bank takes it until ${cutOff.toISOString()}, ${inMinutes(cutOff.getTime() - now.getTime())} after this was told${takes}.`,
      ...(isOurs && { askBank: NOTHING_TO_ASK }),
      payments: run.rowCount,
      amountMinor: run.totalMinor,
      ...(run.status === 'SUBMITTING' && { certain: IN_MID_RUN, ...(await unsentOf(tx, run)) }),
    };
  }
}

/** Runs that are under way or may be, unless something ends them or a switch holds them back: both are told otherwise. */
function runsGoingOn(tx: EmployerTransaction): Promise<Going[]> {
  return tx.query<Going>(
    `SELECT r.id, wait.since, wait.what AS "waitsFor", wait.ms AS "waitsMs", (
         SELECT max(a.opened_at) FROM attention a
         JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL
         WHERE a.employer_id = $1 AND a.kind = $4 AND a.subject_id = r.id) AS "decidedAt"
     FROM pay_run r JOIN employer e ON e.id = r.employer_id CROSS JOIN service_switch s
     LEFT JOIN LATERAL (
       SELECT got.since, l.waits_for AS what, extract(epoch FROM clock_timestamp() - got.since)::float8 * 1000 AS ms
       FROM lease l CROSS JOIN LATERAL (SELECT greatest(l.waits_since, max(b.last_seen_at)) AS since
         FROM bank_payment b WHERE b.employer_id = $1 AND b.instruction_id = l.subject_id) got
       WHERE l.waits_since IS NOT NULL AND (l.leased_until IS NOT NULL OR l.wake_at > clock_timestamp() - ${QUEUED})
         AND l.subject_id = ANY (array_append(ARRAY(
           SELECT i.id FROM instruction i WHERE i.employer_id = $1 AND i.pay_run_id = r.id AND i.status = ANY ($3)), r.id))
       ORDER BY got.since LIMIT 1) wait ON true
     WHERE r.employer_id = $1 AND r.status = ANY ($2) AND r.lapse_reason IS NULL AND r.stopped_at IS NULL
       AND e.stopped_at IS NULL AND NOT s.submits_off AND database_is_known()
       AND NOT EXISTS (SELECT FROM amendment a
         WHERE a.employer_id = $1 AND a.pay_run_id = r.id AND a.applied_as_version IS NULL)
       AND (r.status <> 'SUBMITTING' OR EXISTS (SELECT FROM instruction i
         WHERE i.employer_id = $1 AND i.pay_run_id = r.id AND i.status = ANY ($3)))
     ORDER BY r.id`,
    [tx.employerId, PAY_RUN_GOING_ON, INSTRUCTION_UNSENT, KIND],
  );
}

/** Whether something lasts for so long, or since a time that is still to come, told by a clock that was put right since. */
function isLong(ms: number, atLeastMs: number): boolean {
  return ms < 0 || ms >= atLeastMs;
}

/** For how long neither a state of the run or its parts has moved, nor a payment was added; undefined where none ever did. */
async function movedForMs(tx: EmployerTransaction, run: PayRun): Promise<number | undefined> {
  const [row] = await tx.query<{ ms: number | null }>(
    `SELECT extract(epoch FROM clock_timestamp() - greatest(
       (SELECT max(at) FROM state_change WHERE employer_id = $1 AND pay_run_id = $2),
       (SELECT max(a.finished_at) FROM add_intent a WHERE a.employer_id = $1 AND a.instruction_id = ANY (ARRAY(
         SELECT id FROM instruction WHERE employer_id = $1 AND pay_run_id = $2)))))::float8 * 1000 AS ms`,
    [tx.employerId, run.id],
  );
  return row?.ms ?? undefined;
}

/** From the first payment that the bank took in these ms until now: what a stop or an outage took before it is no pace. */
async function progressOf(tx: EmployerTransaction, run: PayRun, withinMs: number): Promise<Progress> {
  const [row] = await tx.query<{ taken: number; ms: number | null }>(
    `SELECT count(*)::int AS taken, extract(epoch FROM clock_timestamp() - min(last_seen_at))::float8 * 1000 AS ms
     FROM bank_payment
     WHERE employer_id = $1 AND last_seen_at > clock_timestamp() - make_interval(secs => $3::float8 / 1000)
       AND instruction_id = ANY (ARRAY(SELECT id FROM instruction WHERE employer_id = $1 AND pay_run_id = $2))`,
    [tx.employerId, run.id, withinMs],
  );
  return { taken: row?.taken ?? 0, ms: row?.ms ?? 0 };
}

/** Whether people are asked, by some kinds or any, about what holds the run back. */
async function isAskedAbout(
  tx: EmployerTransaction,
  run: PayRun,
  kinds: readonly AttentionKind[] | null = null,
): Promise<boolean> {
  const open = await tx.query(
    `SELECT FROM attention a WHERE a.employer_id = $1 AND a.resolved_at IS NULL AND a.kind <> $2 AND ${MAY_HOLD}
       AND ($5::text[] IS NULL OR a.kind = ANY ($5)) AND (a.pay_run_id = $3 OR a.subject_id = ANY ($4)) LIMIT 1`,
    [tx.employerId, KIND, run.id, [run.id, tx.employerId], kinds],
  );
  return open.length > 0;
}

/** What people acknowledged last under the approvals that stand of what the run waits for. */
async function acknowledgedOf(tx: EmployerTransaction, run: PayRun): Promise<string> {
  const [last] = await tx.query<{ kind: string; happened: string }>(
    `SELECT a.kind, a.happened FROM attention a
     JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
     WHERE a.employer_id = $1 AND d.action = 'ACKNOWLEDGE' AND d.confirmed_at IS NOT NULL AND ${MAY_HOLD}
       AND (a.pay_run_id = $2 OR a.subject_id = $2) AND d.confirmed_at >= coalesce((SELECT max(approved_at)
         FROM approval WHERE employer_id = $1 AND pay_run_id = $2 AND voided_at IS NULL), '-infinity')
     ORDER BY d.confirmed_at DESC LIMIT 1`,
    [tx.employerId, run.id],
  );
  return last === undefined
    ? 'nothing says what it waits for'
    : `${last.kind} was acknowledged, and nothing is known to have ended it since (${last.happened})`;
}

/** As people say it: hours and minutes, a minute at least. */
function inMinutes(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS));
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes} min` : `${hours} h ${minutes % 60} min`;
}
