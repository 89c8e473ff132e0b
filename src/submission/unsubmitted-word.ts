import { Injectable } from '@nestjs/common';
import { isHiddenForGood, unless } from '../bank/errors';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { DomainError } from '../domain/errors';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { readToDecide } from '../employer/bank-problem';
import type { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { clearAttempt } from '../pay-run/attention.store';
import { endUnsubmitted, lockInstruction, planTheRest } from '../pay-run/instruction.store';
import { lapseOnceClear } from '../pay-run/lapse';
import type { PayRun } from '../pay-run/pay-run.entity';
import { lockRun, openAmendment } from '../pay-run/pay-run.store';
import { resumeRepayingRun } from '../pay-run/stop';
import { InstructionReader, shownUnclear } from './read-back';
import { BUILT_IN } from './try-again';
import { isLeftOf, shownAs, subjectsOf } from './unrecorded-submits';
import { loadWork } from './work';

/**
 * The bank's written word that nobody submitted what it shows, after a restore, in a status that no document names: of what
 * the record has as built, so that it is watched as everything that is given up.
 */
@Injectable()
export class UnsubmittedWord {
  constructor(
    private readonly database: Database,
    private readonly reader: InstructionReader,
  ) {}

  /**
   * Reads the instruction once more: the word is of the status that was asked about.
   * @throws DomainError WAS_EXECUTED, MAY_BE_SUBMITTED; Problem 503 while the bank cannot be read
   */
  async prove(employerId: string, attention: Attention): Promise<void> {
    const work = await this.database.inEmployer(employerId, async (tx) =>
      loadWork(tx, await instructionOf(tx, attention)),
    );
    if (!work) throw wasExecuted();
    const shown = await readToDecide(() => unless(isHiddenForGood, this.reader.submittedBefore(work)));
    if (shown?.moved !== undefined) throw wasExecuted();
    if (!shown || shown.failing) throw mayBeSubmitted('does not let it be read whole');
    const isAsked = shown.unknown !== undefined && attention.happened.includes(shownAs(shown.unknown));
    if (shown.isUnclear && !isAsked) throw mayBeSubmitted(`shows ${shownUnclear(shown)} by now`);
  }

  /**
   * Gives it up. Its rows are built again while another of its run is open; once none is, by a new approval where nothing of the
   * run is submitted.
   * @throws DomainError WAS_EXECUTED
   */
  async giveUp(tx: EmployerTransaction, attention: Attention, action: AttentionActionRow): Promise<void> {
    const run = await lockRun(tx, attention.payRunId ?? '');
    const instruction = await lockInstruction(tx, await instructionOf(tx, attention));
    if (INSTRUCTION_UNSENT.includes(instruction.status)) {
      await endUnsubmitted(tx, instruction, `person:${action.proposedBy}`, action.reason);
      await clearAttempt(tx, instruction.id, 'its instruction is given up');
    }
    if (instruction.status !== 'ABANDONED') throw wasExecuted();
    await tx.query(
      `UPDATE forgotten_instruction SET action_id = $3, adopted_at = clock_timestamp()
       WHERE employer_id = $1 AND bank_instruction_id = $2`,
      [tx.employerId, instruction.bankInstructionId, action.id],
    );
    await goOn(tx, run);
  }
}

/** The approval of a run of which more may be submitted stays: by it that is taken back into the record. */
async function goOn(tx: EmployerTransaction, run: PayRun): Promise<void> {
  if (!(await isLeftOf(tx, run.id))) await lapseOnceClear(tx, run);
  const isBuilt = BUILT_IN.includes(run.status) && run.lapseReason === null;
  if (isBuilt && !(await openAmendment(tx, run.id))) await planTheRest(tx, run);
  await resumeRepayingRun(tx, run.id);
  wake(tx, 'RUN', tx.employerId, [run.id]);
}

/** @throws DomainError WAS_EXECUTED where it was taken back meanwhile */
async function instructionOf(tx: EmployerTransaction, attention: Attention): Promise<string> {
  const [asked] = await subjectsOf(tx, attention);
  if (asked?.instructionId === undefined) throw wasExecuted();
  return asked.instructionId;
}

function wasExecuted(): DomainError {
  return new DomainError(
    'WAS_EXECUTED',
    'The bank shows that this instruction was submitted; it cannot be declared otherwise. Withdraw this.',
  );
}

function mayBeSubmitted(what: string): DomainError {
  return new DomainError(
    'MAY_BE_SUBMITTED',
    `The bank ${what}: that nobody submitted it is said only of what it shows as it was asked about. Withdraw this, and ask the bank again.`,
  );
}
