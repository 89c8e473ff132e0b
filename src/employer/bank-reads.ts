import { Injectable } from '@nestjs/common';
import { NotAllowed, NotFound } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { BankInstruction, BankPayment } from '../bank/records';
import { BankRead, EmployerAccount } from './employer.entity';

/** An instruction at the bank, and the ids its payments are known by. */
export interface InstructionAtBank {
  bankInstructionId: string;
  /** When it was initiated: nothing of it is older. */
  createdAt: Date;
  bankIds: readonly string[];
  /** Whether a message id names a row of this instruction. */
  isNamedBy: (messageId: string) => boolean;
}

// The bank's clock and ours may differ; a day covers any error of either and costs some pages at most.
const CLOCK_MARGIN_MS = 86_400_000;

/** Reads of instructions by whichever way the bank was found to allow for an account. */
@Injectable()
export class BankReads {
  constructor(private readonly gateway: BankGateway) {}

  /** The instruction itself; undefined where the bank does not let it be read. @throws NotFound, BankClientError */
  async instruction(
    account: EmployerAccount,
    bankInstructionId: string,
  ): Promise<BankInstruction | undefined> {
    if (!may(account, 'INSTRUCTION')) return undefined;
    return this.gateway.getInstruction(bankInstructionId);
  }

  /** Every payment of the instruction the bank shows now. Absence of one proves nothing. */
  async payments(account: EmployerAccount, instruction: InstructionAtBank): Promise<BankPayment[]> {
    if (may(account, 'INSTRUCTION_PAYMENTS')) {
      return collect(this.gateway.listInstructionPayments(instruction.bankInstructionId));
    }
    if (may(account, 'PAYMENT_LIST')) return this.fromGeneralList(instruction);
    if (may(account, 'PAYMENT')) return this.oneByOne(instruction);
    throw new NotAllowed(403, { raw: 'no read of payments was found to be allowed' });
  }

  private async fromGeneralList(instruction: InstructionAtBank): Promise<BankPayment[]> {
    const known = new Set(instruction.bankIds);
    const from = new Date(instruction.createdAt.getTime() - CLOCK_MARGIN_MS).toISOString();
    const found: BankPayment[] = [];
    for await (const payment of this.gateway.listPayments({ from })) {
      const ours =
        payment.bankInstructionId === instruction.bankInstructionId ||
        payment.ids.some((id) => known.has(id)) ||
        (payment.messageId !== undefined && instruction.isNamedBy(payment.messageId));
      if (ours) found.push(payment);
    }
    return found;
  }

  private async oneByOne(instruction: InstructionAtBank): Promise<BankPayment[]> {
    const found: BankPayment[] = [];
    for (const id of instruction.bankIds) {
      try {
        found.push(await this.gateway.getPayment(id));
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
      }
    }
    return found;
  }
}

function may(account: EmployerAccount, read: BankRead): boolean {
  return account.reads.includes(read);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
