import fc from 'fast-check';
import { RateLimited } from '../../src/bank/errors';
import { MinuteBudget, rateSignalOf } from '../../src/bank/rate-budget';
import { ManualClock } from './manual-clock';
import { VirtualClock } from './virtual-clock';

const AT_TEN = 'Mon, 02 Mar 2026 10:00:00 GMT';

describe('the rate headers', () => {
  const signalOf = (headers: Record<string, string | undefined>) =>
    rateSignalOf({ kind: 'answer', status: 429, header: (name) => headers[name], text: '' });

  it.each([' 7 ', '7 ', '1.5', '-5', '0x7', '7,8', '٧'])(
    'that are no whole number say nothing: %j',
    (value) => {
      const headers = ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => [
        name,
        value,
      ]);
      expect(signalOf({ ...Object.fromEntries(headers), date: AT_TEN })).toEqual({ status: 429 });
    },
  );

  it('count a date from that of the answer, whatever the time is here', () => {
    const retryAfter = { 'retry-after': 'Mon, 02 Mar 2026 10:00:30 GMT' };
    expect(signalOf({ ...retryAfter, date: AT_TEN })).toEqual({ status: 429, retryAfterMs: 30_000 });
    for (const none of [{}, { date: 'today' }])
      expect(signalOf({ ...retryAfter, ...none })).toEqual({ status: 429 });
  });
});

describe('the rate budget', () => {
  it('never lets more than the limit leave in any sixty seconds', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 120 }),
        fc.array(fc.nat(3_000), { minLength: 1, maxLength: 300 }),
        async (perMinute, gaps) => {
          const clock = new ManualClock();
          const budget = new MinuteBudget(perMinute, clock);
          const sent: number[] = [];
          for (const gap of gaps) {
            clock.ms += gap;
            await budget.take();
            sent.push(clock.ms);
          }
          sent.forEach((at, index) => {
            const earlier = sent[index - Math.max(perMinute, 2)];
            if (earlier !== undefined) expect(at - earlier).toBeGreaterThan(59_000);
          });
        },
      ),
      { numRuns: 50 },
    );
  });

  it('does not wait when no limit is known', async () => {
    const clock = new ManualClock();
    const budget = new MinuteBudget(undefined, clock);
    for (let count = 0; count < 1_000; count += 1) await budget.take();
    expect(clock.slept).toEqual([]);
  });

  it('pauses after a 429 and when nothing remains, also those already waiting', async () => {
    const clock = new ManualClock();
    const budget = new MinuteBudget(undefined, clock);
    budget.observe({ status: 429, retryAfterMs: 5_000 });
    await budget.take();
    expect(clock.slept).toEqual([5_000]);
    budget.observe({ status: 200, remaining: 0 });
    await budget.take();
    expect(clock.slept).toEqual([5_000, 60_000]);
  });

  it.each([
    ['a second where less is named than it is known to take in a minute', 3_000, { limit: 50 }, [1_000]],
    ['as long as it asks for', 3_000, { limit: 50, retryAfterMs: 4_000 }, [4_000]],
    ['a minute where the limit may be one of a minute', 50, { limit: 50 }, [60_000]],
    ['a minute where nothing else is known', undefined, { limit: 50 }, [60_000]],
    ['not at all where there is no limit', undefined, { limit: 0 }, []],
    ['not at all where there is no limit, and one is kept to', 3_000, { limit: 0 }, []],
  ])('pauses once nothing remains after a success: %s', async (_how, configured, told, slept) => {
    const clock = new ManualClock();
    const budget = new MinuteBudget(configured, clock);
    budget.observe({ status: 200, remaining: 0, ...told });
    await budget.take();
    expect(clock.slept).toEqual(slept);
  });

  it('pauses a minute after a 429 that asks for no time, whatever limit it names', async () => {
    for (const limit of [0, 50]) {
      const clock = new ManualClock();
      const budget = new MinuteBudget(3_000, clock);
      budget.observe({ status: 429, remaining: 0, limit });
      await budget.take();
      expect(clock.slept).toEqual([60_000]);
    }
  });

  it('refuses who would wait too long once a pause grew while it was waited out', async () => {
    const clock = new VirtualClock();
    const budget = new MinuteBudget(undefined, clock);
    budget.observe({ status: 429, retryAfterMs: 1_000 });
    const taken = budget.take(1_500);
    budget.observe({ status: 429, retryAfterMs: 60_000 });
    await expect(taken).rejects.toThrow(RateLimited);
  });

  it('adopts a limit the bank names, and then a lower one, never a higher one', async () => {
    const clock = new ManualClock();
    const budget = new MinuteBudget(undefined, clock);
    budget.observe({ status: 200, limit: 600 });
    budget.observe({ status: 200, limit: 60, remaining: 59 });
    budget.observe({ status: 200, limit: 100_000 });
    const start = clock.ms;
    for (let count = 0; count < 60; count += 1) await budget.take();
    expect(clock.ms - start).toBeGreaterThan(55_000);
  });

  it('keeps to the limit it was configured with, whatever the bank names', async () => {
    const clock = new ManualClock();
    const budget = new MinuteBudget(600, clock);
    budget.observe({ status: 200, limit: 5 });
    const start = clock.ms;
    for (let count = 0; count < 60; count += 1) await budget.take();
    expect(clock.ms - start).toBeLessThan(6_000);
  });

  it('refuses at once what would wait too long, and takes nothing', async () => {
    const clock = new ManualClock();
    const budget = new MinuteBudget(10, clock);
    await budget.take(0);
    await budget.take(0);
    await expect(budget.take(1_000)).rejects.toThrow(RateLimited);
    await expect(budget.take(1_000)).rejects.toMatchObject({ retryAfterMs: 7_500 });
    clock.ms += 7_500;
    await budget.take(0);
  });
});
