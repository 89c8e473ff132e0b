import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { isLocalTime, isTimeZone } from '../domain/business-day';
import { Employer } from '../employer/employer.entity';
import { idField, showId } from '../http/prefixed-id';
import { kindOfPayField, periodField } from '../pay-file/terms';
import { PaySchedule, SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { NewSchedule } from './pay-schedules';

const LAST_BANKING_DAY = 'LAST_BANKING_DAY';
/** About a month of banking days; the column's bound. */
const MAX_SUBMIT_DAYS_BEFORE = 20;
/** The longest name of an IANA zone has 32 characters. */
const MAX_ZONE_CHARACTERS = 64;

const terms = {
  dayOfMonth: z.union([z.int().min(1).max(31), z.literal(LAST_BANKING_DAY)], {
    error: `must be a day from 1 to 31, or ${LAST_BANKING_DAY}`,
  }),
  whenClosed: z
    .enum(['PREVIOUS', 'NEXT'])
    .describe('The banking day taken when the day of the month is none.'),
  submitDaysBefore: z
    .int()
    .min(0)
    .max(MAX_SUBMIT_DAYS_BEFORE)
    .describe('Banking days before the execution date.'),
  submitTime: z.string().refine(isLocalTime, 'must be a time such as 09:30'),
  timeZone: z
    .string()
    .max(MAX_ZONE_CHARACTERS)
    .refine(isTimeZone, 'must be an IANA time zone such as Europe/Paris'),
  firstPeriod: periodField,
};

/** The body of a new schedule. */
export class NewScheduleBody extends createZodDto(
  z.strictObject({
    accountId: idField('acc'),
    kindOfPay: kindOfPayField,
    ...terms,
    timeZone: terms.timeZone
      .optional()
      .describe('Of the submit time; without it the employer’s as it is now.'),
  }),
) {}

/** The one change a schedule can undergo; other terms are another schedule. */
export class ScheduleChangeBody extends createZodDto(z.strictObject({ active: z.literal(false) })) {}

const schedule = z.object({
  id: z.string(),
  accountId: z.string(),
  kindOfPay: z.string(),
  ...terms,
  active: z.boolean(),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
});

/** A schedule as it is shown. */
export class ScheduleBody extends createZodDto(schedule) {}

/** A page of schedules. */
export class SchedulePage extends createZodDto(
  z.object({ items: z.array(schedule), nextCursor: z.string().nullable() }),
) {}

const period = z.object({
  period: z.string(),
  executionDate: z.iso.date(),
  submitAt: z.iso.datetime(),
  payRunId: z.string().nullable(),
  overdue: z.boolean().describe('The time of the submit has passed, and no approved run is there to submit.'),
});
export type PeriodBody = z.infer<typeof period>;

/** A page of a schedule's periods. */
export class PeriodPage extends createZodDto(
  z.object({ items: z.array(period), nextCursor: z.string().nullable() }),
) {}

/** The terms in a body, as they are kept; in its employer's time zone where it names none. */
export function readTerms(body: NewScheduleBody, employer: Pick<Employer, 'timeZone'>): NewSchedule {
  const { dayOfMonth, timeZone = employer.timeZone, ...others } = body;
  return { ...others, timeZone, dayOfMonth: dayOfMonth === LAST_BANKING_DAY ? null : dayOfMonth };
}

/** A schedule for the outside. */
export function showSchedule({ id, accountId, createdBy, ...kept }: PaySchedule): ScheduleBody {
  const { kindOfPay, whenClosed, submitDaysBefore, submitTime, timeZone, firstPeriod, active } = kept;
  return {
    id: showId('sch', id),
    accountId: showId('acc', accountId),
    kindOfPay,
    dayOfMonth: kept.dayOfMonth ?? LAST_BANKING_DAY,
    whenClosed,
    submitDaysBefore,
    submitTime,
    timeZone,
    firstPeriod,
    active,
    createdBy: showId('per', createdBy),
    createdAt: kept.createdAt.toISOString(),
  };
}

/** A period for the outside. */
export function showPeriod(kept: SchedulePeriod, overdue: boolean): PeriodBody {
  return {
    period: kept.period,
    executionDate: kept.executionDate,
    submitAt: kept.submitAt.toISOString(),
    payRunId: kept.payRunId === null ? null : showId('run', kept.payRunId),
    overdue,
  };
}
