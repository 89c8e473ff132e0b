import { Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { Clock } from '../config/clock';
import { Database, EmployerTransaction } from '../database/database';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { assertNoOpenRun, findAccount } from './account.store';
import { EmployerAccount } from './employer.entity';

/**
 * Takes accounts from their employers, for good: nothing more is paid from them here. At the bank nothing changes; what
 * they paid stays, and is watched for returns as before.
 */
@Injectable()
export class Detachment {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @throws Problem 404, 409 `ACCOUNT_HAS_OPEN_RUNS`, `ACCOUNT_HAS_SCHEDULES` */
  detach(employerId: string, personId: string, accountId: string, reason: string): Promise<Date> {
    return this.database.inEmployer(employerId, async (tx) => {
      await assertNoOpenRun(tx, accountId);
      await assertNoSchedule(tx, accountId);
      const { bankAccountId } = await findAccount(tx, accountId);
      const detachedAt = this.clock.now();
      await tx.manager.update(EmployerAccount, { employerId, id: accountId }, { detachedAt });
      const subject = showId('acc', accountId);
      await append(tx, { personId, action: 'account.detached', subject, detail: { bankAccountId, reason } });
      return detachedAt;
    });
  }
}

async function assertNoSchedule(tx: EmployerTransaction, accountId: string): Promise<void> {
  const using = await tx.query(
    `SELECT 1 FROM pay_schedule WHERE employer_id = $1 AND account_id = $2 AND active LIMIT 1`,
    [tx.employerId, accountId],
  );
  if (using.length === 0) return;
  throw new Problem(409, 'ACCOUNT_HAS_SCHEDULES', 'A schedule pays from this account: end it first.');
}
