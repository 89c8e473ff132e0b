/**
 * A link's path when it may be followed: same origin as the configured bank, exactly the path expected of it, no
 * query, fragment or credentials. Undefined otherwise; the caller then builds the path.
 */
export function followable(href: string, baseUrl: string, expectedPath: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const link = new URL(href);
  const base = new URL(baseUrl);
  const plain = link.search === '' && link.hash === '' && link.username === '' && link.password === '';
  const expected = base.pathname.replace(/\/+$/, '') + expectedPath;
  return plain && link.origin === base.origin && link.pathname === expected ? expectedPath : undefined;
}

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
