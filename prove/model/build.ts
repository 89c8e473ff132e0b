import { echoFaultsOfPayment } from '../../src/bank/echo';
import type { Outcome } from '../../src/bank/outcome';
import { afterBuildAnswer } from '../../src/submission/decision';
import type { PaymentAtBank } from './bank';
import {
  type Context,
  fence,
  mayCall,
  NEVER,
  park,
  READ_AGAIN_MS,
  rebuild,
  type Step,
  stopEverything,
  transaction,
  unchanged,
} from './context';
import { messageIdOf, readBack, type ReadBack } from './read-back';
import type { Claim, Instruction, Payment } from './store';
import { LAG_BOUND_MS, REBUILD_LIMIT } from './world';

const TURNS = ['BUILDING', 'SUBMITTING'] as const;
/** How long rows that were answered with a yes may stay unseen before a person is told. */
const UNSEEN_DEADLINE_MS = 1_000;

/** One step of building (rules 1 to 6): as `Builder.step` and `Verifier.step` of the product. */
export function* build(context: Context, claim: Claim, instruction: Instruction): Step {
  if (instruction.bankId === null) return yield* initiate(context, claim, instruction);
  closeOpenIntents(context, claim, instruction);
  const open = instruction.planned.payments.filter(({ rowNo }) => !instruction.adds.has(rowNo));
  if (open.length > 0) return yield* addBatch(context, claim, instruction, open);
  for (const { outcome } of instruction.adds.values()) if (outcome === 'REFUSED') return NEVER;
  return yield* verify(context, claim, instruction);
}

function* initiate(context: Context, claim: Claim, instruction: Instruction): Step {
  const { store, bank } = context;
  const read = instruction.status;
  yield 1;
  transaction(context, () => {
    mayCall(context, claim, instruction, read, TURNS);
    instruction.initiates += 1;
    if (instruction.status !== 'PLANNED') return;
    store.moveInstruction(instruction, 'BUILDING');
    store.movePayments(instruction.planned, 'APPROVED', 'AT_BANK');
  });
  yield 2;
  const outcome = bank.initiate();
  yield 2;
  return transaction(context, () => {
    if (outcome.kind === 'yes') {
      instruction.bankId ??= outcome.value;
      instruction.bankStatus = 'INITIATED';
      if (instruction.status === 'BUILDING') store.clear(['REBUILD_LIMIT'], instruction.planned.id);
      return 0;
    }
    if (outcome.kind === 'no') instruction.initiates -= 1;
    else if (instruction.initiates > REBUILD_LIMIT) store.raise('REBUILD_LIMIT', instruction.planned.id);
    return pauseAfter(context, outcome, () => store.raise('INITIATE_REFUSED', instruction.id));
  });
}

function pauseAfter(context: Context, outcome: Outcome<unknown>, refused: () => void): number {
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

function closeOpenIntents(context: Context, claim: Claim, instruction: Instruction): void {
  transaction(context, () => {
    fence(context, claim);
    for (const rowNo of instruction.openIntents) {
      if (!instruction.adds.has(rowNo)) record(instruction, rowNo, 'IN_DOUBT');
    }
    instruction.openIntents.clear();
  });
}

function record(
  instruction: Instruction,
  rowNo: number,
  outcome: 'ADDED' | 'IN_DOUBT' | 'REFUSED',
  id?: string,
): void {
  instruction.adds.set(rowNo, { outcome, bankPaymentId: id });
}

function* addBatch(context: Context, claim: Claim, instruction: Instruction, rows: readonly Payment[]): Step {
  const { store, without } = context;
  const read = instruction.status;
  yield 1;
  transaction(context, () => {
    mayCall(context, claim, instruction, read, TURNS);
    instruction.lastAddMs = store.nowMs;
    if (without === 'intent') return;
    for (const { rowNo } of rows) instruction.openIntents.add(rowNo);
  });
  const results: { rowNo: number; outcome: Outcome<PaymentAtBank> }[] = [];
  for (const row of rows) {
    yield 2;
    const outcome = send(context, instruction, row);
    results.push({ rowNo: row.rowNo, outcome });
    if (outcome.kind === 'no' && outcome.reason !== 'invalid') break;
  }
  yield 2;
  return transaction(context, () => recordBatch(context, instruction, rows, results));
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
    history: [],
  });
  return faults.length === 0 ? outcome : { kind: 'in-doubt', why: 'echo-differs' };
}

function recordBatch(
  context: Context,
  instruction: Instruction,
  rows: readonly Payment[],
  results: readonly { rowNo: number; outcome: Outcome<PaymentAtBank> }[],
): number {
  const { store } = context;
  let wakeIn = 0;
  for (const { rowNo, outcome } of results) {
    // A worker that was overtaken finds its rows recorded, and its transaction fails on their key.
    if (instruction.adds.has(rowNo)) continue;
    if (outcome.kind === 'yes') record(instruction, rowNo, 'ADDED', outcome.value.id);
    else if (outcome.kind === 'in-doubt') record(instruction, rowNo, 'IN_DOUBT');
    else if (outcome.reason === 'invalid') record(instruction, rowNo, 'REFUSED');
    if (outcome.kind === 'in-doubt' && outcome.why === 'echo-differs')
      store.raise('ECHO_MISMATCH', instruction.id);
    if (outcome.kind === 'no') {
      const refused = () => store.raise('ROW_REFUSED_BY_BANK', instruction.id);
      wakeIn = Math.max(wakeIn, pauseAfter(context, outcome, refused));
    }
  }
  instruction.lastAddMs = store.nowMs;
  for (const { rowNo } of rows) instruction.openIntents.delete(rowNo);
  return wakeIn === NEVER && !store.employerStopped ? 0 : wakeIn;
}

function* verify(context: Context, claim: Claim, instruction: Instruction): Step {
  const { store, without } = context;
  const read = instruction.status;
  const doubts = instruction.planned.payments.filter(
    ({ rowNo }) => instruction.adds.get(rowNo)?.outcome === 'IN_DOUBT',
  );
  const sinceLastAddMs = store.nowMs - instruction.lastAddMs;
  const lagLeftMs = LAG_BOUND_MS - sinceLastAddMs;
  if (without === 'gate') return verified(context, claim, instruction, [], undefined);
  if (lagLeftMs > 0 && doubts.length === 0) return lagLeftMs;
  yield 3;
  const reading = readBack(context, instruction);
  yield 1;
  switch (reading.kind) {
    case 'equal':
      return verified(context, claim, instruction, doubts, reading);
    case 'fewer': {
      const unseen = doubts.filter(({ rowNo }) => !reading.judgement.matched.has(rowNo));
      if (unseen.length > 0 && lagLeftMs <= 0) return giveUp(context, claim, instruction, unseen);
      if (unseen.length === 0 && sinceLastAddMs > UNSEEN_DEADLINE_MS) {
        transaction(context, () => store.raise('ROW_UNSEEN', instruction.id));
      }
      return Math.max(READ_AGAIN_MS, lagLeftMs);
    }
    case 'wait':
      return READ_AGAIN_MS;
    case 'moved':
      return breach(context, claim, instruction, read);
    case 'different':
      mismatch(context, claim, instruction, reading);
      return rebuild(context, claim, instruction);
    case 'dead':
    case 'unidentified':
      return rebuild(context, claim, instruction);
  }
}

/** An add that was not seen ends its instruction; without that guard it is simply sent again. */
function giveUp(
  context: Context,
  claim: Claim,
  instruction: Instruction,
  unseen: readonly Payment[],
): number {
  if (context.without !== 'abandon') return rebuild(context, claim, instruction);
  transaction(context, () => unseen.forEach(({ rowNo }) => instruction.adds.delete(rowNo)));
  return 0;
}

function verified(
  context: Context,
  claim: Claim,
  instruction: Instruction,
  doubts: readonly Payment[],
  reading: (ReadBack & { kind: 'equal' | 'fewer' }) | undefined,
): number {
  const { store } = context;
  transaction(context, () => {
    fence(context, claim);
    for (const { rowNo } of doubts) {
      const payment = reading?.judgement.matched.get(rowNo);
      if (payment) instruction.adds.set(rowNo, { outcome: 'ADOPTED', bankPaymentId: payment.bankPaymentId });
    }
    store.moveInstruction(instruction, 'VERIFIED');
    store.clear(['ROW_UNSEEN', 'ECHO_MISMATCH'], instruction.id);
    store.wake('RUN', instruction.planned.run.id);
  });
  return NEVER;
}

/** Money may have moved without a submit of ours: everything stops (rule 5). */
export function breach(
  context: Context,
  claim: Claim,
  instruction: Instruction,
  read: Instruction['status'],
): number {
  transaction(context, () => {
    unchanged(context, claim, instruction, read);
    context.store.raise('INVARIANT_BREACH', instruction.id);
    stopEverything(context);
  });
  return NEVER;
}

/** Tells that the bank holds something else than what was sent. */
export function mismatch(
  context: Context,
  claim: Claim,
  instruction: Instruction,
  reading: ReadBack & { kind: 'different' },
): void {
  const read = instruction.status;
  transaction(context, () => {
    unchanged(context, claim, instruction, read);
    context.store.raise(reading.foreign ? 'FOREIGN_RECORD' : 'ECHO_MISMATCH', instruction.id);
  });
}
