import { Injectable } from '@nestjs/common';
import { BankGateway } from '../bank/gateway';
import type { PreparedAdd } from '../bank/prepared';
import { crashPoint } from '../config/crash-point';
import { Database } from '../database/database';
import { Claim } from '../database/leases';
import { AddResult, intendAdds, recordAdds } from './add-record';
import { AddWindow, BATCH_ROWS, BATCHES_AT_ONCE } from './add-window';
import { addOf } from './prepared-calls';
import { assertAccountOpen, assertMayCall, PayableRow, Work } from './work';

export const BUILD_TURNS = ['BUILDING', 'SUBMITTING'] as const;

/** The rows of one instruction on their way to the bank. */
interface Job {
  readonly claim: Claim;
  readonly work: Work;
  readonly order: number;
  readonly left: PayableRow[];
  /** An answer showed that going on is pointless. */
  stopped: boolean;
  readonly refusals: AddResult[];
}

/** Adds rows to an instruction: intents first, then the calls, then their outcomes, batch after batch (rules 1 and 2). */
@Injectable()
export class Adder {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly window: AddWindow,
  ) {}

  /** Begins no more batches; those under way are finished. */
  stop(): void {
    this.window.close();
  }

  /**
   * Adds the rows, in as many batches at a time as the window allows. Everything sent is recorded when it returns or
   * throws, unless that itself failed.
   * @returns the answers that stopped it: the bank did not take those rows, nor is it to be asked for others now
   * @throws Fenced, Halted
   */
  async add(claim: Claim, work: Work, rows: readonly PayableRow[]): Promise<AddResult[]> {
    const job: Job = {
      claim,
      work,
      order: this.window.join(),
      left: [...rows],
      stopped: false,
      refusals: [],
    };
    const lines = Array.from({ length: BATCHES_AT_ONCE }, () => this.line(job));
    const ended = await Promise.allSettled(lines);
    const failed = ended.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return job.refusals;
  }

  private async line(job: Job): Promise<void> {
    while (job.left.length > 0 && !job.stopped) {
      if (!(await this.window.takeBatch(job.order))) return;
      try {
        const rows = job.stopped ? [] : job.left.splice(0, BATCH_ROWS);
        if (rows.length > 0) await this.batch(job, rows);
      } catch (error) {
        job.stopped = true;
        throw error;
      } finally {
        this.window.giveBatch();
      }
    }
  }

  /** Intents in one commit, the adds side by side, their outcomes in one commit. */
  private async batch(job: Job, rows: readonly PayableRow[]): Promise<void> {
    const { claim, work } = job;
    const prepared = rows.map((row) => addOf(this.gateway, work, row));
    const batch = await this.database.inEmployer(claim.employerId, async (tx) => {
      // Sent together: what may not be called is not committed either.
      const [right, intent] = await Promise.all([
        assertMayCall(tx, claim, work, BUILD_TURNS),
        intendAdds(tx, work, rows, prepared, { epoch: claim.epoch, finished: false }),
      ]);
      assertAccountOpen(right);
      return intent;
    });
    crashPoint('build.adds-intended');
    const results = await this.sendAll(job, rows, prepared);
    crashPoint('build.adds-sent');
    await this.database.inEmployerRepeatedly(claim.employerId, (tx) => recordAdds(tx, work, batch, results));
    crashPoint('build.adds-recorded');
  }

  /** Sends until one answer shows that going on is pointless; rows not sent by then were provably not executed. */
  private async sendAll(
    job: Job,
    rows: readonly PayableRow[],
    prepared: readonly PreparedAdd[],
  ): Promise<AddResult[]> {
    const results: AddResult[] = [];
    const send = async (row: PayableRow, n: number) => {
      const add = prepared[n];
      if (job.stopped || add === undefined) return;
      const outcome = await this.gateway.sendAdd(add);
      results.push({ row, outcome });
      if (outcome.kind !== 'no' || outcome.reason === 'invalid') return;
      job.stopped = true;
      job.refusals.push({ row, outcome });
    };
    // All of them are waited for, whatever becomes of one: what is in flight must not outlive its batch.
    const sent = await Promise.allSettled(rows.map((row, n) => this.window.inLane(() => send(row, n))));
    const failed = sent.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return results;
  }
}
