import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence } from '../database/leases';
import { aboutInstruction, raise } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { endUnsubmitted, lockInstruction, planAttempt } from '../pay-run/instruction.store';
import { lockRun } from '../pay-run/pay-run.store';
import { accessRefused } from '../pay-run/stop';
import { obstacleOf, Work } from './work';

/** Ends instructions that must not be submitted, and has their rows built again where nobody doubts. */
@Injectable()
export class Abandonment {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Abandons an instruction and plans its next attempt; after too many a person is asked (rule 4). */
  async rebuild(claim: Claim, work: Work, reason: string): Promise<'never'> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      const run = await lockRun(tx, work.run.id);
      const instruction = await lockInstruction(tx, work.instruction.id);
      await fence(tx, claim);
      await endUnsubmitted(tx, instruction, 'service', reason);
      if ((await obstacleOf(tx, run)) === 'ENDED') return;
      const attempts = await attemptsOf(tx, instruction);
      if (attempts > this.config.REBUILD_LIMIT) {
        await raise(tx, {
          kind: 'REBUILD_LIMIT',
          ...aboutInstruction(instruction, work.planned),
          subjectId: work.planned.id,
          happened: `${attempts} attempts to build this instruction were abandoned; the last because ${reason}.`,
        });
        return;
      }
      await planAttempt(tx, work.planned, instruction.attempt + 1);
    });
    return 'never';
  }

  /** Ends an instruction whose run is being cancelled or amended; no add of it is in flight. */
  async end(claim: Claim, work: Work): Promise<'never'> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      await lockRun(tx, work.run.id);
      const instruction = await lockInstruction(tx, work.instruction.id);
      await fence(tx, claim);
      await endUnsubmitted(tx, instruction, 'service', 'the run is being amended or cancelled');
    });
    return 'never';
  }

  /** Stops the employer: the bank refuses our access, and going on would only make noise. */
  async park(tx: EmployerTransaction, work: Work, happened: string): Promise<void> {
    await accessRefused(tx, work.run, work.instruction, happened);
  }
}

/** How often these rows were built under the approvals that stand: what was built under those that lapsed does not count. */
async function attemptsOf(tx: EmployerTransaction, instruction: Instruction): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM instruction
     WHERE employer_id = $1 AND planned_instruction_id = $2 AND created_at >= coalesce(
       (SELECT max(approved_at) FROM approval WHERE employer_id = $1 AND pay_run_id = $3 AND voided_at IS NULL),
       '-infinity')`,
    [tx.employerId, instruction.plannedInstructionId, instruction.payRunId],
  );
  return row?.n ?? 0;
}
