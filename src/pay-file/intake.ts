import { Inject, Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { readDriverError } from '../http/driver-error';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { finishDraft, openDraft } from '../pay-run/draft';
import { PayRun } from '../pay-run/pay-run.entity';
import { SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { insertPayFile } from './content.store';
import { PayFile } from './pay-file.entity';
import { PayFileFaults, refusePayFile } from './pay-file-fault';
import { insertPayments } from './pay-file.store';
import { lockPayKey, nextSequence } from '../pay-run/pay-key';
import { faultsOfDeclaration } from './declaration';
import { completeFields, reading, Reading, sameReading } from './reading';
import { copyPayFile } from './row-intake';
import { BankCalendar } from '../pay-run/execution-date';
import {
  assertTerms,
  defaultRemittance,
  resolveTerms,
  UploadFields,
  UploadOfPeriod,
  UploadTerms,
} from './terms';
import { UploadedFile } from './spool';
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

/** Turns a pay file into a pay run that awaits approval, or refuses all of it. */
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
   * is answered as the first time.
   * @throws Problem 422 `PAY_FILE_REFUSED` with every fault, 409 `EMPLOYEE_ALREADY_PAID` after a lost race, 409
   * `FILE_READ_OTHERWISE` where the file is stored as another profile or encoding reads it, and those of `reading`,
   * `completeFields`, `resolveTerms` and `assertTerms`
   */
  async take(delivery: Delivery): Promise<Taken> {
    try {
      const taken = await this.database.inEmployer(delivery.employerId, (tx) => this.takeIn(tx, delivery));
      crashPoint('upload.stored');
      return taken;
    } catch (error) {
      throw lostRace(error) ?? error;
    }
  }

  private async takeIn(tx: EmployerTransaction, delivery: Delivery): Promise<Taken> {
    const read = await reading(tx, delivery.fields);
    const readable = { ...delivery, reading: read, fields: completeFields(delivery.fields, read) };
    await lockPayKey(tx, readable.fields);
    const terms = await resolveTerms(tx, readable.fields);
    const earlier = await findEarlier(tx, delivery.file, terms);
    if (earlier) assertSameReading(earlier, readable);
    const id = earlier?.id ?? (await this.store(tx, readable, terms));
    return { answer: await readUploadAnswer(tx, this.personal, id), replayed: earlier !== null };
  }

  private async store(
    tx: EmployerTransaction,
    delivery: ReadableDelivery,
    terms: UploadTerms,
  ): Promise<string> {
    assertTerms(terms, this.bankDays());
    const { profile } = delivery.reading;
    const faults = await copyPayFile(tx, this.personal, delivery.file.read(), {
      period: terms.period,
      kindOfPay: terms.kindOfPay,
      debtorIban: this.personal.open(terms.account.ibanSealed),
      defaultRemittance: await defaultRemittance(tx, terms),
      executionDate: terms.executionDate,
      amounts: profile.amounts,
      dateOrder: profile.dateOrder,
      maxRows: this.config.MAX_PAY_FILE_ROWS,
      profile,
      declared: declaredWith(delivery.fields),
    });
    if (faults.count > 0) throw refusePayFile(faults);
    const payRunId = newId();
    await openDraft(tx, {
      id: payRunId,
      accountId: terms.account.id,
      period: terms.period,
      kindOfPay: terms.kindOfPay,
      executionDate: terms.executionDate,
      submitAt: terms.submitAt,
      scheduleId: terms.parent?.scheduleId ?? terms.scheduled?.scheduleId ?? null,
      sequence: terms.parent ? await nextSequence(tx, terms) : 0,
      parentRunId: terms.parent?.id ?? null,
      createdBy: delivery.personId,
    });
    await insertPayments(tx, payRunId, terms);
    const payFileId = await keep(tx, delivery, terms, payRunId);
    if (terms.scheduled) await bind(tx, terms.scheduled.scheduleId, terms.period, payRunId);
    const run = await finishDraft(tx, this.personal, payRunId);
    await append(tx, {
      personId: delivery.personId,
      action: 'pay-file.uploaded',
      subject: showId('file', payFileId),
      detail: {
        payRunId: showId('run', payRunId),
        rows: run.rowCount,
        rootHash: run.rootHash?.toString('hex'),
      },
    });
    return payFileId;
  }

  private bankDays(): BankCalendar {
    return { now: this.clock.now(), ...bankHours(this.config) };
  }
}

function declaredWith({ declaredRows, declaredTotal }: UploadFields): { rows?: number; totalMinor?: bigint } {
  return { rows: declaredRows, totalMinor: declaredTotal };
}

/** A file that is stored already was read as it is said to be now, and holds what is declared now. */
function assertSameReading(earlier: PayFile, { reading: read, fields }: ReadableDelivery): void {
  if (!sameReading(earlier.readAs, read.readAs)) {
    const payRunId = showId('run', earlier.payRunId);
    const detail = `The file is ${payRunId} already, read by another profile or encoding. Cancel that run to read it anew.`;
    throw new Problem(409, 'FILE_READ_OTHERWISE', detail, { payRunId });
  }
  const faults = new PayFileFaults();
  faults.add(
    faultsOfDeclaration(declaredWith(fields), { rows: earlier.rowCount, totalMinor: earlier.totalMinor }),
  );
  if (faults.count > 0) throw refusePayFile(faults);
}

/** The same bytes as a supplement of another run are another upload. */
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
  return run.parentRunId === (terms.parent?.id ?? null) ? file : null;
}

async function bind(
  tx: EmployerTransaction,
  scheduleId: string,
  period: string,
  payRunId: string,
): Promise<void> {
  await tx.manager.update(SchedulePeriod, { employerId: tx.employerId, scheduleId, period }, { payRunId });
}

async function keep(
  tx: EmployerTransaction,
  { file, fields, personId, reading: read }: ReadableDelivery,
  terms: UploadTerms,
  payRunId: string,
): Promise<string> {
  const id = newId();
  await insertPayFile(
    tx,
    {
      id,
      sha256: file.sha256,
      sizeBytes: BigInt(file.sizeBytes),
      fileName: fields.fileName ?? null,
      period: terms.period,
      kindOfPay: terms.kindOfPay,
      executionDate: terms.executionDate,
      accountId: terms.account.id,
      payRunId,
      uploadedBy: personId,
      profileId: read.profileId,
      readAs: read.readAs,
    },
    file.read(),
  );
  return id;
}

/** What refuses a payment to somebody whom another writer pays meanwhile. */
const LOST = ['one_live_payment_per_employee_and_period', 'replaced_was_not_paid'];

function lostRace(error: unknown): Problem | undefined {
  if (!LOST.includes(readDriverError(error)?.constraint ?? '')) return undefined;
  const detail =
    'Another run of this period was stored meanwhile. Upload the file again to see who is paid by it.';
  return new Problem(409, 'EMPLOYEE_ALREADY_PAID', detail);
}
