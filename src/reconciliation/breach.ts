import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { showId } from '../http/prefixed-id';
import { raise } from '../pay-run/attention.store';
import { NOTHING_TO_ASK } from '../pay-run/attention-words';
import { stopEmployer, stopEverything } from '../pay-run/stop';
import { Finding, Invariant, MOST_FINDINGS } from './invariant';

/**
 * Tells people of what breaks an invariant and stops what it concerns. What was told before and still lasts is not
 * told again, also after people resolved it; what went away and came back is.
 * @returns what was told now.
 */
export async function tellOf(
  tx: EmployerTransaction,
  invariant: Invariant,
  payRunIds: readonly string[],
  findings: readonly Finding[],
): Promise<Finding[]> {
  await letGo(tx, invariant, payRunIds, findings);
  const ids = await keep(tx, invariant, findings);
  const told = findings.filter(({ subjectId }) => ids.has(subjectId));
  if (told.length > 0 && invariant.scope === 'internal') await stopEmployer(tx, 'INVARIANT_BREACH');
  for (const finding of told) {
    const breachId = ids.get(finding.subjectId) ?? newId();
    await tell(tx, invariant, finding, breachId);
    if (invariant.scope !== 'money moved') continue;
    await stopEverything(tx, { kind: 'INVARIANT_BREACH', subjectId: breachId });
  }
  return told;
}

/** Marks what this pass looked at and did not find any more. */
async function letGo(
  tx: EmployerTransaction,
  { name, sliced }: Invariant,
  payRunIds: readonly string[],
  findings: readonly Finding[],
): Promise<void> {
  if (sliced || findings.length >= MOST_FINDINGS) return;
  await tx.query(
    `UPDATE invariant_breach SET gone_at = clock_timestamp()
     WHERE employer_id = $1 AND invariant = $2 AND gone_at IS NULL AND pay_run_id = ANY ($3)
       AND subject_id <> ALL ($4)`,
    [tx.employerId, name, payRunIds, findings.map(({ subjectId }) => subjectId)],
  );
}

/** Writes new breaches down; answers their ids by subject. */
async function keep(
  tx: EmployerTransaction,
  { name }: Invariant,
  findings: readonly Finding[],
): Promise<Map<string, string>> {
  const rows = await tx.query<{ subject_id: string; id: string }>(
    `INSERT INTO invariant_breach AS b (employer_id, invariant, subject_id, id, pay_run_id)
     SELECT $1, $2, f.subject_id, f.id, f.pay_run_id
     FROM unnest($3::uuid[], $4::uuid[], $5::uuid[]) AS f(subject_id, id, pay_run_id) ORDER BY f.subject_id
     ON CONFLICT (employer_id, invariant, subject_id)
       DO UPDATE SET id = excluded.id, found_at = clock_timestamp(), gone_at = NULL WHERE b.gone_at IS NOT NULL
     RETURNING subject_id, id`,
    [
      tx.employerId,
      name,
      findings.map(({ subjectId }) => subjectId),
      findings.map(() => newId()),
      findings.map(({ payRunId }) => payRunId),
    ],
  );
  return new Map(rows.map(({ subject_id, id }) => [subject_id, id]));
}

interface Concerned {
  row_count: number;
  total_minor: string;
  /** The bank's ids of the instructions that are asked about. */
  at_bank: string | null;
}

async function tell(
  tx: EmployerTransaction,
  { name, sentence, scope }: Invariant,
  { payRunId, instructionId, found, detail }: Finding,
  breachId: string,
): Promise<void> {
  const [run] = await tx.query<Concerned>(
    `SELECT r.row_count, r.total_minor, (
       SELECT string_agg(bank_instruction_id, ', ' ORDER BY id) FROM instruction
       WHERE employer_id = $1 AND (id = $3 OR $4 AND $3::uuid IS NULL AND pay_run_id = $2)) AS at_bank
     FROM pay_run r WHERE r.employer_id = $1 AND r.id = $2`,
    [tx.employerId, payRunId, instructionId, scope === 'money moved'],
  );
  const where = payRunId === null ? 'this employer' : `run ${showId('run', payRunId)}`;
  const more = detail === undefined ? '' : `: ${detail}`;
  await raise(tx, {
    kind: 'INVARIANT_BREACH',
    // Two broken invariants of one run are two things to look at.
    subjectId: breachId,
    payRunId: payRunId ?? undefined,
    instructionId: instructionId ?? undefined,
    bankReference: run?.at_bank,
    askBank: run?.at_bank ? undefined : NOTHING_TO_ASK,
    happened: `The standing reconciler found ${name} broken in ${where} (${found} found${more}). It should hold that: ${sentence}`,
    payments: run?.row_count,
    amountMinor: run === undefined ? undefined : BigInt(run.total_minor),
  });
}
