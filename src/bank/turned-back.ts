/** Where a walk is in its list: by pages, and by what it passes over by offset. */
export interface Place {
  readonly page: number;
  readonly passed: number;
}

/** So many calls ask for refused pages again, and one more for so many pages: a bank may refuse each that shows nothing. */
const MOST_FOR_REFUSED = 5;
const PAGES_FOR_ONE_MORE = 5;
/** So many calls read again where rows moved to, and as many as read for the first time. */
const MOST_FOR_MOVED = 10;

/** To where a walk turns back: to pages that were refused, perhaps for once, and to those that rows moved to meanwhile. */
export class TurnedBack {
  /** The first of the pages that were refused last, one behind the other. */
  private refused?: Place;
  private wasAskedAgain = false;
  /** Where rows were shown before it turned back: it does not end before. */
  private shownAt = -1;
  private forRefused = 0;
  private forMoved = 0;

  /** A page is refused. @param wasAskedAgain whether it was asked again already */
  onRefused(at: Place, wasAskedAgain: boolean): void {
    if (this.refused) return;
    this.refused = at;
    this.wasAskedAgain = wasAskedAgain;
  }

  /** A page is answered. @returns whether it shows some behind one that stays refused, or is not asked again */
  onAnswer({ page }: Place, showsSome: boolean): boolean {
    const isBehind = this.refused !== undefined && this.refused.page < page;
    if (showsSome || !isBehind) this.refused = undefined;
    return showsSome && isBehind;
  }

  /** Whether rows were shown behind this page. */
  isShownBehind({ page }: Place): boolean {
    return page < this.shownAt;
  }

  /** The refused page to ask again, from one that shows some or from the end. @param pages that were asked so far */
  toRefused({ page }: Place, showsSome: boolean, pages: number): Place | undefined {
    const { refused } = this;
    if (!refused || this.wasAskedAgain) return undefined;
    this.wasAskedAgain = true;
    if (this.forRefused > MOST_FOR_REFUSED + pages / PAGES_FOR_ONE_MORE) return undefined;
    this.forRefused += showsSome ? page - refused.page + 1 : 1;
    if (showsSome) this.shownAt = page;
    return refused;
  }

  /** The page that rows behind this one may have moved to, where so many were taken out of the list; none before the first. */
  toMoved(
    { page, passed }: Place,
    moved: { rows: number; pageRows: number },
    asked: { first: number; pages: number },
  ): Place | undefined {
    const to = Math.max(page - Math.ceil(moved.rows / moved.pageRows), asked.first);
    const calls = page - to + 1;
    if (to >= page || this.forMoved + calls > MOST_FOR_MOVED + asked.pages / 2) return undefined;
    this.forMoved += calls;
    return { page: to, passed: Math.max(passed - moved.rows, 0) };
  }
}
