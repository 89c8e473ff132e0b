import { echoFaultsOfPayment } from '../../src/bank/echo';
import type { Outcome } from '../../src/bank/outcome';
import { afterBuildAnswer } from '../../src/submission/decision';
import type { PaymentAtBank } from './bank';
import {
  CommitLost,
  type Context,
  mayCall,
  NEVER,
  park,
  READ_AGAIN_MS,
  type Step,
  transaction,
} from './context';
import { messageIdOf } from './read-back';
import type { Claim, Instruction, Payment } from './store';
import { BATCH_ROWS } from './world';

export const BUILD_TURNS = ['BUILDING', 'SUBMITTING'] as const;
const BATCHES_AT_ONCE = 2;

/** The rows of one instruction on their way to the bank. */
interface Job {
  context: Context;
  claim: Claim;
  instruction: Instruction;
  read: Instruction['status'];
  left: Payment[];
  stopped: boolean;
  wakeInMs: number;
}

interface Result {
  rowNo: number;
  outcome: Outcome<PaymentAtBank>;
}

/** Adds rows in batches, two under way at once, whose steps come in any order: as `Adder.add` of the product. */
export function* addRows(context: Context, claim: Claim, instruction: Instruction, rows: Payment[]): Step {
  const { status: read } = instruction;
  const job: Job = { context, claim, instruction, read, left: [...rows], stopped: false, wakeInMs: 0 };
  const lines = Array.from({ length: BATCHES_AT_ONCE }, () => line(job));
  const failures: unknown[] = [];
  while (lines.length > 0) {
    const n = context.random.between(0, lines.length - 1);
    try {
      const next = lines[n]?.next();
      if (next?.done === false) yield next.value;
      else lines.splice(n, 1);
    } catch (error) {
      job.stopped = true;
      failures.push(error);
      lines.splice(n, 1);
    }
  }
  if (failures.length > 0) throw failures[0];
  return job.wakeInMs;
}

function* line(job: Job): Step {
  let batch = nextOf(job);
  if (batch === undefined) return 0;
  yield 1;
  transaction(job.context, () => intend(job, batch));
  while (batch !== undefined) batch = yield* carryOut(job, batch);
  return 0;
}

function nextOf({ left, stopped }: Job): Payment[] | undefined {
  return stopped || left.length === 0 ? undefined : left.splice(0, BATCH_ROWS);
}

function intend({ context, claim, instruction, read }: Job, rows: readonly Payment[] = []): void {
  mayCall(context, claim, instruction, read, BUILD_TURNS);
  instruction.lastAddMs = context.store.nowMs;
  if (context.without === 'intent') return;
  for (const { rowNo } of rows) instruction.openIntents.add(rowNo);
}

/** Makes the adds of a batch and writes their outcomes down; where all were taken, with the intents of the next. */
function* carryOut(job: Job, batch: readonly Payment[]): Generator<number, Payment[] | undefined, void> {
  const { context } = job;
  const results: Result[] = [];
  for (const row of batch) {
    yield 2;
    if (job.stopped) break;
    const outcome = send(context, job.instruction, row);
    results.push({ rowNo: row.rowNo, outcome });
    if (outcome.kind === 'no' && outcome.reason !== 'invalid') job.stopped = true;
  }
  yield 2;
  const taken = results.length === batch.length && results.every(({ outcome }) => outcome.kind === 'yes');
  const next = taken ? nextOf(job) : undefined;
  if (next !== undefined) return goOn(job, batch, results, next);
  transaction(context, () => recordBatch(job, batch, results));
  const other = nextOf(job);
  if (other === undefined) return undefined;
  yield 1;
  transaction(context, () => intend(job, other));
  return other;
}

/** Where the next may not be called, the outcomes are recorded all the same. */
function goOn(job: Job, batch: readonly Payment[], results: readonly Result[], next: Payment[]): Payment[] {
  try {
    transaction(job.context, () => {
      intend(job, next);
      recordBatch(job, batch, results);
    });
  } catch (error) {
    if (!(error instanceof CommitLost)) transaction(job.context, () => recordBatch(job, batch, results));
    throw error;
  }
  return next;
}

function send({ bank, without }: Context, instruction: Instruction, row: Payment): Outcome<PaymentAtBank> {
  const { amountMinor, iban } = row;
  const messageId = messageIdOf(instruction, row.rowNo);
  const bankId = instruction.bankId ?? '';
  const outcome = bank.add(bankId, { messageId, amountMinor, iban });
  if (outcome.kind !== 'yes' || without === 'echo') return outcome;
  const sent = { messageId, amountMinor, currency: 'EUR', creditor: { name: '', iban }, externalData: {} };
  const { id, ...echo } = outcome.value;
  const faults = echoFaultsOfPayment(sent, {
    bankPaymentId: id,
    ids: [id],
    ...echo,
    status: '',
    wasSettled: false,
  });
  return faults.length === 0 ? outcome : { kind: 'in-doubt', why: 'echo-differs' };
}

function recordBatch(job: Job, rows: readonly Payment[], results: readonly Result[]): void {
  const { context, instruction } = job;
  const { store } = context;
  for (const { rowNo, outcome } of results) {
    // A worker that was overtaken finds its rows recorded, and its transaction fails on their key.
    if (instruction.adds.has(rowNo)) continue;
    if (outcome.kind === 'yes') record(instruction, rowNo, 'ADDED', outcome.value.id);
    else if (outcome.kind === 'in-doubt') record(instruction, rowNo, 'IN_DOUBT');
    else if (outcome.reason === 'invalid') record(instruction, rowNo, 'REFUSED');
    if (outcome.kind === 'in-doubt' && outcome.why === 'echo-differs')
      store.raise('ECHO_MISMATCH', instruction.id);
    if (outcome.kind !== 'no') continue;
    const pauseMs = pauseAfter(context, outcome, () => store.raise('ROW_REFUSED_BY_BANK', instruction.id));
    if (pauseMs !== NEVER || store.employerStopped) job.wakeInMs = Math.max(job.wakeInMs, pauseMs);
  }
  instruction.lastAddMs = store.nowMs;
  for (const { rowNo } of rows) instruction.openIntents.delete(rowNo);
}

/** When to go on after an answer of a build call that was not a yes. */
export function pauseAfter(context: Context, outcome: Outcome<unknown>, refused: () => void): number {
  const next = afterBuildAnswer(outcome);
  switch (next.kind) {
    case 'doubt':
      return 0;
    case 'refused':
      refused();
      return NEVER;
    case 'wait':
      return READ_AGAIN_MS;
    case 'credentials':
      park(context);
      return NEVER;
  }
}

/** Writes down what became of a row's add. */
export function record(
  instruction: Instruction,
  rowNo: number,
  outcome: 'ADDED' | 'IN_DOUBT' | 'REFUSED',
  id?: string,
): void {
  instruction.adds.set(rowNo, { outcome, bankPaymentId: id });
}
