import { Injectable } from '@nestjs/common';
import { ListUnreadable, NotAllowed, NotFound } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { ListSize } from '../bank/pager';
import type { KnownIds } from '../bank/payment-ids';
import { isUnmarked, type PaymentMarks } from '../bank/payment-marks';
import type { BankInstruction, BankPayment } from '../bank/records';
import { Clock } from '../config/clock';
import { BankList, BankLists } from '../database/bank-lists';
import { BankRead, EmployerAccount } from './employer.entity';

/** An instruction at the bank, and the ids its payments are known by. */
export interface InstructionAtBank {
  bankInstructionId: string;
  /** When it was initiated: nothing of it is older. */
  createdAt: Date;
  bankIds: readonly KnownIds[];
  /** Whether a message id names a row of this instruction. */
  isNamedBy: (messageId: string) => boolean;
}

/** Payments read one by one: a minute or so at a bank that answers ten in a second. */
const MOST_ALONE = 1_000;

// The bank's clock and ours may differ; a day covers any error of either and costs some pages at most.
const CLOCK_MARGIN_MS = 86_400_000;

/** What did not change is written down again after so long: it is believed for a day. */
const TELL_AGAIN_MS = 3_600_000;

/** Reads of instructions by whichever way the bank was found to allow for an account. */
@Injectable()
export class BankReads {
  private readonly told = new Map<BankList, { what: string; atMs: number }>();

  constructor(
    private readonly gateway: BankGateway,
    private readonly lists: BankLists,
    private readonly clock: Clock,
  ) {}

  /** The instruction itself; undefined where the bank does not let it be read. @throws NotFound, BankClientError */
  async instruction(
    account: EmployerAccount,
    bankInstructionId: string,
  ): Promise<BankInstruction | undefined> {
    if (!may(account, 'INSTRUCTION')) return undefined;
    return this.gateway.getInstruction(bankInstructionId);
  }

  /**
   * Every payment of the instruction the bank shows now, by the first way that can be read to its end. Absence of one
   * proves nothing.
   */
  async payments(account: EmployerAccount, instruction: InstructionAtBank): Promise<BankPayment[]> {
    const ways = [
      may(account, 'INSTRUCTION_PAYMENTS') && (() => this.fromOwnList(account, instruction)),
      may(account, 'PAYMENT_LIST') && (() => this.fromGeneralList(instruction)),
      may(account, 'PAYMENT') && (() => this.oneByOne(instruction)),
    ].filter((way) => way !== false);
    let unreadable: unknown = new NotAllowed(403, { raw: 'no read of payments was found to be allowed' });
    for (const way of ways) {
      try {
        return await way();
      } catch (error) {
        if (!(error instanceof ListUnreadable)) throw error;
        unreadable = error;
      }
    }
    throw unreadable;
  }

  /**
   * Payments as they were listed, those without a message id with the one that a read of them alone shows, where the bank
   * allows that; more than `MOST_ALONE` are left as they are. @throws BankClientError
   */
  async withMessageIds(listed: readonly BankPayment[]): Promise<BankPayment[]> {
    const lacking = listed.filter(({ messageId }) => messageId === undefined).length;
    if (lacking > MOST_ALONE) return [...listed];
    const payments: BankPayment[] = [];
    for (const payment of listed)
      payments.push(payment.messageId === undefined ? await this.alone(payment) : payment);
    return payments;
  }

  /** Whether it may be read alone is not known of an account that was onboarded before there was a payment. */
  private async alone(listed: BankPayment): Promise<BankPayment> {
    try {
      return await this.gateway.getPayment(listed.ids);
    } catch (error) {
      if (error instanceof NotAllowed || error instanceof NotFound) return listed;
      throw error;
    }
  }

  private async fromOwnList(
    account: EmployerAccount,
    { bankInstructionId }: InstructionAtBank,
  ): Promise<BankPayment[]> {
    const sizes: ListSize[] = [];
    const total = async (): Promise<number | undefined> =>
      (await this.instruction(account, bankInstructionId))?.calculatedCount;
    const found = await collect(
      this.gateway.listInstructionPayments(bankInstructionId, (size) => sizes.push(size), total),
    );
    await this.remember('INSTRUCTION_PAYMENTS', sizes);
    return found;
  }

  private async fromGeneralList(instruction: InstructionAtBank): Promise<BankPayment[]> {
    const isOurs = mayBeOf(instruction);
    const from = new Date(instruction.createdAt.getTime() - CLOCK_MARGIN_MS);
    const found: BankPayment[] = [];
    const sizes: ListSize[] = [];
    const listed = this.gateway.listPayments({ from: from.toISOString() }, isOurs, (size) =>
      sizes.push(size),
    );
    for await (const payment of listed) if (isOurs(payment)) found.push(payment);
    // That of an older instruction reaches further back than those of a run that is sent will.
    const recent = this.clock.now().getTime() - from.getTime() < 2 * CLOCK_MARGIN_MS;
    if (recent) await this.remember('PAYMENTS', sizes);
    return found;
  }

  /** Of a list read over and over only what is new: its rows, or the rows of a full page of it. */
  private async remember(list: BankList, sizes: readonly ListSize[]): Promise<void> {
    for (const size of sizes) {
      const told = list === 'PAYMENTS' ? `${size.rows} ${size.pageRows}` : String(size.pageRows);
      const stale = this.clock.now().getTime() - (this.told.get(list)?.atMs ?? 0) > TELL_AGAIN_MS;
      if (this.told.get(list)?.what === told && !stale) continue;
      await this.lists.remember(list, size);
      this.told.set(list, { what: told, atMs: this.clock.now().getTime() });
    }
  }

  private async oneByOne(instruction: InstructionAtBank): Promise<BankPayment[]> {
    const found: BankPayment[] = [];
    for (const ids of instruction.bankIds) {
      if (ids.length === 0) continue;
      try {
        found.push(await this.gateway.getPayment(ids));
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
      }
    }
    return found;
  }
}

/** What says that a payment is of the instruction, or may be: its id alone only where the payment names none. */
function mayBeOf(instruction: InstructionAtBank): (marks: PaymentMarks) => boolean {
  const known = new Set(instruction.bankIds.flatMap(([id]) => id ?? []));
  return (marks) => {
    const { bankInstructionId, bankPaymentId, messageId } = marks;
    if (bankInstructionId === instruction.bankInstructionId) return true;
    if (messageId !== undefined && instruction.isNamedBy(messageId)) return true;
    return bankInstructionId === undefined && (known.has(bankPaymentId ?? '') || isUnmarked(marks));
  };
}

function may(account: EmployerAccount, read: BankRead): boolean {
  return account.reads.includes(read);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
