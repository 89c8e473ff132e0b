import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { DECIMAL_SIGNS, THOUSANDS_SIGNS } from '../domain/amount-style';
import { foldHeader } from '../domain/header-names';
import { ColumnMeaning } from '../domain/pay-file-profile';
import { DATE_ORDERS } from '../domain/written-date';
import { showId } from '../http/prefixed-id';
import { KeptProfile } from './profile.entity';
import { encodingField, periodField, profileNameField } from './terms';

/** What a column can be said to be. */
const MEANINGS = [
  'employeeId',
  'name',
  'iban',
  'bic',
  'amount',
  'currency',
  'remittance',
  'executionDate',
  'ignored',
] as const satisfies readonly ColumnMeaning[];

/** Wider than any payroll's file; what is not known must be said, so that the widest have to be said whole. */
const MAX_COLUMNS = 300;
const MAX_HEADER = 200;
/** A report's title and its totals take a handful of lines. */
const MAX_TITLE_LINES = 50;
const MAX_TOTALS_LINES = 10;

const headerField = z.string().trim().min(1).max(MAX_HEADER);

const amounts = z
  .strictObject({ decimalSign: z.enum(DECIMAL_SIGNS), thousandsSign: z.enum(THOUSANDS_SIGNS) })
  .refine(({ decimalSign, thousandsSign }) => String(decimalSign) !== thousandsSign, {
    message: 'decimal and thousands sign must differ',
  });

const columns = z
  .record(z.string().trim().max(MAX_HEADER), z.enum(MEANINGS))
  .refine((given) => Object.keys(given).length <= MAX_COLUMNS, `at most ${MAX_COLUMNS} columns`)
  .refine(eachHeaderOnce, 'two headers differ only in case, accents or spaces')
  .refine(eachFieldOnce, 'two headers mean the same field: one of them is to be “ignored”')
  .describe('Header as the file writes it, empty for a column without one → what the column is.');

function eachHeaderOnce(given: Record<string, ColumnMeaning>): boolean {
  const headers = Object.keys(given).map(foldHeader);
  return new Set(headers).size === headers.length;
}

function eachFieldOnce(given: Record<string, ColumnMeaning>): boolean {
  const fields = Object.values(given).filter((meaning) => meaning !== 'ignored');
  return new Set(fields).size === fields.length;
}

const profile = {
  name: profileNameField.describe('By which an upload names the profile.'),
  columns: columns.default({}),
  amounts: amounts.optional().describe('How amounts are written; 1234.56 when absent.'),
  dateOrder: z.enum(DATE_ORDERS).optional().describe('Of the column executionDate; YMD when absent.'),
  encoding: encodingField.optional().describe('UTF-8, or UTF-16 with its mark, when absent.'),
  constants: z
    .strictObject({
      currency: z.literal('EUR').optional(),
      remittance: z.string().trim().min(1).max(140).optional(),
      period: periodField.optional(),
    })
    .default({})
    .describe('Values for what the file has no column for.'),
  titleLines: z.int().min(0).max(MAX_TITLE_LINES).default(0).describe('Lines before the header.'),
  totals: z
    .strictObject({
      lines: z.int().min(0).max(MAX_TOTALS_LINES),
      countColumn: headerField.optional(),
      totalColumn: headerField.optional(),
    })
    .refine(
      ({ lines, countColumn, totalColumn }) => lines > 0 || (countColumn ?? totalColumn) === undefined,
      'without totals lines no column can hold totals',
    )
    .default({ lines: 0 })
    .describe(
      'Lines after the last row, and where the first of them holds the number of rows and their sum.',
    ),
};

/** The body of a new profile, or of its replacement. */
export class NewProfileBody extends createZodDto(z.strictObject(profile)) {}

const keptProfile = z.object({
  id: z.string(),
  ...profile,
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  changedAt: z.iso.datetime(),
});

/** A profile as it is shown. */
export class ProfileBody extends createZodDto(keptProfile) {}

/** A page of profiles. */
export class ProfilePage extends createZodDto(
  z.object({ items: z.array(keptProfile), nextCursor: z.string().nullable() }),
) {}

/** A profile for the outside. */
export function showProfile({
  id,
  name,
  definition,
  createdBy,
  createdAt,
  changedAt,
}: KeptProfile): ProfileBody {
  return {
    id: showId('prf', id),
    name,
    ...definition,
    createdBy: showId('per', createdBy),
    createdAt: createdAt.toISOString(),
    changedAt: changedAt.toISOString(),
  };
}
