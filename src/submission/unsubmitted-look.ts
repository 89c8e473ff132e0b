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

/** Where it is looked: while the lag bound after the last add is waited for, or at the gate. */
type Where = 'building' | 'gate';

/** A payment of ours that the list showed as before its submit, with the id of its instruction, and when by `performance.now()`. */
type Listed = Required<ListedUnsubmitted> & { atMs: number };

/**
 * Learns, while a run is built and nothing of it submitted, whether the bank's general list shows what is not submitted: after
 * a restore of the database that may be asked when there is nothing by which to see it. Somebody else may have submitted what
 * it shows, which its payments need not show: it is believed once a read of the instruction, a lag bound later, shows that
 * nobody had. No run waits for that.
 */
@Injectable()
export class UnsubmittedLook {
  private readonly looked: AtMostEvery<Where>;
  /** What is to be read yet. */
  private listed: Listed | undefined;

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

  /** Keeps what is seen for `BankLists.showsUnsubmitted`; what cannot be read, or lags, tells nothing. */
  async at(where: Where, run: PayRun, account: EmployerAccount): Promise<void> {
    if (!may(account, 'PAYMENT_LIST')) return;
    if (this.listed === undefined) await this.look(where, run, account);
    const { listed } = this;
    if (listed === undefined || !this.isLater(listed, performance.now())) return;
    this.listed = undefined;
    if (await unless(isBankError, this.proof.isGiven([listed], isBankError)))
      await this.lists.rememberUnsubmitted();
  }

  /** An instruction was read just before its submit, by a read that was asked for then, and showed that nobody had submitted it. */
  async wasUnsubmitted(bankInstructionId: string, askedMs: number): Promise<void> {
    if (this.listed?.bankInstructionId !== bankInstructionId || !this.isLater(this.listed, askedMs)) return;
    this.listed = undefined;
    await this.lists.rememberUnsubmitted();
  }

  private isLater({ atMs }: Listed, askedMs: number): boolean {
    return askedMs - atMs >= this.config.BANK_LAG_BOUND_MS;
  }

  private async look(where: Where, run: PayRun, account: EmployerAccount): Promise<void> {
    if (!this.looked.isDue(where)) return;
    this.looked.note(where);
    if (await this.lists.showsUnsubmitted(SEEN_FOR_DAYS)) return;
    const one = await unless(isBankError, this.listedOf(run));
    if (one === undefined) return;
    // Where no instruction may be read, the submit itself rests on no more than these.
    if (may(account, 'INSTRUCTION')) this.listed = { ...one, atMs: performance.now() };
    else await this.lists.rememberUnsubmitted();
  }

  /** A payment of the run that the list shows as before its submit. @throws BankClientError */
  private async listedOf(run: PayRun): Promise<Required<ListedUnsubmitted> | undefined> {
    const built = await this.database.inEmployer(run.employerId, (tx) =>
      tx.query<{ id: string; bankInstructionId: string; createdAt: Date }>(
        `SELECT id, bank_instruction_id AS "bankInstructionId", created_at AS "createdAt" FROM instruction
         WHERE employer_id = $1 AND pay_run_id = $2 AND status IN ('BUILDING', 'VERIFIED')
           AND bank_instruction_id IS NOT NULL`,
        [tx.employerId, run.id],
      ),
    );
    if (built.length === 0) return undefined;
    const ours = new Map(
      built.flatMap(({ id, bankInstructionId }) =>
        [id, bankInstructionId].map((one) => [one, bankInstructionId]),
      ),
    );
    const idOf = ({ bankInstructionId, messageId }: Pick<PaymentMarks, 'bankInstructionId' | 'messageId'>) =>
      ours.get(bankInstructionId ?? '') ?? ours.get(readMessageId(messageId ?? '')?.instructionId ?? '');
    let records = 0;
    const isWanted = (marks: PaymentMarks) => ++records > MOST_RECORDS || idOf(marks) !== undefined;
    const oldestMs = Math.min(...built.map(({ createdAt }) => createdAt.getTime()));
    const from = new Date(oldestMs - CLOCK_MARGIN_MS).toISOString();
    for await (const one of this.gateway.listStatuses({ from }, isWanted)) {
      const bankInstructionId = idOf(one);
      const isShown = one.direction !== INWARD && isBeforeSubmit(one.status);
      return bankInstructionId !== undefined && isShown ? { ...one, bankInstructionId } : undefined;
    }
    return undefined;
  }
}
