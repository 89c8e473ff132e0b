import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { RateLimited } from '../../src/bank/errors';
import { SharedBudget, type SharedRate } from '../../src/bank/shared-budget';
import {
  LONGEST_WAIT_MS,
  paceOf,
  reserveTurns,
  type TurnRequest,
  UNPACED,
} from '../../src/domain/request-pace';
import { VirtualClock } from './virtual-clock';

/** The shared row in memory, by the clock of the test. */
class RowInMemory implements SharedRate {
  readonly asked: TurnRequest[] = [];
  readonly pauses: number[] = [];
  readonly limits: number[] = [];
  learned?: number;
  broken = false;
  private dueMs = 0;
  private pausedUntilMs = 0;

  constructor(private readonly clock: VirtualClock) {}

  async reserve(configured: number | undefined, request: TurnRequest) {
    if (this.broken) throw new Error('no connection');
    this.asked.push(request);
    const perMinute = configured ?? this.learned;
    const state = { dueInMs: this.dueMs - this.clock.ms, pausedInMs: this.pausedUntilMs - this.clock.ms };
    const turns = reserveTurns(state, perMinute === undefined ? UNPACED : paceOf(perMinute), request);
    if (turns.kind === 'reserved') this.dueMs = this.clock.ms + turns.dueInMs;
    return { perMinute, turns };
  }

  async pause(ms: number): Promise<void> {
    if (this.broken) throw new Error('no connection');
    this.pauses.push(ms);
    this.pausedUntilMs = Math.max(this.pausedUntilMs, this.clock.ms + ms);
  }

  async pauseLeftMs(): Promise<number> {
    return Math.max(0, this.pausedUntilMs - this.clock.ms);
  }

  async learn(perMinute: number): Promise<void> {
    this.limits.push(perMinute);
    this.learned = Math.min(this.learned ?? Infinity, perMinute);
  }
}

describe('the budget that replicas share', () => {
  let clock: VirtualClock;
  let row: RowInMemory;
  beforeEach(() => {
    clock = new VirtualClock();
    row = new RowInMemory(clock);
  });
  afterEach(() => jest.restoreAllMocks());

  const replica = (perMinute?: number) => new SharedBudget(row, perMinute, clock);

  it('keeps any sixty seconds within the limit, however many replicas ask at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.array(fc.nat(2), { minLength: 1, maxLength: 120 }),
        async (perMinute, order) => {
          clock = new VirtualClock();
          row = new RowInMemory(clock);
          const replicas = [replica(perMinute), replica(perMinute), replica(perMinute)];
          const sent: number[] = [];
          await Promise.all(order.map((n) => replicas[n]!.take().then(() => sent.push(clock.ms))));
          expect(sent).toHaveLength(order.length);
          sent.forEach((at, index) => {
            const earlier = sent[index - perMinute];
            if (earlier !== undefined) expect(at - earlier).toBeGreaterThan(60_000 - 1e-3);
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('takes turns for those who wait, a second ahead at most', async () => {
    const budget = replica(600);
    await Promise.all(Array.from({ length: 40 }, () => budget.take()));
    const turns = row.asked.map((one) => one.turns);
    expect(turns.reduce((sum, n) => sum + n, 0)).toBe(40);
    expect(Math.max(...turns)).toBe(9);
  });

  it('asks nobody where no limit is configured and the bank named none', async () => {
    const budget = replica();
    const start = clock.ms;
    for (let count = 0; count < 1_000; count += 1) await budget.take();
    budget.observe({ status: 200 });
    expect([row.asked, row.pauses, row.limits, clock.ms]).toEqual([[], [], [], start]);
  });

  it('shares from then on, once the bank names a limit', async () => {
    const budget = replica();
    budget.observe({ status: 200, limit: 60, remaining: 59 });
    const start = clock.ms;
    for (let count = 0; count < 55; count += 1) await budget.take();
    expect(clock.ms - start).toBeCloseTo(54 * paceOf(60).intervalMs, 0);
    expect(row.limits).toEqual([60]);
  });

  it('takes the limit of another endpoint for its own, unless it is the one in force, and a 429 for everybody', async () => {
    const budget = replica();
    budget.observe({ status: 200, limit: 10, remaining: 0, isApart: true });
    expect([row.limits, budget.pauseLeftMs() > 0]).toEqual([[], false]);
    budget.observe({ status: 200, limit: 2_000, remaining: 1_999 });
    budget.observe({ status: 200, limit: 10, remaining: 0, isApart: true });
    expect([row.limits, budget.pauseLeftMs() > 0]).toEqual([[2_000], false]);
    budget.observe({ status: 200, limit: 2_000, remaining: 0, isApart: true });
    expect(row.pauses).toEqual([60_000]);
    budget.observe({ status: 429, retryAfterMs: 90_000, limit: 10, isApart: true });
    expect([row.pauses, row.limits]).toEqual([[60_000, 90_000], [2_000]]);
  });

  it('teaches a lower limit to the others, never a higher one', async () => {
    const [one, other] = [replica(), replica()];
    one.observe({ status: 200, limit: 60, remaining: 59 });
    one.observe({ status: 200, limit: 60, remaining: 58 });
    one.observe({ status: 200, limit: 100_000 });
    expect(row.limits).toEqual([60]);
    other.observe({ status: 200, limit: 100 });
    const start = clock.ms;
    for (let count = 0; count < 11; count += 1) await other.take();
    expect(clock.ms - start).toBeCloseTo(10 * paceOf(60).intervalMs);
  });

  it('keeps to the limit it was configured with, and teaches no other', async () => {
    const budget = replica(600);
    budget.observe({ status: 200, limit: 5 });
    const start = clock.ms;
    for (let count = 0; count < 11; count += 1) await budget.take();
    expect(clock.ms - start).toBeLessThan(2_000);
    expect(row.limits).toEqual([]);
  });

  it('pauses all after a 429 that one of them got, and writes it down once', async () => {
    const [one, other] = [replica(600), replica(600)];
    const start = clock.ms;
    for (let count = 0; count < 8; count += 1) one.observe({ status: 429, retryAfterMs: 5_000 });
    await other.take();
    expect(clock.ms - start).toBe(5_000);
    await expect(other.take(1_000)).resolves.toBeUndefined();
    other.observe({ status: 200, remaining: 0 });
    await expect(other.take(1_000)).rejects.toMatchObject({ retryAfterMs: 60_000 });
    await expect(one.take(1_000)).rejects.toThrow(RateLimited);
    expect(row.pauses).toEqual([5_000, 60_000]);
  });

  it('pauses for a second where nothing remains of less than a minute may hold, and not where there is no limit', async () => {
    const budget = replica(3_000);
    budget.observe({ status: 200, limit: 0, remaining: 0 });
    expect(row.pauses).toEqual([]);
    budget.observe({ status: 200, limit: 50, remaining: 0 });
    expect(row.pauses).toEqual([1_000]);
    expect(budget.pauseLeftMs()).toBe(1_000);
  });

  it('loses a turn that was waited for where another is told to pause meanwhile', async () => {
    const [one, other] = [replica(3), replica(3)];
    for (let n = 0; n < 6; n += 1) await one.take(120_000);
    const waiting = other.take(120_000, { urgent: true });
    one.observe({ status: 429, retryAfterMs: 120_000 });
    await expect(waiting).rejects.toThrow(RateLimited);
    expect(other.pauseLeftMs()).toBeGreaterThan(0);
  });

  it('gives the turns of those who gave up to whoever queues behind them, and takes none for them', async () => {
    const budget = replica(60);
    for (let n = 0; n < 6; n += 1) await budget.take(120_000);
    const gaveUp = new AbortController();
    const ask = () => budget.take(120_000, { givenUp: gaveUp.signal });
    const adds = Promise.allSettled(Array.from({ length: 30 }, ask));
    const behind = budget.take(120_000);
    const start = clock.ms;
    gaveUp.abort();
    await behind;
    expect(clock.ms - start).toBeLessThanOrEqual(2_000);
    expect((await adds).filter(({ status }) => status === 'fulfilled')).toEqual([]);
    expect(row.asked.length).toBeLessThanOrEqual(8);
  });

  it('lets a submit pass by the adds that queue', async () => {
    const budget = replica(60);
    const adds = Promise.all(Array.from({ length: 30 }, () => budget.take(120_000)));
    const start = clock.ms;
    await budget.take(1_000);
    expect(clock.ms - start).toBeLessThanOrEqual(1_000);
    await adds;
    expect(row.asked.filter(({ urgent }) => urgent)).toHaveLength(1);
  });

  it.each([
    [1, 1],
    [3, 2],
    [3, 3],
    [20, 3],
    [30, 3],
    [60, 4],
  ])(
    'at %i a minute gives an urgent request its turn though %i replicas are never idle',
    async (perMinute, n) => {
      const replicas = Array.from({ length: n }, () => replica(perMinute));
      const sent: number[] = [];
      let ended = false;
      const busy = replicas.flatMap((one) =>
        Array.from({ length: 5 }, async () => {
          while (!ended) await one.take().then(() => sent.push(clock.ms));
        }),
      );
      while (sent.length < 3 * n) await new Promise(setImmediate);
      const waits: number[] = [];
      for (let submits = 0; submits < 5; submits += 1) {
        const asked = clock.ms;
        await replicas[0]!.take(LONGEST_WAIT_MS, { urgent: true });
        sent.push(clock.ms);
        waits.push(clock.ms - asked);
      }
      ended = true;
      await Promise.all(busy);
      expect(Math.max(...waits)).toBeLessThanOrEqual((n + 1) * Math.max(paceOf(perMinute).intervalMs, 1_000));
      sent.sort((one, other) => one - other);
      for (const [index, at] of sent.slice(perMinute).entries())
        expect(at - sent[index]!).toBeGreaterThan(60_000 - 1e-3);
    },
  );

  it('refuses a submit that could not leave in its time, and takes nothing for it', async () => {
    const budget = replica(10);
    await budget.take(1_000);
    await budget.take(1_000);
    await expect(budget.take(1_000)).rejects.toMatchObject({ retryAfterMs: 7_500 });
    clock.ms += 7_500;
    await budget.take(0);
  });

  it('does not let a submit leave late because the row was long in coming', async () => {
    const budget = replica(600);
    const reserve = row.reserve.bind(row);
    jest.spyOn(row, 'reserve').mockImplementation((configured, request) => {
      clock.ms += 1_500;
      return reserve(configured, request);
    });
    await expect(budget.take(1_000)).rejects.toThrow(RateLimited);
  });

  it('tells at once those whose turn is too far away, and serves the others', async () => {
    const budget = replica(60);
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => budget.take(10_000)));
    const served = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(served).toBe(10);
    for (const one of outcomes.slice(served)) {
      expect(one).toMatchObject({ status: 'rejected', reason: { retryAfterMs: expect.any(Number) } });
    }
  });

  it('loses the turns of a process that hung, instead of sending them at once', async () => {
    const budget = replica(600);
    const sent: number[] = [];
    const takes = Array.from({ length: 20 }, () => budget.take().then(() => sent.push(clock.ms)));
    await takes[2];
    clock.ms += 10_000;
    await Promise.all(takes);
    expect(Math.max(...sent) - sent[0]!).toBeGreaterThan(10_000);
    const gaps = sent.slice(1).map((at, index) => at - sent[index]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(paceOf(600).intervalMs - 1e-3);
  });

  it('sends nothing while the row cannot be reached: every call is to try again later', async () => {
    const logged = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const budget = replica(600);
    row.broken = true;
    const outcomes = await Promise.allSettled([budget.take(), budget.take(), budget.take(1_000)]);
    expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason : 'sent'))).toEqual(
      Array.from({ length: 3 }, () => expect.any(RateLimited)),
    );
    expect(logged).toHaveBeenCalled();
    row.broken = false;
    await budget.take();
  });

  it('tells those who queue when a pause begins that is too long for them, and does not sit it out', async () => {
    const budget = replica(60);
    const start = clock.ms;
    const outcomes = Array.from({ length: 10 }, () => budget.take(10_000));
    await outcomes[2];
    budget.observe({ status: 429, retryAfterMs: 600_000 });
    const settled = await Promise.allSettled(outcomes);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(settled.at(-1)).toMatchObject({ reason: { retryAfterMs: expect.any(Number) } });
    expect(clock.ms - start).toBeLessThan(10_000);
    await expect(budget.take(10_000)).rejects.toThrow(RateLimited);
  });

  it('refuses who would wait too long once a pause grew while it was waited out, with no limit known', async () => {
    const budget = replica();
    budget.observe({ status: 429, retryAfterMs: 1_000 });
    const submit = budget.take(1_500);
    budget.observe({ status: 429, retryAfterMs: 60_000 });
    await expect(submit).rejects.toThrow(RateLimited);
  });

  it('keeps a pause to itself that it could not share', async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const budget = replica(600);
    row.broken = true;
    budget.observe({ status: 429, retryAfterMs: 5_000 });
    row.broken = false;
    const start = clock.ms;
    await budget.take();
    expect(clock.ms - start).toBe(5_000);
  });
});
