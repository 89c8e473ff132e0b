import fc from 'fast-check';
import { isBankingDay, isIsoDate, localDate, localTime } from '../../src/domain/business-day';
import {
  datesOf,
  firstMissedCutOff,
  missingPeriods,
  movedPeriods,
  ScheduleTerms,
} from '../../src/schedule/period-dates';

const TERMS: ScheduleTerms = {
  dayOfMonth: 25,
  whenClosed: 'PREVIOUS',
  submitDaysBefore: 0,
  submitTime: '09:00',
  timeZone: 'Europe/Paris',
};
const BANK = { timeZone: 'Europe/Paris', cutOff: '16:00', closedDays: new Set<string>() };

function executionDate(
  period: string,
  terms: Partial<ScheduleTerms>,
  closedDays?: ReadonlySet<string>,
): string {
  return datesOf({ ...TERMS, ...terms }, period, closedDays).executionDate;
}

function submitAt(period: string, terms: Partial<ScheduleTerms>): string {
  return datesOf({ ...TERMS, ...terms }, period).submitAt.toISOString();
}

describe('the execution date of a month', () => {
  it('is the last banking day, before a weekend and before an Easter that begins in March', () => {
    expect(executionDate('2026-01', { dayOfMonth: null })).toBe('2026-01-30');
    expect(executionDate('2024-03', { dayOfMonth: null })).toBe('2024-03-28');
  });

  it('is the last day of February for the 31st, moved as other days are', () => {
    expect(executionDate('2028-02', { dayOfMonth: 31 })).toBe('2028-02-29');
    expect(executionDate('2027-02', { dayOfMonth: 31 })).toBe('2027-02-26');
    expect(executionDate('2027-02', { dayOfMonth: 31, whenClosed: 'NEXT' })).toBe('2027-03-01');
  });

  it.each([
    ['Good Friday', 3, '2026-04-02', '2026-04-07'],
    ['Easter Monday', 6, '2026-04-02', '2026-04-07'],
  ])('leaves %s for the day before or after Easter', (_, dayOfMonth, previous, next) => {
    expect(executionDate('2026-04', { dayOfMonth, whenClosed: 'PREVIOUS' })).toBe(previous);
    expect(executionDate('2026-04', { dayOfMonth, whenClosed: 'NEXT' })).toBe(next);
  });

  it('leaves the days this bank is closed besides', () => {
    expect(executionDate('2026-06', {}, new Set(['2026-06-25']))).toBe('2026-06-24');
    expect(executionDate('2026-06', { whenClosed: 'NEXT' }, new Set(['2026-06-25', '2026-06-26']))).toBe(
      '2026-06-29',
    );
  });
});

describe('the submit', () => {
  it('is on the execution date itself when no days are asked for', () => {
    expect(submitAt('2026-06', {})).toBe('2026-06-25T07:00:00.000Z');
  });

  it('counts banking days back over Easter', () => {
    expect(submitAt('2026-04', { dayOfMonth: 7, submitDaysBefore: 2 })).toBe('2026-04-01T07:00:00.000Z');
  });

  it('keeps its local time when the clocks change', () => {
    expect(submitAt('2026-03', { dayOfMonth: 27 })).toBe('2026-03-27T08:00:00.000Z');
    expect(submitAt('2026-03', { dayOfMonth: 30 })).toBe('2026-03-30T07:00:00.000Z');
    expect(submitAt('2026-10', { dayOfMonth: 23 })).toBe('2026-10-23T07:00:00.000Z');
    expect(submitAt('2026-10', { dayOfMonth: 26 })).toBe('2026-10-26T08:00:00.000Z');
  });

  it('has a moment where the clock skips its time, and one where it shows it twice', () => {
    // Cairo's clocks go on and back in the night to a Friday, a banking day.
    const cairo = { timeZone: 'Africa/Cairo', dayOfMonth: 24, submitTime: '00:30' };
    expect(submitAt('2026-04', cairo)).toBe('2026-04-23T22:30:00.000Z');
    expect(submitAt('2026-10', { ...cairo, dayOfMonth: 29, submitTime: '23:30' })).toBe(
      '2026-10-29T20:30:00.000Z',
    );
  });
});

describe('the periods to move', () => {
  const made = ['2026-04', '2026-05', '2026-06'].map((period) => ({
    ...datesOf(TERMS, period),
    payRunId: null as string | null,
  }));
  const moved = (now: string, closedDays: string[], months = made) =>
    movedPeriods(TERMS, months, new Date(now), { ...BANK, closedDays: new Set(closedDays) });

  it('are none while the days of the bank are those they were made by', () => {
    expect(moved('2026-04-01T10:00:00Z', [])).toEqual([]);
    expect(moved('2026-04-01T10:00:00Z', ['2026-04-30'])).toEqual([]);
  });

  it('are those whose date became a closed day, or was one', () => {
    const closed = ['2026-04-24', '2026-06-25'];
    const now = '2026-04-01T10:00:00Z';
    expect(moved(now, closed)).toEqual([
      { period: '2026-04', executionDate: '2026-04-23', submitAt: new Date('2026-04-23T07:00:00Z') },
      { period: '2026-06', executionDate: '2026-06-24', submitAt: new Date('2026-06-24T07:00:00Z') },
    ]);
    const back = moved(now, [], [{ ...made[0]!, executionDate: '2026-04-23' }]);
    expect(back.map(({ executionDate }) => executionDate)).toEqual(['2026-04-24']);
  });

  it('are those whose submit is on another day for a closed day before their date', () => {
    const terms = { ...TERMS, submitDaysBefore: 1 };
    const bank = { ...BANK, closedDays: new Set(['2026-06-24']) };
    const june = { ...datesOf(terms, '2026-06'), payRunId: null };
    expect(movedPeriods(terms, [june], new Date('2026-06-01T10:00:00Z'), bank)).toEqual([
      { ...june, payRunId: undefined, submitAt: new Date('2026-06-23T07:00:00Z') },
    ]);
  });

  it('are none that have a run, and none whose date has passed', () => {
    const closed = ['2026-04-24', '2026-06-25'];
    expect(moved('2026-06-25T20:00:00Z', closed).map(({ period }) => period)).toEqual(['2026-06']);
    expect(moved('2026-06-25T22:00:00Z', closed)).toEqual([]);
    const bound = made.map((month) => ({ ...month, payRunId: 'its run' }));
    expect(moved('2026-04-01T10:00:00Z', closed, bound)).toEqual([]);
  });
});

describe('the periods to make', () => {
  const missing = (
    now: string,
    more: Partial<Parameters<typeof missingPeriods>[0]> = {},
    made: string[] = [],
  ) => {
    const schedule = {
      ...TERMS,
      firstPeriod: '2026-01',
      createdAt: new Date('2026-06-10T10:00:00Z'),
      ...more,
    };
    return missingPeriods(schedule, new Set(made), new Date(now), BANK).map(({ period }) => period);
  };

  it('are those from the current month to two months ahead', () => {
    expect(missing('2026-06-10T10:00:00Z')).toEqual(['2026-06', '2026-07', '2026-08']);
    expect(missing('2026-11-10T10:00:00Z', { createdAt: new Date('2026-11-10T10:00:00Z') })).toEqual([
      '2026-11',
      '2026-12',
      '2027-01',
    ]);
  });

  it('turn with the month of the zone of the schedule', () => {
    const lastEvening = '2026-06-30T12:00:00Z';
    expect(missing(lastEvening, { timeZone: 'Pacific/Auckland' }).at(-1)).toBe('2026-09');
    expect(missing(lastEvening, { timeZone: 'Pacific/Honolulu' }).at(-1)).toBe('2026-08');
  });

  it('begin with the first period of the schedule', () => {
    expect(missing('2026-06-10T10:00:00Z', { firstPeriod: '2026-08' })).toEqual(['2026-08']);
    expect(missing('2026-06-10T10:00:00Z', { firstPeriod: '2026-09' })).toEqual([]);
  });

  it('leave out those whose execution date was past when the schedule was created', () => {
    const createdAt = new Date('2026-06-26T10:00:00Z');
    expect(missing('2026-06-26T10:00:00Z', { createdAt })).toEqual(['2026-07', '2026-08']);
    expect(missing('2026-06-25T10:00:00Z', { createdAt: new Date('2026-06-25T10:00:00Z') })[0]).toBe(
      '2026-06',
    );
  });

  it('hold the month before when a closed day moves its pay date into this one', () => {
    const moved = {
      dayOfMonth: 31,
      whenClosed: 'NEXT' as const,
      createdAt: new Date('2026-06-01T08:00:00Z'),
    };
    expect(missing('2026-06-01T08:00:00Z', moved)[0]).toBe('2026-05');
  });

  it('hold what was missed while nothing ran, and not what is made', () => {
    expect(missing('2026-10-01T10:00:00Z', {}, ['2026-06', '2026-08', '2026-12'])).toEqual([
      '2026-07',
      '2026-09',
      '2026-10',
      '2026-11',
    ]);
  });

  it('are at most two years of them at once', () => {
    expect(missing('2096-01-01T10:00:00Z')).toHaveLength(24);
  });
});

describe('a submit after the cut-off', () => {
  it('is found for the day itself and not for the day before', () => {
    expect(firstMissedCutOff({ ...TERMS, submitTime: '15:59' }, '2026-01', BANK)).toBeUndefined();
    expect(firstMissedCutOff({ ...TERMS, submitTime: '16:00' }, '2026-01', BANK)?.period).toBe('2026-01');
    expect(
      firstMissedCutOff({ ...TERMS, submitTime: '23:59', submitDaysBefore: 1 }, '2026-01', BANK),
    ).toBeUndefined();
  });

  it('is found in another zone, though half a year it would be in time', () => {
    const johannesburg = { ...TERMS, timeZone: 'Africa/Johannesburg', dayOfMonth: 20, submitTime: '16:30' };
    expect(firstMissedCutOff(johannesburg, '2026-11', BANK)).toEqual({
      period: '2027-04',
      executionDate: '2027-04-20',
      submitAt: new Date('2027-04-20T14:30:00Z'),
      cutOff: new Date('2027-04-20T14:00:00Z'),
    });
  });
});

describe('whatever the schedule', () => {
  const dates = fc.date({ min: new Date('2025-01-01'), max: new Date('2060-12-31'), noInvalidDate: true });
  const closedDays = fc
    .uniqueArray(dates, { maxLength: 40 })
    .map((days) => new Set(days.map((day) => day.toISOString().slice(0, 10))));
  const terms = fc.record({
    dayOfMonth: fc.option(fc.integer({ min: 1, max: 31 })),
    whenClosed: fc.constantFrom('PREVIOUS' as const, 'NEXT' as const),
    submitDaysBefore: fc.integer({ min: 0, max: 20 }),
    submitTime: fc
      .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
      .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':')),
    timeZone: fc.constantFrom(
      'Europe/Paris',
      'America/New_York',
      'Pacific/Kiritimati',
      'Australia/Lord_Howe',
      'UTC',
    ),
  });

  it('every execution date is a banking day, and the submit so many banking days before', () => {
    fc.assert(
      fc.property(terms, dates, closedDays, (schedule, day, closed) => {
        const made = datesOf(schedule, day.toISOString().slice(0, 7), closed);
        expect(isIsoDate(made.executionDate)).toBe(true);
        expect(isBankingDay(made.executionDate, closed)).toBe(true);
        const submitDay = localDate(made.submitAt, schedule.timeZone);
        expect(bankingDaysBetween(submitDay, made.executionDate, closed)).toBe(schedule.submitDaysBefore);
        expect(isBankingDay(submitDay, closed)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('the submit is at the local time asked for, but for an hour the clocks skip', () => {
    fc.assert(
      fc.property(terms, dates, (schedule, day) => {
        const { submitAt: at } = datesOf(schedule, day.toISOString().slice(0, 7));
        const shown = localTime(at, schedule.timeZone);
        const skipped = /^0[0-3]:/.test(schedule.submitTime);
        expect(skipped || shown === schedule.submitTime).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('the periods are consecutive months, each once, none executed before the schedule was created', () => {
    fc.assert(
      fc.property(terms, dates, fc.integer({ min: 0, max: 600 }), (schedule, createdAt, days) => {
        const now = new Date(createdAt.getTime() + days * 86_400_000);
        const kept = { ...schedule, firstPeriod: '2020-01', createdAt };
        const made = missingPeriods(kept, new Set(), now, BANK);
        const months = made.map(({ period }) => Number(period.slice(0, 4)) * 12 + Number(period.slice(5)));
        expect(months).toEqual(months.map((_, index) => (months[0] ?? 0) + index));
        const createdOn = localDate(createdAt, BANK.timeZone);
        expect(made.every((one) => one.executionDate >= createdOn)).toBe(true);
        const again = missingPeriods(kept, new Set(made.map(({ period }) => period)), now, BANK);
        expect(again).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

function bankingDaysBetween(from: string, to: string, closed: ReadonlySet<string>): number {
  let count = 0;
  for (let ms = Date.parse(from) + 86_400_000; ms <= Date.parse(to); ms += 86_400_000) {
    if (isBankingDay(new Date(ms).toISOString().slice(0, 10), closed)) count += 1;
  }
  return count;
}
