import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import { isInstructionFinal } from '../domain/instruction';
import { PAY_RUN_SUBMITTED, PAY_RUN_UNSUBMITTED } from '../domain/pay-run';
import { voidApprovals } from './approval';
import { clearBuilding } from './attention.store';
import { followAmendment } from './follow-amendment';
import { markLeftOut } from './hold.store';
import { Instruction } from './instruction.entity';
import { assertAllAmong } from './named-payments';
import { Amendment, PayRun } from './pay-run.entity';
import { moveRun, openAmendment } from './pay-run.store';
import { tellOfPaidAlready } from './paid-already';
import { movePayments } from './payment.store';
import { planRun } from './plan';
import { resumeRepayingRun } from './stop';

/** What a preparer proposes to change. */
export interface Proposal {
  excludePaymentIds: string[];
  executionDate?: string;
  submitAt?: Date;
  reason: string;
}

/** What is left to do with a run of which something may have been submitted; empty for any other. */
export function insteadOf({ status }: PayRun): string {
  if (!PAY_RUN_SUBMITTED.includes(status)) return '';
  return ' What of it was not submitted can be stopped, and ends at the cut-off; what it does not pay, a successor or a supplement pays.';
}

/**
 * Proposes an amendment: the approval is void from this moment. It is applied at once where nothing is at the
 * bank; otherwise when every instruction of the run has been abandoned.
 * @throws DomainError NOT_AMENDABLE, AMENDMENT_IS_OPEN, PAYMENT_NOT_IN_RUN, NOTHING_TO_PAY
 */
export async function amend(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
  personId: string,
  proposal: Proposal,
): Promise<Amendment> {
  if (!PAY_RUN_UNSUBMITTED.includes(run.status)) {
    throw new DomainError(
      'NOT_AMENDABLE',
      `The run is ${run.status} and can no longer be amended.${insteadOf(run)}`,
    );
  }
  if (await openAmendment(tx, run.id)) {
    throw new DomainError('AMENDMENT_IS_OPEN', 'Another amendment of this run is still being applied.');
  }
  await assertExcludable(tx, run, proposal.excludePaymentIds);
  const amendment = tx.manager.create(Amendment, {
    employerId: tx.employerId,
    id: newId(),
    payRunId: run.id,
    excludePaymentIds: proposal.excludePaymentIds,
    executionDate: proposal.executionDate ?? null,
    submitAt: proposal.submitAt ?? null,
    reason: proposal.reason,
    proposedBy: personId,
  });
  await tx.manager.insert(Amendment, amendment);
  const alive = await liveInstructions(tx, run);
  if (alive.length === 0) {
    await applyAmendment(tx, personal, run, amendment);
  } else {
    wake(
      tx,
      'INSTRUCTION',
      alive.map((instruction) => instruction.id),
    );
    wake(tx, 'RUN', [run.id]);
  }
  return amendment;
}

/**
 * Makes the amendment the next version of a run none of whose instructions is alive. A run that was stopped because of
 * whom it paid again goes on once all these are taken out; else people are asked about the rest.
 */
export async function applyAmendment(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
  amendment: Amendment,
): Promise<void> {
  const { excludePaymentIds, proposedBy: by, reason } = amendment;
  const dateBefore = run.executionDate;
  await makeNextVersion(tx, personal, run, { by, reason }, async () => {
    const moves = excludePaymentIds.map((paymentId) => ({ paymentId, to: 'EXCLUDED' as const, reason }));
    for (const from of ['READY', 'HELD'] as const)
      await movePayments(tx, run.id, from, moves, `person:${by}`);
    await markLeftOut(tx, run.id, excludePaymentIds, { personId: by, reason });
    run.executionDate = amendment.executionDate ?? run.executionDate;
    run.submitAt = amendment.submitAt ?? run.submitAt;
    const { executionDate, submitAt } = run;
    await tx.manager.update(PayRun, { employerId: tx.employerId, id: run.id }, { executionDate, submitAt });
    await followAmendment(tx, run, dateBefore, { personId: by, reason });
  });
  await tx.manager.update(
    Amendment,
    { employerId: tx.employerId, id: amendment.id },
    { appliedAsVersion: run.runVersion },
  );
  await resumeRepayingRun(tx, run.id);
  await tellOfPaidAlready(tx, run.id);
}

/**
 * Adds payments, which `insert` does in state READY or HELD, to a run that awaits approval, as its next version.
 * @throws DomainError NOT_AMENDABLE, AMENDMENT_IS_OPEN
 */
export async function addPayments(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
  prepared: Prepared,
  insert: () => Promise<void>,
): Promise<void> {
  if (run.status !== 'READY') {
    throw new DomainError('NOT_AMENDABLE', `The run is ${run.status}: no payment can be added to it.`);
  }
  if (await openAmendment(tx, run.id)) {
    throw new DomainError('AMENDMENT_IS_OPEN', 'Another amendment of this run is still being applied.');
  }
  await makeNextVersion(tx, personal, run, prepared, insert);
}

/** Who makes a version of a run, and why. */
interface Prepared {
  by: string;
  reason: string;
}

async function makeNextVersion(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
  prepared: Prepared,
  change: () => Promise<void>,
): Promise<void> {
  const actor = `person:${prepared.by}` as const;
  await voidApprovals(tx, run, actor, prepared.reason);
  await clearBuilding(tx, run.id, 'the run was amended');
  await moveRun(tx, run, 'DRAFT', actor, prepared.reason);
  run.runVersion += 1;
  await change();
  await planRun(tx, personal, run, prepared);
}

/** The instructions of a run that were neither abandoned nor cancelled, nor reached an end of their own. */
export async function liveInstructions(tx: EmployerTransaction, run: PayRun): Promise<Instruction[]> {
  const all = await tx.manager.findBy(Instruction, { employerId: tx.employerId, payRunId: run.id });
  return all.filter((instruction) => !isInstructionFinal(instruction.status));
}

async function assertExcludable(tx: EmployerTransaction, run: PayRun, paymentIds: string[]): Promise<void> {
  const [row] = await tx.query<{ named: string[]; others: number }>(
    `SELECT coalesce(array_agg(id) FILTER (WHERE id = ANY ($3)), '{}') AS named,
       count(*) FILTER (WHERE id <> ALL ($3))::int AS others
     FROM payment WHERE employer_id = $1 AND pay_run_id = $2 AND status IN ('READY', 'HELD', 'APPROVED', 'AT_BANK')`,
    [tx.employerId, run.id, paymentIds],
  );
  const not = 'Not every payment to exclude is a payable payment of this run';
  assertAllAmong(paymentIds, new Set(row?.named), { code: 'PAYMENT_NOT_IN_RUN', not });
  if (row?.others === 0) {
    throw new DomainError('NOTHING_TO_PAY', 'No payment would be left: cancel the run instead.');
  }
}
