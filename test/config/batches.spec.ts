import fc from 'fast-check';
import { Batches, TooMuchWaits } from '../../src/config/batches';

/** Serves when it is let. */
class Serving {
  readonly served: string[][] = [];
  private readonly held: (() => void)[] = [];
  failsWith: ((items: readonly string[]) => Error | undefined) | undefined;

  readonly serve = async (items: readonly string[]): Promise<void> => {
    this.served.push([...items]);
    await new Promise<void>((resolve) => this.held.push(resolve));
    const failure = this.failsWith?.(items);
    if (failure !== undefined) throw failure;
  };

  async letGo(): Promise<void> {
    while (this.held.length > 0) {
      this.held.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const POISON = new Error('of one of them');
const AWAY = new Error('of all of them');
const mayBeOneOf = (error: unknown) => error === POISON;
const MANY = { items: 1_000, bytes: 10_000 };
const batchesOf = (serving: Serving, items = 10, bytes = 100, most = MANY) =>
  new Batches<string>({ items, bytes }, most, serving.serve, mayBeOneOf);

it('serves at once what comes first, and together what comes meanwhile', async () => {
  const serving = new Serving();
  const batches = batchesOf(serving);
  const all = ['a', 'b', 'c'].map((item) => batches.add(item, 1));
  expect(serving.served).toEqual([['a']]);
  await serving.letGo();
  await Promise.all(all);
  expect(serving.served).toEqual([['a'], ['b', 'c']]);
  const later = batches.add('d', 1);
  await serving.letGo();
  await later;
  expect(serving.served).toHaveLength(3);
});

it('serves each once, in the order of their coming, within both limits but for one that is larger by itself', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(150), { maxLength: 40 }),
      fc.integer({ min: 1, max: 8 }),
      async (sizes, most) => {
        const serving = new Serving();
        const batches = batchesOf(serving, most);
        const all = sizes.map((size, n) => batches.add(String(n), size));
        await serving.letGo();
        await Promise.all(all);
        expect(serving.served.flat()).toEqual(sizes.map((_, n) => String(n)));
        for (const some of serving.served) {
          const bytes = some.reduce((sum, item) => sum + sizes[Number(item)]!, 0);
          expect(some.length).toBeLessThanOrEqual(most);
          expect(some.length === 1 || bytes <= 100).toBe(true);
        }
      },
    ),
  );
});

/** Of three, that of those with the second failed. */
async function failing(error: Error) {
  const serving = new Serving();
  serving.failsWith = (items) => (items.includes('b') ? error : undefined);
  const batches = batchesOf(serving);
  const all = Promise.allSettled(['a', 'b', 'c'].map((item) => batches.add(item, 1)));
  await serving.letGo();
  return { answers: await all, served: serving.served };
}

it('fails the one alone whose fault it is, and goes on', async () => {
  const { answers, served } = await failing(POISON);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(served).toEqual([['a'], ['b', 'c'], ['b'], ['c']]);
});

it('fails all of them where it is the fault of none, without trying each', async () => {
  const { answers, served } = await failing(AWAY);
  expect(answers).toMatchObject([{ status: 'fulfilled' }, { reason: AWAY }, { reason: AWAY }]);
  expect(served).toEqual([['a'], ['b', 'c']]);
});

it('fails those that wait to be served alone by what is the fault of none, without trying each', async () => {
  const serving = new Serving();
  const batches = batchesOf(serving);
  const first = batches.add('first', 1);
  serving.failsWith = (items) => (items.length > 1 ? POISON : items.includes('first') ? undefined : AWAY);
  const all = Promise.allSettled(['a', 'b', 'c'].map((item) => batches.add(item, 1)));
  await serving.letGo();
  await first;
  expect(await all).toMatchObject([{ reason: AWAY }, { reason: AWAY }, { reason: AWAY }]);
  expect(serving.served).toEqual([['first'], ['a', 'b', 'c'], ['a']]);
});

it('refuses at once what is more than may wait, by items and by bytes, and takes as much again once it was served', async () => {
  const serving = new Serving();
  const batches = batchesOf(serving, 10, 100, { items: 3, bytes: 50 });
  for (const [each, taken] of [
    [1, 4],
    [25, 3],
  ] as const) {
    const all = Promise.allSettled(['0', '1', '2', '3', '4'].map((item) => batches.add(item, each)));
    await serving.letGo();
    const refused = (await all).map((one) => one.status === 'rejected' && one.reason instanceof TooMuchWaits);
    expect(refused).toEqual([0, 1, 2, 3, 4].map((n) => n >= taken));
  }
  expect(serving.served).toEqual([['0'], ['1', '2', '3'], ['0'], ['1', '2']]);
});
