import type { ListHabits, ListPage } from './paging';

/** The most this family of banks hands out at once; a smaller answer is learned. */
const ASKED_PAGE_SIZE = 100;
/** Limits: page size observed in list responses. */
export const OBSERVED_PAGE_SIZE = 20;
/** A list of three that calls its limit three must not make every later page as small. */
const SMALLEST_LEARNED_SIZE = 10;

/** In which size the pages of a list are asked in one walk of it. */
export class PageSize {
  private current: number;
  private asked: number;
  /** After a refusal that may have been one of the size. */
  private asksLess = false;
  /** What the list said to hand out at most where more was asked. */
  private told: number | undefined;
  /** The last size that was asked and came in full. */
  private delivered = 0;
  /** The size in which the first page showed fewer: the bank hands out no more, or hides some. */
  private doubted?: { rows: number; isTold: boolean; received: number };
  /** Whether the next page, asked in those few, tells which. */
  isTried = false;
  /** Pages that told that the bank hands out no more, so far. */
  private proofs = 0;
  /** It told that the bank hides some. */
  private hides = false;

  /** @param learn keeps what this walk learns, in these habits too */
  constructor(
    private readonly habits: Readonly<ListHabits>,
    private readonly learn: (habits: ListHabits) => void,
    private readonly wanted = ASKED_PAGE_SIZE,
  ) {
    this.asked = Math.min(wanted, habits.largestSize ?? Infinity);
    this.current = Math.min(habits.pageSize ?? this.asked, this.asked);
  }

  /** The size in force. */
  get rows(): number {
    return this.current;
  }

  /** Whether it is a larger one than was observed of any list. */
  get mayBeLess(): boolean {
    return this.rows > OBSERVED_PAGE_SIZE;
  }

  askLess(): void {
    this.asksLess = true;
    this.ask(OBSERVED_PAGE_SIZE);
  }

  askAnew(): void {
    this.asksLess = false;
    this.ask(this.wanted);
  }

  /** The list answered its first page: a larger one, where one was refused, is not asked any more. */
  onAnswer(): void {
    if (this.asksLess) this.learn({ largestSize: this.asked, pageSize: undefined });
  }

  /**
   * Fewer than the bank hands out at once. The answer's own limit decides, once the list was seen to keep one, or said less
   * than was asked; without it only a size delivered in this walk does, because one remembered may have been cut since.
   */
  isShort({ limit }: ListPage<unknown>, received: number): boolean {
    if (limit != null && limit < this.rows) this.told = limit;
    const isKept = limit != null && (this.habits.pageSize !== undefined || this.told === limit);
    const known = isKept || this.hides || this.delivered === this.rows;
    return known && received < Math.min(limit ?? this.rows, this.rows);
  }

  /** The places of the list that a page passes, at least. */
  get places(): number {
    const isKnown = this.delivered === this.rows || this.doubted?.isTold !== false;
    return isKnown ? this.rows : Math.min(this.rows, OBSERVED_PAGE_SIZE);
  }

  /** Whether a page told that the bank hands out no more, and another one is to tell it too. */
  get isHalfProven(): boolean {
    return this.isTried && this.proofs > 0;
  }

  /**
   * Whether a page tells that the bank hands out no more than its first one showed: in a list that hides some, the places
   * behind so many are those of the first page still. Rows that came meanwhile tell the same of a few places, so that as many
   * as a page of any list was seen to have are to tell it. @param unseen how many of it were not shown before
   */
  isProvenBy(received: number, unseen: number): boolean {
    const { rows, doubted } = this;
    const isBehind = unseen > 0 && 2 * rows <= (doubted?.rows ?? 0);
    // A full one behind a page that told it was pushed along by rows that came, and tells nothing.
    const isPushed = this.proofs > 0 && received >= rows;
    if (isBehind || unseen >= rows) this.proofs += 1;
    else if (!isPushed) return false;
    this.isTried = this.proofs * rows < OBSERVED_PAGE_SIZE;
    if (!this.isTried) this.doubted = undefined;
    this.delivered = rows;
    return true;
  }

  /** The first page hid some: its size is asked on, and by offset, where no limit was told, one that every list was seen to have. */
  askDoubted(byOffset: boolean): void {
    const { rows, isTold } = this.doubted ?? { rows: this.rows, isTold: true };
    this.isTried = false;
    this.hides = true;
    this.current = byOffset && !isTold ? Math.min(rows, OBSERVED_PAGE_SIZE) : rows;
  }

  /** From the first page on, in other parameters, of which no size is known to be refused. */
  startAgain(): void {
    if (this.doubted === undefined) return;
    const { rows, received } = this.doubted;
    this.isTried = this.hides = false;
    this.current = Math.max(received, Math.min(rows, OBSERVED_PAGE_SIZE));
  }

  /**
   * The first page tells the size in force: later pages are asked in that size, so that none leaves a gap. What comes in
   * that size once more, from the start, may be all of a list that ignores every parameter.
   */
  learnFrom(
    answer: ListPage<unknown>,
    received: number,
    { first, isShort, startedAgain }: { first: boolean; isShort: boolean; startedAgain: boolean },
  ): void {
    const full = received === this.rows;
    if (full) this.delivered = received;
    const proven = !startedAgain && !this.isTried && (full || received === answer.limit);
    const worthKeeping = received === this.asked || received >= SMALLEST_LEARNED_SIZE;
    const remembered = this.habits.pageSize ?? 0;
    const stale = full && received < Math.min(remembered, this.asked);
    if (proven && worthKeeping && (received > remembered || stale)) this.learn({ pageSize: received });
    if (!first || received >= this.rows) return;
    const rows = Math.min(answer.limit ?? this.rows, this.rows);
    this.doubted = undefined;
    this.isTried = !isShort && received < rows;
    if (this.isTried) this.doubted = { rows, received, isTold: answer.limit != null };
    this.current = isShort ? rows : received;
  }

  private ask(rows: number): void {
    this.asked = rows;
    this.current = rows;
  }
}
