import { EmployerTransaction } from '../database/database';
import { voidApprovals } from '../pay-run/approval';
import { clearBuilding, raise } from '../pay-run/attention.store';
import { countUnbacked } from '../pay-run/pay-release';
import { PayRun } from '../pay-run/pay-run.entity';
import { lacksEntitledApprovals } from '../pay-run/pay-run.store';
import type { Window } from './submit-window';

/**
 * Why an approval lapses by the window of its run; undefined while the run may be sent. A window that counts what the
 * sending takes `cannot be met`, one that does not has `passed`.
 */
export function whyLapsed({ kind }: Window, cutOff: 'cannot be met' | 'passed'): string | undefined {
  switch (kind) {
    case 'late':
      return `the cut-off of the execution date ${cutOff}`;
    case 'closed':
      return 'the bank is closed on the execution date';
    case 'early':
    case 'open':
      return undefined;
  }
}

const MENDS = {
  amend: 'Amend the run and have it approved again.',
  approve: 'Have the run approved again as it stands.',
  decide:
    'Cancel or amend the run again where that was done since, or where its people were paid in another way; otherwise have it approved again as it stands.',
};

/** What lets a run be paid all the same: as it is where only its approvals no longer suffice, or are no longer believed. */
export type Mend = keyof typeof MENDS;

/** Why the approval of a run cannot be used, and what lets the run be paid all the same. */
export interface Lapse {
  why: string;
  mend: Mend;
}

/** Why an approval lapses for its people: those who approved, or allowed a further payment of it, may approve no more. */
export async function lapseByPeople(tx: EmployerTransaction, run: PayRun): Promise<Lapse | undefined> {
  if (await lacksEntitledApprovals(tx, run))
    return {
      why: 'fewer approvals stand of people who may approve than its employer requires',
      mend: 'approve',
    };
  if ((await countUnbacked(tx, run.id)) > 0)
    return {
      why: 'it has further pay that somebody allowed who may approve no more: leave that out',
      mend: 'amend',
    };
  return undefined;
}

/** Marks the approval of a run as lapsed and tells why. Where nothing is at the bank it is READY again at once. */
export async function lapseRun(
  tx: EmployerTransaction,
  run: PayRun,
  reason: string,
  mend: Mend = 'amend',
): Promise<void> {
  run.lapseReason = reason;
  await tx.manager.update(PayRun, { employerId: tx.employerId, id: run.id }, { lapseReason: reason });
  await raise(tx, {
    kind: 'APPROVAL_LAPSED',
    subjectId: run.id,
    payRunId: run.id,
    happened: `The approval lapsed: ${reason}. ${MENDS[mend]}`,
    payments: run.rowCount,
    amountMinor: run.totalMinor,
  });
  if (run.status === 'APPROVED') await backToReady(tx, run, reason);
}

/** A lapsed run, of which nothing is at the bank any more, can be approved again. */
export async function backToReady(tx: EmployerTransaction, run: PayRun, reason: string): Promise<void> {
  await voidApprovals(tx, run, 'service', reason);
  await clearBuilding(tx, run.id, `the approval lapsed: ${reason}`);
}
