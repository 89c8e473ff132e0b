import { PersonsStop, standingStop, STOPPED, whoStopped } from '../audit/who-stopped';
import { EmployerTransaction } from '../database/database';
import { wakeAll } from '../database/leases';
import { newId } from '../database/new-id';
import { words } from '../database/words';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { STOPPED_ITS_EMPLOYER, STOPS_EMPLOYER, STOPS_EVERYTHING } from '../employer/stopping-kinds';
import { showId } from '../http/prefixed-id';
import { Attention } from './attention.entity';
import {
  aboutInstruction,
  Alarm,
  isConfirmed,
  isDecided,
  KEEPS_STOPPED,
  raiseNaming,
} from './attention.store';
import { ATTENTION_WORDS, AttentionAction, AttentionKind } from './attention-words';
import { repaysForgotten } from './forgotten-pay';
import { Instruction, PlannedInstruction } from './instruction.entity';
import { beyond, sumOf, Totals } from './match';
import { PayRun } from './pay-run.entity';

type Stopping = (typeof STOPS_EVERYTHING)[number];

/** Why a run is stopped that came to lack approvals after its gate, as people are asked of what was to be submitted. */
export const LACKS_APPROVALS =
  'The run is being submitted, but fewer approvals stand than its employer requires.';

/**
 * Stops every submit of every employer for an attention, named by its kind and subject. The stop stands until that
 * attention is decided, whoever else threw or turns the switch.
 */
export async function stopEverything(
  tx: EmployerTransaction,
  { kind, subjectId }: { kind: Stopping; subjectId: string },
): Promise<void> {
  await takeSwitch(tx);
  await tx.query(
    `UPDATE service_switch SET submits_off = true, reason = $1, changed_at = clock_timestamp() WHERE NOT submits_off`,
    [kind],
  );
  await tx.query(
    `INSERT INTO service_stop (id, employer_id, kind, subject_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    [newId(), tx.employerId, kind, subjectId],
  );
}

/** Two stops and a resume take their turns: after those of runs and of the employer, as `awaitTurnOfRuns` has it. */
async function takeSwitch(tx: EmployerTransaction): Promise<void> {
  await tx.query(`SELECT FROM service_switch FOR UPDATE`);
}

/**
 * Stops everything for what every read shows again as long as it lasts, and tells a person, unless it is decided; anew
 * where the open question lacks one of the words that matter, or of those that it may not lack.
 */
export async function stopUnlessDecided(
  tx: EmployerTransaction,
  alarm: Alarm & { kind: Stopping },
  words: readonly string[] = [],
  mayNotLack = words,
): Promise<void> {
  const isItDecided = () => isDecided(tx, alarm, words);
  if (await isDecidedInTurn(() => takeSwitch(tx), isItDecided)) return;
  await stopEverything(tx, alarm);
  await raiseNaming(tx, alarm, mayNotLack);
}

/**
 * Stops what of a run was not submitted for what every read shows again as long as it lasts, and tells a person, unless
 * it is decided; anew where the open question lacks one of the words that matter. A run of which nothing is left to be
 * sent is not stopped.
 */
export async function stopRunUnlessDecided(
  tx: EmployerTransaction,
  alarm: Alarm & { payRunId: string },
  words: readonly string[],
): Promise<void> {
  const isItDecided = () => isDecided(tx, alarm, words);
  if (await isDecidedInTurn(() => awaitTurnOfRun(tx, alarm.payRunId), isItDecided)) return;
  await tx.query(
    `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = $3
     WHERE employer_id = $1 AND id = $2 AND status = 'SUBMITTING' AND stopped_at IS NULL`,
    [tx.employerId, alarm.payRunId, alarm.kind],
  );
  await raiseNaming(tx, alarm, words);
}

/** Whether people have decided it, be it while this waited for its turn; where they have not, it is its turn. */
async function isDecidedInTurn(
  awaitTurn: () => Promise<void>,
  isItDecided: () => Promise<boolean>,
): Promise<boolean> {
  if (await isItDecided()) return true;
  await awaitTurn();
  return isItDecided();
}

/** Stops what of a run was not submitted. One that is stopped already keeps its reason. */
export async function stopRunByService(
  tx: EmployerTransaction,
  payRunId: string,
  reason: string,
): Promise<void> {
  await awaitTurnOfRun(tx, payRunId);
  await tx.query(
    `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = $3
     WHERE employer_id = $1 AND id = $2 AND stopped_at IS NULL`,
    [tx.employerId, payRunId, reason],
  );
}

/**
 * Waits for whoever stops the run, lets it go on or intends a submit of it: what is read and written after it is so before
 * any other of them, also where nothing of the run is changed.
 */
function awaitTurnOfRun(tx: EmployerTransaction, payRunId: string): Promise<void> {
  return awaitTurnOfRuns(tx, [payRunId]);
}

/**
 * As `awaitTurnOfRun`, of several. Whoever stops, resumes or intends a submit locks in one order, and so never waits for one
 * that waits for it: runs by their ids, all of a transaction at once; then the employer; then the switch of everything.
 */
export async function awaitTurnOfRuns(tx: EmployerTransaction, payRunIds: readonly string[]): Promise<void> {
  await tx.query(
    `SELECT FROM pay_run WHERE employer_id = $1 AND id = ANY ($2) ORDER BY id FOR NO KEY UPDATE`,
    [tx.employerId, payRunIds],
  );
}

/** As `awaitTurnOfRuns`, of all that have not ended: where which of them are stopped is found out only later. */
export async function awaitTurnOfOpenRuns(tx: EmployerTransaction): Promise<void> {
  const open = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND status <> ALL ($2)`,
    [tx.employerId, PAY_RUN_FINALS],
  );
  await awaitTurnOfRuns(
    tx,
    open.map(({ id }) => id),
  );
}

/** As `awaitTurnOfRun`, of the transaction's employer. */
async function awaitTurnOfEmployer(tx: EmployerTransaction): Promise<void> {
  await tx.query(`SELECT FROM employer WHERE id = $1 FOR NO KEY UPDATE`, [tx.employerId]);
}

/**
 * Whether two people let our access go on after a question that told of something, as `isConfirmed` has it, be it while this
 * waited for its turn with the transaction's employer.
 */
export function isAccessLetGoOn(
  tx: EmployerTransaction,
  parameters: readonly unknown[],
  isOfIt: string,
): Promise<boolean> {
  const answer = { kind: 'CREDENTIALS', subjectId: tx.employerId, action: 'RESUME' } as const;
  return isDecidedInTurn(
    () => awaitTurnOfEmployer(tx),
    () => isConfirmed(tx, answer, parameters, isOfIt),
  );
}

/**
 * Stops every submit of the transaction's employer; called before it is told, so that nobody who resumes it meanwhile
 * misses what is told. One that is stopped already keeps its reason.
 */
export async function stopEmployer(
  tx: EmployerTransaction,
  reason: (typeof STOPS_EMPLOYER)[number],
): Promise<void> {
  await awaitTurnOfEmployer(tx);
  await tx.query(
    `UPDATE employer SET stopped_at = clock_timestamp(), stopped_reason = $2 WHERE id = $1 AND stopped_at IS NULL`,
    [tx.employerId, reason],
  );
}

/**
 * A submitted instruction pays, or may have paid, something else than was approved: everything stops and a person is
 * told, unless two have decided it, as `happened` has it.
 */
export function totalsDiffer(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: Pick<PlannedInstruction, 'rowCount' | 'totalMinor'>,
  told: Pick<Alarm, 'happened' | 'beyond'>,
): Promise<void> {
  const kind = 'TOTAL_MISMATCH_AFTER_SUBMIT';
  return stopUnlessDecided(tx, { kind, ...aboutInstruction(instruction, planned), ...told });
}

/**
 * As `totalsDiffer`, of the groups, or the calculated totals, that the bank shows after the submit: another count or
 * sum is another question, and what was decided as `isForeignAndDecided` is none. The sum is the attention's amount and in
 * no text, which people read who may not know what one person earns.
 */
export async function groupsDiffer(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: Totals,
  groups: readonly Totals[],
): Promise<void> {
  const shown = sumOf(groups);
  const { count, totalMinor } = shown;
  const more = beyond(shown, planned);
  if (await isForeignAndDecided(tx, instruction, more)) return;
  const alarm = {
    kind: 'TOTAL_MISMATCH_AFTER_SUBMIT',
    ...aboutInstruction(instruction, { rowCount: count, totalMinor }),
    happened: `After the submit the bank shows another ${count === planned.count ? 'sum than was approved, for the approved count' : 'count or sum than was approved'}: ${count} payments.`,
    beyond: more,
    isAboutSum: true,
  } as const;
  await stopUnlessDecided(tx, alarm, [` ${count} payments.`]);
}

/**
 * Whether what is beyond the approved payments is, in count and to the cent, what two people have decided in one question
 * as never sent. Of a record without an amount in euros nobody knows that it is that money.
 */
function isForeignAndDecided(tx: EmployerTransaction, { id }: Instruction, more: Totals): Promise<boolean> {
  return isConfirmed(
    tx,
    { kind: 'FOREIGN_RECORD', subjectId: id, action: 'RESUME' },
    [more.count, more.totalMinor],
    `jsonb_array_length(a.records) = $4 AND a.amount_minor = $5
     AND NOT EXISTS (SELECT FROM jsonb_array_elements(a.records) AS record WHERE (record ->> 'minor')::bigint <= 0)`,
  );
}

/** What people decide by letting a run go on; that our access is refused stops its employer, however it may name runs. */
export const KEEP_A_RUN_STOPPED = (Object.keys(ATTENTION_WORDS) as AttentionKind[]).filter(
  (kind) =>
    kind !== 'CREDENTIALS' &&
    (ATTENTION_WORDS[kind].actions as readonly AttentionAction[]).includes('RESUME'),
);

/**
 * Takes back the stop that an attention threw, and no other: where another open attention stops the run, the employer
 * or everything too, that stop stands and names the other as its reason. A stop that is a person's stands too.
 */
export async function resumeAfter(
  tx: EmployerTransaction,
  attention: Pick<Attention, 'id' | 'kind' | 'payRunId' | 'subjectId'>,
): Promise<void> {
  await resumeRunAfter(tx, attention);
  await resumeEmployerAfter(tx, attention);
  await resumeEverythingAfter(tx, attention);
  wakeAll(tx, tx.employerId);
}

async function resumeRunAfter(
  tx: EmployerTransaction,
  { id, payRunId }: Pick<Attention, 'id' | 'payRunId'>,
): Promise<void> {
  if (payRunId === null) return;
  // Before it is looked for another: of two that are decided at once, who comes second sees that the first is.
  await awaitTurnOfRun(tx, payRunId);
  if ((await openBeside(tx, id, KEEPS_RUN_STOPPED, payRunId)) !== undefined) return;
  await resumeUnlessPersons(tx, payRunId);
}

/**
 * The stop of a run that may have been submitted before a restore, and of which nothing says so, or in whose stead a run
 * that was forgotten may have paid, or of whose rest a version that was forgotten may say otherwise: no change of it and no
 * other decision takes that back, but somebody who resumes it.
 */
export const RESTORED_UNCLEAR = 'RESTORED_UNCLEAR';

/**
 * Stops runs as `RESTORED_UNCLEAR`, whatever stopped them. A person's stop from before stands beside it, and is older by the
 * audit's clock too: who threw it knew nothing of this.
 */
export async function stopUnclear(tx: EmployerTransaction, payRunIds: readonly string[]): Promise<void> {
  await tx.query(
    `UPDATE pay_run r SET stopped_reason = $4, stopped_at = greatest(clock_timestamp(), (
         SELECT max(at) + interval '1 millisecond' FROM audit_entry
         WHERE chain_id = $1 AND action = $5 AND subject = u.subject))
     FROM unnest($2::uuid[], $3::text[]) AS u (id, subject) WHERE r.employer_id = $1 AND r.id = u.id`,
    [tx.employerId, payRunIds, payRunIds.map((id) => showId('run', id)), RESTORED_UNCLEAR, STOPPED.payRun],
  );
}

/** Takes back that runs are stopped as `RESTORED_UNCLEAR`; a person's stop stands. */
export async function endUnclear(tx: EmployerTransaction, run: PayRun): Promise<void> {
  if (run.stoppedReason !== RESTORED_UNCLEAR) return;
  const stop = await personsStopOf(tx, run);
  await tx.query(
    `UPDATE pay_run SET stopped_at = CASE WHEN $3::text IS NOT NULL THEN stopped_at END, stopped_reason = $3
     WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, run.id, stop?.reason ?? null],
  );
}

/** Stops of a run because a submit that is not in the record may have paid whom it pays. */
const STOPS_REPAYING = ['RESTORED', 'POSSIBLE_DUPLICATE_PAY'] as const;

/**
 * Takes back the stop of a run for what a submit that is not in the record may have paid, once it pays none of that,
 * unless another open attention stops it too: what else was found meanwhile threw no stop of its own.
 */
export async function resumeRepayingRun(tx: EmployerTransaction, payRunId: string): Promise<void> {
  await awaitTurnOfRun(tx, payRunId);
  if ((await openBeside(tx, undefined, KEEPS_RUN_STOPPED, payRunId)) !== undefined) return;
  await resumeUnlessPersons(tx, payRunId, STOPS_REPAYING);
}

/**
 * Takes back a stop of a run, whose turn was awaited, by the service, for whatever it was or for some reasons; a person's
 * stop stands, and that of a run which pays whom a submit that is not in the record may have paid.
 */
export async function resumeUnlessPersons(
  tx: EmployerTransaction,
  payRunId: string,
  reasons?: readonly string[],
): Promise<void> {
  const [run] = await tx.query<{ stoppedAt: Date | null; reason: string | null }>(
    `SELECT stopped_at AS "stoppedAt", stopped_reason AS reason FROM pay_run
     WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, payRunId],
  );
  if (!run?.stoppedAt || run.reason === RESTORED_UNCLEAR) return;
  if (reasons && !reasons.includes(run.reason ?? '')) return;
  if ((await personsStopOf(tx, { id: payRunId, stoppedAt: run.stoppedAt })) !== undefined) return;
  const repaying = STOPS_REPAYING.find((one) => one === run.reason) ?? 'POSSIBLE_DUPLICATE_PAY';
  const still = (await repaysForgotten(tx, payRunId)) ? repaying : null;
  await tx.query(
    `UPDATE pay_run SET stopped_at = CASE WHEN $3::text IS NOT NULL THEN stopped_at END, stopped_reason = $3
     WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, payRunId, still],
  );
}

/** The stop of a run by a person that stands; undefined where it runs, or the service itself stopped it. */
export async function personsStopOf(
  tx: EmployerTransaction,
  { id, stoppedAt }: Pick<PayRun, 'id' | 'stoppedAt'>,
): Promise<PersonsStop | undefined> {
  return stoppedAt === null ? undefined : standingStop(tx, showId('run', id));
}

async function resumeEmployerAfter(
  tx: EmployerTransaction,
  { id, kind }: Pick<Attention, 'id' | 'kind'>,
): Promise<void> {
  if (!STOPS_EMPLOYER.some((one) => one === kind)) return;
  await awaitTurnOfEmployer(tx);
  const [employer] = await tx.query<{ stoppedAt: Date }>(
    `SELECT stopped_at AS "stoppedAt" FROM employer WHERE id = $1 AND stopped_reason = $2`,
    [tx.employerId, kind],
  );
  if (!employer) return;
  const subject = showId('emp', tx.employerId);
  if ((await whoStopped(tx, 'employer', subject, employer.stoppedAt)) !== undefined) return;
  const other = await openBeside(tx, id, STOPPED_ITS_EMPLOYER);
  await tx.query(
    `UPDATE employer SET stopped_at = CASE WHEN $2::text IS NOT NULL THEN stopped_at END, stopped_reason = $2
     WHERE id = $1`,
    [tx.employerId, other ?? null],
  );
}

async function resumeEverythingAfter(
  tx: EmployerTransaction,
  { kind, subjectId }: Pick<Attention, 'kind' | 'subjectId'>,
): Promise<void> {
  await takeSwitch(tx);
  await tx.query(
    `UPDATE service_stop SET lifted_at = clock_timestamp()
     WHERE employer_id = $1 AND kind = $2 AND subject_id = $3 AND lifted_at IS NULL`,
    [tx.employerId, kind, subjectId],
  );
  const [other] = await tx.query<{ kind: string }>(
    `SELECT kind FROM service_stop WHERE lifted_at IS NULL ORDER BY stopped_at LIMIT 1`,
  );
  await tx.query(
    `UPDATE service_switch SET submits_off = $1::text IS NOT NULL, reason = $1, changed_at = clock_timestamp()
     WHERE submits_off AND stopped_by IS NULL AND reason = ANY ($2)`,
    [other?.kind ?? null, STOPS_EVERYTHING],
  );
}

const KEEPS_RUN_STOPPED = `a.kind IN (${words(KEEP_A_RUN_STOPPED)})`;

/**
 * The kind of an open attention that keeps one run stopped, or the whole employer, other than one.
 * @param which in SQL, whether the attention `a` is one of those that may
 */
async function openBeside(
  tx: EmployerTransaction,
  attentionId: string | undefined,
  which: string,
  payRunId?: string | null,
): Promise<AttentionKind | undefined> {
  const [other] = await tx.query<{ kind: AttentionKind }>(
    `SELECT a.kind FROM attention a
     WHERE a.employer_id = $1 AND a.id IS DISTINCT FROM $2::uuid AND a.resolved_at IS NULL AND ${which}
       AND ($3::uuid IS NULL OR a.pay_run_id = $3) AND ${KEEPS_STOPPED} ORDER BY a.id LIMIT 1`,
    [tx.employerId, attentionId ?? null, payRunId ?? null],
  );
  return other?.kind;
}
