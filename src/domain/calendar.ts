import { DAY_MS } from './durations';
import { DomainError } from './errors';

/** A calendar date without a time, `YYYY-MM-DD`. */
export type IsoDate = string;

/** A month, `YYYY-MM`. */
export type Period = string;

// Two centuries hold every date of a payroll; outside them a year is a typing mistake.
const FIRST_YEAR = 1970;
const LAST_YEAR = 2169;

/** Whether the text is a date that exists: `2026-02-29` is not. */
export function isIsoDate(text: string): boolean {
  return dayNumberOf(text) !== undefined;
}

/** The date `days` later, or earlier when negative. Throws `DATE_INVALID` for a date that does not exist. */
export function addDays(date: IsoDate, days: number): IsoDate {
  return isoDate((dayNumber(date) + days) * DAY_MS);
}

/** Days from one date to another, negative when `to` is earlier. */
export function daysBetween(from: IsoDate, to: IsoDate): number {
  return dayNumber(to) - dayNumber(from);
}

/** 1 for Monday to 7 for Sunday. */
export function weekday(date: IsoDate): number {
  // Day 0, 1970-01-01, was a Thursday.
  return ((dayNumber(date) + 3) % 7) + 1;
}

/** Whether the text is a month `YYYY-MM`. */
export function isPeriod(text: string): boolean {
  return /^[0-9]{4}-[0-9]{2}$/.test(text) && isIsoDate(`${text}-01`);
}

/** Year and month (1 to 12) of a period. Throws `PERIOD_INVALID`. */
export function parsePeriod(text: string): { year: number; month: number } {
  if (!isPeriod(text)) throw new DomainError('PERIOD_INVALID', 'A period is a month written YYYY-MM.');
  return { year: Number.parseInt(text.slice(0, 4), 10), month: Number.parseInt(text.slice(5), 10) };
}

/** The month after. Throws `PERIOD_INVALID`. */
export function nextPeriod(period: Period): Period {
  const { year, month } = parsePeriod(period);
  return month === 12 ? `${pad(year + 1, 4)}-01` : `${pad(year, 4)}-${pad(month + 1, 2)}`;
}

/** Months from one to another, negative when `to` is earlier. Throws `PERIOD_INVALID`. */
export function monthsBetween(from: Period, to: Period): number {
  const [earlier, later] = [parsePeriod(from), parsePeriod(to)];
  return (later.year - earlier.year) * 12 + later.month - earlier.month;
}

/** The month a date lies in. */
export function periodOf(date: IsoDate): Period {
  return isoDate(dayNumber(date) * DAY_MS).slice(0, 7);
}

/** The last calendar day of a month. Throws `PERIOD_INVALID`. */
export function lastDayOf(period: Period): IsoDate {
  const { year, month } = parsePeriod(period);
  return isoDate(Date.UTC(year, month, 0));
}

function dayNumberOf(text: string): number | undefined {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (!match) return undefined;
  const [year = 0, month = 0, day = 0] = match.slice(1).map((part) => Number.parseInt(part, 10));
  if (year < FIRST_YEAR || year > LAST_YEAR) return undefined;
  const epochMs = Date.UTC(year, month - 1, day);
  return isoDate(epochMs) === text ? epochMs / DAY_MS : undefined;
}

function dayNumber(date: IsoDate): number {
  const number = dayNumberOf(date);
  if (number === undefined) throw new DomainError('DATE_INVALID', 'This date does not exist.', { date });
  return number;
}

function isoDate(epochMs: number): IsoDate {
  return new Date(epochMs).toISOString().slice(0, 10);
}

function pad(value: number, width: number): string {
  return value.toString().padStart(width, '0');
}
