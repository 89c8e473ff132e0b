import { isDeepStrictEqual } from 'node:util';
import { type PaidByInstruction, paidAgain } from '../../src/domain/balance';
import { isNeverDebited } from '../../src/domain/bank-status';
import { sumMinor } from '../../src/domain/money';
import { balanceLookAt } from '../../src/settlement/looks';
import { type Context, fence, type Step, transaction } from './context';
import type { Claim, Instruction } from './store';
import { totalsDiffer } from './submit';
import { SUBMIT_DOUBT_MS, WATCH_MS } from './world';

export const WATCH = { doubtMs: SUBMIT_DOUBT_MS, againMs: WATCH_MS };

/** Compares what the account lost over a run with what its payments took: as `BalanceLook` of the product. */
export function* lookAtBalance(context: Context, claim: Claim, instruction: Instruction): Step {
  const { store, bank } = context;
  const { run } = instruction.planned;
  const { lossBefore } = run;
  const look = balanceLookAt(instruction.closedMs, store.nowMs, WATCH);
  if (lossBefore === undefined || look === 'early') return 0;
  const paid = takenSince(context, instruction);
  if (paid === undefined) return 0;
  yield 3;
  const lostMinor = bank.readLoss() - lossBefore.minor;
  yield 1;
  const again = paidAgain(paid, lostMinor);
  if (again === 'not-yet' || (again.length === 0 && look === 'repeated')) return 0;
  transaction(context, () => {
    fence(context, claim);
    if (run.lossBefore === undefined || !isDeepStrictEqual(takenSince(context, instruction), paid)) return;
    run.lossBefore = undefined;
    for (const { payRunId } of again) totalsDiffer(context, `of run ${payRunId}`);
  });
  return 0;
}

/** As `takenSince` of the product: undefined while it is not known what other instructions took from the account. */
function takenSince({ store }: Context, instruction: Instruction): PaidByInstruction[] | undefined {
  const { run } = instruction.planned;
  const readMs = run.lossBefore?.readMs ?? 0;
  const endedMs = instruction.closedMs ?? 0;
  for (const other of store.instructions) {
    const { status, closedMs = -1, submittedMs } = other;
    if (['SUBMIT_INTENT', 'SUBMIT_UNKNOWN', 'SUBMITTED'].includes(status)) return undefined;
    if (other.planned.run === run) {
      const isLater = closedMs > endedMs || (closedMs === endedMs && other.id > instruction.id);
      if (status === 'VERIFIED' || isLater) return undefined;
    } else if (closedMs >= readMs && submittedMs < readMs) return undefined;
  }
  const closed = store.instructions.filter(
    ({ planned, status, submittedMs }) =>
      status === 'CLOSED' && (planned.run === run || submittedMs >= readMs),
  );
  return closed.map(({ id, planned }) => {
    const settled = planned.payments.filter(({ status }) => status === 'SETTLED');
    const unpaid = planned.payments.filter(
      ({ status, bankStatus }) => status !== 'SETTLED' && !isNeverDebited(bankStatus ?? ''),
    );
    return {
      payRunId: String(planned.run.id),
      instructionId: String(id),
      payments: settled.length,
      amountMinor: sumMinor(settled.map(({ amountMinor }) => amountMinor)),
      chargesMinor: 0n,
      returnedMinor: 0n,
      unpaidMinor: sumMinor(unpaid.map(({ amountMinor }) => amountMinor)),
      unpaidChargesMinor: 0n,
      voidMinor: 0n,
    };
  });
}
