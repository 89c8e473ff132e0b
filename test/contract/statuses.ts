import type { BankReading } from '../../src/domain/bank-status';

/** One status value of instructions and payment transactions, a line of the contract. */
export interface StatusLine {
  value: string;
  meaning: string;
  /** What the service reads it as. */
  reads: BankReading['kind'];
}

/** States and transitions: Customer instruction and payment transaction. */
export const STATUSES: readonly StatusLine[] = [
  { value: 'INI_STARTED', meaning: 'initiation started', reads: 'progress' },
  { value: 'INI_IS_VALID', meaning: 'initiation validated', reads: 'progress' },
  { value: 'INI_INT_CTRL_PASSED', meaning: 'internal checks for initiation passed', reads: 'progress' },
  { value: 'INITIATED', meaning: 'initiated', reads: 'progress' },
  { value: 'SUB_STARTED', meaning: 'submission started', reads: 'progress' },
  { value: 'SUB_IS_VALID', meaning: 'submission validated', reads: 'progress' },
  { value: 'SUB_INT_CTRL_PASSED', meaning: 'internal checks for submission passed', reads: 'progress' },
  { value: 'SUB_REQUIRED', meaning: 'instruction, after submission', reads: 'progress' },
  { value: 'SUBMITTED', meaning: 'submitted for processing', reads: 'progress' },
  { value: 'PRO_INT_CTRL_PASSED', meaning: 'internal checks for processing passed', reads: 'progress' },
  { value: 'PRO_DEBIT_HOLD', meaning: 'debit hold placed', reads: 'progress' },
  { value: 'READY_FOR_EXCHANGE', meaning: 'ready for exchange', reads: 'progress' },
  { value: 'READY_FOR_PROCESSING', meaning: 'ready for processing', reads: 'progress' },
  { value: 'EXCHANGED', meaning: 'exchanged', reads: 'progress' },
  { value: 'SETTLED', meaning: 'settled (completed)', reads: 'terminal' },
  { value: 'FAILED', meaning: 'processing failed', reads: 'terminal' },
  { value: 'REJECTED', meaning: 'rejected', reads: 'terminal' },
  { value: 'CANCELLED', meaning: 'cancelled before processing', reads: 'terminal' },
];

/** Group status values seen; the last in `paymentTransactionsStatus` only. */
export const GROUP_STATUSES = ['IN_PROGRESS', 'INITIATED', 'PROCESSABLE'] as const;

/** States: Account. No move into PENDING is shown. */
export const ACCOUNT_STATUSES: readonly { value: string; meaning: string; moveShown: boolean }[] = [
  { value: 'PENDING', meaning: 'created but not yet active', moveShown: false },
  { value: 'OPENED', meaning: 'active and usable for transactions', moveShown: true },
  { value: 'SUSPENDED', meaning: 'temporarily suspended', moveShown: true },
  { value: 'CLOSED', meaning: 'permanently closed', moveShown: true },
];

const ADDED = ['INI_STARTED', 'INI_IS_VALID', 'INI_INT_CTRL_PASSED', 'INITIATED'];
const AFTER_SUBMISSION = ['SUB_STARTED', 'SUB_IS_VALID', 'SUB_INT_CTRL_PASSED'];

/** The moves that are shown: what a trigger writes into the history, `after` what stands there before it. */
export const SEQUENCES = {
  'initiated instruction': { after: [], statuses: ['INI_STARTED', 'INITIATED'], group: 'INITIATED' },
  'added payment': { after: [], statuses: ADDED, group: undefined },
  'submitted instruction': {
    after: ['INI_STARTED', 'INITIATED'],
    statuses: [...AFTER_SUBMISSION, 'SUB_REQUIRED'],
    group: 'IN_PROGRESS',
  },
  'directly submitted instruction': {
    after: [],
    statuses: ['SUB_STARTED', 'READY_FOR_PROCESSING'],
    group: undefined,
  },
  'directly submitted payment': { after: [], statuses: ['SUB_STARTED', 'SUBMITTED'], group: undefined },
  'settled outward payment': {
    after: ADDED,
    statuses: [
      ...AFTER_SUBMISSION,
      'SUBMITTED',
      'PRO_INT_CTRL_PASSED',
      'PRO_DEBIT_HOLD',
      'READY_FOR_EXCHANGE',
      'EXCHANGED',
      'SETTLED',
    ],
    group: undefined,
  },
  'inward payment': { after: [], statuses: ['INI_STARTED', 'SETTLED'], group: undefined },
} as const;

export const TRANSACTION_TYPES = [
  'CREDIT_TRANSFER',
  'ACCOUNT_TO_EXTERNAL',
  'INTERNAL_TRANSFER',
  'FEE',
  'REFUND',
  'DISTRIBUTOR_POSTING',
] as const;

/** Events: Subscribable events. */
export const EVENTS = [
  'account.status.opened',
  'account.status.blocked',
  'account.status.unblocked',
  'identity.blocked',
  'identity.unblocked',
  'identity.closed',
  'payment_transaction.external_refused',
  'payment_transaction.settled',
  'transaction.new',
  'iban_structure.created',
  'iban_structure.field_updated',
  'iban_structure.file_imported',
] as const;

/** A subscription can list it; it cannot be subscribed to. */
export const UNEXPLAINED_EVENT = 'account.credited';

/** Observed `rel` values with the path each leads to. */
export const LINK_RELS = {
  updateCustomerInstruction: 'update instruction',
  deleteCustomerInstruction: 'delete instruction',
  getCustomerInstruction: 'get instruction',
  getPaymentTransactionsList: 'list payment transactions of an instruction',
  initiatePaymentTransaction: 'add payment transaction',
  submitCustomerInstruction: 'submit instruction',
  updatePaymentTransaction: 'update payment transaction',
  deletePaymentTransaction: 'delete payment transaction',
  getPaymentTransaction: 'get payment transaction',
  getPaymentInstruction: 'get payment instruction',
  exchangePaymentInstruction: 'exchange payment instruction',
  refusePaymentInstruction: 'refuse payment instruction',
} as const;

/** Authentication 2. */
export const SCOPES = [
  'account_view',
  'account_creation',
  'account_close',
  'user_deactivate',
  'transaction_view',
  'customer-instruction_view',
  'payment-instruction_view',
  'customer-instruction_initiation',
  'customer-instruction_submission',
  'customer-instruction_submit',
  'event_management',
] as const;
