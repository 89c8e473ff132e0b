import { EmployerTransaction } from '../database/database';
import type { Mend } from '../pay-run/lapse';
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
    case 'behind':
      return 'the cut-off of the execution date is before the time from which it may be submitted';
    case 'early':
    case 'open':
      return undefined;
  }
}

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
