import { Inject, Injectable } from '@nestjs/common';
import { BankClientError, inWords, isBankError, NotAllowed } from '../bank/errors';
import type { BankInstruction } from '../bank/records';
import { Ages } from '../config/ages';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { CONFIG, Config } from '../config/env';
import { readDelayMs } from '../config/read-delay';
import { Database, EmployerTransaction } from '../database/database';
import { INSTRUCTION_IN_DOUBT } from '../domain/instruction';
import { Claim, fence, Fenced, wake } from '../database/leases';
import { WakeIn } from '../database/lease-worker';
import { isOfDatabase } from '../database/outage';
import { isPastSubmit, mayBeSubmitted } from '../domain/bank-status';
import type { Failing } from '../employer/standing';
import { aboutInstruction, clear, raise } from '../pay-run/attention.store';
import { Instruction, SubmitAttempt } from '../pay-run/instruction.entity';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { hiddenFromUs } from '../pay-run/refused-access';
import { AfterDoubt, afterDoubt, Doubt, TURNED_AWAY } from './decision';
import { InstructionReader } from './read-back';
import {
  finishAttempt,
  isOlderThanARestore,
  recordShownExecuted,
  sentAgain,
  timesTurnedAway,
} from './submit-record';
import type { Work } from './work';

const READ_AGAIN_MS = 1_000;

/** What a read says of a submit that was not answered. */
interface Evidence {
  executed: boolean;
  stillInitiated: boolean;
  instruction?: BankInstruction;
  /** A status that no document names. */
  unknown?: string;
  /** Why nothing could be read. */
  unread?: BankClientError;
  /** What fails to be shown for good. */
  failing?: Failing;
  /** What on our side keeps what the bank shows from being read or recorded, in words. */
  unseen?: string;
}

const SENT_BEFORE_A_RESTORE =
  'The database was restored since the submit was sent, and may have forgotten that it was sent once more. It is never sent again now. No other instruction pays these people.';

const UNRECORDED: Evidence = {
  executed: false,
  stillInitiated: false,
  unseen: 'What the bank shows of it cannot be recorded.',
};
const IN_ANOTHER_UNIT: Evidence = {
  executed: false,
  stillInitiated: false,
  unseen: 'It was not read, for BANK_AMOUNT_UNIT was not what its account was checked under.',
};

/**
 * A submit without an answer: read until the bank shows that it was executed, and parked for people when it does
 * not in time, be it that nothing can be read. It is never sent again, unless the bank's own word and a read say that
 * nothing happened (rule 8).
 */
@Injectable()
export class Recovery {
  private readonly ages = new Ages();

  constructor(
    private readonly database: Database,
    private readonly reader: InstructionReader,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws BankClientError that of the read, once what time alone decides is written down; not of what is hidden from us */
  async step(claim: Claim, work: Work): Promise<WakeIn> {
    const { evidence, wakeIn } = await this.readAndConclude(claim, work);
    crashPoint('recovery.recorded');
    if (evidence.unread instanceof NotAllowed) {
      const { message } = evidence.unread;
      await this.database.inEmployer(claim.employerId, (tx) =>
        hiddenFromUs(tx, work.run, work.instruction, message),
      );
      return wakeIn;
    }
    if (evidence.unread) throw evidence.unread;
    return wakeIn;
  }

  /** As `step`, by time alone: a process set to another unit of amounts than the account was checked under reads nothing. */
  stepUnread(claim: Claim, work: Work): Promise<WakeIn> {
    return this.conclude(claim, work, IN_ANOTHER_UNIT, performance.now());
  }

  /** A defect of ours must not keep from people what time alone tells; the database's own faults pass by themselves. */
  private async readAndConclude(claim: Claim, work: Work): Promise<{ evidence: Evidence; wakeIn: WakeIn }> {
    const begunMs = performance.now();
    try {
      const evidence = await this.evidenceOf(work);
      return { evidence, wakeIn: await this.conclude(claim, work, evidence, begunMs) };
    } catch (error) {
      if (!(error instanceof Fenced) && !isOfDatabase(error))
        await this.conclude(claim, work, UNRECORDED, begunMs).catch(() => undefined);
      throw error;
    }
  }

  /** @param begunMs when the read began, as `performance.now()` */
  private conclude(claim: Claim, work: Work, evidence: Evidence, begunMs: number): Promise<WakeIn> {
    return this.database.inEmployer(claim.employerId, async (tx) => {
      const instruction = await lockInstruction(tx, work.instruction.id);
      await fence(tx, claim);
      // Armed again, or declared, while the bank was read.
      if (!INSTRUCTION_IN_DOUBT.includes(instruction.status)) return 0;
      if (!evidence.unread && !evidence.unseen && !evidence.failing)
        await clear(tx, ['CONTRACT_DRIFT'], instruction.id, 'the same was read well');
      if (evidence.executed) {
        await recordShownExecuted(tx, work, instruction, evidence.instruction, this.clock.now());
        return 'never';
      }
      const attempt = await standingAttempt(tx, instruction);
      const ageMs = this.ages.of(attempt.id, await agedMs(tx, attempt));
      // After it: whatever time passed since the read is not taken for age of the doubt that the read saw.
      const readAgoMs = performance.now() - begunMs;
      if (instruction.status !== 'SUBMIT_INTENT') return readDelayMs(this.config, ageMs);
      const before = {
        timesTurnedAway: await timesTurnedAway(tx, attempt),
        olderThanARestore: await isOlderThanARestore(tx, instruction),
      };
      switch (this.after(attempt, { ...evidence, ageMs, readAgoMs, ...before })) {
        case 'begin':
          // The doubt begins here: a process that knows better may only now be able to say so (see UnsentSubmits).
          await finishAttempt(tx, instruction, 'IN_DOUBT', 'no answer was recorded');
          return READ_AGAIN_MS;
        case 'arm':
          await finishAttempt(tx, instruction, 'PROVEN_UNSENT', attempt.outcomeDetail ?? TURNED_AWAY);
          await moveInstruction(
            tx,
            instruction,
            'VERIFIED',
            'service',
            {},
            'the bank turned the submit away',
          );
          return READ_AGAIN_MS;
        case 'read-again':
          return READ_AGAIN_MS;
        case 'park':
          await this.park(tx, work, instruction, attempt, before, evidence);
          return readDelayMs(this.config, ageMs);
      }
    });
  }

  private async evidenceOf(work: Work): Promise<Evidence> {
    try {
      return await this.read(work);
    } catch (error) {
      if (!isBankError(error)) throw error;
      return { executed: false, stillInitiated: false, unread: error };
    }
  }

  private async read(work: Work): Promise<Evidence> {
    const { shown, statuses, failing } = await this.reader.standing(work);
    const executed = statuses.some(isPastSubmit);
    const unknown = statuses.find(mayBeSubmitted);
    return { executed, stillInitiated: shown?.status === 'INITIATED', instruction: shown, unknown, failing };
  }

  private after(
    { outcome, outcomeDetail: detail }: SubmitAttempt,
    read: Omit<Doubt, 'outcome' | 'detail'>,
  ): AfterDoubt {
    return afterDoubt(
      { outcome, detail, ...read },
      {
        rejectsBeforeExecuting: this.config.BANK_REJECTS_BEFORE_EXECUTING,
        lagBoundMs: this.config.BANK_LAG_BOUND_MS,
        doubtMs: this.config.SUBMIT_DOUBT_MS,
        rebuildLimit: this.config.REBUILD_LIMIT,
      },
    );
  }

  private async park(
    tx: EmployerTransaction,
    work: Work,
    instruction: Instruction,
    attempt: SubmitAttempt,
    { timesTurnedAway: times, olderThanARestore }: Pick<Doubt, 'timesTurnedAway' | 'olderThanARestore'>,
    { unread, failing, unseen, unknown }: Evidence,
  ): Promise<void> {
    const why = inWords(attempt.outcomeDetail ?? 'no answer was recorded');
    await moveInstruction(tx, instruction, 'SUBMIT_UNKNOWN', 'service', {}, why);
    await raise(tx, {
      kind: 'SUBMIT_UNKNOWN',
      ...aboutInstruction(work.instruction, work.planned),
      happened:
        `The submit sent at ${attempt.attemptedAt.toISOString()} has no known outcome: ${why}.` +
        (unread ? ` The bank could not be read either: ${unread.message}.` : '') +
        (failing ? ' The bank fails again and again to show what became of it.' : '') +
        (unseen ? ` ${unseen}` : '') +
        (unknown === undefined ? '' : ` The bank shows ${unknown}, which no document names.`),
      ...(times > 0 && {
        certain: `${sentAgain(times)} It is never sent again. No other instruction pays these people.`,
      }),
      ...(olderThanARestore && { certain: SENT_BEFORE_A_RESTORE }),
    });
    wake(tx, 'RUN', [work.run.id]);
  }
}

function standingAttempt(tx: EmployerTransaction, instruction: Instruction): Promise<SubmitAttempt> {
  return tx.manager
    .createQueryBuilder(SubmitAttempt, 's')
    .where('s.employerId = :employerId AND s.instructionId = :id', {
      employerId: tx.employerId,
      id: instruction.id,
    })
    .andWhere(`s.outcome IS DISTINCT FROM 'PROVEN_UNSENT'`)
    .getOneOrFail();
}

/** Since when there is a doubt, by the database's clock. */
async function agedMs(tx: EmployerTransaction, attempt: SubmitAttempt): Promise<number> {
  const [row] = await tx.query<{ ms: string }>(
    `SELECT extract(epoch FROM clock_timestamp() - coalesce(finished_at, attempted_at)) * 1000 AS ms
     FROM submit_attempt WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, attempt.id],
  );
  return Number(row?.ms ?? 0);
}
