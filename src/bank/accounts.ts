import { segment } from './link';
import { listAt } from './list';
import type { Outcome } from './outcome';
import type { ListHabits } from './paging';
import { eachItem } from './pager';
import { sameRecord } from './same-record';
import { account, type Account, accountList } from './schema';
import type { BankSession, Change } from './session';
import { PATHS } from './types';

/** Products and accounts: the accounts of the distributor's users. */
export class Accounts {
  constructor(
    private readonly session: BankSession,
    private readonly habits: ListHabits,
  ) {}

  /**
   * Opens an account for an onboarded user. Scope `account_creation` (Products and accounts). One to which `mayLeave` says
   * no, or whose turn or token does not come within `maxQueueMs`, is "not sent".
   */
  create(
    userId: string,
    productId: string,
    { mayLeave, maxQueueMs }: Pick<Change, 'mayLeave' | 'maxQueueMs'> = {},
  ): Promise<Outcome<Account>> {
    const body = `{"productId":${integerJson(productId)}}`;
    return this.session.change({
      method: 'POST',
      path: PATHS.userAccounts(segment(userId)),
      body,
      answer: account,
      mayLeave,
      maxQueueMs,
    });
  }

  /** One account with IBAN and BIC. Scope `account_view` (Products and accounts). */
  get(accountId: string): Promise<Account> {
    return this.session.read(PATHS.account(segment(accountId)), account, sameRecord(accountId));
  }

  /** All accounts of the distributor. Scope `account_view` (Products and accounts). */
  list(): AsyncIterable<Account> {
    const list = listAt(this.session, PATHS.accounts(), accountList);
    return eachItem({ ...list, idOf: (one) => one.id, habits: this.habits });
  }

  /** Closes an account for good; its balance should be zero. Scope `account_close` (Products and accounts). */
  close(accountId: string): Promise<Outcome<undefined>> {
    return this.session.change({ method: 'DELETE', path: PATHS.account(segment(accountId)) });
  }
}

/** The request wants an integer, the product list hands out a string: the digits go through as they are. */
function integerJson(id: string): string {
  return /^(0|[1-9]\d*)$/.test(id) ? id : JSON.stringify(id);
}
