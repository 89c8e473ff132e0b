import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  type BankClientError,
  BankError,
  BankUnreachable,
  isHiddenForGood,
  isNotShown,
  readEach,
  ReadFails,
  unless,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { Outcome } from '../bank/outcome';
import { PATHS } from '../bank/types';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { isBeforeSubmit, isEndedUnpaid } from '../domain/bank-status';
import { PAY_RUN_GOING_ON } from '../domain/pay-run';
import { accountsOf } from '../employer/account.store';
import { BankCalls } from '../employer/bank-calls';
import { BankReads } from '../employer/bank-reads';
import type { EmployerAccount } from '../employer/employer.entity';
import { DECIDED, type InstructionAtBank } from '../employer/instruction-at-bank';
import type { Standing } from '../employer/standing';
import { clearAttempt } from '../pay-run/attention.store';
import {
  endUnsubmitted,
  instructionOfRun,
  instructionsOfRuns,
  lockInstruction,
  planTheRest,
} from '../pay-run/instruction.store';
import { namesOf } from '../pay-run/message-id';
import { findRun, lockRun } from '../pay-run/pay-run.store';
import { stateIn } from '../submission/burial';
import { refusesWhatIsGone, whyOf } from '../submission/call-record';
import { InstructionReader } from '../submission/read-back';
import type { Work } from '../submission/work';
import { givenUpUnnoticed } from './restore-given-up';
import type { Sweep } from './restore-sweep';
import type { Finding } from './restore-words';

const REASON = 'the database was restored, which may have forgotten a submit of it: the bank deleted it';

/**
 * What became of an instruction at the bank: `dead` is shown as cancelled, `gone` is deleted and not shown, `lags` is deleted,
 * and shown all the same.
 */
type State = 'dead' | 'gone' | 'lags' | 'unproven';

/** What the bank's list shows of an employer, once nobody submits it any more. */
export interface Fenced {
  /** What is not proven dead is unclear. */
  findings: readonly Finding[];
  /**
   * Whether some is not shown as cancelled. What is not shown since its delete may have been submitted just before, of which
   * the general list alone may tell; and so may what the bank did not delete.
   */
  isOpen: boolean;
  /** What the record holds, and is not shown since its delete: that may be so of what was submitted just before. */
  gone: readonly Work[];
  /** What was given up before the restore was noticed, and is not proven dead. */
  givenUp: readonly Work[];
}

/** An instruction at the bank of which the record has no submit. */
interface Unsubmitted {
  employerId: string;
  restoreId: string;
  bankInstructionId: string;
  /** What its delete is recorded by. */
  subjectId: string;
  account: EmployerAccount;
  standing: () => Promise<Standing>;
  /** Whether it is to be deleted still, read in the transaction of the delete's intent. */
  isMeant: (tx: EmployerTransaction) => Promise<boolean>;
  /** Writes down that it is dead. */
  ended: () => Promise<void>;
}

/** The check was passed, or the work done, meanwhile. */
class Overtaken extends Error {}

const isOvertaken = (error: unknown): boolean => error instanceof Overtaken;

/**
 * After a restore a submit may be under way that the record has forgotten, and the bank may queue it for as long as it likes:
 * that it shows an instruction as before its submit proves nothing (rule 8). Each such is deleted there and read back
 * before anything takes its place.
 */
@Injectable()
export class RestoreFence {
  /** Since when the delete of an instruction fails, or is not carried out, by its id at the bank and `performance.now()`. */
  private readonly failingSinceMs = new Map<string, number>();

  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly calls: BankCalls,
    private readonly reader: InstructionReader,
    private readonly reads: BankReads,
    @Inject(CONFIG)
    private readonly config: Pick<Config, 'BANK_LAG_BOUND_MS' | 'SUBMIT_DOUBT_MS' | 'WATCH_DAYS'>,
  ) {}

  /**
   * Has the bank delete what the record holds as built and not submitted, and abandons what is shown as cancelled by that; it
   * is built again where its run goes on. What is not shown is looked at again (`endGone`). So too what was given up before
   * the restore was noticed, and what the record has forgotten, and the bank shows as before its submit. May be repeated, by
   * one replica at a time: another that deletes the same would find it gone, and could not tell by what.
   * @param sweep what the bank's list shows @param own what of that is the employer's, and not in the record
   * @throws BankClientError that may pass
   */
  async fence(employerId: string, restoreId: string, sweep: Sweep, own: readonly Finding[]): Promise<Fenced> {
    const [held, before] = await this.database.inEmployer(employerId, async (tx) => [
      await heldWork(tx),
      await givenUpUnnoticed(tx, restoreId, this.config.WATCH_DAYS),
    ]);
    const unmoved = [...held, ...before].filter((work) => listedStatus(sweep, work) === undefined);
    const states = await this.each(unmoved.map((work) => this.ofRecord(restoreId, work)));
    const gone = unmoved.filter((_, n) => states[n] === 'gone');
    const dead = new Set(unmoved.filter((_, n) => states[n] === 'dead'));
    const givenUp = before.filter((work) => !dead.has(work));
    return { ...(await this.forgotten(employerId, restoreId, own)), gone, givenUp };
  }

  /**
   * Abandons what a lag bound after its delete no read shows still, nor the list, and the bank refuses to delete again.
   * @param sweep what the list shows by then
   * @returns what was given up before the restore was noticed, and is not proven dead by that either
   * @throws BankClientError that may pass
   */
  async endGone(restoreId: string, { gone, givenUp }: Fenced, sweep: Sweep): Promise<Work[]> {
    const unlisted = gone.filter((work) => listedStatus(sweep, work) === undefined);
    const dead = new Set<Work>();
    await readEach(unlisted, async (work) => {
      const one = this.ofRecord(restoreId, work);
      if ((await this.attempt(one)) !== 'gone' || !(await this.isProven(one))) return;
      await one.ended();
      dead.add(work);
    });
    return givenUp.filter((work) => !dead.has(work));
  }

  /** The bank has answered every delete, or people its question: what it did before says nothing of the next restore. */
  allPassed(): void {
    this.failingSinceMs.clear();
  }

  private async forgotten(
    employerId: string,
    restoreId: string,
    findings: readonly Finding[],
  ): Promise<Omit<Fenced, 'gone' | 'givenUp'>> {
    const open = findings.filter(({ status, isUnclear }) => isBeforeSubmit(status) && !isUnclear);
    if (open.length === 0) return { findings, isOpen: false };
    const accounts = await this.database.inEmployer(employerId, accountsOf);
    const account = accounts.find(({ reads }) => reads.includes('INSTRUCTION'));
    const all = account ? open.map((one) => this.ofBank(account, restoreId, one)) : [];
    const states = await this.each(all);
    const isDead = await readEach([...all.entries()], async ([n, one]) =>
      states[n] === 'gone' ? this.isProven(one) : states[n] === 'dead',
    );
    const unproven = new Set(open.filter((_, n) => !isDead[n]));
    return {
      findings: findings.map((one) => (unproven.has(one) ? { ...one, isUnclear: true } : one)),
      isOpen: open.some((_, n) => states[n] !== 'dead'),
    };
  }

  /**
   * A read may be as old as the lag bound: what is shown after its delete is read again once that has passed, all at once.
   * @throws BankClientError also while the bank may yet carry a delete out
   */
  private async each(all: readonly Unsubmitted[]): Promise<State[]> {
    const states = await readEach(all, (one) => this.attempt(one));
    if (!states.includes('lags')) return states;
    await sleep(this.config.BANK_LAG_BOUND_MS);
    for (const [n, one] of all.entries()) if (states[n] === 'lags') states[n] = await this.attempt(one);
    const [late] = all.filter((one, n) => states[n] === 'lags' && !this.hasLasted(one));
    if (late === undefined) return states;
    const call = `GET ${PATHS.customerInstruction(late.bankInstructionId)}`;
    throw Object.assign(new ReadFails('as gone what it has deleted'), { call });
  }

  private async attempt(one: Unsubmitted): Promise<State> {
    const tellsNothing = (error: unknown) => isOvertaken(error) || isHiddenForGood(error);
    return (await unless(tellsNothing, this.stepOf(one))) ?? 'unproven';
  }

  private async stepOf(one: Unsubmitted): Promise<State> {
    let standing = await one.standing();
    let isDeleted = await this.wasDeleted(one);
    if (!isDeleted && standing.shown && isBeforeSubmit(standing.shown.status)) {
      isDeleted = (await this.deleteAtBank(one)).kind === 'yes';
      if (isDeleted) standing = await one.standing();
    }
    const state = stateIn(standing, one.account);
    if (state === 'cancelled') {
      await one.ended();
      return 'dead';
    }
    if (isDeleted && state === 'not found') return 'gone';
    return isDeleted && state !== 'moved' ? 'lags' : 'unproven';
  }

  /**
   * Whether what is gone was deleted, and not submitted: the read before its delete may have been older than its submit.
   * @throws BankClientError that may pass
   */
  private async isProven(one: Unsubmitted): Promise<boolean> {
    const again = await unless(isOvertaken, this.deleteAtBank(one));
    return again !== undefined && refusesWhatIsGone(again);
  }

  /** What the bank answers oddly for a while may pass. @throws BankClientError that may pass */
  private async deleteAtBank(one: Unsubmitted): Promise<Outcome<undefined>> {
    const { employerId, restoreId, subjectId, bankInstructionId } = one;
    const target = PATHS.creditTransfer(bankInstructionId);
    const outcome = await this.calls.recorded(
      { employerId, subjectId, operation: 'delete', target, body: '' },
      () => this.gateway.deleteInstruction(bankInstructionId),
      async (tx) => {
        if (!(await lockAwaited(tx, { id: restoreId })) || !(await one.isMeant(tx))) throw new Overtaken();
      },
    );
    const failure = passingFailure(outcome);
    if (failure === undefined) this.failingSinceMs.delete(bankInstructionId);
    else if (!this.hasLasted(one)) throw Object.assign(failure, { call: `DELETE ${target}` });
    return outcome;
  }

  /** Whether the bank confirmed a delete of it before, which was cut short before it was read back. */
  private async wasDeleted({ employerId, subjectId, bankInstructionId }: Unsubmitted): Promise<boolean> {
    const deleted = await this.database.inEmployer(employerId, (tx) =>
      tx.query(
        `SELECT FROM bank_call WHERE employer_id = $1 AND instruction_id = $2 AND operation = 'delete'
           AND target = $3 AND outcome = 'YES' LIMIT 1`,
        [employerId, subjectId, PATHS.creditTransfer(bankInstructionId)],
      ),
    );
    return deleted.length > 0;
  }

  /** What the bank answered oddly all the while since it first did of this one it may answer for ever. */
  private hasLasted({ bankInstructionId }: Unsubmitted): boolean {
    const nowMs = performance.now();
    const sinceMs = this.failingSinceMs.get(bankInstructionId) ?? nowMs;
    this.failingSinceMs.set(bankInstructionId, sinceMs);
    return nowMs - sinceMs >= this.config.SUBMIT_DOUBT_MS;
  }

  private ofRecord(restoreId: string, work: Work): Unsubmitted {
    const { account, instruction } = work;
    const { employerId, id } = instruction;
    return {
      employerId,
      restoreId,
      bankInstructionId: instruction.bankInstructionId ?? '',
      subjectId: id,
      account,
      standing: () => this.reader.standing(work),
      // What was given up stays so.
      isMeant: async (tx) => !isHeld(instruction) || isHeld((await instructionOfRun(tx, id))?.instruction),
      ended: () => this.abandon(restoreId, work),
    };
  }

  private ofBank(account: EmployerAccount, restoreId: string, finding: Finding): Unsubmitted {
    const { bankInstructionId, instructionId, payRunId } = finding;
    const { employerId } = account;
    const at = {
      bankInstructionId,
      createdAt: new Date(0),
      bankIds: [],
      ...DECIDED,
      isNamedBy: instructionId === undefined ? () => false : namesOf(instructionId),
    };
    const payments = async (asked: InstructionAtBank) => ({
      found: (await unless(isNotShown, this.reads.ownPayments(account, asked))) ?? [],
    });
    return {
      employerId,
      restoreId,
      bankInstructionId,
      subjectId: instructionId ?? payRunId ?? restoreId,
      account,
      standing: () => this.reads.standing(account, at, payments),
      isMeant: () => Promise.resolve(true),
      ended: () => Promise.resolve(),
    };
  }

  private async abandon(restoreId: string, { instruction: { employerId, id }, run: { id: payRunId } }: Work) {
    await this.database.inEmployer(employerId, async (tx) => {
      if (!(await lockAwaited(tx, { id: restoreId }))) return;
      await lockRun(tx, payRunId);
      const instruction = await lockInstruction(tx, id);
      if (!isHeld(instruction)) return;
      await endUnsubmitted(tx, instruction, 'service', REASON);
      await clearAttempt(tx, id, REASON);
      const run = await findRun(tx, payRunId);
      if (PAY_RUN_GOING_ON.includes(run.status) && run.lapseReason === null)
        await planTheRest(tx, run, instruction.plannedInstructionId);
    });
  }
}

/** Why a delete may be confirmed yet; undefined where it is, or the bank does not take it. */
function passingFailure(outcome: Outcome<undefined>): BankClientError | undefined {
  switch (outcome.kind) {
    case 'yes':
      return undefined;
    case 'no':
      if (outcome.reason === 'invalid' || outcome.reason === 'forbidden') return undefined;
      return outcome.error ?? new BankUnreachable(whyOf(outcome), false);
    case 'in-doubt': {
      if (outcome.status === undefined) return new BankUnreachable(outcome.why, true);
      const failure = new BankError(outcome.status, { raw: '' });
      return isNotShown(failure) ? undefined : failure;
    }
  }
}

/**
 * What was fenced, by what the bank's list shows a lag bound after the last delete. What is shown no more, or as ended
 * unpaid, is as the delete left it; what only this list shows nobody has deleted.
 * @param own what of the later list is the employer's
 */
export function seenAgain(
  fenced: readonly Finding[],
  own: readonly Finding[],
  { unidentified }: Sweep,
): readonly Finding[] {
  const now = new Map(own.map((one) => [one.bankInstructionId, one]));
  const unread = new Set(unidentified);
  const found = fenced.map((before) => {
    const one = now.get(before.bankInstructionId);
    now.delete(before.bankInstructionId);
    if (one?.submitted) return one;
    const isSettled =
      before.submitted || (one ? isEndedUnpaid(one.status) : !unread.has(before.bankInstructionId));
    return isSettled ? before : { ...(one ?? before), isUnclear: true };
  });
  const others = [...now.values()];
  return [...found, ...others.map((one) => (isBeforeSubmit(one.status) ? { ...one, isUnclear: true } : one))];
}

/** By the general list, where the bank shows neither the instruction nor what is in it any more. */
export function listedStatus(
  { moved }: Sweep,
  { instruction: { id, bankInstructionId } }: Work,
): string | undefined {
  return moved.find((one) => one.bankInstructionId === bankInstructionId || one.instructionId === id)?.status;
}

function isHeld(instruction: Work['instruction'] | undefined): boolean {
  return instruction?.status === 'BUILDING' || instruction?.status === 'VERIFIED';
}

/** The instructions that are at the bank, and of which the record has no submit. */
export async function heldWork(tx: EmployerTransaction): Promise<Work[]> {
  const held = await tx.query<{ id: string }>(
    `SELECT id FROM instruction
     WHERE employer_id = $1 AND status IN ('BUILDING', 'VERIFIED') AND bank_instruction_id IS NOT NULL ORDER BY id`,
    [tx.employerId],
  );
  return instructionsOfRuns(
    tx,
    held.map(({ id }) => id),
  );
}

/** Waits for whoever passes the check at this moment. @returns whether nobody has */
export async function lockAwaited(tx: EmployerTransaction, { id }: { id: string }): Promise<boolean> {
  const awaited = await tx.query(
    'SELECT FROM restore_check WHERE employer_id = $1 AND restore_id = $2 AND passed_at IS NULL FOR UPDATE',
    [tx.employerId, id],
  );
  return awaited.length > 0;
}
