import { Injectable } from '@nestjs/common';
import { Lanes } from '../config/lanes';
import { isAnswerUnusable } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { isUnmarked, type PaymentMarks } from '../bank/payment-marks';
import type { BankPayment } from '../bank/records';
import { BankReads, InstructionAtBank } from '../employer/bank-reads';
import { EmployerAccount } from '../employer/employer.entity';
import { readMessageId } from '../pay-run/message-id';

/** With more instructions open than this, one pass over the general listing is cheaper than a read of each. */
const FEW = 5;

/**
 * The most this family of banks shows on a page. An instruction that fills one by itself costs no more pages by its own
 * list than it has in the general one, which holds those of others too.
 */
const FULL_PAGE_ROWS = 100;

/** More at once gain nothing: the connections of the client are needed for submits as well. */
const OWN_LISTS_AT_ONCE = 8;

/** How long a sweep waits for others to join it. */
const GATHER_MS = 50;

// The bank's clock and ours may differ; a day covers any error of either and costs some pages at most.
const CLOCK_MARGIN_MS = 86_400_000;

interface Joiner {
  instructionId: string;
  at: InstructionAtBank;
  found: BankPayment[];
  done: (payments: BankPayment[]) => void;
  failed: (error: unknown) => void;
}

/**
 * The payments of open instructions: read one by one while they are few or fill pages of their own, and by one sweep of
 * the general listing that serves all who asked when they are many and small. The sweep has no status filter, since
 * records move between pages.
 */
@Injectable()
export class PaymentSource {
  private waiting: Joiner[] = [];
  private sweeping = false;
  private open = 0;
  private readonly ownLists = new Lanes(OWN_LISTS_AT_ONCE);

  constructor(
    private readonly reads: BankReads,
    private readonly gateway: BankGateway,
  ) {}

  /** @param rows how many payments the instruction has */
  async paymentsOf(
    account: EmployerAccount,
    { id, rows }: { id: string; rows: number },
    at: InstructionAtBank,
  ): Promise<BankPayment[]> {
    this.open += 1;
    try {
      const linked = account.reads.includes('INSTRUCTION_PAYMENTS');
      const listed = account.reads.includes('PAYMENT_LIST');
      if (!listed || (linked && this.open <= FEW)) return await this.reads.payments(account, at);
      const ownList = () => this.ownLists.run(() => this.reads.payments(account, at));
      if (linked && rows >= FULL_PAGE_ROWS) return await ownList();
      return await this.join(id, at).catch((error: unknown) => {
        // What is wrong with everybody's list need not be wrong with that of this instruction.
        if (linked && isAnswerUnusable(error)) return ownList();
        throw error;
      });
    } finally {
      this.open -= 1;
    }
  }

  private join(instructionId: string, at: InstructionAtBank): Promise<BankPayment[]> {
    return new Promise((done, failed) => {
      this.waiting.push({ instructionId, at, found: [], done, failed });
      if (!this.sweeping) void this.sweepWhileAsked();
    });
  }

  private async sweepWhileAsked(): Promise<void> {
    this.sweeping = true;
    while (this.waiting.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const joiners = this.waiting;
      this.waiting = [];
      try {
        await this.sweep(joiners);
        for (const joiner of joiners) joiner.done(joiner.found);
      } catch (error) {
        for (const joiner of joiners) joiner.failed(error);
      }
    }
    this.sweeping = false;
  }

  private async sweep(joiners: readonly Joiner[]): Promise<void> {
    const byInstruction = new Map(joiners.map((joiner) => [joiner.instructionId, joiner]));
    const byBankInstruction = new Map(joiners.map((joiner) => [joiner.at.bankInstructionId, joiner]));
    const byBankId = new Map(
      joiners.flatMap((joiner) => joiner.at.bankIds.map(([id]) => [id, joiner] as const)),
    );
    const oldest = Math.min(...joiners.map((joiner) => joiner.at.createdAt.getTime()));
    const from = new Date(oldest - CLOCK_MARGIN_MS).toISOString();
    const joinerOf = ({ bankInstructionId, bankPaymentId, messageId }: PaymentMarks): Joiner | undefined =>
      byBankInstruction.get(bankInstructionId ?? '') ??
      byInstruction.get(readMessageId(messageId ?? '')?.instructionId ?? '') ??
      (bankInstructionId === undefined ? byBankId.get(bankPaymentId ?? '') : undefined);
    const mayBeOurs = (marks: PaymentMarks) => isUnmarked(marks) || joinerOf(marks) !== undefined;
    for await (const payment of this.gateway.listPayments({ from }, mayBeOurs))
      joinerOf(payment)?.found.push({ ...payment, history: [] });
  }
}
