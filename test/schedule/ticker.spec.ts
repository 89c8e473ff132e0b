import { Logger } from '@nestjs/common';
import { ScheduleModule as IntervalModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { Shutdown } from '../../src/config/shutdown';
import { DatabaseAway } from '../../src/database/outage';
import { Tick, Ticker, TICKS } from '../../src/schedule/ticker';

const SECOND = 1_000;

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

async function start(...ticks: Tick[]) {
  const tested = await Test.createTestingModule({
    imports: [IntervalModule.forRoot()],
    providers: [Shutdown, Ticker, { provide: TICKS, useValue: ticks }],
  }).compile();
  return tested.init();
}

/** Work that ends when the test says so, and counts how often it was begun. */
function held() {
  const ends: (() => void)[] = [];
  const run = jest.fn(() => new Promise<void>((resolve) => ends.push(resolve)));
  return { run, endAll: () => ends.splice(0).forEach((end) => end()) };
}

it('runs each tick at the start and then at its own interval', async () => {
  const often = jest.fn(async () => undefined);
  const seldom = jest.fn(async () => undefined);
  const app = await start(
    { name: 'often', everyMs: SECOND, run: often },
    { name: 'seldom', everyMs: 60 * SECOND, run: seldom },
  );
  expect([often.mock.calls.length, seldom.mock.calls.length]).toEqual([1, 1]);
  await jest.advanceTimersByTimeAsync(60 * SECOND);
  expect([often.mock.calls.length, seldom.mock.calls.length]).toEqual([61, 2]);
  await app.close();
});

it('leaves a tick out while the one before still runs, and does not hold up others', async () => {
  const slow = held();
  const quick = jest.fn(async () => undefined);
  const app = await start(
    { name: 'slow', everyMs: SECOND, run: slow.run },
    { name: 'quick', everyMs: SECOND, run: quick },
  );
  await jest.advanceTimersByTimeAsync(10 * SECOND);
  expect(slow.run).toHaveBeenCalledTimes(1);
  expect(quick).toHaveBeenCalledTimes(11);
  slow.endAll();
  await jest.advanceTimersByTimeAsync(SECOND);
  expect(slow.run).toHaveBeenCalledTimes(2);
  slow.endAll();
  await app.close();
});

it('begins the others once the first run of what they rest on has ended', async () => {
  const ground = held();
  const work = jest.fn(async () => undefined);
  const starting = start(
    { name: 'ground', everyMs: 60 * SECOND, first: true, run: ground.run },
    { name: 'work', everyMs: SECOND, run: work },
  );
  await jest.advanceTimersByTimeAsync(10 * SECOND);
  expect([ground.run.mock.calls.length, work.mock.calls.length]).toEqual([1, 0]);
  ground.endAll();
  const app = await starting;
  expect(work).toHaveBeenCalledTimes(1);
  await app.close();
});

it('begins the others also where the first run of what they rest on fails', async () => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const work = jest.fn(async () => undefined);
  const fails = () => Promise.reject(new Error('the database is away'));
  const app = await start(
    { name: 'ground', everyMs: 60 * SECOND, first: true, run: fails },
    { name: 'work', everyMs: SECOND, run: work },
  );
  expect(work).toHaveBeenCalledTimes(1);
  await app.close();
});

it.each([
  ['rejects', () => Promise.reject(new Error('the database is away'))],
  [
    'throws',
    () => {
      throw new Error('the database is away');
    },
  ],
])('logs a tick that %s and goes on with the next one', async (_, fail) => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const run = jest.fn<Promise<void>, []>(fail);
  const app = await start({ name: 'failing', everyMs: SECOND, run });
  await jest.advanceTimersByTimeAsync(2 * SECOND);
  expect(run).toHaveBeenCalledTimes(3);
  expect(logged).toHaveBeenCalledTimes(3);
  expect(logged.mock.calls[0]?.[0]).toMatchObject({
    tick: 'failing',
    error: { type: 'Error', message: 'the database is away' },
  });
  await app.close();
});

it('logs nothing of a tick that finds the database away, which is told once for all of them, and goes on', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const run = jest.fn(() => Promise.reject(new DatabaseAway(new Error('refused'))));
  const app = await start({ name: 'failing', everyMs: SECOND, run });
  await jest.advanceTimersByTimeAsync(2 * SECOND);
  expect(run).toHaveBeenCalledTimes(3);
  expect(logged).not.toHaveBeenCalled();
  await app.close();
});

it('ends its intervals and waits for the tick and for the work it left under way', async () => {
  const tick = held();
  const work = held();
  const app = await start({ name: 'busy', everyMs: SECOND, run: tick.run, drain: work.run });
  const registry = app.get(SchedulerRegistry);
  let closed = false;
  const closing = app.close().then(() => (closed = true));
  await jest.advanceTimersByTimeAsync(5 * SECOND);
  expect(registry.getIntervals()).toEqual([]);
  expect(tick.run).toHaveBeenCalledTimes(1);
  tick.endAll();
  await jest.advanceTimersByTimeAsync(0);
  expect(closed).toBe(false);
  work.endAll();
  await jest.advanceTimersByTimeAsync(0);
  expect(closed).toBe(false);
  work.endAll();
  await closing;
  expect(jest.getTimerCount()).toBe(0);
});

it('drains again after the tick that was under way, which may have begun more work', async () => {
  const order: string[] = [];
  let endTick = () => {};
  const app = await start({
    name: 'claims',
    everyMs: SECOND,
    run: () => new Promise<void>((resolve) => (endTick = () => (order.push('claimed'), resolve()))),
    drain: async () => void order.push('drained'),
  });
  const closing = app.close();
  await jest.advanceTimersByTimeAsync(0);
  endTick();
  await closing;
  expect(order).toEqual(['drained', 'claimed', 'drained']);
});

it('gives up after ten seconds on work that does not end', async () => {
  const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  const stuck = held();
  const app = await start({ name: 'stuck', everyMs: SECOND, run: stuck.run });
  let closed = false;
  const closing = app.close().then(() => (closed = true));
  await jest.advanceTimersByTimeAsync(9_999);
  expect(closed).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  await closing;
  expect(warned).toHaveBeenCalledTimes(1);
});

it('closes also when a drain fails', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const app = await start({
    name: 'failing',
    everyMs: SECOND,
    run: async () => undefined,
    drain: () => Promise.reject(new Error('gone')),
  });
  await app.close();
  expect(logged).toHaveBeenCalled();
});
