import { readById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { INSTRUCTION_UNDER_WAY, InstructionStatus } from '../domain/instruction';
import { sumMinor } from '../domain/money';
import { isPayRunFinal, PAY_RUN_GOING_ON, PayRunStatus } from '../domain/pay-run';
import { withoutUnstorable } from '../domain/storable-text';
import { EmployerAccount } from '../employer/employer.entity';
import { showId } from '../http/prefixed-id';
import type { AskedRefusal } from './attention.entity';
import { Alarm, openAbout, raise, raiseAnew } from './attention.store';
import { forbiddenAdds, forbiddenBesides } from './attention-words';
import { Instruction } from './instruction.entity';
import { PayRun } from './pay-run.entity';
import { isAccessLetGoOn, stopEmployer } from './stop';
import { unsentOf } from './unsent';

/** How it is told that the bank did not say what became of submitted payments, since it refuses our access. */
export const REFUSED_TO_SHOW = 'The bank refused to show what became of submitted payments';

const HIDDEN = 'The bank refuses to show what became of submitted payments of';

/**
 * The bank refuses our access: nothing more is sent for the employer, and a person is told; anew where it is of another run
 * that has something to send, or is refused otherwise, so that who resumes has read of each.
 * @param forbidden payments that it may be that it forbids, and not our access
 */
export async function accessRefused(
  tx: EmployerTransaction,
  run: PayRun,
  instruction: Instruction | undefined,
  happened: string,
  forbidden?: readonly string[],
): Promise<void> {
  await stopEmployer(tx, 'CREDENTIALS');
  const sends = PAY_RUN_GOING_ON.includes(run.status);
  const mine: AskedRefusal = {
    runId: run.id,
    instructionId: instruction?.id,
    isHidden: false,
    words: withoutUnstorable(happened),
    forbidden,
    ...(!sends && { runWas: run.status }),
  };
  const open = await openRefusals(tx);
  if (open.length === 0) return raise(tx, await alarmOf(tx, [mine]));
  const isTold = (one: AskedRefusal) =>
    sends ? one.runId === mine.runId && isOfSameKind(one, mine) : one.words === mine.words;
  if (open.some((one) => !one.isHidden && isTold(one))) return;
  await raiseAnew(tx, await alarmOf(tx, [...(await stillRefused(tx, open)), mine]));
}

/** Whether both are of our access alone, or of forbidden adds to the same instruction: each has a question of its own. */
function isOfSameKind(one: AskedRefusal, other: AskedRefusal): boolean {
  if (one.forbidden === undefined || other.forbidden === undefined) return one.forbidden === other.forbidden;
  return one.instructionId === other.instructionId;
}

/**
 * The bank refuses to show what a run has submitted, at every read as long as it lasts: as above, unless it is decided of
 * that refusal. All such runs are one question, told anew while it is open, so that who resumes has read of each.
 */
export async function hiddenFromUs(
  tx: EmployerTransaction,
  run: PayRun,
  instruction: Instruction,
  refusal: string,
): Promise<void> {
  const hidden = { runId: run.id, isHidden: true, words: withoutUnstorable(refusal) };
  if (await isLetGoOn(tx, hidden)) return;
  await stopEmployer(tx, 'CREDENTIALS');
  const open = await openRefusals(tx);
  if (open.some((one) => one.isHidden && one.runId === run.id && one.words === hidden.words)) return;
  const mine = { ...hidden, instructionId: instruction.id };
  const still = await stillRefused(tx, open);
  const place = still.findIndex((one) => one.isHidden && one.instructionId === instruction.id);
  // In its place: the question stays filed under the run that was asked about first.
  const refusals = place === -1 ? [...still, mine] : still.with(place, mine);
  await raiseAnew(tx, await alarmOf(tx, refusals));
  // What else is hidden is then told before people resume, and does not stop them once more.
  if (!open.some(({ isHidden }) => isHidden)) await lookAtSubmitted(tx, instruction.id);
}

/** Whether two people let the employer go on after they were told of a run with that refusal. */
function isLetGoOn(tx: EmployerTransaction, refusal: AskedRefusal): Promise<boolean> {
  return isAccessLetGoOn(
    tx,
    [JSON.stringify([refusal]), HIDDEN, showId('run', refusal.runId), refusal.words],
    `a.refusals @> $4::jsonb
     OR a.refusals IS NULL AND strpos(a.happened, $5) > 0 AND strpos(a.happened, $6) > 0 AND strpos(a.happened, $7) > 0`,
  );
}

/**
 * What tells whether payments are forbidden by themselves that are to be added to an instruction: `resumed`, those of the
 * run that were forbidden when people were asked about our access, and let the employer go on, unless the bank has taken
 * one of them since, which shows that it was the access; `askedEach`, those of them that people were then asked about each,
 * and that it has not taken after that; and `tookElsewhere`, those it took into another attempt.
 */
export async function forbiddenBefore(
  tx: EmployerTransaction,
  { id, payRunId }: Pick<Instruction, 'id' | 'payRunId'>,
  paymentIds: readonly string[],
): Promise<{ resumed: Set<string>; askedEach: Set<string>; tookElsewhere: Set<string> }> {
  const resumed = await tx.query<{ ids: string[]; taken: string[]; refused: string[] }>(
    `SELECT r.forbidden AS ids, coalesce(since.taken, '{}') AS taken, coalesce(since.refused, '{}') AS refused
     FROM attention a
     JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
     CROSS JOIN jsonb_to_recordset(a.refusals) AS r("runId" uuid, "instructionId" uuid, forbidden uuid[])
     JOIN instruction asked ON asked.employer_id = a.employer_id AND asked.id = r."instructionId"
     CROSS JOIN LATERAL (
       SELECT array_agg(one.id) FILTER (WHERE one.was_taken) AS taken,
         array_agg(one.id) FILTER (WHERE one.last = 'REFUSED') AS refused
       FROM (
         SELECT b.payment_id AS id, bool_or(b.add_outcome <> 'REFUSED') AS was_taken,
           (array_agg(b.add_outcome ORDER BY i.created_at DESC))[1] AS last
         FROM instruction i JOIN bank_payment b ON b.employer_id = i.employer_id AND b.instruction_id = i.id
         WHERE i.employer_id = $1 AND i.pay_run_id = $2 AND i.created_at >= asked.created_at
           AND b.payment_id = ANY (r.forbidden) AND b.add_outcome IN ('ADDED', 'ADOPTED', 'REFUSED')
         GROUP BY b.payment_id) AS one) AS since
     WHERE a.employer_id = $1 AND a.kind = 'CREDENTIALS' AND a.subject_id = $1 AND a.resolved_at IS NOT NULL
       AND d.action = 'RESUME' AND d.confirmed_at IS NOT NULL AND r."runId" = $2 AND r.forbidden IS NOT NULL`,
    [tx.employerId, payRunId],
  );
  const took = await tx.query<{ id: string }>(
    `SELECT DISTINCT b.payment_id AS id FROM instruction i
     JOIN bank_payment b ON b.employer_id = i.employer_id AND b.instruction_id = i.id
     WHERE i.employer_id = $1 AND i.pay_run_id = $2 AND i.id <> $3
       AND b.payment_id = ANY ($4) AND b.add_outcome IN ('ADDED', 'ADOPTED')`,
    [tx.employerId, payRunId, id, paymentIds],
  );
  return {
    resumed: new Set(resumed.flatMap((one) => (one.taken.length === 0 ? one.ids : []))),
    askedEach: new Set(resumed.flatMap(({ refused }) => refused)),
    tookElsewhere: new Set(took.map((one) => one.id)),
  };
}

/** What the open question is about. */
async function openRefusals(tx: EmployerTransaction): Promise<AskedRefusal[]> {
  const open = await openAbout(tx, { kind: 'CREDENTIALS', subjectId: tx.employerId });
  if (!open) return [];
  const { refusals, payRunId: runId, instructionId, happened } = open;
  if (refusals !== null || runId === null) return refusals ?? [];
  // Asked before they were kept: what was hidden then is read again, and told as it is.
  const words = happened.split(HIDDEN, 1).join('').trim();
  if (words === '') return [];
  return [{ runId, instructionId: instructionId ?? undefined, isHidden: false, words }];
}

/**
 * Without what was hidden and has ended since, or was found never to be submitted, and what was refused to runs that send
 * nothing any more; what kept a run from being followed stays until that is over, and what is refused of one that was over
 * then stays too: it would be told anew at every read.
 */
async function stillRefused(
  tx: EmployerTransaction,
  refusals: readonly AskedRefusal[],
): Promise<AskedRefusal[]> {
  const instructions = await tx.query<{ id: string; status: InstructionStatus }>(
    'SELECT id, status FROM instruction WHERE employer_id = $1 AND id = ANY ($2)',
    [tx.employerId, refusals.map(({ instructionId }) => instructionId).filter((id) => id !== undefined)],
  );
  const runs = await tx.query<{ id: string; status: PayRunStatus }>(
    'SELECT id, status FROM pay_run WHERE employer_id = $1 AND id = ANY ($2)',
    [tx.employerId, refusals.map(({ runId }) => runId)],
  );
  return refusals.filter(({ isHidden, instructionId, runId, runWas }) => {
    const instruction = instructions.find(({ id }) => id === instructionId);
    const run = runs.find(({ id }) => id === runId);
    if (isHidden) return instruction !== undefined && INSTRUCTION_UNDER_WAY.includes(instruction.status);
    if (runWas !== undefined && isPayRunFinal(runWas)) return true;
    if (run === undefined || isPayRunFinal(run.status)) return false;
    return (
      runWas !== undefined ||
      PAY_RUN_GOING_ON.includes(run.status) ||
      instruction?.status === 'SUBMIT_REFUSED'
    );
  });
}

/** Has what else is submitted for the employer be read now. */
async function lookAtSubmitted(tx: EmployerTransaction, instructionId: string): Promise<void> {
  const others = await tx.query<{ id: string }>(
    `SELECT id FROM instruction WHERE employer_id = $1 AND status = 'SUBMITTED' AND id <> $2`,
    [tx.employerId, instructionId],
  );
  wake(
    tx,
    'FOLLOW',
    others.map(({ id }) => id),
  );
}

/** The question about refusals, filed under the run of the first. */
async function alarmOf(tx: EmployerTransaction, refusals: AskedRefusal[]): Promise<Alarm> {
  const runIds = [...new Set(refusals.map(({ runId }) => runId))];
  const accounts = new Set<string>();
  const totals = [];
  for (const runId of runIds) {
    const run = await readById(tx, PayRun, runId);
    accounts.add((await readById(tx, EmployerAccount, run.accountId)).bankAccountId);
    totals.push(await heldUp(tx, run, refusals));
  }
  return {
    kind: 'CREDENTIALS',
    subjectId: tx.employerId,
    payRunId: runIds[0],
    instructionId: refusals.length === 1 ? refusals[0]?.instructionId : undefined,
    bankReference: [...accounts].join(', '),
    happened: told(refusals),
    ...(await wordsOfForbidden(tx, refusals)),
    payments: totals.reduce((sum, { payments }) => sum + payments, 0),
    amountMinor: sumMinor(totals.map(({ amountMinor }) => amountMinor)),
    refusals,
  };
}

/** What else is certain, and to be asked, where adds are forbidden; nothing where none is. */
async function wordsOfForbidden(
  tx: EmployerTransaction,
  refusals: readonly AskedRefusal[],
): Promise<Pick<Alarm, 'certain' | 'askBank'>> {
  const forbidden = refusals.filter((one) => one.forbidden !== undefined);
  if (forbidden.length === 0) return {};
  const instructions = await tx.query<{ id: string }>(
    `SELECT bank_instruction_id AS id FROM instruction
     WHERE employer_id = $1 AND id = ANY ($2) AND bank_instruction_id IS NOT NULL ORDER BY instruction.id`,
    [tx.employerId, forbidden.map(({ instructionId }) => instructionId)],
  );
  const named = instructions.map(({ id }) => id).join(', ');
  return forbidden.length === refusals.length ? forbiddenAdds(named) : forbiddenBesides(named);
}

/** What of a run that is being submitted no submit left for, and what the refusals are about; of any other, all. */
async function heldUp(
  tx: EmployerTransaction,
  run: PayRun,
  refusals: readonly AskedRefusal[],
): Promise<{ payments: number; amountMinor: bigint }> {
  if (run.status !== 'SUBMITTING') return { payments: run.rowCount, amountMinor: run.totalMinor };
  const instructionIds = refusals.map(({ instructionId }) => instructionId);
  return unsentOf(
    tx,
    run,
    instructionIds.filter((id) => id !== undefined),
  );
}

/** Each refusal with its runs, whose names are told unless it is the only one and hides nothing. */
function told(refusals: readonly AskedRefusal[]): string {
  const [first] = refusals;
  if (first && refusals.length === 1 && !first.isHidden) return first.words;
  const sentences = refusals.map(({ runId, isHidden, words }) =>
    isHidden ? hiddenWith(refusals, words) : `Of ${showId('run', runId)}: ${words}`,
  );
  return [...new Set(sentences)].join(' ');
}

/** Of all that the bank hides with the same refusal. */
function hiddenWith(refusals: readonly AskedRefusal[], refusal: string): string {
  const alike = refusals.filter(({ isHidden, words }) => isHidden && words === refusal);
  const names = new Set(alike.map(({ runId }) => showId('run', runId)));
  return `${HIDDEN} ${[...names].join(', ')}: ${refusal}.`;
}
