/** Ids are short; more is not an id. */
const SEGMENT = /^(?!\.{1,2}$)[\w.~-]{1,128}$/;

/**
 * An id as one segment of a path.
 * @throws RangeError for an id that could leave its place in the path.
 */
export function segment(id: string): string {
  if (!SEGMENT.test(id)) throw new RangeError('An id for the bank holds only letters, digits and . _ ~ -');
  return id;
}
