import { AmountStyle } from './amount-style';
import { foldHeader, fieldOfHeader } from './header-names';
import { Currency } from './money';
import { Encoding } from './pay-file-encoding';
import { PayFileColumn } from './row-fault';
import { DateOrder } from './written-date';

/** What a column is for: a field of the row, or nothing, said by a person. */
export type ColumnMeaning = PayFileColumn | 'ignored';

/** What an employer says of the files of one payroll system. What is absent is as in a file without a profile. */
export interface PayFileProfile {
  /** Header as written → what the column is; goes before the names known in eight languages. */
  columns: Readonly<Record<string, ColumnMeaning>>;
  amounts?: AmountStyle;
  dateOrder?: DateOrder;
  encoding?: Encoding;
  /** Values of fields that the file has no column for. */
  constants: { currency?: Currency; remittance?: string; period?: string };
  /** Lines before the header. */
  titleLines: number;
  /** Lines after the last row, and the columns of the first of them that hold the number of rows and their sum. */
  totals: { lines: number; countColumn?: string; totalColumn?: string };
}

/** A file of which nothing is said. */
export const NO_PROFILE: PayFileProfile = {
  columns: {},
  constants: {},
  titleLines: 0,
  totals: { lines: 0 },
};

/** What a header means by a profile, or by the names known; undefined when it means nothing. */
export type HeaderMeaning = { meaning: ColumnMeaning; by: 'profile' | 'name' } | undefined;

/** The column of a corrections file that tells its faults; in a file that is uploaded nothing is read from it. */
export const ERRORS_COLUMN = 'payrun_errors';

/** Reads header names by a profile: its own columns first. */
export function headerReader(profile: PayFileProfile): (header: string) => HeaderMeaning {
  const own = new Map(
    Object.entries(profile.columns).map(([header, meaning]) => [foldHeader(header), meaning]),
  );
  return (header) => {
    const meaning = own.get(foldHeader(header));
    if (meaning !== undefined) return { meaning, by: 'profile' };
    if (header === ERRORS_COLUMN) return { meaning: 'ignored', by: 'name' };
    const field = fieldOfHeader(header);
    return field === undefined ? undefined : { meaning: field, by: 'name' };
  };
}
