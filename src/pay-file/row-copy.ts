import { finished } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { MOST_BYTES_OF_A_UNIT } from '../database/binary-array';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { FaultyRow, sealCells, sealFaults } from './faulty-row';
import { Cell, CELL_TYPES, PAYABLE_COLUMNS, PayableRow, RowPlace } from './payable-row';

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
      replaces_reason text,
      held boolean NOT NULL DEFAULT false
    ) ON COMMIT DROP;
    CREATE INDEX ON pg_temp.uploaded_row (row_no)`);
}

/** What is done with the rows that were read of a file. */
export interface RowSink {
  /** Takes rows, while what was taken before is under way; throws what kept that from the database. */
  add(rows: readonly TakenRow[]): Promise<void>;
  /** Waits until all rows are there. Nothing else may use the transaction between `add` and this. */
  end(): Promise<void>;
}

/** A row as it was read: payable, or the line of the row table for any other. */
export type TakenRow = PayableRow | string;

/** Statements under way on one connection, while their maker goes on with something else. */
export class Underway {
  private readonly statements: Promise<unknown>[] = [];

  /** Waits until at most so many have not ended; throws what one that has failed of. */
  async atMost(count: number): Promise<void> {
    while (this.statements.length > count) await this.statements.shift();
  }

  /** Notes one that has begun. */
  begin(statement: Promise<unknown>): void {
    this.statements.push(statement);
    // It is thrown to whoever waits for it.
    statement.catch(() => undefined);
  }
}

/** What one COPY takes: some 2,500 rows, so that the statements cost little and memory stays small. */
const COPY_BYTES = 1_048_576;

const COPIED = `${PAYABLE_COLUMNS}, account_seen, corrects, cells_sealed, faults_sealed, fault_count`;

/**
 * Copies rows into the row table while the next ones are being read. Of its two buffers one is filled while the other is
 * copied: bytes that are gathered anew each time would outlive the garbage collector's small rounds.
 */
export class RowCopy implements RowSink {
  private filling = Buffer.allocUnsafeSlow(COPY_BYTES);
  private other = Buffer.allocUnsafeSlow(COPY_BYTES);
  private bytes = 0;

  constructor(
    private readonly tx: EmployerTransaction,
    private readonly underway = new Underway(),
  ) {}

  async add(rows: readonly TakenRow[]): Promise<void> {
    const lines = rows.map((row) => (typeof row === 'string' ? row : payableLine(row)));
    const most = lines.reduce((sum, line) => sum + line.length, 0) * MOST_BYTES_OF_A_UNIT;
    if (this.bytes + most > this.filling.length) await this.flush();
    if (most > this.filling.length) this.filling = Buffer.allocUnsafeSlow(most);
    // One by one: a single letter beyond Latin would double the width of all of them.
    for (const line of lines) this.bytes += this.filling.write(line, this.bytes);
  }

  async end(): Promise<void> {
    await this.flush();
    await this.underway.atMost(0);
  }

  private async flush(): Promise<void> {
    await this.underway.atMost(0);
    if (this.bytes === 0) return;
    const { filling } = this;
    const copy = this.tx.stream(copyFrom(`COPY pg_temp.uploaded_row (${COPIED}) FROM STDIN`));
    const copied = finished(copy);
    this.underway.begin(copied);
    const sent = new Promise((resolve) => copy.write(filling.subarray(0, this.bytes), resolve));
    copy.end();
    // The server asks for the bytes first, and would wait for them while this process reads on.
    await Promise.race([sent, copied]);
    this.filling = this.other;
    this.other = filling;
    this.bytes = 0;
  }
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

function payableLine({ cells, accountSeen, corrects }: PayableRow): string {
  const payable = cells.map((cell, n) => (CELL_TYPES[n] === 'bytea' ? `\\x${cell}` : cell));
  return copyLine([...payable, String(accountSeen), corrects ?? null, null, null, null]);
}

const NULL = '\\N';

const SPECIAL = /[\\\t\n\r]/;
const SPECIALS = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function copyLine(cells: readonly Cell[]): string {
  return `${cells.map(copyCell).join('\t')}\n`;
}

function copyCell(cell: Cell): string {
  if (cell === null) return NULL;
  const text = String(cell);
  return SPECIAL.test(text) ? text.replace(SPECIALS, (character) => ESCAPES[character] ?? character) : text;
}
