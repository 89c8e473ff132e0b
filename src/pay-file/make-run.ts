import type { AuditedAction } from '../audit/audit';
import { Json } from '../audit/audit-entry';
import { joiningByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { FaultPolicy } from '../domain/fault-policy';
import { isFarFromDate } from '../domain/hold';
import { showId } from '../http/prefixed-id';
import { finishDraft, openDraft } from '../pay-run/draft';
import { appendHistory } from '../pay-run/history';
import { lockComparison, nextSequence, RunOfKey } from '../pay-run/pay-key';
import { PayRun } from '../pay-run/pay-run.entity';
import { SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { insertPayFile } from './content.store';
import { isHashedOtherwise } from './hash-key';
import { findHolds } from './hold-finder';
import { HeldRows, holdInserted, insertHolds, insertPayments, markHeld, payableRows } from './pay-file.store';
import { Reading } from './reading';
import { assertNoneEndedSince, hashReplacing } from './replacing';
import { UploadedFile } from './spool';
import { UploadTerms } from './terms';

/** A file whose payable rows are in the row table, and what its run is made of. */
export interface NewRun {
  /** A draft that was opened for it. */
  payRunId: string;
  personId: string;
  file: UploadedFile;
  fileName: string | undefined;
  reading: Reading;
  faultPolicy: FaultPolicy;
  terms: UploadTerms;
  /** The greatest number of a row in the row table. */
  lastRow: number;
  /** Whether the rows, the first ones of their period, were made payments while they were read. */
  early?: boolean;
  /** Whether the same file for the same terms is answered as this time. */
  replayable: boolean;
  /** What the audit says of it besides the run and its rows. */
  audited?: Readonly<Record<string, Json>>;
}

/** Opens the draft of a run that is made of a file. @returns its id */
export async function openRun(
  tx: EmployerTransaction,
  { personId, terms }: Pick<NewRun, 'personId' | 'terms'>,
): Promise<string> {
  const id = newId();
  await openDraft(tx, {
    id,
    accountId: terms.account.id,
    period: terms.period,
    kindOfPay: terms.kindOfPay,
    executionDate: terms.executionDate,
    submitAt: terms.submitAt,
    scheduleId: terms.parent?.scheduleId ?? terms.scheduled?.scheduleId ?? null,
    sequence: terms.parent ? await nextSequence(tx, terms) : 0,
    parentRunId: terms.parent?.id ?? null,
    createdBy: personId,
  });
  return id;
}

/**
 * Makes the payable rows of the row table a run that awaits approval, and keeps the file they came from with it.
 * @returns beside it what is to be appended to the audit chain: last, as the chain asks
 */
export async function makeRun(
  tx: EmployerTransaction,
  personal: PersonalData,
  made: NewRun,
): Promise<{ payFileId: string; run: PayRun; held: HeldRows; action: AuditedAction }> {
  const { payRunId, terms, personId } = made;
  const { period, kindOfPay } = terms;
  // A supplement names its run, and with that the month.
  const farPeriod = !terms.parent && isFarFromDate(period, terms.executionDate);
  const paying = { personId, lastRow: made.lastRow, joins: false, early: made.early, farPeriod };
  const held = await payRows(tx, personal, { id: payRunId, period, kindOfPay }, paying);
  const payFileId = await keep(tx, made);
  if (terms.scheduled) await bind(tx, terms.scheduled.scheduleId, terms.period, payRunId);
  const run = await finishDraft(tx, personal, payRunId);
  const action = {
    personId,
    action: 'pay-file.uploaded',
    subject: showId('file', payFileId),
    detail: {
      payRunId: showId('run', payRunId),
      rows: run.rowCount,
      rootHash: run.rootHash?.toString('hex'),
      ...made.audited,
    },
  };
  return { payFileId, run, held, action };
}

const NOTHING_HELD: HeldRows = { payments: 0, amountMinor: 0n };

/** How payable rows become payments of a run. */
interface Paying {
  personId: string;
  /** The greatest number of a payable row. */
  lastRow: number;
  /** Whether the run has payments already that were not made of these rows. */
  joins: boolean;
  early?: boolean;
  farPeriod?: boolean;
}

/**
 * Makes the payable rows of the row table payments of a run where they are none yet, those held in which something was
 * found. In the history the held ones have left what waits for approval.
 * @throws Problem 409 RUN_IS_MOVING
 */
export async function payRows(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: RunOfKey,
  { personId, lastRow, joins, early, farPeriod }: Paying,
): Promise<HeldRows> {
  const rows = payableRows(tx, run, early);
  await lockComparison(tx);
  const otherKey = await isHashedOtherwise(tx, personal, run);
  const found = await joiningByHash(tx, () =>
    findHolds(tx, run, { rows, joins, early, otherKey, farPeriod }),
  );
  if (!early) {
    if (found) await markHeld(tx);
    await hashReplacing(tx, personal);
    await insertPayments(tx, run, lastRow);
    await assertNoneEndedSince(tx, run);
  } else if (found) {
    await holdInserted(tx, run.id, lastRow);
  }
  const held = found ? await joiningByHash(tx, () => insertHolds(tx, run.id, rows)) : NOTHING_HELD;
  if (held.payments > 0) {
    const subject = { subject: 'payments_of_run', subjectId: run.id, payRunId: run.id } as const;
    appendHistory(tx, [{ ...subject, from: 'READY', to: 'HELD', actor: `person:${personId}`, ...held }]);
  }
  return held;
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
  { payRunId, file, fileName, personId, reading, terms, faultPolicy, replayable }: NewRun,
): Promise<string> {
  const id = newId();
  await insertPayFile(
    tx,
    {
      id,
      sha256: file.sha256,
      sizeBytes: BigInt(file.sizeBytes),
      fileName: fileName ?? null,
      period: terms.period,
      kindOfPay: terms.kindOfPay,
      executionDate: terms.executionDate,
      accountId: terms.account.id,
      payRunId,
      uploadedBy: personId,
      profileId: reading.profileId,
      readAs: reading.readAs,
      faultPolicy,
      replayable,
    },
    file,
  );
  return id;
}
