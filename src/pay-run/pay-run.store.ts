import { findById, RowLock } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { DomainError } from '../domain/errors';
import { assertPayRunMove, PAY_RUN_BEFORE_GATE, PayRunStatus } from '../domain/pay-run';
import { Actor, appendHistory } from './history';
import { Amendment, PayRun, PayRunVersion } from './pay-run.entity';

/** Reads a run and locks it to the end of the transaction. @throws DomainError PAY_RUN_NOT_FOUND */
export async function lockRun(
  tx: EmployerTransaction,
  payRunId: string,
  mode: RowLock = 'for_no_key_update',
): Promise<PayRun> {
  const run = await findById(tx, PayRun, payRunId, mode);
  if (!run) throw new DomainError('PAY_RUN_NOT_FOUND', 'There is no such pay run.');
  return run;
}

/** Reads a run without locking it. @throws DomainError PAY_RUN_NOT_FOUND */
export async function findRun(tx: EmployerTransaction, payRunId: string): Promise<PayRun> {
  const run = await findById(tx, PayRun, payRunId);
  if (!run) throw new DomainError('PAY_RUN_NOT_FOUND', 'There is no such pay run.');
  return run;
}

/** The one function that changes a run's state. The run must be locked in this transaction. */
export async function moveRun(
  tx: EmployerTransaction,
  run: PayRun,
  to: PayRunStatus,
  actor: Actor,
  reason?: string,
): Promise<void> {
  const from = run.status;
  assertPayRunMove(from, to);
  await tx.query(
    `UPDATE pay_run SET status = $3, revision = revision + 1 WHERE employer_id = $1 AND id = $2 AND status = $4`,
    [tx.employerId, run.id, to, from],
  );
  run.status = to;
  run.revision += 1n;
  appendHistory(tx, [
    { subject: 'pay_run', subjectId: run.id, payRunId: run.id, from, to, actor, reason, ...totals(run) },
  ]);
  wake(tx, 'RUN', [run.id]);
}

/**
 * What people did shows in the entity tag, also where the run's state did not move.
 * @param before its revision until they did
 */
export async function raiseRevision(tx: EmployerTransaction, run: PayRun, before: bigint): Promise<void> {
  if (run.revision !== before) return;
  await tx.query(`UPDATE pay_run SET revision = revision + 1 WHERE employer_id = $1 AND id = $2`, [
    tx.employerId,
    run.id,
  ]);
  run.revision += 1n;
}

/**
 * @throws DomainError NOT_AWAITING_APPROVAL unless the run is READY, or its employer came to require more approvals than
 * stand: before it is submitted, of people who may still approve
 */
export async function assertAwaitsApproval(tx: EmployerTransaction, run: PayRun): Promise<void> {
  if (run.status === 'READY') return;
  if (run.status === 'SUBMITTING' && (await lacksApprovals(tx, run))) return;
  if (PAY_RUN_BEFORE_GATE.includes(run.status) && (await goesOnOnceApproved(tx, run))) return;
  const message = `The run is ${run.status}; only a READY run, or an approved one that came to lack approvals, is approved.`;
  throw new DomainError('NOT_AWAITING_APPROVAL', message);
}

/** Not of one whose approvals are taken back as soon as its instructions have ended. */
async function goesOnOnceApproved(tx: EmployerTransaction, run: PayRun): Promise<boolean> {
  if (run.lapseReason !== null || (await openAmendment(tx, run.id))) return false;
  return lacksEntitledApprovals(tx, run);
}

/** Whether who gave the approval `a` may still approve its run. */
export const MAY_STILL_APPROVE = 'may_approve(a.employer_id, a.pay_run_id, a.approver_id)';

/** As `lacksApprovals`, of approvals whose people may still approve. */
export function lacksEntitledApprovals(tx: EmployerTransaction, run: PayRun): Promise<boolean> {
  return lacksApprovals(tx, run, MAY_STILL_APPROVE);
}

/**
 * Whether fewer approvals of the standing version and its root hash stand than the employer requires now.
 * @param narrowed in SQL, a further condition on an approval `a`
 */
export async function lacksApprovals(
  tx: EmployerTransaction,
  run: PayRun,
  narrowed = 'true',
): Promise<boolean> {
  const [found] = await tx.query<{ lacks: boolean }>(
    `SELECT approvals_required > (SELECT count(*) FROM approval a
       WHERE a.employer_id = $1 AND a.pay_run_id = $2 AND a.run_version = $3 AND a.root_hash = $4
         AND a.voided_at IS NULL AND ${narrowed}) AS lacks
     FROM employer WHERE id = $1`,
    [tx.employerId, run.id, run.runVersion, run.rootHash],
  );
  return found?.lacks ?? true;
}

/** The amendment waiting to be applied to a run, if there is one. */
export function openAmendment(tx: EmployerTransaction, payRunId: string): Promise<Amendment | null> {
  return tx.manager
    .createQueryBuilder(Amendment, 'a')
    .where('a.employerId = :employerId AND a.payRunId = :payRunId AND a.appliedAsVersion IS NULL', {
      employerId: tx.employerId,
      payRunId,
    })
    .getOne();
}

/** The version of a run that stands now. */
export function currentVersion(tx: EmployerTransaction, run: PayRun): Promise<PayRunVersion> {
  return tx.manager.findOneByOrFail(PayRunVersion, {
    employerId: tx.employerId,
    payRunId: run.id,
    runVersion: run.runVersion,
  });
}

function totals(run: PayRun): { payments: number; amountMinor: bigint } {
  return { payments: run.rowCount, amountMinor: run.totalMinor };
}
