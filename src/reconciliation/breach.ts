import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { showId } from '../http/prefixed-id';
import { Alarm, raise } from '../pay-run/attention.store';
import { NOTHING_TO_ASK } from '../pay-run/attention-words';
import { stopEmployer, stopEverything } from '../pay-run/stop';
import { Finding, Invariant, Looked } from './invariant';

/** More breaches of one invariant than these in one pass say nothing new to a person: the next pass tells of others. */
const MOST_TOLD = 20;

/**
 * Tells people of what breaks an invariant and stops what it concerns. What was told before and still lasts is not
 * told again, also after people resolved it, until it is twice what was told; what went away and came back is.
 * @returns what was told now.
 */
export async function tellOf(
  tx: EmployerTransaction,
  invariant: Invariant,
  { broken, lookedAt }: Looked,
): Promise<Finding[]> {
  const standing = await standingOf(tx, invariant);
  const found = new Set(broken.map(({ subjectId }) => subjectId));
  await letGo(
    tx,
    invariant,
    standing.filter((one) => !found.has(one.subjectId) && lookedAt(one)),
  );
  const ids = await keep(tx, invariant, newIn(broken, standing));
  const told = broken.filter(({ subjectId }) => ids.has(subjectId));
  if (told.length > 0 && invariant.scope === 'internal') await stopEmployer(tx, 'INVARIANT_BREACH');
  for (const finding of told) {
    const breachId = ids.get(finding.subjectId) ?? newId();
    // In the order in which two people decide: the stop, then the question.
    if (invariant.scope === 'money moved')
      await stopEverything(tx, { kind: 'INVARIANT_BREACH', subjectId: breachId });
    await tell(tx, invariant, finding, breachId);
  }
  await invariant.mend?.(tx, broken);
  return told;
}

/** What was told and lasts, as far as is known; `found` is how much of it was told, `isAsked` that nobody decided it yet. */
type Standing = Pick<Finding, 'subjectId' | 'payRunId' | 'found'> & { isAsked: boolean };

function standingOf(tx: EmployerTransaction, { name }: Invariant): Promise<Standing[]> {
  return tx.query<Standing>(
    `SELECT subject_id AS "subjectId", pay_run_id AS "payRunId", found, EXISTS (
       SELECT FROM attention a WHERE a.employer_id = $1 AND a.kind = 'INVARIANT_BREACH' AND a.subject_id = b.id
         AND a.resolved_at IS NULL) AS "isAsked"
     FROM invariant_breach b WHERE employer_id = $1 AND invariant = $2 AND gone_at IS NULL`,
    [tx.employerId, name],
  );
}

/**
 * What nobody was told of, and then what is at least twice as much as was told. As long as that is asked, the stop stands,
 * and a question that changed with each pass could never be decided: the growth is told thereafter.
 */
function newIn(broken: readonly Finding[], standing: readonly Standing[]): Finding[] {
  const known = new Map(standing.map((one) => [one.subjectId, one]));
  const fresh = broken.filter(({ subjectId }) => !known.has(subjectId));
  const grown = broken.filter(({ subjectId, found }) => {
    const before = known.get(subjectId);
    return before !== undefined && !before.isAsked && found >= 2 * before.found;
  });
  return [...fresh, ...grown].slice(0, MOST_TOLD);
}

/** Marks what a pass looked at and did not find any more. */
async function letGo(tx: EmployerTransaction, { name }: Invariant, gone: readonly Standing[]): Promise<void> {
  if (gone.length === 0) return;
  await tx.query(
    `UPDATE invariant_breach SET gone_at = clock_timestamp()
     WHERE employer_id = $1 AND invariant = $2 AND gone_at IS NULL AND subject_id = ANY ($3)`,
    [tx.employerId, name, gone.map(({ subjectId }) => subjectId)],
  );
}

/** Writes breaches down that are new or grew; answers the ids of those by subject. What grew keeps its id. */
async function keep(
  tx: EmployerTransaction,
  { name }: Invariant,
  findings: readonly Finding[],
): Promise<Map<string, string>> {
  const rows = await tx.query<{ subject_id: string; id: string }>(
    `INSERT INTO invariant_breach AS b (employer_id, invariant, subject_id, id, pay_run_id, found)
     SELECT $1, $2, f.subject_id, f.id, f.pay_run_id, f.found
     FROM unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::int[]) AS f(subject_id, id, pay_run_id, found)
     ORDER BY f.subject_id
     ON CONFLICT (employer_id, invariant, subject_id) DO UPDATE
       SET id = CASE WHEN b.gone_at IS NULL THEN b.id ELSE excluded.id END,
         found_at = clock_timestamp(), gone_at = NULL, found = excluded.found
       WHERE b.gone_at IS NOT NULL OR 2 * b.found <= excluded.found
     RETURNING subject_id, id`,
    [
      tx.employerId,
      name,
      findings.map(({ subjectId }) => subjectId),
      findings.map(() => newId()),
      findings.map(({ payRunId }) => payRunId),
      findings.map(({ found }) => found),
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
  const alarm: Alarm = {
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
  };
  await raise(tx, alarm);
}
