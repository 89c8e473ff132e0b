import { Inject, Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { append } from '../audit/audit';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { byDatabase } from '../database/clock-watch';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { Period, periodOf } from '../domain/business-day';
import { assertCanPay } from '../employer/account.store';
import { notFound, showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { resolveAccount } from '../pay-file/terms';
import { PaySchedule, SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { firstMissedCutOff, monthsAfter } from './period-dates';
import { OverduePeriods } from './overdue-periods';
import { PeriodMaker } from './period-maker';

/** A group of companies pays from some accounts in a few kinds of pay each; every tick reads all of them. */
const MAX_ACTIVE_SCHEDULES = 100;

/** No execution date is further ahead either: a later first month is a mistyped one, of which nobody would ever be told. */
const MAX_MONTHS_AHEAD = 12;

/** What an operator says of a new schedule. Ids are UUIDs; `dayOfMonth` null is the last banking day. */
export type NewSchedule = Pick<
  PaySchedule,
  | 'accountId'
  | 'kindOfPay'
  | 'dayOfMonth'
  | 'whenClosed'
  | 'submitDaysBefore'
  | 'submitTime'
  | 'timeZone'
  | 'firstPeriod'
>;

/** The pay schedules of the transaction's employer. */
@Injectable()
export class PaySchedules {
  constructor(
    private readonly periodMaker: PeriodMaker,
    private readonly overdue: OverduePeriods,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Creates a schedule and makes its first periods.
   * @throws Problem 422 `ACCOUNT_UNKNOWN`, `FIRST_PERIOD_TOO_FAR`, `SUBMIT_AT_TOO_LATE`, 409 `ACCOUNT_IS_CLOSED`,
   * `TOO_MANY_SCHEDULES`; breaks `one_active_schedule_per_kind_of_pay` when the account has one of this kind of pay.
   */
  async create(tx: EmployerTransaction, personId: string, terms: NewSchedule): Promise<PaySchedule> {
    const { employerId } = tx;
    // No month before it is ever made.
    const now = await byDatabase(tx, this.clock.now());
    await this.assertAcceptable(tx, terms, now);
    const id = newId(now.getTime());
    const schedule = { ...terms, employerId, id, active: true, createdBy: personId, createdAt: now };
    await tx.manager.insert(PaySchedule, schedule);
    await this.periodMaker.makePeriods(tx, now);
    const detail = { ...terms, accountId: showId('acc', terms.accountId) };
    await append(tx, { personId, action: 'pay-schedule.created', subject: showId('sch', id), detail });
    return schedule;
  }

  /** Schedules newest first, those older than `before`. */
  list({ manager, employerId }: EmployerTransaction, before: string | undefined, limit: number) {
    const where = { employerId, ...(before !== undefined && { id: LessThan(before) }) };
    return manager.find(PaySchedule, { where, order: { id: 'DESC' }, take: limit });
  }

  /** @throws Problem 404 `SCHEDULE_NOT_FOUND`. */
  async find(tx: EmployerTransaction, id: string): Promise<PaySchedule> {
    const schedule = await tx.manager.findOneBy(PaySchedule, { employerId: tx.employerId, id });
    if (schedule === null) throw notFound('sch');
    return schedule;
  }

  /** Periods of a schedule, the latest month first, those before `before`. */
  periods(
    { manager, employerId }: EmployerTransaction,
    scheduleId: string,
    before: Period | undefined,
    limit: number,
  ) {
    const where = { employerId, scheduleId, ...(before !== undefined && { period: LessThan(before) }) };
    return manager.find(SchedulePeriod, { where, order: { period: 'DESC' }, take: limit });
  }

  /** Ends a schedule for good: no more periods are made. May be repeated. @throws Problem 404 `SCHEDULE_NOT_FOUND`. */
  async deactivate(tx: EmployerTransaction, personId: string, id: string): Promise<PaySchedule> {
    const key = { employerId: tx.employerId, id };
    const ended = await tx.manager.update(PaySchedule, { ...key, active: true }, { active: false });
    const schedule = await this.find(tx, id);
    if (ended.affected === 1) {
      await this.overdue.tell(tx);
      await append(tx, {
        personId,
        action: 'pay-schedule.deactivated',
        subject: showId('sch', id),
        detail: {},
      });
    }
    return schedule;
  }

  private async assertAcceptable(tx: EmployerTransaction, terms: NewSchedule, now: Date): Promise<void> {
    const { employerId } = tx;
    assertCanPay(await resolveAccount(tx, terms.accountId));
    if ((await tx.manager.countBy(PaySchedule, { employerId, active: true })) >= MAX_ACTIVE_SCHEDULES) {
      const detail = `An employer has at most ${MAX_ACTIVE_SCHEDULES} active schedules.`;
      throw new Problem(409, 'TOO_MANY_SCHEDULES', detail);
    }
    const current = periodOf(now.toISOString().slice(0, 10));
    assertBegins(terms, current);
    this.assertSubmitsInTime(terms, current);
  }

  private assertSubmitsInTime(terms: NewSchedule, current: Period): void {
    const first = terms.firstPeriod > current ? terms.firstPeriod : current;
    const missed = firstMissedCutOff(terms, first, bankHours(this.config));
    if (missed === undefined) return;
    const detail =
      "A run of this schedule would be submitted after the bank's cut-off of its execution date.";
    throw new Problem(422, 'SUBMIT_AT_TOO_LATE', detail, {
      period: missed.period,
      submitAt: missed.submitAt.toISOString(),
      latest: missed.cutOff.toISOString(),
    });
  }
}

function assertBegins({ firstPeriod }: NewSchedule, current: Period): void {
  const latest = monthsAfter(current, MAX_MONTHS_AHEAD);
  if (firstPeriod <= latest) return;
  const detail = `The first period is more than ${MAX_MONTHS_AHEAD} months ahead; ${latest} will do.`;
  throw new Problem(422, 'FIRST_PERIOD_TOO_FAR', detail, { latest });
}
