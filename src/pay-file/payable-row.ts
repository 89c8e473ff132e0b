import { ElementType } from '../database/binary-array';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { normaliseName } from '../domain/party';
import { CheckedRow } from '../domain/pay-file';
import { hexRowHash } from '../pay-run/run-hash';
import { SeenHashes } from './seen-hashes';

/** What of a row becomes a payment. */
const COLUMNS = {
  line: 'int4',
  employee_id: 'text',
  row_no: 'int4',
  id: 'uuid',
  name_sealed: 'text',
  written_name_sealed: 'text',
  name_hash: 'bytea',
  iban_sealed: 'text',
  iban_hash: 'bytea',
  bic: 'text',
  amount_minor: 'int8',
  currency: 'text',
  remittance: 'text',
  row_hash: 'bytea',
} as const satisfies Readonly<Record<string, ElementType>>;

/** The types of a payable row's cells, in their order. */
export const CELL_TYPES: readonly ElementType[] = Object.values(COLUMNS);

/** The columns of the row table and of `payment` that hold the cells. */
export const PAYABLE_COLUMNS = Object.keys(COLUMNS).join(', ');

/** Bytes are in hexadecimal digits. */
export type Cell = string | number | bigint | null;

/** A row without faults, ready for the database. */
export interface PayableRow {
  cells: readonly Cell[];
  /** Whether its account was perhaps seen in a row before it. */
  accountSeen: boolean;
  /** The row of an earlier file that it corrects. */
  corrects: number | undefined;
}

/** Where a row stands: in the file, counted from 1, and in an earlier one that it corrects. */
export interface RowPlace {
  rowNo: number;
  corrects: number | undefined;
}

/** Seals and hashes what a row says; `accounts` are those of the rows before it. */
export function payableRow(
  personal: PersonalData,
  accounts: SeenHashes,
  row: CheckedRow,
  { rowNo, corrects }: RowPlace,
): PayableRow {
  const ibanHash = personal.hexHash(row.iban);
  const cells = [
    row.line,
    row.employeeId,
    rowNo,
    newId(),
    personal.seal(row.sepaName),
    row.nameChanged ? personal.seal(row.name) : null,
    personal.hexHash(normaliseName(row.sepaName)),
    personal.seal(row.iban),
    ibanHash,
    row.bic ?? null,
    row.amountMinor,
    row.currency,
    row.remittance,
    hexRowHash(row),
  ];
  return { cells, accountSeen: accounts.see(ibanHash), corrects };
}
