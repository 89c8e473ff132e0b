import { Inject, Injectable } from '@nestjs/common';
import { isBankError } from '../bank/errors';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence, wake } from '../database/leases';
import { WakeIn } from '../database/lease-worker';
import { PersonalData } from '../database/personal-data';
import { isPastSubmit } from '../domain/bank-status';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { sendingCloses } from '../domain/send-window';
import { isUnitConfirmed, OTHER_UNIT } from '../employer/readiness';
import { aboutInstruction, clear, clearAttempt, openAbout, raise } from '../pay-run/attention.store';
import { ATTENTION_WORDS, type AttentionKind } from '../pay-run/attention-words';
import {
  ASKED_OF_DIFFERENCES,
  askOfDifferences,
  keepDifferences,
  shownOtherwise,
} from '../pay-run/difference';
import { isSaidExecuted, mayBePaidByAnother, repaysForgotten } from '../pay-run/forgotten-pay';
import { Instruction, type PlannedInstruction } from '../pay-run/instruction.entity';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { closeOpenAdds } from '../pay-run/open-adds';
import { findRun, lockRun } from '../pay-run/pay-run.store';
import { type Told, withDoubt } from '../pay-run/released-doubt';
import { LACKS_APPROVALS, RESTORED_UNCLEAR } from '../pay-run/stop';
import { movePaymentSet } from '../pay-run/payment.store';
import { beginBuilding } from './initiation';
import { InstructionReader, ReadBack, shownUnclear } from './read-back';
import { Verifier } from './verifier';
import { Halted, mayBeForgotten, PayableRow, payableRows, submitsOff, Work } from './work';

/** What people are asked about an instruction that is to be submitted: pointless once it never is. */
const ASKED_BEFORE_SUBMIT: readonly AttentionKind[] = ['REPLACED_UNSEEN', 'REBUILD_LIMIT'];

const LAST_MOMENT = 'The last moment for a submit before the cut-off of the execution date passed';
const PASSED = `${LAST_MOMENT} before this instruction was submitted.`;
const NEVER_SUBMITTED =
  'The restored record has no submit of this instruction, and it is never submitted any more.';
const NEVER = 'too late for the cut-off: we never submit it';
const OF_LATER_VERSION = ' The restored record may lack a later version of it: leave out whom that left out.';
const PAID_ALREADY = {
  happened: `${LAST_MOMENT}. A submit that is not in the record may have paid the rows of this instruction: no successor pays them.`,
  certain: NEVER_SUBMITTED,
};

/** Of how an instruction differed that is released. */
const RELEASED_OTHERWISE = `${LAST_MOMENT}: we did not submit this instruction, and it is never submitted any more. Its STALE_DATE says what can pay its rows.`;

/** What was read of an instruction past the cut-off, if anything could be. */
type Seen = ReadBack | { kind: 'unread' };

/** The cut-off that passes in mid-run: what was not submitted by then is released, and another run pays its rows. */
@Injectable()
export class CutOff {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly reader: InstructionReader,
    private readonly verifier: Verifier,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Whether it came to be too late for the cut-off while the run was being submitted: nothing of it is sent any more. A
   * submit must end before it, and its time-out is the most it takes.
   */
  isTooLate({ run, instruction }: Pick<Work, 'run' | 'instruction'>): boolean {
    if (run.status !== 'SUBMITTING' || !INSTRUCTION_UNSENT.includes(instruction.status)) return false;
    return this.leftMs({ run }) <= 0;
  }

  /** For how long, in ms, a submit of the run may still begin; negative once it is too late for that. */
  leftMs({ run }: Pick<Work, 'run'>): number {
    const closes = sendingCloses(run.executionDate, bankHours(this.config)).getTime();
    return closes - this.config.BANK_TIMEOUT_MS - this.clock.now().getTime();
  }

  /**
   * Reads the instruction; past the cut-off also where the bank cannot be read: what was seen to have moved stays so.
   * @throws BankClientError before it
   */
  async readUnlessLate(work: Work, rows: readonly PayableRow[]): Promise<Seen> {
    try {
      return await this.reader.readBack(work, rows);
    } catch (error) {
      if (!isBankError(error) || !this.isTooLate(work)) throw error;
      const before = work.instruction.bankStatus ?? '';
      return isPastSubmit(before) ? { kind: 'moved', bankStatus: before } : { kind: 'unread' };
    }
  }

  /**
   * Past the cut-off an instruction that is built again in mid-run is released too, unless the bank shows that it moved.
   * @throws Halted after a restore
   */
  async giveUp(claim: Claim, work: Work): Promise<WakeIn> {
    if (work.instruction.bankInstructionId === null) return this.expire(claim, work, { kind: 'unread' });
    const rows = await this.database.inEmployer(claim.employerId, (tx) =>
      payableRows(tx, this.personal, work),
    );
    const reading = await this.readUnlessLate(work, rows);
    if (reading.kind === 'moved') return this.moved(claim, work, reading.bankStatus);
    // How it differs would be told of amounts that are read in another unit than they are.
    const isOfAmounts = reading.kind === 'different' && !isUnitConfirmed(work.account, this.config);
    return this.expire(claim, work, isOfAmounts ? { kind: 'unidentified', why: OTHER_UNIT } : reading);
  }

  /** As `Verifier.breach`; past the cut-off what two people said was executed, and cannot be taken over, ends its run. */
  async moved(claim: Claim, work: Work, bankStatus: string): Promise<WakeIn> {
    const { instruction } = work;
    const decided = await this.database.inEmployer(claim.employerId, (tx) => isSaidExecuted(tx, instruction));
    if (decided && this.isTooLate(work)) return this.expire(claim, work, { kind: 'moved', bankStatus });
    return this.verifier.breach(claim, work, bankStatus);
  }

  /**
   * Releases the instruction where the cut-off has passed. People are told where nobody can tell whether it was submitted.
   * @throws Halted after a restore
   */
  async expire(claim: Claim, work: Work, seen: Seen): Promise<'never'> {
    const isTold = seen.kind !== 'unread' && seen.kind !== 'unclear';
    await this.database.inEmployer(claim.employerId, async (tx) => {
      const run = await lockRun(tx, work.run.id, 'pessimistic_read');
      const instruction = await lockInstruction(tx, work.instruction.id);
      await fence(tx, claim);
      // After a restore everything is stopped, and only a read tells whether a submit was forgotten.
      if (!isTold && (await submitsOff(tx))) throw new Halted('STOPPED');
      // What a restored database forgot may be another attempt for the same rows, which no read of this one shows.
      if (await mayBeForgotten(tx, run.id)) throw new Halted('STOPPED');
      if (this.isTooLate({ run, instruction })) await this.release(tx, work, instruction, seen);
    });
    return 'never';
  }

  /** What was not submitted is not paid by this run any more; a person is told. */
  async release(tx: EmployerTransaction, work: Work, instruction: Instruction, seen?: Seen): Promise<void> {
    const unclear = doubtOf(instruction, seen);
    const reason = 'the cut-off passed before its submit';
    // Of live payments: what is released is not any more.
    const told = withDoubt(await toldOf(tx, work.planned), unclear);
    if (instruction.status === 'PLANNED') await beginBuilding(tx, work, instruction);
    await closeOpenAdds(tx, instruction);
    await moveInstruction(tx, instruction, 'RELEASED', 'service', {}, reason);
    await movePaymentSet(tx, {
      payRunId: work.run.id,
      planned: work.planned,
      from: 'AT_BANK',
      to: 'VOID',
      actor: 'service',
      reason,
    });
    await raise(tx, { kind: 'STALE_DATE', ...aboutInstruction(work.instruction, work.planned), ...told });
    await tellOfOther(tx, work, instruction, seen);
    const why =
      unclear === undefined ? NEVER : `${NEVER}, and the bank does not say whether somebody else did`;
    await clear(tx, ASKED_BEFORE_SUBMIT, [instruction.id, work.planned.id], why);
    const breach = { kind: 'INVARIANT_BREACH', subjectId: instruction.id } as const;
    // What else may be asked of it, as that it has moved, lasts.
    if ((await openAbout(tx, breach))?.happened === LACKS_APPROVALS)
      await clear(tx, [breach.kind], instruction.id, why);
    await clearAttempt(tx, instruction.id, why);
    wake(tx, 'FOLLOW', [instruction.id]);
    wake(tx, 'RUN', [work.run.id]);
  }
}

/** How it differed outlives it, and holds nothing: nobody reads it any more to submit it. */
async function tellOfOther(
  tx: EmployerTransaction,
  { planned }: Work,
  instruction: Instruction,
  seen?: Seen,
): Promise<void> {
  await keepDifferences(tx, instruction, planned, RELEASED_OTHERWISE);
  if (seen?.kind !== 'different') return;
  const what = shownOtherwise(instruction);
  const certain = {
    FOREIGN_RECORD: `We never sent this payment. ${RELEASED_OTHERWISE}`,
    ECHO_MISMATCH: RELEASED_OTHERWISE,
  };
  for (const kind of ASKED_OF_DIFFERENCES)
    await askOfDifferences(tx, instruction, planned, {
      kind,
      what,
      named: seen.named[kind],
      certain: certain[kind],
    });
}

/** What the bank does that leaves open whether somebody else submitted it, in words; nothing where it was never there. */
function doubtOf({ bankInstructionId }: Instruction, seen?: Seen): string | undefined {
  if (seen?.kind === 'unclear') return `shows ${shownUnclear(seen)}`;
  return seen?.kind === 'unread' && bankInstructionId !== null ? 'could not be read' : undefined;
}

/** What people are told of a released instruction, and with it of what can pay its rows: each of them, some or none. */
async function toldOf(tx: EmployerTransaction, planned: PlannedInstruction): Promise<Told> {
  if (await repaysForgotten(tx, planned.payRunId)) return PAID_ALREADY;
  const { stoppedReason } = await findRun(tx, planned.payRunId);
  const version = stoppedReason === RESTORED_UNCLEAR ? OF_LATER_VERSION : '';
  const doubted = await mayBePaidByAnother(tx, await paymentsOf(tx, planned));
  if (doubted.size === 0)
    return { happened: `${PASSED} Make a successor of the run, which pays its rows.${version}` };
  const others = doubted.size < planned.rowCount ? ` A successor of the run pays the others.${version}` : '';
  return {
    happened: `${LAST_MOMENT}. A run that a restored database has forgotten, or had and that is cancelled, may have paid ${doubted.size} of its ${planned.rowCount} payments: no successor pays these. Upload the rows of those whom the bank did not pay with supplementOf: they are held until an approver releases them.${others}`,
    certain: NEVER_SUBMITTED,
    askBank: ATTENTION_WORDS.RESTORED.askBank,
  };
}

async function paymentsOf(
  tx: EmployerTransaction,
  { payRunId, firstRow, lastRow }: PlannedInstruction,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM payment WHERE employer_id = $1 AND pay_run_id = $2 AND row_no BETWEEN $3 AND $4 AND live`,
    [tx.employerId, payRunId, firstRow, lastRow],
  );
  return rows.map(({ id }) => id);
}
