import { decimalOf } from '../amounts';
import { SANDBOX_BIC } from '../seed';
import type { Bank } from '../state/bank';
import type { InstructionRecord, PaymentRecord } from '../state/records';

/** One payment of an instruction, as only the bank itself can know it. Amounts are cents as text. */
export interface LedgerRow {
  id: number;
  messageId?: string;
  creditorIban: string;
  amountMinor: string;
  status: string;
  /** How often money reached the payee: never more than once in a good world. */
  moved: number;
  returned: boolean;
  transactionId?: string;
  /** Of the bank's charge for it. */
  feeTransactionId?: string;
}

export interface LedgerInstruction {
  id: number;
  reference?: string;
  status: string;
  /** Accepted submits. */
  submits: number;
  batchBooking: boolean;
  direct: boolean;
  deleted: boolean;
  debtorIban: string;
  rows: LedgerRow[];
}

export interface LedgerPayee {
  iban: string;
  count: number;
  movedMinor: string;
  returnedCount: number;
  returnedMinor: string;
}

/** The truth a test compares with: who was really paid, from what, and what was never submitted. */
export interface LedgerView {
  payees: LedgerPayee[];
  instructions: LedgerInstruction[];
  /** Ids of instructions that were never submitted, deleted ones included. */
  unsubmitted: number[];
  accounts: { accountId: string; iban: string; balanceMinor: string; heldMinor: string }[];
  /** Sum over all accounting entries; zero, or the book does not balance. */
  entriesSumMinor: string;
}

/** The sandbox's whole ledger, or that of one instruction. */
export function ledgerView(bank: Bank, onlyInstructionId?: number): LedgerView {
  const all = [...bank.instructions.instructions.values()];
  const shown = all.filter(({ id }) => onlyInstructionId === undefined || id === onlyInstructionId);
  const entriesSum = bank.ledger.transactions
    .flatMap(({ legs }) => legs)
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  return {
    payees: payeesOf(shown),
    instructions: shown.map(instructionOf),
    unsubmitted: shown.filter(({ submits }) => submits === 0).map(({ id }) => id),
    accounts: bank.accounts.all.map(({ id, iban, balanceMinor, heldMinor }) => ({
      accountId: id,
      iban,
      balanceMinor: balanceMinor.toString(),
      heldMinor: heldMinor.toString(),
    })),
    entriesSumMinor: entriesSum.toString(),
  };
}

/** What a person sees in the bank's own portal: balances in euros, with a point and two digits. */
export function portalAccounts(bank: Bank) {
  return bank.accounts.all.map((account) => {
    const user = bank.accounts.user(account.userId);
    return {
      accountId: account.id,
      iban: account.iban,
      bic: SANDBOX_BIC,
      userId: account.userId,
      identityId: user.identityId,
      holderName: user.holderName,
      status: bank.accounts.statusOf(account),
      balance: decimalOf(account.balanceMinor),
      availableBalance: decimalOf(account.balanceMinor - account.heldMinor),
      currency: 'EUR',
    };
  });
}

function payeesOf(instructions: readonly InstructionRecord[]): LedgerPayee[] {
  const payees = new Map<string, { count: number; moved: bigint; returnedCount: number; returned: bigint }>();
  for (const { creditorIban, amountMinor, moved, returnedMinor } of instructions.flatMap(
    (one) => one.payments,
  )) {
    if (moved === 0) continue;
    const sums = payees.get(creditorIban) ?? { count: 0, moved: 0n, returnedCount: 0, returned: 0n };
    payees.set(creditorIban, sums);
    sums.count += moved;
    sums.moved += amountMinor * BigInt(moved);
    if (returnedMinor === undefined) continue;
    sums.returnedCount += 1;
    sums.returned += returnedMinor;
  }
  return [...payees].map(([iban, sums]) => ({
    iban,
    count: sums.count,
    movedMinor: sums.moved.toString(),
    returnedCount: sums.returnedCount,
    returnedMinor: sums.returned.toString(),
  }));
}

function instructionOf(instruction: InstructionRecord): LedgerInstruction {
  const { id, information, history, submits, direct, deleted, account, payments } = instruction;
  return {
    id,
    reference: information.customerInstructionReference,
    status: history.current,
    submits,
    batchBooking: information.batchBooking ?? false,
    direct,
    deleted,
    debtorIban: account.iban,
    rows: payments.map(rowOf),
  };
}

function rowOf(payment: PaymentRecord): LedgerRow {
  const { id, messageId, creditorIban, amountMinor, history, moved, returnedMinor } = payment;
  const { transactionId, feeTransactionId } = payment;
  return {
    id,
    messageId,
    creditorIban,
    amountMinor: amountMinor.toString(),
    status: history.current,
    moved,
    returned: returnedMinor !== undefined,
    ...(transactionId !== undefined && { transactionId: String(transactionId) }),
    ...(feeTransactionId !== undefined && { feeTransactionId: String(feeTransactionId) }),
  };
}
