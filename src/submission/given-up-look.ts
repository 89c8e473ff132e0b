import { Injectable } from '@nestjs/common';
import { isHiddenForGood, readEach, unless } from '../bank/errors';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence } from '../database/leases';
import { instructionOfRun, lockInstruction } from '../pay-run/instruction.store';
import { tellOfMovedTombstone } from '../pay-run/moved-instruction';
import { lockRun } from '../pay-run/pay-run.store';
import { awaitTurnOfOpenRuns } from '../pay-run/stop';
import { InstructionReader } from './read-back';
import type { PayableRow, Work } from './work';

/**
 * What was given up is read before that, and a read may be as old as the lag bound: somebody else may have submitted it by
 * then. What takes its place is verified a lag bound after it was built, so that a read at its gate shows that.
 */
@Injectable()
export class GivenUpLook {
  constructor(
    private readonly database: Database,
    private readonly reader: InstructionReader,
  ) {}

  /**
   * Whether none of what was given up, and was to pay the people of an instruction, has moved since, or people know of it.
   * What has stops everything. @throws BankClientError while the bank cannot be read, but of what it hides for good; Fenced
   */
  async stand(claim: Claim, { run }: Work, rows: readonly PayableRow[]): Promise<boolean> {
    const all = await this.database.inEmployer(claim.employerId, (tx) => givenUpFor(tx, run.period, rows));
    const moved: [Work, string][] = [];
    await readEach(all, async (one) => {
      const shown = await unless(isHiddenForGood, this.reader.submittedBefore(one));
      if (shown?.moved !== undefined) moved.push([one, shown.moved]);
    });
    if (moved.length === 0) return true;
    await this.database.inEmployer(claim.employerId, async (tx) => {
      await awaitTurnOfOpenRuns(tx);
      await lockRun(tx, run.id);
      await fence(tx, claim);
      for (const [{ instruction, planned }, status] of moved)
        await tellOfMovedTombstone(tx, await lockInstruction(tx, instruction.id), planned, status);
    });
    return false;
  }
}

/** What was given up of a period, held any of these people, and is not known to have moved. */
async function givenUpFor(
  tx: EmployerTransaction,
  period: string,
  rows: readonly PayableRow[],
): Promise<Work[]> {
  const givenUp = await tx.query<{ id: string }>(
    `SELECT i.id FROM pay_run r
     JOIN instruction i ON i.employer_id = r.employer_id AND i.pay_run_id = r.id
     JOIN planned_instruction l ON l.employer_id = i.employer_id AND l.id = i.planned_instruction_id
     WHERE r.employer_id = $1 AND r.period = $2 AND i.status = 'ABANDONED' AND i.bank_instruction_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM moved_instruction m WHERE m.employer_id = $1 AND m.instruction_id = i.id)
       AND EXISTS (SELECT FROM payment o WHERE o.employer_id = $1 AND o.pay_run_id = r.id
         AND o.row_no BETWEEN l.first_row AND l.last_row AND o.employee_id = ANY ($3))
     ORDER BY i.id`,
    [tx.employerId, period, rows.map(({ employeeId }) => employeeId)],
    'kept',
  );
  const found: Work[] = [];
  for (const { id } of givenUp) {
    const work = await instructionOfRun(tx, id);
    if (work) found.push(work);
  }
  return found;
}
