import { addDays, type IsoDate } from './calendar';

/** Days by which a bank may move a date on, as to its next banking day. */
const MAY_MOVE_ON_DAYS = 7;

/** The latest date to which a bank may have moved the approved one on. */
export function latestDate(approved: IsoDate): IsoDate {
  return addDays(approved, MAY_MOVE_ON_DAYS);
}

/** Whether an execution date that a bank shows is another than was approved: it may move one on by a week, and none back. */
export function isOtherDate(shown: IsoDate, approved: IsoDate): boolean {
  return shown < approved || shown > latestDate(approved);
}
