import { Transaction } from '../database/database';
import { INSTALLATION_CHAIN } from './audit';

/** What a stop that a person threw is audited as. */
export const STOPPED = {
  payRun: 'pay-run.stopped',
  employer: 'employer.stopped',
  service: 'service.stopped',
} as const;

/** A stop that a person threw. */
export interface PersonsStop {
  readonly personId: string;
  readonly reason: string;
  readonly at: Date;
}

/**
 * The stops of persons that stand, oldest first; none where the service alone threw the switch. The chain is that of the
 * transaction's employer, or of the installation when it has none.
 * @param subject of the switch as it is audited
 * @param since when it was thrown; not finer than the audit's clock where a person did
 */
export function personsStops(
  tx: Transaction & { readonly employerId?: string },
  what: keyof typeof STOPPED,
  subject: string,
  since: Date,
): Promise<PersonsStop[]> {
  return readStops('seq', tx, what, subject, since);
}

/** The last person whose stop stands, as `personsStops` has it; undefined where the service alone threw the switch. */
export async function whoStopped(...which: Parameters<typeof personsStops>): Promise<string | undefined> {
  const [last] = await readStops('seq DESC LIMIT 1', ...which);
  return last?.personId;
}

function readStops(
  order: string,
  ...[tx, what, subject, since]: Parameters<typeof personsStops>
): Promise<PersonsStop[]> {
  return tx.query<PersonsStop>(
    `SELECT person_id AS "personId", detail ->> 'reason' AS reason, at FROM audit_entry
     WHERE chain_id = $1 AND action = $2 AND subject = $3 AND at >= $4 ORDER BY ${order}`,
    [tx.employerId ?? INSTALLATION_CHAIN, STOPPED[what], subject, since],
  );
}
