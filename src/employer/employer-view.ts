import { z } from 'zod';
import { showId } from '../http/prefixed-id';
import { Employer } from './employer.entity';

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
  stopped: z.object({ since: z.iso.datetime(), reason: z.string() }).nullable(),
  createdAt: z.iso.datetime(),
});
export type EmployerItem = z.infer<typeof employerBody>;

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
    stopped: stoppedAt === null ? null : { since: stoppedAt.toISOString(), reason: stoppedReason ?? '' },
    createdAt: employer.createdAt.toISOString(),
  };
}
