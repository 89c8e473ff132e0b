import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { DIFFERENCE_KINDS, DIFFERENCE_MEANING } from '../domain/difference';
import { PageQuery } from '../http/cursor';
import { idField } from '../http/prefixed-id';
import { reason } from '../http/reason';

/** As many as a person marks in a sitting; more is a decision on all of them. */
const MAX_TICKED = 10_000;

const amount = z.string().regex(/^\d+\.\d{2}$/);
const person = z.object({ id: z.string(), name: z.string() });

const sum = amount.nullable();
const beforeAndNow = z.object({ payments: z.int(), amount: sum, before: sum });

/** What the standing version of a run differs in from the pay before it, in counts and sums. */
export const comparison = z.object({
  before: z
    .object({ period: z.string(), payRunIds: z.array(z.string()), payments: z.int(), total: sum })
    .nullable()
    .describe(
      'The latest earlier period in which payments of this kind settled and did not come back; null: none did, and every IBAN is new.',
    ),
  netChangeBasisPoints: z.int().nullable(),
  joined: beforeAndNow,
  left: beforeAndNow,
  netChanged: beforeAndNow,
  ibanChanged: beforeAndNow,
  nameChanged: beforeAndNow,
  ibans: z
    .object({
      required: z.boolean(),
      toTick: z.int(),
      ticked: z.int(),
      decision: z.object({ person, at: z.iso.datetime(), reason: z.string() }).nullable(),
    })
    .describe('IBANs of employees who joined and changed ones: who approves looks at each before.'),
});
export type ComparisonDocument = z.infer<typeof comparison>;

/** The query of the differences of a run. */
export class DifferenceListQuery extends createZodDto(
  PageQuery.schema.extend({
    kind: z
      .enum(DIFFERENCE_KINDS)
      .describe(DIFFERENCE_KINDS.map((kind) => `${kind}: ${DIFFERENCE_MEANING[kind]}`).join(' ')),
  }),
) {}

const side = z.object({
  paymentId: z.string(),
  employeeId: z.string(),
  name: z.string(),
  iban: z.string(),
  amount: amount.describe('Of all payments of the employee where their pay differs or is no more.'),
});

const difference = z.object({
  kind: z.enum(DIFFERENCE_KINDS),
  now: side.extend({ row: z.int() }).nullable(),
  before: side.extend({ payRunId: z.string() }).nullable(),
  ticked: z.object({ person, at: z.iso.datetime() }).nullable(),
});
/** One difference for those who may know salaries: IBANs are masked, but for those that are to be ticked. */
export type DifferenceDocument = z.infer<typeof difference>;

/** Differences of one kind, in the order of the rows. */
export class DifferencePage extends createZodDto(
  z.object({ items: z.array(difference), nextCursor: z.string().nullable() }),
) {}

/** Which IBANs of the version with this hash were looked at: those of payments, or all of them, for a reason. */
export class TicksRequest extends createZodDto(
  z
    .strictObject({
      rootHash: z.string().regex(/^[0-9a-f]{64}$/, 'must be the rootHash of the run'),
      paymentIds: z.array(idField('pay')).min(1).max(MAX_TICKED).optional(),
      all: z.literal(true).optional(),
      reason: reason.optional(),
    })
    .refine(
      ({ paymentIds, all, reason }) =>
        paymentIds === undefined
          ? all === true && reason !== undefined
          : all === undefined && reason === undefined,
      'must name either paymentIds, or all with a reason',
    ),
) {}
