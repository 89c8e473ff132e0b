import fc from 'fast-check';
import { BankError } from '../../src/bank/errors';
import type { ListHabits, ListPage, ListSize, PageQuery, PagerOptions } from '../../src/bank/paging';
import { eachItem } from '../../src/bank/pager';

interface Item {
  id: string;
}

type Count =
  | 'of the page'
  | 'of what the page held'
  | 'of what is shown'
  | 'of all'
  | 'of all lists'
  | 'absent'
  | 'bounded';

/** A list whose bank takes out of its pages, once they are made, what this token may not see. */
interface Hiding {
  /** Of each place in the list whether it is shown. */
  shows: readonly boolean[];
  cap: number;
  /** What it does where more is asked. */
  tooLarge: 'caps' | 400;
  base: 0 | 1;
  count: Count;
  /** A bound of `count`. */
  bound: number;
  limit: 'in force' | 'absent';
  offset: 'right' | 'absent';
  understands: 'page' | 'offset';
  /** What a page that shows nothing is answered with. */
  empty: 'envelope' | 204 | 404;
}

const USUAL: Omit<Hiding, 'shows' | 'count'> = {
  cap: 20,
  tooLarge: 'caps',
  base: 1,
  bound: Infinity,
  limit: 'in force',
  offset: 'right',
  understands: 'page',
  empty: 'envelope',
};

interface Walk {
  ids: string[];
  end?: ListSize;
  calls: number;
  error?: unknown;
}

function answer(list: Hiding, query: PageQuery): ListPage<Item> {
  const asked = ('page' in query ? query.pageSize : query.limit) ?? 20;
  if (asked > list.cap && list.tooLarge === 400) throw new BankError(400, { raw: '' });
  const size = Math.min(asked, list.cap);
  const page = 'page' in query && list.understands === 'page' ? query.page - list.base : 0;
  if (page < 0) throw new BankError(400, { raw: '' });
  const offset = 'offset' in query && list.understands === 'offset' ? query.offset : page * size;
  const held = list.shows.slice(offset, offset + size);
  const items = held.flatMap((isShown, n) => (isShown ? [{ id: String(offset + n) }] : []));
  if (items.length === 0 && list.empty === 404) throw new BankError(404, { raw: '' });
  if (items.length === 0 && list.empty === 204) return { items };
  const shown = list.shows.filter(Boolean).length;
  const counts: Record<Count, number | undefined> = {
    'of the page': items.length,
    'of what the page held': held.length,
    'of what is shown': shown,
    'of all': list.shows.length,
    'of all lists': list.shows.length + 1_000,
    absent: undefined,
    bounded: Math.min(shown, list.bound),
  };
  const told = { limit: list.limit === 'absent' ? undefined : size, count: counts[list.count] };
  return { items, offset: list.offset === 'absent' ? undefined : offset, ...told };
}

async function walk(list: Hiding, options: Partial<PagerOptions<Item>> = {}): Promise<Walk> {
  const read: Walk = { ids: [], calls: 0 };
  const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
    read.calls += 1;
    return Promise.resolve(answer(list, query));
  };
  const onEnd = (size: ListSize) => (read.end = size);
  const asked = { fetch, idOf: ({ id }: Item) => id, pagingIsShown: true, onEnd, ...options };
  try {
    for await (const { id } of eachItem(asked)) read.ids.push(id);
  } catch (error) {
    read.error = error;
  }
  return read;
}

const places = (total: number, isHidden: (place: number) => boolean): boolean[] =>
  Array.from({ length: total }, (_none, place) => !isHidden(place));
const secondPage = (place: number) => place >= 20 && place < 40;
const KNOWN: ListHabits = { pageBase: 1, pageSize: 20 };

describe('a list of which a page shows less than it holds', () => {
  it.each([
    ['a page shows nothing', secondPage, 'of all'],
    ['a page shows nothing', secondPage, 'of what is shown'],
    ['a page shows nothing', secondPage, 'of the page'],
    ['a page shows nothing', secondPage, 'of what the page held'],
    ['a page shows nothing', secondPage, 'absent'],
    ['a page is short', (place: number) => place >= 20 && place < 23, 'of the page'],
    ['a page is short', (place: number) => place >= 20 && place < 23, 'absent'],
    ['the first page shows nothing', (place: number) => place < 20, 'of all'],
    ['the first page shows nothing', (place: number) => place < 20, 'of the page'],
  ] as const)('is read on where %s, %s is counted', async (_how, isHidden, count) => {
    const shows = places(60, isHidden);
    for (const empty of ['envelope', 404] as const)
      for (const understands of ['page', 'offset'] as const) {
        if (empty === 404 && isHidden(0)) continue;
        const list = { ...USUAL, shows, count, empty, understands };
        const habits = understands === 'page' ? KNOWN : { usesOffset: true, pageSize: 20 };
        const { ids, end, error } = await walk(list, { habits: { ...habits } });
        expect([ids.length, error]).toEqual([shows.filter(Boolean).length, undefined]);
        expect(end?.mayGoOn).toBe(count === 'of what is shown' && empty === 'envelope' ? undefined : true);
      }
  });

  it('is read on where as many were seen as it counts: its count may end at a bound', async () => {
    const list = { ...USUAL, shows: places(60, () => false), count: 'bounded', bound: 40 } as const;
    const { ids, end } = await walk(list, { habits: { ...KNOWN } });
    expect([ids.length, end?.mayGoOn]).toEqual([60, true]);
  });

  it('is not read for long where it counts what others hold', async () => {
    const list = { ...USUAL, shows: places(20_000, (place) => place >= 30), count: 'of all' } as const;
    const { ids, end, calls } = await walk(list, { habits: { ...KNOWN } });
    expect([ids.length, end?.mayGoOn]).toEqual([30, true]);
    expect(calls).toBeLessThan(13);
  });

  it.each([
    ['who reads it needs no more', { isEnough: () => true }, 3],
    ['another read tells that these are all', { isAll: async (seen: number) => seen === 30 }, 4],
  ] as const)('is not read on where %s', async (_why, options, calls) => {
    const list = { ...USUAL, shows: places(20_000, (place) => place >= 30), count: 'of all' } as const;
    const read = await walk(list, { habits: { ...KNOWN }, ...options });
    expect([read.ids.length, read.calls]).toEqual([30, calls]);
  });

  it.each([
    ['of what is shown', 'envelope', undefined],
    ['of the page', 'envelope', true],
    ['absent', 'envelope', true],
    ['of what is shown', 404, true],
  ] as const)(
    'tells others that show nothing whether they are empty: where it counts %s, and answers that with %s',
    async (count, empty, mayGoOn) => {
      const habits: ListHabits = {};
      const two = { ...USUAL, cap: 100, count, empty, shows: places(2, () => false) };
      const none = { ...two, empty: 'envelope', shows: [] } as const;
      expect((await walk(none, { habits })).end?.mayGoOn).toBe(true);
      await walk(two, { habits });
      const { end, error } = await walk(none, { habits });
      expect([end?.mayGoOn, error]).toEqual([mayGoOn, undefined]);
    },
  );

  it('is told to go on, perhaps, where it takes no paging and counts no more than it shows', async () => {
    for (const count of [17, undefined]) {
      const items = Array.from({ length: 17 }, (_none, n) => ({ id: String(n) }));
      const { ids, end } = await walk(
        { ...USUAL, shows: [], count: 'absent' },
        { fetch: () => Promise.resolve({ items, count }) },
      );
      expect([ids.length, end?.mayGoOn]).toEqual([17, true]);
    }
  });

  it.each([
    ['whose last page is short', 45, 3],
    ['of one page, once it is known that it counts all', 7, 1],
    ['whose last page is full', 40, 3],
  ])(
    'costs an ordinary list no more than one page behind a full one: one %s',
    async (_what, total, calls) => {
      const list = { ...USUAL, shows: places(total, () => false), count: 'of all' } as const;
      const read = await walk(list, { habits: { ...KNOWN, countsAll: true } });
      expect([read.ids.length, read.calls, read.end?.mayGoOn]).toEqual([total, calls, undefined]);
    },
  );
});

const runs = fc.array(fc.record({ length: fc.integer({ min: 1, max: 50 }), isShown: fc.boolean() }), {
  maxLength: 7,
});
const arranged = runs.map((all) =>
  all.flatMap(({ length, isShown }) => Array<boolean>(length).fill(isShown)),
);
const bank = fc.record({
  cap: fc.constantFrom(20, 50, 100),
  tooLarge: fc.constantFrom<Hiding['tooLarge'][]>('caps', 400),
  base: fc.constantFrom<(0 | 1)[]>(0, 1),
  count: fc.constantFrom<Exclude<Count, 'bounded'>[]>(
    'of the page',
    'of what the page held',
    'of what is shown',
    'of all',
    'of all lists',
    'absent',
  ),
  bound: fc.constant(Infinity),
  limit: fc.constantFrom<Hiding['limit'][]>('in force', 'absent'),
  offset: fc.constantFrom<Hiding['offset'][]>('right', 'absent'),
  understands: fc.constantFrom<Hiding['understands'][]>('page', 'offset'),
  empty: fc.constantFrom<Hiding['empty'][]>('envelope', 204, 404),
});

describe('whatever a bank takes out of its pages, and counts', () => {
  const shownOf = (shows: readonly boolean[]) =>
    shows.flatMap((isShown, place) => (isShown ? [String(place)] : []));

  /** What is shown before more places in a row are hidden than these. */
  const upToGap = (shows: readonly boolean[], most: number) => {
    const shown = shownOf(shows);
    const gap = shown.findIndex((id, n) => n > 0 && Number(id) - Number(shown[n - 1]) - 1 > most);
    return gap === -1 ? shown : shown.slice(0, gap);
  };

  it('a walk yields every record, or reports that no count confirms its end, also with what it learned', async () => {
    await fc.assert(
      fc.asyncProperty(bank, fc.array(arranged, { minLength: 1, maxLength: 4 }), async (ways, lists) => {
        const habits: ListHabits = {};
        for (const shows of lists) {
          const { ids, end, error } = await walk({ ...ways, shows }, { habits });
          expect(new Set(ids).size).toBe(ids.length);
          // Page 1 may be read before page 0.
          if (error === undefined && !end?.mayGoOn) expect(new Set(ids)).toEqual(new Set(shownOf(shows)));
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it('a walk yields every record up to where more than a page of them is hidden, or four where places are counted', async () => {
    const beginning = fc.record({ hidden: fc.nat(9), shown: fc.integer({ min: 1, max: 3 }) });
    const lists = fc.array(fc.tuple(beginning, arranged), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(bank, lists, async (ways, all) => {
        const pages = ['of all', 'of all lists'].includes(ways.count) ? 4 : 1;
        // In a size that no list refuses, where it ignores `page` or refused the first page.
        const size = ways.understands === 'offset' || ways.tooLarge === 400 ? 20 : ways.cap;
        const habits: ListHabits = {};
        for (const [{ hidden, shown }, rest] of all) {
          const shows = [...places(hidden + shown, (place) => place < hidden), ...rest];
          const { ids, error, calls } = await walk({ ...ways, shows }, { habits });
          expect(calls).toBeLessThan(shows.length / 10 + 40);
          const read = new Set(ids);
          const missed = upToGap(shows, pages * size).filter((id) => !read.has(id));
          expect([missed, error]).toEqual([[], undefined]);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it('a walk yields every record of a list that hides none, up to a bound of its count and behind it', async () => {
    const bounds = fc.constantFrom(100, 200, 300, Infinity);
    await fc.assert(
      fc.asyncProperty(
        bank,
        fc.integer({ min: 1, max: 350 }),
        bounds,
        fc.boolean(),
        async (ways, total, bound, isBounded) => {
          const shows = places(total, () => false);
          const list: Hiding = { ...ways, shows, ...(isBounded && { count: 'bounded', bound }) };
          const habits: ListHabits = {};
          for (const walked of [1, 2]) {
            const { ids, end, error } = await walk(list, { habits });
            expect([walked, ids, error]).toEqual([walked, shownOf(shows), undefined]);
            if (isBounded && total > bound) expect(end?.mayGoOn).toBe(true);
          }
        },
      ),
      { numRuns: 600 },
    );
  });
});
