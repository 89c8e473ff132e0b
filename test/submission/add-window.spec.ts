import fc from 'fast-check';
import { AddWindow, BATCH_ROWS, BATCHES_AT_ONCE } from '../../src/submission/add-window';

const pause = () => new Promise((resolve) => setImmediate(resolve));
const windowOf = (lanes: number) => new AddWindow({ BANK_ADDS_IN_FLIGHT: lanes });

describe('what a process has under way at the bank', () => {
  it('leaves no more than 200 rows in doubt', () => {
    expect(BATCH_ROWS * BATCHES_AT_ONCE).toBeLessThanOrEqual(200);
  });

  it('makes calls in the order of asking, never more at once than there are lanes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(40), fc.integer({ min: 1, max: 8 }), async (count, lanes) => {
        const window = windowOf(lanes);
        const begun: number[] = [];
        let underWay = 0;
        let most = 0;
        const call = (n: number) =>
          window.inLane(async () => {
            begun.push(n);
            most = Math.max(most, (underWay += 1));
            await pause();
            underWay -= 1;
          });
        await Promise.all(Array.from({ length: count }, (_, n) => call(n)));
        expect(begun).toEqual(Array.from({ length: count }, (_, n) => n));
        expect(most).toBe(Math.min(lanes, count));
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    [32, [32, 4, 1, 1]],
    [64, [64, 8, 1, 1]],
    [5, [5, 1, 1, 1]],
  ])('makes ever fewer of %i calls at once the gentler they are made: %j', async (lanes, expected) => {
    const window = windowOf(lanes);
    const most = async (gentleness: number) => {
      let [underWay, seen] = [0, 0];
      const call = async () => {
        seen = Math.max(seen, (underWay += 1));
        await pause();
        underWay -= 1;
      };
      await Promise.all(Array.from({ length: 100 }, () => window.inLane(call, gentleness)));
      return seen;
    };
    const seen = [];
    for (const gentleness of expected.keys()) seen.push(await most(gentleness));
    expect(seen).toEqual(expected);
  });

  it('makes gentle calls one at a time whoever makes them, and never more of all than there are lanes', async () => {
    const window = windowOf(3);
    let gentle = 0;
    let all = 0;
    const most = { gentle: 0, all: 0 };
    const call = (isGentle: boolean) => async () => {
      most.gentle = Math.max(most.gentle, (gentle += Number(isGentle)));
      most.all = Math.max(most.all, (all += 1));
      await pause();
      gentle -= Number(isGentle);
      all -= 1;
    };
    await Promise.all(Array.from({ length: 40 }, (_, n) => window.inLane(call(n % 2 > 0), n % 2)));
    expect(most).toEqual({ gentle: 1, all: 3 });
  });

  it('frees the lane of a call that failed', async () => {
    const window = windowOf(1);
    await expect(window.inLane(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    await expect(window.inLane(() => Promise.resolve('sent'))).resolves.toBe('sent');
  });

  it('never grants more batches than may be in doubt together, over all instructions', async () => {
    const window = windowOf(8);
    let open = 0;
    let most = 0;
    const instruction = async () => {
      const order = window.join();
      for (let batch = 0; batch < 5; batch += 1) {
        expect(await window.takeBatch(order)).toBe(true);
        most = Math.max(most, (open += 1));
        await pause();
        open -= 1;
        window.giveBatch();
      }
    };
    await Promise.all([instruction(), instruction(), instruction(), instruction()]);
    expect(most).toBe(BATCHES_AT_ONCE);
  });

  describe('where the bank turns adds away and does not say how many it takes', () => {
    afterEach(() => jest.restoreAllMocks());
    const stepsOf = async (lanes: number, times: number) => {
      let nowMs = 1_000_000;
      jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
      const window = windowOf(lanes);
      const rests: boolean[] = [];
      for (let n = 0; n < times; n += 1) {
        for (let same = 0; same < 3; same += 1) window.turnedAway();
        nowMs += 60_000;
        const rested = await Promise.race([window.rest().then(() => false), pause().then(() => true)]);
        rests.push(rested);
      }
      let [underWay, most] = [0, 0];
      const call = async () => {
        most = Math.max(most, (underWay += 1));
        await pause();
        underWay -= 1;
      };
      const all = () => Promise.all(Array.from({ length: 100 }, () => window.inLane(call)));
      await all();
      const gentle = most;
      most = 0;
      nowMs += 3_600_000;
      await all();
      window.close();
      return { gentle, rests, later: most };
    };

    it.each([
      [32, 1, { gentle: 4, rests: [false] }],
      [32, 2, { gentle: 1, rests: [false, false] }],
      [32, 4, { gentle: 1, rests: [false, false, true, true] }],
      [1, 1, { gentle: 1, rests: [true] }],
    ])(
      'makes fewer of %i at once, and then one with a rest, after %i times: for an hour',
      async (lanes, times, seen) => {
        expect(await stepsOf(lanes, times)).toEqual({ ...seen, later: lanes });
      },
    );
  });

  it('lets the instruction that came first go first, also when it asks later', async () => {
    const window = windowOf(8);
    const [first, second] = [window.join(), window.join()];
    for (let batch = 0; batch < BATCHES_AT_ONCE; batch += 1) await window.takeBatch(first);
    const granted: string[] = [];
    const asked = [
      window.takeBatch(second).then(() => granted.push('second')),
      window.takeBatch(first).then(() => granted.push('first')),
    ];
    window.giveBatch();
    window.giveBatch();
    await Promise.all(asked);
    expect(granted).toEqual(['first', 'second']);
  });

  it('grants nothing after it was closed, to those who wait neither', async () => {
    const window = windowOf(8);
    const order = window.join();
    for (let batch = 0; batch < BATCHES_AT_ONCE; batch += 1) await window.takeBatch(order);
    const waiting = window.takeBatch(order);
    window.close();
    expect(await waiting).toBe(false);
    window.giveBatch();
    expect(await window.takeBatch(order)).toBe(false);
  });
});
