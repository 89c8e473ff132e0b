import type { Field, SentName } from './fields';
import { AMOUNTS, IDENTIFICATION, INFORMATION, PARTIES, PARTY, PTI, REMITTANCE } from './payment-fields';

const ACCOUNT_CREATION: Field[] = [{ path: 'productId', type: 'integer' }];

const SUBSCRIBE: Field[] = [
  { path: 'name', type: 'string' },
  { path: 'url', type: 'string' },
  { path: 'events', type: 'string[]' },
];

/** Of Step 1's request the shortest form shows what may be left out. */
const INITIATE: Field[] = [
  { path: INFORMATION, type: 'group' },
  { path: `${INFORMATION}.paymentInstrument`, type: 'string' },
  { path: `${INFORMATION}.paymentService`, type: 'string', optional: true },
  { path: `${INFORMATION}.batchBooking`, type: 'boolean' },
  { path: `${INFORMATION}.customerInstructionReference`, type: 'string', optional: true },
  { path: `${INFORMATION}.requestedNbPaymentTransactions`, type: 'integer', optional: true },
  { path: `${INFORMATION}.requestedTotalAmount`, type: 'Amount[]', optional: true },
  { path: `${INFORMATION}.requestedExecutionDate`, type: 'date' },
  { path: `${INFORMATION}.customerInstructionTypeInformation`, type: 'group' },
  {
    path: `${INFORMATION}.customerInstructionTypeInformation.categoryPurpose`,
    type: 'string',
    optional: true,
  },
  { path: `${INFORMATION}.customerInstructionTypeInformation.serviceLevel`, type: 'string' },
  { path: 'customerInstructionOrderingParties', type: 'group' },
  { path: 'customerInstructionOrderingParties.debtor', type: 'OrderingDebtor' },
  { path: 'externalData', type: 'object', optional: true },
];

const without = (fields: Field[], ...paths: string[]): Field[] =>
  fields.filter(({ path }) => !paths.some((left) => path === left || path.startsWith(`${left}.`)));

const ADD: Field[] = [
  { path: AMOUNTS, type: 'group' },
  { path: `${AMOUNTS}.instructedAmount`, type: 'Amount' },
  { path: `${AMOUNTS}.chargeBearer`, type: 'string', optional: true },
  { path: PARTIES, type: 'group' },
  { path: `${PARTIES}.creditor`, type: 'Creditor' },
  { path: `${PARTIES}.ultimateCreditor`, type: 'UltimateCreditor', optional: true },
  ...REMITTANCE,
  { path: PTI, type: 'group', optional: true },
  { path: IDENTIFICATION, type: 'group', optional: true },
  { path: `${IDENTIFICATION}.messageId`, type: 'string' },
  { path: `${PTI}.transactionType`, type: 'string', optional: true },
  { path: 'externalData', type: 'object', optional: true },
];

const DIRECT_PAYMENT: Field[] = [
  ...REMITTANCE,
  { path: AMOUNTS, type: 'group' },
  { path: `${AMOUNTS}.instructedAmount`, type: 'AmountAsString' },
  { path: PARTIES, type: 'group' },
  { path: `${PARTIES}.creditor`, type: 'DirectCreditor' },
  { path: `${PARTIES}.postalAddress`, type: 'PostalAddress', optional: true },
];

/** Every request body of the document, field by field. */
export const SENT: Readonly<Record<SentName, readonly Field[]>> = {
  AccountCreationRequest: ACCOUNT_CREATION,
  InitiateRequest: INITIATE,
  OrderingDebtor: PARTY,
  AddPaymentTransactionRequest: ADD,
  Creditor: without(PARTY, 'id'),
  UltimateCreditor: without(PARTY, 'id', 'accountId'),
  DirectSubmissionRequest: [...INITIATE, { path: 'paymentTransaction', type: 'DirectPayment' }],
  DirectPayment: DIRECT_PAYMENT,
  DirectCreditor: without(PARTY, 'id', 'postalAddress'),
  AmountAsString: [
    { path: 'value', type: 'string' },
    { path: 'currency', type: 'string' },
  ],
  SubscribeRequest: SUBSCRIBE,
};
