import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { isHiddenForGood, readEach, unless } from '../bank/errors';
import { byKey } from '../database/by-key';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence } from '../database/leases';
import { PlannedInstruction } from '../pay-run/instruction.entity';
import { instructionsOfRuns, lockInstruction } from '../pay-run/instruction.store';
import { tellOfMovedTombstone } from '../pay-run/moved-instruction';
import { PayRun } from '../pay-run/pay-run.entity';
import { awaitTurnOfOpenRuns } from '../pay-run/stop';
import { InstructionReader } from './read-back';
import type { PayableRow, Work } from './work';

/** Ended payments of one employee that are looked at, of a month and a kind of pay: uploads that were cancelled. */
const MOST_ENDED = 100;

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
    const all = await this.database.inEmployer(claim.employerId, (tx) => givenUpFor(tx, run, rows));
    const moved: [Work, string][] = [];
    await readEach(all, async (one) => {
      const shown = await unless(isHiddenForGood, this.reader.submittedBefore(one));
      if (shown?.moved !== undefined) moved.push([one, shown.moved]);
    });
    if (moved.length === 0) return true;
    await this.database.inEmployer(claim.employerId, async (tx) => {
      await awaitTurnOfOpenRuns(tx);
      await fence(tx, claim);
      for (const [{ instruction, planned }, status] of moved)
        await tellOfMovedTombstone(tx, await lockInstruction(tx, instruction.id), planned, status);
    });
    return false;
  }
}

/** What was given up of a period, held any of these rows or another run's of the same pay, and is not known to have moved. */
async function givenUpFor(
  tx: EmployerTransaction,
  { id: payRunId, period }: Pick<PayRun, 'id' | 'period'>,
  rows: readonly PayableRow[],
): Promise<Work[]> {
  const givenUp = await tx.query<{ id: string; planned: string }>(
    `SELECT i.id, i.planned_instruction_id AS planned FROM instruction i
     WHERE i.employer_id = $1 AND i.status = 'ABANDONED' AND i.bank_instruction_id IS NOT NULL
       AND i.pay_run_id = ANY (ARRAY(SELECT id FROM pay_run WHERE employer_id = $1 AND period = $2))
       AND i.id <> ALL (ARRAY(SELECT instruction_id FROM moved_instruction WHERE employer_id = $1))
     ORDER BY i.id`,
    [tx.employerId, period],
    'kept',
  );
  if (givenUp.length === 0) return [];
  const plans = await tx.manager.findBy(PlannedInstruction, {
    employerId: tx.employerId,
    id: In(givenUp.map(({ planned }) => planned)),
  });
  const own = rows.map(({ rowNo }) => ({ run: payRunId, row: rowNo }));
  const isOfOthers = plans.some((plan) => plan.payRunId !== payRunId);
  const samePay = isOfOthers ? [...own, ...(await samePayOfOthers(tx, rows))] : own;
  const holding = new Set(
    plans
      .filter((plan) =>
        samePay.some(({ run, row }) => run === plan.payRunId && plan.firstRow <= row && row <= plan.lastRow),
      )
      .map(({ id }) => id),
  );
  return instructionsOfRuns(
    tx,
    givenUp.filter(({ planned }) => holding.has(planned)).map(({ id }) => id),
  );
}

/** Where payments that ended were to pay the same: another run pays it only once they have. */
function samePayOfOthers(
  tx: EmployerTransaction,
  rows: readonly PayableRow[],
): Promise<{ run: string; row: number }[]> {
  return tx.query(
    `SELECT o.pay_run_id AS run, o.row_no AS row
     FROM unnest($2::uuid[]) AS own(id) JOIN ${byKey('payment', 'own.id')} p ON true
     JOIN LATERAL (SELECT pay_run_id, row_no FROM payment
       WHERE employer_id = $1 AND period = p.period AND kind_of_pay = p.kind_of_pay AND employee_id = p.employee_id
         AND NOT live LIMIT ${MOST_ENDED}) o ON true`,
    [tx.employerId, rows.map(({ paymentId }) => paymentId)],
  );
}
