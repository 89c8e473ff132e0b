import { BankHours, earliestExecutionDate, instantOf, localDate } from '../domain/business-day';
import type { Config } from '../config/env';

/** Whether a run may be sent now: not yet (and for how long), or open, or too late for its execution date. */
export type Window = { kind: 'early'; ms: number } | { kind: 'open' } | { kind: 'late' };

/** The bank's hours from the configuration. */
export function bankHours(config: Config): BankHours {
  return {
    cutOff: config.BANK_CUT_OFF,
    timeZone: config.BANK_TIME_ZONE,
    closedDays: new Set(config.BANK_CLOSED_DAYS),
  };
}

/**
 * The window of a run: from its `submitAt`, or else the earliest banking day allowed after the approval, to the
 * bank's cut-off on the execution date less the time the sending is expected to take.
 */
export function submitWindow(
  run: { executionDate: string; submitAt: Date | null },
  approvedAt: Date,
  now: Date,
  hours: BankHours,
  expectedMs: number,
): Window {
  const closes = instantOf(run.executionDate, hours.cutOff, hours.timeZone).getTime() - expectedMs;
  if (now.getTime() >= closes) return { kind: 'late' };
  const opens = run.submitAt ?? earliestSubmit(approvedAt, hours);
  const ms = opens.getTime() - now.getTime();
  return ms > 0 ? { kind: 'early', ms } : { kind: 'open' };
}

function earliestSubmit(approvedAt: Date, hours: BankHours): Date {
  const day = earliestExecutionDate(approvedAt, hours);
  const sameDay = day === localDate(approvedAt, hours.timeZone);
  return sameDay ? approvedAt : instantOf(day, '00:00', hours.timeZone);
}
