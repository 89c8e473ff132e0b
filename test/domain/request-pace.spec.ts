import fc from 'fast-check';
import { LONGEST_WAIT_MS, paceOf, plausible, reserveTurns, UNPACED } from '../../src/domain/request-pace';

const MINUTE_MS = 60_000;
const AT_ONCE = { dueInMs: 0, pausedInMs: 0 };

/** The moments at which turns asked for in this order are used, and the most of them in any 60 seconds. */
function busiestMinute(
  perMinute: number,
  asked: { gapMs: number; turns: number; urgent: boolean }[],
): number {
  const pace = paceOf(perMinute);
  const used: number[] = [];
  let [nowMs, dueMs] = [0, 0];
  for (const { gapMs, turns, urgent } of asked) {
    nowMs += gapMs;
    const state = { dueInMs: dueMs - nowMs, pausedInMs: -1 };
    const taken = reserveTurns(state, pace, { turns: urgent ? 1 : turns, maxWaitMs: 2 * MINUTE_MS, urgent });
    if (taken.kind === 'refused') continue;
    dueMs = nowMs + taken.dueInMs;
    for (let n = 0; n < (urgent ? 1 : turns); n += 1) used.push(nowMs + taken.inMs + n * taken.intervalMs);
  }
  used.sort((one, other) => one - other);
  let from = 0;
  return used.reduce((most, at, index) => {
    while (at - used[from]! >= MINUTE_MS - 1e-6) from += 1;
    return Math.max(most, index - from + 1);
  }, 0);
}

describe('the pace of requests', () => {
  it('holds no more than the limit in any sixty seconds, whoever asks and however urgently', () => {
    const ask = fc.record({
      gapMs: fc.nat(2_000),
      turns: fc.integer({ min: 1, max: 10 }),
      urgent: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 900 }), fc.array(ask, { maxLength: 400 }), (perMinute, asked) => {
        expect(busiestMinute(perMinute, asked)).toBeLessThanOrEqual(perMinute);
      }),
      { numRuns: 200 },
    );
  });

  it('sends nine tenths of the limit evenly, and keeps the rest back', () => {
    expect(paceOf(600).intervalMs).toBeCloseTo(MINUTE_MS / 540);
    expect(paceOf(600).aheadMs).toBeCloseTo((59 * MINUTE_MS) / 540);
  });

  it('lets an urgent request pass by what others have taken, and makes those that follow pay for it', () => {
    const pace = paceOf(60);
    const queued = reserveTurns(AT_ONCE, pace, { turns: 4, maxWaitMs: 0, urgent: false });
    if (queued.kind === 'refused') throw new Error('the first turns are free');
    const busy = { dueInMs: queued.dueInMs, pausedInMs: 0 };
    expect(reserveTurns(busy, pace, { turns: 1, maxWaitMs: 1_000, urgent: false }).kind).toBe('refused');
    const urgent = reserveTurns(busy, pace, { turns: 1, maxWaitMs: 0, urgent: true });
    expect(urgent).toMatchObject({ inMs: 0, dueInMs: 5 * pace.intervalMs });
  });

  it('makes everybody outlast a pause, also where no limit is known', () => {
    const paused = { dueInMs: -5_000, pausedInMs: 3_000 };
    for (const urgent of [true, false]) {
      expect(reserveTurns(paused, UNPACED, { turns: 1, maxWaitMs: 4_000, urgent })).toMatchObject({
        inMs: 3_000,
      });
      expect(reserveTurns(paused, paceOf(60), { turns: 1, maxWaitMs: 2_999, urgent })).toEqual({
        kind: 'refused',
        waitMs: 3_000,
      });
    }
  });

  it('takes nothing that can have been reserved for the trace of a clock that was set back', () => {
    for (let perMinute = 1; perMinute <= 1_000; perMinute += 1) {
      const pace = paceOf(perMinute);
      const turns = Math.max(1, Math.floor(1_000 / pace.intervalMs));
      const fullMs = LONGEST_WAIT_MS + pace.aheadMs;
      const last = { turns, maxWaitMs: LONGEST_WAIT_MS, urgent: true };
      const taken = reserveTurns({ dueInMs: fullMs, pausedInMs: -1 }, pace, last);
      if (taken.kind === 'refused') throw new Error('the last turn that may be waited for is given');
      const state = { dueInMs: taken.dueInMs, pausedInMs: -1 };
      expect(plausible(state)).toEqual(state);
    }
  });

  it('saves nothing up while nobody sends', () => {
    const idle = reserveTurns({ dueInMs: -MINUTE_MS, pausedInMs: -1 }, paceOf(60), {
      turns: 2,
      maxWaitMs: 0,
      urgent: false,
    });
    expect(idle).toMatchObject({ inMs: 0, dueInMs: 2 * paceOf(60).intervalMs });
  });
});
