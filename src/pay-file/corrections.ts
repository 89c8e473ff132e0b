import { Inject, Injectable } from '@nestjs/common';
import { append, type AuditedAction } from '../audit/audit';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { joiningByHash } from '../database/by-hash';
import { Database, EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import { NO_PROFILE } from '../domain/pay-file-profile';
import { EmployerAccount } from '../employer/employer.entity';
import { findEmployer } from '../employer/employer.store';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { addPayments } from '../pay-run/amendment';
import { keptBackOf } from '../pay-run/kept-back';
import { lockPayKey } from '../pay-run/pay-key';
import { PayRun } from '../pay-run/pay-run.entity';
import { lockRun } from '../pay-run/pay-run.store';
import { keepStillFaulty, markCorrected, matchRows, numberCorrected } from './correction.store';
import { FaultyFile, findFaultyFile } from './faulty-file.store';
import { Layout, layoutOf } from './faulty-row';
import { lostRace } from './intake';
import { makeRun, openRun, payRows } from './make-run';
import { PayFile } from './pay-file.entity';
import { PayFileFault, refusePayFile } from './pay-file-fault';
import { Reading } from './reading';
import { checkRows, contextOf, copyRows, createRowTables } from './row-intake';
import { UploadedFile } from './spool';
import { withTidyHeap } from './tidy-heap';
import { assertTerms, CorrectionFields, resolveTerms, UploadTerms } from './terms';

/** A corrections file that was sent back, for which run and by whom. */
export interface CorrectionDelivery {
  employerId: string;
  personId: string;
  payRunId: string;
  file: UploadedFile;
  fields: CorrectionFields;
}

/** What became of its rows. Faults are told by the lines of the file that was sent back. */
export interface Corrected {
  /** The run that pays the corrected rows: the run itself, its supplement, or the run as it was when there are none. */
  run: PayRun;
  corrected: number;
  /** Corrected rows that are held in that run. */
  held: number;
  /** Rows that were corrected before, and alike. */
  unchanged: number;
  stillFaulty: number;
  /** What is kept back of the run after it. */
  keptBack: number;
  faultCount: number;
  faults: readonly PayFileFault[];
}

interface Correction extends CorrectionDelivery {
  parent: PayRun;
  faulty: FaultyFile;
  reading: Reading;
  terms: UploadTerms;
}

/** The run that pays corrected rows, how many of these are held in it, and what is to be appended to the audit chain. */
interface Paid {
  run: PayRun;
  held: number;
  action: AuditedAction;
}

const REASON = 'rows that were kept back were corrected';

/** Takes rows back that were kept back of a run for their faults. */
@Injectable()
export class Corrections {
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
   * Makes the corrected rows part of the run, as its next version, while it awaits approval, and a supplement of it
   * after that. Rows that are still faulty stay kept back with their new faults. The same file again changes nothing.
   * @throws DomainError PAY_RUN_NOT_FOUND, NOTHING_KEPT_BACK, AMENDMENT_IS_OPEN; Problem 422 `PAY_FILE_REFUSED` for a
   * fault of the file itself, `DATE_OF_A_SUPPLEMENT`, 409 after a lost race as of an upload, and those of `resolveTerms`
   * and `assertTerms`
   */
  async take(delivery: CorrectionDelivery): Promise<Corrected> {
    try {
      return await withTidyHeap(delivery.file.sizeBytes, () =>
        this.database.inEmployer(delivery.employerId, (tx) => this.takeIn(tx, delivery)),
      );
    } catch (error) {
      throw lostRace(error) ?? error;
    }
  }

  private async takeIn(tx: EmployerTransaction, delivery: CorrectionDelivery): Promise<Corrected> {
    const correction = await this.prepare(tx, delivery);
    const { faulty, file, parent } = correction;
    const context = {
      ...(await contextOf(tx, correction.terms, correction.reading.profile, this.personal)),
      personId: delivery.personId,
      maxRows: this.config.MAX_PAY_FILE_ROWS,
      declared: {},
      faultPolicy: { policy: 'hold' } as const,
      corrects: faulty.id,
    };
    await createRowTables(tx);
    const copied = await copyRows(tx, this.personal, file.read(), context);
    if (copied.faults.refuseFile) throw refusePayFile(copied.faults);
    const unchanged = await joiningByHash(tx, () => matchRows(tx, faulty.id));
    const read = await checkRows(tx, this.personal, file, context, copied);
    if (read.faultyRows > 0) assertLaidOutAs(faulty.layout, layoutOf(read.file));
    await joiningByHash(tx, () => keepStillFaulty(tx, faulty.id, delivery.personId));
    const corrected = read.rows - read.faultyRows - unchanged;
    const paid = corrected > 0 ? await this.payCorrected(tx, correction, corrected) : undefined;
    const keptBack = (await keptBackOf(tx, parent.id)).rows;
    if (paid) await append(tx, paid.action);
    return {
      run: paid?.run ?? parent,
      corrected,
      held: paid?.held ?? 0,
      unchanged,
      stillFaulty: read.faultyRows,
      keptBack,
      faultCount: read.faults.count,
      faults: read.faults.first(),
    };
  }

  private async prepare(tx: EmployerTransaction, delivery: CorrectionDelivery): Promise<Correction> {
    const { payRunId, fields } = delivery;
    const parent = await lockRun(tx, payRunId);
    await lockPayKey(tx, parent);
    const faulty = await findFaultyFile(tx, payRunId);
    const payFile = await tx.manager.findOneBy(PayFile, { employerId: tx.employerId, payRunId });
    if (!faulty || !payFile) {
      throw new DomainError('NOTHING_KEPT_BACK', 'No row of this run was kept back.');
    }
    const terms =
      parent.status === 'READY'
        ? await termsOf(tx, parent, fields)
        : await this.supplementTerms(tx, parent, fields);
    return { ...delivery, parent, faulty, terms, reading: readingOf(payFile, fields) };
  }

  private async supplementTerms(
    tx: EmployerTransaction,
    parent: PayRun,
    fields: CorrectionFields,
  ): Promise<UploadTerms> {
    const { id: supplementOf, period, kindOfPay } = parent;
    const terms = await resolveTerms(tx, { ...fields, period, kindOfPay, supplementOf });
    const bank = { now: this.clock.now(), ...bankHours(this.config) };
    const instead = `upload the rows without their column payrun_errors, with supplementOf=${showId('run', parent.id)} and another account of the employer`;
    assertTerms(terms, bank, await findEmployer(tx), instead);
    return terms;
  }

  /** Pays what is payable now. */
  private async payCorrected(
    tx: EmployerTransaction,
    correction: Correction,
    corrected: number,
  ): Promise<Paid> {
    const { faulty, parent } = correction;
    const joins = parent.status === 'READY';
    const lastRow = await joiningByHash(tx, () => numberCorrected(tx, faulty.id, !joins));
    const paid = joins
      ? await this.join(tx, correction, lastRow, corrected)
      : await this.supplement(tx, correction, lastRow);
    await joiningByHash(tx, () => markCorrected(tx, faulty.id, lastRow));
    return paid;
  }

  private async join(
    tx: EmployerTransaction,
    { parent: run, personId, file }: Correction,
    lastRow: number,
    corrected: number,
  ): Promise<Paid> {
    let held = 0;
    await addPayments(tx, this.personal, run, { by: personId, reason: REASON }, async () => {
      ({ payments: held } = await payRows(tx, this.personal, run, { personId, lastRow, joins: true }));
    });
    const action = {
      personId,
      action: 'pay-run.corrected',
      subject: showId('run', run.id),
      detail: {
        corrected,
        held,
        runVersion: run.runVersion,
        rootHash: run.rootHash?.toString('hex'),
        sha256: file.sha256.toString('hex'),
      },
    };
    return { run, held, action };
  }

  private async supplement(
    tx: EmployerTransaction,
    { personId, file, fields, reading, terms, parent }: Correction,
    lastRow: number,
  ): Promise<Paid> {
    const payRunId = await openRun(tx, { personId, terms });
    const { run, held, action } = await makeRun(tx, this.personal, {
      payRunId,
      personId,
      file,
      fileName: fields.fileName,
      reading,
      faultPolicy: { policy: 'hold' },
      terms,
      lastRow,
      // The rows of the same file again are found one by one.
      replayable: false,
      audited: { corrects: showId('run', parent.id) },
    });
    return { run, held: held.payments, action };
  }
}

/**
 * What stays kept back is given back under the header and in the encoding of the first file: cells that came under another
 * header would stand in columns they are not of, and letters that the encoding lacks would be lost.
 * @throws Problem 422 `CORRECTIONS_LAID_OUT_OTHERWISE`
 */
function assertLaidOutAs(first: Layout, now: Layout | undefined): void {
  const header = foldedHeader(first);
  if (now && foldedHeader(now) === header && [now.encoding, 'utf-8'].includes(first.encoding)) return;
  const detail = `Some rows are still faulty, and are given back as the first file was written: send all in its columns (${first.header.join(', ')}) and its encoding (${first.encoding}), or send those first that are mended.`;
  throw new Problem(422, 'CORRECTIONS_LAID_OUT_OTHERWISE', detail);
}

function foldedHeader({ header }: Layout): string {
  return JSON.stringify(header.map((cell) => cell.trim().toLowerCase()));
}

/** A corrections file is written as the file it corrects, without the lines before its header and after its rows. */
function readingOf({ readAs, profileId }: PayFile, { encoding }: CorrectionFields): Reading {
  const profile = {
    ...NO_PROFILE,
    ...readAs,
    ...(encoding !== undefined && { encoding }),
    titleLines: 0,
    totals: { lines: 0 },
  };
  return { profile, profileId, readAs: profile };
}

/** @throws Problem 422 `DATE_OF_A_SUPPLEMENT` */
async function termsOf(
  tx: EmployerTransaction,
  run: PayRun,
  { executionDate, submitAt }: CorrectionFields,
): Promise<UploadTerms> {
  if (executionDate !== undefined || submitAt !== undefined) {
    const detail =
      'The run awaits approval and the corrected rows become part of it: leave the dates out, or amend the run.';
    throw new Problem(422, 'DATE_OF_A_SUPPLEMENT', detail);
  }
  const account = await tx.manager.findOneByOrFail(EmployerAccount, {
    employerId: tx.employerId,
    id: run.accountId,
  });
  const { period, kindOfPay } = run;
  const terms = { period, kindOfPay, executionDate: run.executionDate, submitAt: run.submitAt };
  return { account, ...terms, scheduled: undefined, parent: undefined };
}
