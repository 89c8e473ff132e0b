import { isPastSubmit } from '../../src/domain/bank-status';
import type { PayRunStatus } from '../../src/domain/pay-run';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import { Unreachable } from './bank';
import { CommitLost, type Context, endUnsubmitted, type Step } from './context';
import type { Instruction, Payment, Planned, Run, Store } from './store';
import { recordExecuted } from './submit';
import { LAG_BOUND_MS } from './world';

/** People look at the desk so often, and decide at most so much in one life of the model. */
const LOOK_MS = 150;
const MOST_DECISIONS = 12;
/** A run and its successors: a doubt of a doubt is left open. */
const MOST_RUNS = 3;
/** What is decided by trying again, and in which states of its run. */
const BUILT_AGAIN = ['REBUILD_LIMIT', 'INITIATE_REFUSED', 'ROW_REFUSED_BY_BANK'] as const;
const BUILT_IN: readonly PayRunStatus[] = ['BUILDING', 'VERIFIED', 'SUBMITTING'];

/** Two people at the attention desk, who decide by the evidence the product asks of them; others who go around it. */
export function* people(context: Context): Step {
  const { store, world } = context;
  for (let decisions = 0; decisions < MOST_DECISIONS;) {
    yield LOOK_MS;
    cancelOnce(context);
    for (const instruction of [...store.instructions]) {
      if (instruction.status !== 'SUBMIT_UNKNOWN' && instruction.status !== 'SUBMIT_REFUSED') continue;
      decisions += 1;
      if (world.armedByHand && instruction.status === 'SUBMIT_UNKNOWN')
        yield* armByHand(context, instruction);
      else yield* decide(context, instruction);
    }
    decisions += resume(context) + tryAgain(context) + acknowledge(context);
  }
  return 0;
}

/** Asks for the cancellation when its time has come; refused once submitting has begun. */
function cancelOnce({ store, world }: Context): void {
  const [run] = store.runs;
  if (!run || world.cancelledAtMs === undefined || store.nowMs < world.cancelledAtMs) return;
  world.cancelledAtMs = undefined;
  if (!['APPROVED', 'BUILDING', 'VERIFIED'].includes(run.status)) return;
  store.moveRun(run, 'CANCELLING');
  store.wake('RUN', run.id);
}

/** Past the service and its state table, as only the owner of the database can. */
function* armByHand({ store }: Context, instruction: Instruction): Step {
  yield 1;
  if (instruction.status !== 'SUBMIT_UNKNOWN') return 0;
  instruction.status = 'VERIFIED';
  const { run } = instruction.planned;
  if (run.status === 'FOLLOWING') run.status = 'SUBMITTING';
  store.wake('INSTRUCTION', instruction.id);
  return 0;
}

/** EXECUTED or NOT_EXECUTED, as `Burial.prove` demands it: dead at the bank, by its answer or its word in writing. */
function* decide(context: Context, instruction: Instruction): Step {
  const { store, bank } = context;
  const bankId = instruction.bankId ?? '';
  try {
    if (moved(context, bankId)) {
      recordExecuted(context, instruction, undefined);
      store.clear(['SUBMIT_UNKNOWN', 'SUBMIT_REFUSED'], instruction.id);
      return 0;
    }
    yield 5;
    const deleted = bank.delete(bankId).kind === 'yes' || bank.writesOfDeath(bankId);
    yield LAG_BOUND_MS;
    if (!deleted || moved(context, bankId) || bank.readInstruction(bankId) !== 'gone') return 0;
    yield 1;
    if (instruction.status === 'SUBMIT_UNKNOWN' || instruction.status === 'SUBMIT_REFUSED')
      bury(context, instruction);
  } catch (error) {
    if (!(error instanceof Unreachable || error instanceof CommitLost)) throw error;
  }
  return 0;
}

function moved({ bank }: Context, bankId: string): boolean {
  const shown = bank.readInstruction(bankId);
  return shown !== 'gone' && isPastSubmit(shown.status);
}

/** Its payments are VOID, and are paid as new payments of a successor run with an approval of its own. */
function bury({ store }: Context, instruction: Instruction): void {
  const { planned } = instruction;
  store.moveInstruction(instruction, 'VOID');
  store.movePayments(planned, 'AT_BANK', 'VOID');
  store.clear(['SUBMIT_UNKNOWN', 'SUBMIT_REFUSED'], instruction.id);
  store.wake('FOLLOW', instruction.id);
  store.wake('RUN', planned.run.id);
  if (store.runs.length < MOST_RUNS) store.addRun(successors(planned), planned.count, undefined);
}

function successors({ payments }: Planned): Payment[] {
  return payments.map((payment) => ({
    ...payment,
    iban: payment.approvedIban,
    amountMinor: payment.approvedMinor,
    status: 'APPROVED',
    bankStatus: null,
    rank: 0,
  }));
}

/** The access was granted again. */
function resume({ store }: Context): number {
  if (!store.employerStopped) return 0;
  store.employerStopped = false;
  store.clear(['CREDENTIALS'], 0);
  for (const { id } of store.runs) store.wake('RUN', id);
  for (const { id } of store.instructions) store.wake('INSTRUCTION', id);
  return 1;
}

/** Builds an instruction anew whose initiation, adds or rebuilds the bank refused: as `AttentionDesk.tryAgain`. */
function tryAgain(context: Context): number {
  const { store } = context;
  if (!BUILT_AGAIN.some((kind) => store.raised.has(kind))) return 0;
  let decisions = 0;
  for (const planned of store.runs.flatMap((run) => run.planned)) {
    const current = store.currentOf(planned);
    if (!current || !isAsked(context, planned, current) || !BUILT_IN.includes(planned.run.status)) continue;
    if (['PLANNED', 'BUILDING', 'VERIFIED'].includes(current.status)) endUnsubmitted(context, current);
    if (current.status !== 'ABANDONED' && current.status !== 'CANCELLED') continue;
    store.clear(BUILT_AGAIN, planned.id);
    store.clear(BUILT_AGAIN, current.id);
    store.planAttempt(planned, current.attempt + 1);
    decisions += 1;
  }
  return decisions;
}

function isAsked({ store }: Context, planned: Planned, current: Instruction): boolean {
  const asked = (kind: AttentionKind, subject: number) => store.open.has(`${kind} ${subject}`);
  return (
    asked('REBUILD_LIMIT', planned.id) ||
    asked('INITIATE_REFUSED', current.id) ||
    asked('ROW_REFUSED_BY_BANK', current.id)
  );
}

/**
 * What was abandoned or released before any submit is not paid by it, whatever the bank held: they have read it. A run
 * that was stopped for it is let go on.
 */
function acknowledge({ store }: Context): number {
  let decisions = 0;
  for (const { id, planned } of store.instructions) {
    if (store.open.has(`STALE_DATE ${id}`)) {
      store.clear(['STALE_DATE'], id);
      decisions += 1;
    }
    if (!store.open.has(`ECHO_MISMATCH ${id}`)) continue;
    store.clear(['ECHO_MISMATCH'], id);
    decisions += 1;
    if (planned.run.stopped) letGoOn(store, planned.run);
  }
  return decisions;
}

function letGoOn(store: Store, run: Run): void {
  run.stopped = false;
  store.wake('RUN', run.id);
  for (const { id, planned } of store.instructions) if (planned.run === run) store.wake('INSTRUCTION', id);
}
