import type { AccountingEntry, Contribution, Party, Transaction } from '../../bank/types';
import type { AmountCodec, Wire } from '../amounts';
import { timestamp } from '../clock';
import { electronicIban, isOwnIban } from '../iban';
import { SANDBOX_BIC } from '../seed';
import type { Accounts } from '../state/accounts';
import type { AccountRecord, Leg, PaymentRecord, TransactionRecord } from '../state/records';
import { NOT_PROVIDED, type Views } from './views';

const LABELS: Readonly<Record<string, string>> = {
  CREDIT_TRANSFER: 'Credit transfer',
  ACCOUNT_TO_EXTERNAL: 'Transfer to an external account',
  INTERNAL_TRANSFER: 'Internal transfer',
  FEE: 'Fee',
  REFUND: 'Refund',
  DISTRIBUTOR_POSTING: 'Distributor posting',
};

/** How a bank writes names and IBANs. */
type Names = Pick<Views, 'iban' | 'name'>;

/** One process of the sandbox makes every transaction. */
const PROCESS_ID = 1;

/** A transaction with both of its accounting entries, as the document writes it. */
export function transactionView(
  record: TransactionRecord,
  accounts: Accounts,
  codec: AmountCodec,
  views: Names,
): Wire<Transaction> {
  const id = String(record.id);
  const owner = (account: AccountRecord) => ownerOf(account, accounts, views);
  const label = LABELS[record.type] ?? record.type;
  return {
    id,
    externalId: null,
    processId: PROCESS_ID,
    businessProcessId: PROCESS_ID,
    type: record.type,
    localizedType: { value: record.type, label },
    amount: codec.write(record.amountMinor),
    description: record.description,
    shortDescription: label,
    media: 'API',
    createdAt: timestamp(record.atMs),
    externalData: record.payment ? externalDataOf(record.payment, views) : {},
    accountingEntries: record.legs.map((leg, index) => entryView(record, leg, index, codec, owner)),
    contributions: contributionsOf(record, accounts, views),
  };
}

function entryView(
  record: TransactionRecord,
  leg: Leg,
  index: number,
  codec: AmountCodec,
  owner: (account: AccountRecord) => { id: string; name: string },
): Wire<AccountingEntry> {
  return {
    id: `${record.id}-${index + 1}`,
    accountId: leg.account.id,
    transactionId: String(record.id),
    externalId: null,
    description: record.description,
    type: 'TRANSFER',
    amount: codec.write(leg.amountMinor),
    balance: codec.write(leg.balanceMinor),
    availableBalance: codec.write(leg.availableMinor),
    createdAt: timestamp(record.atMs),
    accountOwner: { ...owner(leg.account), externalId: null, userRole: 'COMPANY' },
  };
}

function ownerOf(account: AccountRecord, accounts: Accounts, views: Names): { id: string; name: string } {
  const user = accounts.users.get(account.userId);
  const name = user?.holderName ?? accounts.seed.distributor.name;
  return { id: String(account.userId), name: views.name(name) };
}

function contributionsOf(record: TransactionRecord, accounts: Accounts, views: Names): Contribution[] {
  const { distributor } = accounts.seed;
  const name = views.name(distributor.name);
  const intermediary = contribution(record, 1, 'INTERMEDIARY', String(distributor.id), name);
  const owners = record.legs
    .filter(({ account }) => account !== accounts.clearing)
    .map(({ account }, index) => {
      const { id, name } = ownerOf(account, accounts, views);
      return { ...contribution(record, index + 2, 'ACCOUNT_OWNER', id, name), supportId: Number(account.id) };
    });
  return [intermediary, ...owners];
}

function contribution(
  record: TransactionRecord,
  number: number,
  role: string,
  contributor: string,
  name: string,
): Contribution {
  const id = `${record.id}-c${number}`;
  const userRole = { value: role === 'INTERMEDIARY' ? 'DISTRIBUTOR' : 'COMPANY' };
  return {
    id,
    role,
    device: null,
    contributor,
    name,
    externalId: null,
    userRole,
    employee: null,
    supportId: null,
  };
}

function externalDataOf(payment: PaymentRecord, views: Names): Transaction['externalData'] {
  const remittance = payment.remittance?.value;
  const { debtor, creditor } = payment;
  const debtorIban = electronicIban(debtor.accountId?.value ?? '');
  return {
    ...(remittance !== undefined && {
      remittanceInformation: remittance,
      additionalReferences: { remittanceInfo: remittance },
    }),
    debtor: {
      // Who pays from another bank is no user of this one.
      id: payment.direction === 'OUTWARD' ? String(payment.account.userId) : NOT_PROVIDED,
      name: views.name(debtor.name),
      accountId: views.iban(debtorIban),
      bic: bicOf(debtor, debtorIban),
    },
    creditor: {
      name: views.name(creditor.name),
      accountId: views.iban(payment.creditorIban),
      bic: bicOf(creditor, payment.creditorIban),
    },
  };
}

function bicOf(party: Party, iban: string): string {
  return isOwnIban(iban) ? SANDBOX_BIC : (party.accountId?.bankId?.value ?? NOT_PROVIDED);
}
