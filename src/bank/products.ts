import type { ListHabits } from './paging';
import { eachItem } from './pager';
import { listAt } from './list';
import { type Product, productList } from './schema';
import type { BankSession } from './session';
import { PATHS } from './types';

/** Products and accounts: the kinds of account the distributor can open. */
export class Products {
  constructor(
    private readonly session: BankSession,
    private readonly habits: ListHabits,
  ) {}

  /** Every product. Scope `account_view` (Products and accounts). */
  list(): AsyncIterable<Product> {
    const list = listAt(this.session, PATHS.products(), productList);
    return eachItem({ ...list, idOf: (product) => product.id, habits: this.habits });
  }
}
