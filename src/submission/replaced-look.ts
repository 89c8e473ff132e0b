import { Injectable } from '@nestjs/common';
import { Database, EmployerTransaction } from '../database/database';
import { Claim } from '../database/leases';
import { approvedVersion } from '../pay-run/approval';
import { aboutInstruction } from '../pay-run/attention.store';
import { tellOfMoved } from '../pay-run/moved-payment';
import { PayRun } from '../pay-run/pay-run.entity';
import { lockRun } from '../pay-run/pay-run.store';
import { instructionsReplacedBy, instructionsReplacedIn } from '../pay-run/replaced.store';
import { namesOfUnseen, questionOfUnseen, SecondLook } from '../pay-run/second-look';
import type { SecondReading } from '../pay-run/second-reading';
import { nowSeen, tellOfUnseen, Unseen } from './unseen';
import { assertUnchanged, Work } from './work';

/** Before any repay the bank is read again: whether what the payments of a run replace still stands as it ended. */
@Injectable()
export class ReplacedLook {
  constructor(
    private readonly database: Database,
    private readonly secondLook: SecondLook,
  ) {}

  /** What the bank shows now of all that a run replaces; what moved is told. @throws BankClientError while the bank cannot be read */
  of(run: PayRun): Promise<SecondReading> {
    return this.toldAt(run.employerId, (tx) => instructionsReplacedBy(tx, run.id));
  }

  /** Whether a run that is locked may pass its gate after such a reading. What is not shown is told. */
  standsAtGate(tx: EmployerTransaction, claim: Claim, run: PayRun, reading: SecondReading): Promise<boolean> {
    const { id, rowCount: payments, totalMinor: amountMinor } = run;
    return stands(tx, claim, run, reading, { subjectId: id, payRunId: id, payments, amountMinor });
  }

  /**
   * Whether an instruction may be submitted, also where the run gate looked: since then the run may have been stopped
   * for days. What moved stops the run and is told; what is not shown is waited for, and told when it takes too long.
   * @throws BankClientError while the bank cannot be read; Fenced, Halted
   */
  async standsBeforeSubmit(claim: Claim, work: Work): Promise<boolean> {
    const replacedIn = (tx: EmployerTransaction) => instructionsReplacedIn(tx, work.planned, 'live');
    const reading = await this.toldAt(claim.employerId, replacedIn, { isSearchKept: true });
    if (reading.moved.length + reading.unseen.length === 0 && claim.missing === null) return true;
    return this.database.inEmployer(claim.employerId, async (tx) => {
      const run = await lockRun(tx, work.run.id);
      await assertUnchanged(tx, claim, work);
      const about = { ...aboutInstruction(work.instruction, work.planned), subjectId: work.planned.id };
      return stands(tx, claim, run, reading, about);
    });
  }

  /** What moved is told at once, whatever becomes of the step that looked: the bank may show it no more. */
  private async toldAt(
    employerId: string,
    find: Parameters<SecondLook['at']>[1],
    how?: Parameters<SecondLook['at']>[2],
  ): Promise<SecondReading> {
    const reading = await this.secondLook.at(employerId, find, how);
    if (reading.moved.length > 0)
      await this.database.inEmployer(employerId, (tx) => tellOfMoved(tx, reading.moved));
    return reading;
  }
}

async function stands(
  tx: EmployerTransaction,
  claim: Claim,
  run: PayRun,
  { moved, unseen }: SecondReading,
  about: Omit<Unseen, 'happened'>,
): Promise<boolean> {
  if (unseen.length > 0) {
    const version = await approvedVersion(tx, run);
    const alarm = { ...about, ...questionOfUnseen(`${version} pays again`, unseen) };
    await tellOfUnseen(tx, claim, 'REPLACED', alarm, [version, ...namesOfUnseen(unseen)]);
  } else if (moved.length === 0) await nowSeen(tx, claim, 'REPLACED', about.subjectId);
  return moved.length + unseen.length === 0;
}
