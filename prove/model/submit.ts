import type { Outcome } from '../../src/bank/outcome';
import { isPastSubmit } from '../../src/domain/bank-status';
import { judgeGroups } from '../../src/pay-run/match';
import { afterSubmitAnswer } from '../../src/submission/decision';
import type { SeenInstruction } from './bank';
import { breach, mismatch } from './build';
import {
  type Context,
  fence,
  mayCall,
  NEVER,
  READ_AGAIN_MS,
  rebuild,
  type Step,
  stopEverything,
  STOPPED_PAUSE_MS,
  transaction,
} from './context';
import { readBack } from './read-back';
import { type Claim, hashOf, type Instruction } from './store';
import { LAG_BOUND_MS, SUBMIT_DOUBT_MS } from './world';

const TURNED_AWAY = 'turned away';

/** The instruction gate and the one submit (rules 7, 8 and 9): as `Submitter.step` of the product. */
export function* submit(context: Context, claim: Claim, instruction: Instruction): Step {
  const { store, without } = context;
  const read = instruction.status;
  if (without === 'gate') return yield* send(context, claim, instruction);
  if (hashOf(instruction.planned.payments) !== instruction.planned.approvedHash) {
    transaction(context, () => {
      store.raise('INVARIANT_BREACH', instruction.planned.id);
      instruction.planned.run.stopped = true;
    });
    return NEVER;
  }
  yield 3;
  const reading = readBack(context, instruction);
  yield 1;
  switch (reading.kind) {
    case 'equal':
      return yield* send(context, claim, instruction);
    case 'fewer':
    case 'wait':
      return READ_AGAIN_MS;
    case 'moved':
      return breach(context, claim, instruction, read);
    case 'different':
      mismatch(context, claim, instruction, reading);
      transaction(context, () => (instruction.planned.run.stopped = true));
      return rebuild(context, claim, instruction);
    case 'dead':
    case 'unidentified':
      return rebuild(context, claim, instruction);
  }
}

function* send(context: Context, claim: Claim, instruction: Instruction): Step {
  const { store, bank, without, world } = context;
  const { planned } = instruction;
  yield 1;
  const intended = transaction(context, () => {
    mayCall(context, claim, instruction, 'VERIFIED', ['SUBMITTING']);
    if (planned.run.cutOffAtMs !== undefined && store.nowMs >= planned.run.cutOffAtMs) {
      release(context, instruction);
      return false;
    }
    if (without !== 'intent') intend(context, instruction);
    return true;
  });
  if (!intended) return NEVER;
  yield 2;
  const outcome = bank.submit(instruction.bankId ?? '');
  yield 2;
  return transaction(context, () => {
    // Without an intent only whoever lives to see the answer knows that it was sent.
    if (without === 'intent') intend(context, instruction);
    return recordAnswer(context, instruction, outcome, world.rejectsBeforeExecuting);
  });
}

function intend({ store, without }: Context, instruction: Instruction): void {
  if (instruction.status === 'VERIFIED' || without !== 'fencing')
    store.moveInstruction(instruction, 'SUBMIT_INTENT');
  store.insertAttempt(instruction, without !== 'unique');
}

function recordAnswer(
  context: Context,
  instruction: Instruction,
  outcome: Outcome<SeenInstruction>,
  promised: boolean,
): number {
  const { store } = context;
  if (instruction.status !== 'SUBMIT_INTENT') return NEVER;
  switch (afterSubmitAnswer(outcome, promised)) {
    case 'executed':
      recordExecuted(context, instruction, outcome.kind === 'yes' ? outcome.value : undefined);
      return NEVER;
    case 'unsent':
      finishAttempt(context, instruction, 'PROVEN_UNSENT', null);
      store.moveInstruction(instruction, 'VERIFIED');
      return READ_AGAIN_MS;
    case 'refused':
      finishAttempt(context, instruction, 'REFUSED', null);
      store.moveInstruction(instruction, 'SUBMIT_REFUSED');
      store.raise('SUBMIT_REFUSED', instruction.id);
      store.wake('RUN', instruction.planned.run.id);
      return READ_AGAIN_MS;
    case 'rejected-unexecuted':
      finishAttempt(context, instruction, 'IN_DOUBT', TURNED_AWAY);
      return LAG_BOUND_MS;
    case 'in-doubt':
      finishAttempt(context, instruction, 'IN_DOUBT', null);
      return READ_AGAIN_MS;
  }
}

function release(context: Context, instruction: Instruction): void {
  const { store } = context;
  store.moveInstruction(instruction, 'RELEASED');
  store.movePayments(instruction.planned, 'AT_BANK', 'VOID');
  store.raise('STALE_DATE', instruction.id);
  store.wake('FOLLOW', instruction.id);
  store.wake('RUN', instruction.planned.run.id);
}

type AttemptOutcome = 'EXECUTED' | 'IN_DOUBT' | 'REFUSED' | 'PROVEN_UNSENT';

function finishAttempt(
  { store }: Context,
  instruction: Instruction,
  outcome: AttemptOutcome,
  detail: string | null,
): void {
  const attempt = store.attempts.find(
    (one) => one.instruction === instruction && one.outcome !== 'PROVEN_UNSENT',
  );
  if (attempt) Object.assign(attempt, { outcome, detail, sinceMs: store.nowMs });
}

/** As `recordExecuted` of the product: the check of totals and the change of state are one transaction (rule 9). */
export function recordExecuted(
  context: Context,
  instruction: Instruction,
  shown: SeenInstruction | undefined,
): void {
  const { store, without } = context;
  const totals = without === 'totals' ? 'equal' : judgeGroups(instruction.planned, shown?.groups);
  finishAttempt(context, instruction, 'EXECUTED', null);
  store.moveInstruction(instruction, 'SUBMITTED');
  instruction.submittedMs = store.nowMs;
  if (totals === 'equal') instruction.totalsCheckedMs = store.nowMs;
  store.movePayments(instruction.planned, 'AT_BANK', 'SUBMITTED');
  if (totals === 'different') totalsDiffer(context, instruction.id);
  store.wake('FOLLOW', instruction.id);
  store.wake('RUN', instruction.planned.run.id);
}

/** As `totalsDiffer` of the product. */
export function totalsDiffer(context: Context, subject: number | string): void {
  context.store.raise('TOTAL_MISMATCH_AFTER_SUBMIT', subject);
  stopEverything(context);
}

/** A submit without an answer is read until it is proven, then parked (rule 8): as `Recovery.step` of the product. */
export function* recover(context: Context, claim: Claim, instruction: Instruction): Step {
  const { store, bank } = context;
  yield 3;
  const shown = bank.readInstruction(instruction.bankId ?? '');
  yield 1;
  return transaction(context, () => {
    fence(context, claim);
    const { status } = instruction;
    if (status !== 'SUBMIT_INTENT' && status !== 'SUBMIT_UNKNOWN' && status !== 'SUBMIT_REFUSED')
      return NEVER;
    if (shown !== 'gone' && isPastSubmit(shown.status)) {
      recordExecuted(context, instruction, shown);
      store.clear(['SUBMIT_UNKNOWN', 'SUBMIT_REFUSED'], instruction.id);
      return NEVER;
    }
    if (status !== 'SUBMIT_INTENT') return STOPPED_PAUSE_MS;
    return decide(context, instruction, shown);
  });
}

function decide(context: Context, instruction: Instruction, shown: SeenInstruction | 'gone'): number {
  const { store, world } = context;
  const attempt = store.standingAttempt(instruction.planned);
  if (attempt?.outcome === null) {
    finishAttempt(context, instruction, 'IN_DOUBT', null);
    return READ_AGAIN_MS;
  }
  const ageMs = store.nowMs - (attempt?.sinceMs ?? 0);
  const stillInitiated = shown !== 'gone' && shown.status === 'INITIATED';
  const turnedAway = world.rejectsBeforeExecuting && attempt?.detail === TURNED_AWAY;
  if (turnedAway && stillInitiated && ageMs >= LAG_BOUND_MS) {
    finishAttempt(context, instruction, 'PROVEN_UNSENT', TURNED_AWAY);
    store.moveInstruction(instruction, 'VERIFIED');
    return READ_AGAIN_MS;
  }
  if (ageMs < SUBMIT_DOUBT_MS) return READ_AGAIN_MS * 3;
  store.moveInstruction(instruction, 'SUBMIT_UNKNOWN');
  store.raise('SUBMIT_UNKNOWN', instruction.id);
  store.wake('RUN', instruction.planned.run.id);
  return STOPPED_PAUSE_MS;
}
