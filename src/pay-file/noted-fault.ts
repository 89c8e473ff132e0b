import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { PayFileProfile } from '../domain/pay-file-profile';
import { CsvRecord, readCsv } from './csv-reader';
import { CsvUnreadable } from './csv-unreadable';
import { openFaults, sealCells, sealFaults } from './faulty-row';
import { FileRows, saidOf } from './file-rows';
import {
  ColumnNames,
  fileFault,
  FileFaultCode,
  MAX_SHOWN_FAULTS,
  PayFileFault,
  PayFileFaults,
} from './pay-file-fault';

/** A fault of a whole row that the database found; `said` is told in place of what the code means. */
interface NotedFault {
  line: number;
  code: FileFaultCode;
  employee_id: string | null;
  said: string | null;
}

/** Makes the table of faults that only the database can find, which goes with the transaction. */
export async function createNoteTable(tx: EmployerTransaction): Promise<void> {
  await tx.query(`
    CREATE TEMPORARY TABLE noted_fault (
      line integer NOT NULL,
      code text NOT NULL,
      employee_id text,
      said text,
      n integer GENERATED ALWAYS AS IDENTITY
    ) ON COMMIT DROP`);
}

/** Adds the noted faults to those that were found in the file. @returns how many there are */
export async function tellNoted(
  tx: EmployerTransaction,
  faults: PayFileFaults,
  names: ColumnNames,
): Promise<number> {
  const noted = await tx.query<NotedFault & { total: number }>(
    `SELECT *, (count(*) OVER ())::int AS total FROM pg_temp.noted_fault ORDER BY line, n LIMIT $1`,
    [MAX_SHOWN_FAULTS],
  );
  const total = noted[0]?.total ?? 0;
  faults.merge(
    noted.map((one) => faultOf(one, names)),
    total,
  );
  return total;
}

function faultOf(noted: NotedFault, names: ColumnNames): PayFileFault {
  const { line, code, employee_id: employeeId } = noted;
  const message = noted.said ?? undefined;
  if (employeeId === null) return fileFault(line, code, { message });
  return fileFault(line, code, { column: names.employeeId, value: employeeId, message });
}

/** Rows whose cells are fetched at once. */
const ROWS_AT_ONCE = 1_000;

interface NotedRow {
  line: number;
  noted: NotedFault[];
  faults_sealed: string | null;
}

/**
 * Makes the rows with noted faults faulty rows like others. Their cells were passed over when they were thought good,
 * so the file is read once more.
 */
export async function keepNotedRows(
  tx: EmployerTransaction,
  personal: PersonalData,
  bytes: AsyncIterable<Buffer>,
  profile: PayFileProfile,
  names: ColumnNames,
): Promise<void> {
  await tx.query(`CREATE INDEX ON pg_temp.uploaded_row (line);
    CREATE INDEX ON pg_temp.noted_fault (line, n);
    ANALYZE pg_temp.uploaded_row; ANALYZE pg_temp.noted_fault`);
  const file = new FileRows(profile);
  let rows = await notedRows(tx, 0);
  const found: { row: NotedRow; record: CsvRecord }[] = [];
  for await (const record of recordsOf(bytes, profile, file)) {
    const row = rows[found.length];
    if (!row) break;
    if (row.line !== record.line) continue;
    found.push({ row, record });
    if (found.length < rows.length) continue;
    await keep(tx, personal, file, names, found.splice(0));
    rows = await notedRows(tx, row.line);
  }
  await keep(tx, personal, file, names, found);
}

async function* recordsOf(
  bytes: AsyncIterable<Buffer>,
  profile: PayFileProfile,
  file: FileRows,
): AsyncGenerator<CsvRecord> {
  try {
    for await (const records of readCsv(bytes, saidOf(profile))) yield* file.take(records);
  } catch (error) {
    // Where it cannot be read on it could not be before, and no row after that place was noted.
    if (!(error instanceof CsvUnreadable)) throw error;
  }
}

function notedRows(tx: EmployerTransaction, after: number): Promise<NotedRow[]> {
  return tx.query<NotedRow>(
    `SELECT f.line, json_agg(f ORDER BY f.n) AS noted, min(u.faults_sealed) AS faults_sealed
     FROM pg_temp.noted_fault f JOIN pg_temp.uploaded_row u ON u.line = f.line
     WHERE f.line IN (SELECT DISTINCT line FROM pg_temp.noted_fault WHERE line > $1 ORDER BY line LIMIT $2)
     GROUP BY f.line ORDER BY f.line`,
    [after, ROWS_AT_ONCE],
  );
}

async function keep(
  tx: EmployerTransaction,
  personal: PersonalData,
  file: FileRows,
  names: ColumnNames,
  found: readonly { row: NotedRow; record: CsvRecord }[],
): Promise<void> {
  const faults = found.map(({ row }) => [
    ...(row.faults_sealed === null ? [] : openFaults(personal, row.faults_sealed, row.line)),
    ...row.noted.map((noted) => faultOf(noted, names)),
  ]);
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET cells_sealed = f.cells, faults_sealed = f.faults, fault_count = f.count
     FROM unnest($1::int[], $2::text[], $3::text[], $4::int[]) AS f(line, cells, faults, count)
     WHERE u.line = f.line`,
    [
      found.map(({ row }) => row.line),
      found.map(({ record }) => sealCells(personal, file.split(record).own)),
      faults.map((one) => sealFaults(personal, one)),
      faults.map((one) => one.length),
    ],
  );
}
