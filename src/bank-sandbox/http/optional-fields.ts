import type { PaymentTransaction } from '../../bank/types';
import type { Wire } from '../amounts';

type Payment = Wire<PaymentTransaction>;

/** A payment record without the instruction it belongs to, in both places where it is told. */
export function withoutInstructionId(payment: Payment): Payment {
  const { customerInstructionId: _told, paymentTransactionInformation, ...record } = payment;
  const { paymentTransactionIdentification, ...information } = paymentTransactionInformation;
  const { customerInstructionId: _toldAgain, ...identification } = paymentTransactionIdentification;
  return {
    ...record,
    paymentTransactionInformation: { ...information, paymentTransactionIdentification: identification },
  };
}

/** A payment record with nothing but what the document's table of payment transactions does not call optional. */
export function withoutOptionalFields(payment: Payment): Payment {
  const {
    paymentInstructionId: _paymentInstructionId,
    externalData: _externalData,
    paymentTransactionInformation,
    paymentTransactionInternalInformation,
    paymentTransactionDateInformation,
    paymentTransactionAmountInformation,
    ...record
  } = withoutInstructionId(payment);
  const { transactionType: _transactionType, ...information } = paymentTransactionInformation;
  const { externalTransactionId: _externalId, ...identification } =
    information.paymentTransactionIdentification;
  const { groupStatus: _groupStatus, ...internal } = paymentTransactionInternalInformation;
  const { settlementDate: _settlementDate, ...dates } = paymentTransactionDateInformation;
  const { chargeBearer: _chargeBearer, ...amounts } = paymentTransactionAmountInformation;
  return {
    ...record,
    paymentTransactionInformation: { ...information, paymentTransactionIdentification: identification },
    paymentTransactionInternalInformation: internal,
    paymentTransactionDateInformation: dates,
    paymentTransactionAmountInformation: amounts,
  };
}
