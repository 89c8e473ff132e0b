import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { isIsoDate, isPeriod } from '../domain/business-day';
import { INSTRUCTION_STATUSES } from '../domain/instruction';
import { AmountBounds, MAX_TOTAL_MINOR } from '../domain/money';
import { PAY_RUN_STATUSES } from '../domain/pay-run';
import { PAYMENT_STATUSES } from '../domain/payment';
import { REPLACEMENT_REFUSALS, ReplacementRefusal } from '../domain/replacement';
import { amountField } from '../http/amount-field';
import { PageQuery } from '../http/cursor';
import { idField } from '../http/prefixed-id';
import { reason, stoppedAt } from '../http/reason';
import { comparison } from './comparison.dto';

const TOTAL_BOUNDS: AmountBounds = { minMinor: 0n, maxMinor: MAX_TOTAL_MINOR };
/** Enough for every row of a large payroll that a bank could refuse, in a body of 400 kB. */
const MAX_EXCLUDED = 10_000;

const refusals = Object.keys(REPLACEMENT_REFUSALS) as [ReplacementRefusal, ...ReplacementRefusal[]];

/** The query of the list of runs. */
export class RunListQuery extends createZodDto(
  PageQuery.schema.extend({
    status: z.enum(PAY_RUN_STATUSES).optional(),
    period: z.string().refine(isPeriod, 'must be a month such as 2026-11').optional(),
  }),
) {}

/** The query of the payments of a run. */
export class PaymentListQuery extends createZodDto(
  PageQuery.schema.extend({
    status: z.enum(PAYMENT_STATUSES).optional(),
    nameChanged: z
      .literal('true')
      .optional()
      .describe('Only payments whose name is sent in other letters than it was written in.'),
    further: z
      .literal('true')
      .optional()
      .describe(
        'Only payments of employees who were paid in the period already: those of `furtherPayments`.',
      ),
  }),
) {}

/** What the approver looked at. */
export class ApprovalRequest extends createZodDto(
  z.strictObject({
    rootHash: z.string().regex(/^[0-9a-f]{64}$/, 'must be the rootHash of the run'),
    total: amountField(TOTAL_BOUNDS),
  }),
) {}

/** Why something is done to a run; it is shown and audited, so no name, IBAN or amount of a person belongs in it. */
export class ReasonRequest extends createZodDto(z.strictObject({ reason })) {}

/** As `ReasonRequest`, of the stop that is taken back. */
export class ResumeRequest extends createZodDto(z.strictObject({ reason, stoppedAt })) {}

const submitAt = z.iso
  .datetime({ offset: true, error: 'must be an instant such as 2026-11-26T09:00:00Z' })
  .transform((text) => new Date(text))
  .optional();

/** Payments to take out of a run, a new execution date, another time of its submit, or several of these. */
export class AmendmentRequest extends createZodDto(
  z
    .strictObject({
      excludePaymentIds: z.array(idField('pay')).max(MAX_EXCLUDED).default([]),
      executionDate: z
        .string()
        .refine(isIsoDate, 'must be a date that exists, such as 2026-11-27')
        .optional(),
      submitAt: submitAt.describe('When it is submitted instead, before the cut-off of its date.'),
      reason,
    })
    .refine(
      (body) =>
        body.excludePaymentIds.length > 0 || body.executionDate !== undefined || body.submitAt !== undefined,
      'must exclude a payment, or name an execution date or a submitAt',
    ),
) {}

/** Which payments that ended unpaid are paid again, and when; without ids, all that can be. */
export class SuccessorFields extends createZodDto(
  z.strictObject({
    executionDate: z.string().refine(isIsoDate, 'must be a date that exists, such as 2026-11-27'),
    submitAt,
    paymentIds: z.array(idField('pay')).min(1).max(MAX_EXCLUDED).optional(),
    reason: reason.optional(),
  }),
) {}

/** An amount as it is shown, such as `1234.50`. */
export const amount = z.string().regex(/^\d+\.\d{2}$/);
/** A sum, null for a role that sees no payments. */
const sum = amount.nullable();
const counted = z.object({ payments: z.int(), amount: sum });
/** An instant as it is shown. */
export const instant = z.iso.datetime();
const nextCursor = z.string().nullable();

const runSummary = z.object({
  id: z.string(),
  status: z.enum(PAY_RUN_STATUSES),
  period: z.string(),
  kindOfPay: z.string(),
  executionDate: z.iso.date(),
  submitAt: instant.nullable(),
  accountId: z.string(),
  scheduleId: z.string().nullable(),
  parentRunId: z.string().nullable(),
  sequence: z.int(),
  runVersion: z.int(),
  payments: z.int(),
  total: sum.describe('Null, as other sums are, for a role that sees no payments.'),
  currency: z.literal('EUR'),
  stopped: z.object({ at: instant, reason: z.string() }).nullable(),
  createdBy: z.string(),
  createdAt: instant,
});
/** A run in a list. */
export type RunSummary = z.infer<typeof runSummary>;

const instruction = z.object({
  ordinal: z.int(),
  payments: z.int(),
  total: sum,
  id: z.string().nullable(),
  status: z.enum(INSTRUCTION_STATUSES),
  attempt: z.int(),
  bankInstructionId: z.string().nullable(),
  bankStatus: z.string().nullable(),
  submittedAt: instant.nullable(),
  outcome: z.string().nullable(),
  endedReason: z.string().nullable(),
});

const run = runSummary.extend({
  rootHash: z.string().nullable(),
  fileId: z
    .string()
    .nullable()
    .describe(
      'The pay file it was made of, as `GET …/pay-files/{fileId}/content` gives it; null of a successor.',
    ),
  preparedBy: z.string().nullable(),
  lapseReason: z.string().nullable(),
  paymentsByStatus: z.partialRecord(z.enum(PAYMENT_STATUSES), counted),
  returned: counted,
  approvalsRequired: z.int(),
  approvals: z.array(
    z.object({
      id: z.string(),
      person: z.object({ id: z.string(), name: z.string() }),
      approvedAt: instant,
      mayApprove: z
        .boolean()
        .describe(
          'Whether the person may approve the run still. Until it is being submitted, an approval by somebody who may not does not count.',
        ),
    }),
  ),
  amendment: z
    .object({
      id: z.string(),
      executionDate: z.iso.date().nullable(),
      submitAt: instant.nullable(),
      excludedPayments: z.int(),
      reason: z.string(),
      proposedBy: z.string(),
      proposedAt: instant,
    })
    .nullable(),
  instructionsByStatus: z.partialRecord(z.enum(INSTRUCTION_STATUSES), z.int()),
  instructions: z.array(instruction),
  replaces: counted
    .extend({ before: sum, differing: z.int() })
    .describe(
      'Payments made instead of earlier ones, which were to pay `before`; `differing` of them in amount or IBAN. Without what is held, was left out or was cancelled; the reconciliation says the same by run.',
    ),
  comparison,
  namesChanged: z.int().describe('Payments whose name is sent in other letters than it was written in.'),
  furtherPayments: z
    .int()
    .describe(
      'Payments of employees who were paid in the period already, each allowed by a release. `GET …/payments?further=true` lists them, with who allowed each and why.',
    ),
  keptBack: z
    .object({ rows: z.int(), faults: z.int(), corrected: z.int() })
    .describe('Faulty rows of its file that nobody is paid by, and how many were corrected since.'),
  openHolds: z.int().describe('What waits for a person; the run is not approved before.'),
  sameFile: z.array(z.string()).describe('Runs of other terms that were made of the same bytes before.'),
  openAttentions: z.int(),
  estimate: z
    .object({ requests: z.int(), seconds: z.int(), finishesBy: instant, cutOff: instant })
    .nullable()
    .describe('What is left to be sent to the bank before its cut-off; null once submitting has begun.'),
  progress: z
    .object({ paymentsAtBank: z.int(), payments: z.int() })
    .nullable()
    .describe(
      'While the instructions are being built; `estimate.finishesBy` is when that and the submits end.',
    ),
});
/** A run with all that is known of it. */
export type RunDocument = z.infer<typeof run>;

/** Who allowed a payment beside another of its employee. */
export const allowed = {
  sequence: z.int().min(1),
  reason: z.string(),
  releasedBy: z.object({ id: z.string(), name: z.string() }),
  releasedAt: instant,
};

const payment = z.object({
  id: z.string(),
  row: z.int(),
  line: z.int(),
  employeeId: z.string(),
  name: z.string(),
  writtenName: z.string().nullable().describe('As it was uploaded, where the bank is sent other letters.'),
  iban: z.string(),
  bic: z.string().nullable(),
  amount,
  currency: z.literal('EUR'),
  remittance: z.string().nullable(),
  status: z.enum(PAYMENT_STATUSES),
  excludedReason: z.string().nullable(),
  replacesPaymentId: z.string().nullable(),
  replaces: z
    .object({
      paymentId: z.string(),
      payRunId: z.string(),
      status: z.enum(PAYMENT_STATUSES),
      why: z.string().nullable(),
      amount,
      sameAmount: z.boolean(),
      sameIban: z.boolean(),
      reason: z.string().nullable(),
    })
    .nullable()
    .describe('The payment it is made instead of, and why that one ended unpaid.'),
  replacedByPaymentId: z
    .string()
    .nullable()
    .describe('What is made instead of it; none that is held, was left out or was cancelled with its run.'),
  release: z
    .object(allowed)
    .nullable()
    .describe(
      'Who allowed it beside another payment of its employee in the period, and why, also where it pays again what came back; null where it needed no release.',
    ),
  bankPaymentId: z.string().nullable(),
  bankStatus: z.string().nullable(),
  charges: amount.nullable(),
  settledOn: z.iso.date().nullable(),
  returnedAt: instant.nullable(),
});
/** A payment as those who may know salaries see it: the IBAN is masked. */
export type PaymentDocument = z.infer<typeof payment>;

const change = z.object({
  seq: z.int(),
  at: instant,
  subject: z.enum(['pay_run', 'instruction', 'payment', 'payments_of_run', 'payments_of_instruction']),
  subjectId: z.string().nullable(),
  ordinal: z.int().nullable(),
  from: z.string(),
  to: z.string(),
  payments: z.int(),
  amount: sum,
  actor: z.string(),
  reason: z.string().nullable(),
});
/** One line of a run's history. */
export type ChangeDocument = z.infer<typeof change>;

/** A pay run as it stands. */
export class RunBody extends createZodDto(run) {}
/** The run that was made of payments of another, and which of those that ended unpaid are not in it. */
export class SuccessorBody extends createZodDto(
  run.extend({
    leftOut: z.array(z.object({ code: z.enum(refusals), meaning: z.string(), payments: z.int() })),
  }),
) {}
/** Runs, the newest first. */
export class RunPage extends createZodDto(z.object({ items: z.array(runSummary), nextCursor })) {}
/** Payments in row order. */
export class PaymentPage extends createZodDto(z.object({ items: z.array(payment), nextCursor })) {}
/** Changes, the oldest first. */
export class HistoryPage extends createZodDto(z.object({ items: z.array(change), nextCursor })) {}
