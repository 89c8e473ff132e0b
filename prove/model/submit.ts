import type { Outcome } from '../../src/bank/outcome';
import { isPastSubmit } from '../../src/domain/bank-status';
import { type JudgedTotals, judgeSubmitted } from '../../src/pay-run/match';
import { afterDoubt, afterSubmitAnswer, TURNED_AWAY } from '../../src/submission/decision';
import { type SeenInstruction, Unreachable } from './bank';
import { breach } from './build';
import {
  type Context,
  differs,
  fence,
  mayCall,
  NEVER,
  park,
  READ_AGAIN_MS,
  rebuild,
  type Step,
  stopEverything,
  STOPPED_PAUSE_MS,
  transaction,
} from './context';
import { readBack } from './read-back';
import { type Claim, hashOf, type Instruction } from './store';
import { LAG_BOUND_MS, REBUILD_LIMIT, SUBMIT_DOUBT_MS } from './world';

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
      return differs(context, claim, instruction, reading);
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
  const wakeInMs = transaction(context, () => {
    // Without an intent only whoever lives to see the answer knows that it was sent.
    if (without === 'intent') intend(context, instruction);
    return recordAnswer(context, instruction, outcome, world.rejectsBeforeExecuting);
  });
  if (outcome.kind === 'yes') yield* tellApart(context, instruction, judgeSubmitted(planned, outcome.value));
  return wakeInMs;
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
  if (outcome.kind === 'no' && outcome.reason === 'forbidden') park(context);
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
  const { store } = context;
  const totals = judgeSubmitted(instruction.planned, shown ?? {});
  finishAttempt(context, instruction, 'EXECUTED', null);
  store.moveInstruction(instruction, 'SUBMITTED');
  instruction.submittedMs = store.nowMs;
  if (totals.kind === 'equal') instruction.totalsCheckedMs = store.nowMs;
  store.movePayments(instruction.planned, 'AT_BANK', 'SUBMITTED');
  tell(context, instruction, totals);
  store.wake('FOLLOW', instruction.id);
  store.wake('RUN', instruction.planned.run.id);
}

/** Tells what differs, in the transaction that records it; without that guard it is recorded, and left to `tellApart`. */
export function tell(context: Context, instruction: Instruction, { kind }: JudgedTotals): void {
  if (kind !== 'different') return;
  if (context.without === 'totals') instruction.totalsCheckedMs = context.store.nowMs;
  else totalsDiffer(context, instruction.id);
}

/** Without the guard: in a transaction of its own, before which the process may die. */
export function* tellApart(context: Context, instruction: Instruction, { kind }: JudgedTotals): Step {
  if (context.without !== 'totals' || kind !== 'different') return NEVER;
  yield 1;
  transaction(context, () => totalsDiffer(context, instruction.id));
  return NEVER;
}

/** As `totalsDiffer` of the product. */
export function totalsDiffer(context: Context, subject: number | string): void {
  context.store.raise('TOTAL_MISMATCH_AFTER_SUBMIT', subject);
  stopEverything(context);
}

/** What a read says of a submit that was not answered. */
interface Evidence {
  shown: SeenInstruction | 'gone' | undefined;
  /** Why nothing could be read. */
  unread?: Unreachable;
  begunMs: number;
}

/** A submit without an answer is read until it is proven, then parked (rule 8): as `Recovery.step` of the product. */
export function* recover(context: Context, claim: Claim, instruction: Instruction): Step {
  const begunMs = context.store.nowMs;
  yield 3;
  const evidence = { ...evidenceOf(context, instruction), begunMs };
  yield 1;
  const wakeInMs = transaction(context, () => {
    fence(context, claim);
    return decide(context, instruction, evidence);
  });
  const { shown } = evidence;
  if (shown !== undefined && shown !== 'gone' && isPastSubmit(shown.status))
    yield* tellApart(context, instruction, judgeSubmitted(instruction.planned, shown));
  if (evidence.unread) throw evidence.unread;
  return wakeInMs;
}

function evidenceOf({ bank }: Context, { bankId }: Instruction): Omit<Evidence, 'begunMs'> {
  try {
    return { shown: bank.readInstruction(bankId ?? '') };
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return { shown: undefined, unread: error };
  }
}

function decide(context: Context, instruction: Instruction, { shown, begunMs }: Evidence): number {
  const { store, world } = context;
  const { status, planned } = instruction;
  if (status !== 'SUBMIT_INTENT' && status !== 'SUBMIT_UNKNOWN' && status !== 'SUBMIT_REFUSED') return NEVER;
  const seen = shown === 'gone' ? undefined : shown;
  if (seen && isPastSubmit(seen.status)) {
    recordExecuted(context, instruction, seen);
    store.clear(['SUBMIT_UNKNOWN', 'SUBMIT_REFUSED'], instruction.id);
    return NEVER;
  }
  if (status !== 'SUBMIT_INTENT') return STOPPED_PAUSE_MS;
  const attempt = store.standingAttempt(planned);
  const { outcome = null, detail = null, sinceMs = 0 } = attempt ?? {};
  const stillInitiated = seen?.status === 'INITIATED';
  const times = { ageMs: store.nowMs - sinceMs, readAgoMs: store.nowMs - begunMs };
  const timesTurnedAway = store.timesTurnedAway(planned);
  switch (
    afterDoubt(
      { outcome, detail, stillInitiated, ...times, timesTurnedAway, olderThanARestore: false },
      {
        rejectsBeforeExecuting: world.rejectsBeforeExecuting,
        lagBoundMs: LAG_BOUND_MS,
        doubtMs: SUBMIT_DOUBT_MS,
        rebuildLimit: REBUILD_LIMIT,
      },
    )
  ) {
    case 'begin':
      finishAttempt(context, instruction, 'IN_DOUBT', null);
      return READ_AGAIN_MS;
    case 'arm':
      finishAttempt(context, instruction, 'PROVEN_UNSENT', TURNED_AWAY);
      store.moveInstruction(instruction, 'VERIFIED');
      return READ_AGAIN_MS;
    case 'read-again':
      return READ_AGAIN_MS * 3;
    case 'park':
      store.moveInstruction(instruction, 'SUBMIT_UNKNOWN');
      store.raise('SUBMIT_UNKNOWN', instruction.id);
      store.wake('RUN', planned.run.id);
      return STOPPED_PAUSE_MS;
  }
}
