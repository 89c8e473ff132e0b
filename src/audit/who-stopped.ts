import { Transaction } from '../database/database';
import { INSTALLATION_CHAIN } from './audit';

/** What a stop that a person threw is audited as. */
export const STOPPED = {
  payRun: 'pay-run.stopped',
  employer: 'employer.stopped',
  service: 'service.stopped',
} as const;

/**
 * The person who threw a switch, or made a stop of the service their own; undefined where the service alone threw it.
 * The chain is that of the transaction's employer, or of the installation when it has none.
 * @param subject of the switch as it is audited
 * @param since when it was thrown; not finer than the audit's clock where a person did
 */
export async function whoStopped(
  tx: Transaction & { readonly employerId?: string },
  what: keyof typeof STOPPED,
  subject: string,
  since: Date,
): Promise<string | undefined> {
  const [entry] = await tx.query<{ person_id: string }>(
    `SELECT person_id FROM audit_entry WHERE chain_id = $1 AND action = $2 AND subject = $3 AND at >= $4
     ORDER BY seq DESC LIMIT 1`,
    [tx.employerId ?? INSTALLATION_CHAIN, STOPPED[what], subject, since],
  );
  return entry?.person_id;
}
