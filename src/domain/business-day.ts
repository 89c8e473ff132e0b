import { addDays, IsoDate, lastDayOf, parsePeriod, Period, weekday } from './calendar';
import { isLocalTime, localDate, localTime } from './clock';
import { DomainError } from './errors';

export {
  isIsoDate,
  addDays,
  daysBetween,
  weekday,
  isPeriod,
  parsePeriod,
  nextPeriod,
  periodOf,
} from './calendar';
export type { IsoDate, Period } from './calendar';
export { isLocalTime, isTimeZone, localDate, localTime, instantOf } from './clock';

/** Days the bank is closed beside the TARGET closing days. */
export type ClosedDays = ReadonlySet<IsoDate>;

const NO_CLOSED_DAYS: ClosedDays = new Set();
const SATURDAY = 6;
// TARGET never closes for more than five days in a row; a year without a banking day is a broken list of closed days.
const MAX_SEARCH_DAYS = 366;
// Four years of banking days: further ahead the closing days are not known.
const MAX_BANKING_DAYS = 1_000;

/** Easter Sunday of a year by the anonymous Gregorian computus. */
export function easterSunday(year: number): IsoDate {
  const a = year % 19;
  const b = Math.floor(year / 100);
  const c = year % 100;
  const d = Math.floor(b / 4);
  const e = b % 4;
  const g = Math.floor((8 * b + 13) / 25);
  const h = (19 * a + b - d - g + 15) % 30;
  const i = Math.floor(c / 4);
  const k = c % 4;
  const l = (32 + 2 * e + 2 * i - h - k) % 7;
  const m = Math.floor((a + 11 * h + 22 * l) / 451);
  const daysAfterMarch21 = h + l - 7 * m + 1;
  return addDays(`${year}-03-21`, daysAfterMarch21);
}

/** Whether TARGET is closed: weekends, 1 January, Good Friday, Easter Monday, 1 May, 25 and 26 December. */
export function isTargetClosed(date: IsoDate): boolean {
  if (weekday(date) >= SATURDAY) return true;
  if (['01-01', '05-01', '12-25', '12-26'].includes(date.slice(5))) return true;
  const easter = easterSunday(Number.parseInt(date.slice(0, 4), 10));
  return date === addDays(easter, -2) || date === addDays(easter, 1);
}

/** Whether the bank executes payments on the date. Throws `DATE_INVALID`. */
export function isBankingDay(date: IsoDate, closedDays: ClosedDays = NO_CLOSED_DAYS): boolean {
  return !isTargetClosed(date) && !closedDays.has(date);
}

/** The first banking day after the date. Throws `NO_BANKING_DAY` when there is none within a year. */
export function nextBankingDay(date: IsoDate, closedDays: ClosedDays = NO_CLOSED_DAYS): IsoDate {
  return search(addDays(date, 1), 1, closedDays);
}

/** The last banking day before the date. Throws `NO_BANKING_DAY` when there is none within a year. */
export function previousBankingDay(date: IsoDate, closedDays: ClosedDays = NO_CLOSED_DAYS): IsoDate {
  return search(addDays(date, -1), -1, closedDays);
}

/** The date itself when it is a banking day, else the nearest one in the direction given. */
function adjustToBankingDay(
  date: IsoDate,
  adjust: 'PREVIOUS' | 'NEXT',
  closedDays: ClosedDays = NO_CLOSED_DAYS,
): IsoDate {
  return search(date, adjust === 'NEXT' ? 1 : -1, closedDays);
}

function search(from: IsoDate, step: 1 | -1, closedDays: ClosedDays): IsoDate {
  for (let days = 0; days < MAX_SEARCH_DAYS; days += 1) {
    const date = addDays(from, days * step);
    if (isBankingDay(date, closedDays)) return date;
  }
  throw new DomainError('NO_BANKING_DAY', 'There is no banking day within a year.', { from });
}

/**
 * The banking day `count` banking days after the date, before it when negative; the date itself, whatever day it is,
 * when zero. At most 1,000 either way, else `BANKING_DAYS_OUT_OF_RANGE`.
 */
export function addBankingDays(
  date: IsoDate,
  count: number,
  closedDays: ClosedDays = NO_CLOSED_DAYS,
): IsoDate {
  if (!Number.isInteger(count) || Math.abs(count) > MAX_BANKING_DAYS) {
    throw new DomainError('BANKING_DAYS_OUT_OF_RANGE', 'Banking days are counted up to 1,000.', { count });
  }
  const step = count < 0 ? previousBankingDay : nextBankingDay;
  let result = addDays(date, 0);
  for (let left = Math.abs(count); left > 0; left -= 1) result = step(result, closedDays);
  return result;
}

/** Days after the execution date on which every payment should be final. */
const PATIENCE_BANKING_DAYS = 2;

/** Whether the payments of an execution date should all be final on a later date. */
export function isOverdue(executionDate: IsoDate, on: IsoDate, closedDays: ClosedDays): boolean {
  return on > addBankingDays(executionDate, PATIENCE_BANKING_DAYS, closedDays);
}

/** The last banking day of a month. Throws `PERIOD_INVALID`. */
export function lastBankingDayOfMonth(period: Period, closedDays: ClosedDays = NO_CLOSED_DAYS): IsoDate {
  return adjustToBankingDay(lastDayOf(period), 'PREVIOUS', closedDays);
}

/** A day of the month from 1 to 31, or the month's last banking day. */
export type PayDay = number | 'LAST_BANKING_DAY';

/**
 * The pay date of a month. A day the month does not have is its last day; a day that is no banking day is moved in the
 * direction of `adjust`, over the month's border if need be. Throws `PERIOD_INVALID`, `PAY_DAY_INVALID`.
 */
export function monthlyDate(
  period: Period,
  payDay: PayDay,
  adjust: 'PREVIOUS' | 'NEXT',
  closedDays: ClosedDays = NO_CLOSED_DAYS,
): IsoDate {
  parsePeriod(period);
  if (payDay === 'LAST_BANKING_DAY') return lastBankingDayOfMonth(period, closedDays);
  if (!Number.isInteger(payDay) || payDay < 1 || payDay > 31) {
    throw new DomainError('PAY_DAY_INVALID', 'A pay day is a day from 1 to 31.', { payDay });
  }
  const lastDay = lastDayOf(period);
  const asked = `${period}-${payDay.toString().padStart(2, '0')}`;
  return adjustToBankingDay(asked < lastDay ? asked : lastDay, adjust, closedDays);
}

/** When the bank stops taking payments for the same day: `HH:MM` in its time zone, and the days it is closed. */
export interface BankHours {
  cutOff: string;
  timeZone: string;
  closedDays?: ClosedDays;
}

/**
 * The first date the bank still executes a payment submitted now: today only before the cut-off of a banking day.
 * Throws `LOCAL_TIME_INVALID`, `TIME_ZONE_UNKNOWN`.
 */
export function earliestExecutionDate(now: Date, hours: BankHours): IsoDate {
  if (!isLocalTime(hours.cutOff)) {
    throw new DomainError('LOCAL_TIME_INVALID', 'A time of day is written HH:MM.', { cutOff: hours.cutOff });
  }
  const today = localDate(now, hours.timeZone);
  const inTime = localTime(now, hours.timeZone) < hours.cutOff;
  return inTime && isBankingDay(today, hours.closedDays) ? today : nextBankingDay(today, hours.closedDays);
}
