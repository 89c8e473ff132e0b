import { INSTRUCTION_ENDED, INSTRUCTION_SENT, type InstructionStatus } from '../../src/domain/instruction';
import { endOf } from '../../src/domain/pay-run';
import { PAYMENT_UNPAID } from '../../src/domain/payment';
import { type Context, fence, NEVER, obstacleOf, type Step, STOPPED_PAUSE_MS, transaction } from './context';
import { type Claim, hashOf, type Instruction, type Run } from './store';

const LOOK_AGAIN_MS = 200;

/** One step of a run: as `RunWorker.step` of the product. */
export function* stepRun(context: Context, claim: Claim, run: Run): Step {
  yield 1;
  const lossMinor = run.status === 'VERIFIED' ? context.bank.readLoss() : 0n;
  return transaction(context, () => {
    fence(context, claim);
    switch (run.status) {
      case 'APPROVED':
        return start(context, run);
      case 'BUILDING':
        return advance(context, run, ['VERIFIED'], 'VERIFIED');
      case 'VERIFIED':
        return gate(context, run, lossMinor);
      case 'SUBMITTING':
        return advance(context, run, INSTRUCTION_SENT, 'FOLLOWING');
      case 'FOLLOWING':
        return finish(context, run);
      case 'CANCELLING':
        return cancel(context, run);
      case 'DRAFT':
      case 'READY':
      case 'SETTLED':
      case 'PARTLY_SETTLED':
      case 'FAILED':
      case 'CANCELLED':
        return NEVER;
    }
  });
}

function start(context: Context, run: Run): number {
  const { store } = context;
  if (obstacleOf(context, run)) return LOOK_AGAIN_MS;
  store.moveRun(run, 'BUILDING');
  for (const planned of run.planned) store.planAttempt(planned, 1);
  return NEVER;
}

function advance(context: Context, run: Run, when: readonly InstructionStatus[], to: Run['status']): number {
  if (!everyInstruction(context, run, when)) {
    // One that was armed or built again while its run is submitting has nobody else to take it up.
    if (run.status === 'SUBMITTING')
      for (const { id } of alive(context, run)) context.store.wake('INSTRUCTION', id);
    return LOOK_AGAIN_MS;
  }
  context.store.moveRun(run, to);
  return 0;
}

/** The run gate: what is about to be submitted is what was approved (rule 7). */
function gate(context: Context, run: Run, lossMinor: bigint): number {
  const { store, without } = context;
  if (obstacleOf(context, run)) return LOOK_AGAIN_MS;
  if (!everyInstruction(context, run, ['VERIFIED'])) {
    store.moveRun(run, 'BUILDING');
    return LOOK_AGAIN_MS;
  }
  const changed = run.planned.filter((planned) => hashOf(planned.payments) !== planned.approvedHash);
  if (changed.length > 0 && without !== 'gate') {
    for (const planned of changed) store.raise('INVARIANT_BREACH', planned.id);
    run.stopped = true;
    return STOPPED_PAUSE_MS;
  }
  store.moveRun(run, 'SUBMITTING');
  run.lossBefore = { minor: lossMinor, readMs: store.nowMs };
  for (const { id } of alive(context, run)) store.wake('INSTRUCTION', id);
  return 0;
}

function finish(context: Context, run: Run): number {
  if (!everyInstruction(context, run, INSTRUCTION_ENDED)) return NEVER;
  const statuses = run.planned.flatMap(({ payments }) => payments.map(({ status }) => status));
  const settled = statuses.filter((status) => status === 'SETTLED').length;
  const unpaid = statuses.filter((status) => PAYMENT_UNPAID.includes(status)).length;
  clearBuilding(context, run);
  context.store.moveRun(run, endOf({ settled, unpaid }));
  return NEVER;
}

function cancel(context: Context, run: Run): number {
  const { store } = context;
  const left = alive(context, run);
  if (left.length > 0) {
    for (const { id } of left) store.wake('INSTRUCTION', id);
    return LOOK_AGAIN_MS;
  }
  store.moveRun(run, 'CANCELLED');
  clearBuilding(context, run);
  for (const planned of run.planned) store.movePayments(planned, 'APPROVED', 'CANCELLED');
  return NEVER;
}

/** As `clearBuilding` of the product: what nobody needs to answer any more. */
function clearBuilding({ store }: Context, run: Run): void {
  for (const { id, planned } of store.instructions) {
    if (planned.run !== run) continue;
    store.clear(['ROW_REFUSED_BY_BANK', 'INITIATE_REFUSED'], id);
    store.clear(['REBUILD_LIMIT'], planned.id);
  }
}

/** What was not submitted and has not ended. */
function alive({ store }: Context, run: Run): Instruction[] {
  return store.instructions.filter(
    ({ planned, status }) =>
      planned.run === run && (status === 'PLANNED' || status === 'BUILDING' || status === 'VERIFIED'),
  );
}

function everyInstruction({ store }: Context, run: Run, states: readonly InstructionStatus[]): boolean {
  return run.planned.every((planned) =>
    store.instructions.some((one) => one.planned === planned && states.includes(one.status)),
  );
}
