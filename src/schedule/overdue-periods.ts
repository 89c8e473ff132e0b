import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock';
import { Database, EmployerTransaction } from '../database/database';
import { Period } from '../domain/business-day';
import { PayRunStatus } from '../domain/pay-run';
import { showId } from '../http/prefixed-id';
import { Alarm, clear, raiseUndecided } from '../pay-run/attention.store';
import { PaySchedule, SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { forEveryEmployer } from './every-employer';

const KIND = 'PERIOD_OVERDUE';

/** The states in which a run waits for people before anything of it is sent. */
const UNAPPROVED: readonly PayRunStatus[] = ['DRAFT', 'READY'];

/** What was due longer ago was told then: who begins to use the service is not asked about the past. */
const TOLD_WITHIN = `interval '31 days'`;

interface Overdue {
  period: Period;
  submit_at: Date;
  subject_id: string;
  pay_run_id: string | null;
  row_count: number;
  total_minor: string;
  to_tell: boolean;
}

/** Periods whose submit is due while nothing of them can be sent: there is no run, or it is not approved. */
@Injectable()
export class OverduePeriods {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Tells every employer. @throws Error after the last employer when any failed. */
  async tick(): Promise<void> {
    await forEveryEmployer(this.database, 'with an active schedule', (employerId) =>
      this.database.inEmployer(employerId, (tx) => this.tell(tx)),
    );
  }

  /**
   * Tells people of each overdue period of the transaction's employer, once, and closes what is overdue no more. A
   * period that was overdue when its schedule was made is nobody's omission, and of an approval that lapsed they know.
   */
  async tell(tx: EmployerTransaction): Promise<void> {
    const overdue = await this.read(tx);
    for (const one of overdue) if (one.to_tell) await raiseUndecided(tx, alarmOf(one));
    const lasting = new Set(overdue.map((one) => one.subject_id));
    const told = await tx.query<{ subject_id: string }>(
      'SELECT subject_id FROM attention WHERE employer_id = $1 AND kind = $2 AND resolved_at IS NULL',
      [tx.employerId, KIND],
    );
    const over = told.map((one) => one.subject_id).filter((subject) => !lasting.has(subject));
    if (over.length > 0) await clear(tx, [KIND], over, 'the period is not overdue any more');
  }

  /** Which of some periods of a schedule are overdue. */
  async among(
    tx: EmployerTransaction,
    schedule: PaySchedule,
    periods: readonly SchedulePeriod[],
  ): Promise<ReadonlySet<Period>> {
    const due = schedule.active ? periods.filter(({ submitAt }) => submitAt <= this.clock.now()) : [];
    const bound = due.flatMap(({ payRunId }) => payRunId ?? []);
    const rows = await tx.query<{ id: string }>(
      'SELECT id FROM pay_run WHERE employer_id = $1 AND id = ANY ($2) AND status = ANY ($3)',
      [tx.employerId, bound, UNAPPROVED],
    );
    const unapproved = new Set(rows.map(({ id }) => id));
    const overdue = due.filter(({ payRunId }) => payRunId === null || unapproved.has(payRunId));
    return new Set(overdue.map(({ period }) => period));
  }

  private read(tx: EmployerTransaction): Promise<Overdue[]> {
    return tx.query<Overdue>(
      `SELECT p.period, p.submit_at, r.id AS pay_run_id, coalesce(r.row_count, 0) AS row_count,
         coalesce(r.total_minor, 0) AS total_minor,
         coalesce(r.id, md5(p.schedule_id::text || p.period)::uuid) AS subject_id,
         p.submit_at > s.created_at AND p.submit_at > $2::timestamptz - ${TOLD_WITHIN}
           AND NOT EXISTS (SELECT FROM attention a WHERE a.employer_id = p.employer_id AND a.kind = 'APPROVAL_LAPSED'
             AND a.subject_id = r.id AND a.resolved_at IS NULL) AS to_tell
       FROM schedule_period p
       JOIN pay_schedule s ON s.employer_id = p.employer_id AND s.id = p.schedule_id AND s.active
       LEFT JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
       WHERE p.employer_id = $1 AND p.submit_at <= $2 AND (r.id IS NULL OR r.status = ANY ($3))
       ORDER BY p.submit_at, p.schedule_id`,
      [tx.employerId, this.clock.now(), UNAPPROVED],
    );
  }
}

function alarmOf(overdue: Overdue): Alarm {
  const { period, pay_run_id: payRunId } = overdue;
  const due = `The run of period ${period} was to be submitted at ${overdue.submit_at.toISOString()}`;
  const missing = payRunId === null ? 'there is none' : `${showId('run', payRunId)} is not approved`;
  return {
    kind: KIND,
    subjectId: overdue.subject_id,
    payRunId: payRunId ?? undefined,
    happened: `${due}, and ${missing}.`,
    payments: overdue.row_count,
    amountMinor: BigInt(overdue.total_minor),
  };
}
