import type { z } from 'zod';
import type { ListPage, PageQuery, PagerOptions } from './paging';
import type { listOf } from './schema';
import type { BankSession } from './session';

type ListSchema<T extends z.ZodType> = ReturnType<typeof listOf<T>>;

/** What a page without content holds. */
const NO_ITEMS = '{"items":[]}';

/** A list by its path, and how one page of it is asked for; empty filters are left out of the query. */
export function listAt<T extends z.ZodType>(
  session: BankSession,
  path: string,
  schema: ListSchema<T>,
  filter: Readonly<Record<string, string | undefined>> = {},
): Pick<PagerOptions<z.output<T>>, 'path' | 'fetch'> {
  const filters = Object.entries(filter).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const fetch = async (query: PageQuery): Promise<ListPage<z.output<T>>> => {
    const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
    const page: ListPage<z.output<T>> = await session.read(
      `${path}?${new URLSearchParams([...filters, ...pairs]).toString()}`,
      schema,
      undefined,
      NO_ITEMS,
    );
    return page;
  };
  return { path, fetch };
}
