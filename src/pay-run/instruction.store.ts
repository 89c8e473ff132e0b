import { findById, readById, updateById } from '../database/by-id';
import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { newId } from '../database/new-id';
import type { IsoDate } from '../domain/calendar';
import { DomainError } from '../domain/errors';
import {
  assertInstructionMove,
  INSTRUCTION_INITIAL,
  InstructionStatus,
  isInstructionLive,
} from '../domain/instruction';
import { EmployerAccount } from '../employer/employer.entity';
import { MAX_DAYS_AHEAD } from '../employer/pay-limits';
import { keepDifferences } from './difference';
import { Actor, appendHistory } from './history';
import { Instruction, PlannedInstruction } from './instruction.entity';
import { closeOpenAdds } from './open-adds';
import { PayRun, PayRunVersion } from './pay-run.entity';
import { movePaymentSet } from './payment.store';

/** An instruction with what surrounds it, read in one transaction. */
export interface InstructionOfRun {
  instruction: Instruction;
  run: PayRun;
  planned: PlannedInstruction;
  account: EmployerAccount;
}

/** Reads an instruction with its run, plan and account; locks nothing. */
export async function instructionOfRun(
  tx: EmployerTransaction,
  id: string,
): Promise<InstructionOfRun | undefined> {
  const instruction = await findById(tx, Instruction, id);
  if (!instruction) return undefined;
  const [run, planned] = await Promise.all([
    readById(tx, PayRun, instruction.payRunId),
    planOf(tx, instruction),
  ]);
  const account = await readById(tx, EmployerAccount, run.accountId);
  return { instruction, run, planned, account };
}

/** As {@link instructionOfRun}, of several, in their order; those that are gone are left out. */
export async function instructionsOfRuns(
  tx: EmployerTransaction,
  ids: readonly string[],
): Promise<InstructionOfRun[]> {
  const found: InstructionOfRun[] = [];
  for (const id of ids) {
    const one = await instructionOfRun(tx, id);
    if (one) found.push(one);
  }
  return found;
}

/** The status of `bank_payment b` as it was followed: what its add was answered with is none that the bank showed since. */
export const STATUS_AS_FOLLOWED = `CASE WHEN b.bank_status_at IS NOT NULL THEN b.bank_status END`;

/**
 * Whether an instruction `i` of the employer in $1 was made, or bears a date at the bank, within the days in $2 or later: the
 * date of the version of its run that it was planned of, whatever came after.
 */
export const IS_RECENT = `i.created_at > clock_timestamp() - make_interval(days => $2 + ${MAX_DAYS_AHEAD})
  AND (i.created_at > clock_timestamp() - make_interval(days => $2) OR (
    SELECT v.execution_date FROM ${byKey('planned_instruction', 'i.planned_instruction_id')} l, LATERAL (
      SELECT execution_date FROM pay_run_version
      WHERE employer_id = $1 AND pay_run_id = l.pay_run_id AND run_version = l.run_version LIMIT 1) v
    ) > clock_timestamp() - make_interval(days => $2))`;

/** The date that what was planned bears at the bank. */
export async function dateOf(tx: EmployerTransaction, planned: PlannedInstruction): Promise<IsoDate> {
  const { payRunId, runVersion } = planned;
  const version = { employerId: tx.employerId, payRunId, runVersion };
  return (await tx.manager.findOneByOrFail(PayRunVersion, version)).executionDate;
}

/** Reads an instruction and locks it to the end of the transaction. @throws DomainError INSTRUCTION_NOT_FOUND */
export async function lockInstruction(tx: EmployerTransaction, id: string): Promise<Instruction> {
  const instruction = await findById(tx, Instruction, id, 'for_no_key_update');
  if (!instruction) throw new DomainError('INSTRUCTION_NOT_FOUND', 'There is no such instruction.');
  return instruction;
}

/** The instructions planned for the standing version of a run, in order. */
export function plannedInstructions(tx: EmployerTransaction, run: PayRun): Promise<PlannedInstruction[]> {
  return tx.manager.find(PlannedInstruction, {
    where: { employerId: tx.employerId, payRunId: run.id, runVersion: run.runVersion },
    order: { ordinal: 'ASC' },
  });
}

/** Whether each planned instruction of the standing version has a current instruction in one of the states. */
export async function everyInstructionIs(
  tx: EmployerTransaction,
  run: PayRun,
  states: readonly InstructionStatus[],
): Promise<boolean> {
  // Not joined, nor made entities of: while a run is built this is asked each time an instruction is done.
  const [planned, reached] = await Promise.all([
    tx.query<{ id: string }>(
      'SELECT id FROM planned_instruction WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3',
      [tx.employerId, run.id, run.runVersion],
      'kept',
    ),
    tx.query<{ id: string }>(
      `SELECT planned_instruction_id AS id FROM instruction
       WHERE employer_id = $1 AND pay_run_id = $2 AND status = ANY ($3)`,
      [tx.employerId, run.id, states],
      'kept',
    ),
  ]);
  const done = new Set(reached.map(({ id }) => id));
  return planned.every(({ id }) => done.has(id));
}

/** The plan an instruction follows. */
export function planOf(tx: EmployerTransaction, instruction: Instruction): Promise<PlannedInstruction> {
  return readById(tx, PlannedInstruction, instruction.plannedInstructionId);
}

/** What an instruction learns while it moves. */
export type InstructionPatch = Partial<
  Pick<
    Instruction,
    | 'bankInstructionId'
    | 'bankStatus'
    | 'bankRank'
    | 'verifiedAt'
    | 'submittedAt'
    | 'totalsCheckedAt'
    | 'closedAt'
    | 'outcome'
  >
>;

/** The one function that changes an instruction's state. The instruction must be locked in this transaction. */
export async function moveInstruction(
  tx: EmployerTransaction,
  instruction: Instruction,
  to: InstructionStatus,
  actor: Actor,
  patch: InstructionPatch = {},
  reason?: string,
): Promise<void> {
  const from = instruction.status;
  assertInstructionMove(from, to);
  const still = { id: instruction.id, status: from };
  await updateById(tx, Instruction, still, { ...patch, status: to, endedReason: reason });
  Object.assign(instruction, patch, { status: to });
  appendHistory(tx, [
    {
      subject: 'instruction',
      subjectId: instruction.id,
      payRunId: instruction.payRunId,
      from,
      to,
      actor,
      reason,
    },
  ]);
}

/** Plans the next attempt of a planned instruction and puts it on the work list. */
export async function planAttempt(
  tx: EmployerTransaction,
  planned: Pick<PlannedInstruction, 'id' | 'payRunId'>,
  attempt: number,
): Promise<void> {
  const id = newId();
  await tx.manager.insert(Instruction, {
    employerId: tx.employerId,
    id,
    payRunId: planned.payRunId,
    plannedInstructionId: planned.id,
    attempt,
    status: INSTRUCTION_INITIAL,
    bankRank: 0,
  });
  wake(tx, 'INSTRUCTION', [id]);
}

/**
 * Plans the next attempt of each planned instruction of the standing version that has none alive. Attempts are counted
 * on where an earlier approval of the same version has left some.
 * @param only the id of the one planned instruction that it is done of; all unless said
 */
export async function planTheRest(tx: EmployerTransaction, run: PayRun, only?: string): Promise<void> {
  const all = await tx.manager.findBy(Instruction, { employerId: tx.employerId, payRunId: run.id });
  for (const planned of await plannedInstructions(tx, run)) {
    if (only !== undefined && planned.id !== only) continue;
    const attempts = all.filter((one) => one.plannedInstructionId === planned.id);
    if (attempts.some(({ status }) => isInstructionLive(status))) continue;
    await planAttempt(tx, planned, Math.max(0, ...attempts.map(({ attempt }) => attempt)) + 1);
  }
}

/**
 * Ends an instruction that was not submitted: nothing of it will be paid, its payments are free to be built
 * again, and it stays watched, since what is abandoned must never move.
 */
export async function endUnsubmitted(
  tx: EmployerTransaction,
  instruction: Instruction,
  actor: Actor,
  reason: string,
): Promise<void> {
  if (instruction.status === 'PLANNED') {
    await moveInstruction(tx, instruction, 'CANCELLED', actor, {}, reason);
  } else {
    const planned = await planOf(tx, instruction);
    await closeOpenAdds(tx, instruction);
    await moveInstruction(tx, instruction, 'ABANDONED', actor, {}, reason);
    await keepDifferences(tx, instruction, planned);
    await movePaymentSet(tx, {
      payRunId: instruction.payRunId,
      planned,
      from: 'AT_BANK',
      to: 'APPROVED',
      actor,
      reason,
    });
    wake(tx, 'FOLLOW', [instruction.id]);
  }
  wake(tx, 'RUN', [instruction.payRunId]);
}
