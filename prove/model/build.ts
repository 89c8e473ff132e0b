import type { AttentionKind } from '../../src/pay-run/attention-words';
import { addRows, BUILD_TURNS, pauseAfter, record } from './add';
import {
  type Context,
  differs,
  fence,
  mayCall,
  NEVER,
  READ_AGAIN_MS,
  rebuild,
  type Step,
  stopEverything,
  transaction,
  unchanged,
} from './context';
import { readBack, type ReadBack } from './read-back';
import type { Claim, Instruction, Payment } from './store';
import { LAG_BOUND_MS, REBUILD_LIMIT } from './world';

/** How long rows that were answered with a yes may stay unseen before a person is told. */
const UNSEEN_DEADLINE_MS = 1_000;

/** One step of building (rules 1 to 6): as `Builder.step` and `Verifier.step` of the product. */
export function* build(context: Context, claim: Claim, instruction: Instruction): Step {
  if (instruction.bankId === null) return yield* initiate(context, claim, instruction);
  closeOpenIntents(context, claim, instruction);
  const open = instruction.planned.payments.filter(({ rowNo }) => !instruction.adds.has(rowNo));
  if (open.length > 0) return yield* addRows(context, claim, instruction, open);
  for (const { outcome } of instruction.adds.values()) if (outcome === 'REFUSED') return NEVER;
  return yield* verify(context, claim, instruction);
}

function* initiate(context: Context, claim: Claim, instruction: Instruction): Step {
  const { store, bank } = context;
  const read = instruction.status;
  yield 1;
  transaction(context, () => {
    mayCall(context, claim, instruction, read, BUILD_TURNS);
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
      if (instruction.status !== 'BUILDING') return 0;
      store.clear(['REBUILD_LIMIT'], instruction.planned.id);
      store.clear(['INITIATE_REFUSED'], instruction.id);
      store.wake('INSTRUCTION', instruction.id);
      return 0;
    }
    const ask = (kind: AttentionKind, subject: number) => {
      if (isBeingInitiated(instruction)) store.raise(kind, subject);
    };
    if (outcome.kind === 'no') instruction.initiates -= 1;
    else if (instruction.initiates > REBUILD_LIMIT) ask('REBUILD_LIMIT', instruction.planned.id);
    return pauseAfter(context, outcome, () => ask('INITIATE_REFUSED', instruction.id));
  });
}

/** As `isBeingInitiated` of the product: another worker may have had an answer first. */
function isBeingInitiated({ status, bankId }: Instruction): boolean {
  return status === 'BUILDING' && bankId === null;
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

function* verify(context: Context, claim: Claim, instruction: Instruction): Step {
  const { store } = context;
  const read = instruction.status;
  const doubts = instruction.planned.payments.filter(
    ({ rowNo }) => instruction.adds.get(rowNo)?.outcome === 'IN_DOUBT',
  );
  const sinceLastAddMs = store.nowMs - instruction.lastAddMs;
  const lagLeftMs = LAG_BOUND_MS - sinceLastAddMs;
  if (lagLeftMs > 0 && doubts.length === 0) return lagLeftMs;
  yield 3;
  const reading = readBack(context, instruction);
  yield 1;
  switch (reading.kind) {
    case 'equal':
      if (lagLeftMs > 0) return lagLeftMs;
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
      return differs(context, claim, instruction, reading);
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
  reading: ReadBack & { kind: 'equal' },
): number {
  const { store } = context;
  transaction(context, () => {
    fence(context, claim);
    for (const { rowNo } of doubts) {
      const payment = reading.judgement.matched.get(rowNo);
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
