import { Injectable } from '@nestjs/common';
import { BankGateway } from '../bank/gateway';
import type { PreparedAdd } from '../bank/prepared';
import { allEnded } from '../config/all-ended';
import { crashPoint } from '../config/crash-point';
import { Database, EmployerTransaction } from '../database/database';
import { Claim } from '../database/leases';
import { NotDurable } from '../database/outage';
import { PersonalData } from '../database/personal-data';
import { Instruction } from '../pay-run/instruction.entity';
import { AddResult, intendAdds, recordAdds, recordTaken } from './add-record';
import { AddWindow, BATCH_ROWS, BATCHES_AT_ONCE } from './add-window';
import { OneByOne } from './one-by-one';
import { addOf } from './prepared-calls';
import { assertAccountOpen, assertMayCall, PayableRow, Work } from './work';

export const BUILD_TURNS = ['BUILDING', 'SUBMITTING'] as const;

/** The rows of one instruction on their way to the bank. */
interface Job {
  readonly claim: Claim;
  readonly work: Work;
  readonly order: number;
  readonly gentleness: number;
  readonly left: PayableRow[];
  /** An answer showed that going on is pointless. */
  stopped: boolean;
  readonly refusals: AddResult[];
}

/** Rows and the bytes of their adds, whose hashes are the intents. */
interface Prepared {
  readonly rows: readonly PayableRow[];
  readonly prepared: readonly PreparedAdd[];
}

/** Adds whose intents are committed. */
interface Batch extends Prepared {
  readonly number: number;
}

/**
 * Adds rows to an instruction: intents first, then the calls, then their outcomes, batch after batch (rules 1 and 2).
 * Where the bank took a whole batch, its outcomes and the intents of the next are one commit.
 */
@Injectable()
export class Adder {
  private readonly oneByOne = new OneByOne();

  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly window: AddWindow,
    private readonly personal: PersonalData,
  ) {}

  /** Begins no more adds; those under way are finished. */
  stop(): void {
    this.window.close();
  }

  /**
   * Has it filled by `fill`, unless another is filled one row at a time, as this would be: then it waits for its turn, and
   * keeps no place from others.
   */
  async inTurn<T>(
    instruction: Instruction,
    gentleness: number,
    fill: () => Promise<T>,
  ): Promise<{ filled: T } | { waitsForRun: string }> {
    if (!this.window.isOneByOne(gentleness)) return { filled: await fill() };
    const first = this.oneByOne.ask(instruction, performance.now());
    if (first) return { waitsForRun: first.payRunId };
    try {
      return { filled: await fill() };
    } finally {
      this.oneByOne.leave(instruction);
    }
  }

  /**
   * Adds the rows, in as many batches at a time as the window allows: one of those that are added gently, whose rows wait
   * in it for each other. Everything sent is recorded when it returns or throws, unless that itself failed.
   * @returns the answers that stopped it: the bank did not take those rows, nor is it to be asked for others now
   * @throws Fenced, Halted
   */
  async add(claim: Claim, work: Work, rows: readonly PayableRow[], gentleness: number): Promise<AddResult[]> {
    const job: Job = {
      claim,
      work,
      order: this.window.join(),
      gentleness,
      left: [...rows],
      stopped: false,
      refusals: [],
    };
    const lines = Array.from({ length: gentleness > 0 ? 1 : BATCHES_AT_ONCE }, () => this.line(job));
    await allEnded(lines);
    return job.refusals;
  }

  private async line(job: Job): Promise<void> {
    if (!(await this.window.takeBatch(job.order))) return;
    try {
      let batch = await this.begin(job);
      while (batch !== undefined) batch = await this.carryOut(job, batch);
    } catch (error) {
      job.stopped = true;
      throw error;
    } finally {
      this.window.giveBatch();
    }
  }

  /** Takes the next rows and commits their intents; undefined when none are left, or no more may be begun. */
  private async begin(job: Job): Promise<Batch | undefined> {
    const next = this.nextOf(job);
    if (next === undefined) return undefined;
    const number = await this.database.inEmployer(job.claim.employerId, (tx) => intend(tx, job, next));
    crashPoint('build.adds-intended');
    return { ...next, number };
  }

  private nextOf(job: Job): Prepared | undefined {
    if (job.stopped || !this.window.open) return undefined;
    const rows = job.left.splice(0, BATCH_ROWS);
    if (rows.length === 0) return undefined;
    return { rows, prepared: rows.map((row) => addOf(this.gateway, job.work, row)) };
  }

  /** Makes the adds of a batch side by side and writes their outcomes down. @returns the batch intended next */
  private async carryOut(job: Job, batch: Batch): Promise<Batch | undefined> {
    const results = await this.sendAll(job, batch);
    crashPoint('build.adds-sent');
    const next = results.every(({ outcome }) => outcome.kind === 'yes') ? this.nextOf(job) : undefined;
    if (next !== undefined) return this.goOn(job, batch, results, next);
    await this.record(job, batch, results);
    return this.begin(job);
  }

  private async record(
    { claim, work, gentleness }: Job,
    batch: Batch,
    results: readonly AddResult[],
  ): Promise<void> {
    await this.database.inEmployerRepeatedly(claim.employerId, (tx) =>
      recordAdds(tx, this.personal, work, batch.number, results, gentleness),
    );
    crashPoint('build.adds-recorded');
  }

  /** Where the next may not be called, or its intents cannot be written, the outcomes are recorded all the same. */
  private async goOn(job: Job, batch: Batch, results: readonly AddResult[], next: Prepared): Promise<Batch> {
    const { claim, work } = job;
    try {
      const number = await this.database.inEmployer(claim.employerId, (tx) =>
        intend(tx, job, next, () => recordTaken(tx, work, batch.number, results)),
      );
      crashPoint('build.adds-recorded');
      crashPoint('build.adds-intended');
      return { ...next, number };
    } catch (error) {
      if (!(error instanceof NotDurable)) await this.record(job, batch, results);
      throw error;
    }
  }

  /**
   * Sends until one answer shows that going on is pointless, or the process is to end; rows not sent by then were provably
   * not executed, and are added later.
   */
  private async sendAll(job: Job, { rows, prepared }: Prepared): Promise<AddResult[]> {
    const results: AddResult[] = [];
    const send = async (row: PayableRow, n: number) => {
      const add = prepared[n];
      if (job.stopped || !this.window.open || add === undefined) return;
      const outcome = await this.gateway.sendAdd(add, this.window.closed);
      results.push({ row, outcome });
      if (outcome.kind !== 'no' || outcome.reason === 'invalid') return this.window.rest();
      if (outcome.isVague) this.window.turnedAway();
      job.stopped = true;
      job.refusals.push({ row, outcome });
    };
    // All of them are waited for, whatever becomes of one: what is in flight must not outlive its batch.
    await allEnded(rows.map((row, n) => this.window.inLane(() => send(row, n), job.gentleness)));
    return results;
  }
}

/**
 * Writes the intents down, after what is to be written before them. All is sent together: what may not be called is not
 * committed either.
 * @returns the number of the batch
 */
async function intend(
  tx: EmployerTransaction,
  { claim, work }: Job,
  { rows, prepared }: Prepared,
  first: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  const [right, , number] = await Promise.all([
    assertMayCall(tx, claim, work, BUILD_TURNS),
    first(),
    intendAdds(tx, work, rows, prepared, { epoch: claim.epoch, finished: false }),
  ]);
  assertAccountOpen(right);
  return number;
}
