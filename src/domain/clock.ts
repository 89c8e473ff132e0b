import { addDays, IsoDate } from './calendar';
import { DAY_MS } from './durations';
import { DomainError } from './errors';

const LOCAL_TIME = /^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/;

/** Whether the text is a time of day `HH:MM` from 00:00 to 23:59. */
export function isLocalTime(text: string): boolean {
  return LOCAL_TIME.test(text);
}

/** Whether the runtime knows the IANA time zone. */
export function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** The calendar date in a time zone. Throws `TIME_ZONE_UNKNOWN`. */
export function localDate(instant: Date, timeZone: string): IsoDate {
  return wallClock(instant, timeZone).slice(0, 10);
}

/** The time of day in a time zone, `HH:MM`, seconds cut. Throws `TIME_ZONE_UNKNOWN`. */
export function localTime(instant: Date, timeZone: string): string {
  return wallClock(instant, timeZone).slice(11, 16);
}

/**
 * The instant at which clocks of a time zone show the date and time `HH:MM`. Where the clock shows it twice (end of
 * summer time) the first; where it skips it (start of summer time) the instant as late after the change as the time
 * lies in the gap. Throws `DATE_INVALID`, `LOCAL_TIME_INVALID`, `TIME_ZONE_UNKNOWN`.
 */
export function instantOf(date: IsoDate, time: string, timeZone: string): Date {
  if (!isLocalTime(time)) throw new DomainError('LOCAL_TIME_INVALID', 'A time of day is written HH:MM.');
  const wallMs = Date.parse(`${addDays(date, 0)}T${time}:00Z`);
  // A day away on either side lie the offsets before and after any change of the clock.
  const before = wallMs - offsetMs(wallMs - DAY_MS, timeZone);
  const after = wallMs - offsetMs(wallMs + DAY_MS, timeZone);
  const shown = [before, after].filter((epochMs) => epochMs + offsetMs(epochMs, timeZone) === wallMs);
  return new Date(shown.length > 0 ? Math.min(...shown) : before);
}

function offsetMs(epochMs: number, timeZone: string): number {
  return Date.parse(`${wallClock(new Date(epochMs), timeZone)}Z`) - epochMs;
}

/** What clocks of a time zone show, `YYYY-MM-DDTHH:MM:SS`. */
function wallClock(instant: Date, timeZone: string): string {
  const parts = new Map(
    formatter(timeZone)
      .formatToParts(instant)
      .map((part) => [part.type, part.value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}`;
}

/** To make one takes a hundred times as long as to use it. */
const FORMATTERS = new Map<string, Intl.DateTimeFormat>();

function formatter(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATTERS.get(timeZone);
  if (known !== undefined) return known;
  if (!isTimeZone(timeZone)) {
    throw new DomainError('TIME_ZONE_UNKNOWN', 'This time zone is not known.', { timeZone });
  }
  const made = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  FORMATTERS.set(timeZone, made);
  return made;
}
