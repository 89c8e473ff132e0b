/** Ids are short; more is not an id. */
export const MAX_ID = 128;

/** What addresses are read as a step in the path, also where its dots are escaped. */
const DOTS: ReadonlySet<string> = new Set(['.', '..']);

/** What no address and no text of the database can hold, and what stands for a letter that could not be read. */
const LOST = /\0|\uFFFD|\p{Surrogate}/u;

/** Whether an id can stand in a path: patterns of string fields are not shown (Conventions). */
export function isPathId(id: string): boolean {
  return id !== '' && id.length <= MAX_ID && !DOTS.has(id) && !LOST.test(id);
}

/**
 * An id as one segment of a path; what could leave its place there is escaped.
 * @throws RangeError for an id that cannot stand in a path.
 */
export function segment(id: string): string {
  if (!isPathId(id)) throw new RangeError('An id for the bank has 1 to 128 characters and is not . or ..');
  return encodeURIComponent(id);
}
