import { Inject, Injectable } from '@nestjs/common';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { ClockWatch } from '../database/clock-watch';
import { Database, EmployerTransaction } from '../database/database';
import { IsoDate, Period } from '../domain/business-day';
import { PAY_RUN_BEFORE_GATE, PayRunStatus } from '../domain/pay-run';
import { sendingCloses } from '../domain/send-window';
import { showId } from '../http/prefixed-id';
import { Alarm, clearOthers, monthOfSchedule, raiseNaming } from '../pay-run/attention.store';
import { MAY_BE_SUBMITTED, mayHaveForgotten } from '../pay-run/forgotten-pay';
import { PaySchedule, SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { forEveryEmployer } from './every-employer';
import { tellOfStoppedRuns } from './stopped-runs';

const KIND = 'PERIOD_OVERDUE';

/** The states in which a run waits for people before anything of it is sent. */
const WAITING: readonly PayRunStatus[] = ['DRAFT', 'READY'];

/** Whether the run `r` is not approved, or people amended it so long ago that the bank must be in the way. */
const UNAPPROVED = `(r.status = ANY ($3) OR r.status = ANY ($4) AND EXISTS (SELECT FROM amendment a
  WHERE a.employer_id = $1 AND a.pay_run_id = r.id AND a.applied_as_version IS NULL
    AND a.proposed_at <= $2::timestamptz - interval '10 minutes'))`;

/** What was due longer ago was told then: who begins to use the service is not asked about the past. */
const TOLD_WITHIN = `interval '31 days'`;

/** How long a run that is made, or amended, after it was due may wait for its approval before people are told. */
const TIME_TO_APPROVE = `interval '1 hour'`;

/** Whether people are asked already why an approval of the run `r` lapsed. */
const LAPSED = `EXISTS (SELECT FROM attention a WHERE a.employer_id = $1 AND a.kind = 'APPROVAL_LAPSED'
  AND a.subject_id = r.id AND a.resolved_at IS NULL)`;

/** Whether the run `o` is of the month `p` of a schedule `s`, made for whatever terms, and has paid it or is to. */
const PAYS_MONTH = `o.employer_id = $1 AND o.account_id = s.account_id AND o.kind_of_pay = s.kind_of_pay
  AND o.period = p.period AND o.status NOT IN ('CANCELLING', 'CANCELLED', 'FAILED')`;

/** Whether the month `p` of a schedule `s` has no run of its own, or one that paid nobody. */
const LACKS_RUN = `(p.pay_run_id IS NULL OR p.pay_run_id IN (SELECT b.id FROM pay_run b
  WHERE b.employer_id = $1 AND b.schedule_id IS NOT NULL AND b.status = 'FAILED'))`;

/** When the bank takes the run `r`, or what a month `p` would have as one, no more, whatever time it was planned for. */
const cutOffOf = (of: 'r' | 'p') => `((${of}.execution_date + $5::time) AT TIME ZONE $6)`;

/** When a month `p` without a run is due. */
const DUE = `least(${cutOffOf('p')}, p.submit_at)`;

const OF_ONE_RUN =
  'Nothing of this run is submitted. It closes by itself once the run is approved, amended to a later date or cancelled; the bank takes it until the cut-off of its execution date.';

const OF_A_RUN_IN_DOUBT =
  'The record has no submit of this run, but the database was restored, which may have forgotten one: RESTORED tells what the bank has shown. Where the bank has paid it, cancel it; otherwise it closes by itself once the run is approved, amended to a later date or cancelled.';

const OF_A_MONTH_IN_DOUBT =
  'The record has no submit of this month, but the database was restored, and the bank may have paid what it has forgotten: RESTORED tells what the bank has shown. Find out whom it has paid before a file is uploaded: its rows are held for that. Where it has paid all of the month, acknowledge this; otherwise it closes by itself once a run of this period, kind of pay and account is approved.';

const OF_A_CANCELLED_RUN =
  'Nothing more of this run is sent. Its cancellation waits for the bank; where that stays unclear ROW_UNSEEN asks. Upload the file again once it is CANCELLED: whoever is released before may be paid twice.';

const OF_A_FAILED_RUN =
  'Nobody of this month is paid by the run that is named: it FAILED. It closes by itself once another run of this period, kind of pay and account is there, as a successor of that run.';

const OF_A_RUN_BESIDE =
  'The schedule sends nothing of this month by itself. If the run that is named pays everybody, that is all. Otherwise upload the rest: it closes by itself once that is the run of the schedule, in which who is paid already is held.';

interface Overdue {
  period: Period;
  kind_of_pay: string;
  account_id: string;
  execution_date: IsoDate;
  /** Null where nobody said when: it is submitted on the day of its execution. */
  submit_at: Date | null;
  of_schedule: boolean;
  subject_id: string;
  pay_run_id: string | null;
  run_version: number;
  status: PayRunStatus | null;
  row_count: number;
  total_minor: string;
  /** When approvals of the run were last taken back. */
  taken_back: Date | null;
  /** The last run of the period that was cancelled, or paid nobody. */
  ended: string | null;
  ended_as: 'CANCELLED' | 'FAILED' | null;
  /** The largest run of the period that no schedule has, as one that was made before the month was, and its payments. */
  beside: string | null;
  beside_rows: number | null;
  /** Whether a restored database may have forgotten a submit of it. */
  in_doubt: boolean;
  to_tell: boolean;
}

/**
 * Periods of schedules, and runs of none, whose submit is due while nothing of them can be sent: there is no run, it is
 * not approved, or it is approved and held back by a switch.
 */
@Injectable()
export class OverduePeriods {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CONFIG)
    private readonly config: Pick<Config, 'BANK_CUT_OFF' | 'BANK_TIME_ZONE' | 'BANK_CLOSED_DAYS'>,
    private readonly watch: ClockWatch,
  ) {}

  /**
   * Tells every employer, unless this process's clock is not the database's: replicas that disagree on what is due would
   * ask people and take it back in turns. @throws Error after the last employer when any failed.
   */
  async tick(): Promise<void> {
    if (!(await this.watch.check())) return;
    await forEveryEmployer(this.database, 'all', (employerId) =>
      this.database.inEmployer(employerId, async (tx) => {
        await this.tell(tx);
        await tellOfStoppedRuns(tx, this.clock.now(), bankHours(this.config));
      }),
    );
  }

  /**
   * Tells people of each overdue period of the transaction's employer, once, and closes what is overdue no more. A
   * period without a run that was overdue when its schedule was made is nobody's omission, and of an approval that lapsed
   * they know. One of which only a run of no schedule is there may be paid by that in part. A run is due when its month is, or
   * at its `submitAt`; where it was made or amended later than that, when the day of its execution begins; and later still,
   * an hour after that; at the bank's cut-off in any case.
   */
  async tell(tx: EmployerTransaction): Promise<void> {
    const overdue = await this.read(tx);
    for (const one of overdue) if (one.to_tell) await raiseNaming(tx, alarmOf(one), wordsOf(one));
    const lasting = overdue.map((one) => one.subject_id);
    await clearOthers(tx, KIND, lasting, 'the period is not overdue any more');
  }

  /** Which of some periods of a schedule are overdue. */
  async among(
    tx: EmployerTransaction,
    schedule: PaySchedule,
    periods: readonly SchedulePeriod[],
  ): Promise<ReadonlySet<Period>> {
    if (!schedule.active) return new Set();
    const now = this.clock.now();
    const hours = bankHours(this.config);
    const bound = periods.flatMap(({ payRunId }) => payRunId ?? []);
    const waiting = await tx.query<{ period: Period }>(
      `SELECT p.period FROM schedule_period p JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
       WHERE p.employer_id = $1 AND p.schedule_id = $8 AND r.id = ANY ($7)
         AND least(${cutOffOf('r')}, coalesce(r.submit_at, p.submit_at)) <= $2
         AND (${UNAPPROVED} OR r.status = 'CANCELLING')`,
      [tx.employerId, now, WAITING, PAY_RUN_BEFORE_GATE, hours.cutOff, hours.timeZone, bound, schedule.id],
    );
    const due = periods.filter(
      ({ submitAt, executionDate }) => submitAt <= now || sendingCloses(executionDate, hours) <= now,
    );
    const unpaid = await tx.query<{ period: Period }>(
      `SELECT p.period FROM schedule_period p JOIN pay_schedule s ON s.employer_id = p.employer_id AND s.id = p.schedule_id
       WHERE p.employer_id = $1 AND p.schedule_id = $2 AND p.period = ANY ($3) AND ${LACKS_RUN}
         AND NOT EXISTS (SELECT FROM pay_run o WHERE ${PAYS_MONTH})`,
      [tx.employerId, schedule.id, due.map(({ period }) => period)],
    );
    return new Set([...unpaid, ...waiting].map(({ period }) => period));
  }

  private read(tx: EmployerTransaction): Promise<Overdue[]> {
    const { cutOff, timeZone } = bankHours(this.config);
    return tx.query<Overdue>(
      `SELECT p.period, s.kind_of_pay, s.account_id, p.execution_date::text AS execution_date, p.submit_at, ${DUE} AS due_at,
         true AS of_schedule, NULL::uuid AS pay_run_id, 0 AS run_version, NULL AS status, 0 AS row_count, 0 AS total_minor,
         NULL::timestamptz AS taken_back, ended.id AS ended, ended.status AS ended_as, paid.id AS beside,
         paid.row_count AS beside_rows, (${mayHaveForgotten('$1', 'p.period')}
           OR ended.status = 'CANCELLED' AND ended.known_restores < known_restores()) AS in_doubt,
         ${monthOfSchedule('p.schedule_id', 'p.period')} AS subject_id,
         ${DUE} > s.created_at AND ${DUE} > $2::timestamptz - ${TOLD_WITHIN} AS to_tell
       FROM schedule_period p
       JOIN pay_schedule s ON s.employer_id = p.employer_id AND s.id = p.schedule_id AND s.active
       LEFT JOIN LATERAL (SELECT o.id, o.row_count, bool_or(o.schedule_id IS NOT NULL) OVER () AS of_schedule FROM pay_run o
         WHERE ${PAYS_MONTH} ORDER BY o.row_count DESC, o.id LIMIT 1) paid ON true
       LEFT JOIN LATERAL (SELECT o.id, o.status, o.known_restores FROM pay_run o
         WHERE o.employer_id = $1 AND o.period = p.period AND (o.schedule_id = p.schedule_id AND o.status = 'CANCELLED'
           OR o.account_id = s.account_id AND o.kind_of_pay = s.kind_of_pay AND o.status = 'FAILED')
         ORDER BY o.id DESC LIMIT 1) ended ON true
       WHERE p.employer_id = $1 AND ${LACKS_RUN} AND ${DUE} <= $2 AND paid.of_schedule IS NOT TRUE
       UNION ALL
       SELECT r.period, r.kind_of_pay, r.account_id, r.execution_date::text, opens.planned, due.at,
         month.submit_at IS NOT NULL, r.id, r.run_version, r.status, r.row_count, r.total_minor,
         (SELECT max(a.voided_at) FROM approval a WHERE a.employer_id = r.employer_id AND a.pay_run_id = r.id
           AND a.run_version = r.run_version HAVING bool_and(a.voided_at IS NOT NULL)), NULL, NULL, NULL, NULL, ${MAY_BE_SUBMITTED}, r.id,
         due.at > $2::timestamptz - ${TOLD_WITHIN} AND NOT ${LAPSED}
       FROM pay_run r
       LEFT JOIN LATERAL (SELECT p.submit_at FROM schedule_period p
         JOIN pay_schedule s ON s.employer_id = p.employer_id AND s.id = p.schedule_id AND s.active
         WHERE p.employer_id = $1 AND p.pay_run_id = r.id LIMIT 1) month ON true
       CROSS JOIN LATERAL (SELECT coalesce(max(v.created_at), r.created_at) AS made FROM pay_run_version v
         WHERE v.employer_id = $1 AND v.pay_run_id = r.id) version
       CROSS JOIN LATERAL (SELECT coalesce(r.submit_at, month.submit_at) AS planned,
         r.execution_date::timestamp AT TIME ZONE $6 AS day,
         ${cutOffOf('r')} AS cut_off) opens
       CROSS JOIN LATERAL (SELECT CASE WHEN opens.planned > version.made THEN least(opens.cut_off, opens.planned)
         WHEN opens.day > version.made THEN opens.day
         ELSE least(opens.cut_off, version.made + ${TIME_TO_APPROVE}) END AS at) due
       WHERE r.employer_id = $1 AND due.at <= $2
         AND (${UNAPPROVED} OR r.status = 'CANCELLING' AND month.submit_at IS NOT NULL)
       ORDER BY due_at, subject_id`,
      [tx.employerId, this.clock.now(), WAITING, PAY_RUN_BEFORE_GATE, cutOff, timeZone],
    );
  }
}

const MISSING = {
  none: 'there is none',
  unapproved: 'is not approved',
  cancelling: 'is being cancelled, which ends once the bank has shown what became of it',
};

/** That there was one, or is one beside it, says that what people decided of its lack was of another. */
function noneOf({ ended, ended_as: as, beside, beside_rows: rows }: Overdue): string {
  if (beside !== null)
    return `${showId('run', beside)} of ${rows} payments is of this month; no run of its schedule is there`;
  if (ended === null) return MISSING.none;
  return `${MISSING.none}: ${showId('run', ended)} ${as === 'FAILED' ? 'paid nobody' : 'was cancelled'}`;
}

const RESTORED = '; the database was restored since, and may have forgotten that it was submitted';

/** What is asked anew where what is open does not say it. */
function wordsOf(overdue: Overdue): string[] {
  if (overdue.status === 'CANCELLING') return [MISSING.cancelling];
  const names = overdue.beside !== null || overdue.ended_as === 'FAILED';
  const restored = isInDoubt(overdue) ? [RESTORED] : [];
  return overdue.pay_run_id === null && names ? [noneOf(overdue), ...restored] : restored;
}

/** Where a run beside it or a cancellation is told of, that says what is to be done. */
function isInDoubt({ in_doubt: inDoubt, status, beside }: Overdue): boolean {
  return inDoubt && status !== 'CANCELLING' && beside === null;
}

function certainOf(overdue: Overdue): string | undefined {
  const { of_schedule: ofSchedule, status, beside, ended_as: as } = overdue;
  if (isInDoubt(overdue)) return status === null ? OF_A_MONTH_IN_DOUBT : OF_A_RUN_IN_DOUBT;
  if (!ofSchedule) return OF_ONE_RUN;
  if (status !== null) return status === 'CANCELLING' ? OF_A_CANCELLED_RUN : undefined;
  if (beside !== null) return OF_A_RUN_BESIDE;
  return as === 'FAILED' ? OF_A_FAILED_RUN : undefined;
}

function whyOf({ status, run_version: version, taken_back: at }: Overdue, run: string): string {
  if (status === 'CANCELLING') return `${run} ${MISSING.cancelling}`;
  const since = at === null ? '' : `: its approvals were taken back at ${at.toISOString()}`;
  return `version ${version} of ${run} ${MISSING.unapproved}${since}`;
}

/** It names the date and the version: what was decided of another is asked anew. */
function alarmOf(overdue: Overdue): Alarm {
  const { pay_run_id: payRunId, submit_at: submitAt, execution_date: executionDate } = overdue;
  const run = `The ${overdue.kind_of_pay} run of period ${overdue.period} from account ${showId('acc', overdue.account_id)}`;
  const planned = submitAt === null ? 'is' : `was to be submitted at ${submitAt.toISOString()},`;
  const due = `${run} ${planned} to be executed on ${executionDate}`;
  const missing = payRunId === null ? noneOf(overdue) : whyOf(overdue, showId('run', payRunId));
  return {
    kind: KIND,
    subjectId: overdue.subject_id,
    payRunId: payRunId ?? undefined,
    happened: `${due}, and ${missing}${isInDoubt(overdue) ? RESTORED : ''}.`,
    certain: certainOf(overdue),
    payments: overdue.row_count,
    amountMinor: BigInt(overdue.total_minor),
  };
}
