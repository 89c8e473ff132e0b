import { Injectable } from '@nestjs/common';
import { isNotToBeRead, unless } from '../bank/errors';
import { Database, EmployerTransaction } from '../database/database';
import { isPastSubmit } from '../domain/bank-status';
import { PAY_RUN_GOING_ON, PayRunStatus } from '../domain/pay-run';
import { BankReads } from '../employer/bank-reads';
import { EmployerAccount } from '../employer/employer.entity';
import { DECIDED, type InstructionAtBank } from '../employer/instruction-at-bank';
import { Instruction } from '../pay-run/instruction.entity';
import { namesOf } from '../pay-run/message-id';
import { tellOfForgottenMove, tellWhereReleasedSince } from '../pay-run/moved-instruction';
import { findRun, lockRun } from '../pay-run/pay-run.store';
import { knownPayments } from '../submission/known-payments';
import { isNameless } from './restore-sweep';

/** What a restore found in a status that no document names, and is neither taken over nor decided. */
export interface LeftOpen {
  bankInstructionId: string;
  /** Our id of it, as the database or the message ids of its payments have it. */
  instructionId: string | undefined;
  /** Null for a run that was forgotten too. */
  payRunId: string | null;
  /** Nothing of it is older. */
  createdAt: Date;
  /** The status past its submit that it was shown in since. */
  submittedAs: string | undefined;
}

/** The states of a run that may take it back still, be it once its rows are approved again. */
const TAKES_IT_BACK: readonly PayRunStatus[] = ['DRAFT', 'READY', ...PAY_RUN_GOING_ON];

/** Looks whether what a restore left open was submitted after all. */
@Injectable()
export class RestoreWatch {
  constructor(
    private readonly database: Database,
    private readonly reads: BankReads,
  ) {}

  /**
   * Writes down that it is shown as submitted, whatever keeps it from being taken over. Everything stops (rule 5) where
   * somebody may be paid for it twice: another run can pay its people since, or its run takes nothing back, so that nothing
   * else watches what the record does not have. @throws BankClientError that may pass
   */
  async step(employerId: string, open: LeftOpen): Promise<void> {
    const { bankInstructionId, payRunId } = open;
    const status = open.submittedAs ?? (await this.submittedAs(employerId, open));
    if (status === undefined) return;
    await this.database.inEmployer(employerId, async (tx) => {
      const run = payRunId === null ? undefined : await lockRun(tx, payRunId);
      if (!(await noteSubmitted(tx, bankInstructionId, status))) return;
      const stored = await storedAs(tx, bankInstructionId);
      // What was given up is watched by itself.
      if (stored?.status === 'ABANDONED') return;
      if (run !== undefined && TAKES_IT_BACK.includes(run.status))
        await tellWhereReleasedSince(tx, bankInstructionId, run);
      else if (stored === null) await tellOfForgottenMove(tx, bankInstructionId, run);
    });
  }

  private async submittedAs(
    employerId: string,
    { bankInstructionId, instructionId, payRunId, createdAt }: LeftOpen,
  ): Promise<string | undefined> {
    const { accounts, at } = await this.database.inEmployer(employerId, async (tx) => {
      const stored = await storedAs(tx, bankInstructionId);
      const bankIds = stored === null ? [] : await knownPayments(tx, stored);
      const isNamedBy = namesOf(instructionId ?? '');
      return {
        accounts: await accountsFor(tx, payRunId),
        // What the record has is watched besides, and looked at again and again, also where it is gone.
        at: { ...DECIDED, bankInstructionId, createdAt, bankIds, isNamedBy, byAnyList: stored === null },
      };
    });
    for (const account of accounts) {
      // Of what the bank does not name only the general list shows anything.
      const reads = account.reads.filter((read) => read === 'PAYMENT_LIST' || !isNameless(bankInstructionId));
      const allowed = { ...account, reads };
      const payments = (asked: InstructionAtBank) => this.reads.read(allowed, { ...asked, fewTell: true });
      const standing = await unless(isNotToBeRead, this.reads.standing(allowed, at, payments));
      const status = standing?.statuses.find(isPastSubmit);
      if (status !== undefined) return status;
    }
    return undefined;
  }
}

/** The account of its run; of one that was forgotten any of the employer's may show it. */
async function accountsFor(tx: EmployerTransaction, payRunId: string | null): Promise<EmployerAccount[]> {
  const { employerId } = tx;
  if (payRunId === null) return tx.manager.findBy(EmployerAccount, { employerId });
  const { accountId } = await findRun(tx, payRunId);
  return tx.manager.findBy(EmployerAccount, { employerId, id: accountId });
}

function storedAs(tx: EmployerTransaction, bankInstructionId: string): Promise<Instruction | null> {
  return tx.manager.findOneBy(Instruction, { employerId: tx.employerId, bankInstructionId });
}

/** @returns whether it is neither taken over nor decided meanwhile */
async function noteSubmitted(
  tx: EmployerTransaction,
  bankInstructionId: string,
  status: string,
): Promise<boolean> {
  const noted = await tx.query(
    `UPDATE forgotten_instruction SET submitted_as = coalesce(submitted_as, $3)
     WHERE employer_id = $1 AND bank_instruction_id = $2 AND adopted_at IS NULL AND action_id IS NULL
     RETURNING bank_instruction_id`,
    [tx.employerId, bankInstructionId, status],
  );
  return noted.length > 0;
}
