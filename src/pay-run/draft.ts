import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { PAY_RUN_INITIAL } from '../domain/pay-run';
import { lockRun } from './pay-run.store';
import { PayRun } from './pay-run.entity';
import { planRun } from './plan';

/** What a new run is made of besides its payments. */
export type RunTerms = Pick<
  PayRun,
  | 'id'
  | 'accountId'
  | 'period'
  | 'kindOfPay'
  | 'executionDate'
  | 'submitAt'
  | 'scheduleId'
  | 'sequence'
  | 'parentRunId'
  | 'createdBy'
>;

/** Opens a DRAFT run. Its payments are inserted next (status READY, `row_no` from 1), then `finishDraft`. */
export async function openDraft(tx: EmployerTransaction, terms: RunTerms): Promise<void> {
  await tx.manager.insert(PayRun, {
    ...terms,
    employerId: tx.employerId,
    status: PAY_RUN_INITIAL,
    runVersion: 1,
    rowCount: 0,
    totalMinor: 0n,
    currency: 'EUR',
  });
}

/** Plans the draft's instructions, hashes them and makes the run READY as version 1. */
export async function finishDraft(
  tx: EmployerTransaction,
  personal: PersonalData,
  payRunId: string,
): Promise<PayRun> {
  const run = await lockRun(tx, payRunId);
  await planRun(tx, personal, run, { by: run.createdBy });
  return run;
}
