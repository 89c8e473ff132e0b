import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { checkRow, readAmount, RowContext } from '../domain/pay-file';
import { PayFileProfile } from '../domain/pay-file-profile';
import { showId } from '../http/prefixed-id';
import { PayKey } from '../pay-run/pay-key';
import { CsvRecord, readCsv } from './csv-reader';
import { CsvUnreadable } from './csv-unreadable';
import { Declaration, faultsOfDeclaration, readTotalsLine } from './declaration';
import { Dialect } from './dialect';
import { faultOfUnreadable } from './encoding-question';
import { FileRows, readRow, saidOf } from './file-rows';
import { Columns } from './pay-file-columns';
import {
  cellFault,
  COLUMN_NAMES,
  ColumnNames,
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
  profile: PayFileProfile;
  /** What was declared with the upload. */
  declared: Declaration;
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
    const tell = (dialect: Dialect): void => void (intake.file.dialect = dialect);
    for await (const records of readCsv(bytes, saidOf(context.profile), tell)) {
      await copy.add(intake.take(records));
      if (intake.ended) break;
    }
    intake.end();
  } catch (error) {
    if (!(error instanceof CsvUnreadable)) throw error;
    intake.faults.add([faultOfUnreadable(error, intake.file.dialect)]);
  }
  await copy.end();
  await checkEmployees(tx, context, intake.faults, intake.file.columns?.names ?? COLUMN_NAMES);
  await linkReplaced(tx, personal, context, intake.faults);
  return intake.faults;
}

class RowIntake {
  readonly faults = new PayFileFaults();
  readonly file: FileRows;
  ended = false;
  private rows = 0;
  private totalMinor = 0n;
  /** An amount that cannot be read is a fault of its own; the total is compared when all were. */
  private allAmountsRead = true;

  constructor(
    private readonly personal: PersonalData,
    private readonly context: IntakeContext,
  ) {
    this.file = new FileRows(context.profile);
  }

  /** The lines of the row table for the records; the first record of all is the header. */
  take(records: readonly CsvRecord[]): string {
    const hadHeader = this.file.header !== undefined;
    const rows = this.file.take(records);
    const { header } = this.file;
    if (!hadHeader && header) this.faults.add(header.faults);
    if (!header?.columns) {
      this.ended = header !== undefined;
      return '';
    }
    let lines = '';
    for (const record of rows) {
      if (this.ended) break;
      lines += this.takeRow(record, header.columns);
    }
    return lines;
  }

  /** Tells what only the end of the file shows. */
  end(): void {
    if (this.ended) return;
    const { columns } = this.file;
    if (!columns) return this.faults.add([fileFault(1, 'FILE_EMPTY')]);
    const { lines, faults } = this.file.totals();
    this.faults.add(faults);
    if (this.rows === 0) return this.faults.add([fileFault(1, 'NO_ROWS')]);
    const read = { rows: this.rows, totalMinor: this.allAmountsRead ? this.totalMinor : undefined };
    const trailer = readTotalsLine(lines, columns, this.context.profile);
    const declared = [trailer.declared, this.context.declared];
    const found = [...trailer.faults, ...declared.flatMap((one) => faultsOfDeclaration(one, read))];
    this.faults.merge(found, found.length);
  }

  /** The row's line of the row table, or nothing. */
  private takeRow(record: CsvRecord, columns: Columns): string {
    const row = readRow(record, columns);
    if (!row) return '';
    this.rows += 1;
    if (this.rows > this.context.maxRows) {
      const message = `The file has more than ${this.context.maxRows} rows.`;
      this.faults.add([fileFault(record.line, 'TOO_MANY_ROWS', { message })]);
      this.ended = true;
      return '';
    }
    if ('code' in row) {
      this.allAmountsRead = false;
      this.faults.add([row]);
      return '';
    }
    const { payment, faults } = checkRow(row, this.context);
    this.addUp(payment?.amountMinor ?? this.amountOf(row.amount));
    if (payment && this.faults.count === 0) return paymentLine(this.personal, payment, this.rows);
    this.faults.add(faults.map((fault) => cellFault(fault, columns.names)));
    if (faults.some((fault) => fault.column === 'employeeId')) return '';
    return keyLine(row.line, row.employeeId);
  }

  private amountOf(text: string): bigint | undefined {
    const read = readAmount(text, this.context.amounts);
    return read.ok ? read.amountMinor : undefined;
  }

  private addUp(amountMinor: bigint | undefined): void {
    if (amountMinor === undefined) this.allAmountsRead = false;
    else this.totalMinor += amountMinor;
  }
}

/** Rules over several rows are checked by the database, which has them all. */
async function checkEmployees(
  tx: EmployerTransaction,
  key: PayKey,
  faults: PayFileFaults,
  names: ColumnNames,
): Promise<void> {
  await analyseRows(tx);
  const twice = await findTwice(tx, MAX_SHOWN_FAULTS);
  await takeReleases(tx, key);
  const paid = await findPaid(tx, key, MAX_SHOWN_FAULTS);
  faults.merge(
    twice.rows.map((row) =>
      employeeFault('EMPLOYEE_TWICE', row, names, `The employee is already in line ${row.first_line}.`),
    ),
    twice.total,
  );
  faults.merge(
    paid.rows.map((row) => {
      const where = `line ${row.paid_line} of ${showId('run', row.pay_run_id)}`;
      return employeeFault('EMPLOYEE_ALREADY_PAID', row, names, `The employee is paid by ${where}.`);
    }),
    paid.total,
  );
}

function employeeFault(
  code: 'EMPLOYEE_TWICE' | 'EMPLOYEE_ALREADY_PAID',
  row: { line: number; employee_id: string },
  names: ColumnNames,
  message: string,
): PayFileFault {
  return fileFault(row.line, code, { column: names.employeeId, value: row.employee_id, message });
}
