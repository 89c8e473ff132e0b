import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { normaliseName } from '../domain/party';
import { CheckedRow } from '../domain/pay-file';
import { PayKey } from '../pay-run/pay-key';
import { rowHash } from '../pay-run/run-hash';

const COLUMNS = `line, employee_id, row_no, id, name_sealed, written_name_sealed, name_hash, iban_sealed, iban_hash,
  bic, amount_minor, currency, remittance, row_hash`;

/** A row of the file whose employee stands in an earlier line of it. */
export interface TwiceRow {
  line: number;
  employee_id: string;
  first_line: number;
}

/** A row of the file whose employee has a live payment of the same period and kind of pay. */
export interface PaidRow {
  line: number;
  employee_id: string;
  pay_run_id: string;
  paid_line: number;
}

/** The first rows found, by line, and how many there are in all. */
export interface Found<Row> {
  rows: Row[];
  total: number;
}

/**
 * Makes the table the rows of a file are copied into, which goes with the transaction. COPY into a table with forced
 * row-level security is refused, so rows reach `payment` from here.
 */
export async function createRowTable(tx: EmployerTransaction): Promise<void> {
  await tx.query(`
    CREATE TEMPORARY TABLE uploaded_row (
      line integer NOT NULL,
      employee_id text NOT NULL,
      row_no integer,
      id uuid,
      name_sealed text,
      written_name_sealed text,
      name_hash bytea,
      iban_sealed text,
      iban_hash bytea,
      bic text,
      amount_minor bigint,
      currency text,
      remittance text,
      row_hash bytea,
      release_sequence smallint NOT NULL DEFAULT 0,
      replaces_payment_id uuid
    ) ON COMMIT DROP`);
}

/** What one COPY takes: some seven hundred rows, so that the statements cost nothing and memory stays small. */
const COPY_BYTES = 262_144;

/** Copies rows into the row table while the next ones are being read. */
export class RowCopy {
  private gathered: Buffer[] = [];
  private bytes = 0;
  private copying: Promise<void> = Promise.resolve();

  constructor(private readonly tx: EmployerTransaction) {}

  /** Takes lines made by `paymentLine` and `keyLine`; throws what kept earlier ones from being copied. */
  async add(lines: string): Promise<void> {
    // Outside of the heap these bytes are no work for the garbage collector.
    const part = Buffer.from(lines);
    this.gathered.push(part);
    this.bytes += part.length;
    if (this.bytes >= COPY_BYTES) await this.flush();
  }

  /** Waits until all lines are in the table. Nothing else may use the transaction between `add` and this. */
  async end(): Promise<void> {
    if (this.bytes > 0) await this.flush();
    await this.copying;
  }

  private async flush(): Promise<void> {
    await this.copying;
    const parts = this.gathered;
    this.gathered = [];
    this.bytes = 0;
    const copy = this.tx.client.query(copyFrom(`COPY pg_temp.uploaded_row (${COLUMNS}) FROM STDIN`));
    this.copying = pipeline(Readable.from(parts), copy);
    // It is thrown to whoever comes next.
    this.copying.catch(() => undefined);
  }
}

/** A payable row in the text form of COPY. `rowNo` counts from 1. */
export function paymentLine(personal: PersonalData, row: CheckedRow, rowNo: number): string {
  return copyLine([
    row.line,
    row.employeeId,
    rowNo,
    newId(),
    personal.seal(row.sepaName),
    row.nameChanged ? personal.seal(row.name) : null,
    personal.hash(normaliseName(row.sepaName)),
    personal.seal(row.iban),
    personal.hash(row.iban),
    row.bic ?? null,
    row.amountMinor,
    row.currency,
    row.remittance,
    rowHash(row),
  ]);
}

/** A row of a file that is refused already: it is kept only to find employees who are in it twice, or paid. */
export function keyLine(line: number, employeeId: string): string {
  return copyLine([line, employeeId, ...Array<null>(12).fill(null)]);
}

type Cell = string | number | bigint | Buffer | null;

const SPECIAL = /[\\\t\n\r]/;
const SPECIALS = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function copyLine(cells: readonly Cell[]): string {
  return `${cells.map(copyCell).join('\t')}\n`;
}

function copyCell(cell: Cell): string {
  if (cell === null) return '\\N';
  if (Buffer.isBuffer(cell)) return `\\\\x${cell.toString('hex')}`;
  const text = String(cell);
  return SPECIAL.test(text) ? text.replace(SPECIALS, (character) => ESCAPES[character] ?? character) : text;
}

/** Rows whose employee stands in an earlier line, at most `limit` of them. */
export async function findTwice(tx: EmployerTransaction, limit: number): Promise<Found<TwiceRow>> {
  return counted(
    await tx.query<TwiceRow & { total: string }>(
      `SELECT line, employee_id, first_line, count(*) OVER () AS total
       FROM (SELECT line, employee_id, min(line) OVER (PARTITION BY employee_id) AS first_line
             FROM pg_temp.uploaded_row) AS row
       WHERE line > first_line ORDER BY line LIMIT $1`,
      [limit],
    ),
  );
}

/** Gives rows whose employee has a live payment the first release that no live payment has used. */
export async function takeReleases(tx: EmployerTransaction, key: PayKey): Promise<void> {
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET release_sequence = unused.sequence
     FROM (SELECT r.employee_id, min(r.sequence) AS sequence FROM pay_release r
           WHERE r.employer_id = $1 AND r.period = $2 AND r.kind_of_pay = $3
             AND NOT EXISTS (SELECT FROM payment p WHERE p.employer_id = r.employer_id AND p.period = r.period
               AND p.kind_of_pay = r.kind_of_pay AND p.employee_id = r.employee_id
               AND p.release_sequence = r.sequence AND p.live)
           GROUP BY r.employee_id) AS unused
     WHERE u.employee_id = unused.employee_id
       AND EXISTS (SELECT FROM payment p WHERE p.employer_id = $1 AND p.period = $2 AND p.kind_of_pay = $3
         AND p.employee_id = u.employee_id AND p.live)`,
    [tx.employerId, key.period, key.kindOfPay],
  );
}

/** Rows without a release whose employee has a live payment, at most `limit` of them. */
export async function findPaid(tx: EmployerTransaction, key: PayKey, limit: number): Promise<Found<PaidRow>> {
  return counted(
    await tx.query<PaidRow & { total: string }>(
      `SELECT *, count(*) OVER () AS total
       FROM (SELECT DISTINCT ON (u.line) u.line, u.employee_id, p.pay_run_id, p.line AS paid_line
             FROM pg_temp.uploaded_row u
             JOIN payment p ON p.employer_id = $1 AND p.period = $2 AND p.kind_of_pay = $3
               AND p.employee_id = u.employee_id AND p.live
             WHERE u.release_sequence = 0
             ORDER BY u.line, p.release_sequence DESC) AS paid
       ORDER BY line LIMIT $4`,
      [tx.employerId, key.period, key.kindOfPay, limit],
    ),
  );
}

function counted<Row>(rows: (Row & { total: string })[]): Found<Row> {
  return { rows, total: Number(rows[0]?.total ?? 0) };
}

/** Tells the planner how many rows were copied, and of what it compares: it believes a fresh table to be small. */
export async function analyseRows(tx: EmployerTransaction): Promise<void> {
  await tx.query('ANALYZE pg_temp.uploaded_row (line, employee_id, row_no, release_sequence)');
}

/** Rows inserted by one statement, which has two minutes to end: it takes some seconds. */
const ROWS_AT_ONCE = 100_000;

/** Makes the copied rows payments of a run, in state READY. */
export async function insertPayments(tx: EmployerTransaction, payRunId: string, key: PayKey): Promise<void> {
  let inserted = ROWS_AT_ONCE;
  for (let first = 1; inserted === ROWS_AT_ONCE; first += ROWS_AT_ONCE) {
    const [row] = await tx.query<{ inserted: number }>(
      `WITH made AS (
         INSERT INTO payment (employer_id, pay_run_id, period, kind_of_pay, status, live, release_sequence,
           replaces_payment_id, ${COLUMNS})
         SELECT $1, $2, $3, $4, 'READY', true, release_sequence, replaces_payment_id, ${COLUMNS}
         FROM pg_temp.uploaded_row WHERE row_no BETWEEN $5 AND $6
         RETURNING 1)
       SELECT count(*)::int AS inserted FROM made`,
      [tx.employerId, payRunId, key.period, key.kindOfPay, first, first + ROWS_AT_ONCE - 1],
    );
    inserted = row?.inserted ?? 0;
  }
}
