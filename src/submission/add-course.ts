import type { AddResult } from './add-record';
import type { Turn } from './forbidden-adds';
import type { PayableRow } from './work';

/** What turns of adds to an instruction showed whose rate was limited then, and how many rows they left. */
export interface Course {
  forbidden: Map<string, AddResult['outcome']>;
  turns: Turn[];
  left: number;
}

/** Rows by their payments, in order. */
export function byPayment(rows: readonly PayableRow[]): Map<string, PayableRow> {
  return new Map(rows.map((row) => [row.paymentId, row]));
}

/** What was answered to those of the rows of which it is known. */
export function resultsOf(rows: readonly PayableRow[], outcomes: Course['forbidden']): AddResult[] {
  return rows.flatMap((row) => {
    const outcome = outcomes.get(row.paymentId);
    return outcome === undefined ? [] : [{ row, outcome }];
  });
}

/** What came of a turn: a row that has another answer than these shows nothing of our access. */
export function turnOf(
  sent: readonly PayableRow[],
  answered: readonly PayableRow[],
  refusals: readonly AddResult[],
): Turn {
  const rows = new Set(sent.map(({ paymentId }) => paymentId));
  const taken = answered.filter(({ paymentId, addOutcome }) => addOutcome === 'ADDED' && rows.has(paymentId));
  return {
    taken: taken.map(({ paymentId }) => paymentId),
    forbidden: refusals.map(({ row }) => row.paymentId),
  };
}

/** Whether the bank forbids the add: the payment, or all that our access is to. */
export function isForbidden({ outcome }: AddResult): boolean {
  return outcome.kind === 'no' && outcome.reason === 'forbidden';
}
