import { BankHours, earliestExecutionDate, instantOf, IsoDate, localDate } from './business-day';

/** When sending may begin: at `submitAt`, or else on the earliest banking day allowed after the approval. */
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
