import { EmployerTransaction } from '../database/database';
import { isFarFromDate, isFarther } from '../domain/hold';
import { HoldDecision, holdRun, isRunAbove, markAmended } from './hold.store';
import { PayRun } from './pay-run.entity';
import { followSameRows } from './same-rows';

/**
 * Lets what is held of a whole run be what is true of it once it was amended: of its total, which only falls, by the limit
 * that was found to be passed, of its month by its date, and of its rows by those of the runs that are near it now. The release
 * of its month is of one as far from the date as that was.
 * @param dateBefore the execution date before the amendment
 */
export async function followAmendment(
  tx: EmployerTransaction,
  run: PayRun,
  dateBefore: string,
  decision: HoldDecision,
): Promise<void> {
  if (!(await isRunAbove(tx, run.id))) await markAmended(tx, run.id, 'RUN_ABOVE_LIMIT', decision);
  await followSameRows(tx, run, decision);
  if (!isFarFromDate(run.period, run.executionDate)) {
    await markAmended(tx, run.id, 'PERIOD_FAR_FROM_DATE', decision);
    return;
  }
  const wasFar = isFarFromDate(run.period, dateBefore);
  // A supplement names its run, and with that the month.
  if (run.parentRunId !== null || (wasFar && !isFarther(run.period, run.executionDate, dateBefore))) return;
  await holdRun(tx, run, 'PERIOD_FAR_FROM_DATE');
}
