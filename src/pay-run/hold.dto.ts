import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { HOLD_CODES, HoldCode } from '../domain/hold';
import { PAYMENT_STATUSES } from '../domain/payment';
import { PageQuery } from '../http/cursor';
import { idField } from '../http/prefixed-id';
import { reason } from '../http/reason';
import { HOLD_OUTCOMES } from './hold.store';
import { amount, instant } from './pay-run.dto';

/** The code of a hold. */
export const holdCode = z.enum(Object.keys(HOLD_CODES) as [HoldCode, ...HoldCode[]]);

const holdVersion = z.int32().min(1);

/** The query of the holds of a run. */
export class HoldListQuery extends createZodDto(
  PageQuery.schema.extend({
    open: z
      .enum(['true', 'false'])
      .transform((text) => text === 'true')
      .optional(),
  }),
) {}

/** One hold, and why it is released; without a payment, one of the whole run. */
export class HoldReleaseRequest extends createZodDto(
  z.strictObject({
    code: holdCode,
    paymentId: idField('pay').optional(),
    version: holdVersion
      .optional()
      .describe('Which of several open ones of this code; needless where there is one.'),
    reason,
  }),
) {}

const hold = z.object({
  code: holdCode,
  version: holdVersion.describe('The version of the run that asked: an amendment may hold a row once more.'),
  meaning: z.string(),
  remedy: z.string(),
  message: z.string(),
  payment: z
    .object({
      id: z.string(),
      row: z.int(),
      line: z.int(),
      employeeId: z.string(),
      name: z.string(),
      iban: z.string(),
      amount,
      status: z.enum(PAYMENT_STATUSES),
    })
    .nullable()
    .describe('Null where the whole run is held.'),
  beside: z
    .object({
      line: z.int().nullable(),
      payRunId: z.string().nullable(),
      alsoPayRunIds: z.array(z.string()).describe('Further runs that pay the same.'),
    })
    .nullable()
    .describe('What it was found beside; without a run, in the same file.'),
  decision: z
    .object({
      outcome: z.enum(HOLD_OUTCOMES),
      at: instant,
      by: z.string().nullable(),
      reason: z.string().nullable(),
    })
    .nullable()
    .describe('Null while it is open.'),
});
/** A hold as those who may know salaries see it: the IBAN is masked. */
export type HoldDocument = z.infer<typeof hold>;

/** Holds in the order of the rows, those of the whole run first. */
export class HoldPage extends createZodDto(
  z.object({ items: z.array(hold), nextCursor: z.string().nullable() }),
) {}
