import { ListUnreadable, ofRead } from './errors';
import { ListWalk } from './list-walk';
import type { PagerOptions } from './paging';

/**
 * Every item of a list once, or as often as it says otherwise, whatever the list's paging habits: pages from 0 or 1, a smaller
 * page than asked, `count` of the page or of the list, no usable `offset`, records that move between pages, or `page` ignored
 * or refused altogether, or pages that show less than they hold, up to none.
 * Item order is the bank's. Items removed while reading may hide others: absence proves nothing.
 * @throws ListUnreadable when it repeats itself or exceeds the caps; errors of `fetch` as they come.
 */
export async function* eachItem<T>(options: PagerOptions<T>): AsyncGenerator<T, void, undefined> {
  const walk = new ListWalk(options);
  try {
    while (!walk.ended) yield* await walk.next();
  } catch (error) {
    if (options.path !== undefined && error instanceof ListUnreadable) throw ofRead(options.path, error);
    throw error;
  }
  options.onEnd?.(walk.listSize());
}
