import { Inject, Injectable } from '@nestjs/common';
import { type BankClientError, isBankError, isHiddenForGood, unless } from '../bank/errors';
import { crashPoint } from '../config/crash-point';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import type { WakeIn } from '../database/lease-worker';
import { Claim, fence, missingForMs } from '../database/leases';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { showId } from '../http/prefixed-id';
import { aboutInstruction, clearAttempt, isConfirmed, openAbout, raise } from '../pay-run/attention.store';
import { SUBMITTED_OR_NOT } from '../pay-run/attention-actions';
import { ATTENTION_WORDS, WAS_IT_SUBMITTED, WHICH_IS_WHICH, WHY_ENDED } from '../pay-run/attention-words';
import { ASKED_OF_DIFFERENCES, askOfDifferences, shownOtherwise } from '../pay-run/difference';
import { isSaidExecuted } from '../pay-run/forgotten-pay';
import { Instruction } from '../pay-run/instruction.entity';
import { endUnsubmitted, lockInstruction, planAttempt } from '../pay-run/instruction.store';
import { tellOfMovedTombstone } from '../pay-run/moved-instruction';
import { PayRun } from '../pay-run/pay-run.entity';
import { lockRun } from '../pay-run/pay-run.store';
import { awaitTurnOfOpenRuns, stopRunByService } from '../pay-run/stop';
import { InstructionReader, ReadBack, shownUnclear, SubmittedBefore, Unclear } from './read-back';
import { HAS_ID_OF_ANOTHER, toldOfTaken } from './taken-ids';
import { tellOfUnseen } from './unseen';
import { assertUnchanged, Halted, Obstacle, obstacleOf, Work } from './work';

/** What nobody can tell of is read again after so long. */
const UNCLEAR_PAUSE_MS = 30_000;

const UNREADABLE = 'The run is to be cancelled or amended, and this instruction of it cannot be read: ';

/** Rows named in a question; of more their number is told. */
const ROWS_NAMED = 5;

const STOPPED_IN_MID_RUN =
  'The instruction was abandoned before any submit: none of it is paid. Others of the run are submitted, and the run is stopped. Once two people resume it, what is left is built again, unless it was built too often; what is not submitted by the cut-off becomes VOID and can be paid by a successor.';

const FOREIGN_BEFORE_SUBMIT =
  'We never sent this payment. The instruction was abandoned before any submit: none of it is paid. It is built again, unless its run has ended or it was built too often.';

/** How an instruction is read where no wait mends it. */
type Unmended = ReadBack & { kind: 'dead' | 'gone' | 'unidentified' | 'different' };

/** Ends instructions that must not be submitted, and has their rows built again where nobody doubts. */
@Injectable()
export class Abandonment {
  constructor(
    private readonly database: Database,
    private readonly reader: InstructionReader,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Abandons an instruction and plans its next attempt; after too many a person is asked (rule 4).
   * @param askBank what the bank is asked then, where its answers to adds are no reason
   */
  async rebuild(claim: Claim, work: Work, reason: string, askBank?: string): Promise<'never'> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      const run = await lockRun(tx, work.run.id);
      const instruction = await lockInstruction(tx, work.instruction.id);
      await fence(tx, claim);
      await this.abandon(tx, work, { run, instruction }, reason, askBank);
    });
    crashPoint('build.abandoned');
    return 'never';
  }

  /** Abandons what no wait mends, as it is read. */
  async endAsRead(claim: Claim, work: Work, reading: Unmended): Promise<WakeIn> {
    switch (reading.kind) {
      case 'dead':
        return this.rebuild(claim, work, `the bank ended it (${reading.bankStatus})`, WHY_ENDED);
      case 'gone':
        return this.endGone(claim, work);
      case 'unidentified':
        return this.rebuild(claim, work, reading.why, WHICH_IS_WHICH);
      case 'different':
        return this.differs(claim, work, reading);
    }
  }

  /** Only a lag bound after it was first missed: until then a list may not show yet that somebody else submitted it. */
  private async endGone(claim: Claim, work: Work): Promise<WakeIn> {
    const missedForMs = await this.database.inEmployer(claim.employerId, async (tx) => {
      await assertUnchanged(tx, claim, work);
      return missingForMs(tx, claim, 'ROWS');
    });
    const leftMs = this.config.BANK_LAG_BOUND_MS - missedForMs;
    if (leftMs > 0) return Math.ceil(leftMs);
    return this.rebuild(claim, work, 'the bank ended it (not found)', WHY_ENDED);
  }

  /**
   * Abandons what is not what was approved, tells a person, and stops its run where others of it are being submitted, in
   * one transaction: a later read that shows it otherwise finds it ended (rules 6 and 7).
   */
  private async differs(
    claim: Claim,
    work: Work,
    reading: ReadBack & { kind: 'different' },
  ): Promise<'never'> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      const run = await lockRun(tx, work.run.id);
      const instruction = await assertUnchanged(tx, claim, work);
      await this.abandon(tx, work, { run, instruction }, reading.why);
      await this.tellOfDifferent(tx, work, run, reading);
    });
    crashPoint('build.abandoned');
    return 'never';
  }

  private async tellOfDifferent(
    tx: EmployerTransaction,
    { instruction, planned }: Work,
    run: PayRun,
    { named, why }: ReadBack & { kind: 'different' },
  ): Promise<void> {
    const what = shownOtherwise(instruction);
    if (run.status === 'SUBMITTING') {
      await stopRunByService(tx, run.id, `an instruction differed from what was approved: ${why}`);
      const alarm = { ...aboutInstruction(instruction, planned), certain: STOPPED_IN_MID_RUN };
      for (const kind of ASKED_OF_DIFFERENCES) {
        const differing = named[kind];
        const happened = `${what}: ${textOfFirstFew(differing, MOST_NAMED)}.`;
        if (differing.length > 0) await raise(tx, { kind, ...alarm, happened, differing });
      }
      return;
    }
    for (const kind of ASKED_OF_DIFFERENCES) {
      const certain = kind === 'FOREIGN_RECORD' ? FOREIGN_BEFORE_SUBMIT : undefined;
      await askOfDifferences(tx, instruction, planned, { kind, what, named: named[kind], certain });
    }
  }

  private async abandon(
    tx: EmployerTransaction,
    { planned }: Work,
    { run, instruction }: { run: PayRun; instruction: Instruction },
    reason: string,
    askBank?: string,
  ): Promise<void> {
    const obstacle = await obstacleUnlessRestored(tx, run);
    await endUnsubmitted(tx, instruction, 'service', reason);
    // Whoever was overtaken may have recorded a refusal of what is added to another now.
    await clearAttempt(tx, instruction.id, 'its instruction is built again');
    if (obstacle === 'ENDED') return;
    const attempts = await attemptsOf(tx, instruction);
    if (attempts > this.config.REBUILD_LIMIT) {
      const alike = await answeredAlike(tx, instruction);
      const isOfIds = reason === HAS_ID_OF_ANOTHER && alike === '';
      const beside = isOfIds ? undefined : (askBank ?? ATTENTION_WORDS.REBUILD_LIMIT.askBank);
      const taken = await toldOfTaken(tx, instruction, beside);
      await raise(tx, {
        kind: 'REBUILD_LIMIT',
        ...aboutInstruction(instruction, planned),
        subjectId: planned.id,
        happened: `${attempts} attempts to build this instruction were abandoned; the last because ${reason}.${taken?.happened ?? ''}${alike}`,
        askBank: taken?.askBank ?? askBank,
      });
      return;
    }
    await planAttempt(tx, planned, instruction.attempt + 1);
  }

  /**
   * Ends an instruction whose run is being cancelled or amended; no add of it is in flight. It is read once more: its rows
   * may be paid again then, and not where somebody else has submitted it. @throws BankClientError while the bank cannot
   * be reached, or refuses our access to everything; what it refuses to show ends all the same, and is watched, and what it
   * shows the payments of and not itself is waited for
   */
  async end(claim: Claim, work: Work): Promise<WakeIn> {
    const { moved, isUnclear } = await this.submittedBefore(claim, work);
    if (isUnclear) return UNCLEAR_PAUSE_MS;
    await this.database.inEmployer(claim.employerId, async (tx) => {
      // At once with its own: what moved stops those that pay the same people.
      if (moved !== undefined) await awaitTurnOfOpenRuns(tx);
      const run = await lockRun(tx, work.run.id);
      const instruction = await lockInstruction(tx, work.instruction.id);
      await fence(tx, claim);
      await obstacleUnlessRestored(tx, run);
      const why = 'the run is being amended or cancelled';
      await endUnsubmitted(tx, instruction, 'service', why);
      await clearAttempt(tx, instruction.id, why);
      if (moved !== undefined) await tellOfMovedTombstone(tx, instruction, work.planned, moved);
    });
    return 'never';
  }

  /** What lasts for ten minutes is told: the run neither ends nor is built again meanwhile. */
  private async submittedBefore(claim: Claim, work: Work): Promise<SubmittedBefore> {
    try {
      const read = await unless(isHiddenForGood, this.reader.submittedBefore(work));
      if (!read?.isUnclear) return read ?? { isUnclear: false };
      if (await this.isSaid(work, read)) return { isUnclear: false };
      await this.tellOfUnclear(claim, work, read);
      return read;
    } catch (error) {
      if (isBankError(error)) await this.tellOfUnreadable(claim, work, error);
      throw error;
    }
  }

  /** Asked until the bank's written word on what it shows is here, whatever else was acknowledged. */
  private async tellOfUnclear(claim: Claim, work: Work, unclear: Unclear): Promise<void> {
    const unseen = {
      ...aboutInstruction(work.instruction, work.planned),
      happened: submittedOrNot(unclear),
      certain:
        'Nothing more is sent for it. It ends by itself once the bank shows what became of it, or two people acknowledge this with the reference of its written word that nobody submitted it as evidence.',
      askBank: WAS_IT_SUBMITTED,
    };
    await this.database.inEmployer(claim.employerId, (tx) =>
      tellOfUnseen(tx, claim, 'ROWS', unseen, [unseen.happened], 'over'),
    );
  }

  /** An outage does not take back the question above, whose answer ends the instruction once it is over. */
  private async tellOfUnreadable(claim: Claim, work: Work, error: BankClientError): Promise<void> {
    const unseen = {
      ...aboutInstruction(work.instruction, work.planned),
      happened: `${UNREADABLE}${error.message}.`,
      certain:
        'Nothing more is sent for it. It ends by itself once it can be read, unless the bank then leaves open whether somebody else submitted it: that is asked about anew, whatever was decided here.',
      askBank: WAS_IT_SUBMITTED,
    };
    await this.database.inEmployer(claim.employerId, async (tx) => {
      if (await isAskedOfUnclear(tx, work.instruction)) return;
      // The next read that fails ends the wait for it.
      if (error.inARow?.momentsLeft === 1) missingForMs(tx, claim, 'ROWS');
      else await tellOfUnseen(tx, claim, 'ROWS', unseen, [UNREADABLE]);
    });
  }

  /**
   * Whether two people have the bank's written word on what it shows, that on anything else was asked of something else; or
   * that it was executed after all, so that nobody of it is paid again.
   */
  private async isSaid({ instruction }: Work, unclear: Unclear): Promise<boolean> {
    return this.database.inEmployer(instruction.employerId, async (tx) => {
      const isUnsubmitted = await isConfirmed(
        tx,
        { kind: 'ROW_UNSEEN', subjectId: instruction.id, action: 'ACKNOWLEDGE' },
        [submittedOrNot(unclear)],
        'a.happened = $4 AND d.evidence IS NOT NULL',
      );
      return isUnsubmitted || isSaidExecuted(tx, instruction);
    });
  }
}

/**
 * What stands in the way of a run, of which the check after a restore looks at all that is not given up: a submit of it may
 * be forgotten. @throws Halted before that has read the bank, be it noticed since the work began
 */
async function obstacleUnlessRestored(tx: EmployerTransaction, run: PayRun): Promise<Obstacle | undefined> {
  const obstacle = await obstacleOf(tx, run);
  if (obstacle === 'RESTORED') throw new Halted(obstacle);
  return obstacle;
}

/** What is asked where nobody can tell whether somebody submitted it: another question for each thing that the bank shows. */
function submittedOrNot(unclear: Unclear): string {
  return `${SUBMITTED_OR_NOT}: it shows ${shownUnclear(unclear)}.`;
}

/** Whether it is open whether somebody submitted it. */
async function isAskedOfUnclear(tx: EmployerTransaction, { id }: Pick<Instruction, 'id'>): Promise<boolean> {
  const open = await openAbout(tx, { kind: 'ROW_UNSEEN', subjectId: id });
  return open?.happened.startsWith(SUBMITTED_OR_NOT) === true;
}

/** Rows that the bank has answered in doubt whenever they were added: an amendment may take them out. */
async function answeredAlike(
  tx: EmployerTransaction,
  { plannedInstructionId }: Pick<Instruction, 'plannedInstructionId'>,
): Promise<string> {
  const rows = await tx.query<{ row_no: number; payment_id: string; doubt: string; times: number }>(
    `SELECT b.row_no, b.payment_id, max(b.add_doubt) AS doubt, count(*)::int AS times
     FROM instruction i JOIN bank_payment b ON b.employer_id = i.employer_id AND b.instruction_id = i.id
     WHERE i.employer_id = $1 AND i.planned_instruction_id = $2 AND starts_with(b.add_doubt, 'status ')
     GROUP BY b.row_no, b.payment_id HAVING count(*) > 1 ORDER BY times DESC, b.row_no`,
    [tx.employerId, plannedInstructionId],
  );
  if (rows.length === 0) return '';
  const named = rows.map(
    (row) => `row ${row.row_no} (${showId('pay', row.payment_id)}) with ${row.doubt} ${row.times} times`,
  );
  return ` The bank answered ${textOfFirstFew(named, ROWS_NAMED)}: without them, which an amendment takes out as long as nothing is submitted, it may take the others.`;
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
