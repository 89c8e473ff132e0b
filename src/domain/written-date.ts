import { IsoDate, isIsoDate } from './calendar';

export const DATE_ORDERS = ['YMD', 'DMY', 'MDY'] as const;

/** The order of year, month and day in the dates of a file. */
export type DateOrder = (typeof DATE_ORDERS)[number];

const YEAR_FIRST = /^([0-9]{4})([-./ ])([0-9]{1,2})\2([0-9]{1,2})$/;
const YEAR_LAST = /^([0-9]{1,2})([-./ ])([0-9]{1,2})\2([0-9]{4})$/;

/**
 * Reads a date of four digits of year in a declared order, `27.11.2026` or `11/27/2026`. Undefined when the text is no
 * date in this order, or no day of the calendar.
 */
export function readWrittenDate(text: string, order: DateOrder): IsoDate | undefined {
  const [, first = '', , second = '', third = ''] =
    (order === 'YMD' ? YEAR_FIRST : YEAR_LAST).exec(text) ?? [];
  const [year, month, day] =
    order === 'YMD'
      ? [first, second, third]
      : order === 'DMY'
        ? [third, second, first]
        : [third, first, second];
  const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return isIsoDate(date) ? date : undefined;
}

/** The date as a file of this order may write it, such as `27.11.2026` or `11/27/2026`. */
export function writeDate(date: IsoDate, order: DateOrder): string {
  const [year, month, day] = date.split('-');
  if (order === 'YMD') return date;
  return order === 'DMY' ? `${day}.${month}.${year}` : `${month}/${day}/${year}`;
}
