import { isAtLastDelay, readDelayMs } from '../../src/config/read-delay';

const config = { FOLLOW_DELAYS_MS: [15, 60, 300], FOLLOW_STEP_MS: 1_000 };

it('reads by each delay for the length of a step, and by the last for good', () => {
  const delays = [0, 999, 1_000, 1_999, 2_000, 3_000, Infinity].map((forMs) => readDelayMs(config, forMs));
  expect(delays).toEqual([15, 15, 60, 60, 300, 300, 300]);
});

it('knows from when on the last delay is used', () => {
  expect([0, 1_999, 2_000, Infinity].map((forMs) => isAtLastDelay(config, forMs))).toEqual([
    false,
    false,
    true,
    true,
  ]);
  expect(isAtLastDelay({ ...config, FOLLOW_DELAYS_MS: [15] }, 0)).toBe(true);
});

it('uses the first delay at first also where a step takes no time', () => {
  const atOnce = { ...config, FOLLOW_STEP_MS: 0 };
  expect([0, 1, 2].map((forMs) => readDelayMs(atOnce, forMs))).toEqual([15, 60, 300]);
});
