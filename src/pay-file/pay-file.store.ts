import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { EmployerTransaction } from '../database/database';
import { inParts } from '../database/in-parts';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { normaliseName } from '../domain/party';
import { CheckedRow } from '../domain/pay-file';
import { PayKey } from '../pay-run/pay-key';
import { rowHash } from '../pay-run/run-hash';
import { FaultyRow, sealCells, sealFaults } from './faulty-row';

/** What of a row becomes a payment. */
const COLUMNS = `line, employee_id, row_no, id, name_sealed, written_name_sealed, name_hash, iban_sealed, iban_hash,
  bic, amount_minor, currency, remittance, row_hash`;

/**
 * Makes the table the rows of a file are copied into, which goes with the transaction. COPY into a table with forced
 * row-level security is refused, so rows reach `payment` from here.
 */
export async function createRowTable(tx: EmployerTransaction): Promise<void> {
  await tx.query(`
    CREATE TEMPORARY TABLE uploaded_row (
      line integer NOT NULL,
      employee_id text,
      row_no integer NOT NULL,
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
      corrects integer,
      cells_sealed text,
      faults_sealed text,
      fault_count integer,
      payable boolean GENERATED ALWAYS AS (id IS NOT NULL AND fault_count IS NULL) STORED,
      release_sequence smallint NOT NULL DEFAULT 0,
      replaces_payment_id uuid,
      held boolean NOT NULL DEFAULT false
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

  /** Takes lines made by `paymentLine`, `keyLine` and `faultyLine`; throws what kept earlier ones from being copied. */
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
    const copy = this.tx.client.query(
      copyFrom(
        `COPY pg_temp.uploaded_row (${COLUMNS}, corrects, cells_sealed, faults_sealed, fault_count) FROM STDIN`,
      ),
    );
    this.copying = pipeline(Readable.from(parts), copy);
    // It is thrown to whoever comes next.
    this.copying.catch(() => undefined);
  }
}

/** A payable row in the text form of COPY. `rowNo` counts from 1; `corrects` is the line of an earlier file. */
export function paymentLine(
  personal: PersonalData,
  row: CheckedRow,
  rowNo: number,
  corrects: number | undefined,
): string {
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
    corrects ?? null,
    null,
    null,
    null,
  ]);
}

const NOTHING_PAYABLE = Array<null>(11).fill(null);

/** A good row of a file that is refused already: only employees who may not be paid again are looked for. */
export function keyLine(line: number, employeeId: string, rowNo: number): string {
  return copyLine([line, employeeId, rowNo, ...NOTHING_PAYABLE, null, null, null, null]);
}

/** A row with faults; what can be read of it is told beside its cells. */
export interface KeptRow extends FaultyRow {
  rowNo: number;
  employeeId: string | undefined;
  amountMinor: bigint | undefined;
  corrects: number | undefined;
}

/** A row with faults in the text form of COPY. */
export function faultyLine(personal: PersonalData, row: KeptRow): string {
  const [beforeAmount, afterAmount] = [NOTHING_PAYABLE.slice(0, 7), NOTHING_PAYABLE.slice(8)];
  return copyLine([
    row.line,
    row.employeeId ?? null,
    row.rowNo,
    ...beforeAmount,
    row.amountMinor ?? null,
    ...afterAmount,
    row.corrects ?? null,
    sealCells(personal, row.cells),
    sealFaults(personal, row.faults),
    row.faults.length,
  ]);
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

/** Tells the planner how many rows were copied, and of what it compares: it believes a fresh table to be small. */
export async function analyseRows(tx: EmployerTransaction): Promise<void> {
  await tx.query('ANALYZE pg_temp.uploaded_row (line, employee_id, row_no, release_sequence)');
}

/** Makes the payable rows, whose numbers go up to `lastRow`, payments of a run, in state READY or HELD. */
export async function insertPayments(
  tx: EmployerTransaction,
  payRunId: string,
  key: PayKey,
  lastRow: number,
): Promise<void> {
  await inParts(lastRow, (first, last) =>
    tx.query(
      `INSERT INTO payment (employer_id, pay_run_id, period, kind_of_pay, status, live, release_sequence,
         replaces_payment_id, ${COLUMNS})
       SELECT $1, $2, $3, $4, CASE WHEN held THEN 'HELD' ELSE 'READY' END, NOT held, release_sequence,
         replaces_payment_id, ${COLUMNS}
       FROM pg_temp.uploaded_row WHERE row_no BETWEEN $5 AND $6 AND payable`,
      [tx.employerId, payRunId, key.period, key.kindOfPay, first, last],
    ),
  );
}

/** How much of the copied rows is held. */
export interface HeldRows {
  payments: number;
  amountMinor: bigint;
}

/** Makes what was found in the copied rows holds of a run whose payments are there. */
export async function insertHolds(tx: EmployerTransaction, payRunId: string): Promise<HeldRows> {
  await tx.query(
    `INSERT INTO pay_hold (employer_id, pay_run_id, row_no, payment_id, code, beside_run_id, beside_line, bound_minor,
       same_rows)
     SELECT $1, $2, coalesce(u.row_no, 0), u.id, h.code, h.beside_run_id, h.beside_line, h.bound_minor, h.same_rows
     FROM pg_temp.found_hold h LEFT JOIN pg_temp.uploaded_row u ON u.line = h.line AND u.payable`,
    [tx.employerId, payRunId],
  );
  const [held] = await tx.query<{ payments: number; amount_minor: string }>(
    `SELECT count(*)::int AS payments, coalesce(sum(amount_minor), 0) AS amount_minor
     FROM pg_temp.uploaded_row WHERE held`,
  );
  return { payments: held?.payments ?? 0, amountMinor: BigInt(held?.amount_minor ?? 0) };
}
