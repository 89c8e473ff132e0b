import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { Claim } from '../database/leases';
import { lockRun } from '../pay-run/pay-run.store';
import { instructionsOf } from '../pay-run/replaced.store';
import { SecondLook } from '../pay-run/second-look';
import { tellOfMoved } from '../pay-run/stop-successors';
import { assertUnchanged, PayableRow, Work } from './work';

/** Before any repay the bank is read again: whether what the payments of a run replace still stands as it ended. */
@Injectable()
export class ReplacedLook {
  constructor(
    private readonly database: Database,
    private readonly secondLook: SecondLook,
  ) {}

  /**
   * Before each submit, also where the run gate did: since then the run may have been stopped for days. What moved
   * stops the run and is told; what is not shown is waited for.
   */
  async beforeSubmit(claim: Claim, work: Work, rows: readonly PayableRow[]): Promise<boolean> {
    const replaced = rows.flatMap(({ replacesPaymentId }) => replacesPaymentId ?? []);
    if (replaced.length === 0) return true;
    const { moved, unseen } = await this.secondLook.at(claim.employerId, (tx) =>
      instructionsOf(tx, replaced),
    );
    if (moved.length > 0)
      await this.database.inEmployer(claim.employerId, async (tx) => {
        await lockRun(tx, work.run.id);
        await assertUnchanged(tx, claim, work);
        await tellOfMoved(tx, moved);
      });
    return moved.length + unseen.length === 0;
  }
}
