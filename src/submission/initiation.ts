import { Inject, Injectable } from '@nestjs/common';
import { inWords } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { isSuccess, Outcome } from '../bank/outcome';
import type { BankInstruction } from '../bank/records';
import { PATHS } from '../bank/types';
import { CONFIG, Config } from '../config/env';
import { crashPoint } from '../config/crash-point';
import { readDriverError } from '../config/driver-error';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, wake } from '../database/leases';
import { StepEnd } from '../database/lease-worker';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { intendCall } from '../employer/bank-calls';
import { aboutInstruction, clear, raise } from '../pay-run/attention.store';
import { AttentionKind, NOT_OPENED, UNPAID_IN_MID_RUN } from '../pay-run/attention-words';
import { Instruction } from '../pay-run/instruction.entity';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { movePaymentSet } from '../pay-run/payment.store';
import { BUILD_TURNS } from './adder';
import { pauseAfter } from './build-pause';
import { finishCall, saidIn, whyOf } from './call-record';
import { afterBuildAnswer } from './decision';
import { initiateOf, referenceOf } from './prepared-calls';
import { assertAccountOpen, assertMayCall, Work } from './work';
import { RowsChanged } from './tampering';
import { waitingAfter } from './waits-for';

const REFUSALS_TO_INITIATE: readonly AttentionKind[] = ['REBUILD_LIMIT', 'INITIATE_REFUSED'];

/** What a bank that stays down costs at most: an empty instruction each five minutes. */
const LONGEST_PAUSE_MS = 300_000;

/** That an id of the bank is that of one instruction, of whatever employer. */
const ONE_INSTRUCTION = 'instruction_bank_instruction_id_key';

interface InitiateCall {
  callId: string;
  /** Which initiation of its instruction it is, those not counted that the bank refused. */
  attempt: number;
}

/** Opens an instruction at the bank (rules 1 and 3). */
@Injectable()
export class Initiation {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly personal: PersonalData,
    @Inject(CONFIG) private readonly config: Pick<Config, 'REBUILD_LIMIT'>,
  ) {}

  /** Step 1. An initiate in doubt is tried again: what it may have made is an empty orphan (rule 3). */
  async step(claim: Claim, work: Work): Promise<StepEnd> {
    const { instruction } = work;
    const callId = newId();
    let attempt = 0;
    const begun = await this.database.inEmployer(claim.employerId, async (tx) => {
      assertAccountOpen(await assertMayCall(tx, claim, work, BUILD_TURNS));
      attempt = await initiatesOf(tx, instruction.id);
      if (instruction.status === 'PLANNED')
        await beginBuilding(tx, work, await lockInstruction(tx, instruction.id));
      const prepared = initiateOf(this.gateway, this.personal, work, referenceOf(work, attempt));
      await intendCall(tx, {
        callId,
        operation: 'initiate',
        subjectId: instruction.id,
        target: prepared.path,
        bodyHash: prepared.bodyHash,
        attempt,
        epoch: claim.epoch,
      });
      return prepared;
    });
    crashPoint('build.initiate-intended');
    const outcome = await this.gateway.sendInitiate(begun);
    crashPoint('build.initiated');
    const call = { callId, attempt };
    try {
      return await this.recordInitiate(claim, work, call, outcome);
    } catch (error) {
      if (outcome.kind !== 'yes' || readDriverError(error)?.constraint !== ONE_INSTRUCTION) throw error;
      return this.recordInitiate(claim, work, call, answeredAsAnother(outcome));
    }
  }

  private recordInitiate(
    claim: Claim,
    work: Work,
    { callId, attempt }: InitiateCall,
    outcome: Outcome<BankInstruction>,
  ): Promise<StepEnd> {
    const { instruction } = work;
    return this.database.inEmployerRepeatedly(instruction.employerId, async (tx) => {
      await finishCall(tx, callId, outcome);
      if (outcome.kind === 'yes') {
        await tx.query(
          `UPDATE instruction SET bank_instruction_id = $3, bank_status = $4
           WHERE employer_id = $1 AND id = $2 AND status <> 'PLANNED' AND bank_instruction_id IS NULL`,
          [tx.employerId, instruction.id, outcome.value.bankInstructionId, outcome.value.status],
          'kept',
        );
        const { status } = await lockInstruction(tx, instruction.id);
        // Whoever was overtaken may hear this after the instruction was given up, and people were asked about it.
        if (status === 'BUILDING') {
          await clear(tx, REFUSALS_TO_INITIATE, [work.planned.id, instruction.id], 'the bank opened it');
          wake(tx, 'INSTRUCTION', [instruction.id]);
        }
        return 0;
      }
      const next = afterBuildAnswer(outcome);
      // Another worker may have had an answer first: nobody is asked, and it goes on with what was opened.
      if (next.kind === 'refused' && !(await raiseRefused(tx, work, outcome))) return 0;
      if (next.kind === 'doubt') return this.initiateAgain(tx, work, attempt, outcome);
      return pauseAfter(tx, claim, work, next, { path: PATHS.initiate(), outcome });
    });
  }

  /** After ever longer pauses: a bank that is down for a while is waited for, and from some time on a person knows. */
  private async initiateAgain(
    tx: EmployerTransaction,
    work: Work,
    attempt: number,
    outcome: Outcome<BankInstruction>,
  ): Promise<StepEnd> {
    if (attempt > this.config.REBUILD_LIMIT && (await isBeingInitiated(tx, work))) {
      const { what, asked } = lastAnswerOf(outcome);
      await raise(tx, {
        kind: 'REBUILD_LIMIT',
        ...aboutInstruction(work.instruction, work.planned),
        subjectId: work.planned.id,
        happened: `The last of ${attempt} initiations ${what}. It goes on being tried.`,
        certain: work.run.status === 'SUBMITTING' ? UNPAID_IN_MID_RUN : NOT_OPENED,
        askBank: `Why are initiations of a credit-transfer instruction on account ${work.account.bankAccountId} ${asked}?`,
      });
    }
    const inMs = pauseBeforeInitiate(attempt);
    return inMs === 0 ? inMs : waitingAfter(PATHS.initiate(), outcome, inMs);
  }
}

/** PLANNED → BUILDING, with its payments. @throws RowsChanged where they are not those that were planned */
export async function beginBuilding(
  tx: EmployerTransaction,
  { run, planned }: Pick<Work, 'run' | 'planned'>,
  instruction: Instruction,
): Promise<void> {
  await moveInstruction(tx, instruction, 'BUILDING', 'service');
  const moved = await movePaymentSet(tx, {
    payRunId: run.id,
    planned,
    from: 'APPROVED',
    to: 'AT_BANK',
    actor: 'service',
  });
  if (moved.count !== planned.rowCount || moved.amountMinor !== planned.totalMinor) throw new RowsChanged();
}

/** The first try again is at once, since a lost answer is common; then 1, 2, 4 … seconds. */
function pauseBeforeInitiate(attempt: number): number {
  return attempt === 1 ? 0 : Math.min(1_000 * 2 ** (attempt - 2), LONGEST_PAUSE_MS);
}

/** What the bank answered to an initiation in doubt, and what it is asked about. */
function lastAnswerOf(outcome: Outcome<BankInstruction>): { what: string; asked: string } {
  const { status } = outcome;
  if (status === undefined) {
    const why = inWords(whyOf(outcome));
    return { what: `stayed unanswered: ${why}`, asked: `not answered: ${why}` };
  }
  if (!isSuccess(status))
    return { what: `was answered with status ${status}`, asked: `answered with status ${status}` };
  const why = whyOf(outcome);
  return {
    what: `was answered, but not as it must be (${why})`,
    asked: `answered otherwise than sent (${why})`,
  };
}

/** What was opened, if anything was, is not known by its id: nothing is added to that, which others are paid by. */
function answeredAsAnother({ value, status }: Outcome<BankInstruction> & { kind: 'yes' }): Outcome<never> {
  const why = `the id is that of customer instruction ${value.bankInstructionId}, which is in the record already`;
  return { kind: 'in-doubt', why, status };
}

async function initiatesOf(tx: EmployerTransaction, instructionId: string): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    `SELECT count(*)::int + 1 AS n FROM bank_call
     WHERE employer_id = $1 AND instruction_id = $2 AND operation = 'initiate'
       AND outcome IS DISTINCT FROM 'NO'`,
    [tx.employerId, instructionId],
    'kept',
  );
  return row?.n ?? 1;
}

/** Whether it still waits to be initiated: another worker may have had an answer first, or two people had it given up. */
async function isBeingInitiated(
  tx: EmployerTransaction,
  { instruction }: Pick<Work, 'instruction'>,
): Promise<boolean> {
  const now = await lockInstruction(tx, instruction.id);
  return now.status === 'BUILDING' && now.bankInstructionId === null;
}

/**
 * Asks about a refused initiation, unless another worker had an answer first, or the instruction was given up.
 * @returns whether it is asked about
 */
async function raiseRefused(
  tx: EmployerTransaction,
  { instruction, planned, run, account }: Work,
  outcome: Outcome<BankInstruction>,
): Promise<boolean> {
  if (!(await isBeingInitiated(tx, { instruction }))) return false;
  await raise(tx, {
    kind: 'INITIATE_REFUSED',
    ...aboutInstruction(instruction, planned),
    bankReference: account.bankAccountId,
    ...(run.status === 'SUBMITTING' && { certain: UNPAID_IN_MID_RUN }),
    happened: `The bank refused to open an instruction: ${whyOf(outcome)}.`,
    bankWords: saidIn(outcome),
  });
  return true;
}
