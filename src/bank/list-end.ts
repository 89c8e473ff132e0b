import { OBSERVED_PAGE_SIZE } from './page-size';
import type { ListHabits, ListPage } from './paging';

/** So many pages in a row that show nothing end a list of which no count tells more. */
const EMPTY_AT_END = 2;
/** And so many places at most one that counts more, which may be what others hold: those of ten pages of the size observed. */
const MOST_EMPTY_PLACES = 10 * OBSERVED_PAGE_SIZE;
/** Or so many pages, where they are smaller. */
const MOST_EMPTY_PAGES = 20;

/** What a walk came to: different items, and the places of the list that it passed. */
export interface SoFar {
  readonly seen: number;
  readonly slots: number;
}

/** One page: what it showed of what was asked, whether that is known to be less than it may hold, and how it was refused. */
export interface PageRead {
  readonly received: number;
  readonly asked: number;
  readonly isShort: boolean;
  /** Refused behind a full one, as where a list shows no page so deep. */
  readonly isFullBefore: boolean;
  /** Asked to tell the size in force: what it may hold is asked for again in another. */
  readonly isTried: boolean;
}

/**
 * Where a list ends. A bank may take out of a page what a token may not see, so that one in the middle shows less than others,
 * or nothing; and `count` may be of the page, of the whole list, of what is taken out too, or end at a bound.
 */
export class ListEnd {
  /** Whether a count confirms that what was seen is all. */
  isCounted = false;
  /** A page that showed less than it may hold was followed by one that shows more. */
  hasGap = false;
  /** As it was told last. */
  count: number | undefined;
  /** Pages in a row that showed nothing, and their places, of a larger page those of the size observed. */
  private empty = 0;
  private emptyPlaces = 0;
  private wasShort = false;
  /** The one page that showed any counted what it showed, which is less than it may hold. */
  private isPart: boolean | undefined;
  /** More was seen than the list counted: that is of a page, or ends at a bound. */
  private isCountLess = false;
  /** Rows moved to the front while it was read, or a page in front of others stays refused: no count tells that all was seen. */
  private isOpen = false;
  /** How many rows fewer than before it counts, since that was asked last. */
  private removed = 0;

  /** @param learn keeps what this walk learns, in these habits too */
  constructor(
    private readonly habits: Readonly<ListHabits>,
    private readonly learn: (habits: ListHabits) => void,
  ) {}

  /** Whether another read is to say if all was seen: enough pages showed nothing, and the count tells of more. */
  get mayAskElsewhere(): boolean {
    return this.empty === EMPTY_AT_END;
  }

  /** A page in front of one that shows some stays refused. */
  onHole(): void {
    this.isOpen = true;
  }

  /** How many rows were taken out of the list since this was asked last: those behind moved by as many places at most. */
  takeRemoved(): number {
    const { removed } = this;
    this.removed = 0;
    return removed;
  }

  /** Whether it ended with this page, or may have. */
  onPage(answer: ListPage<unknown>, page: PageRead, soFar: SoFar): 'ended' | 'doubtful' | undefined {
    this.take(answer, page, soFar);
    if (page.received > 0) {
      this.isCounted = page.isShort && !this.hasGap && this.isConfirmed(soFar);
      if (this.isCounted) return 'ended';
      return page.isShort && !this.isMore(soFar) ? 'doubtful' : undefined;
    }
    // Then it is the count of all in other walks too, of which each page may show less, or nothing.
    if (this.isAllOfPart(answer.count, soFar)) this.learn({ countsAll: true });
    const isPast = !page.isFullBefore && (!this.hasGap || this.empty >= EMPTY_AT_END);
    this.isCounted = isPast && this.isConfirmed(soFar);
    if (this.isCounted) return 'ended';
    const isMore = this.isMore(soFar) && (this.count ?? 0) > soFar.slots;
    const isFar = this.emptyPlaces >= MOST_EMPTY_PLACES || this.empty >= MOST_EMPTY_PAGES;
    const isLong = isMore ? isFar : this.empty >= EMPTY_AT_END;
    return isLong ? 'ended' : 'doubtful';
  }

  /** Whether a page that repeats the one before ends a list of which all was seen. */
  onRepeat(answer: ListPage<unknown>, soFar: SoFar): boolean {
    this.takeCount(answer.count);
    this.isCounted = this.isConfirmed(soFar);
    return this.isCounted;
  }

  private take(
    { count, limit }: ListPage<unknown>,
    { received, asked, isShort, isTried }: PageRead,
    { seen }: SoFar,
  ): void {
    if (received > 0) {
      this.hasGap ||= this.wasShort;
      const isLess = count === received && received < Math.min(asked, limit ?? OBSERVED_PAGE_SIZE);
      this.isPart = this.isPart === undefined && isLess;
    }
    this.wasShort = isShort;
    if (received > 0) this.empty = this.emptyPlaces = 0;
    else if (!isTried) {
      this.empty += 1;
      this.emptyPlaces += Math.min(asked, OBSERVED_PAGE_SIZE);
    }
    if (count == null) return;
    this.isCountLess ||= count < seen;
    if (this.isCountLess && count === received) this.learn({ countsAll: undefined });
    if (count > Math.max(received, limit ?? Math.max(asked, OBSERVED_PAGE_SIZE)))
      this.learn({ countsAll: true });
    this.takeCount(count);
  }

  private takeCount(count: number | null | undefined): void {
    if (count == null) return;
    const removed = (this.count ?? 0) - count;
    if (removed > 0) {
      this.isOpen = true;
      if (this.habits.countsAll) this.removed += removed;
    }
    this.count = count;
  }

  /** A list of which rows were taken out may count as many as were seen, and hold others. */
  private isConfirmed(soFar: SoFar): boolean {
    return this.isAll(soFar) && !this.isOpen;
  }

  private isAll({ seen }: SoFar): boolean {
    return this.habits.countsAll === true && !this.isCountLess && this.count === seen;
  }

  /** A page behind one that was not full counts the same: of a page of its own it would count none. */
  private isAllOfPart(count: number | null | undefined, { seen }: SoFar): boolean {
    return this.isPart === true && count === seen;
  }

  private isMore({ seen }: SoFar): boolean {
    return !this.isCountLess && (this.count ?? 0) > seen;
  }
}
