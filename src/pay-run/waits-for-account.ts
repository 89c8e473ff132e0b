import { Config } from '../config/env';
import { readById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { EmployerAccount } from '../employer/employer.entity';
import { notReady } from '../employer/readiness';
import { showId } from '../http/prefixed-id';
import { approvedVersion } from './approval';
import { raiseUndecided } from './attention.store';
import { PayRun } from './pay-run.entity';

/** Tells people why a run waits for an account that is not ready. */
export function raiseNotReady(
  tx: EmployerTransaction,
  run: PayRun,
  account: EmployerAccount,
  config: Pick<Config, 'BANK_AMOUNT_UNIT'>,
): Promise<void> {
  const reasons = notReady(account, config).map((reason) => reason.detail);
  return raiseWaiting(tx, run, `which is not ready: ${reasons.join('; ')}`);
}

/**
 * Tells people once that a run waits for its account. What is decided of one run, or under one approval, says nothing
 * of the next.
 */
export async function raiseWaiting(
  tx: EmployerTransaction,
  run: PayRun,
  why: string,
  certain?: string,
): Promise<void> {
  const version = await approvedVersion(tx, run, showId('run', run.id));
  const { id, bankAccountId } = await readById(tx, EmployerAccount, run.accountId);
  await raiseUndecided(tx, {
    kind: 'ACCOUNT_UNUSABLE',
    subjectId: id,
    payRunId: run.id,
    bankReference: bankAccountId,
    happened: `${version} waits for its account ${showId('acc', id)}, ${why}.`,
    certain,
    payments: run.rowCount,
    amountMinor: run.totalMinor,
  });
}
