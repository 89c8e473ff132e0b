import { BankHours, earliestExecutionDate, instantOf, IsoDate, localDate } from './business-day';
import { HOUR_MS } from './durations';

/** So long before it would be too late, people hear once more of a run that waits, whatever they acknowledged. */
export const LAST_CALL_MS = HOUR_MS;

/**
 * When sending may begin: at `submitAt`, or else at the approval; after the cut-off or on a closed day, as the next banking
 * day begins.
 */
export function sendingOpens(submitAt: Date | null, approvedAt: Date, hours: BankHours): Date {
  if (submitAt !== null) return submitAt;
  const day = earliestExecutionDate(approvedAt, hours);
  const sameDay = day === localDate(approvedAt, hours.timeZone);
  return sameDay ? approvedAt : instantOf(day, '00:00', hours.timeZone);
}

/** When the bank stops taking payments to be executed on the date. */
export function sendingCloses(executionDate: IsoDate, hours: BankHours): Date {
  return instantOf(executionDate, hours.cutOff, hours.timeZone);
}
