import {
  addDays,
  ClosedDays,
  earliestExecutionDate,
  instantOf,
  isBankingDay,
  IsoDate,
  localDate,
  localTime,
  nextBankingDay,
} from '../domain/business-day';
import { MAX_DAYS_AHEAD, PayLimits } from '../employer/pay-limits';
import { Problem } from '../http/problem';

/** What an execution date is checked against. */
export interface BankCalendar {
  now: Date;
  /** The bank's zone: it decides which day is today. */
  timeZone: string;
  /** `HH:MM` in the bank's zone: what is sent later is not executed the same day. */
  cutOff: string;
  closedDays: ClosedDays;
}

/**
 * Checks a date on which the bank is asked to pay, at most `daysAheadLimit` days from now where the employer has set it.
 * @throws Problem 422 `EXECUTION_DATE_PAST`, `CUT_OFF_PASSED`, `EXECUTION_DATE_TOO_FAR`,
 * `EXECUTION_DATE_NOT_A_BANKING_DAY`, each naming a date that will do
 */
export function assertExecutionDate(
  date: IsoDate,
  bank: BankCalendar,
  { daysAheadLimit }: Pick<PayLimits, 'daysAheadLimit'>,
): void {
  const { now, timeZone, cutOff, closedDays } = bank;
  const today = localDate(now, timeZone);
  const refuse = (code: string, why: string, day = earliestExecutionDate(now, bank)): never => {
    throw new Problem(422, code, `The execution date ${why}; ${day} will do.`, { nextBankingDay: day });
  };
  if (date < today) refuse('EXECUTION_DATE_PAST', 'is in the past');
  if (date === today && localTime(now, timeZone) >= cutOff) {
    refuse('CUT_OFF_PASSED', `is today, and the bank's cut-off at ${cutOff} has passed`);
  }
  const daysAhead = daysAheadLimit ?? MAX_DAYS_AHEAD;
  const last = addDays(today, daysAhead);
  if (date > last) refuse('EXECUTION_DATE_TOO_FAR', `is more than ${daysAhead} days ahead`);
  if (!isBankingDay(date, closedDays)) {
    const next = nextBankingDay(date, closedDays);
    refuse('EXECUTION_DATE_NOT_A_BANKING_DAY', 'is no banking day', next <= last ? next : undefined);
  }
}

/**
 * Checks that a run is submitted before the bank's cut-off `HH:MM` on its execution date.
 * @throws Problem 422 `SUBMIT_AT_TOO_LATE`
 */
export function assertSubmitInTime(
  date: IsoDate,
  submitAt: Date | null,
  bank: Pick<BankCalendar, 'cutOff' | 'timeZone'>,
): void {
  const latest = instantOf(date, bank.cutOff, bank.timeZone);
  if (submitAt === null || submitAt < latest) return;
  const detail = `The run would not be submitted before the cut-off of its execution date: name a \`submitAt\` before ${latest.toISOString()}, or a later date.`;
  throw new Problem(422, 'SUBMIT_AT_TOO_LATE', detail, { latest: latest.toISOString() });
}
