import { Inject, Injectable } from '@nestjs/common';
import { isBankError, unless } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { INWARD, type PaymentMarks } from '../bank/payment-marks';
import { AtMostEvery } from '../config/at-most-every';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { BankLists } from '../database/bank-lists';
import { Database } from '../database/database';
import { isBeforeSubmit } from '../domain/bank-status';
import { HOUR_MS } from '../domain/durations';
import { EmployerAccount } from '../employer/employer.entity';
import { CLOCK_MARGIN_MS, may } from '../employer/payment-lists';
import { readMessageId } from '../pay-run/message-id';
import { PayRun } from '../pay-run/pay-run.entity';
import { type ListedUnsubmitted, UnsubmittedProof } from './unsubmitted-proof';

/** What was seen so lately is not looked at again: each month's run finds it older. */
const SEEN_FOR_DAYS = 20;

/** A list is read no further than this for what only a restore may ask, once. */
const MOST_RECORDS = 500;

/**
 * Learns, while a run is built and nothing of it submitted, whether the bank's general list shows what is not submitted: after
 * a restore of the database that may be asked when there is nothing by which to see it.
 */
@Injectable()
export class UnsubmittedLook {
  private readonly looked: AtMostEvery<'list'>;
  /** What the list showed last of a run, by `performance.now()`: its instruction is read when no read can be older. */
  private listed: { payRunId: string; one: ListedUnsubmitted; atMs: number } | undefined;

  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly lists: BankLists,
    private readonly proof: UnsubmittedProof,
    clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'BANK_LAG_BOUND_MS'>,
  ) {
    this.looked = new AtMostEvery(HOUR_MS, clock);
  }

  /**
   * Keeps what is seen for `BankLists.showsUnsubmitted`; a list that cannot be read, or lags, tells nothing.
   * @returns in how many milliseconds the run is to be looked at again, before anything of it is submitted; 0 where it is not
   */
  async at(run: PayRun, account: EmployerAccount): Promise<number> {
    if (this.listed?.payRunId !== run.id) {
      if (!may(account, 'PAYMENT_LIST') || !this.looked.isDue('list')) return 0;
      this.looked.note('list');
      if (await this.lists.showsUnsubmitted(SEEN_FOR_DAYS)) return 0;
      const one = await unless(isBankError, this.listedOf(run));
      if (one === undefined) return 0;
      this.listed = { payRunId: run.id, one, atMs: performance.now() };
    }
    const { one, atMs } = this.listed;
    const restMs = Math.ceil(atMs + this.config.BANK_LAG_BOUND_MS - performance.now());
    if (restMs > 0) return restMs;
    this.listed = undefined;
    if (await unless(isBankError, this.proof.isGiven([one], isBankError)))
      await this.lists.rememberUnsubmitted();
    return 0;
  }

  /** A payment of the run that the list shows as before its submit. @throws BankClientError */
  private async listedOf(run: PayRun): Promise<ListedUnsubmitted | undefined> {
    const built = await this.database.inEmployer(run.employerId, (tx) =>
      tx.query<{ id: string; bankInstructionId: string; createdAt: Date }>(
        `SELECT id, bank_instruction_id AS "bankInstructionId", created_at AS "createdAt" FROM instruction
         WHERE employer_id = $1 AND pay_run_id = $2 AND status = 'VERIFIED'`,
        [tx.employerId, run.id],
      ),
    );
    if (built.length === 0) return undefined;
    const ours = new Set(built.flatMap(({ id, bankInstructionId }) => [id, bankInstructionId]));
    const isOurs = ({
      bankInstructionId,
      messageId,
    }: Pick<PaymentMarks, 'bankInstructionId' | 'messageId'>) =>
      ours.has(bankInstructionId ?? '') || ours.has(readMessageId(messageId ?? '')?.instructionId ?? '');
    let records = 0;
    const isWanted = (marks: PaymentMarks) => ++records > MOST_RECORDS || isOurs(marks);
    const oldestMs = Math.min(...built.map(({ createdAt }) => createdAt.getTime()));
    const from = new Date(oldestMs - CLOCK_MARGIN_MS).toISOString();
    for await (const one of this.gateway.listStatuses({ from }, isWanted))
      return isOurs(one) && one.direction !== INWARD && isBeforeSubmit(one.status) ? one : undefined;
    return undefined;
  }
}
