import { BankHours, earliestExecutionDate, instantOf, IsoDate, localDate } from './business-day';
import { HOUR_MS } from './durations';

/** So long before it would be too late, people hear once more of a run that waits, whatever they acknowledged. */
export const LAST_CALL_MS = HOUR_MS;

/**
 * When sending may begin: at `submitAt`, or else at the approval; after the cut-off or on a closed day, as the next banking
 * day begins. An approval that is dated ahead of `now`, by a clock that was put right since, was given by now.
 */
export function sendingOpens(submitAt: Date | null, approvedAt: Date, now: Date, hours: BankHours): Date {
  if (submitAt !== null) return submitAt;
  const from = approvedAt > now ? now : approvedAt;
  const day = earliestExecutionDate(from, hours);
  const sameDay = day === localDate(from, hours.timeZone);
  return sameDay ? from : instantOf(day, '00:00', hours.timeZone);
}

/** When the bank stops taking payments to be executed on the date. */
export function sendingCloses(executionDate: IsoDate, hours: BankHours): Date {
  return instantOf(executionDate, hours.cutOff, hours.timeZone);
}
