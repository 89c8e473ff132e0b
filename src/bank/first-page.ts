import { BankError, FirstPageFailed, ListUnreadable } from './errors';
import type { ListPage } from './paging';

/** How a page may be refused that a list does not have: one past its end, or page 0 of one that counts from 1. */
export const PERHAPS_NO_PAGE: ReadonlySet<number> = new Set([400, 404, 416, 422]);

/** Whether a size may be refused so (Maximum page size: not shown). */
export function perhapsTooLarge({ status }: BankError): boolean {
  return status === 400 || status === 422;
}

/**
 * Whether a refusal of page 0 may say that there is none. Any other answer is of the moment, or of what stands before
 * the bank.
 */
export function mayCountFromOne({ status }: BankError): boolean {
  return status >= 500 || PERHAPS_NO_PAGE.has(status);
}

/**
 * Whether page 1 may start a list whose page 0 is refused: not where its offset says otherwise. A failing server is not one
 * that counts from 1, unless page 1 shows something and says that it starts the list.
 */
export function startsList({ items, offset }: ListPage<unknown>, refusal: BankError): boolean {
  if (refusal.status >= 500) return items.length > 0 && offset === 0;
  return (offset ?? 0) <= 1;
}

/** Where nothing says that it is not the first page, which holds nothing, that may be so; any other list is told as it failed. */
export function whyUnstarted({ items, offset }: ListPage<unknown>, refusal: BankError): BankError {
  const mayBeEmpty = refusal.status >= 500 && items.length === 0 && (offset ?? 0) <= 1;
  return mayBeEmpty ? new FirstPageFailed(refusal.status, refusal) : refusal;
}

/** Why a list shows nothing of what it counts. Not that there is no such list, by which page 0 may have been refused. */
export function whyHidden(refusal: BankError | undefined): Error {
  return refusal && refusal.status >= 500 ? refusal : new ListUnreadable('nothing-shown');
}
