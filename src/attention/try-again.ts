import { Injectable } from '@nestjs/common';
import { isHiddenForGood, unless } from '../bank/errors';
import { Database, EmployerTransaction } from '../database/database';
import { DomainError } from '../domain/errors';
import { INSTRUCTION_UNSENT, isInstructionLive } from '../domain/instruction';
import { PayRunStatus } from '../domain/pay-run';
import { readToDecide } from '../employer/bank-problem';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { clear, clearAttempt } from '../pay-run/attention.store';
import { needsWord } from '../pay-run/attention-actions';
import { assertBankRead } from '../pay-run/bank-unread';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import {
  endUnsubmitted,
  instructionOfRun,
  lockInstruction,
  planAttempt,
  planOf,
} from '../pay-run/instruction.store';
import { PayRun } from '../pay-run/pay-run.entity';
import { lockRun, openAmendment } from '../pay-run/pay-run.store';
import { InstructionReader, shownUnclear } from '../submission/read-back';
import { tellOfUnrecordedMove } from '../submission/unrecorded-move';

/** The states of a run in which its instructions are built, also one that had to be built again. */
const BUILT_IN: readonly PayRunStatus[] = ['BUILDING', 'VERIFIED', 'SUBMITTING'];

/** Two people have the rows of an instruction built anew that could not be built. */
@Injectable()
export class TryAgain {
  constructor(
    private readonly database: Database,
    private readonly reader: InstructionReader,
  ) {}

  /**
   * Whether the instruction was submitted all the same, by somebody else: its rows are built by nobody then, and people are
   * told. What the bank refuses to show, or shows no more, is watched.
   * @throws DomainError WAS_EXECUTED, MAY_BE_SUBMITTED; Problem 503 while the bank cannot be read
   */
  async prove(
    employerId: string,
    attention: Attention,
    { evidence }: Pick<AttentionActionRow, 'evidence'>,
  ): Promise<void> {
    const work = await this.database.inEmployer(employerId, async (tx) => {
      const asked = await instructionOfRun(tx, attention.instructionId ?? '');
      const live = asked && liveOf(await attemptsFor(tx, asked.planned.id));
      return live && instructionOfRun(tx, live.id);
    });
    if (!work || !INSTRUCTION_UNSENT.includes(work.instruction.status)) return;
    const shown = await readToDecide(() => unless(isHiddenForGood, this.reader.submittedBefore(work)));
    if (shown?.isUnclear) {
      const unclear = shownUnclear(shown);
      // The word of the bank is of what was asked.
      if (needsWord(attention, 'TRY_AGAIN') && evidence !== null && attention.happened.includes(unclear))
        return;
      throw new DomainError(
        'MAY_BE_SUBMITTED',
        `The bank shows ${unclear}: somebody else may have submitted it. Ask the bank, and have it cancel its payments.`,
      );
    }
    const moved = shown?.moved;
    if (moved === undefined) return;
    await this.database.inEmployer(employerId, async (tx) => {
      await lockRun(tx, work.run.id);
      const { status } = await lockInstruction(tx, work.instruction.id);
      if (INSTRUCTION_UNSENT.includes(status)) await tellOfUnrecordedMove(tx, work, moved);
    });
    throw new DomainError(
      'WAS_EXECUTED',
      'The bank shows that this instruction was submitted by somebody else: its payments are not built again. Decide what is asked about that.',
    );
  }

  /** Builds the rows anew; what was built before stays abandoned. @throws DomainError NOT_BEING_BUILT, NOT_RECONCILED */
  async carryOut(tx: EmployerTransaction, attention: Attention, action: AttentionActionRow): Promise<void> {
    const run = await lockRun(tx, attention.payRunId ?? '');
    await assertBankRead(tx);
    const planned = await planOf(tx, await lockInstruction(tx, attention.instructionId ?? ''));
    await assertBeingBuilt(tx, run, planned);
    const attempts = await attemptsFor(tx, planned.id);
    // Not always the one that was asked about: it may have been given up meanwhile, and built again.
    const live = liveOf(attempts);
    const again = 'its instruction is built again';
    if (live) {
      const instruction = await lockInstruction(tx, live.id);
      if (!INSTRUCTION_UNSENT.includes(instruction.status))
        throw notBeingBuilt(
          `Its instruction is ${instruction.status}: it is not built any more. Withdraw this.`,
        );
      await endUnsubmitted(tx, instruction, `person:${action.proposedBy}`, action.reason);
      // They are of the same attempt, and asked again if they last.
      await clearAttempt(tx, instruction.id, again, attention.id);
    }
    if (attention.kind !== 'REBUILD_LIMIT') await clear(tx, ['REBUILD_LIMIT'], planned.id, again);
    await planAttempt(tx, planned, attempts.length + 1);
  }
}

function attemptsFor(tx: EmployerTransaction, plannedInstructionId: string): Promise<Instruction[]> {
  return tx.manager.findBy(Instruction, { employerId: tx.employerId, plannedInstructionId });
}

function liveOf(attempts: readonly Instruction[]): Instruction | undefined {
  return attempts.find(({ status }) => isInstructionLive(status));
}

/** Only what is approved as it stands is built. @throws DomainError NOT_BEING_BUILT */
async function assertBeingBuilt(
  tx: EmployerTransaction,
  run: PayRun,
  { runVersion }: PlannedInstruction,
): Promise<void> {
  const changes = run.lapseReason !== null || (await openAmendment(tx, run.id)) !== null;
  if (BUILT_IN.includes(run.status) && run.runVersion === runVersion && !changes) return;
  throw notBeingBuilt(
    `The run is ${run.status}, and no approval stands for what would be built. Withdraw this; the run is built anew once it is approved again.`,
  );
}

function notBeingBuilt(message: string): DomainError {
  return new DomainError('NOT_BEING_BUILT', message);
}
