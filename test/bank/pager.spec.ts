import fc from 'fast-check';
import { BankError, BankUnreachable, ListUnreadable } from '../../src/bank/errors';
import type { ListHabits, ListPage, ListSize, PageQuery, PagerOptions } from '../../src/bank/paging';
import { eachItem } from '../../src/bank/pager';

interface Item {
  id: string;
}

interface Habit {
  total: number;
  base: 0 | 1;
  /** The most it hands out at once. */
  cap: number;
  /** What it does where more is asked, unless the cap is smaller than any client could know. */
  tooLarge: 'caps' | 400 | 422;
  offset: 'right' | 'absent' | 'zero' | 'page';
  limit: 'in force' | 'as asked' | 'absent';
  count: 'page' | 'total' | 'absent';
  /** What a list that counts from 1 does with page 0. */
  pageZero: 'clamps' | 'refuses' | 'breaks' | 'empty';
  pastTheEnd: 'empty' | 'refuses';
  /** Computes offsets from the size asked, though it hands out fewer. */
  sparse: boolean;
  understands: 'page' | 'offset';
}

const refusal = (status: number): BankError => new BankError(status, { raw: '' });

class FakeList {
  readonly queries: PageQuery[] = [];
  items: Item[];

  constructor(readonly habit: Habit) {
    this.items = Array.from({ length: habit.total }, (_none, index) => ({ id: `i${index}` }));
  }

  fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
    this.queries.push(query);
    const { habit } = this;
    const asked = ('page' in query ? query.pageSize : query.limit) ?? habit.cap;
    if (habit.tooLarge !== 'caps' && asked > Math.max(habit.cap, 20) && !this.ignoresSizeOf(query))
      throw refusal(habit.tooLarge);
    const size = Math.min(asked, habit.cap);
    const start = this.startOf(query, habit.sparse ? asked : size, size);
    if (start === undefined) return this.envelope([], 0, size, asked, query);
    if (start > 0 && start >= this.items.length && habit.pastTheEnd === 'refuses') throw refusal(404);
    return this.envelope(this.items.slice(start, start + size), start, size, asked, query);
  };

  private ignoresSizeOf(query: PageQuery): boolean {
    return this.habit.understands === 'offset' && 'page' in query;
  }

  private startOf(query: PageQuery, stride: number, size: number): number | undefined {
    const { habit } = this;
    if (habit.understands === 'offset') return 'offset' in query ? query.offset : 0;
    if (!('page' in query)) return 0;
    const index = query.page - habit.base;
    if (index >= 0) return index * (size < stride ? stride : size);
    if (habit.pageZero === 'refuses') throw refusal(400);
    if (habit.pageZero === 'breaks') throw refusal(500);
    return habit.pageZero === 'empty' ? undefined : 0;
  }

  private envelope(
    items: Item[],
    start: number,
    size: number,
    asked: number,
    query: PageQuery,
  ): ListPage<Item> {
    const { habit } = this;
    const offsets = { right: start, absent: undefined, zero: 0, page: 'page' in query ? query.page : start };
    const limits = { 'in force': size, 'as asked': asked, absent: undefined };
    const counts = { page: items.length, total: this.items.length, absent: undefined };
    return { items, offset: offsets[habit.offset], limit: limits[habit.limit], count: counts[habit.count] };
  }
}

const USUAL: Habit = {
  total: 45,
  base: 0,
  cap: 100,
  tooLarge: 'caps',
  offset: 'right',
  limit: 'in force',
  count: 'total',
  pageZero: 'clamps',
  pastTheEnd: 'empty',
  sparse: false,
  understands: 'page',
};

/** Puts a page of 20 before all others once two were read. */
function growByAPage(list: FakeList): void {
  const { fetch } = list;
  list.fetch = async (query) => {
    if (list.queries.length === 2)
      list.items.unshift(...Array.from({ length: 20 }, (_none, n) => ({ id: `new${n}` })));
    return fetch(query);
  };
}

async function read(list: FakeList, options: Partial<PagerOptions<Item>> = {}) {
  const ids: string[] = [];
  for await (const item of eachItem({
    fetch: list.fetch,
    idOf: (one: Item) => one.id,
    maxPages: 500,
    ...options,
  })) {
    ids.push(item.id);
  }
  return ids;
}

const everyHabit: fc.Arbitrary<Habit> = fc.record({
  total: fc.nat(90),
  base: fc.constantFrom(0, 1),
  cap: fc.constantFrom(1, 7, 20, 100),
  tooLarge: fc.constantFrom<Habit['tooLarge'][]>('caps', 400, 422),
  offset: fc.constantFrom('right', 'absent', 'zero', 'page'),
  limit: fc.constantFrom('in force', 'as asked', 'absent'),
  count: fc.constantFrom('page', 'total', 'absent'),
  pageZero: fc.constantFrom('clamps', 'refuses', 'empty'),
  pastTheEnd: fc.constantFrom('empty', 'refuses'),
  sparse: fc.boolean(),
  understands: fc.constantFrom('page', 'offset'),
});

describe('reading a list', () => {
  it('yields every item exactly once, in order, whatever the list’s habits, and again with what it learned', async () => {
    await fc.assert(
      fc.asyncProperty(everyHabit, fc.constantFrom(5, 20, 100), async (habit, pageSize) => {
        const list = new FakeList(habit);
        const habits: ListHabits = {};
        const expected = list.items.map((item) => item.id);
        expect(await read(list, { habits, pageSize })).toEqual(expected);
        expect(await read(list, { habits, pageSize })).toEqual(expected);
      }),
      { numRuns: 1_500 },
    );
  });

  it('yields every item once when what it learned from a short list is used for a longer one', async () => {
    await fc.assert(
      fc.asyncProperty(everyHabit, fc.nat(90), async (habit, later) => {
        const habits: ListHabits = {};
        await read(new FakeList(habit), { habits });
        const grown = new FakeList({ ...habit, total: later });
        expect(await read(grown, { habits })).toEqual(grown.items.map((item) => item.id));
      }),
      { numRuns: 500 },
    );
  });

  it('yields items once while new ones push the pages along', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(4), { maxLength: 6 }), everyHabit, async (planned, habit) => {
        const pushes = [...planned];
        const list = new FakeList({ ...habit, cap: 10, total: 35 });
        const before = list.items.map((item) => item.id);
        let pushed = 0;
        const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
          const page = await list.fetch(query);
          for (let left = pushes.shift() ?? 0; left > 0; left -= 1)
            list.items.unshift({ id: `new${pushed++}` });
          return page;
        };
        const ids: string[] = [];
        for await (const item of eachItem({ fetch, idOf: (one) => one.id })) ids.push(item.id);
        expect(ids.filter((one) => !one.startsWith('new'))).toEqual(before);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  it('learns from the offset of page 1 whether pages count from 0 or 1', async () => {
    for (const base of [0, 1] as const) {
      const habits: ListHabits = {};
      await read(new FakeList({ ...USUAL, base, cap: 20 }), { habits });
      expect(habits).toMatchObject({ pageBase: base, pageSize: 20 });
    }
  });

  it.each([
    [
      0,
      undefined,
      [
        { page: 0, pageSize: 100 },
        { page: 1, pageSize: 100 },
        { page: 0, pageSize: 20 },
      ],
    ],
    [
      1,
      1,
      [
        { page: 1, pageSize: 100 },
        { page: 1, pageSize: 20 },
      ],
    ],
  ] as const)(
    'asks for the size observed of any list where a larger one is refused, and remembers it (from %s)',
    async (base, pageBase, asked) => {
      const habits: ListHabits = { pageBase, pageSize: pageBase && 100 };
      const list = new FakeList({ ...USUAL, base, cap: 50, tooLarge: 400 });
      expect(await read(list, { habits })).toHaveLength(45);
      expect(list.queries.slice(0, asked.length)).toEqual(asked);
      expect(habits).toMatchObject({ largestSize: 20, pageBase: base });
      list.queries.length = 0;
      expect(await read(list, { habits })).toHaveLength(45);
      expect(list.queries[0]).toEqual({ page: base, pageSize: 20 });
    },
  );

  it('does not remember a size for a refusal that was of something else', async () => {
    const habits: ListHabits = {};
    const list = new FakeList(USUAL);
    list.fetch = async () => Promise.reject(refusal(400));
    await expect(read(list, { habits })).rejects.toThrow(BankError);
    expect(habits).toEqual({});
  });

  it('learns the base from the ids of pages 0 and 1 where there is no usable offset', async () => {
    for (const base of [0, 1] as const) {
      const habits: ListHabits = {};
      await read(new FakeList({ ...USUAL, base, cap: 20, offset: 'zero' }), { habits });
      expect(habits.pageBase).toBe(base);
    }
  });

  describe.each([
    ['has grown between its first two pages', 1],
    ['has grown by more than a page between its first two pages', 25],
  ])('a list that %s', (_how, grownBy) => {
    it.each([
      [1, 'right'],
      [1, 'absent'],
      [1, 'zero'],
      [0, 'right'],
      [0, 'absent'],
      [0, 'zero'],
    ] as const)('is read whole by every later walk (from %s, offset %s)', async (base, offset) => {
      const list = new FakeList({ ...USUAL, base, offset, cap: 20 });
      const { fetch } = list;
      list.fetch = async (query) => {
        if (list.queries.length === 1)
          list.items.unshift(...Array.from({ length: grownBy }, (_none, n) => ({ id: `new${n}` })));
        return fetch(query);
      };
      const habits: ListHabits = {};
      const before = list.items.map(({ id }) => id);
      expect(await read(list, { habits })).toEqual(expect.arrayContaining(before));
      for (let walk = 2; walk <= 4; walk += 1)
        expect(await read(list, { habits })).toEqual(list.items.map(({ id }) => id));
      expect(habits.pageBase).toBe(base);
    });
  });

  it.each([
    [0, 'total', 'empty'],
    [1, 'page', 'refuses'],
    [1, 'absent', 'empty'],
  ] as const)(
    'reads a list on that grew by just a page between two later ones (from %s, count %s, past its end %s)',
    async (base, count, pastTheEnd) => {
      const list = new FakeList({ ...USUAL, base, count, pastTheEnd, cap: 20, total: 75 });
      const before = list.items.map(({ id }) => id);
      growByAPage(list);
      const habits: ListHabits = { pageBase: base, pageSize: 20 };
      expect(await read(list, { habits })).toEqual(before);
      expect(habits).toEqual({ pageBase: base, pageSize: 20, ...(count === 'total' && { countsAll: true }) });
      expect(list.queries.every((query) => 'page' in query)).toBe(true);
    },
  );

  it.each(['total', 'page', 'absent'] as const)(
    'reads a list on that is read by offset and grew by just a page meanwhile (count %s)',
    async (count) => {
      const list = new FakeList({ ...USUAL, count, cap: 20, total: 75, understands: 'offset' });
      const before = list.items.map(({ id }) => id);
      growByAPage(list);
      const habits: ListHabits = { usesOffset: true, pageSize: 20 };
      expect(await read(list, { habits })).toEqual(before);
      expect(habits).toMatchObject({ usesOffset: true, pageSize: 20 });
    },
  );

  it('tells at its end how many rows a list has, and how many a full page of it', async () => {
    const sizes: ListSize[] = [];
    const read = async (rows: number) => {
      const items = Array.from({ length: rows }, (_none, n) => n);
      const fetch = async (query: PageQuery) => {
        const { page } = query as { page: number };
        return { items: items.slice(page * 30, (page + 1) * 30), count: rows };
      };
      const list = eachItem({ fetch, idOf: String, onEnd: (size) => sizes.push(size) });
      for await (const _item of list) continue;
    };
    for (const rows of [0, 7, 25, 70]) await read(rows);
    expect(sizes).toEqual([
      { rows: 0, pageRows: undefined, mayGoOn: true },
      { rows: 7, pageRows: undefined },
      { rows: 25, pageRows: 25, mayGoOn: true },
      { rows: 70, pageRows: 30 },
    ]);
  });

  it.each([
    ['its count is known to be of all', { count: 'total' }, { countsAll: true }, undefined, 1],
    ['who reads it needs no more, and the count may be of the page', { count: 'page' }, {}, () => true, 1],
    ['nothing is counted, and two pages in a row are to show nothing', { count: 'absent' }, {}, undefined, 3],
  ] as const)(
    'asks no more than it must for a short list when the habits are known: %s',
    async (_why, habit, known, isEnough, requests) => {
      const list = new FakeList({ ...USUAL, ...habit, total: 7 });
      await read(list, { habits: { pageBase: 0, pageSize: 100, ...known }, isEnough });
      expect(list.queries).toHaveLength(requests);
    },
  );

  it('yields every item once after the bank came to hand out smaller or larger pages than it did', async () => {
    const sizes = fc.constantFrom(1, 7, 20, 50, 100);
    // A limit that repeats what was asked, be it delivered or not, cannot be told from a short page.
    const telling = everyHabit.filter(({ limit }) => limit !== 'as asked');
    await fc.assert(
      fc.asyncProperty(telling, sizes, fc.nat(250), async (habit, cap, later) => {
        const habits: ListHabits = {};
        await read(new FakeList({ ...habit, total: 250 }), { habits });
        const changed = new FakeList({ ...habit, cap, total: later });
        const expected = changed.items.map((item) => item.id);
        expect(await read(changed, { habits })).toEqual(expected);
        expect(await read(changed, { habits })).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['in force', 'page', 15],
    ['in force', 'absent', 15],
    ['in force', 'total', 13],
    ['absent', 'page', 15],
    ['absent', 'absent', 15],
    ['absent', 'total', 13],
  ] as const)(
    'reads on past pages smaller than remembered (limit %s, count %s) with no request too many, and remembers them',
    async (limit, count, requests) => {
      const list = new FakeList({ ...USUAL, total: 250, cap: 20, limit, count });
      const habits: ListHabits = { pageBase: 0, pageSize: 100 };
      expect(await read(list, { habits })).toHaveLength(250);
      expect(list.queries).toHaveLength(requests);
      expect(habits.pageSize).toBe(20);
    },
  );

  it('asks once more after a short page that may have been cut short, where the answer tells no limit', async () => {
    const list = new FakeList({ ...USUAL, total: 7, count: 'page', limit: 'absent' });
    await read(list, { habits: { pageBase: 0, pageSize: 100 }, isEnough: () => true });
    expect(list.queries).toHaveLength(2);
  });

  it.each([
    ['once more behind a full page', 200],
    ['for no more than its pages where the last is short', 250],
  ])('asks a list that tells its length %s', async (_how, total) => {
    const list = new FakeList({ ...USUAL, total });
    expect(await read(list, { habits: { pageBase: 0, pageSize: 100 } })).toHaveLength(total);
    expect(list.queries).toHaveLength(3);
  });

  it('turns to limit and offset when page is ignored, and remembers it', async () => {
    const list = new FakeList({ ...USUAL, cap: 20, understands: 'offset' });
    const habits: ListHabits = {};
    await read(list, { habits });
    expect(habits).toMatchObject({ usesOffset: true });
    list.queries.length = 0;
    await read(list, { habits });
    expect(list.queries[0]).toEqual({ limit: 20, offset: 0 });
  });

  it.each(['page', 'total', 'absent'] as const)(
    'stops with an error when both page and offset are ignored and more may exist (count %s)',
    async (count) => {
      const stuck = new FakeList({ ...USUAL, cap: 20, count, limit: 'absent' });
      const fetch = (): Promise<ListPage<Item>> => stuck.fetch({ page: 0, pageSize: 100 });
      const walk = async (): Promise<void> => {
        for await (const item of eachItem({ fetch, idOf: (one) => one.id })) expect(item.id).toMatch(/^i/);
      };
      await expect(walk()).rejects.toThrow(ListUnreadable);
      expect(stuck.queries.length).toBeLessThan(6);
    },
  );

  it.each(['page', 'total', 'absent'] as const)(
    'reads a list that ignores every parameter whole in each walk, also once it has grown (count %s)',
    async (count) => {
      const whole = new FakeList({ ...USUAL, total: 26, cap: 1_000, count, limit: 'absent' });
      const fetch = (): Promise<ListPage<Item>> => whole.fetch({ page: 0, pageSize: 100 });
      const habits: ListHabits = {};
      const walk = async (): Promise<number> => {
        const ids = new Set<string>();
        for await (const item of eachItem({ fetch, idOf: (one) => one.id, habits })) ids.add(item.id);
        return ids.size;
      };
      expect(await walk()).toBe(26);
      expect(await walk()).toBe(26);
      whole.items.push({ id: 'new' });
      expect(await walk()).toBe(27);
    },
  );

  describe('that heeds the size alone, 20 without one', () => {
    const queries: PageQuery[] = [];
    const rows: Item[] = [];
    const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
      queries.push(query);
      const limit = 'page' in query ? Math.min(query.pageSize, 100) : 20;
      return { items: rows.slice(0, limit), count: rows.length, limit, offset: 0 };
    };
    const holding = (total: number): void => {
      rows.splice(0, Infinity, ...Array.from({ length: total }, (_none, n) => ({ id: `i${n}` })));
    };
    const walk = async (habits: ListHabits): Promise<number> => {
      const ids = new Set<string>();
      for await (const { id } of eachItem({ fetch, idOf: (one: Item) => one.id, habits })) ids.add(id);
      return ids.size;
    };
    beforeEach(() => queries.splice(0));

    it('is read whole again once it has grown, as long as it fits one page', async () => {
      const habits: ListHabits = {};
      for (const total of [30, 90, 60, 100]) {
        holding(total);
        expect(await walk(habits)).toBe(total);
        expect(habits.pageSize).toBe(total === 100 ? 100 : undefined);
      }
    });

    it('is asked for a whole page again after it could not be read in the size that was remembered', async () => {
      holding(90);
      const habits: ListHabits = { pageBase: 1, pageSize: 20 };
      await expect(walk(habits)).rejects.toThrow('shows the same page again');
      expect(await walk(habits)).toBe(90);
    });
  });

  it('remembers limit and offset once they showed another page', async () => {
    const list = new FakeList({ ...USUAL, cap: 20, understands: 'offset' });
    const habits: ListHabits = {};
    const remembered: unknown[] = [];
    const fetch = (query: PageQuery): Promise<ListPage<Item>> => {
      if ('offset' in query) remembered.push(habits.usesOffset);
      return list.fetch(query);
    };
    for await (const item of eachItem({ fetch, idOf: (one: Item) => one.id, habits }))
      expect(item.id).toMatch(/^i/);
    expect(remembered).toEqual([undefined, undefined, true]);
  });

  it.each([
    ['that these are all', true, 20],
    ['that there are more', false, undefined],
  ])(
    'takes a full page that repeats for all there is where another read tells %s',
    async (_how, isAll, read) => {
      const stuck = new FakeList({ ...USUAL, total: 20, cap: 20, limit: 'absent' });
      const fetch = (): Promise<ListPage<Item>> => stuck.fetch({ page: 0, pageSize: 100 });
      const walk = async (): Promise<number> => {
        const ids = new Set<string>();
        for await (const item of eachItem({ fetch, idOf: (one) => one.id, isAll: async () => isAll }))
          ids.add(item.id);
        return ids.size;
      };
      if (read === undefined) await expect(walk()).rejects.toThrow(ListUnreadable);
      else expect(await walk()).toBe(read);
    },
  );

  describe('whose parameters are not shown', () => {
    type Taken = 'offset' | 'nothing';
    const strict = (taken: Taken, list: FakeList, largest = 100) => {
      const asked: PageQuery[] = [];
      const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
        asked.push(query);
        const isTaken = taken === 'offset' ? 'offset' in query : Object.keys(query).length === 0;
        if (!isTaken || ('limit' in query && query.limit > largest)) throw refusal(400);
        return list.fetch('limit' in query ? query : { limit: list.habit.cap, offset: 0 });
      };
      const walk = async (
        habits: ListHabits = {},
        total?: number,
        pagingIsShown = false,
      ): Promise<number> => {
        const ids = new Set<string>();
        const options = { fetch, idOf: (one: Item) => one.id, habits, pagingIsShown };
        for await (const item of eachItem({ ...options, isAll: async (seen) => seen === total }))
          ids.add(item.id);
        return ids.size;
      };
      return { asked, walk };
    };
    const byOffset = (cap: number): FakeList => new FakeList({ ...USUAL, cap, understands: 'offset' });

    it.each([100, 20])(
      'is asked for limit and offset where it refuses pages, %s at most',
      async (largest) => {
        const { asked, walk } = strict('offset', byOffset(largest), largest);
        const habits: ListHabits = {};
        expect(await walk(habits)).toBe(45);
        asked.length = 0;
        expect(await walk(habits)).toBe(45);
        expect(asked[0]).toEqual({ limit: largest, offset: 0 });
      },
    );

    it('is asked for nothing where it refuses these too, and so the next time', async () => {
      const { asked, walk } = strict('nothing', byOffset(200));
      const habits: ListHabits = {};
      expect(await walk(habits)).toBe(45);
      asked.length = 0;
      expect(await walk(habits)).toBe(45);
      expect(asked).toEqual([{}]);
    });

    it.each([
      ['count says that there are more', 20, 'total', undefined, undefined],
      ['it is a full page', 20, 'page', undefined, undefined],
      ['another read tells more', 45, 'page', 46, undefined],
      ['another read tells as many', 45, 'page', 45, 45],
      ['it is less than a page of any list', 3, 'page', undefined, 3],
    ] as const)('is read whole, or not at all: %s', async (_why, cap, count, total, read) => {
      const list = new FakeList({ ...USUAL, total: Math.max(cap, 3), cap, count, understands: 'offset' });
      if (cap === 20) list.items = byOffset(20).items;
      const { walk } = strict('nothing', list);
      const habits: ListHabits = {};
      if (read === undefined) await expect(walk(habits, total)).rejects.toThrow(ListUnreadable);
      else expect(await walk(habits, total)).toBe(read);
      expect(habits.takesNoPaging).toBe(read === undefined ? undefined : true);
    });

    it('is not asked otherwise where they are shown, nor where it was read by them before', async () => {
      const { asked, walk } = strict('nothing', byOffset(200));
      await expect(walk({}, undefined, true)).rejects.toMatchObject({ status: 400 });
      await expect(walk({ pageBase: 1 })).rejects.toMatchObject({ status: 400 });
      expect(asked.every((query) => 'page' in query)).toBe(true);
    });
  });

  it('accepts a list without paging that is all there', async () => {
    const all = Array.from({ length: 250 }, (_none, index) => ({ id: `i${index}` }));
    const ids: string[] = [];
    for await (const item of eachItem({ fetch: async () => ({ items: all }), idOf: (one) => one.id }))
      ids.push(item.id);
    expect(ids).toHaveLength(250);
  });

  it('reads a list that counts from 1 and breaks on page 0', async () => {
    const list = new FakeList({ ...USUAL, base: 1, pageZero: 'breaks' });
    expect(await read(list)).toHaveLength(45);
  });

  it('tells the failure it met last, not the refusal of page 0 before it', async () => {
    const fetch = (query: PageQuery): Promise<ListPage<Item>> =>
      Promise.reject(refusal('page' in query && query.page === 0 ? 400 : 503));
    const walk = async (): Promise<void> => {
      for await (const item of eachItem({ fetch, idOf: (one: Item) => one.id })) expect(item).toBeDefined();
    };
    await expect(walk()).rejects.toMatchObject({ status: 503 });
  });

  it('does not take a failing page 0 for a list that counts from 1', async () => {
    const list = new FakeList({ ...USUAL, cap: 20 });
    const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
      if ('page' in query && query.page === 0) throw refusal(503);
      return list.fetch(query);
    };
    const habits: ListHabits = {};
    const walk = async (): Promise<number> => {
      let seen = 0;
      for await (const item of eachItem({ fetch, idOf: (one) => one.id, habits })) seen += item.id.length;
      return seen;
    };
    await expect(walk()).rejects.toThrow(BankError);
    expect(habits.pageBase).toBeUndefined();
  });

  describe.each([1, 20, 100])('a list that counts from 0, read in pages of %s', (cap) => {
    const oddAtFirst = (list: FakeList, status: number, times = 1) => {
      const { fetch } = list;
      let odd = 0;
      list.fetch = async (query) => {
        if ('page' in query && query.page === 0 && (odd += 1) <= times) throw refusal(status);
        return fetch(query);
      };
    };
    const whatever = (['right', 'absent', 'zero', 'page'] as const).flatMap((offset) =>
      (['page', 'total', 'absent'] as const).map((count) => ({ offset, count })),
    );

    it.each([301, 307, 408, 409, 410, 423])('is not taken for empty after one odd %s', async (status) => {
      for (const habit of whatever) {
        const list = new FakeList({ ...USUAL, ...habit, cap });
        oddAtFirst(list, status);
        const habits: ListHabits = {};
        await expect(read(list, { habits })).rejects.toMatchObject({ status });
        expect(habits.pageBase).toBeUndefined();
        expect(await read(list, { habits })).toHaveLength(45);
      }
    });

    it.each([
      [404, 1],
      [400, 1],
      [500, 1],
      [500, 2],
    ])('is read whole though page 0 was answered with %s (%s times)', async (status, times) => {
      for (const habit of whatever) {
        const list = new FakeList({ ...USUAL, ...habit, cap });
        oddAtFirst(list, status, times);
        const habits: ListHabits = {};
        expect(await read(list, { habits })).toHaveLength(45);
        expect(habits.pageBase ?? 0).toBe(0);
      }
    });

    it('is found again where it was taken for one that counts from 1', async () => {
      const habits: ListHabits = { pageBase: 1 };
      expect(await read(new FakeList({ ...USUAL, offset: 'absent' }), { habits })).toHaveLength(45);
      expect(habits.pageBase ?? 0).toBe(0);
    });
  });

  it.each([
    [{ count: 'total' }, 404, { status: 404 }],
    [{ count: 'total', offset: 'zero' }, 404, { why: 'nothing-shown' }],
    [{ count: 'absent' }, 404, { status: 404 }],
    [{ count: 'page' }, 500, { status: 500, name: 'BankError' }],
    [{ count: 'page', offset: 'zero' }, 500, { status: 500, name: 'FirstPageFailed' }],
  ] as const)(
    'is unreadable, not empty, where page 0 is refused for good and page 1 does not start the list (%j, %s: %j)',
    async (habit, status, thrown) => {
      const list = new FakeList({ ...USUAL, ...habit });
      const { fetch } = list;
      list.fetch = async (query) => {
        if ('page' in query && query.page === 0) throw refusal(status);
        return fetch(query);
      };
      await expect(read(list)).rejects.toMatchObject(thrown);
    },
  );

  it('does not take a list that counts some and shows none for one without any', async () => {
    for (const pageBase of [0, 1, undefined] as const) {
      const fetch = () => Promise.resolve({ items: [], count: 57 });
      const walk = async () => {
        for await (const item of eachItem({ fetch, idOf: String, habits: { pageBase } }))
          expect(item).toBeDefined();
      };
      await expect(walk()).rejects.toThrow(ListUnreadable);
    }
  });

  it('finds the first page again when the remembered base no longer holds', async () => {
    const habits: ListHabits = { pageBase: 1 };
    expect(await read(new FakeList({ ...USUAL, cap: 20 }), { habits })).toHaveLength(45);
    expect(habits.pageBase).toBe(0);
  });

  it('stops at its caps with an error rather than a part', async () => {
    await expect(read(new FakeList({ ...USUAL, cap: 1 }), { maxPages: 10 })).rejects.toThrow(
      'it has more pages than are read of any',
    );
    await expect(read(new FakeList(USUAL), { maxItems: 44 })).rejects.toThrow(
      'it shows more than is read of any',
    );
  });

  it.each([400, 404, 416, 422])(
    'takes a %s where the count says that more exists for an end that nothing confirms: others may hold it',
    async (status) => {
      const list = new FakeList({ ...USUAL, cap: 20 });
      const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
        if (list.queries.length === 2) throw refusal(status);
        return list.fetch(query);
      };
      const sizes: ListSize[] = [];
      const onEnd = (size: ListSize) => sizes.push(size);
      expect(await read({ ...list, fetch } as FakeList, { onEnd })).toHaveLength(40);
      expect(sizes).toMatchObject([{ mayGoOn: true }]);
    },
  );

  it.each([400, 404, 416, 422])('takes a %s past all the count tells for the end', async (status) => {
    const list = new FakeList({ ...USUAL, total: 40, cap: 20, limit: 'absent', count: 'page' });
    const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
      if (list.queries.length === 2) throw refusal(status);
      return list.fetch(query);
    };
    const ids: string[] = [];
    for await (const item of eachItem({ fetch, idOf: (one: Item) => one.id })) ids.push(item.id);
    expect(ids).toHaveLength(40);
  });

  it.each([
    ['may go on where the page before was full', { total: 250 }, {}, true],
    ['may where it was not, and its count may be of the page', { total: 90 }, {}, true],
    ['has ended where its count is known to be of all', { total: 90 }, { countsAll: true }, undefined],
  ] as const)(
    'tells at its end that a list whose next page is refused %s',
    async (_what, habit, habits, mayGoOn) => {
      const list = new FakeList({ ...USUAL, ...habit, count: 'page' });
      const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
        if (list.queries.length === 1) throw refusal(400);
        return list.fetch(query);
      };
      const sizes: ListSize[] = [];
      const onEnd = (size: ListSize) => sizes.push(size);
      expect(await read({ ...list, fetch } as FakeList, { habits, onEnd })).toHaveLength(
        Math.min(habit.total, 100),
      );
      expect(sizes).toMatchObject([{ mayGoOn }]);
    },
  );

  it('ends at pages that show nothing, and tells that its count is of more', async () => {
    const list = new FakeList({ ...USUAL, cap: 20 });
    const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
      const page = await list.fetch(query);
      return list.queries.length > 2 ? { ...page, items: [] } : page;
    };
    const sizes: ListSize[] = [];
    const onEnd = (size: ListSize) => sizes.push(size);
    expect(await read({ ...list, fetch } as FakeList, { onEnd })).toHaveLength(40);
    expect(sizes).toMatchObject([{ mayGoOn: true }]);
    expect(list.queries.length).toBeLessThan(6);
  });

  it('passes on an error in mid-list and asks for nothing before it is read', async () => {
    const list = new FakeList({ ...USUAL, cap: 20 });
    const fetch = async (query: PageQuery): Promise<ListPage<Item>> => {
      if (list.queries.length === 2) throw new BankUnreachable('ECONNRESET', true);
      return list.fetch(query);
    };
    const items = eachItem({ fetch, idOf: (one: Item) => one.id });
    expect(list.queries).toHaveLength(0);
    expect((await items.next()).value).toEqual({ id: 'i0' });
    expect(list.queries).toHaveLength(1);
    await expect(
      (async () => {
        for await (const item of items) expect(item.id).toBeDefined();
      })(),
    ).rejects.toThrow(BankUnreachable);
  });
});

describe('a list whose pages are larger than any answer may be', () => {
  const tooLarge = new BankUnreachable('body-too-large', true);
  const read = async (fetch: (query: PageQuery) => Promise<ListPage<Item>>): Promise<number> => {
    let count = 0;
    for await (const _item of eachItem({ fetch, idOf: ({ id }) => id })) count += 1;
    return count;
  };
  const list = new FakeList({
    total: 50,
    base: 1,
    cap: 100,
    tooLarge: 'caps',
    offset: 'right',
    limit: 'in force',
    count: 'total',
    pageZero: 'refuses',
    pastTheEnd: 'empty',
    sparse: false,
    understands: 'page',
  });

  it('is read in smaller ones', async () => {
    const sizes = new Set<number>();
    const count = await read(async (query) => {
      const size = 'page' in query ? query.pageSize : query.limit;
      sizes.add(size);
      if (size > 20) throw tooLarge;
      return list.fetch(query);
    });
    expect([count, [...sizes]]).toEqual([50, [100, 20]]);
  });

  it('cannot be read where these are as large', async () => {
    await expect(read(() => Promise.reject(tooLarge))).rejects.toThrow(ListUnreadable);
  });
});

describe('an item that is there more than once', () => {
  const items = [
    { id: 'a', says: 'failed' },
    { id: 'b', says: 'settled' },
    { id: 'a', says: 'failed' },
    { id: 'a', says: 'settled' },
  ];
  const read = async (saysOf?: (item: (typeof items)[number]) => string) => {
    const read: string[] = [];
    let rows = 0;
    const fetch = (query: PageQuery) => {
      const offset = 'page' in query ? 2 * query.page : 0;
      return Promise.resolve({ items: items.slice(offset, offset + 2), limit: 2, offset });
    };
    const onEnd = (size: ListSize) => (rows = size.rows);
    for await (const { id, says } of eachItem({ fetch, idOf: ({ id: its }) => its, saysOf, onEnd }))
      read.push(`${id} ${says}`);
    return { read, rows };
  };

  it('is handed on again where it says otherwise, and counts once', async () => {
    expect(await read(({ says }) => says)).toEqual({
      read: ['a failed', 'b settled', 'a settled'],
      rows: 2,
    });
    expect(await read()).toEqual({ read: ['a failed', 'b settled'], rows: 2 });
  });
});
