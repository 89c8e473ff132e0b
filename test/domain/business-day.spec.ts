import fc from 'fast-check';
import {
  addBankingDays,
  addDays,
  daysBetween,
  earliestExecutionDate,
  easterSunday,
  instantOf,
  isBankingDay,
  isIsoDate,
  isLocalTime,
  isPeriod,
  isTargetClosed,
  isTimeZone,
  lastBankingDayOfMonth,
  localDate,
  localTime,
  monthlyDate,
  nextBankingDay,
  nextPeriod,
  parsePeriod,
  periodOf,
  previousBankingDay,
  weekday,
} from '../../src/domain/business-day';

const BERLIN = 'Europe/Berlin';
const anyDate = fc.integer({ min: 0, max: 365 * 100 }).map((days) => addDays('2000-01-01', days));

describe('a date', () => {
  it.each(['2026-01-31', '2024-02-29', '2000-02-29', '2100-02-28'])('%s exists', (date) => {
    expect(isIsoDate(date)).toBe(true);
  });

  it.each([
    '2026-02-30',
    '2025-02-29',
    '2100-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-04-31',
    '2026-1-1',
    '20260101',
  ])('%s does not', (date) => {
    expect(isIsoDate(date)).toBe(false);
    expect(() => isBankingDay(date)).toThrow(expect.objectContaining({ code: 'DATE_INVALID' }));
  });

  it.each(['2026-01-01T00:00', '2026-01-01\n', ' 2026-01-01', '٢٠٢٦-01-01', '0026-01-01', ''])(
    '%j is not how a date is written',
    (text) => {
      expect(isIsoDate(text)).toBe(false);
    },
  );

  it('moves by days over months and leap years, and back', () => {
    expect(addDays('2024-02-28', 2)).toBe('2024-03-01');
    expect(addDays('2026-01-01', -1)).toBe('2025-12-31');
    fc.assert(
      fc.property(anyDate, fc.integer({ min: -5_000, max: 5_000 }), (date, days) => {
        expect(addDays(addDays(date, days), -days)).toBe(date);
        expect(daysBetween(date, addDays(date, days))).toBe(days);
      }),
    );
  });

  it('knows its day of the week', () => {
    expect(['1970-01-01', '2026-11-20', '2026-11-22', '2026-11-23'].map(weekday)).toEqual([4, 5, 7, 1]);
  });
});

describe('the TARGET calendar', () => {
  it.each([
    [2024, '2024-03-31'],
    [2025, '2025-04-20'],
    [2026, '2026-04-05'],
    [2027, '2027-03-28'],
    [2028, '2028-04-16'],
    [2029, '2029-04-01'],
    [2030, '2030-04-21'],
    [2031, '2031-04-13'],
    [2032, '2032-03-28'],
    [2038, '2038-04-25'],
  ])('has Easter %s on %s', (year, date) => {
    expect(easterSunday(year)).toBe(date);
  });

  it('closes on six days and weekends of 2026 and on no other day', () => {
    const closedOnWeekdays = Array.from({ length: 365 }, (_, day) => addDays('2026-01-01', day)).filter(
      (date) => weekday(date) < 6 && isTargetClosed(date),
    );
    expect(closedOnWeekdays).toEqual(['2026-01-01', '2026-04-03', '2026-04-06', '2026-05-01', '2026-12-25']);
    expect(isTargetClosed('2026-12-26')).toBe(true);
    expect(isTargetClosed('2024-12-26')).toBe(true);
    expect(isTargetClosed('2026-11-21')).toBe(true);
  });

  it('goes on to a banking day with none in between, and back', () => {
    fc.assert(
      fc.property(anyDate, (date) => {
        const next = nextBankingDay(date);
        expect(isBankingDay(next)).toBe(true);
        expect(next > date).toBe(true);
        for (let day = addDays(date, 1); day < next; day = addDays(day, 1))
          expect(isBankingDay(day)).toBe(false);
        if (isBankingDay(date)) expect(previousBankingDay(next)).toBe(date);
      }),
    );
  });

  it('keeps the days the bank is closed beside', () => {
    const closedDays = new Set(['2026-11-23', '2026-11-24']);
    expect(isBankingDay('2026-11-23', closedDays)).toBe(false);
    expect(nextBankingDay('2026-11-20', closedDays)).toBe('2026-11-25');
    expect(previousBankingDay('2026-11-25', closedDays)).toBe('2026-11-20');
  });

  it('gives up when the bank is said to be closed all year', () => {
    const closedDays = new Set(Array.from({ length: 800 }, (_, day) => addDays('2026-01-01', day)));
    expect(() => nextBankingDay('2026-01-01', closedDays)).toThrow(
      expect.objectContaining({ code: 'NO_BANKING_DAY' }),
    );
  });

  it('counts banking days in both directions', () => {
    expect(addBankingDays('2026-04-02', 1)).toBe('2026-04-07');
    expect(addBankingDays('2026-04-07', -1)).toBe('2026-04-02');
    expect(addBankingDays('2026-11-20', 0)).toBe('2026-11-20');
    expect(addBankingDays('2026-11-20', 2)).toBe('2026-11-24');
    expect(() => addBankingDays('2026-11-20', 1_001)).toThrow(/1,000/);
    expect(() => addBankingDays('2026-11-20', 0.5)).toThrow();
  });
});

describe('a month', () => {
  it('is read, followed and refused', () => {
    expect(parsePeriod('2026-11')).toEqual({ year: 2026, month: 11 });
    expect(nextPeriod('2026-11')).toBe('2026-12');
    expect(nextPeriod('2026-12')).toBe('2027-01');
    expect(periodOf('2026-11-20')).toBe('2026-11');
    expect(['2026-13', '2026-00', '2026-1', '2026-11-01', ''].map(isPeriod)).toEqual(Array(5).fill(false));
    expect(() => nextPeriod('2026-13')).toThrow(expect.objectContaining({ code: 'PERIOD_INVALID' }));
  });

  it('ends on its last banking day', () => {
    expect(lastBankingDayOfMonth('2026-01')).toBe('2026-01-30');
    expect(lastBankingDayOfMonth('2026-11')).toBe('2026-11-30');
    expect(lastBankingDayOfMonth('2024-03')).toBe('2024-03-28');
    expect(lastBankingDayOfMonth('2026-11', new Set(['2026-11-30']))).toBe('2026-11-27');
  });

  it('has a pay date moved to a banking day in the direction asked for', () => {
    expect(monthlyDate('2026-11', 'LAST_BANKING_DAY', 'NEXT')).toBe('2026-11-30');
    expect(monthlyDate('2026-11', 20, 'NEXT')).toBe('2026-11-20');
    expect(monthlyDate('2026-11', 22, 'PREVIOUS')).toBe('2026-11-20');
    expect(monthlyDate('2026-11', 22, 'NEXT')).toBe('2026-11-23');
    expect(monthlyDate('2026-02', 31, 'PREVIOUS')).toBe('2026-02-27');
    expect(monthlyDate('2026-02', 31, 'NEXT')).toBe('2026-03-02');
    expect(monthlyDate('2026-05', 1, 'PREVIOUS')).toBe('2026-04-30');
  });

  it.each([0, 32, 1.5, Number.NaN])('has no pay day %s', (payDay) => {
    expect(() => monthlyDate('2026-11', payDay, 'NEXT')).toThrow(
      expect.objectContaining({ code: 'PAY_DAY_INVALID' }),
    );
  });
});

describe('local time', () => {
  it('is the time zone’s date and hour, in winter and summer', () => {
    expect(localDate(new Date('2026-01-31T23:30:00Z'), BERLIN)).toBe('2026-02-01');
    expect(localTime(new Date('2026-01-31T23:30:59Z'), BERLIN)).toBe('00:30');
    expect(localTime(new Date('2026-07-01T12:00:00Z'), BERLIN)).toBe('14:00');
    expect(localDate(new Date('2026-07-01T03:00:00Z'), 'America/New_York')).toBe('2026-06-30');
  });

  it.each([
    ['2026-01-15', '15:00', '2026-01-15T14:00:00.000Z'],
    ['2026-07-15', '15:00', '2026-07-15T13:00:00.000Z'],
    ['2026-03-29', '01:59', '2026-03-29T00:59:00.000Z'],
    ['2026-03-29', '02:30', '2026-03-29T01:30:00.000Z'],
    ['2026-03-29', '03:00', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25', '01:59', '2026-10-24T23:59:00.000Z'],
    ['2026-10-25', '02:30', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25', '03:00', '2026-10-25T02:00:00.000Z'],
    ['2026-01-01', '00:00', '2025-12-31T23:00:00.000Z'],
  ])('%s %s in Berlin is %s', (date, time, instant) => {
    expect(instantOf(date, time, BERLIN).toISOString()).toBe(instant);
  });

  it('leads back to the same date and hour wherever clocks show it', () => {
    const zones = fc.constantFrom(
      BERLIN,
      'UTC',
      'Europe/Lisbon',
      'America/New_York',
      'Asia/Kolkata',
      'Pacific/Auckland',
    );
    fc.assert(
      fc.property(anyDate, fc.integer({ min: 4, max: 23 }), zones, (date, hour, zone) => {
        const time = `${hour.toString().padStart(2, '0')}:07`;
        const instant = instantOf(date, time, zone);
        expect([localDate(instant, zone), localTime(instant, zone)]).toEqual([date, time]);
      }),
    );
  });

  it('refuses what is no time, no date or no time zone', () => {
    expect(['00:00', '23:59', '24:00', '9:00', '12:60', '12:00:00'].map(isLocalTime)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(() => instantOf('2026-01-01', '24:00', BERLIN)).toThrow(
      expect.objectContaining({ code: 'LOCAL_TIME_INVALID' }),
    );
    expect(() => instantOf('2026-02-30', '12:00', BERLIN)).toThrow(
      expect.objectContaining({ code: 'DATE_INVALID' }),
    );
    expect(() => localDate(new Date(0), 'Europe/Atlantis')).toThrow(
      expect.objectContaining({ code: 'TIME_ZONE_UNKNOWN' }),
    );
    expect([isTimeZone(BERLIN), isTimeZone('Mars')]).toEqual([true, false]);
  });
});

describe('the earliest execution date', () => {
  const hours = { cutOff: '15:00', timeZone: BERLIN };
  it.each([
    ['a minute before the cut-off of a banking day', '2026-11-20T13:59:59Z', '2026-11-20'],
    ['at the cut-off', '2026-11-20T14:00:00Z', '2026-11-23'],
    ['in the summer, when the cut-off is an hour earlier in UTC', '2026-07-01T13:00:00Z', '2026-07-02'],
    ['on a Saturday morning', '2026-11-21T08:00:00Z', '2026-11-23'],
    ['on Maundy Thursday after the cut-off', '2026-04-02T14:00:00Z', '2026-04-07'],
    ['late in the evening in UTC, already tomorrow at the bank', '2026-11-22T23:30:00Z', '2026-11-23'],
  ])('%s', (_when, now, date) => {
    expect(earliestExecutionDate(new Date(now), hours)).toBe(date);
  });

  it('skips a day the bank is closed', () => {
    const closedDays = new Set(['2026-11-20']);
    expect(earliestExecutionDate(new Date('2026-11-20T08:00:00Z'), { ...hours, closedDays })).toBe(
      '2026-11-23',
    );
  });

  it('refuses a cut-off that is no time of day', () => {
    expect(() => earliestExecutionDate(new Date(0), { cutOff: '9:00', timeZone: BERLIN })).toThrow(
      expect.objectContaining({ code: 'LOCAL_TIME_INVALID' }),
    );
  });
});
