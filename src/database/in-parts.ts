/** Rows written by one statement, which has two minutes to end: it takes some seconds. */
const ROWS_AT_ONCE = 100_000;

/** Does something for the rows from 1 to `lastRow`, so many at once that a statement ends in time. */
export async function inParts(
  lastRow: number,
  work: (first: number, last: number) => Promise<unknown>,
): Promise<void> {
  for (let first = 1; first <= lastRow; first += ROWS_AT_ONCE) await work(first, first + ROWS_AT_ONCE - 1);
}
