import { isPastSubmit } from '../../src/domain/bank-status';
import { isPaymentFinal } from '../../src/domain/payment';
import { type JudgedTotals, type SeenPayment, sumOf } from '../../src/pay-run/match';
import { type FollowedPayment, progressOf } from '../../src/settlement/follow-plan';
import { judgeFollowed, mayLack, showsAsPlanned } from '../../src/settlement/followed-totals';
import { areTotalsDue, isSecondLook, type Looked, nextLookMs } from '../../src/settlement/looks';
import { lookAtBalance, WATCH } from './balance-look';
import type { SeenInstruction } from './bank';
import { type Context, fence, NEVER, type Step, stopEverything, transaction } from './context';
import { bankIdsOf, differences, expectedRow, messageIdOf } from './read-back';
import type { Claim, Instruction, Payment } from './store';
import { tell, tellApart } from './submit';
import { LAG_BOUND_MS, LEASE_MS, SUBMIT_DOUBT_MS, WATCH_MS } from './world';

const FOLLOW_MS = 30;
/** Payments not final so long after the submit are told to a person. */
const PATIENCE_MS = 2_000;

/** One read of a submitted instruction, or of one that must never move: as `FollowService` of the product. */
export function* follow(context: Context, claim: Claim, instruction: Instruction): Step {
  switch (instruction.status) {
    case 'SUBMITTED':
      return yield* read(context, claim, instruction);
    case 'CLOSED':
      yield* read(context, claim, instruction);
      yield* lookAtBalance(context, claim, instruction);
      return nextLookMs(instruction.closedMs ?? 0, context.store.nowMs, WATCH);
    case 'ABANDONED':
    case 'RELEASED':
    case 'VOID':
      return yield* watch(context, instruction);
    case 'PLANNED':
    case 'BUILDING':
    case 'VERIFIED':
    case 'SUBMIT_INTENT':
    case 'SUBMIT_REFUSED':
    case 'SUBMIT_UNKNOWN':
    case 'CANCELLED':
      return NEVER;
  }
}

function* read(context: Context, claim: Claim, instruction: Instruction): Step {
  const { bank, store } = context;
  const bankId = instruction.bankId ?? '';
  yield 3;
  const glance =
    isDue(context, instruction) && isSecondLook(looked(instruction), store.nowMs, WATCH)
      ? bank.readInstruction(bankId)
      : undefined;
  if (glance && isAsPlanned(instruction, glance)) {
    yield 1;
    transaction(context, () => {
      fence(context, claim);
      checkTotals(context, instruction, glance);
    });
    return NEVER;
  }
  const seen = bank.readPayments(bankId, bankIdsOf(instruction));
  const shown = glance ?? (isDue(context, instruction) ? bank.readInstruction(bankId) : undefined);
  yield 1;
  let totals: JudgedTotals = { kind: 'absent' };
  const wakeInMs = transaction(context, () => {
    fence(context, claim);
    for (const one of seen) hold(context, instruction, one);
    totals = checkTotals(context, instruction, shown);
    return instruction.status === 'SUBMITTED' ? close(context, instruction) : NEVER;
  });
  yield* tellApart(context, instruction, totals);
  return wakeInMs;
}

/** Without the guard nobody looks again at what was recorded as compared. */
function isDue({ store, without }: Context, instruction: Instruction): boolean {
  if (without === 'totals') return instruction.totalsCheckedMs === undefined;
  return areTotalsDue(looked(instruction), store.nowMs, WATCH);
}

function looked({ status, closedMs, totalsCheckedMs }: Instruction): Looked {
  return { status, closedMs, totalsCheckedMs };
}

function isAsPlanned({ planned }: Instruction, shown: SeenInstruction | 'gone'): boolean {
  return shown !== 'gone' && showsAsPlanned(planned, shown);
}

function checkTotals(
  context: Context,
  instruction: Instruction,
  shown: SeenInstruction | 'gone' | undefined,
): JudgedTotals {
  if (shown === undefined || shown === 'gone' || !isDue(context, instruction)) return { kind: 'absent' };
  const totals = judged(context, instruction, shown);
  tell(context, instruction, totals);
  if (totals.kind !== 'absent') instruction.totalsCheckedMs = context.store.nowMs;
  return totals;
}

function judged({ store }: Context, instruction: Instruction, shown: SeenInstruction): JudgedTotals {
  const { planned, submittedMs, closedMs = 0 } = instruction;
  const read = {
    isOld: store.nowMs - submittedMs >= SUBMIT_DOUBT_MS,
    mayBeOlderThanEnd: store.nowMs - closedMs < LAG_BOUND_MS + LEASE_MS,
  };
  const ended = planned.payments
    .filter(({ status }) => isPaymentFinal(status))
    .map(({ status, amountMinor }) => ({ settled: status === 'SETTLED', count: 1, totalMinor: amountMinor }));
  const alike = [true, false].flatMap((settled) => {
    const some = ended.filter((one) => one.settled === settled);
    return some.length === 0 ? [] : [{ settled, ...sumOf(some) }];
  });
  return judgeFollowed(planned, shown, {
    mayLack: mayLack(looked(instruction), shown.status, read),
    ended: alike,
  });
}

/** Holds a payment of the bank against ours: a stranger or a contradiction moves nothing. */
function hold(context: Context, instruction: Instruction, seen: SeenPayment): void {
  const { store } = context;
  const { payments } = instruction.planned;
  const payment = payments.find(
    ({ rowNo }) => instruction.adds.get(rowNo)?.bankPaymentId === seen.bankPaymentId,
  );
  if (!payment) {
    store.raise('FOREIGN_RECORD', instruction.id);
    return stopEverything(context);
  }
  if (differences(context, expectedRow(instruction, payment), seen).length > 0) {
    return store.raise('ECHO_MISMATCH', `payment ${payment.rowNo}`);
  }
  const progress = progressOf(followed(instruction, payment), { status: seen.status });
  if (!progress) return;
  payment.bankStatus = progress.bankStatus;
  payment.rank = progress.rank;
  if (progress.move) store.movePayment(payment, progress.move.to);
  if (progress.alarm) store.raise(progress.alarm, instruction.id);
}

function followed(instruction: Instruction, payment: Payment): FollowedPayment {
  const { rowNo, iban, amountMinor, status, bankStatus, rank } = payment;
  return {
    instructionId: '',
    rowNo,
    paymentId: '',
    messageId: messageIdOf(instruction, rowNo),
    bankIds: [],
    iban,
    amountMinor,
    currency: 'EUR',
    status,
    bankStatus,
    shownStatus: null,
    decidedStatuses: [],
    behindForMs: null,
    shownOtherwise: null,
    rank,
    returned: false,
    returnedMinor: null,
    moreBackForMs: null,
    settledOn: null,
    chargesMinor: null,
    chargesUnread: false,
  };
}

function close({ store }: Context, instruction: Instruction): number {
  const { planned } = instruction;
  if (planned.payments.every(({ status }) => isPaymentFinal(status))) {
    store.moveInstruction(instruction, 'CLOSED');
    instruction.closedMs = store.nowMs;
    store.clear(['ROW_UNSEEN'], instruction.id);
    store.wake('RUN', planned.run.id);
    return nextLookMs(store.nowMs, store.nowMs, WATCH);
  }
  if (store.nowMs - instruction.submittedMs > PATIENCE_MS) store.raise('ROW_UNSEEN', instruction.id);
  return FOLLOW_MS;
}

/** What was abandoned or released must never move (rule 5): as `TombstoneWatch` of the product. */
function* watch(context: Context, instruction: Instruction): Step {
  const { store, bank } = context;
  if (instruction.bankId === null) return NEVER;
  yield 3;
  const shown = bank.readInstruction(instruction.bankId);
  if (shown === 'gone' || !isPastSubmit(shown.status)) return WATCH_MS;
  transaction(context, () => {
    store.raise('INVARIANT_BREACH', instruction.id);
    stopEverything(context);
  });
  return NEVER;
}
