import { Transaction } from '../database/database';
import { INSTALLATION_CHAIN } from './audit';

/** What a stop that a person threw is audited as. */
export const STOPPED = {
  payRun: 'pay-run.stopped',
  employer: 'employer.stopped',
  service: 'service.stopped',
} as const;

/** What it is audited as that a person lets a run go on. */
export const RUN_RESUMED = 'pay-run.resumed';

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
  what: 'employer' | 'service',
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

/**
 * The person's stop of a run that nobody has resumed since; undefined where there is none. A run has one at a time, and what
 * the service stops beside it takes nothing of it.
 */
export async function standingStop(
  tx: Transaction & { readonly employerId: string },
  run: string,
): Promise<PersonsStop | undefined> {
  return (await standingStops(tx, [run])).get(run);
}

/** As `standingStop`, of several runs, by their subjects. */
export async function standingStops(
  tx: Transaction & { readonly employerId: string },
  runs: readonly string[],
): Promise<Map<string, PersonsStop>> {
  const last = await tx.query<PersonsStop & { subject: string; action: string }>(
    `SELECT DISTINCT ON (subject) subject, action, person_id AS "personId", detail ->> 'reason' AS reason, at
     FROM audit_entry WHERE chain_id = $1 AND subject = ANY ($2) AND action = ANY ($3) ORDER BY subject, seq DESC`,
    [tx.employerId, runs, [STOPPED.payRun, RUN_RESUMED]],
  );
  const standing = last.filter(({ action }) => action === STOPPED.payRun);
  return new Map(standing.map(({ subject, personId, reason, at }) => [subject, { personId, reason, at }]));
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
