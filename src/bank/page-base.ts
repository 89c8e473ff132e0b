import type { BankError } from './errors';
import { startsList, whyUnstarted } from './first-page';
import type { ListHabits, ListPage } from './paging';

/** Where a walk is: its page, and the items that were shown before it, repeats included. */
interface At {
  readonly page: number;
  readonly position: number;
}

/** Whether the pages of a list count from 0 or 1, as far as one walk of it knows. */
export class PageBase {
  /** How page 0 was refused. */
  refusals: BankError[] = [];
  /** Page 0 was refused, page 1 was not, and page 0 was asked once more. */
  private wasAskedAgain = false;

  /** @param learn keeps what this walk learns, in these habits too */
  constructor(
    private readonly habits: Readonly<ListHabits>,
    private readonly learn: (habits: ListHabits) => void,
  ) {}

  /** Whether it is not known yet, and matters. */
  get isOpen(): boolean {
    const { pageBase, usesOffset, takesNoPaging } = this.habits;
    return pageBase === undefined && !usesOffset && !takesNoPaging;
  }

  /** @param isPushed whether it shows again what started the page before @throws BankError where it should start the list, and does not */
  learnFrom(answer: ListPage<unknown>, { page, position }: At, isPushed: boolean): void {
    if (page !== 1 || !this.isOpen) return;
    // Page 1 of a list that counts from 1, where records came in front since page 0: a quieter walk tells.
    if (isPushed) return;
    const refusal = position === 0 ? this.refusals.at(-1) : undefined;
    if (refusal && !startsList(answer, refusal)) throw whyUnstarted(answer, refusal);
    const isFirst = position === 0 && (answer.offset ?? 0) <= 1;
    // Page 0 may be there, and show nothing for now: an offset of 0 may be told of every page.
    if (isFirst && !refusal) return;
    if (answer.items.length > 0 || position > 0) this.learn({ pageBase: isFirst ? 1 : 0 });
  }

  /**
   * One odd answer must not make a list that counts from 0 lack its first page, nor a remembered base make it look empty:
   * before page 1 is believed to start it, or nothing to be there though some is counted, page 0 is asked again.
   */
  mustAskFirstPage({ items, count }: ListPage<unknown>, { page, position }: At, seen: number): boolean {
    const hidesAll = items.length === 0 && seen === 0 && (count ?? 0) > 0;
    const refused = this.refusals.length > 0 && page === 1 && position === 0;
    if (refused && this.isOpen && !this.wasAskedAgain) this.wasAskedAgain = true;
    else if (hidesAll && this.habits.pageBase !== undefined) this.learn({ pageBase: undefined });
    else return false;
    return true;
  }

  /** A remembered base of 1 that no longer holds would hide the first page. */
  startsTooLate({ offset }: ListPage<unknown>, { page }: At): boolean {
    return this.habits.pageBase === 1 && page === 1 && (offset ?? 0) > 1;
  }
}
