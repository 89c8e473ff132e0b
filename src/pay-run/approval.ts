import { IsNull } from 'typeorm';
import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import { clear, monthOfSchedule } from './attention.store';
import { Actor } from './history';
import { countOpenHolds } from './hold.store';
import { assertTicked } from './iban-ticks';
import { plannedInstructions } from './instruction.store';
import { Approval, PayRun, PayRunVersion } from './pay-run.entity';
import { assertAwaitsApproval, currentVersion, lacksEntitledApprovals, moveRun } from './pay-run.store';
import { movePaymentSet } from './payment.store';
import { countUnbacked } from './pay-release';
import { approvedHash } from './plan';

/** What the approver saw: it must still be what stands. */
export interface Seen {
  rootHash: string;
  totalMinor: bigint;
}

/**
 * Records one person's approval of the standing version; a READY run becomes APPROVED with the last one required.
 * The database refuses an approver who prepared any version of the run, or wrote a row of it that was left out elsewhere
 * or kept back (`approver_is_not_preparer`).
 * @throws DomainError NOT_AWAITING_APPROVAL, HOLDS_OPEN, NOTHING_TO_PAY, RELEASE_NOT_BACKED, APPROVAL_OF_ANOTHER_VERSION,
 * RUN_TERMS_CHANGED, and those of `assertTicked`
 */
export async function approve(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
  personId: string,
  seen: Seen,
): Promise<void> {
  await assertAwaitsApproval(tx, run);
  const holds = await countOpenHolds(tx, run.id);
  if (holds > 0) {
    const message = `The run has ${holds} open ${holds === 1 ? 'hold' : 'holds'}: each is released, or its row left out, before the approval.`;
    throw new DomainError('HOLDS_OPEN', message, { openHolds: holds });
  }
  if (run.rowCount === 0)
    throw new DomainError('NOTHING_TO_PAY', 'No payment is left in this run: cancel it.');
  // Of what is being submitted no row can be left out any more.
  const unbacked = run.status === 'SUBMITTING' ? 0 : await countUnbacked(tx, run.id);
  if (unbacked > 0) {
    const are = unbacked === 1 ? 'payment of the run is' : 'payments of the run are';
    const mend = unbacked === run.rowCount ? 'Cancel the run' : 'Leave their rows out by an amendment';
    const message = `${unbacked} ${are} further pay that somebody allowed who may approve no more. ${mend}. Once a run of the period and kind of pay is approved, upload them as its supplement: there they are held until another approver releases them.`;
    throw new DomainError('RELEASE_NOT_BACKED', message, { payments: unbacked });
  }
  const version = await currentVersion(tx, run);
  if (version.rootHash.toString('hex') !== seen.rootHash || version.totalMinor !== seen.totalMinor) {
    throw new DomainError(
      'APPROVAL_OF_ANOTHER_VERSION',
      'The run is not what you looked at: its hash or total differs. Read it again before you approve.',
    );
  }
  const planned = await plannedInstructions(tx, run);
  const standsNow = await approvedHash(
    tx,
    personal,
    run,
    planned.map((part) => part.rowHash),
  );
  if (!standsNow.equals(version.rootHash)) {
    throw new DomainError(
      'RUN_TERMS_CHANGED',
      'The account or the terms of the run changed since it was prepared. Amend it, naming its execution date, so that it is approved as it is now.',
    );
  }
  await assertTicked(tx, run, personId);
  // Fewer may be required than when this person approved it.
  const suffices = run.status === 'READY' && !(await lacksEntitledApprovals(tx, run));
  const approved = (await standingApprovals(tx, run)).some(({ approverId }) => approverId === personId);
  if (!suffices || !approved) await insertApproval(tx, run, version, personId);
  if (run.status !== 'READY' || (await lacksEntitledApprovals(tx, run))) return;
  const actor: Actor = `person:${personId}`;
  await movePaymentSet(tx, { payRunId: run.id, from: 'READY', to: 'APPROVED', actor });
  await moveRun(tx, run, 'APPROVED', actor);
  wake(tx, 'ACCOUNT', [run.accountId]);
  await clear(tx, ['APPROVAL_LAPSED'], run.id, 'the run was approved again');
  await closeOverdue(tx, run);
}

/** Closes what people were told of the run, and of months of schedules that lacked it: those of its account and kind of pay. */
async function closeOverdue(tx: EmployerTransaction, run: PayRun): Promise<void> {
  await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = 'the run was approved'
     WHERE employer_id = $1 AND kind = 'PERIOD_OVERDUE' AND resolved_at IS NULL
       AND (subject_id = $2 OR $6::int = 0 AND subject_id IN (
         SELECT ${monthOfSchedule('id', '$5')} FROM pay_schedule WHERE employer_id = $1 AND account_id = $3 AND kind_of_pay = $4))`,
    [tx.employerId, run.id, run.accountId, run.kindOfPay, run.period, run.sequence],
  );
}

async function insertApproval(
  tx: EmployerTransaction,
  run: PayRun,
  version: PayRunVersion,
  personId: string,
): Promise<void> {
  await tx.manager.insert(Approval, {
    employerId: tx.employerId,
    id: newId(),
    payRunId: run.id,
    runVersion: run.runVersion,
    approverId: personId,
    preparedBy: version.preparedBy,
    rootHash: version.rootHash,
  });
}

/** The approvals of the standing version that were not voided. */
export function standingApprovals(tx: EmployerTransaction, run: PayRun): Promise<Approval[]> {
  return tx.manager.find(Approval, {
    where: { employerId: tx.employerId, payRunId: run.id, runVersion: run.runVersion, voidedAt: IsNull() },
    order: { approvedAt: 'ASC' },
  });
}

/**
 * The standing version of a run under the approval that stands, as a question begins that names it: what two people
 * decided of it under an approval that lapsed is asked again under the next.
 */
export async function approvedVersion(
  tx: EmployerTransaction,
  run: PayRun,
  name = 'the run',
): Promise<string> {
  const approvals = await standingApprovals(tx, run);
  const approvedAt = approvals.at(-1)?.approvedAt.toISOString() ?? 'no time';
  return `Version ${run.runVersion} of ${name}, approved at ${approvedAt},`;
}

/** Takes back every approval of a run. An APPROVED run, or one whose instructions all ended, is READY again. */
export async function voidApprovals(
  tx: EmployerTransaction,
  run: PayRun,
  actor: Actor,
  reason: string,
): Promise<void> {
  await tx.query(
    `UPDATE approval SET voided_at = clock_timestamp(), voided_reason = $3
     WHERE employer_id = $1 AND pay_run_id = $2 AND voided_at IS NULL`,
    [tx.employerId, run.id, reason],
  );
  if (run.status === 'READY') return;
  // Why the last approval could not be used says nothing of the next.
  run.lapseReason = null;
  await tx.manager.update(PayRun, { employerId: tx.employerId, id: run.id }, { lapseReason: null });
  await movePaymentSet(tx, { payRunId: run.id, from: 'APPROVED', to: 'READY', actor, reason });
  await moveRun(tx, run, 'READY', actor, reason);
}
