import { EmployerTransaction } from '../database/database';
import { words } from '../database/words';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { instructionsOfRuns, IS_RECENT } from '../pay-run/instruction.store';
import type { Work } from '../submission/work';

/**
 * The instructions at the bank that were given up before a restore was noticed, where nobody knows when that was: who gave
 * one up may have worked on what was restored, which had forgotten its submit. Of a run that is over only what was released,
 * which a successor may pay: whom one that was cancelled may have paid is held by itself. Where it is known when the data
 * end, the database itself refused to give anything up (`database_is_known`).
 * @param watchDays how long what is given up is watched
 */
export async function givenUpUnnoticed(
  tx: EmployerTransaction,
  restoreId: string,
  watchDays: number,
): Promise<Work[]> {
  const givenUp = await tx.query<{ id: string }>(
    `SELECT i.id FROM instruction i
     JOIN database_restore d ON d.id = $3 AND d.data_until IS NULL
     JOIN pay_run r ON r.employer_id = i.employer_id AND r.id = i.pay_run_id
     WHERE i.employer_id = $1 AND i.status IN ('ABANDONED', 'RELEASED') AND i.bank_instruction_id IS NOT NULL
       AND ${IS_RECENT} AND (i.status = 'RELEASED' OR r.status NOT IN (${words(PAY_RUN_FINALS)}))
       AND EXISTS (SELECT FROM state_change c WHERE c.employer_id = $1 AND c.pay_run_id = i.pay_run_id
         AND c.subject = 'instruction' AND c.subject_id = i.id AND c.to_status = i.status AND c.at <= d.noticed_at)
     ORDER BY i.id`,
    [tx.employerId, watchDays, restoreId],
  );
  return instructionsOfRuns(
    tx,
    givenUp.map(({ id }) => id),
  );
}
