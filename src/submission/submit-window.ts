import { BankHours, isBankingDay } from '../domain/business-day';
import { sendingCloses, sendingOpens } from '../domain/send-window';

/**
 * Whether a run may be sent now: not yet (and for how long), or open, or too late for its execution date, or never: on
 * that date, which became a closed day of the bank, or at its own time, which the cut-off came to lie before.
 */
export type Window =
  | { kind: 'early'; ms: number }
  | { kind: 'open' }
  | { kind: 'late' }
  | { kind: 'closed' }
  | { kind: 'behind' };

/**
 * The window of a run: from its `submitAt`, or else its approval, as `sendingOpens` says, to the
 * bank's cut-off on the execution date less the time the sending is expected to take.
 */
export function submitWindow(
  run: { executionDate: string; submitAt: Date | null },
  approvedAt: Date,
  now: Date,
  hours: BankHours,
  expectedMs: number,
): Window {
  const closes = sendingCloses(run.executionDate, hours).getTime();
  if (now.getTime() >= closes - expectedMs) return { kind: 'late' };
  if (!isBankingDay(run.executionDate, hours.closedDays)) return { kind: 'closed' };
  const opens = sendingOpens(run.submitAt, approvedAt, now, hours).getTime();
  if (opens >= closes) return { kind: 'behind' };
  const ms = opens - now.getTime();
  return ms > 0 ? { kind: 'early', ms } : { kind: 'open' };
}
