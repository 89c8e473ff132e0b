import { BinaryArray } from '../database/binary-array';
import { EmployerTransaction } from '../database/database';
import { RunOfKey } from '../pay-run/pay-key';
import { CELL_TYPES, PAYABLE_COLUMNS, PayableRow } from './payable-row';
import { RowCopy, RowSink, TakenRow, Underway } from './row-copy';

/** Rows of one statement: so few that memory stays small, so many that the statements cost little. */
const ROWS_AT_ONCE = 1_000;

/** What the statement says of every row comes before its cells. */
const FIRST_CELL = 5;

const INSERTION = `
  INSERT INTO payment (employer_id, pay_run_id, period, kind_of_pay, status, live, release_sequence, ${PAYABLE_COLUMNS})
  SELECT $1::uuid, $2::uuid, $3, $4, 'READY', true, 0,
    ${CELL_TYPES.map((type, n) => `unnest($${FIRST_CELL + n}::${type}[])`).join(', ')}`;

type Arrays = readonly BinaryArray[];

/**
 * Makes payable rows payments of a run while the next ones are being read; only what is looked at again, faulty rows and
 * those whose account was seen before, is copied into the row table as well.
 */
export class PaymentInsert implements RowSink {
  private readonly underway = new Underway();
  private readonly copy: RowCopy;
  private filling: Arrays = CELL_TYPES.map((type) => new BinaryArray(type));
  /** Their bytes may be on their way still. */
  private other: Arrays = CELL_TYPES.map((type) => new BinaryArray(type));
  private rows = 0;

  constructor(
    private readonly tx: EmployerTransaction,
    private readonly run: RunOfKey,
  ) {
    this.copy = new RowCopy(tx, this.underway);
  }

  async add(rows: readonly TakenRow[]): Promise<void> {
    const again = rows.filter((row) => typeof row === 'string' || row.accountSeen);
    if (again.length > 0) await this.copy.add(again);
    for (const row of rows) {
      if (typeof row === 'string') continue;
      this.take(row);
      if (this.rows === ROWS_AT_ONCE) await this.flush();
    }
  }

  async end(): Promise<void> {
    await this.flush();
    await this.copy.end();
  }

  private take({ cells }: PayableRow): void {
    this.filling.forEach((array, n) => array.add(cells[n] ?? null));
    this.rows += 1;
  }

  private async flush(): Promise<void> {
    // The next one is there when the server has carried out the one before it.
    await this.underway.atMost(1);
    if (this.rows === 0) return;
    const { id, period, kindOfPay } = this.run;
    const values = [this.tx.employerId, id, period, kindOfPay, ...this.filling.map((array) => array.take())];
    this.underway.begin(this.tx.query(INSERTION, values, 'kept'));
    [this.filling, this.other] = [this.other, this.filling];
    this.rows = 0;
  }
}
