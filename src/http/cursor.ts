import { createZodDto, ZodValidationPipe } from 'nestjs-zod';
import { z } from 'zod';
import { Problem } from './problem';

/** A page of 50 fits a screen; 500 rows stay well under a megabyte. */
const DEFAULT_PAGE = 50;
const MAX_PAGE = 500;
/** A cursor holds a timestamp and an id or two. */
const MAX_CURSOR_CHARACTERS = 512;

/** The query `limit` of a list: 1 to 500 in decimal digits, 50 when absent. */
export const limitParam = z.preprocess(
  (given) => (typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given),
  z.int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE),
);

/** The query of a list: `@Query() query: PageQuery`. A filter that is mistyped is refused, or it would list everything. */
export class PageQuery extends createZodDto(
  z.strictObject({ limit: limitParam, cursor: z.string().max(MAX_CURSOR_CHARACTERS).optional() }),
) {}

/** Refuses a query where there is none, `@Query(new NoQuery()) _: object`: a filter that is passed over gives everything. */
export class NoQuery extends ZodValidationPipe {
  constructor() {
    super(z.strictObject({}));
  }
}

/** One page of a list; `nextCursor` is null on the last one. */
export interface Page<Item> {
  readonly items: Item[];
  readonly nextCursor: string | null;
}

/** A position in a list as an opaque text: base64url of its JSON. */
export function encodeCursor(position: Readonly<Record<string, string | number | null>>): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * Reads a cursor; clients may send anything, so its content is checked like any input.
 * @throws Problem 422 `CURSOR_INVALID`.
 */
export function decodeCursor<T>(cursor: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(jsonIn(cursor));
  if (parsed.success) return parsed.data;
  throw new Problem(422, 'CURSOR_INVALID', 'The cursor is not one that this list gave out.');
}

/**
 * Makes a page of the rows of a query that asked for `limit + 1`: the extra row only says that there is more.
 * @param positionOf what the next page begins after.
 */
export function pageOf<Item>(
  rows: readonly Item[],
  limit: number,
  positionOf: (last: Item) => Readonly<Record<string, string | number | null>>,
): Page<Item> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, nextCursor: more ? encodeCursor(positionOf(last)) : null };
}

function jsonIn(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
