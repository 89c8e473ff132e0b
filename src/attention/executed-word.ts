import { Injectable } from '@nestjs/common';
import { isBankError, unless } from '../bank/errors';
import { Database } from '../database/database';
import { mayBeSubmitted } from '../domain/bank-status';
import { DomainError } from '../domain/errors';
import { Attention } from '../pay-run/attention.entity';
import { instructionOfRun } from '../pay-run/instruction.store';
import { InstructionReader } from '../submission/read-back';
import { isWritten } from '../submission/written-word';

/** Two people say that a submit in doubt was executed: not on their word alone against what the bank shows. */
@Injectable()
export class ExecutedWord {
  constructor(
    private readonly database: Database,
    private readonly reader: InstructionReader,
  ) {}

  /**
   * Reads the instruction once more. What the bank shows as not submitted would be followed for days, and be in nobody's
   * successor: that takes the bank's written reference. What it does not show, or not now, says nothing.
   * @throws DomainError SHOWN_UNSUBMITTED
   */
  async prove(
    employerId: string,
    { instructionId }: Pick<Attention, 'instructionId'>,
    evidence: string | null,
  ): Promise<void> {
    if (isWritten(evidence)) return;
    const work = await this.database.inEmployer(employerId, (tx) =>
      instructionOfRun(tx, instructionId ?? ''),
    );
    if (!work) return;
    const standing = await unless(isBankError, this.reader.standing(work));
    if (!standing || standing.isUnclear || standing.statuses.length === 0) return;
    if (standing.statuses.some(mayBeSubmitted)) return;
    throw new DomainError(
      'SHOWN_UNSUBMITTED',
      'The bank shows the instruction as not submitted. Withdraw this; once the bank shows otherwise it goes on by itself. If the bank says in writing that it was executed, propose it again with the reference of that as evidence.',
    );
  }
}
