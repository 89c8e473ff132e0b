import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { refusesFile } from '../domain/fault-policy';
import { readDriverError } from '../config/driver-error';
import { PayRun } from '../pay-run/pay-run.entity';
import { PayKey } from '../pay-run/pay-key';
import { NewRun, openRun } from './make-run';
import { PaymentInsert } from './payment-insert';
import { copyRows, IntakeContext, ReadFile } from './row-intake';
import { UploadedFile } from './spool';

/** What refuses a second live payment of an employee. */
const ONE_PAYMENT = 'one_live_payment_per_employee_and_period';

/** What was read, and the draft whose payments the payable rows are where the file is not refused. */
export interface ReadAndPaid {
  read: ReadFile;
  draft?: Pick<NewRun, 'payRunId' | 'early'>;
}

/** Whether no run of the key was ever made: then no row repeats or replaces a payment, or needs a release. */
export async function isFirstPay(tx: EmployerTransaction, { period, kindOfPay }: PayKey): Promise<boolean> {
  return !(await tx.manager.existsBy(PayRun, { employerId: tx.employerId, period, kindOfPay }));
}

/**
 * Reads the first file of a period and makes its rows payments of a draft while the next ones are read: the database
 * takes as long for that as the reading does.
 * @returns undefined where nothing was kept, as some employee stands in it twice: the later rows are to be held
 */
export async function payWhileReading(
  tx: EmployerTransaction,
  personal: PersonalData,
  made: Pick<NewRun, 'file' | 'personId' | 'terms'>,
  context: IntakeContext,
): Promise<ReadAndPaid | undefined> {
  await tx.query('SAVEPOINT unread');
  const { period, kindOfPay } = made.terms;
  const run = { id: await openRun(tx, made), period, kindOfPay };
  try {
    const read = await copyRows(tx, personal, made.file.read(), context, new PaymentInsert(tx, run));
    if (!isRefused(read, context)) return { read, draft: { payRunId: run.id, early: true } };
    await tx.query('ROLLBACK TO SAVEPOINT unread');
    return { read: await readRefused(tx, personal, made.file, context, read) };
  } catch (error) {
    if (readDriverError(error)?.constraint !== ONE_PAYMENT) throw error;
    await tx.query('ROLLBACK TO SAVEPOINT unread');
    return undefined;
  }
}

/** A refused file was read up to its first fault or so; what is to be corrected takes a second time. */
async function readRefused(
  tx: EmployerTransaction,
  personal: PersonalData,
  file: UploadedFile,
  context: IntakeContext,
  read: ReadFile,
): Promise<ReadFile> {
  if (read.faultyRows === 0) return read;
  return copyRows(tx, personal, file.read(), { ...context, refused: true });
}

function isRefused(read: ReadFile, { faultPolicy }: IntakeContext): boolean {
  return read.faults.refuseFile || refusesFile(faultPolicy, read);
}
