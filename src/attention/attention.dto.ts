import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { AttentionAction, ATTENTION_WORDS, AttentionKind } from '../pay-run/attention-words';

const kinds = Object.keys(ATTENTION_WORDS) as [AttentionKind, ...AttentionKind[]];
export const ATTENTION_ACTIONS = [
  'ACKNOWLEDGE',
  'TRY_AGAIN',
  'EXECUTED',
  'NOT_EXECUTED',
  'PAID',
  'NOT_PAID',
  'EXCLUDE_PAYMENT',
  'GO_ON',
  'RESUME',
] as const satisfies readonly AttentionAction[];

const action = z.object({
  id: z.string(),
  action: z.enum(ATTENTION_ACTIONS),
  reason: z.string(),
  evidence: z.string().nullable(),
  payments: z.int().nullable().describe('How many payments PAID or NOT_PAID is said of.'),
  paymentIds: z.array(z.string()).nullable(),
  proposedBy: z.string(),
  proposedAt: z.iso.datetime(),
  confirmedBy: z.string().nullable(),
  confirmedAt: z.iso.datetime().nullable(),
  withdrawnAt: z.iso.datetime().nullable(),
});
/** What one person proposed, and who confirmed it or that it was withdrawn. */
export type ActionDocument = z.infer<typeof action>;
export class ActionBody extends createZodDto(action) {}

const ofWhomMaySeePayments = 'Null for who may see no payments.';
const attention = z.object({
  id: z.string(),
  kind: z.enum(kinds),
  payRunId: z.string().nullable(),
  instructionId: z.string().nullable(),
  paymentId: z.string().nullable(),
  happened: z.string(),
  bankWords: z
    .string()
    .nullable()
    .describe(`What the bank wrote to a refusal, or a sum that cannot be read. ${ofWhomMaySeePayments}`),
  certain: z.string(),
  askBank: z.string(),
  actions: z.array(z.enum(ATTENTION_ACTIONS)).describe('What can be proposed.'),
  payments: z.int().describe('How many payments it is about.'),
  amount: z.string().nullable().describe(`Their sum. ${ofWhomMaySeePayments}`),
  lacking: z
    .string()
    .nullable()
    .describe(
      `Of LOW_BALANCE, and of TOTALS_UNSEEN about the balance: what the account falls short by. Of ECHO_MISMATCH about a payment that came back in part: what is not back. ${ofWhomMaySeePayments}`,
    ),
  beyond: z
    .object({ payments: z.int(), amount: z.string() })
    .nullable()
    .describe(
      `Of TOTAL_MISMATCH_AFTER_SUBMIT: what the bank shows, or seems to have paid, beyond the approved payments; negative where it is less. ${ofWhomMaySeePayments}`,
    ),
  openedAt: z.iso.datetime(),
  resolvedAt: z.iso.datetime().nullable(),
  resolution: z.string().nullable(),
});
/** What a person must decide. */
export type AttentionDocument = z.infer<typeof attention>;

/** Attentions, oldest first. */
export class AttentionPage extends createZodDto(
  z.object({ items: z.array(attention), nextCursor: z.string().nullable() }),
) {}

/** One attention with all that was proposed about it, oldest first. */
export class AttentionBody extends createZodDto(attention.extend({ decisions: z.array(action) })) {}
