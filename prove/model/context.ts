import type { InstructionStatus } from '../../src/domain/instruction';
import type { PayRunStatus } from '../../src/domain/pay-run';
import { ASKED_OF_DIFFERENCES } from '../../src/pay-run/difference';
import type { Different } from '../../src/submission/decision';
import type { Guard } from '../guards';
import type { ModelBank } from './bank';
import type { Random } from './random';
import { type Claim, Fenced, type Instruction, type Run, type Store } from './store';
import { LAST_FAULT_MS, REBUILD_LIMIT, type World } from './world';

/** One seed's bank, database and world, and the guard that is taken away. */
export interface Context {
  store: Store;
  bank: ModelBank;
  random: Random;
  world: World;
  without: Guard | undefined;
}

/** The work of one claim: each `yield` is a moment that takes so long, and at which the process may die or pause. */
export type Step = Generator<number, number, void>;

export const NEVER = Infinity;
export const READ_AGAIN_MS = 10;
export const STOPPED_PAUSE_MS = 300;

/** The transaction's outcome is not known to whoever asked for it. */
export class CommitLost extends Error {}
/** Work was stopped between two calls. */
export class Halted extends Error {
  constructor(readonly obstacle: Obstacle) {
    super(obstacle);
  }
}
export type Obstacle = 'ENDED' | 'STOPPED' | 'NOT_ITS_TURN';

/** Runs a transaction; its commit may be lost, before or after it took effect. @throws CommitLost */
export function transaction<T>({ random, world, store }: Context, work: () => T): T {
  const lost = store.nowMs < LAST_FAULT_MS && random.chance(world.lostCommitRate);
  if (lost && random.chance(0.5)) throw new CommitLost();
  const result = work();
  if (lost) throw new CommitLost();
  return result;
}

/** @throws Fenced unless the claim stands, or nobody looks */
export function fence({ store, without }: Context, claim: Claim): void {
  if (without !== 'fencing' && !store.holds(claim)) throw new Fenced();
}

export function obstacleOf({ store }: Context, run: Run): Obstacle | undefined {
  if (run.status === 'CANCELLING' || run.status === 'CANCELLED') return 'ENDED';
  return run.stopped || store.employerStopped || store.submitsOff ? 'STOPPED' : undefined;
}

/** As `assertMayCall` of the product. @throws Halted, Fenced */
export function mayCall(
  context: Context,
  claim: Claim,
  instruction: Instruction,
  read: InstructionStatus,
  turns: readonly PayRunStatus[],
): void {
  const { run } = instruction.planned;
  const obstacle = obstacleOf(context, run);
  if (obstacle) throw new Halted(obstacle);
  if (!turns.includes(run.status)) throw new Halted('NOT_ITS_TURN');
  unchanged(context, claim, instruction, read);
}

/** What was read is concluded from only while nothing changed since. @throws Halted, Fenced */
export function unchanged(
  context: Context,
  claim: Claim,
  instruction: Instruction,
  read: InstructionStatus,
): void {
  if (context.without !== 'fencing' && instruction.status !== read) throw new Halted('NOT_ITS_TURN');
  fence(context, claim);
}

/** As `stopEverything` of the product. */
export function stopEverything({ store }: Context): void {
  store.submitsOff = true;
}

/** Ends an instruction that was not submitted, and plans its next attempt where nobody doubts. */
export function rebuild(context: Context, claim: Claim, instruction: Instruction): number {
  transaction(context, () => {
    fence(context, claim);
    abandon(context, instruction);
  });
  return NEVER;
}

/** As `Abandonment.differs` of the product: what is not what was approved ends and is told, in one transaction. */
export function differs(
  context: Context,
  claim: Claim,
  instruction: Instruction,
  { named }: Different,
): number {
  const read = instruction.status;
  const { run } = instruction.planned;
  transaction(context, () => {
    unchanged(context, claim, instruction, read);
    for (const kind of ASKED_OF_DIFFERENCES)
      if (named[kind].length > 0) context.store.raise(kind, instruction.id);
    if (run.status === 'SUBMITTING') run.stopped = true;
    abandon(context, instruction);
  });
  return NEVER;
}

function abandon(context: Context, instruction: Instruction): void {
  endUnsubmitted(context, instruction);
  if (obstacleOf(context, instruction.planned.run) === 'ENDED') return;
  if (instruction.attempt > REBUILD_LIMIT) context.store.raise('REBUILD_LIMIT', instruction.planned.id);
  else context.store.planAttempt(instruction.planned, instruction.attempt + 1);
}

/** As `endUnsubmitted` of the product. */
export function endUnsubmitted({ store }: Context, instruction: Instruction): void {
  const { planned } = instruction;
  if (instruction.status === 'PLANNED') store.moveInstruction(instruction, 'CANCELLED');
  else {
    store.moveInstruction(instruction, 'ABANDONED');
    store.movePayments(planned, 'AT_BANK', 'APPROVED');
    store.wake('FOLLOW', instruction.id);
  }
  store.wake('RUN', planned.run.id);
}

/** Stops the employer: the bank refuses our access. */
export function park({ store }: Context): void {
  store.employerStopped = true;
  store.raise('CREDENTIALS', 0);
}
