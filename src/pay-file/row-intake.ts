import { setImmediate } from 'node:timers/promises';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { FaultPolicy, FaultyShare, refusesAnyway } from '../domain/fault-policy';
import { checkRow, readAmount, RowContext } from '../domain/pay-file';
import { PayFileProfile } from '../domain/pay-file-profile';
import { PayKey } from '../pay-run/pay-key';
import { CsvRecord, readCsv } from './csv-reader';
import { CsvUnreadable } from './csv-unreadable';
import { amountForTotal, Declaration, faultsOfDeclaration, readTotalsLine } from './declaration';
import { Dialect } from './dialect';
import { faultOfUnreadable } from './encoding-question';
import { FileRows, lineOfEntry, markOfFile, readRow, saidOf } from './file-rows';
import { createNoteTable, keepNotedRows, tellNoted } from './noted-fault';
import { Columns } from './pay-file-columns';
import { cellFault, COLUMN_NAMES, fileFault, PayFileFault, PayFileFaults } from './pay-file-fault';
import { analyseRows, leaveReleasesOfAuthors, takeReleases } from './pay-file.store';
import { payableRow } from './payable-row';
import { linkReplaced } from './replacing';
import { createRowTable, faultyLine, keyLine, KeptRow, RowCopy, RowSink, TakenRow } from './row-copy';
import { SeenHashes } from './seen-hashes';
import { UploadedFile } from './spool';
import { defaultRemittance, UploadTerms } from './terms';

/** What the rows of a file are checked against. */
export interface IntakeContext extends RowContext, PayKey {
  /** Who uploads the file. */
  personId: string;
  maxRows: number;
  profile: PayFileProfile;
  /** What was declared with the upload. */
  declared: Declaration;
  faultPolicy: FaultPolicy;
  /** The id of the file whose faulty rows these correct. */
  corrects?: string;
  /** Whether it is known already that the file is refused. */
  refused?: boolean;
}

/** What the terms of a run and the profile of its file say of the rows. */
export async function contextOf(
  tx: EmployerTransaction,
  { account, period, kindOfPay, executionDate }: UploadTerms,
  profile: PayFileProfile,
  personal: PersonalData,
): Promise<Omit<IntakeContext, 'personId' | 'maxRows' | 'declared' | 'faultPolicy' | 'refused'>> {
  return {
    period,
    kindOfPay,
    executionDate,
    debtorIban: personal.open(account.ibanSealed),
    defaultRemittance: await defaultRemittance(tx, { kindOfPay, period }),
    amounts: profile.amounts,
    dateOrder: profile.dateOrder,
    profile,
  };
}

/** What was read of a file; its rows are in the row table. The total is undefined when an amount could not be read. */
export interface ReadFile extends FaultyShare {
  faults: PayFileFaults;
  file: FileRows;
  totalMinor: bigint | undefined;
}

/** Makes the tables that the rows of a file and what is wrong with them are copied into. */
export async function createRowTables(tx: EmployerTransaction): Promise<void> {
  await createRowTable(tx);
  await createNoteTable(tx);
}

/**
 * Reads a pay file and copies its rows into the row table, those with faults beside those without. Good rows of a file
 * that is refused already are kept by employee only, so that a wrong file costs little.
 * @param paying makes payments of the rows instead; once the file is refused for them it is not read on
 */
export async function copyRows(
  tx: EmployerTransaction,
  personal: PersonalData,
  bytes: AsyncIterable<Buffer>,
  context: IntakeContext,
  paying?: RowSink,
): Promise<ReadFile> {
  const intake = new RowIntake(personal, context);
  const sink = paying ?? new RowCopy(tx);
  try {
    const tell = (dialect: Dialect): void => void (intake.file.dialect = dialect);
    for await (const records of readCsv(bytes, saidOf(context.profile), tell)) {
      await sink.add(intake.take(records));
      if (intake.ended || (paying && intake.isRefused())) break;
      // Bytes that are there already would be read on and on, while the database waits to be heard.
      await setImmediate();
    }
    intake.end();
  } catch (error) {
    if (!(error instanceof CsvUnreadable)) throw error;
    intake.faults.addOfFile([faultOfUnreadable(error, intake.file.dialect)]);
  }
  await sink.end();
  return intake;
}

/**
 * Checks the copied rows against earlier payments, which the database knows: rows with a fault are faulty rows after it.
 * @returns the file with all its faults
 */
export async function checkRows(
  tx: EmployerTransaction,
  personal: PersonalData,
  uploaded: Pick<UploadedFile, 'read'>,
  context: IntakeContext,
  read: ReadFile,
): Promise<ReadFile> {
  const { faults, file } = read;
  const names = file.columns?.names ?? COLUMN_NAMES;
  await analyseRows(tx);
  await takeReleases(tx, context, context.personId);
  if (context.corrects !== undefined) await leaveReleasesOfAuthors(tx, context, context.corrects);
  await linkReplaced(tx, context);
  const noted = await tellNoted(tx, faults, names);
  if (noted === 0) return read;
  await keepNotedRows(tx, personal, uploaded.read(), context.profile, names);
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_temp.uploaded_row WHERE fault_count IS NOT NULL`,
  );
  return { faults, file, rows: read.rows, totalMinor: read.totalMinor, faultyRows: row?.count ?? 0 };
}

class RowIntake implements ReadFile {
  readonly faults = new PayFileFaults();
  readonly file: FileRows;
  ended = false;
  rows = 0;
  faultyRows = 0;
  private readonly accounts = new SeenHashes();
  private readonly correctedMark: string | undefined;
  private sumMinor = 0n;
  /** An amount that cannot be read is a fault of its own; the total is compared when all were. */
  private allAmountsRead = true;

  constructor(
    private readonly personal: PersonalData,
    private readonly context: IntakeContext,
  ) {
    this.file = new FileRows(context.profile);
    this.correctedMark = context.corrects === undefined ? undefined : markOfFile(context.corrects);
  }

  get totalMinor(): bigint | undefined {
    return this.allAmountsRead ? this.sumMinor : undefined;
  }

  /** The rows of the records; the first record of all is the header. */
  take(records: readonly CsvRecord[]): TakenRow[] {
    const hadHeader = this.file.header !== undefined;
    const rows = this.file.take(records);
    const { header } = this.file;
    if (!hadHeader && header) this.faults.addOfFile(header.faults);
    if (!header?.columns) {
      this.ended = header !== undefined;
      return [];
    }
    const taken: TakenRow[] = [];
    for (const record of rows) {
      if (this.ended) break;
      taken.push(this.takeRow(record, header.columns));
    }
    return taken;
  }

  /** Tells what only the end of the file shows. */
  end(): void {
    if (this.ended) return;
    const { columns } = this.file;
    if (!columns) return this.faults.addOfFile([fileFault(1, 'FILE_EMPTY')]);
    const { lines, faults } = this.file.totals();
    this.faults.addOfFile(faults);
    if (this.rows === 0) return this.faults.addOfFile([fileFault(1, 'NO_ROWS')]);
    const trailer = readTotalsLine(lines, columns, this.context.profile);
    const declared = [trailer.declared, this.context.declared];
    this.faults.addOfFile([
      ...trailer.faults,
      ...declared.flatMap((one) =>
        faultsOfDeclaration(one, { rows: this.rows, totalMinor: this.totalMinor }),
      ),
    ]);
  }

  /** The row, or an empty line. */
  private takeRow(record: CsvRecord, columns: Columns): TakenRow {
    const row = readRow(record, columns);
    if (!row) return '';
    this.rows += 1;
    if (this.rows > this.context.maxRows) {
      const message = `The file has more than ${this.context.maxRows} rows.`;
      this.faults.addOfFile([fileFault(record.line, 'TOO_MANY_ROWS', { message })]);
      this.ended = true;
      return '';
    }
    if ('code' in row) {
      this.allAmountsRead = false;
      return this.keepBack(record, [row]);
    }
    const { payment, faults } = checkRow(row, this.context);
    this.addUp(payment?.amountMinor ?? amountForTotal(row.amount, this.context.amounts));
    if (!payment) {
      const told = faults.map((fault) => cellFault(fault, columns.names));
      const usable = !faults.some((fault) => fault.column === 'employeeId');
      return this.keepBack(record, told, usable ? row.employeeId : undefined, this.amountOf(row.amount));
    }
    if (this.isRefused()) return keyLine(row.line, row.employeeId, this.rows);
    const place = { rowNo: this.rows, corrects: this.corrects(record) };
    return payableRow(this.personal, this.accounts, payment, place);
  }

  isRefused(): boolean {
    const { refused = false, faultPolicy } = this.context;
    return refused || this.faults.refuseFile || refusesAnyway(faultPolicy, this.faultyRows);
  }

  private keepBack(
    record: CsvRecord,
    faults: PayFileFault[],
    employeeId?: string,
    amountMinor?: bigint,
  ): string {
    this.faults.add(faults);
    this.faultyRows += 1;
    const kept: KeptRow = {
      line: record.line,
      rowNo: this.rows,
      employeeId,
      amountMinor,
      corrects: this.corrects(record),
      cells: this.file.split(record).own,
      faults,
    };
    return faultyLine(this.personal, kept);
  }

  private corrects(record: CsvRecord): number | undefined {
    return lineOfEntry(this.file.split(record).errors, this.correctedMark);
  }

  private amountOf(text: string): bigint | undefined {
    const read = readAmount(text, this.context.amounts);
    return read.ok ? read.amountMinor : undefined;
  }

  private addUp(amountMinor: bigint | undefined): void {
    if (amountMinor === undefined) this.allAmountsRead = false;
    else this.sumMinor += amountMinor;
  }
}
