import { Problem } from './problem';

/** The entity tag of a revision: its number in quotes. */
export function etagOf(revision: bigint): string {
  return `"${revision}"`;
}

/**
 * Checks the header `If-Match` where a client sent it: a list of tags, or `*`.
 * @throws Problem 412 when it names other revisions only: somebody changed the thing meanwhile.
 */
export function assertIfMatch(header: string | undefined, revision: bigint): void {
  if (header === undefined) return;
  const tags = header.split(',').map((tag) => tag.trim());
  if (tags.includes('*') || tags.includes(etagOf(revision))) return;
  throw new Problem(412, 'PRECONDITION_FAILED', 'It has changed since you read it; read it again.', {
    currentETag: etagOf(revision),
  });
}
