import {
  addBankingDays,
  addDays,
  BankHours,
  ClosedDays,
  instantOf,
  IsoDate,
  localDate,
  monthlyDate,
  nextPeriod,
  Period,
  periodOf,
} from '../domain/business-day';
import { PaySchedule } from '../pay-run/pay-schedule.entity';

/** Months made ahead of the current one: payroll is prepared for the next, and reads its dates for the one after. */
const MONTHS_AHEAD = 2;
/** A standstill of two years is caught up with at once; a clock that is wrong by more makes no flood of rows. */
const MAX_PERIODS_AT_ONCE = 24;
/** A year meets every change of the clocks and every weekday of a month's start that matters to a time of day. */
const MONTHS_CHECKED = 12;

/** What of a schedule decides on the dates of a month. */
export type ScheduleTerms = Pick<
  PaySchedule,
  'dayOfMonth' | 'whenClosed' | 'submitDaysBefore' | 'submitTime' | 'timeZone'
>;

/** The dates of one month of a schedule. */
export interface PeriodDates {
  readonly period: Period;
  /** A banking day; in a neighbouring month where a closed day moves it over the border. */
  readonly executionDate: IsoDate;
  readonly submitAt: Date;
}

/** When the payroll of a month is executed, and when it is submitted for that. Throws `PERIOD_INVALID`. */
export function datesOf(schedule: ScheduleTerms, period: Period, closedDays?: ClosedDays): PeriodDates {
  const payDay = schedule.dayOfMonth ?? 'LAST_BANKING_DAY';
  const executionDate = monthlyDate(period, payDay, schedule.whenClosed, closedDays);
  const submitDay = addBankingDays(executionDate, -schedule.submitDaysBefore, closedDays);
  return { period, executionDate, submitAt: instantOf(submitDay, schedule.submitTime, schedule.timeZone) };
}

/**
 * The months of a schedule that are due and not `made`, oldest first: from its first period to two months ahead of the
 * current one in its zone, without those whose execution date was past at the bank when the schedule was created. At
 * most 24; what is left is due the next time.
 */
export function missingPeriods(
  schedule: ScheduleTerms & Pick<PaySchedule, 'firstPeriod' | 'createdAt'>,
  made: ReadonlySet<Period>,
  now: Date,
  bank: Pick<BankHours, 'timeZone' | 'closedDays'>,
): PeriodDates[] {
  const createdOn = localDate(schedule.createdAt, bank.timeZone);
  const horizon = monthsAfter(periodOf(localDate(now, schedule.timeZone)), MONTHS_AHEAD);
  const missing: PeriodDates[] = [];
  let period = later(schedule.firstPeriod, monthBefore(createdOn));
  for (; period <= horizon && missing.length < MAX_PERIODS_AT_ONCE; period = nextPeriod(period)) {
    if (made.has(period)) continue;
    const dates = datesOf(schedule, period, bank.closedDays);
    if (dates.executionDate >= createdOn) missing.push(dates);
  }
  return missing;
}

/** A month as it was made: its dates then, and the run bound to it. */
export interface MadePeriod extends PeriodDates {
  readonly payRunId: string | null;
}

/**
 * The months that were made with other dates than they have now, as when a closed day of the bank was learnt since,
 * with those of now. A month keeps its dates once it has a run or its execution date is past at the bank.
 */
export function movedPeriods(
  schedule: ScheduleTerms,
  made: readonly MadePeriod[],
  now: Date,
  bank: Pick<BankHours, 'timeZone' | 'closedDays'>,
): PeriodDates[] {
  const today = localDate(now, bank.timeZone);
  return made
    .filter(({ payRunId, executionDate }) => payRunId === null && executionDate >= today)
    .map((before) => ({ before, dates: datesOf(schedule, before.period, bank.closedDays) }))
    .filter(({ before, dates }) => !sameDates(before, dates))
    .map(({ dates }) => dates);
}

function sameDates(one: PeriodDates, other: PeriodDates): boolean {
  return one.executionDate === other.executionDate && one.submitAt.getTime() === other.submitAt.getTime();
}

/** The first of the twelve months from `first` whose run would reach the bank after its cut-off, if there is one. */
export function firstMissedCutOff(
  schedule: ScheduleTerms,
  first: Period,
  bank: BankHours,
): (PeriodDates & { cutOff: Date }) | undefined {
  let period = first;
  for (let month = 0; month < MONTHS_CHECKED; month += 1, period = nextPeriod(period)) {
    const dates = datesOf(schedule, period, bank.closedDays);
    const cutOff = instantOf(dates.executionDate, bank.cutOff, bank.timeZone);
    if (dates.submitAt >= cutOff) return { ...dates, cutOff };
  }
  return undefined;
}

/** A pay date at the end of a month can be moved into the month after, so the month before may still be to come. */
function monthBefore(date: IsoDate): Period {
  return periodOf(addDays(`${periodOf(date)}-01`, -1));
}

/** The month so many months later. Throws `PERIOD_INVALID`. */
export function monthsAfter(period: Period, months: number): Period {
  let result = period;
  for (let left = months; left > 0; left -= 1) result = nextPeriod(result);
  return result;
}

function later(one: Period, other: Period): Period {
  return one > other ? one : other;
}
