import { BankError } from '../../src/bank/errors';
import type { ListHabits, ListPage, ListSize, PageQuery, PagerOptions } from '../../src/bank/paging';
import { eachItem } from '../../src/bank/pager';

interface Item {
  id: string;
}

/** A bank's list in pages of 20 at most, by page from 0 or by offset, with what happens to it before each call. */
interface Changing {
  rows: Item[];
  before?: (rows: Item[], call: number) => void;
  /** The calls that are refused; with a 404, as a page that is not there. */
  refuses?: (call: number, start: number) => boolean;
  count?: (rows: readonly Item[], shown: readonly Item[]) => number | undefined;
  /** The offset told of each page; the right one where not given. */
  offset?: number;
  cap?: number;
  /** No limit is told. */
  isLimitless?: boolean;
  shows?: (item: Item) => boolean;
  base?: 0 | 1;
}

const made = (name: string, n: number): Item[] =>
  Array.from({ length: n }, (_none, at) => ({ id: `${name}${at}` }));
const isAll = (rows: readonly Item[]): number => rows.length;
const ofPage = (_rows: readonly Item[], shown: readonly Item[]): number => shown.length;
const others = (): number => 9_000;

function answer(list: Changing, query: PageQuery, call: number): ListPage<Item> {
  list.before?.(list.rows, call);
  const { rows, cap = 20, base = 0, count = isAll, isLimitless } = list;
  const isPage = 'page' in query;
  const size = Math.min(isPage ? query.pageSize : (query.limit ?? 20), cap);
  const start = isPage ? Math.max(query.page - base, 0) * size : (query.offset ?? 0);
  if (start < 0) throw new BankError(500, { raw: '' });
  if (list.refuses?.(call, start)) throw new BankError(404, { raw: '' });
  const items = rows.slice(start, start + size).filter(list.shows ?? (() => true));
  const told = { offset: list.offset ?? start, count: count(rows, items) };
  return { items: items.map(({ id }) => ({ id })), ...told, ...(!isLimitless && { limit: size }) };
}

async function walk(list: Changing, options: Partial<PagerOptions<Item>> = {}) {
  const ids: string[] = [];
  let [calls, end]: [number, ListSize | undefined] = [0, undefined];
  const fetch = async (query: PageQuery): Promise<ListPage<Item>> =>
    Promise.resolve(answer(list, query, (calls += 1)));
  const onEnd = (size: ListSize) => (end = size);
  const asked = { fetch, idOf: ({ id }: Item) => id, pagingIsShown: true, onEnd, ...options };
  for await (const { id } of eachItem(asked)) ids.push(id);
  const shown = list.rows.filter(list.shows ?? (() => true));
  const missed = shown.filter(({ id }) => !ids.includes(id));
  return {
    missed: missed.length,
    /** Of those that were there when it began. */
    lost: missed.filter(({ id }) => !id.startsWith('new')).length,
    calls,
    mayGoOn: (end as ListSize | undefined)?.mayGoOn,
  };
}

const BY_PAGE: ListHabits = { pageBase: 0, pageSize: 20, countsAll: true };
const BY_OFFSET: ListHabits = { usesOffset: true, pageSize: 20, countsAll: true };

describe('a page that is refused', () => {
  describe.each([
    ['by page', BY_PAGE],
    ['by offset', BY_OFFSET],
  ])('%s', (_how, habits) => {
    it.each([
      ['in the middle', 2, 1],
      ['in the middle, and the one behind it', 2, 2],
      ['as the last one that shows any', 5, 1],
      ['as the last one that shows any, and the one behind it', 5, 2],
    ])('for once, %s, is asked again', async (_which, first, times) => {
      for (const count of [isAll, ofPage, others, () => undefined]) {
        const refuses = (call: number) => call >= first && call < first + times;
        const countsAll = count === isAll || count === others ? true : undefined;
        const list = { rows: made('row', 100), count, refuses };
        const { missed, calls } = await walk(list, { habits: { ...habits, countsAll } });
        expect(missed).toBe(0);
        expect(calls).toBeLessThan(count === others ? 30 : 14);
      }
    });

    it.each([60, 85])(
      'while others behind it are not, and again when it is asked again, leaves the list open (of 105 it counts %s)',
      async (bound) => {
        // Its count ends at a bound, which is what the others show, or some of them.
        const list: Changing = {
          rows: made('row', 105),
          count: () => bound,
          refuses: (_call, start) => start >= 40 && start < 60,
        };
        const { missed, mayGoOn } = await walk(list, { habits: { ...habits } });
        expect([missed, mayGoOn]).toEqual([20, true]);
      },
    );

    it('twice where as many were seen as it counts is no end: its count may end at a bound', async () => {
      const list: Changing = {
        rows: made('row', 150),
        count: () => 100,
        refuses: (call) => call === 6 || call === 7,
      };
      expect(await walk(list, { habits: { ...habits } })).toMatchObject({ missed: 0, mayGoOn: true });
    });

    it('behind a page that was not full is no end that a count confirms before it is asked again', async () => {
      const list: Changing = {
        rows: made('row', 75),
        cap: 50,
        isLimitless: true,
        count: () => 50,
        refuses: (call) => call === 2,
      };
      const { missed, mayGoOn } = await walk(list, { habits: { ...habits, pageSize: undefined } });
      expect([missed, mayGoOn]).toEqual([0, true]);
    });
  });

  it('is not asked again for each of many: a bank may answer every page so that shows nothing', async () => {
    const list: Changing = {
      rows: made('row', 4_000),
      refuses: (_call, start) => start % 40 === 20 || start >= 4_000,
      shows: ({ id }) => Number(id.slice(3)) % 40 < 20,
    };
    const { missed, calls } = await walk(list, { habits: { ...BY_PAGE } });
    expect(missed).toBe(0);
    expect(calls).toBeLessThan(1.3 * 200 + 20);
  });

  it('is asked again no more than once behind the end', async () => {
    for (const [total, count, pageSize, calls] of [
      [7, ofPage, 20, 4],
      [7, ofPage, undefined, 5],
      [40, isAll, 20, 5],
    ] as const) {
      const refuses = (_call: number, start: number) => start >= total;
      const list: Changing = { rows: made('row', total), count, refuses, isLimitless: !pageSize };
      const habits = { ...BY_PAGE, pageSize, countsAll: undefined };
      expect(await walk(list, { habits })).toMatchObject({ missed: 0, calls });
    }
  });

  it.each([
    [20, 1],
    [undefined, 2],
  ])('is not asked again by who needs no more (page size known: %s)', async (pageSize, calls) => {
    const list: Changing = {
      rows: made('row', 7),
      count: ofPage,
      refuses: (call) => call > 1,
      isLimitless: !pageSize,
    };
    const habits = { pageBase: 0, pageSize } as const;
    expect(await walk(list, { habits, isEnough: () => true })).toMatchObject({ calls });
  });
});

describe('a list that shrinks while it is walked', () => {
  const purge =
    (at: number, from: number, n: number) =>
    (rows: Item[], call: number): void => {
      if (call === at) rows.splice(from, n);
    };

  it.each([
    ['by page', BY_PAGE],
    ['by offset', BY_OFFSET],
    ['by page, from 1', { ...BY_PAGE, pageBase: 1 }],
    ['for the first time', {}],
  ] as const)('is read again where rows moved to, and not told to be whole: %s', async (_how, habits) => {
    for (const [total, at, from, n] of [
      [250, 4, 0, 30],
      [250, 4, 30, 7],
      [250, 13, 100, 20],
      [250, 2, 0, 1],
      [250, 3, 0, 60],
      [40, 2, 20, 20],
    ] as const) {
      const base = (habits as ListHabits).pageBase;
      const list = { rows: made('row', total), before: purge(at, from, n), base };
      const { missed, mayGoOn } = await walk(list, { habits: { ...habits } });
      expect([total, at, from, n, missed, mayGoOn]).toEqual([total, at, from, n, 0, true]);
    }
  });

  it.each([
    ['grew by as many again', 95, [5, 5], 5],
    ['shrank by more than is read again', 2_000, [700, 0], 700],
  ] as const)(
    'is not told to be whole though as many were seen as it counts, since it %s',
    async (_how, total, [gone, came], missing) => {
      const at = Math.ceil(total / 40);
      const before = (rows: Item[], call: number): void => {
        if (call === at + 1) rows.splice(0, gone);
        if (call === at + 2) rows.unshift(...made('new', came));
      };
      const { missed, mayGoOn } = await walk(
        { rows: made('row', total), before },
        { habits: { ...BY_PAGE } },
      );
      expect([missed, mayGoOn]).toEqual([missing, true]);
    },
  );

  it('is not read again over and over where its count of what others hold goes up and down', async () => {
    let n = 9_000;
    const count = (): number => (n += n % 2 === 0 ? -999 : 999);
    const { calls } = await walk({ rows: made('row', 1_000), count }, { habits: { ...BY_PAGE } });
    expect(calls).toBeLessThan(2 * 50 + 20);
  });

  it('is not read again where a page behind its end counts nothing', async () => {
    const count = (rows: readonly Item[], shown: readonly Item[]) => (shown.length > 0 ? rows.length : 0);
    const { calls } = await walk({ rows: made('row', 200), count }, { habits: { ...BY_PAGE } });
    expect(calls).toBe(12);
  });
});

describe('a list whose newest row is first', () => {
  it.each([
    ['grew by just a page between its first two pages', 2, 20, made('old', 90)],
    ['of less than a page grew by just the largest page', 3, 100, made('old', 18)],
  ])('is read from its first page the next time, though it %s', async (_how, at, by, rows) => {
    for (const offset of [0, undefined])
      for (const count of [isAll, ofPage]) {
        const list: Changing = { rows: [...rows], offset, count, cap: by };
        const habits: ListHabits = {};
        list.before = (all, call) => void (call === at && all.unshift(...made('new', by)));
        await walk(list, { habits });
        list.before = undefined;
        for (let later = 0; later < 3; later += 1) {
          list.rows.unshift({ id: `later${later}` });
          expect(await walk(list, { habits })).toMatchObject({ missed: 0 });
        }
      }
  });

  it('is read from its first page the next time, though that was refused when it was asked again', async () => {
    const list: Changing = { rows: made('old', 90), offset: 0, count: ofPage, refuses: (call) => call === 3 };
    const habits: ListHabits = {};
    list.before = (all, call) => void (call === 2 && all.unshift(...made('new', 20)));
    await walk(list, { habits });
    list.before = list.refuses = undefined;
    expect(await walk(list, { habits })).toMatchObject({ missed: 0 });
  });

  it('is read on by offset in small pages, though it grew by one of them', async () => {
    const before = (rows: Item[], call: number) => void (call === 3 && rows.unshift(...made('new', 5)));
    const list: Changing = {
      rows: made('row', 60),
      cap: 5,
      isLimitless: true,
      count: () => undefined,
      before,
    };
    expect(await walk(list, { habits: { usesOffset: true } })).toMatchObject({ lost: 0 });
  });

  it('is read from its first page the next time, though that showed nothing before', async () => {
    const list: Changing = {
      rows: made('old', 90),
      offset: 0,
      count: ofPage,
      shows: ({ id }) => id === 'ours' || Number(id.slice(3)) >= 20,
    };
    const habits: ListHabits = {};
    expect(await walk(list, { habits })).toMatchObject({ missed: 0 });
    list.rows.unshift({ id: 'ours' });
    expect(await walk(list, { habits })).toMatchObject({ missed: 0 });
  });

  it.each([1, 2, 3, 7])('is read in large pages where these hide most, though %s rows came', async (came) => {
    // Of 9,000 places every 150th is ours, and the youngest one.
    const ours = new Set(Array.from({ length: 60 }, (_none, n) => `row${150 * n + 3}`));
    const list: Changing = {
      rows: made('row', 9_000),
      cap: 100,
      offset: 0,
      isLimitless: true,
      count: others,
      shows: ({ id }) => ours.has(id) || id.startsWith('new'),
      before: (rows, call) => void (call === 2 && rows.unshift(...made('new', came))),
    };
    const habits: ListHabits = { pageBase: 0 };
    const { lost, calls } = await walk(list, { habits });
    expect(lost).toBe(0);
    expect(calls).toBeLessThan(1.3 * 90 + 20);
  });

  it('is read in large pages the next time too', async () => {
    const list: Changing = {
      rows: made('row', 9_000),
      cap: 100,
      isLimitless: true,
      count: others,
      shows: ({ id }) => id.startsWith('new') || Number(id.slice(3)) % 100 < 12,
      before: (rows, call) => void (call === 2 && rows.unshift(...made('new', 24))),
    };
    const habits: ListHabits = { pageBase: 0 };
    await walk(list, { habits });
    expect(habits.pageSize).toBeUndefined();
  });

  it('is read on where it grew by just a page, though as many were seen as it counts: its count may end at a bound', async () => {
    const list: Changing = {
      rows: made('row', 150),
      count: () => 100,
      before: (rows, call) => void (call === 6 && rows.unshift(...made('new', 20))),
    };
    expect(await walk(list, { habits: { ...BY_PAGE } })).toMatchObject({ lost: 0, mayGoOn: true });
  });

  it('is not read place by place behind its end where it counts what others hold', async () => {
    const list: Changing = {
      rows: made('row', 1),
      cap: 100,
      count: others,
      before: (rows, call) => void (call === 2 && rows.push({ id: 'new' })),
    };
    expect((await walk(list, { habits: { pageBase: 0 } })).calls).toBeLessThan(20);
    const inSmallPages: Changing = { rows: made('row', 40), cap: 2, count: others };
    expect((await walk(inSmallPages, { habits: { pageBase: 0 } })).calls).toBeLessThan(45);
  });
});
