import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { isHiddenForGood } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { Outcome } from '../bank/outcome';
import { PATHS } from '../bank/types';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { newId } from '../database/new-id';
import { isPastSubmit, mayBeSubmitted, readBankStatus } from '../domain/bank-status';
import { DomainError } from '../domain/errors';
import { INSTRUCTION_IN_DOUBT } from '../domain/instruction';
import { intendCall } from '../employer/bank-calls';
import { readToDecide } from '../employer/bank-problem';
import type { EmployerAccount } from '../employer/employer.entity';
import type { Standing } from '../employer/standing';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { instructionOfRun, lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { movePaymentSet } from '../pay-run/payment.store';
import { finishCall, refusesWhatIsGone } from './call-record';
import { InstructionReader } from './read-back';
import { recordShownExecuted } from './submit-record';
import { requireWork, Work } from './work';
import { isWritten } from './written-word';

/** How an instruction stands at the bank. */
export type State = 'moved' | 'unclear' | 'cancelled' | 'not found' | 'not shown' | 'open';
type Unmoved = Exclude<State, 'moved'>;

/**
 * Declares a submit in doubt not executed, which is allowed only once the instruction is dead at the bank: deleted and read
 * back, cancelled by the bank, or the bank says so in writing (rule 8). Its payments become VOID.
 */
@Injectable()
export class Burial {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly reader: InstructionReader,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Proof is a final status the bank shows, or a delete it confirmed of what it showed, a read a lag bound after it, and that
   * it confirms no other. That it is not found proves nothing by itself (rule 10), and its payments are looked at all the
   * same: without proof the bank's written reference is needed, which also stands where the bank does not show the
   * instruction, and never where it shows that it moved, which is recorded.
   * @throws DomainError WAS_EXECUTED, NOT_PROVEN_DEAD, DELETED_BESIDE where another replica deletes it too; Problem 502, 503 while the bank cannot be read
   */
  async prove(employerId: string, attention: Attention, evidence: string | null): Promise<void> {
    const work = await this.database.inEmployer(employerId, (tx) =>
      instructionOfRun(tx, attention.instructionId ?? ''),
    );
    const bankInstructionId = work?.instruction.bankInstructionId;
    if (!work || bankInstructionId == null) {
      throw new DomainError('INSTRUCTION_NOT_FOUND', 'No instruction is at the bank.');
    }
    const written = isWritten(evidence);
    const deletes = await this.deletesOf(work);
    const before = await this.stateOf(work, written);
    if (before === 'cancelled') return;
    const deleted = (await this.deleteAtBank(work, bankInstructionId)).kind === 'yes';
    const after = await this.stateAfter(work, written, deleted);
    if (after === 'cancelled' || written) return;
    // What was read before may be older than a submit of it: only what was there was deleted.
    const isGone = before === 'open' && deleted && after === 'not found';
    if (isGone && refusesWhatIsGone(await this.deleteAtBank(work, bankInstructionId))) return;
    if ((await this.deletesOf(work)) > deletes + (isGone ? 2 : 1)) {
      const detail =
        'Somebody else has the bank delete this instruction at this moment, as who confirms the same does: see whether the action is still open, and confirm it then.';
      throw new DomainError('DELETED_BESIDE', detail);
    }
    throw new DomainError(
      'NOT_PROVEN_DEAD',
      'The instruction is not proven dead at the bank. Have the bank cancel it; then withdraw this proposal, and propose it again with the reference of its written word as evidence.',
    );
  }

  /** Makes the instruction and its payments VOID. */
  async bury(tx: EmployerTransaction, attention: Attention, action: AttentionActionRow): Promise<void> {
    const work = await requireWork(tx, attention);
    const instruction = await lockInstruction(tx, work.instruction.id);
    const actor = `person:${action.proposedBy}` as const;
    await moveInstruction(tx, instruction, 'VOID', actor, {}, action.reason);
    await movePaymentSet(tx, {
      payRunId: work.run.id,
      planned: work.planned,
      from: 'AT_BANK',
      to: 'VOID',
      actor,
      reason: action.reason,
    });
    wake(tx, 'FOLLOW', [instruction.id]);
    wake(tx, 'RUN', [work.run.id]);
  }

  /**
   * A read may be as old as the lag bound, and show what is no longer so, or not yet that it moved: at once only what never
   * changes counts.
   */
  private async stateAfter(work: Work, written: boolean, deleted: boolean): Promise<Unmoved> {
    const atOnce = deleted ? await this.stateOf(work, written) : 'open';
    if (atOnce === 'cancelled') return atOnce;
    await sleep(this.config.BANK_LAG_BOUND_MS);
    return this.stateOf(work, written);
  }

  /** @throws DomainError WAS_EXECUTED, once it is recorded */
  private async stateOf(work: Work, written: boolean): Promise<Unmoved> {
    const standing = await readToDecide(() =>
      this.reader.standing(work).catch((error: unknown) => {
        if (written && isHiddenForGood(error)) return undefined;
        throw error;
      }),
    );
    if (!standing) return 'not shown';
    const state = stateIn(standing, work.account);
    if (state !== 'moved') return state;
    await this.database.inEmployer(work.instruction.employerId, async (tx) => {
      const instruction = await lockInstruction(tx, work.instruction.id);
      if (INSTRUCTION_IN_DOUBT.includes(instruction.status))
        // By no amount: people decide also while the unit of amounts is another. Who follows it checks its totals.
        await recordShownExecuted(tx, work, instruction, undefined, this.clock.now());
    });
    throw wasExecuted();
  }

  /** How many deletes of it were intended so far, by anybody. */
  private async deletesOf({ instruction: { employerId, id } }: Work): Promise<number> {
    const calls = await this.database.inEmployer(employerId, (tx) =>
      tx.query(
        `SELECT FROM bank_call WHERE employer_id = $1 AND instruction_id = $2 AND operation = 'delete'`,
        [employerId, id],
      ),
    );
    return calls.length;
  }

  private async deleteAtBank(work: Work, bankInstructionId: string): Promise<Outcome<undefined>> {
    const callId = newId();
    const target = PATHS.creditTransfer(bankInstructionId);
    const bodyHash = createHash('sha256').digest();
    await this.database.inEmployer(work.instruction.employerId, (tx) =>
      intendCall(tx, { callId, operation: 'delete', subjectId: work.instruction.id, target, bodyHash }),
    );
    crashPoint('burial.delete-intended');
    const outcome = await this.gateway.deleteInstruction(bankInstructionId);
    crashPoint('burial.deleted');
    await this.database.inEmployer(work.instruction.employerId, (tx) => finishCall(tx, callId, outcome));
    crashPoint('burial.delete-recorded');
    return outcome;
  }
}

/** What its standing says of whether it can still be submitted, at a bank of which the account may read what it may. */
export function stateIn(
  { shown, isGone, statuses, isUnclear }: Standing,
  { reads }: Pick<EmployerAccount, 'reads'>,
): State {
  if (statuses.some(isPastSubmit)) return 'moved';
  // What a delete then hides may have been executed.
  if (statuses.some(mayBeSubmitted) || (shown && isUnclear)) return 'unclear';
  if (!shown) {
    if (!reads.includes('INSTRUCTION')) return 'open';
    return isGone && statuses.length === 0 ? 'not found' : 'not shown';
  }
  const reading = readBankStatus(shown.status);
  return reading.kind === 'terminal' && reading.outcome === 'CANCELLED' ? 'cancelled' : 'open';
}

function wasExecuted(): DomainError {
  return new DomainError(
    'WAS_EXECUTED',
    'The bank shows that the submit was executed; it cannot be declared otherwise, and is followed from now on.',
  );
}
