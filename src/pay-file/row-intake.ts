import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { checkRow, RowContext } from '../domain/pay-file';
import { showId } from '../http/prefixed-id';
import { PayKey } from '../pay-run/pay-key';
import { CsvRecord, CsvUnreadable, readCsv } from './csv-reader';
import { Columns, readHeader, toRow } from './pay-file-columns';
import {
  cellFault,
  COLUMN_NAMES,
  fileFault,
  MAX_SHOWN_FAULTS,
  PayFileFault,
  PayFileFaults,
} from './pay-file-fault';
import {
  analyseRows,
  createRowTable,
  findPaid,
  findTwice,
  keyLine,
  paymentLine,
  RowCopy,
  takeReleases,
} from './pay-file.store';

import { linkReplaced } from './replacing';

/** What the rows of a file are checked against. */
export interface IntakeContext extends RowContext, PayKey {
  maxRows: number;
}

/**
 * Reads a pay file, checks all of it and copies its payable rows into the row table. Nothing is payable when there
 * are faults: from the first one on rows are kept by employee only, so that a wrong file costs little.
 */
export async function copyPayFile(
  tx: EmployerTransaction,
  personal: PersonalData,
  bytes: AsyncIterable<Buffer>,
  context: IntakeContext,
): Promise<PayFileFaults> {
  await createRowTable(tx);
  const intake = new RowIntake(personal, context);
  const copy = new RowCopy(tx);
  try {
    for await (const records of readCsv(bytes)) {
      await copy.add(intake.take(records));
      if (intake.ended) break;
    }
    intake.end();
  } catch (error) {
    if (!(error instanceof CsvUnreadable)) throw error;
    intake.faults.add([error.fault]);
  }
  await copy.end();
  await checkEmployees(tx, context, intake.faults);
  await linkReplaced(tx, personal, context, intake.faults);
  return intake.faults;
}

class RowIntake {
  readonly faults = new PayFileFaults();
  ended = false;
  private columns: Columns | undefined;
  private rows = 0;

  constructor(
    private readonly personal: PersonalData,
    private readonly context: IntakeContext,
  ) {}

  /** The lines of the row table for the records; the first record of all is the header. */
  take(records: readonly CsvRecord[]): string {
    let lines = '';
    for (const record of records) {
      if (this.ended) break;
      if (!this.columns) this.takeHeader(record);
      else lines += this.takeRow(record, this.columns);
    }
    return lines;
  }

  /** Tells what only the end of the file shows. */
  end(): void {
    if (this.ended) return;
    if (!this.columns) this.faults.add([fileFault(1, 'FILE_EMPTY')]);
    else if (this.rows === 0) this.faults.add([fileFault(1, 'NO_ROWS')]);
  }

  private takeHeader(record: CsvRecord): void {
    const { columns, faults } = readHeader(record);
    this.columns = columns;
    this.faults.add(faults);
    this.ended = columns === undefined;
  }

  /** The row's line of the row table, or nothing. */
  private takeRow(record: CsvRecord, columns: Columns): string {
    this.rows += 1;
    if (this.rows > this.context.maxRows) {
      const message = `The file has more than ${this.context.maxRows} rows.`;
      this.faults.add([fileFault(record.line, 'TOO_MANY_ROWS', { message })]);
      this.ended = true;
      return '';
    }
    const row = toRow(record, columns);
    if ('code' in row) {
      this.faults.add([row]);
      return '';
    }
    const { payment, faults } = checkRow(row, this.context);
    this.faults.add(faults.map(cellFault));
    if (payment && this.faults.count === 0) return paymentLine(this.personal, payment, this.rows);
    if (faults.some((fault) => fault.column === 'employeeId')) return '';
    return keyLine(row.line, row.employeeId);
  }
}

/** Rules over several rows are checked by the database, which has them all. */
async function checkEmployees(tx: EmployerTransaction, key: PayKey, faults: PayFileFaults): Promise<void> {
  await analyseRows(tx);
  const twice = await findTwice(tx, MAX_SHOWN_FAULTS);
  await takeReleases(tx, key);
  const paid = await findPaid(tx, key, MAX_SHOWN_FAULTS);
  faults.merge(
    twice.rows.map((row) =>
      employeeFault('EMPLOYEE_TWICE', row, `The employee is already in line ${row.first_line}.`),
    ),
    twice.total,
  );
  faults.merge(
    paid.rows.map((row) => {
      const where = `line ${row.paid_line} of ${showId('run', row.pay_run_id)}`;
      return employeeFault('EMPLOYEE_ALREADY_PAID', row, `The employee is paid by ${where}.`);
    }),
    paid.total,
  );
}

function employeeFault(
  code: 'EMPLOYEE_TWICE' | 'EMPLOYEE_ALREADY_PAID',
  row: { line: number; employee_id: string },
  message: string,
): PayFileFault {
  return fileFault(row.line, code, { column: COLUMN_NAMES.employeeId, value: row.employee_id, message });
}
