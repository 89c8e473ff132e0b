import type { Clock } from '../../src/config/clock';
import type { Config } from '../../src/config/env';
import { Lateness } from '../../src/settlement/lateness';

const config = {
  BANK_CUT_OFF: '16:00',
  BANK_TIME_ZONE: 'UTC',
  BANK_CLOSED_DAYS: [] as string[],
  BANK_PATIENCE_MS: 600_000,
  SUBMIT_DOUBT_MS: 120_000,
} as Config;

/** Of a run that was approved for Tuesday, 10 March 2026, and submitted the day before unless said. */
function lateAt(now: string, shownDate?: string, submittedAt = '2026-03-09T09:00:00Z') {
  const lateness = new Lateness({ now: () => new Date(now) } as Clock, config);
  const instruction = { status: 'SUBMITTED', submittedAt: new Date(submittedAt) } as const;
  return lateness.of({ executionDate: '2026-03-10' }, instruction, shownDate);
}

describe('what was submitted', () => {
  it.each([
    ['at its cut-off', '2026-03-10T16:00:01Z', undefined, false],
    ['past its cut-off for a while', '2026-03-10T16:10:00Z', undefined, true],
    ['where the bank moved its date on', '2026-03-10T16:10:00Z', '2026-03-11', false],
    ['past the cut-off of the date it was moved on to', '2026-03-11T16:10:00Z', '2026-03-11', true],
    ['where the bank shows an earlier date', '2026-03-09T16:10:00Z', '2026-03-09', false],
    ['where it shows one further off than it may move', '2026-03-10T16:10:00Z', '2026-03-18', true],
  ])('should have moved %s: at %s, shown with %s, %s', (_when, now, shownDate, is) => {
    expect(lateAt(now, shownDate).shouldHaveMoved).toBe(is);
  });

  it('may still be at its submit where that was just now', () => {
    const submittedAt = '2026-03-10T16:09:00Z';
    expect(lateAt('2026-03-10T16:10:00Z', undefined, submittedAt).shouldHaveMoved).toBe(false);
  });

  it('is overdue two banking days after its date, or after the one it was moved on to', () => {
    expect(lateAt('2026-03-13T09:00:00Z').overdue).toBe(true);
    expect(lateAt('2026-03-13T09:00:00Z', '2026-03-11').overdue).toBe(false);
    expect(lateAt('2026-03-16T09:00:00Z', '2026-03-11').overdue).toBe(true);
  });
});
