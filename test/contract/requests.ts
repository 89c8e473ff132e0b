import { LosslessNumber, stringify } from 'lossless-json';
import {
  type AddPaymentTransactionRequest,
  type DirectSubmissionRequest,
  EVENTS,
  type InitiateRequest,
  type SubscribeRequest,
} from '../../src/bank/types';
import type { WithExactAmounts } from '../../src/bank/wire';
import type { Json } from './shapes';

export const EXTERNAL_DATA = { run: 'r-1', nested: { numbers: [1, 2.5], none: null, yes: true } };

const bankId = { type: 'BIC', value: 'SBOXDEFFXXX' };
const address = {
  addressLines: '1 Harbour Street',
  structuredAddress: {
    streetName: 'Harbour Street',
    buildingNumber: '1',
    postCode: '20095',
    townName: 'Hamburg',
  },
  country: '040',
};
const amountOf = (digits: string) => ({ value: new LosslessNumber(digits), currency: 'EUR' });
const remittanceInformation = { value: 'Salary January', type: 'UNSTRUCTURED' };

/** Who pays whom, and when: what a bank checks. */
export interface Facts {
  debtorIban: string;
  creditorIban: string;
  date: string;
}

/** Step 1 with every field the document names. */
export function initiation({ debtorIban, date }: Facts): WithExactAmounts<InitiateRequest> {
  return {
    customerInstructionInformation: {
      paymentInstrument: 'CreditTransfer',
      paymentService: 'PAYMENTS',
      batchBooking: false,
      customerInstructionReference: 'REF-1',
      requestedNbPaymentTransactions: 1,
      requestedTotalAmount: [amountOf('1050')],
      requestedExecutionDate: date,
      customerInstructionTypeInformation: { categoryPurpose: 'SALA', serviceLevel: 'BACI' },
    },
    customerInstructionOrderingParties: {
      debtor: {
        name: 'Alder Logistics GmbH',
        id: { type: 'identityId', value: '9501' },
        accountId: { type: 'IBAN', value: debtorIban, bankId },
        postalAddress: address,
      },
    },
    externalData: EXTERNAL_DATA,
  };
}

/** Step 1 in the shortest form the document uses. */
export function shortestInitiation({ debtorIban, date }: Facts): WithExactAmounts<InitiateRequest> {
  return {
    customerInstructionInformation: {
      paymentInstrument: 'CreditTransfer',
      requestedExecutionDate: date,
      batchBooking: false,
      customerInstructionTypeInformation: { serviceLevel: 'BACI' },
    },
    customerInstructionOrderingParties: {
      debtor: { name: 'Alder Logistics GmbH', accountId: { type: 'IBAN', value: debtorIban } },
    },
    externalData: EXTERNAL_DATA,
  };
}

/** Step 2 with every field the document names. */
export function addition({ creditorIban }: Facts): WithExactAmounts<AddPaymentTransactionRequest> {
  return {
    paymentTransactionAmountInformation: { instructedAmount: amountOf('1050'), chargeBearer: 'SLEV' },
    paymentTransactionParties: {
      creditor: {
        name: 'Ada Lovelace',
        accountId: { type: 'IBAN', value: creditorIban, bankId: { ...bankId, value: 'PSSTFRPPXXX' } },
        postalAddress: address,
      },
      ultimateCreditor: { name: 'Lovelace Family', postalAddress: address },
    },
    paymentTransactionDedicatedInformations: { remittanceInformation },
    paymentTransactionInformation: {
      paymentTransactionIdentification: { messageId: 'M-1' },
      transactionType: 'ACCOUNT_TO_EXTERNAL',
    },
    externalData: EXTERNAL_DATA,
  };
}

/** The direct submission with every field the document names. */
export function directSubmission(facts: Facts): DirectSubmissionRequest {
  const { customerInstructionInformation, ...rest } = initiation(facts);
  return {
    ...(rest as Omit<DirectSubmissionRequest, 'customerInstructionInformation' | 'paymentTransaction'>),
    customerInstructionInformation:
      customerInstructionInformation as DirectSubmissionRequest['customerInstructionInformation'],
    paymentTransaction: {
      paymentTransactionDedicatedInformations: { remittanceInformation },
      paymentTransactionAmountInformation: { instructedAmount: { currency: 'EUR', value: '1050' } },
      paymentTransactionParties: {
        creditor: {
          name: 'Birch Foods SARL',
          accountId: { type: 'IBAN', value: facts.creditorIban, bankId },
        },
        postalAddress: address,
      },
    },
  };
}

export function subscription(url: string): SubscribeRequest {
  return { name: 'Payrun', url, events: [...EVENTS] };
}

/** A request as it travels: its numbers are numbers. */
export function asSent(request: unknown): Json {
  return JSON.parse(stringify(request) ?? '');
}
