import type { PaymentTransaction } from './schema';

/** The fields by which an answer shows that it is about another record than the one asked for. */
export type FaultsOf<T> = (record: T) => string[];

/** Whether a record carries the id that was asked for. */
export function sameRecord(id: string): FaultsOf<{ id: string }> {
  return (record) => (record.id === id ? [] : ['id']);
}

/** A payment carries two ids, and which of them a path takes is not shown: whoever knows both compares them as well. */
export function samePayment(id: string): FaultsOf<PaymentTransaction> {
  return ({ paymentTransactionInternalInformation: internal, paymentTransactionInformation: information }) =>
    [internal.id, information?.paymentTransactionIdentification?.id].includes(id) ? [] : ['id'];
}

/** A payment names its instruction in two places, or in none: absent is not different. */
export function paymentOfInstruction(instructionId: string): FaultsOf<PaymentTransaction> {
  return (payment) => {
    const identification = payment.paymentTransactionInformation?.paymentTransactionIdentification;
    const named = [payment.customerInstructionId, identification?.customerInstructionId];
    return named.every((one) => one == null || one === '' || one === instructionId)
      ? []
      : ['customerInstructionId'];
  };
}
