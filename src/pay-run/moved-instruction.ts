import { EmployerTransaction } from '../database/database';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { aboutInstruction, Alarm, isDecided } from './attention.store';
import { isFoundSubmitted, isReleasedSince, isSaidExecuted } from './forgotten-pay';
import { Instruction, PlannedInstruction } from './instruction.entity';
import { subjectOfForgotten } from './named-subject';
import { tellOfPaidAlready } from './paid-already';
import type { PayRun } from './pay-run.entity';
import { SENT } from './sent';
import { awaitTurnOfRuns, stopUnlessDecided } from './stop';
import { MovedAfterAll, named, stopSuccessors, unsentSuccessors } from './stop-successors';

/** What matters of what is asked below: how far the bank went on with what others submitted is no news of it. */
export const UNRECORDED_MOVE = ' though it was never submitted.';

/** What does of what is asked once it was given up. */
const MOVED_AFTER_ALL = ' has moved at the bank.';

/** How it begins where the answer to a submit says so, after people said that it was not executed. */
const TAKEN_AFTER_ALL =
  'The bank took a submit that two people declared not executed: its answer was recorded late';

/** Of which an INVARIANT_BREACH has one where it tells that what was given up, or not submitted, has moved, and not something else. */
export const TELLS_OF_MOVE = [UNRECORDED_MOVE, MOVED_AFTER_ALL, TAKEN_AFTER_ALL];

/** What is asked of an instruction of ours that is past its submit at the bank, and was not submitted by us. */
export function unrecordedMove(
  instruction: Instruction,
  planned: PlannedInstruction,
  bankStatus: string,
): Alarm & { kind: 'INVARIANT_BREACH' } {
  return {
    kind: 'INVARIANT_BREACH',
    ...aboutInstruction(instruction, planned),
    happened: `Instruction ${instruction.bankInstructionId ?? ''}: its status is ${bankStatus}${UNRECORDED_MOVE}`,
  };
}

/**
 * What was given up is past its submit at the bank: everything stops until two people have decided it, be it before it was
 * given up or by the bank's word that it was executed, or are asked about it as a submit that a restored database has
 * forgotten, unless it was found in a status that no document names, or its rows were sent by another attempt. Whom it may
 * have paid stays written down, so that no run pays them again by that decision: those that would are stopped and can be
 * amended or cancelled, and so are those that replace its payments.
 * @param bankStatus a status past the submit, of it or of one of its payments
 * @param payments its payments that may have been replaced
 */
export async function tellOfMovedTombstone(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  bankStatus: string,
  payments: readonly MovedAfterAll[] = [],
): Promise<void> {
  await keepMoved(tx, instruction, bankStatus, payments);
  const name = named(instruction.bankInstructionId);
  await stopSuccessors(tx, payments, () => ({ shown: `${bankStatus} in ${name}`, words: [name] }));
  const isKnown =
    (await isDecided(tx, unrecordedMove(instruction, planned, bankStatus), [UNRECORDED_MOVE])) ||
    (await isFoundSubmitted(tx, instruction)) ||
    (await isSaidExecuted(tx, instruction));
  if (isKnown && !(await isSentByAnother(tx, planned))) return;
  const what = `An instruction that was ${instruction.status.toLowerCase()}`;
  await stopForMoved(tx, instruction, planned, what);
}

/** As `tellOfMovedTombstone`, of what people declared not executed, where the answer to its submit says that the bank took it. */
export async function tellOfTakenSubmit(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  bankStatus: string,
): Promise<void> {
  await keepMoved(tx, instruction, bankStatus);
  await stopForMoved(tx, instruction, planned, `${TAKEN_AFTER_ALL}. It`);
}

/** In whatever words people are told of one move, they decide it once, and in no others that are asked of it. */
function stopForMoved(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  what: string,
): Promise<void> {
  const happened = `${what}${MOVED_AFTER_ALL} Nobody of it is paid again by any run before it leaves them out, or a person released them.`;
  const alarm = { kind: 'INVARIANT_BREACH', ...aboutInstruction(instruction, planned), happened } as const;
  return stopUnlessDecided(tx, alarm, [MOVED_AFTER_ALL]);
}

/**
 * As `tellOfMovedTombstone`, of what a restore found in a status that no document names: nobody knew whether it was
 * submitted, and people may have released its rows since.
 * @param run undefined where that was forgotten too
 */
export function tellOfForgottenMove(
  tx: EmployerTransaction,
  bankInstructionId: string,
  run: PayRun | undefined,
): Promise<void> {
  return stopUnlessDecided(tx, {
    kind: 'INVARIANT_BREACH',
    subjectId: subjectOfForgotten(bankInstructionId),
    payRunId: run?.id,
    bankReference: bankInstructionId,
    payments: run?.rowCount,
    amountMinor: run?.totalMinor,
    happened: `An instruction of which nobody knew whether it was submitted${MOVED_AFTER_ALL} ${run === undefined ? OF_NO_RUN : OF_RUN}`,
  });
}

const OF_RUN =
  'Its run takes it back no more, or people of it were released in another run since. Nobody of it is paid by any run but one in which a person released them: leave them out of that.';

const OF_NO_RUN =
  'Its run was forgotten too, and the record does not say whom it pays: leave them out of every run that was made since.';

/** As `tellOfForgottenMove`, of a run that takes it back, or may still: only where another run can pay its people since. */
export async function tellWhereReleasedSince(
  tx: EmployerTransaction,
  bankInstructionId: string,
  run: PayRun,
): Promise<void> {
  if (await isReleasedSince(tx, bankInstructionId)) await tellOfForgottenMove(tx, bankInstructionId, run);
}

/** Whether a payment of what was given up was sent since, or may have been: then somebody may be paid twice. */
async function isSentByAnother(
  tx: EmployerTransaction,
  { payRunId, firstRow, lastRow }: PlannedInstruction,
): Promise<boolean> {
  const sent = await tx.query(
    `SELECT FROM payment p WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.row_no BETWEEN $3 AND $4 AND ${SENT} LIMIT 1`,
    [tx.employerId, payRunId, firstRow, lastRow],
  );
  return sent.length > 0;
}

/**
 * Writes down that what was given up has moved, once: of other attempts the rows may have been submitted since, or may be
 * left out and their run resumed. People are asked about each run that would pay them again. Waits for the turn at those
 * that replace its payments too, before anything stops.
 */
export async function keepMoved(
  tx: EmployerTransaction,
  { id }: Instruction,
  bankStatus: string,
  payments: readonly MovedAfterAll[] = [],
): Promise<void> {
  const kept = await tx.query(
    `INSERT INTO moved_instruction (employer_id, instruction_id, bank_status) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING RETURNING instruction_id`,
    [tx.employerId, id, bankStatus],
  );
  if (kept.length === 0) return;
  const repaying = await repayingRuns(tx);
  const successors = await unsentSuccessors(
    tx,
    payments.map(({ paymentId }) => paymentId),
  );
  await awaitTurnOfRuns(tx, [...repaying, ...successors]);
  // Anew: people may have left them out of a run that was waited for.
  const still = await repayingRuns(tx, repaying);
  await tx.query(
    `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = 'POSSIBLE_DUPLICATE_PAY'
     WHERE employer_id = $1 AND id = ANY ($2) AND stopped_at IS NULL`,
    [tx.employerId, still],
  );
  for (const runId of still) await tellOfPaidAlready(tx, runId);
}

/** The open runs that pay whom a submit which is not in the record may have paid; of some, or of all. */
async function repayingRuns(tx: EmployerTransaction, among?: readonly string[]): Promise<string[]> {
  const runs = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND status <> ALL ($2) AND ($3::uuid[] IS NULL OR id = ANY ($3))
       AND repays_forgotten(employer_id, id) ORDER BY id`,
    [tx.employerId, PAY_RUN_FINALS, among ?? null],
  );
  return runs.map(({ id }) => id);
}
