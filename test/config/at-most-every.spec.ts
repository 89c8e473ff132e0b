import { AtMostEvery } from '../../src/config/at-most-every';
import { HOUR_MS } from '../../src/domain/durations';
import { MovedClock } from '../support/payroll';

it('lets what was done be done again once the interval is over, whatever is done for others', () => {
  const clock = new MovedClock();
  const hourly = new AtMostEvery<string>(HOUR_MS, clock);
  expect(hourly.isDue('one')).toBe(true);
  hourly.note('one');
  expect([hourly.isDue('one'), hourly.isDue('other')]).toEqual([false, true]);
  clock.offsetMs += HOUR_MS / 2;
  hourly.note('other');
  expect(hourly.isDue('one')).toBe(false);
  clock.offsetMs += HOUR_MS / 2 + 1;
  expect([hourly.isDue('one'), hourly.isDue('other')]).toEqual([true, false]);
});
