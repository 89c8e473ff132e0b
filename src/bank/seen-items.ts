import { ListUnreadable } from './errors';
import { OBSERVED_PAGE_SIZE } from './page-size';
import type { PagerOptions } from './paging';

/** Ids are remembered to find repeats: half a million cost some 50 MB. */
const MAX_ITEMS = 500_000;

/** The items of one walk of a list that were handed on. */
export class SeenItems<T> {
  /** What each item said when it was handed on last, by its id. */
  private readonly saidBy = new Map<string, string>();
  /** Pages that showed any. */
  pages = 0;
  private largestPage = 0;
  /** The ids of the page before. */
  private previous: readonly string[] = [];

  constructor(private readonly options: Pick<PagerOptions<T>, 'idOf' | 'saysOf' | 'maxItems'>) {}

  /** How many different ones. */
  get size(): number {
    return this.saidBy.size;
  }

  /** Rows of a full page; undefined where one page, no larger than was observed elsewhere, held everything. */
  get pageRows(): number | undefined {
    const isFull = this.pages > 1 || this.largestPage > OBSERVED_PAGE_SIZE;
    return isFull ? this.largestPage : undefined;
  }

  idsOf(items: readonly T[]): string[] {
    return items.map(this.options.idOf);
  }

  /** How many of these were not seen before. */
  unseen(ids: readonly string[]): number {
    return new Set(ids.filter((id) => !this.saidBy.has(id))).size;
  }

  /** Those that were not seen before, or not so. @throws ListUnreadable when they are too many */
  fresh(items: T[], ids: readonly string[]): T[] {
    const fresh = items.filter((item, index) => {
      const [id = '', says = ''] = [ids[index], this.options.saysOf?.(item)];
      return this.saidBy.get(id) !== says && this.saidBy.set(id, says);
    });
    if (this.size > (this.options.maxItems ?? MAX_ITEMS)) throw new ListUnreadable('too-many-items');
    return fresh;
  }

  /** These are the page before from here on. */
  turnTo(ids: readonly string[]): void {
    this.previous = ids;
    this.pages += 1;
    this.largestPage = Math.max(this.largestPage, ids.length);
  }

  /** No page is the one before. */
  forgetPage(): void {
    this.previous = [];
  }

  /** Whether a page that shows some is the one before over again. */
  isRepeated(ids: readonly string[]): boolean {
    const { previous } = this;
    return (
      ids.length > 0 && ids.length === previous.length && ids.every((id, index) => id === previous[index])
    );
  }

  /** Whether the page before began with one of these. */
  startedWithOneOf(ids: readonly string[]): boolean {
    const [first] = this.previous;
    return first !== undefined && ids.includes(first);
  }

  /** Whether the page before showed one of these. */
  overlaps(ids: readonly string[]): boolean {
    return ids.some((id) => this.previous.includes(id));
  }
}
