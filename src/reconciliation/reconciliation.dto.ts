import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { isPeriod } from '../domain/business-day';
import { PAY_RUN_STATUSES } from '../domain/pay-run';
import { PAYMENT_STATUSES } from '../domain/payment';
import { KINDS_BESIDE } from './acknowledged';
import { ROW_DIFFERENCES, RowDifference } from './row-difference';
import { TABLE_LINES, TABLE_MEANING, TableLine } from './report';

/** `?format=` goes before the header `Accept`. */
export class ReportQuery extends createZodDto(
  z.strictObject({ format: z.enum(['json', 'csv']).optional() }),
) {}

/** As `ReportQuery`, for rows. */
export class RowsQuery extends createZodDto(
  z.strictObject({ format: z.enum(['csv', 'ndjson']).optional() }),
) {}

/** Which pay period is reconciled. */
export class PeriodQuery extends createZodDto(
  z.strictObject({
    period: z.string().refine(isPeriod, 'must be a month such as 2026-11'),
    format: z.enum(['json', 'csv']).optional(),
  }),
) {}

const amount = z.string().regex(/^-?\d+\.\d{2}$/);
const counted = z.object({ payments: z.int(), amount });
const table = z.object(
  Object.fromEntries(TABLE_LINES.map((name) => [name, counted.describe(TABLE_MEANING[name])])) as Record<
    TableLine,
    typeof counted
  >,
);
const acknowledged = counted.extend({
  attentionId: z.string(),
  kind: z.enum(KINDS_BESIDE),
  meaning: z.string(),
});
const ACKNOWLEDGED =
  'What moved besides the rows, as two people decided it; the amount is what the bank showed of it, what its account lacked, or what was approved of an instruction that moved.';
const linkedRuns = z.array(counted.extend({ payRunId: z.string(), before: amount }));
const LINKED =
  '`amount` is what the later payments pay, `before` what those they replace were to pay. What is held, was left out or was cancelled with its run is in neither.';
const asOf = z.iso
  .datetime()
  .describe(
    'What was recorded by then is in it; what the bank shows later, such as charges, is in a later report.',
  );
const difference = amount.describe(
  'The magnitudes of the differences of all equations, summed: other than 0.00, something does not add up.',
);
const differenceCodes = Object.keys(ROW_DIFFERENCES) as [RowDifference, ...RowDifference[]];

/** The two people of a decision. */
const deciders = {
  proposedBy: z.string(),
  proposedByName: z.string(),
  confirmedBy: z.string(),
  confirmedByName: z.string(),
  confirmedAt: z.iso.datetime(),
};

const runReport = z.object({
  asOf,
  payRunId: z.string(),
  status: z.enum(PAY_RUN_STATUSES),
  accountId: z.string().describe('The account that it debits; `debited` is on its statements.'),
  bankAccountId: z
    .string()
    .describe('What the bank calls this account, also once it was detached or was attached anew.'),
  period: z.string(),
  kindOfPay: z.string(),
  executionDate: z.iso.date(),
  runVersion: z.int(),
  parentRunId: z.string().nullable(),
  sequence: z.int(),
  currency: z.literal('EUR'),
  explained: z.boolean(),
  openDoubts: z
    .array(z.string())
    .describe(
      'Doubts of the run that no sum can show, by kinds of attention: what is open, and what outlasts its decision. While there is one, the run is not explained.',
    ),
  difference,
  table: table.describe(
    '`approved` is `notSent`, `waiting`, `inDoubt`, `inFlight`, `settled`, `notPaid` and `void`, unless the run was cancelled.',
  ),
  equations: z.array(
    z.object({
      name: z.string(),
      meaning: z.string(),
      expected: counted,
      actual: counted,
      difference: counted,
    }),
  ),
  byPaymentStatus: z.partialRecord(z.enum(PAYMENT_STATUSES), counted),
  byBankStatus: z.record(z.string(), counted),
  replaces: linkedRuns.describe(`Runs whose payments this one pays again. ${LINKED}`),
  replacedBy: linkedRuns.describe(`Runs that pay again what this one did not. ${LINKED}`),
  contradictions: counted,
  decisions: z
    .array(
      counted.extend({
        actionId: z.string(),
        action: z.enum(['PAID', 'NOT_PAID']),
        bankStatus: z.string(),
        reason: z.string(),
        evidence: z.string(),
        ...deciders,
      }),
    )
    .describe(
      'Payments that ended by what two people decided a status to mean, on the bank’s written word, and those the bank had ended before, whose end stays.',
    ),
  acknowledged: z
    .array(
      acknowledged.extend({
        happened: z.string(),
        bankWords: z.string().nullable(),
        reason: z.string(),
        evidence: z.string().nullable(),
        ...deciders,
      }),
    )
    .describe(ACKNOWLEDGED),
  differences: z.array(
    z.object({
      row: z.int(),
      line: z.int().nullable(),
      paymentId: z.string().nullable(),
      code: z.enum(differenceCodes),
      meaning: z.string(),
    }),
  ),
  moreDifferences: z.boolean(),
});
/** The reconciliation of a run as JSON. */
export type RunReportDocument = z.infer<typeof runReport>;

const periodReport = z.object({
  asOf,
  period: z.string(),
  currency: z.literal('EUR'),
  explained: z.boolean(),
  openDoubts: z
    .array(z.string())
    .describe('Doubts that are of none of its runs: after a restore, also of a run that was forgotten.'),
  difference,
  totals: table,
  replaced: counted.describe(
    'Payments left out of the totals because those made instead of them are counted there, also where these are held or were left out.',
  ),
  paidAgain: counted.describe(
    'The part of `replaced` that was paid and came back: in `debited` it is beside what replaces it, which alone is in `settled`, or in no sum where it was left out and nobody was paid again.',
  ),
  acknowledged: z.array(acknowledged.extend({ payRunId: z.string() })).describe(ACKNOWLEDGED),
  runs: z.array(
    runReport.pick({
      payRunId: true,
      status: true,
      accountId: true,
      bankAccountId: true,
      kindOfPay: true,
      executionDate: true,
      parentRunId: true,
      sequence: true,
      replacedBy: true,
      explained: true,
      openDoubts: true,
      difference: true,
      table: true,
    }),
  ),
});
/** The reconciliation of a pay period as JSON. */
export type PeriodReportDocument = z.infer<typeof periodReport>;

/** A run: where its money is, and what does not add up. */
export class RunReportBody extends createZodDto(runReport) {}
/** A pay period: its runs and their sum. */
export class PeriodReportBody extends createZodDto(periodReport) {}
