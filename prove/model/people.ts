import { isPastSubmit } from '../../src/domain/bank-status';
import { Unreachable } from './bank';
import { CommitLost, type Context, endUnsubmitted, type Step } from './context';
import type { Instruction, Payment, Planned } from './store';
import { recordExecuted } from './submit';
import { LAG_BOUND_MS } from './world';

/** People look at the desk so often, and decide at most so much in one life of the model. */
const LOOK_MS = 150;
const MOST_DECISIONS = 12;
/** A run and its successors: a doubt of a doubt is left open. */
const MOST_RUNS = 3;

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
    decisions += resume(context) + tryAgain(context);
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

/** EXECUTED or NOT_EXECUTED, as `Burial.prove` demands it: dead at the bank, by its own confirmation. */
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
    const deleted = bank.delete(bankId).kind === 'yes';
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

function tryAgain(context: Context): number {
  const { store } = context;
  if (!store.raised.has('REBUILD_LIMIT')) return 0;
  let decisions = 0;
  for (const planned of store.runs.flatMap((run) => run.planned)) {
    if (!store.open.has(`REBUILD_LIMIT ${planned.id}`) || planned.run.status !== 'BUILDING') continue;
    const current = store.currentOf(planned);
    if (!current || current.status === 'VERIFIED') continue;
    if (current.status === 'PLANNED' || current.status === 'BUILDING') endUnsubmitted(context, current);
    store.clear(['REBUILD_LIMIT'], planned.id);
    store.planAttempt(planned, 1);
    decisions += 1;
  }
  return decisions;
}
