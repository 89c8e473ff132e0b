import { ZodValidationException } from 'nestjs-zod';
import { IsNull, Not } from 'typeorm';
import { z } from 'zod';
import { EmployerTransaction } from '../database/database';
import { instantOf, isBankingDay, IsoDate, isIsoDate, isPeriod } from '../domain/business-day';
import { ENCODINGS } from '../domain/pay-file-encoding';
import { PayRunStatus } from '../domain/pay-run';
import { DEFAULT_TEMPLATE, fillTemplate, wordsOfKind } from '../domain/remittance-template';
import { assertCanPay } from '../employer/account.store';
import { Employer, EmployerAccount } from '../employer/employer.entity';
import { amountField } from '../http/amount-field';
import { idField, showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { PayRun } from '../pay-run/pay-run.entity';
import { assertExecutionDate, assertSubmitInTime, BankCalendar } from '../pay-run/execution-date';
import { PaySchedule, SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { MAX_DECLARED_TOTAL_MINOR } from './declaration';

/** A month of pay. */
export const periodField = z.string().refine(isPeriod, 'must be a month such as 2026-11');

/** A kind of pay; it is part of a default remittance text, so it keeps to letters the bank takes. */
export const kindOfPayField = z
  .string()
  .regex(
    /^[A-Z0-9](?:[A-Z0-9_-]{0,33}[A-Z0-9])?$/,
    'must be 1 to 35 capitals, digits, - or _, such as SALARY',
  )
  .default('SALARY');

// What file systems allow.
const MAX_FILE_NAME = 255;

/** The name of a profile, as it is kept and as an upload says it. */
export const profileNameField = z.string().trim().min(1).max(100);

/** An encoding, as an upload or a profile says it. */
export const encodingField = z.enum(ENCODINGS);

/** How the file is to be read, and what it is said to hold. */
const readingFields = {
  profile: profileNameField.optional(),
  encoding: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(encodingField)
    .optional(),
  declaredRows: z
    .string()
    .regex(/^[0-9]{1,8}$/, 'must be a number of rows')
    .transform(Number)
    .optional(),
  declaredTotal: amountField({ minMinor: 0n, maxMinor: MAX_DECLARED_TOTAL_MINOR }).optional(),
};

const uploadFields = z.strictObject({
  period: periodField.optional(),
  ...readingFields,
  executionDate: z.string().refine(isIsoDate, 'must be a date that exists, such as 2026-11-27').optional(),
  accountId: idField('acc').optional(),
  kindOfPay: kindOfPayField,
  submitAt: z.iso
    .datetime({ offset: true, error: 'must be an instant such as 2026-11-26T09:00:00Z' })
    .transform((text) => new Date(text))
    .optional(),
  fileName: z.string().transform(safeFileName).optional(),
  supplementOf: idField('run').optional(),
});

const correctionFields = uploadFields
  .pick({ encoding: true, executionDate: true, submitAt: true, fileName: true })
  .strict();

/** What a preparer says of a corrections file; the dates are those of a supplement. */
export type CorrectionFields = z.infer<typeof correctionFields>;

/** Reads the fields of a corrections file. @throws ZodValidationException naming every faulty field */
export function readCorrectionFields(fields: GivenFields): CorrectionFields {
  return parsed(correctionFields.safeParse(presentIn(fields)));
}

/** The name without folders and invisible characters: it is shown, and offered for downloads. */
function safeFileName(name: string): string | undefined {
  const [last = ''] = name.split(/[/\\]/).slice(-1);
  return (
    last
      .replace(/[\p{C}\p{Z}]+/gu, ' ')
      .trim()
      .slice(0, MAX_FILE_NAME) || undefined
  );
}

/** What a preparer says of a pay file besides its bytes. Ids are UUIDs, `declaredTotal` is in minor units. */
export type UploadFields = z.infer<typeof uploadFields>;

/** The fields of an upload whose period is known, be it from its profile. */
export type UploadOfPeriod = UploadFields & { period: string };

type GivenFields = Iterable<readonly [string, unknown]>;

/**
 * Reads the fields of an upload, from its query or its form; an empty field is an absent one. Without a profile the
 * period must be there.
 * @throws ZodValidationException naming every faulty field
 */
export function readUploadFields(fields: GivenFields): UploadFields {
  const given = presentIn(fields);
  const form = 'profile' in given ? uploadFields : uploadFields.extend({ period: periodField });
  return parsed(form.safeParse(given));
}

/** Reads the fields of a preview, which are those of an upload. @throws ZodValidationException naming every faulty field */
export function readPreviewFields(fields: GivenFields): UploadFields {
  return parsed(uploadFields.safeParse(presentIn(fields)));
}

function presentIn(fields: GivenFields): Record<string, unknown> {
  return Object.fromEntries([...fields].filter(([, value]) => value !== ''));
}

function parsed<T>(result: z.ZodSafeParseResult<T>): T {
  if (result.success) return result.data;
  throw new ZodValidationException(result.error);
}

/** The month of a schedule a run is made for. */
export interface ScheduledPeriod {
  scheduleId: string;
  executionDate: IsoDate;
  submitAt: Date;
  payRunId: string | null;
}

/** What the run of an upload is made of. */
export interface UploadTerms {
  account: EmployerAccount;
  period: string;
  kindOfPay: string;
  executionDate: IsoDate;
  submitAt: Date | null;
  scheduled: ScheduledPeriod | undefined;
  /** The run that this one supplements. */
  parent: PayRun | undefined;
}

/**
 * Completes the fields from the employer's account and schedule. The month of the schedule is locked.
 * @throws Problem 422 `EXECUTION_DATE_MISSING`, and those of `resolveParent` and `resolveAccount`
 */
export async function resolveTerms(tx: EmployerTransaction, fields: UploadOfPeriod): Promise<UploadTerms> {
  const parent = await resolveParent(tx, fields);
  const account = await resolveAccount(tx, fields.accountId ?? parent?.accountId);
  // A supplement is paid when it is ready: the month's own date is that of its first run.
  const scheduled = parent ? undefined : await findScheduled(tx, account.id, fields);
  const executionDate = fields.executionDate ?? scheduled?.executionDate;
  if (executionDate === undefined) {
    const detail = 'No schedule gives the execution date of this run: name it.';
    throw new Problem(422, 'EXECUTION_DATE_MISSING', detail);
  }
  return {
    account,
    period: fields.period,
    kindOfPay: fields.kindOfPay,
    executionDate,
    submitAt: fields.submitAt ?? scheduled?.submitAt ?? null,
    scheduled,
    parent,
  };
}

/**
 * The run a supplement adds to. @throws Problem 422 `SUPPLEMENT_OF_UNKNOWN`, `SUPPLEMENT_OF_ANOTHER_PAY`, 409
 * `PARENT_NOT_APPROVED`
 */
async function resolveParent(
  tx: EmployerTransaction,
  { supplementOf, period, kindOfPay }: UploadOfPeriod,
): Promise<PayRun | undefined> {
  if (supplementOf === undefined) return undefined;
  const parent = await tx.manager.findOneBy(PayRun, { employerId: tx.employerId, id: supplementOf });
  if (!parent)
    throw new Problem(422, 'SUPPLEMENT_OF_UNKNOWN', 'The employer has no run such as supplementOf names.');
  if (parent.period !== period || parent.kindOfPay !== kindOfPay) {
    const detail = `A supplement pays the period and kind of pay of its run: ${parent.period}, ${parent.kindOfPay}.`;
    throw new Problem(422, 'SUPPLEMENT_OF_ANOTHER_PAY', detail);
  }
  if (UNAPPROVED.includes(parent.status)) {
    const detail = `The run is ${parent.status}: ${
      parent.status === 'READY' || parent.status === 'DRAFT'
        ? 'upload its supplement once it is approved. If the run itself is wrong, amend it, or cancel it and upload the whole file again.'
        : 'upload the file as a run of its own.'
    }`;
    throw new Problem(409, 'PARENT_NOT_APPROVED', detail);
  }
  return parent;
}

/** After the approval corrected rows are a supplement, never an addition; before it the run itself is corrected. */
const UNAPPROVED: readonly PayRunStatus[] = ['DRAFT', 'READY', 'CANCELLING', 'CANCELLED'];

/** The account named, or the only one that is not closed. @throws Problem 422 `ACCOUNT_MISSING`, `ACCOUNT_UNKNOWN` */
export async function resolveAccount(
  tx: EmployerTransaction,
  id: string | undefined,
): Promise<EmployerAccount> {
  const { employerId } = tx;
  if (id !== undefined) {
    const account = await tx.manager.findOneBy(EmployerAccount, { employerId, id });
    if (account) return account;
    throw new Problem(422, 'ACCOUNT_UNKNOWN', 'The employer has no such account.');
  }
  const [account, another] = await tx.manager.find(EmployerAccount, {
    where: { employerId, bankStatus: Not('CLOSED'), detachedAt: IsNull() },
    take: 2,
  });
  if (account && !another) return account;
  const detail = account
    ? 'The employer has several accounts: name one.'
    : 'The employer has no account that is not closed: connect or open one.';
  throw new Problem(422, 'ACCOUNT_MISSING', detail);
}

async function findScheduled(
  tx: EmployerTransaction,
  accountId: string,
  { period, kindOfPay }: UploadOfPeriod,
): Promise<ScheduledPeriod | undefined> {
  const { employerId } = tx;
  const schedule = await tx.manager.findOneBy(PaySchedule, {
    employerId,
    accountId,
    kindOfPay,
    active: true,
  });
  if (!schedule) return undefined;
  const month = await tx.manager.findOne(SchedulePeriod, {
    where: { employerId, scheduleId: schedule.id, period },
    lock: { mode: 'for_no_key_update' },
  });
  return month ?? undefined;
}

/**
 * Checks the account and the dates of a new run.
 * @param instead what a person can do about an account that pays nothing more
 * @throws Problem 409 `PERIOD_HAS_A_RUN`, 422 `EXECUTION_DATE_NOT_SCHEDULED`, and those of `assertCanPay`,
 * `assertExecutionDate` and `assertSubmitInTime`
 */
export function assertTerms(
  terms: UploadTerms,
  bank: BankCalendar,
  limits: Pick<Employer, 'daysAheadLimit'>,
  instead?: string,
): void {
  assertCanPay(terms.account, instead);
  if (terms.scheduled) assertSchedulable(terms.executionDate, terms.scheduled, bank);
  assertExecutionDate(terms.executionDate, bank, limits);
  assertSubmitInTime(terms.executionDate, terms.submitAt, bank);
}

function assertSchedulable(executionDate: IsoDate, scheduled: ScheduledPeriod, bank: BankCalendar): void {
  if (scheduled.payRunId !== null) {
    const payRunId = showId('run', scheduled.payRunId);
    const detail =
      `${payRunId} is the run of this period. Further or corrected rows are a supplement: upload them with ` +
      `supplementOf=${payRunId}. What it did not pay is paid by its successor: POST pay-runs/${payRunId}/successor. ` +
      'As long as nothing of it is submitted it can be cancelled instead.';
    throw new Problem(409, 'PERIOD_HAS_A_RUN', detail, { payRunId, supplementOf: payRunId });
  }
  const cutOff = instantOf(scheduled.executionDate, bank.cutOff, bank.timeZone);
  // A month whose day has passed, as when its run was cancelled, or is a closed day since, is paid on another.
  const keepsDate = bank.now < cutOff && isBankingDay(scheduled.executionDate, bank.closedDays);
  if (executionDate !== scheduled.executionDate && keepsDate) {
    const detail = `The schedule pays this period on ${scheduled.executionDate}; leave the date out or correct it.`;
    throw new Problem(422, 'EXECUTION_DATE_NOT_SCHEDULED', detail, {
      executionDate: scheduled.executionDate,
    });
  }
}

/** What a payment says to its receiver where the row says nothing: by the employer's template, else `Salary 2026-11`. */
export async function defaultRemittance(
  tx: EmployerTransaction,
  { kindOfPay, period }: { kindOfPay: string; period: string },
): Promise<(employeeId: string) => string> {
  const { name, remittanceTemplate } = await tx.manager.findOneByOrFail(Employer, { id: tx.employerId });
  const values = { period, kind_of_pay: wordsOfKind(kindOfPay), employer: name };
  return (employeeId) =>
    fillTemplate(remittanceTemplate ?? DEFAULT_TEMPLATE, { ...values, employee_id: employeeId });
}
