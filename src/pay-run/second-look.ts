import { Injectable } from '@nestjs/common';
import { NotAllowed, NotFound } from '../bank/errors';
import type { BankPayment } from '../bank/records';
import { Database, EmployerTransaction } from '../database/database';
import { isPastSubmit } from '../domain/bank-status';
import { lookAgain } from '../domain/replacement';
import { BankReads } from '../employer/bank-reads';
import { EmployerAccount } from '../employer/employer.entity';
import { messageIdOf, namesOf } from './message-id';
import { EndedInstruction } from './replaced.store';

/** A payment that is not as it ended any more, or whose instruction moved though it must not. */
export interface MovedPayment {
  paymentId: string;
  instructionId: string;
  bankStatus: string;
}

/** A payment that the bank does not show, with the bank's id of the instruction it was in. */
export interface UnseenPayment {
  paymentId: string;
  bankInstructionId: string;
}

/** What a second reading showed: payments that moved, and those that were once seen and are not shown now. */
export interface SecondReading {
  moved: MovedPayment[];
  unseen: UnseenPayment[];
}

/**
 * Reads at the bank again what is to be paid by other payments, before anything is (protocol: before any repay the bank
 * is read again). Nothing is stored: whoever asked decides what follows.
 */
@Injectable()
export class SecondLook {
  constructor(
    private readonly database: Database,
    private readonly reads: BankReads,
  ) {}

  /** @throws BankClientError while the bank cannot be read */
  async at(
    employerId: string,
    find: (tx: EmployerTransaction) => Promise<EndedInstruction[]>,
  ): Promise<SecondReading> {
    const { instructions, accounts } = await this.database.inEmployer(employerId, async (tx) => {
      const found = await find(tx);
      const own = found.length === 0 ? [] : await tx.manager.findBy(EmployerAccount, { employerId });
      return { instructions: found, accounts: new Map(own.map((account) => [account.id, account])) };
    });
    const reading: SecondReading = { moved: [], unseen: [] };
    for (const instruction of instructions) {
      const account = accounts.get(instruction.accountId);
      if (!account) throw new Error('an instruction has no account');
      const one = await this.read(account, instruction).catch((error: unknown) => {
        // No fault of the access by which everybody else is paid.
        if (error instanceof NotAllowed || error instanceof NotFound) return noneShown(instruction);
        throw error;
      });
      reading.moved.push(...one.moved);
      reading.unseen.push(...one.unseen);
    }
    return reading;
  }

  private read(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    const { status } = instruction;
    const submitted = status === 'SUBMITTED' || status === 'CLOSED';
    return submitted ? this.submitted(account, instruction) : this.unsubmitted(account, instruction);
  }

  /** Each payment must be shown with the end it had. */
  private async submitted(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    const { instructionId, bankInstructionId, payments } = instruction;
    const shown = await this.payments(account, instruction);
    const byId = statusesBy(shown, (one) => one.bankPaymentId);
    const byMessage = statusesBy(shown, (one) => one.messageId ?? '');
    const reading: SecondReading = { moved: [], unseen: [] };
    for (const payment of payments) {
      const statuses = [
        ...(byId.get(payment.bankIds[0] ?? '') ?? []),
        ...(byMessage.get(messageIdOf(instructionId, payment.rowNo)) ?? []),
      ];
      const moved = statuses.find((status) => lookAgain(payment, status) === 'moved');
      if (statuses.length === 0) reading.unseen.push({ paymentId: payment.paymentId, bankInstructionId });
      else if (moved !== undefined)
        reading.moved.push({ paymentId: payment.paymentId, instructionId, bankStatus: moved });
    }
    return reading;
  }

  /** What was abandoned, void or released must not have got past a submit; gone or cancelled is how it should be. */
  private async unsubmitted(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    const bankStatus = await this.pastSubmit(account, instruction);
    const { instructionId } = instruction;
    return {
      moved:
        bankStatus === undefined
          ? []
          : instruction.payments.map(({ paymentId }) => ({ paymentId, instructionId, bankStatus })),
      unseen: [],
    };
  }

  private async pastSubmit(
    account: EmployerAccount,
    instruction: EndedInstruction,
  ): Promise<string | undefined> {
    try {
      const shown = await this.reads.instruction(account, instruction.bankInstructionId);
      if (shown) return isPastSubmit(shown.status) ? shown.status : undefined;
      const seen = await this.payments(account, instruction);
      return seen.map((payment) => payment.status).find(isPastSubmit);
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  private payments(account: EmployerAccount, instruction: EndedInstruction): Promise<BankPayment[]> {
    const { instructionId, bankInstructionId, createdAt, payments } = instruction;
    return this.reads.payments(account, {
      bankInstructionId,
      createdAt,
      bankIds: payments.map((payment) => payment.bankIds),
      isNamedBy: namesOf(instructionId),
    });
  }
}

function noneShown({ bankInstructionId, payments }: EndedInstruction): SecondReading {
  return { moved: [], unseen: payments.map(({ paymentId }) => ({ paymentId, bankInstructionId })) };
}

/** The statuses the bank shows, by what names a payment; two records may bear one message id. */
function statusesBy(
  seen: readonly BankPayment[],
  nameOf: (payment: BankPayment) => string,
): ReadonlyMap<string, readonly string[]> {
  const statuses = new Map<string, string[]>();
  for (const one of seen) {
    const shown = statuses.get(nameOf(one)) ?? [];
    shown.push(one.status);
    statuses.set(nameOf(one), shown);
  }
  return statuses;
}
