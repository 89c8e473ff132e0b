import type { ListEnvelope } from '../../bank/types';
import { badRequest, notFound, Refusal } from '../refusal';
import type { Variants } from '../variants';
import type { Answer } from './exchange';

/** The document's observed page size. */
const DEFAULT_LIMIT = 20;
/** Beyond any list this process can hold. */
const WHOLE_NUMBER = /^\d{1,9}$/;

export type PagingVariants = Pick<
  Variants,
  | 'pageBase'
  | 'pageZero'
  | 'countMeans'
  | 'countUpTo'
  | 'maxPageSize'
  | 'largePages'
  | 'ignorePageParams'
  | 'unshownParams'
>;

/** How many records of others stand in a list, and after how many that are shown. */
export interface Others {
  readonly after: number;
  readonly records: number;
}

/** A query whose page is taken this many records later than it says, as if records had moved meanwhile. */
export class MovedQuery extends URLSearchParams {
  constructor(
    query: URLSearchParams,
    readonly by: number,
  ) {
    super(query);
  }
}

/**
 * One page of the first `total` items as a list envelope, which may hold records of others. A page is a slice: its cost does not depend on its
 * number. Throws a 400 refusal for parameters that are not whole numbers, or a
 * page larger than there are, or, where a list takes none that the document does not show, any of those.
 */
export function pageOf<T>(
  items: readonly T[],
  total: number,
  query: URLSearchParams,
  list: { sort: string; params: 'pages' | 'offset' | 'none'; areShown: boolean; others?: Others },
  variants: PagingVariants,
): ListEnvelope<T> {
  const refuses = variants.unshownParams === 'refused' && !list.areShown;
  if (refuses && query.size > 0) throw badRequest('this list takes no parameters');
  if (refuses || list.params === 'none')
    return { items: items.slice(0, total), count: total, limit: total, offset: 0, sort: list.sort };
  const byOffset = list.params === 'offset' || variants.ignorePageParams;
  const asked = wholeNumber(query, byOffset ? 'limit' : 'pageSize') ?? DEFAULT_LIMIT;
  if (asked > Math.max(variants.maxPageSize, DEFAULT_LIMIT) && variants.largePages === 'refused')
    throw badRequest('the page is too large');
  const limit = Math.min(Math.max(asked, 1), variants.maxPageSize);
  const offset = byOffset ? (wholeNumber(query, 'offset') ?? 0) : pageOffset(query, limit, variants);
  const start = Math.max(0, query instanceof MovedQuery ? offset + query.by : offset);
  const { after, records } = list.others ?? { after: 0, records: 0 };
  const end = start + limit;
  const page = [
    ...items.slice(start, Math.min(end, after, total)),
    ...items.slice(Math.max(start - records, after), Math.min(Math.max(end - records, after), total)),
  ];
  const places = total + records;
  const counts = { page: page.length, total, places, everything: total };
  return {
    items: page,
    count: counted(counts[variants.countMeans], variants),
    limit,
    offset,
    sort: list.sort,
  };
}

/** As many as a `count` says. */
export function counted(count: number, { countUpTo }: Pick<Variants, 'countUpTo'>): number {
  return countUpTo === 0 ? count : Math.min(count, countUpTo);
}

/** A page as it is answered. Throws a 404 refusal where a list without records answers so. */
export function answerOf(page: ListEnvelope<unknown>, { emptyLists }: Pick<Variants, 'emptyLists'>): Answer {
  if (page.items.length > 0 || emptyLists === 'envelope') return { status: 200, body: page };
  if (emptyLists === '404') throw notFound('record');
  if (emptyLists === 'without-items') return { status: 200, body: { ...page, items: undefined } };
  return { status: 204 };
}

function pageOffset(
  query: URLSearchParams,
  limit: number,
  { pageBase, pageZero }: Pick<PagingVariants, 'pageBase' | 'pageZero'>,
): number {
  const page = (wholeNumber(query, 'page') ?? pageBase) - pageBase;
  if (page >= 0) return page * limit;
  if (pageZero === 'fails') throw new Refusal(500, 'INTERNAL', 'the offset is negative');
  throw badRequest('page is below the first page');
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!WHOLE_NUMBER.test(text)) throw badRequest(`${name} is not a whole number`);
  return Number(text);
}
