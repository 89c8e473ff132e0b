import { type Link, type LinkRel, PATHS } from '../../bank/types';
import type { InstructionRecord, PaymentRecord } from '../state/records';
import { paymentInstructionIdOf } from '../state/instructions';

/** The links of records: absolute addresses, all of them under `/api`. */
export class Links {
  /** Known once the server listens. */
  baseUrl = '';

  ofInstruction(instruction: InstructionRecord): Link[] {
    const id = String(instruction.id);
    const reads: [LinkRel, string][] = [
      ['getCustomerInstruction', PATHS.customerInstruction(id)],
      ['getPaymentTransactionsList', PATHS.instructionPaymentTransactions(id)],
    ];
    if (instruction.submits > 0) return this.absolute(reads);
    return this.absolute([
      ['updateCustomerInstruction', PATHS.creditTransfer(id)],
      ['deleteCustomerInstruction', PATHS.creditTransfer(id)],
      ...reads,
      ['initiatePaymentTransaction', PATHS.addPaymentTransaction(id)],
      ['submitCustomerInstruction', PATHS.submit(id)],
    ]);
  }

  ofPayment(payment: PaymentRecord): Link[] {
    const id = String(payment.id);
    const links: [LinkRel, string][] = [['getPaymentTransaction', PATHS.paymentTransaction(id)]];
    const { instruction } = payment;
    if (instruction) {
      links.push(['getCustomerInstruction', PATHS.customerInstruction(String(instruction.id))]);
      if (instruction.submits === 0)
        links.push(
          ['updatePaymentTransaction', PATHS.creditTransferPaymentTransaction(id)],
          ['deletePaymentTransaction', PATHS.creditTransferPaymentTransaction(id)],
        );
    }
    return this.absolute([...links, ...this.ofPaymentInstruction(payment)]);
  }

  private ofPaymentInstruction(payment: PaymentRecord): [LinkRel, string][] {
    const paymentInstructionId = paymentInstructionIdOf(payment);
    if (paymentInstructionId === undefined) return [];
    const id = String(paymentInstructionId);
    const links: [LinkRel, string][] = [['getPaymentInstruction', PATHS.paymentInstruction(id)]];
    if (payment.history.current !== 'READY_FOR_EXCHANGE') return links;
    return [
      ...links,
      ['exchangePaymentInstruction', PATHS.exchange(id)],
      ['refusePaymentInstruction', PATHS.refuse(id)],
    ];
  }

  private absolute(links: [LinkRel, string][]): Link[] {
    return links.map(([rel, path]) => ({ rel, href: this.baseUrl + path }));
  }
}
