import { Injectable } from '@nestjs/common';
import { Database, EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { formatMinor } from '../domain/money';
import { checkRow, PayFileRow, RowContext } from '../domain/pay-file';
import { PayFileProfile } from '../domain/pay-file-profile';
import { Problem } from '../http/problem';
import { readCsv } from './csv-reader';
import { CsvUnreadable } from './csv-unreadable';
import { Dialect } from './dialect';
import { faultOfUnreadable } from './encoding-question';
import { FileRows, readRow, saidOf } from './file-rows';
import { Columns, FoundColumn } from './pay-file-columns';
import { cellFault, fileFault, MAX_SHOWN_FAULTS, PayFileFault } from './pay-file-fault';
import { reading } from './reading';
import { UploadedFile } from './spool';
import { defaultRemittance, resolveAccount, UploadFields } from './terms';

/** Enough to see whether every column was taken for what it is. */
const SHOWN_ROWS = 10;

/** What the bank would be sent for one row; null where the row has faults. */
export interface PreviewedPayment {
  employeeId: string;
  name: string;
  writtenName: string;
  iban: string;
  bic: string | null;
  amount: string;
  currency: string;
  remittance: string;
}

/** How a file would be read. */
export interface Preview {
  dialect: Dialect | null;
  columns: FoundColumn[];
  unknownColumns: string[];
  missingColumns: string[];
  constants: { column: string; value: string }[];
  rows: { line: number; payment: PreviewedPayment | null; faults: PayFileFault[] }[];
  /** Faults of the file up to the last row shown. */
  faults: PayFileFault[];
}

/** Reads the beginning of a file for a person to look at; nothing is stored. */
@Injectable()
export class PayFilePreview {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
  ) {}

  /** @throws Problem 422 `PROFILE_UNKNOWN`, `ACCOUNT_UNKNOWN` */
  async show(employerId: string, file: UploadedFile, fields: UploadFields): Promise<Preview> {
    const { profile, context } = await this.database.inEmployer(employerId, async (tx) => {
      const { profile } = await reading(tx, fields);
      const period = fields.period ?? profile.constants.period ?? '';
      const context = {
        debtorIban: await this.debtorIban(tx, fields.accountId),
        defaultRemittance: await defaultRemittance(tx, { kindOfPay: fields.kindOfPay, period }),
        executionDate: fields.executionDate,
        amounts: profile.amounts,
        dateOrder: profile.dateOrder,
      };
      return { profile, context };
    });
    return readBeginning(file, profile, context);
  }

  /** Without an account nothing is said of rows that would pay it. */
  private async debtorIban(tx: EmployerTransaction, accountId: string | undefined): Promise<string> {
    try {
      return this.personal.open((await resolveAccount(tx, accountId)).ibanSealed);
    } catch (error) {
      if (error instanceof Problem && error.code === 'ACCOUNT_MISSING') return '';
      throw error;
    }
  }
}

async function readBeginning(
  uploaded: UploadedFile,
  profile: PayFileProfile,
  context: RowContext,
): Promise<Preview> {
  const file = new FileRows(profile);
  const rows: Preview['rows'] = [];
  const faults: PayFileFault[] = [];
  const tell = (dialect: Dialect): void => void (file.dialect = dialect);
  try {
    for await (const records of readCsv(uploaded.read(), saidOf(profile), tell)) {
      for (const record of file.take(records)) {
        const row = file.columns && readRow(record, file.columns);
        if (row && file.columns && rows.length < SHOWN_ROWS) rows.push(showRow(row, file.columns, context));
      }
      if (rows.length >= SHOWN_ROWS || (file.header && !file.columns)) break;
    }
    if (!file.header) faults.push(fileFault(1, 'FILE_EMPTY'));
  } catch (error) {
    if (!(error instanceof CsvUnreadable)) throw error;
    faults.push(faultOfUnreadable(error, file.dialect));
  }
  return {
    ...showHeader(file),
    rows,
    faults: [...(file.header?.faults ?? []), ...faults].slice(0, MAX_SHOWN_FAULTS),
  };
}

function showHeader({ dialect, header }: FileRows): Omit<Preview, 'rows' | 'faults'> {
  const found = (header?.found ?? []).slice(0, MAX_SHOWN_FAULTS);
  const missing = (header?.faults ?? []).filter(({ code }) => code === 'COLUMN_MISSING');
  return {
    dialect: dialect ?? null,
    columns: found,
    unknownColumns: found.filter(({ meaning }) => meaning === null).map((column) => column.header),
    missingColumns: missing.map(({ value }) => value),
    constants: Object.entries(header?.columns?.constants ?? {}).map(([column, value]) => ({ column, value })),
  };
}

function showRow(
  row: PayFileRow | PayFileFault,
  columns: Columns,
  context: RowContext,
): Preview['rows'][number] {
  if ('code' in row) return { line: row.line, payment: null, faults: [row] };
  const { payment, faults } = checkRow(row, context);
  return {
    line: row.line,
    payment: payment
      ? {
          employeeId: payment.employeeId,
          name: payment.sepaName,
          writtenName: payment.name,
          iban: payment.iban,
          bic: payment.bic ?? null,
          amount: formatMinor(payment.amountMinor),
          currency: payment.currency,
          remittance: payment.remittance,
        }
      : null,
    faults: faults.map((fault) => cellFault(fault, columns.names)),
  };
}
