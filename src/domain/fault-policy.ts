/**
 * What an employer wants done about a pay file in which rows are faulty: `strict` refuses it, `hold` keeps the faulty
 * rows back and pays the others, `threshold` does so unless more than `maxRows` rows are faulty, or more than
 * `maxBasisPoints` in ten thousand of them. A fault of the file itself refuses it by any policy.
 */
export type FaultPolicy =
  | { policy: 'strict' }
  | { policy: 'hold' }
  | { policy: 'threshold'; maxRows?: number; maxBasisPoints?: number };

/** The policy of an employer who has said nothing. */
export const STRICT: FaultPolicy = { policy: 'strict' };

/** Rows of a file, and how many of them have a fault. */
export interface FaultyShare {
  rows: number;
  faultyRows: number;
}

const BASIS_POINTS = 10_000;

/** Whether the policy refuses a file for its faulty rows. A file of which nothing is left to pay is never taken. */
export function refusesFile(policy: FaultPolicy, { rows, faultyRows }: FaultyShare): boolean {
  if (faultyRows === 0) return false;
  if (policy.policy === 'strict' || faultyRows === rows) return true;
  if (policy.policy === 'hold') return false;
  const { maxRows = rows, maxBasisPoints = BASIS_POINTS } = policy;
  return faultyRows > maxRows || faultyRows * BASIS_POINTS > maxBasisPoints * rows;
}

/** Whether a file with so many faulty rows is refused however many good ones follow. */
export function refusesAnyway(policy: FaultPolicy, faultyRows: number): boolean {
  return refusesFile(policy, { rows: MOST_ROWS, faultyRows });
}

// Times the basis points it is still a safe integer, and more rows than any file has.
const MOST_ROWS = 100_000_000_000;
