import {
  BankError,
  BankUnreachable,
  BODY_TOO_LARGE,
  ListUnreadable,
  NotAllowed,
  Unauthorised,
} from './errors';
import { mayCountFromOne, PERHAPS_NO_PAGE, perhapsTooLarge, whyHidden } from './first-page';
import { SeenItems } from './seen-items';
import { ListEnd, type PageRead, type SoFar } from './list-end';
import { PageBase } from './page-base';
import { OBSERVED_PAGE_SIZE, PageSize } from './page-size';
import type { ListHabits, ListPage, ListSize, PageQuery, PagerOptions } from './paging';
import { type Place, TurnedBack } from './turned-back';

/** 100,000 payments in pages of 20, and room for pages that moved. */
const MAX_PAGES = 10_000;

/** One reading of a list, page by page. */
export class ListWalk<T> {
  ended = false;
  private readonly habits: ListHabits;
  private readonly seen: SeenItems<T>;
  private readonly size: PageSize;
  private page: number;
  /** Items that were shown, repeats included. */
  private position = 0;
  /** What is passed over by offset. */
  private passed = 0;
  private pages = 0;
  /** The last page was the one before it over again. */
  private repeated = false;
  private firstPageFull?: boolean;
  private shortPages = false;
  private lastPageFull = false;
  private answered = false;
  private readonly end: ListEnd;
  private readonly back = new TurnedBack();
  /** The first page that is asked to tell the size in force. */
  private triedAt?: Place;
  /** One of these was refused, and asked once more. */
  private triedAgain = false;
  /** Page 0 is asked again, since page 1 was it over again. */
  private provesBase = false;
  /** Page 1, asked to tell the size in force, was the first one over again: page 2 is asked to tell it. */
  private wasTriedTwice = false;
  /** Nothing tells that the last page was the end: its items are handed out before it is asked whether they are enough. */
  private isDoubtful = false;
  private readonly base: PageBase;
  /** The one answer of a list that takes no paging: it is handed out before it is known whether that is all. */
  private whole?: ListPage<T>;

  constructor(private readonly options: PagerOptions<T>) {
    this.habits = { ...options.habits };
    this.seen = new SeenItems(options);
    this.size = new PageSize(this.habits, (habits) => this.learn(habits), options.pageSize);
    this.base = new PageBase(this.habits, (habits) => this.learn(habits));
    this.page = this.habits.pageBase ?? 0;
    this.end = new ListEnd(this.habits, (habits) => this.learn(habits));
  }

  /** Asks the next page and returns what was not seen before, or not so. */
  async next(): Promise<T[]> {
    if (this.whole) return this.endWhole(this.whole);
    if (this.isDoubtful && (await this.mayEndHere())) return this.endHere();
    this.isDoubtful = false;
    if (this.pages >= (this.options.maxPages ?? MAX_PAGES)) throw new ListUnreadable('too-many-pages');
    this.pages += 1;
    const answer = await this.ask();
    if (!answer) return [];
    const ids = this.seen.idsOf(answer.items);
    if (this.provesBase) return this.onFirstPageAgain(answer, ids);
    if (this.isTrialFailed(ids)) return this.seen.fresh(answer.items, ids);
    if (this.seen.isRepeated(ids)) return this.onRepeat(answer);
    if (this.mustTurnToFirstPage(answer)) return [];
    this.base.learnFrom(answer, this.place(), this.seen.startedWithOneOf(ids));
    const fresh = this.seen.fresh(answer.items, ids);
    if (ids.length > 0 && this.goTo(this.toRefused(true))) return fresh;
    this.advance(answer, ids);
    if (this.habits.takesNoPaging) {
      this.whole = answer;
      this.ended = false;
    }
    return fresh;
  }

  listSize(): ListSize {
    const { size: rows, pageRows } = this.seen;
    return { rows, pageRows, mayGoOn: this.end.isCounted ? undefined : true };
  }

  private query(): PageQuery {
    if (this.habits.takesNoPaging) return {};
    if (this.habits.usesOffset) return { limit: this.size.rows, offset: this.passed };
    return { page: this.page, pageSize: this.size.rows };
  }

  private async ask(): Promise<ListPage<T> | undefined> {
    try {
      return await this.options.fetch(this.query());
    } catch (error) {
      if (error instanceof BankError) this.onRefusedPage(error);
      else if (error instanceof BankUnreachable && error.why === BODY_TOO_LARGE) this.onPageTooLarge();
      else throw error;
      return undefined;
    }
  }

  /** More bytes than are read of any answer: a smaller page may do, if the first is asked and the bank heeds the size. */
  private onPageTooLarge(): void {
    if (this.answered || !this.size.mayBeLess) throw new ListUnreadable('page-too-large');
    this.askLess();
  }

  /** A list whose pages count from 1 may refuse page 0; one too large, or past its end, may be refused too. */
  private onRefusedPage(error: BankError): void {
    if (error instanceof NotAllowed || error instanceof Unauthorised) throw error;
    if (this.provesBase && mayCountFromOne(error)) {
      this.onFirstPageAgain({ items: [] }, []);
    } else if (this.page === 0 && this.base.isOpen && mayCountFromOne(error)) {
      this.base.refusals.push(error);
      // A server's fault may pass: it is believed the second time.
      if (error.status < 500 || this.base.refusals.length > 1) this.page = 1;
    } else if (this.isPerhapsTooLarge(error)) {
      this.askLess();
    } else if (this.mayTakeOtherParameters(error)) {
      this.askOtherwise();
    } else if (this.size.isTried && !this.triedAgain && PERHAPS_NO_PAGE.has(error.status)) {
      // In another size its rows might be passed over.
      this.triedAgain = this.isDoubtful = true;
    } else if (this.answered && PERHAPS_NO_PAGE.has(error.status)) {
      // As a page that shows nothing: one behind a page that a bank hides altogether may be there.
      this.back.onRefused(this.place(), this.size.isTried);
      this.onPage({ items: [] }, { received: 0, asked: this.size.rows, isShort: true }, true);
    } else {
      throw error;
    }
  }

  /** The first page, refused whatever its number, in a larger size than was observed of any list. */
  private isPerhapsTooLarge(error: BankError): boolean {
    return [...this.base.refusals, error].some(perhapsTooLarge) && !this.answered && this.size.mayBeLess;
  }

  /** A list whose parameters are not shown, and which was never read by pages, refused its first one in every size. */
  private mayTakeOtherParameters(error: BankError): boolean {
    const { pageBase, takesNoPaging } = this.habits;
    const isKnown = this.options.pagingIsShown || pageBase !== undefined || takesNoPaging;
    return !isKnown && !this.answered && perhapsTooLarge(error);
  }

  /** By those the answers of lists name (Conventions), then by none; what is answered is learned. */
  private askOtherwise(): void {
    this.habits.takesNoPaging = this.habits.usesOffset;
    this.habits.usesOffset = !this.habits.usesOffset;
    this.size.askAnew();
    this.askFirstPage();
  }

  private askLess(): void {
    this.size.askLess();
    this.askFirstPage();
  }

  private askFirstPage(): void {
    this.page = this.habits.pageBase ?? 0;
    this.base.refusals = [];
  }

  private place(): Place & { position: number } {
    const { page, passed, position } = this;
    return { page, passed, position };
  }

  /** Whether there is one to turn back to. */
  private goTo(place: Place | undefined): boolean {
    if (!place) return false;
    this.page = place.page;
    this.passed = place.passed;
    return true;
  }

  /** The places of the list that were passed, whether or not they showed anything. */
  private slots(): number {
    const { usesOffset, pageBase = Math.min(this.page, 1) } = this.habits;
    return usesOffset ? this.passed : (this.page - pageBase) * this.size.places;
  }

  /** Other walks of the same list may be under way: this one follows its own copy and shares what it learns. */
  private learn(habits: ListHabits): void {
    Object.assign(this.habits, habits);
    if (this.options.habits) Object.assign(this.options.habits, habits);
  }

  private mustTurnToFirstPage(answer: ListPage<T>): boolean {
    const isLate = this.base.startsTooLate(answer, this.place());
    if (isLate) this.learn({ pageBase: 0 });
    else if (!this.base.mustAskFirstPage(answer, this.place(), this.seen.size)) return false;
    this.page = 0;
    return true;
  }

  private advance(answer: ListPage<T>, ids: string[]): void {
    const first = this.position === 0;
    const asked = this.size.rows;
    if (!this.answered) this.size.onAnswer();
    const usesOffset = this.habits.usesOffset && (!this.answered || this.movedByOffset(ids));
    if (usesOffset) this.learn({ usesOffset });
    this.answered = true;
    if (ids.length === 0) {
      if (this.page === 0 && this.base.isOpen) this.page += 1;
      else this.onPage(answer, { received: 0, asked, isShort: true });
      return;
    }
    this.lastPageFull = [this.size.rows, answer.limit, OBSERVED_PAGE_SIZE].includes(ids.length);
    this.firstPageFull ??= this.lastPageFull;
    if (this.leavesGap(answer)) throw new ListUnreadable('gap');
    const isShort = this.size.isShort(answer, ids.length);
    this.size.learnFrom(answer, ids.length, { first, isShort, startedAgain: first && this.seen.pages > 0 });
    this.seen.turnTo(ids);
    this.repeated = false;
    this.position += ids.length;
    this.onPage(answer, { received: ids.length, asked, isShort });
  }

  private onPage(
    answer: ListPage<T>,
    page: Omit<PageRead, 'isFullBefore' | 'isTried'>,
    isRefused = false,
  ): void {
    const at = this.place();
    const isTried = page.received === 0 && this.size.isTried;
    this.shortPages ||= page.received < this.size.rows;
    if (isTried) this.askDoubtedSize();
    else {
      this.passed += page.isShort ? this.size.places : page.received;
      this.page += 1;
    }
    if (this.size.isTried && !this.size.isHalfProven) this.triedAt = this.place();
    if (!isRefused && this.back.onAnswer(at, page.received > 0)) this.end.onHole();
    const isFullBefore = isRefused && this.lastPageFull;
    const told = this.end.onPage(answer, { ...page, isFullBefore, isTried }, this.soFar());
    const isOver = told === 'ended' && !this.back.isShownBehind(at);
    const back = this.toMoved(at) ?? (isOver ? this.toRefused(false) : undefined);
    this.isDoubtful = told !== undefined;
    if (!this.goTo(back) && isOver) this.endHere();
  }

  private toRefused(showsSome: boolean): Place | undefined {
    return this.back.toRefused(this.place(), showsSome, this.pages);
  }

  /** Where rows may have moved to. */
  private toMoved(at: Place): Place | undefined {
    const moved = { rows: this.end.takeRemoved(), pageRows: this.size.places };
    const to = this.back.toMoved(at, moved, { first: this.habits.pageBase ?? 0, pages: this.pages });
    // That it shows the same as the page before says nothing then.
    if (to) this.seen.forgetPage();
    return to;
  }

  /** Whether a page that was to tell the size in force shows that the first one hid some, or is that one over again as page 1. */
  private isTrialFailed(ids: readonly string[]): boolean {
    if (!this.size.isTried || ids.length === 0) return false;
    if (this.size.isProvenBy(ids.length, this.seen.unseen(ids))) return false;
    const isRepeated = this.seen.isRepeated(ids) && !this.habits.usesOffset;
    if (isRepeated && this.wasTriedTwice) return false;
    this.shortPages = true;
    if (isRepeated && this.page === 1) {
      this.wasTriedTwice = true;
      this.page = 2;
    } else this.askDoubtedSize();
    return true;
  }

  /** From behind the first page. By offset, what that may have held is passed. */
  private askDoubtedSize(): void {
    const { usesOffset = false } = this.habits;
    const received = this.size.rows;
    this.size.askDoubted(usesOffset);
    const { page, passed } = this.triedAt ?? this.place();
    this.page = page;
    this.passed = usesOffset ? passed + this.size.rows - received : this.passed;
    if (usesOffset) this.seen.forgetPage();
  }

  private soFar(): SoFar {
    return { seen: this.seen.size, slots: this.slots() };
  }

  private async mayEndHere(): Promise<boolean> {
    if (this.options.isEnough?.()) return true;
    return this.end.mayAskElsewhere && (await this.options.isAll?.(this.seen.size)) === true;
  }

  private endHere(): T[] {
    if (this.seen.size === 0 && (this.end.count ?? 0) > 0) throw whyHidden(this.base.refusals.at(-1));
    this.ended = true;
    return [];
  }

  /** Whether an offset past the first page showed none of it: until then a list may ignore `offset` as it did `page`. */
  private movedByOffset(ids: readonly string[]): boolean {
    return this.position > 0 && !this.seen.overlaps(ids);
  }

  /** The answer starts beyond what was read. Offsets that repeat the page number, or follow a short page, say nothing. */
  private leavesGap({ offset }: ListPage<T>): boolean {
    return offset != null && offset > this.position && offset !== this.page && !this.shortPages;
  }

  /**
   * The same ids again. Page 1 repeating page 0 is perhaps a list that counts from 1 (a remembered 0, which a list that grew
   * may have taught, is forgotten). One that showed more than this may have grown by just a page: the next is asked. Any
   * other repeat is of a list that ignores `page` (asked by offset once) or holds nothing more.
   */
  private async onRepeat(answer: ListPage<T>): Promise<T[]> {
    if (!this.habits.usesOffset && this.page === 1) {
      this.provesBase = this.base.isOpen;
      this.learn({ pageBase: undefined });
      this.page = this.provesBase ? 0 : 2;
    } else if (this.seen.size > answer.items.length && !this.repeated) {
      this.repeated = true;
      this.position += answer.items.length;
      this.passed += answer.items.length;
      this.page += 1;
    } else if (this.end.onRepeat(answer, this.soFar())) {
      this.ended = true;
    } else if (!this.habits.usesOffset) {
      this.learn({ pageBase: undefined });
      this.habits.usesOffset = true;
      this.wasTriedTwice = false;
      this.size.startAgain();
      // From the start: pages that moved meanwhile say nothing about the position.
      this.position = 0;
      this.passed = 0;
      this.seen.forgetPage();
    } else {
      this.learn({ usesOffset: undefined });
      await this.endRepeated(answer);
    }
    return [];
  }

  /** Page 0 shows others by now where pages count from 0 and the list grew by just a page meanwhile. */
  private onFirstPageAgain(answer: ListPage<T>, ids: readonly string[]): T[] {
    this.provesBase = false;
    if (this.seen.isRepeated(ids)) this.learn({ pageBase: 1 });
    else this.position += ids.length;
    this.page = 2;
    return this.seen.fresh(answer.items, ids);
  }

  private async endRepeated(answer: ListPage<T>): Promise<void> {
    const more = (answer.count ?? 0) > this.seen.size;
    if (more || (this.firstPageFull && !(await this.options.isAll?.(this.seen.size)))) {
      // A larger page than was remembered may hold everything the next time.
      this.learn({ pageSize: undefined });
      throw new ListUnreadable('repeats');
    }
    this.ended = true;
  }

  /** One answer is all there is to read. Fewer than a page of any list was observed to hold are no full page. */
  private async endWhole(answer: ListPage<T>): Promise<T[]> {
    if (this.seen.size < OBSERVED_PAGE_SIZE) this.firstPageFull = false;
    this.learn({ takesNoPaging: undefined });
    await this.endRepeated(answer);
    this.learn({ takesNoPaging: true });
    return [];
  }
}
