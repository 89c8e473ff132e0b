import type { AccountStatus } from '../../bank/types';
import type { Seed } from '../seed';
import { isOwnIban, ownIban } from '../iban';
import { conflict, notFound, unprocessable } from '../refusal';
import type { AccountRecord, UserRecord } from './records';

/** Letters of any script but Latin; digits, spaces and punctuation belong to no script. */
const NON_LATIN_LETTER = /(?!\p{Script=Latin})\p{L}/u;

/** Users, products and accounts, and the rules by which accounts are opened and closed. */
export class Accounts {
  readonly users = new Map<number, UserRecord>();
  readonly byId = new Map<string, AccountRecord>();
  readonly all: AccountRecord[] = [];
  seed: Seed = { distributor: { id: 0, name: '' }, products: [], users: [] };
  /** The bank's own side of every double entry with the outside world. */
  readonly clearing = emptyAccount('clearing', 0, 0, '', 0);
  private readonly byIban = new Map<string, AccountRecord>();
  private lastAccountNumber = 2000;

  open(userId: number, productId: number, atMs: number): AccountRecord {
    const user = this.user(userId);
    if (!this.seed.products.some((product) => product.id === String(productId)))
      throw unprocessable('PRODUCT_UNKNOWN', 'productId names no product');
    if (user.kyc !== 'VERIFIED') throw unprocessable('KYC_NOT_COMPLETED', 'the user has KYC issues');
    if (user.status !== 'OPENED') throw unprocessable('USER_NOT_ACTIVE', 'the user is not active');
    if (NON_LATIN_LETTER.test(user.holderName))
      throw unprocessable('NON_LATIN_CHARACTERS', 'only Latin characters are supported');
    this.lastAccountNumber += 1;
    const number = this.lastAccountNumber;
    return this.keep(emptyAccount(String(number), userId, productId, ownIban(number), atMs));
  }

  keep(account: AccountRecord): AccountRecord {
    this.byId.set(account.id, account);
    this.byIban.set(account.iban, account);
    this.all.push(account);
    return account;
  }

  user(userId: number): UserRecord {
    const user = this.users.get(userId);
    if (!user) throw notFound('user');
    return user;
  }

  identity(identityId: number): UserRecord {
    for (const user of this.users.values()) if (user.identityId === identityId) return user;
    throw notFound('identity');
  }

  account(accountId: string): AccountRecord {
    const account = this.byId.get(accountId);
    if (!account) throw notFound('account');
    return account;
  }

  /** An account's status as anybody sees it: suspended too while the identity of its owner is blocked. */
  statusOf(account: AccountRecord): AccountStatus {
    const blocked = this.users.get(account.userId)?.status === 'BLOCKED';
    return blocked && account.status === 'OPENED' ? 'SUSPENDED' : account.status;
  }

  /** The open account a payment is debited from. */
  debtorAccount(iban: string): AccountRecord {
    const account = this.byIban.get(iban);
    if (!account) throw unprocessable('DEBTOR_ACCOUNT_UNKNOWN', 'the debtor account is not held here');
    this.requireOpened(account);
    return account;
  }

  requireOpened(account: AccountRecord): void {
    if (this.statusOf(account) !== 'OPENED')
      throw unprocessable('DEBTOR_ACCOUNT_NOT_OPENED', 'the debtor account is not open');
  }

  /** The payee's account when it is at this bank; undefined when it is elsewhere. */
  creditorAccount(iban: string): AccountRecord | undefined {
    if (!isOwnIban(iban)) return undefined;
    const account = this.byIban.get(iban);
    if (!account || account.status === 'CLOSED')
      throw unprocessable('CREDITOR_ACCOUNT_UNKNOWN', 'the creditor account does not exist');
    return account;
  }

  /** The account at this bank that can be credited now. */
  payee(iban: string): AccountRecord | undefined {
    const account = this.byIban.get(iban);
    return account && this.statusOf(account) === 'OPENED' ? account : undefined;
  }

  /** The open account a payment from outside is for. */
  receivingAccount(iban: string): AccountRecord {
    const account = this.byIban.get(iban);
    if (!account) throw notFound('account');
    if (this.statusOf(account) !== 'OPENED')
      throw unprocessable('CREDITOR_ACCOUNT_NOT_OPENED', 'the creditor account is not open');
    return account;
  }

  /** The bank, not only the client, insists on a zero balance and nothing pending. */
  requireClosable(account: AccountRecord, pending: boolean): void {
    if (account.status === 'CLOSED') throw conflict('ACCOUNT_CLOSED', 'the account is closed already');
    if (account.balanceMinor !== 0n) throw unprocessable('BALANCE_NOT_ZERO', 'the balance is not zero');
    if (pending || account.heldMinor !== 0n)
      throw unprocessable('TRANSACTIONS_PENDING', 'transactions are pending');
  }

  ofUser(userId: number): AccountRecord[] {
    return this.all.filter((account) => account.userId === userId);
  }
}

/** An account as it is opened. */
export function emptyAccount(
  id: string,
  userId: number,
  productId: number,
  iban: string,
  atMs: number,
): AccountRecord {
  return {
    id,
    userId,
    productId,
    status: 'OPENED',
    iban,
    createdAtMs: atMs,
    lastUsedAtMs: atMs,
    balanceMinor: 0n,
    heldMinor: 0n,
  };
}
