import type { AccountStatus, CustomerInstructionInformation, Party, TransactionType } from '../../bank/types';
import type { Outcome } from '../magic';
import type { History } from './status-sequences';

export interface UserRecord {
  userId: number;
  identityId: number;
  holderName: string;
  kyc: 'VERIFIED' | 'PENDING';
  status: 'OPENED' | 'BLOCKED' | 'CLOSED';
}

/** Balances are cents. `balanceMinor` includes what is held; available = balance − held. */
export interface AccountRecord {
  id: string;
  userId: number;
  productId: number;
  status: AccountStatus;
  iban: string;
  createdAtMs: number;
  lastUsedAtMs: number;
  balanceMinor: bigint;
  heldMinor: bigint;
}

/** One side of a double entry: the amount, and the account's balances after it. */
export interface Leg {
  account: AccountRecord;
  amountMinor: bigint;
  balanceMinor: bigint;
  availableMinor: bigint;
}

export interface TransactionRecord {
  id: number;
  type: TransactionType;
  atMs: number;
  amountMinor: bigint;
  description: string;
  payment?: PaymentRecord;
  legs: [Leg, Leg];
}

/** Instruction information as received, the amount in cents as text. */
export interface InstructionInformation extends Omit<CustomerInstructionInformation, 'requestedTotalAmount'> {
  requestedTotalMinor?: string;
}

export interface InstructionRecord {
  id: number;
  information: InstructionInformation;
  debtor: Party;
  account: AccountRecord;
  externalData?: Record<string, unknown>;
  createdAtMs: number;
  history: History;
  payments: PaymentRecord[];
  /** How many submits were accepted. */
  submits: number;
  /** When its own checks were done: its payments have their groups, and go on unless it was refused. */
  checkedAtMs?: number;
  /** Payments in processing that have not ended. */
  openPayments: number;
  direct: boolean;
  deleted: boolean;
  /** Payments in processing that are going to settle and have not come to it. */
  settlingPayments: number;
  /** Payments of a batch booking that have come to settle, and wait for the others. */
  batch: PaymentRecord[];
}

export interface PaymentRecord {
  id: number;
  instruction?: InstructionRecord;
  /** The account debited (outward) or credited (inward). */
  account: AccountRecord;
  direction: 'INWARD' | 'OUTWARD';
  channel: 'RTNS' | 'BOOK';
  amountMinor: bigint;
  /** What the bank charges the debtor on top when it settles. */
  chargeMinor: bigint;
  creditor: Party;
  creditorIban: string;
  ultimateCreditor?: Party;
  debtor: Party;
  remittance?: { type: string; value: string };
  messageId?: string;
  endToEndId?: string;
  transactionType?: string;
  chargeBearer?: string;
  externalData?: Record<string, unknown>;
  createdAtMs: number;
  instructedDate: string;
  settlementDate?: string;
  history: History;
  outcome: Outcome;
  /** What is set aside for it on the debtor's account. */
  heldMinor: bigint;
  /** The debtor's account was debited for it. */
  booked: boolean;
  /** How often money reached the payee. */
  moved: number;
  /** What it brought back; undefined while it is not returned. */
  returnedMinor?: bigint;
  transactionId?: number;
  /** The transaction of its charge. */
  feeTransactionId?: number;
  /** What the bank charged for it besides, whatever it ended in. */
  furtherChargeMinor?: bigint;
}

/** A payment as a client asks for it; the amount in cents as text, so that it can be journalled. */
export interface PaymentInput {
  amountMinor: string;
  creditor: Party;
  ultimateCreditor?: Party;
  remittance?: { type: string; value: string };
  messageId?: string;
  transactionType?: string;
  chargeBearer?: string;
  externalData?: Record<string, unknown>;
}

/** A payment from outside into an account of the distributor. */
export interface IncomingInput extends PaymentInput {
  iban: string;
  endToEndId?: string;
  debtor: Party;
}

export interface InstructionInput {
  information: InstructionInformation;
  debtor: Party;
  externalData?: Record<string, unknown>;
}

/** A posting nobody's payment asked for; the amount in cents as text. */
export interface PostingInput {
  type: Extract<TransactionType, 'FEE' | 'DISTRIBUTOR_POSTING'>;
  direction: 'DEBIT' | 'CREDIT';
  amountMinor: string;
  /** Of a FEE: the payment it is charged for. */
  paymentId?: number;
}
