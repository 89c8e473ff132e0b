import { finished } from 'node:stream/promises';
import { escapeLiteral } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { inParts } from '../database/in-parts';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { normaliseName } from '../domain/party';
import { CheckedRow } from '../domain/pay-file';
import { PayKey, RunOfKey } from '../pay-run/pay-key';
import { hexRowHash } from '../pay-run/run-hash';
import { FaultyRow, sealCells, sealFaults } from './faulty-row';
import { SeenHashes } from './seen-hashes';

/** What of a row becomes a payment. */
const COLUMNS = `line, employee_id, row_no, id, name_sealed, written_name_sealed, name_hash, iban_sealed, iban_hash,
  bic, amount_minor, currency, remittance, row_hash`;

/** The hashes of a million accounts, which are grouped: on the disk that takes twice the time. */
const WORK_MEMORY = '64MB';

/**
 * Makes the table the rows of a file are copied into, which goes with the transaction. COPY into a table with forced
 * row-level security is refused, so rows reach `payment` from here.
 */
export async function createRowTable(tx: EmployerTransaction): Promise<void> {
  await tx.query(`
    SET LOCAL work_mem = '${WORK_MEMORY}';
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
      account_seen boolean,
      corrects integer,
      cells_sealed text,
      faults_sealed text,
      fault_count integer,
      payable boolean GENERATED ALWAYS AS (id IS NOT NULL AND fault_count IS NULL) STORED,
      release_sequence smallint NOT NULL DEFAULT 0,
      replaces_payment_id uuid,
      held boolean NOT NULL DEFAULT false
    ) ON COMMIT DROP;
    CREATE INDEX ON pg_temp.uploaded_row (row_no)`);
}

/** What one COPY takes: some 2,500 rows, so that the statements cost little and memory stays small. */
const COPY_BYTES = 1_048_576;

/** Of a UTF-16 unit in UTF-8; to count them exactly would take as long as to write them. */
const MOST_BYTES_OF_A_UNIT = 3;

/** Rows by their numbers, both included. */
export interface RowNumbers {
  first: number;
  last: number;
}

/** The statement that is carried out with rows as soon as they are in the row table. */
export type AfterCopy = (rows: RowNumbers) => string;

/**
 * Copies rows into the row table while the next ones are being read. Of its two buffers one is filled while the other is
 * copied: bytes that are gathered anew each time would outlive the garbage collector's small rounds.
 */
export class RowCopy {
  private filling = Buffer.allocUnsafeSlow(COPY_BYTES);
  private other = Buffer.allocUnsafeSlow(COPY_BYTES);
  private bytes = 0;
  private rows: RowNumbers = { first: 1, last: 0 };
  private copying: Promise<void> = Promise.resolve();

  constructor(
    private readonly tx: EmployerTransaction,
    private readonly after: AfterCopy = () => '',
  ) {}

  /**
   * Takes lines made by `paymentLine`, `keyLine` and `faultyLine`, of rows up to `last`; throws what kept earlier ones
   * from being copied.
   */
  async add(lines: readonly string[], last: number): Promise<void> {
    const most = lines.reduce((sum, line) => sum + line.length, 0) * MOST_BYTES_OF_A_UNIT;
    if (this.bytes + most > this.filling.length) await this.flush();
    if (most > this.filling.length) this.filling = Buffer.allocUnsafeSlow(most);
    // One by one: a single letter beyond Latin would double the width of all of them.
    for (const line of lines) this.bytes += this.filling.write(line, this.bytes);
    this.rows.last = last;
  }

  /** Waits until all lines are in the table. Nothing else may use the transaction between `add` and this. */
  async end(): Promise<void> {
    await this.flush();
    await this.copying;
  }

  private async flush(): Promise<void> {
    await this.copying;
    if (this.bytes === 0) return;
    const { filling, rows } = this;
    const copy = this.tx.stream(copyFrom(this.statements(rows)));
    this.copying = finished(copy);
    // It is thrown to whoever comes next.
    this.copying.catch(() => undefined);
    const sent = new Promise((resolve) => copy.write(filling.subarray(0, this.bytes), resolve));
    copy.end();
    // The server asks for the bytes first, and would wait for them while this process reads on.
    await Promise.race([sent, this.copying]);
    this.filling = this.other;
    this.other = filling;
    this.bytes = 0;
    this.rows = { first: rows.last + 1, last: rows.last };
  }

  /** In one message, so that the server goes on with the second while this process reads. */
  private statements(rows: RowNumbers): string {
    const columns = `${COLUMNS}, account_seen, corrects, cells_sealed, faults_sealed, fault_count`;
    return `COPY pg_temp.uploaded_row (${columns}) FROM STDIN; ${this.after(rows)}`;
  }
}

/** Where a row stands: in the file, counted from 1, and in an earlier one that it corrects. */
export interface RowPlace {
  rowNo: number;
  corrects: number | undefined;
}

/** A payable row in the text form of COPY; `accounts` are those of the rows before it. */
export function paymentLine(
  personal: PersonalData,
  accounts: SeenHashes,
  row: CheckedRow,
  { rowNo, corrects }: RowPlace,
): string {
  const { employeeId, sepaName, iban } = row;
  const ibanHash = personal.hexHash(iban);
  const written = row.nameChanged ? copyText(personal.seal(row.name)) : NULL;
  const nameHash = copyBytes(personal.hexHash(normaliseName(sepaName)));
  const name = `${copyText(personal.seal(sepaName))}\t${written}\t${nameHash}`;
  const account = `${copyText(personal.seal(iban))}\t${copyBytes(ibanHash)}\t${row.bic ?? NULL}`;
  const pay = `${row.amountMinor}\t${row.currency}\t${copyText(row.remittance)}\t${copyBytes(hexRowHash(row))}`;
  const keys = `${row.line}\t${copyText(employeeId)}\t${rowNo}\t${newId()}`;
  const found = `${accounts.see(ibanHash)}\t${corrects ?? NULL}`;
  return `${keys}\t${name}\t${account}\t${pay}\t${found}\t${NULL}\t${NULL}\t${NULL}\n`;
}

const NOTHING_PAYABLE = Array<null>(12).fill(null);

/** A good row of a file that is refused already: only employees who may not be paid again are looked for. */
export function keyLine(line: number, employeeId: string, rowNo: number): string {
  return copyLine([line, employeeId, rowNo, ...NOTHING_PAYABLE, null, null, null, null]);
}

/** A row with faults; what can be read of it is told beside its cells. */
export interface KeptRow extends FaultyRow, RowPlace {
  employeeId: string | undefined;
  amountMinor: bigint | undefined;
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

type Cell = string | number | bigint | null;

const NULL = '\\N';

const SPECIAL = /[\\\t\n\r]/;
const SPECIALS = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function copyLine(cells: readonly Cell[]): string {
  return `${cells.map(copyCell).join('\t')}\n`;
}

function copyCell(cell: Cell): string {
  return cell === null ? NULL : copyText(String(cell));
}

function copyBytes(hex: string): string {
  return `\\\\x${hex}`;
}

function copyText(text: string): string {
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
export async function insertPayments(tx: EmployerTransaction, run: RunOfKey, lastRow: number): Promise<void> {
  await inParts(lastRow, (first, last) => tx.query(insertion(tx, run, { first, last })));
}

/** The statement that makes some of the payable rows payments of a run. */
export function insertion(
  { employerId }: EmployerTransaction,
  { id, period, kindOfPay }: RunOfKey,
  { first, last }: RowNumbers,
): string {
  const [employer, run, ...key] = [employerId, id, period, kindOfPay].map(escapeLiteral);
  return `INSERT INTO payment (employer_id, pay_run_id, period, kind_of_pay, status, live, release_sequence,
      replaces_payment_id, ${COLUMNS})
    SELECT ${employer}::uuid, ${run}::uuid, ${key.join(', ')}, CASE WHEN held THEN 'HELD' ELSE 'READY' END, NOT held,
      release_sequence, replaces_payment_id, ${COLUMNS}
    FROM pg_temp.uploaded_row WHERE row_no BETWEEN ${first} AND ${last} AND payable`;
}

/** Holds the payments of a run's rows that were made payments before they were found to be held. */
export async function holdInserted(
  tx: EmployerTransaction,
  payRunId: string,
  lastRow: number,
): Promise<void> {
  await inParts(lastRow, (first, last) =>
    queryByHash(
      tx,
      `UPDATE payment p SET status = 'HELD', live = false
       FROM pg_temp.uploaded_row u
       WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.row_no BETWEEN $3 AND $4 AND p.row_no = u.row_no AND u.held`,
      [tx.employerId, payRunId, first, last],
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
