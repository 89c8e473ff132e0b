/** What one list of the bank was seen to do; keep it and pass it in again to save the requests that learn it. */
export interface ListHabits {
  /** Whether its pages count from 0 or 1. */
  pageBase?: 0 | 1;
  /** It ignores `page` and is asked with `limit` and `offset`. */
  usesOffset?: boolean;
  /** It refuses every parameter of paging and is asked for nothing. */
  takesNoPaging?: boolean;
  /** A size it was seen to deliver in full, which it may no longer do. */
  pageSize?: number;
  /** Its `count` is no count of a page: it was more than one could hold. */
  countsAll?: true;
  /** The largest size to ask: it refused a larger one, and answered this. */
  largestSize?: number;
}

/** Without a field where a list takes no paging. */
export type PageQuery =
  { page: number; pageSize: number } | { limit: number; offset: number } | Record<string, never>;

/** A list envelope (Conventions); only `items` is relied on. */
export interface ListPage<T> {
  items: T[];
  count?: number | null;
  limit?: number | null;
  offset?: number | null;
}

/** What a list that was read to its end was seen to hold. */
export interface ListSize {
  readonly rows: number;
  /** Rows of a full page; undefined where one page, no larger than was observed elsewhere, held everything. */
  readonly pageRows?: number;
  /**
   * Whether no count of the bank confirms that these are all: pages that show nothing, or are refused, may be followed by some
   * that do. Most banks that are lawful confirm none.
   */
  readonly mayGoOn?: true;
}

export interface PagerOptions<T> {
  /** By which the bank knows the list, for who is told that it cannot be read. */
  path?: string;
  fetch: (query: PageQuery) => Promise<ListPage<T>>;
  idOf: (item: T) => string;
  /** What else of an item is of account: one that is there again, and says otherwise in it, is handed on again. */
  saysOf?: (item: T) => string | undefined;
  habits?: ListHabits;
  pageSize?: number;
  maxPages?: number;
  maxItems?: number;
  /** Told once the list was read to its end. */
  onEnd?: (size: ListSize) => void;
  /** Whether the document shows that it takes `page` and `pageSize`; another list may refuse them. */
  pagingIsShown?: boolean;
  /** Whether who reads it needs no more than was handed out; asked where nothing tells whether the list goes on. */
  isEnough?: () => boolean;
  /** Whether so many items are all by another read; asked where the list repeats a full page, or counts more than it shows. */
  isAll?: (seen: number) => Promise<boolean>;
}
