import { Injectable } from '@nestjs/common';
import { answerOf, type BankClientError } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { Database } from '../database/database';
import { isBeforeSubmit } from '../domain/bank-status';

/** Instructions read at most until one is found that was not submitted; more of them tell no more. */
const MOST_READS = 100;

/** A payment that the bank's general list showed as before its submit. */
export interface ListedUnsubmitted {
  /** Absent where the list does not say. */
  bankInstructionId?: string;
  bankPaymentId: string;
}

/**
 * Whether the bank's general list shows what is not submitted. That a payment in it is shown as before its submit proves
 * nothing: a bank may list payments from their submit on, and leave them as they were until somebody approves it.
 */
@Injectable()
export class UnsubmittedProof {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
  ) {}

  /**
   * Whether the instruction of one of these is before its submit itself. Asked a lag bound after the list was read, when no
   * read can be older than that. What the bank does not let be read is not.
   * @throws the first failure that may pass, where none is
   */
  async isGiven(
    listed: readonly ListedUnsubmitted[],
    showsNothing: (error: unknown) => boolean,
  ): Promise<boolean> {
    let passing: BankClientError | undefined;
    for (const id of await this.instructionsOf(listed)) {
      const answer = await answerOf(this.gateway.getInstruction(id));
      if ('shown' in answer && isBeforeSubmit(answer.shown.status)) return true;
      if ('failure' in answer && !showsNothing(answer.failure)) passing ??= answer.failure;
    }
    if (passing) throw passing;
    return false;
  }

  /** By the bank's ids: as the list names them, or else as the record has the payments. */
  private async instructionsOf(listed: readonly ListedUnsubmitted[]): Promise<string[]> {
    const unnamed = listed.filter(({ bankInstructionId }) => bankInstructionId === undefined);
    const named = listed.flatMap(({ bankInstructionId }) => bankInstructionId ?? []);
    const recorded =
      unnamed.length === 0 ? [] : await this.recordedOf(unnamed.map(({ bankPaymentId }) => bankPaymentId));
    return [...new Set([...named, ...recorded])].slice(0, MOST_READS);
  }

  private async recordedOf(bankPaymentIds: readonly string[]): Promise<string[]> {
    const rows = await this.database.asWorker((tx) =>
      tx.query<{ id: string }>(
        `SELECT i.bank_instruction_id AS id FROM bank_payment b
         JOIN instruction i ON i.employer_id = b.employer_id AND i.id = b.instruction_id
         WHERE b.bank_payment_id = ANY ($1) AND i.bank_instruction_id IS NOT NULL`,
        [bankPaymentIds],
      ),
    );
    return rows.map(({ id }) => id);
  }
}
