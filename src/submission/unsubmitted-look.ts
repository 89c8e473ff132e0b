import { Injectable } from '@nestjs/common';
import { isBankError, unless } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { INWARD, type PaymentMarks } from '../bank/payment-marks';
import { AtMostEvery } from '../config/at-most-every';
import { Clock } from '../config/clock';
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

  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly lists: BankLists,
    private readonly proof: UnsubmittedProof,
    clock: Clock,
  ) {
    this.looked = new AtMostEvery(HOUR_MS, clock);
  }

  /** Keeps what is seen for `BankLists.showsUnsubmitted`; what cannot be read, or lags, tells nothing. */
  async at(run: PayRun, account: EmployerAccount): Promise<void> {
    if (!may(account, 'PAYMENT_LIST') || !this.looked.isDue('list')) return;
    this.looked.note('list');
    if (await this.lists.showsUnsubmitted(SEEN_FOR_DAYS)) return;
    const one = await unless(isBankError, this.listedOf(run));
    if (one === undefined) return;
    // Somebody else may have submitted it since it was built, which its payments need not show; where no instruction may be
    // read, the submit itself rests on no more than these.
    const mayBeRead = may(account, 'INSTRUCTION');
    const isShown = !mayBeRead || (await unless(isBankError, this.proof.isGiven([one], isBankError)));
    if (isShown) await this.lists.rememberUnsubmitted();
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
