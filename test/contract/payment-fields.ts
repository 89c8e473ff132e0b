import type { Field } from './fields';

const SUBMITTED_READS = ['submit instruction', 'submit directly', 'get instruction'] as const;

export const INFORMATION = 'customerInstructionInformation';

export const CUSTOMER_INSTRUCTION: Field[] = [
  { path: 'id', type: 'integer', essential: true },
  { path: 'status', type: 'Status', essential: true },
  { path: 'groupStatus', type: 'Status', observed: ['INITIATED', 'IN_PROGRESS'] },
  { path: 'history', type: 'HistoryEntry[]' },
  { path: 'calculatedNbPaymentTransactions', type: 'integer' },
  { path: 'calculatedAmount', type: 'Amount' },
  {
    path: 'paymentTransactionsStatus',
    type: 'PaymentTransactionsStatus[]',
    optional: true,
    onlyIn: SUBMITTED_READS,
  },
  { path: INFORMATION, type: 'group' },
  { path: `${INFORMATION}.paymentInstrument`, type: 'string', observed: ['CreditTransfer'] },
  { path: `${INFORMATION}.paymentService`, type: 'string', optional: true, observed: ['PAYMENTS'] },
  { path: `${INFORMATION}.batchBooking`, type: 'boolean', optional: true },
  { path: `${INFORMATION}.customerInstructionReference`, type: 'string', optional: true },
  { path: `${INFORMATION}.requestedNbPaymentTransactions`, type: 'integer', optional: true },
  { path: `${INFORMATION}.requestedTotalAmount`, type: 'Amount', optional: true },
  { path: `${INFORMATION}.requestedExecutionDate`, type: 'date' },
  { path: `${INFORMATION}.customerInstructionTypeInformation`, type: 'group', optional: true },
  {
    path: `${INFORMATION}.customerInstructionTypeInformation.categoryPurpose`,
    type: 'string',
    optional: true,
    observed: ['SALA'],
  },
  {
    path: `${INFORMATION}.customerInstructionTypeInformation.serviceLevel`,
    type: 'string',
    optional: true,
    observed: ['BACI'],
  },
  { path: 'customerInstructionOrderingParties', type: 'group' },
  { path: 'customerInstructionOrderingParties.initiatingParty', type: 'Party' },
  { path: 'customerInstructionOrderingParties.debtor', type: 'Party' },
  { path: 'externalData', type: 'object', optional: true },
  { path: 'paymentTransaction', type: 'PaymentTransaction', onlyIn: ['submit directly'] },
  { path: 'links', type: 'Link[]' },
];

export const PAYMENT_TRANSACTIONS_STATUS: Field[] = [
  { path: 'groupStatus', type: 'string', essential: true, observed: ['PROCESSABLE'] },
  { path: 'nbTransactions', type: 'integer', essential: true },
  { path: 'totalAmount', type: 'Amount', essential: true },
];

export const HISTORY_ENTRY: Field[] = [
  { path: 'status', type: 'Status', essential: true },
  { path: 'groupStatus', type: 'Status', optional: true },
  { path: 'date', type: 'timestamp' },
  { path: 'previousTransitionId', type: 'integer', optional: true },
];

export const LINK: Field[] = [
  { path: 'rel', type: 'string', essential: true, observed: ['getCustomerInstruction'] },
  { path: 'href', type: 'string', essential: true },
];

export const PTI = 'paymentTransactionInformation';
export const IDENTIFICATION = `${PTI}.paymentTransactionIdentification`;
const INTERNAL = 'paymentTransactionInternalInformation';
const DATES = 'paymentTransactionDateInformation';
export const AMOUNTS = 'paymentTransactionAmountInformation';
export const PARTIES = 'paymentTransactionParties';
const DEDICATED = 'paymentTransactionDedicatedInformations';

export const REMITTANCE: Field[] = [
  { path: DEDICATED, type: 'group', optional: true },
  { path: `${DEDICATED}.remittanceInformation`, type: 'group' },
  { path: `${DEDICATED}.remittanceInformation.type`, type: 'string', observed: ['UNSTRUCTURED'] },
  { path: `${DEDICATED}.remittanceInformation.value`, type: 'string' },
];

export const PAYMENT_TRANSACTION: Field[] = [
  { path: PTI, type: 'group' },
  { path: `${PTI}.paymentInstrument`, type: 'string', observed: ['CreditTransfer'] },
  { path: IDENTIFICATION, type: 'group' },
  { path: `${IDENTIFICATION}.messageId`, type: 'string', observed: ['NOTPROVIDED'] },
  { path: `${IDENTIFICATION}.endToEndId`, type: 'string', observed: ['NOTPROVIDED'] },
  { path: `${IDENTIFICATION}.clearingChannel`, type: 'string', observed: ['RTNS', 'BOOK'] },
  { path: `${IDENTIFICATION}.externalTransactionId`, type: 'string', optional: true },
  { path: `${IDENTIFICATION}.id`, type: 'integer' },
  { path: `${IDENTIFICATION}.customerInstructionId`, type: 'integer', optional: true },
  { path: `${PTI}.paymentTransactionTypeInformation`, type: 'group' },
  {
    path: `${PTI}.paymentTransactionTypeInformation.serviceLevel`,
    type: 'string',
    observed: ['BACI', 'ON_US'],
  },
  { path: `${PTI}.direction`, type: 'string', observed: ['INWARD', 'OUTWARD'] },
  { path: `${PTI}.transactionType`, type: 'string', optional: true, observed: ['ACCOUNT_TO_EXTERNAL'] },
  { path: INTERNAL, type: 'group', essential: true },
  { path: `${INTERNAL}.id`, type: 'integer', essential: true },
  { path: `${INTERNAL}.status`, type: 'Status', essential: true },
  { path: `${INTERNAL}.groupStatus`, type: 'Status', optional: true, observed: ['INITIATED', 'IN_PROGRESS'] },
  { path: `${INTERNAL}.history`, type: 'HistoryEntry[]' },
  { path: `${INTERNAL}.contractId`, type: 'integer' },
  { path: DATES, type: 'group' },
  { path: `${DATES}.creationDate`, type: 'timestamp' },
  { path: `${DATES}.instructedDate`, type: 'date' },
  { path: `${DATES}.settlementDate`, type: 'date', optional: true },
  { path: AMOUNTS, type: 'group' },
  { path: `${AMOUNTS}.instructedAmount`, type: 'Amount' },
  { path: `${AMOUNTS}.chargesAmount`, type: 'Amount' },
  { path: `${AMOUNTS}.chargeBearer`, type: 'string', optional: true, observed: ['SLEV'] },
  { path: PARTIES, type: 'group' },
  { path: `${PARTIES}.initiatingParty`, type: 'Party', optional: true },
  { path: `${PARTIES}.debtor`, type: 'Party', optional: true },
  { path: `${PARTIES}.creditor`, type: 'Party', optional: true },
  { path: `${PARTIES}.ultimateCreditor`, type: 'Party', optional: true },
  ...REMITTANCE,
  { path: 'customerInstructionId', type: 'integer', optional: true },
  { path: 'paymentInstructionId', type: 'integer', optional: true },
  { path: 'externalData', type: 'object', optional: true },
  { path: 'links', type: 'Link[]' },
];

export const PARTY: Field[] = [
  { path: 'name', type: 'string' },
  { path: 'id', type: 'group', optional: true },
  { path: 'id.type', type: 'string', observed: ['identityId'] },
  { path: 'id.value', type: 'string' },
  { path: 'accountId', type: 'group', optional: true },
  { path: 'accountId.type', type: 'string', observed: ['IBAN'] },
  { path: 'accountId.value', type: 'string' },
  { path: 'accountId.bankId', type: 'group', optional: true },
  { path: 'accountId.bankId.type', type: 'string', observed: ['BIC'] },
  { path: 'accountId.bankId.value', type: 'string' },
  { path: 'postalAddress', type: 'PostalAddress', optional: true },
];

export const POSTAL_ADDRESS: Field[] = [
  { path: 'addressLines', type: 'string', optional: true },
  { path: 'structuredAddress', type: 'group', optional: true },
  { path: 'structuredAddress.streetName', type: 'string' },
  { path: 'structuredAddress.buildingNumber', type: 'string' },
  { path: 'structuredAddress.postCode', type: 'string' },
  { path: 'structuredAddress.townName', type: 'string' },
  { path: 'country', type: 'string' },
];
