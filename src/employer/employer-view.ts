import { z } from 'zod';
import { showId } from '../http/prefixed-id';
import { Employer } from './employer.entity';
import { payLimitsBody, showLimits } from './pay-limits';

/** The most rows a file may have, and all of them in basis points. */
const MAX_ROWS = 1_000_000;
const ALL_BASIS_POINTS = 10_000;

/** What becomes of pay files with faulty rows, as the API says and is told it. */
export const faultPolicyField = z.discriminatedUnion('policy', [
  z.strictObject({ policy: z.literal('strict') }),
  z.strictObject({ policy: z.literal('hold') }),
  z
    .strictObject({
      policy: z.literal('threshold'),
      maxRows: z.int().min(0).max(MAX_ROWS).optional(),
      maxBasisPoints: z.int().min(0).max(ALL_BASIS_POINTS).optional(),
    })
    .refine(
      ({ maxRows, maxBasisPoints }) => maxRows !== undefined || maxBasisPoints !== undefined,
      'must say maxRows, maxBasisPoints or both',
    ),
]);

/** An employer as the outside sees it; `stopped` is null unless its kill switch is set. */
export const employerBody = z.object({
  id: z.string(),
  name: z.string(),
  timeZone: z.string(),
  rowsPerInstruction: z.int(),
  approvalsRequired: z.int(),
  tickIbans: z.boolean(),
  netChangeBasisPoints: z.int(),
  remittanceTemplate: z.string().nullable(),
  faultPolicy: faultPolicyField,
  limits: payLimitsBody,
  stopped: z
    .object({
      since: z.iso.datetime(),
      reason: z.string().describe('Of each stop of a person, or of the service’s.'),
    })
    .nullable(),
  createdAt: z.iso.datetime(),
});
export type EmployerItem = z.infer<typeof employerBody>;

/** An employer as the API shows it. */
export function showEmployer(employer: Employer): EmployerItem {
  const { name, timeZone, stoppedAt, stoppedReason } = employer;
  return {
    id: showId('emp', employer.id),
    name,
    timeZone,
    rowsPerInstruction: employer.rowsPerInstruction,
    approvalsRequired: employer.approvalsRequired,
    tickIbans: employer.tickIbans,
    netChangeBasisPoints: employer.netChangeBasisPoints,
    remittanceTemplate: employer.remittanceTemplate,
    faultPolicy: employer.faultPolicy,
    limits: showLimits(employer),
    stopped: stoppedAt === null ? null : { since: stoppedAt.toISOString(), reason: stoppedReason ?? '' },
    createdAt: employer.createdAt.toISOString(),
  };
}
