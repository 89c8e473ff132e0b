import fc from 'fast-check';
import { addDays } from '../../src/domain/business-day';
import { readWrittenDate } from '../../src/domain/written-date';

describe('a date in a declared order', () => {
  it('is read back, whatever its signs and leading zeros', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20_000 }).map((days) => addDays('2000-01-01', days)),
        fc.constantFrom('.', '/', '-', ' '),
        fc.boolean(),
        (date, sign, short) => {
          const [year = '', month = '', day = ''] = date
            .split('-')
            .map((part) => (short ? part.replace(/^0/, '') : part));
          expect(readWrittenDate([day, month, year].join(sign), 'DMY')).toBe(date);
          expect(readWrittenDate([month, day, year].join(sign), 'MDY')).toBe(date);
          expect(readWrittenDate([year, month, day].join(sign), 'YMD')).toBe(date);
        },
      ),
    );
  });

  it.each([
    ['27.11.26', 'DMY'],
    ['11/27/2026', 'DMY'],
    ['27.11.2026', 'YMD'],
    ['31.11.2026', 'DMY'],
    ['27.11/2026', 'DMY'],
    ['2026-11-27T00:00', 'YMD'],
    ['', 'YMD'],
  ] as const)('is not read from %j in the order %s', (text, order) => {
    expect(readWrittenDate(text, order)).toBeUndefined();
  });
});
