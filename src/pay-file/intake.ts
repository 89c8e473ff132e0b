import { Inject, Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { refusesFile } from '../domain/fault-policy';
import { findEmployer } from '../employer/employer.store';
import { readDriverError } from '../config/driver-error';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { BankCalendar } from '../pay-run/execution-date';
import { lockPayKey } from '../pay-run/pay-key';
import { PayRun } from '../pay-run/pay-run.entity';
import { faultsOfDeclaration } from './declaration';
import { findFaultyFile, keepFaultyRows, keepRefusedFile } from './faulty-file.store';
import { isFirstPay, payWhileReading } from './first-pay';
import { makeRun, openRun } from './make-run';
import { PayFile } from './pay-file.entity';
import { PayFileFaults, refusePayFile } from './pay-file-fault';
import { completeFields, reading, Reading, sameReading } from './reading';
import { checkRows, contextOf, copyRows, createRowTables, IntakeContext, ReadFile } from './row-intake';
import { UploadedFile } from './spool';
import { assertTerms, resolveTerms, UploadFields, UploadOfPeriod, UploadTerms } from './terms';
import { withTidyHeap } from './tidy-heap';
import { readUploadAnswer, UploadAnswer } from './upload-answer';

/** A received file, by whom, and what they said of it. */
export interface Delivery {
  employerId: string;
  personId: string;
  file: UploadedFile;
  fields: UploadFields;
}

/** A delivery of which it is known how its file is read. */
interface ReadableDelivery extends Delivery {
  fields: UploadOfPeriod;
  reading: Reading;
}

/** The answer, and whether it had been given before to the same upload. */
export interface Taken {
  answer: UploadAnswer;
  replayed: boolean;
}

/** Turns a pay file into a pay run that awaits approval, with what looks like a mistake held, or refuses all of it. */
@Injectable()
export class PayFileIntake {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly clock: Clock,
    @Inject(CONFIG)
    private readonly config: Pick<
      Config,
      'BANK_CLOSED_DAYS' | 'BANK_CUT_OFF' | 'BANK_TIME_ZONE' | 'MAX_PAY_FILE_ROWS'
    >,
  ) {}

  /**
   * Stores the file as a run in one transaction. The same file for the same terms is stored once; uploading it again
   * is answered with that run as it stands.
   * @throws Problem 422 `PAY_FILE_REFUSED` with every fault, 409 `EMPLOYEE_ALREADY_PAID` or `RUN_IS_MOVING` after a
   * lost race, 409 `FILE_READ_OTHERWISE` where the file is stored as another profile or encoding reads it, and those of
   * `reading`, `completeFields`, `resolveTerms`, `findEarlier` and `assertTerms`
   */
  async take(delivery: Delivery): Promise<Taken> {
    try {
      const taken = await withTidyHeap(delivery.file.sizeBytes, () =>
        this.database.inEmployer(delivery.employerId, (tx) => this.takeIn(tx, delivery)),
      );
      crashPoint('upload.stored');
      if (taken instanceof Problem) throw taken;
      return taken;
    } catch (error) {
      throw lostRace(error) ?? error;
    }
  }

  private async takeIn(tx: EmployerTransaction, delivery: Delivery): Promise<Taken | Problem> {
    const read = await reading(tx, delivery.fields);
    const readable = { ...delivery, reading: read, fields: completeFields(delivery.fields, read) };
    await lockPayKey(tx, readable.fields);
    const terms = await resolveTerms(tx, readable.fields);
    const earlier = await findEarlier(tx, delivery.file, terms);
    if (earlier) await assertSameReading(tx, earlier, readable);
    const id = earlier?.id ?? (await this.store(tx, readable, terms));
    if (id instanceof Problem) return id;
    return { answer: await readUploadAnswer(tx, this.personal, id), replayed: earlier !== null };
  }

  /** The id of the stored file, or the refusal that is to be answered once its faulty rows are kept. */
  private async store(
    tx: EmployerTransaction,
    delivery: ReadableDelivery,
    terms: UploadTerms,
  ): Promise<string | Problem> {
    const employer = await findEmployer(tx);
    const { faultPolicy } = employer;
    assertTerms(terms, this.bankDays(), employer);
    const context: IntakeContext = {
      ...(await contextOf(tx, terms, delivery.reading.profile, this.personal)),
      personId: delivery.personId,
      maxRows: this.config.MAX_PAY_FILE_ROWS,
      declared: declaredWith(delivery.fields),
      faultPolicy,
    };
    await createRowTables(tx);
    const paid = (await isFirstPay(tx, terms))
      ? await payWhileReading(tx, this.personal, { ...delivery, terms }, context)
      : undefined;
    const { read, draft } = paid ?? { read: await this.readChecked(tx, delivery, context) };
    const faulty = { sha256: delivery.file.sha256, personId: delivery.personId, read };
    if (read.faults.refuseFile || refusesFile(faultPolicy, read)) {
      return refusePayFile(read.faults, await keepRefusedFile(tx, faulty, this.clock.now()));
    }
    const opened = draft ?? { payRunId: await openRun(tx, { personId: delivery.personId, terms }) };
    await keepFaultyRows(tx, faulty, opened.payRunId);
    const { payFileId, action } = await makeRun(tx, this.personal, {
      ...delivery,
      ...opened,
      fileName: delivery.fields.fileName,
      faultPolicy,
      terms,
      lastRow: read.rows,
      replayable: true,
      audited: read.faultyRows > 0 ? { keptBack: read.faultyRows } : {},
    });
    await append(tx, action);
    return payFileId;
  }

  private async readChecked(
    tx: EmployerTransaction,
    { file }: Delivery,
    context: IntakeContext,
  ): Promise<ReadFile> {
    const copied = await copyRows(tx, this.personal, file.read(), context);
    return checkRows(tx, this.personal, file, context, copied);
  }

  private bankDays(): BankCalendar {
    return { now: this.clock.now(), ...bankHours(this.config) };
  }
}

function declaredWith({ declaredRows, declaredTotal }: UploadFields): { rows?: number; totalMinor?: bigint } {
  return { rows: declaredRows, totalMinor: declaredTotal };
}

/** A file that is stored already was read as it is said to be now, and holds what is declared now. */
async function assertSameReading(
  tx: EmployerTransaction,
  earlier: PayFile,
  { reading: read, fields }: ReadableDelivery,
): Promise<void> {
  if (!sameReading(earlier.readAs, read.readAs)) {
    const payRunId = showId('run', earlier.payRunId);
    const detail = `The file is ${payRunId} already, read by another profile or encoding. Cancel that run to read it anew.`;
    throw new Problem(409, 'FILE_READ_OTHERWISE', detail, { payRunId });
  }
  const faulty = await findFaultyFile(tx, earlier.payRunId);
  const held = faulty
    ? { rows: faulty.readRows, totalMinor: faulty.readTotalMinor }
    : { rows: earlier.rowCount, totalMinor: earlier.totalMinor };
  const faults = new PayFileFaults();
  faults.addOfFile(faultsOfDeclaration(declaredWith(fields), held));
  if (faults.count > 0) throw refusePayFile(faults);
}

/**
 * The upload that the same file for the same terms is answered as.
 * @throws Problem 409 `RUN_IS_MOVING`, and `FILE_ALREADY_UPLOADED` where it is another run's supplement, or was none
 */
async function findEarlier(
  tx: EmployerTransaction,
  { sha256 }: UploadedFile,
  terms: UploadTerms,
): Promise<PayFile | null> {
  const file = await tx.manager.findOneBy(PayFile, {
    employerId: tx.employerId,
    sha256,
    period: terms.period,
    kindOfPay: terms.kindOfPay,
    executionDate: terms.executionDate,
    accountId: terms.account.id,
    replayable: true,
  });
  if (!file) return null;
  const run = await tx.manager.findOneByOrFail(PayRun, { employerId: tx.employerId, id: file.payRunId });
  const payRunId = showId('run', run.id);
  if (run.status === 'CANCELLING') {
    const detail = `The file is ${payRunId}, which is being cancelled: upload it again once that run is CANCELLED.`;
    throw new Problem(409, 'RUN_IS_MOVING', detail, { payRunId });
  }
  if (run.parentRunId !== (terms.parent?.id ?? null)) {
    const as = run.parentRunId ? `a supplement of ${showId('run', run.parentRunId)}` : 'a run of its own';
    const detail = `The file is ${payRunId} already, as ${as}. Cancel that run to upload it otherwise, make a successor of it for what it did not pay, or change the file where it is meant as further pay.`;
    throw new Problem(409, 'FILE_ALREADY_UPLOADED', detail, { payRunId });
  }
  return file;
}

/** What refuses a payment to somebody whom another writer pays meanwhile. */
const LOST = ['one_live_payment_per_employee_and_period', 'replaced_was_not_paid'];

/** The answer where another writer was first; undefined for any other error. */
export function lostRace(error: unknown): Problem | undefined {
  if (!LOST.includes(readDriverError(error)?.constraint ?? '')) return undefined;
  const detail =
    'Another run of this period was stored meanwhile. Upload the file again to see who is paid by it.';
  return new Problem(409, 'EMPLOYEE_ALREADY_PAID', detail);
}
