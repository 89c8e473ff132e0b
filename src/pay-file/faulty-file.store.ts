import { EmployerTransaction } from '../database/database';
import { inParts } from '../database/in-parts';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { DAY_MS } from '../domain/durations';
import { showId } from '../http/prefixed-id';
import { CORRECTED_BY, KEPT_BACK } from '../pay-run/kept-back';
import { Layout, layoutOf, openCells, openFaults, FaultyRow } from './faulty-row';
import { RefusedFile } from './pay-file-fault';
import { ReadFile } from './row-intake';

/** A payroll is mended within days of its pay day; what it names is personal data and goes after them. */
const REFUSED_KEPT_DAYS = 7;
/** Each may have a million rows: more than somebody mends at a time, and little enough for the disk. */
const MAX_REFUSED_KEPT = 20;

/** A file with faulty rows, as it was read. */
export interface FaultyFile {
  id: string;
  layout: Layout;
  rowCount: number;
  faultCount: number;
  readRows: number;
  /** In minor units; undefined when an amount could not be read. */
  readTotalMinor: bigint | undefined;
}

/** What was read by whom, and the bytes it was read from. */
export interface FaultyReading {
  sha256: Buffer;
  personId: string;
  read: ReadFile;
}

/** Keeps the faulty rows of the row table with the run that is made without them, if there are any. */
export async function keepFaultyRows(
  tx: EmployerTransaction,
  reading: FaultyReading,
  payRunId: string,
): Promise<void> {
  await insertFaultyFile(tx, reading, { payRunId, expiresAt: null });
}

/**
 * Keeps the faulty rows of a file that is refused, for some days; those of the one sent longest ago go. The same bytes keep
 * the id that they were told by first. Null when it has none.
 */
export async function keepRefusedFile(
  tx: EmployerTransaction,
  reading: FaultyReading,
  now: Date,
): Promise<RefusedFile | null> {
  const expiresAt = new Date(now.getTime() + REFUSED_KEPT_DAYS * DAY_MS);
  const kept = await insertFaultyFile(tx, reading, { payRunId: null, expiresAt });
  if (!kept) return null;
  await tx.query(
    `DELETE FROM faulty_file WHERE employer_id = $1 AND id IN (SELECT id FROM faulty_file
       WHERE employer_id = $1 AND pay_run_id IS NULL ORDER BY uploaded_at DESC, id DESC OFFSET $2)`,
    [tx.employerId, MAX_REFUSED_KEPT],
  );
  return { id: showId('rfl', kept.id), rows: kept.rows, keptUntil: expiresAt.toISOString() };
}

/** Deletes the rows of refused files whose time has come. @returns of how many files */
export async function forgetRefusedFiles(tx: EmployerTransaction, now: Date): Promise<number> {
  const gone = await tx.query(
    `DELETE FROM faulty_file WHERE employer_id = $1 AND pay_run_id IS NULL AND expires_at <= $2 RETURNING id`,
    [tx.employerId, now],
  );
  return gone.length;
}

/** Deletes what was read of the same bytes before. @returns the id it had, by which people fetch it, or a new one */
async function replaceRefused(tx: EmployerTransaction, sha256: Buffer): Promise<string> {
  const [earlier] = await tx.query<{ id: string }>(
    `DELETE FROM faulty_file WHERE employer_id = $1 AND pay_run_id IS NULL AND sha256 = $2 RETURNING id`,
    [tx.employerId, sha256],
  );
  return earlier?.id ?? newId();
}

async function insertFaultyFile(
  tx: EmployerTransaction,
  { sha256, personId, read }: FaultyReading,
  of: { payRunId: string | null; expiresAt: Date | null },
): Promise<{ id: string; rows: number } | undefined> {
  const layout = layoutOf(read.file);
  if (!layout || read.faultyRows === 0) return undefined;
  const id = of.payRunId === null ? await replaceRefused(tx, sha256) : newId();
  const [made] = await tx.query<{ rows: number }>(
    `INSERT INTO faulty_file (employer_id, id, pay_run_id, sha256, layout, row_count, fault_count, read_rows,
       read_total_minor, uploaded_by, expires_at)
     SELECT $1, $2, $3, $4, $5, count(*), sum(fault_count), $6, $7, $8, $9
     FROM pg_temp.uploaded_row WHERE fault_count IS NOT NULL
     RETURNING row_count AS rows`,
    [
      tx.employerId,
      id,
      of.payRunId,
      sha256,
      JSON.stringify(layout),
      read.rows,
      read.totalMinor?.toString() ?? null,
      personId,
      of.expiresAt,
    ],
  );
  await inParts(read.rows, (first, last) =>
    tx.query(
      `INSERT INTO faulty_row (employer_id, faulty_file_id, line, row_no, employee_id, amount_minor, cells_sealed,
         faults_sealed, fault_count)
       SELECT $1, $2, line, row_no, employee_id, amount_minor, cells_sealed, faults_sealed, fault_count
       FROM pg_temp.uploaded_row WHERE row_no BETWEEN $3 AND $4 AND fault_count IS NOT NULL`,
      [tx.employerId, id, first, last],
    ),
  );
  return made && { id, rows: made.rows };
}

interface StoredFile {
  id: string;
  layout: Layout;
  row_count: number;
  fault_count: number;
  read_rows: number;
  read_total_minor: string | null;
}

/** The rows kept back of a run, if it has or had any. */
export function findFaultyFile(tx: EmployerTransaction, payRunId: string): Promise<FaultyFile | undefined> {
  return findBy(tx, 'pay_run_id', payRunId);
}

/** The faulty rows of a refused file that is kept still. */
export function findRefusedFile(
  tx: EmployerTransaction,
  id: string,
  now: Date,
): Promise<FaultyFile | undefined> {
  return findBy(tx, 'expires_at > $3 AND id', id, now);
}

async function findBy(
  tx: EmployerTransaction,
  condition: string,
  ...values: readonly (string | Date)[]
): Promise<FaultyFile | undefined> {
  const [row] = await tx.query<StoredFile>(
    `SELECT id, layout, row_count, fault_count, read_rows, read_total_minor FROM faulty_file
     WHERE employer_id = $1 AND ${condition} = $2`,
    [tx.employerId, ...values],
  );
  return (
    row && {
      id: row.id,
      layout: row.layout,
      rowCount: row.row_count,
      faultCount: row.fault_count,
      readRows: row.read_rows,
      readTotalMinor: row.read_total_minor === null ? undefined : BigInt(row.read_total_minor),
    }
  );
}

/** A faulty row and, once it was corrected, the payment and run that pay it. */
export interface KeptBackRow extends FaultyRow {
  employeeId: string | null;
  correctedBy: { paymentId: string; payRunId: string } | null;
}

interface StoredRow {
  line: number;
  employee_id: string | null;
  cells_sealed: string;
  faults_sealed: string;
  payment_id: string | null;
  corrected_by: string | null;
}

/** Faulty rows after a line, in the order of lines; `keptBack`: only those that are not corrected. */
export async function listFaultyRows(
  tx: EmployerTransaction,
  personal: PersonalData,
  faultyFileId: string,
  { after, keptBack }: { after: number; keptBack: boolean },
  limit: number,
): Promise<KeptBackRow[]> {
  const rows = await tx.query<StoredRow>(
    `SELECT k.line, k.employee_id, k.cells_sealed, k.faults_sealed, k.payment_id, ${CORRECTED_BY} AS corrected_by
     FROM faulty_row k
     WHERE k.employer_id = $1 AND k.faulty_file_id = $2 AND k.line > $3 ${keptBack ? `AND ${KEPT_BACK}` : ''}
     ORDER BY k.line LIMIT $4`,
    [tx.employerId, faultyFileId, after, limit],
  );
  return rows.map((row) => ({
    line: row.line,
    employeeId: row.employee_id,
    cells: openCells(personal, row.cells_sealed),
    faults: openFaults(personal, row.faults_sealed, row.line),
    correctedBy:
      row.payment_id === null || row.corrected_by === null
        ? null
        : { paymentId: row.payment_id, payRunId: row.corrected_by },
  }));
}
