import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { FaultPolicy } from '../domain/fault-policy';
import { HoldCode } from '../domain/hold';
import { formatMinor } from '../domain/money';
import { PayRunStatus } from '../domain/pay-run';
import { showId } from '../http/prefixed-id';
import { keptBackOf } from '../pay-run/kept-back';
import { PayRun, PayRunVersion } from '../pay-run/pay-run.entity';
import { runsOfSameFile } from '../pay-run/pay-run.reads';
import { findFaultyFile, listFaultyRows } from './faulty-file.store';
import { PayFile } from './pay-file.entity';
import { MAX_SHOWN_FAULTS, PayFileFault } from './pay-file-fault';
import { adviceOf } from './taken-before';

/** What an uploader is told of a file that became a pay run: the file as it was read, the run as it stands. */
export interface UploadAnswer {
  id: string;
  status: PayRunStatus;
  /** What can be done where the run does not wait for approval any more, else null. */
  advice: string | null;
  runVersion: number;
  period: string;
  kindOfPay: string;
  executionDate: string;
  submitAt: string | null;
  accountId: string;
  payments: number;
  total: string;
  currency: 'EUR';
  rootHash: string;
  /** The run it supplements, and its place among the runs of the period. */
  parentRunId: string | null;
  sequence: number;
  /** Rows that pay again what earlier payments did not. */
  replaces: number;
  file: { id: string; sha256: string; rows: number };
  faultPolicy: FaultPolicy;
  /** Rows of the file that are still kept back, and the first of their faults. */
  keptBack: { rows: number; faultCount: number; faults: readonly PayFileFault[] };
  /** Runs of other terms that were made of the same bytes before. */
  sameFile: string[];
  /** What is not among the payments and the total, because it still waits for a person. */
  held: HeldInFile;
  /** Names that are sent to the bank otherwise than they were written, the first ones shown. */
  namesChanged: { count: number; examples: { line: number; before: string; after: string }[] };
}

/** Rows that are held, and how many holds there are of each code, those of the whole run included. */
export interface HeldInFile {
  payments: number;
  amount: string;
  holds: Partial<Record<HoldCode, number>>;
}

// Enough to see what happens to accents; the payments of the run show the rest.
const SHOWN_NAMES = 20;

/** The answer to an upload, the first time and whenever the same comes again. */
export async function readUploadAnswer(
  tx: EmployerTransaction,
  personal: PersonalData,
  payFileId: string,
): Promise<UploadAnswer> {
  const { employerId } = tx;
  const file = await tx.manager.findOneByOrFail(PayFile, { employerId, id: payFileId });
  const { payRunId } = file;
  const run = await tx.manager.findOneByOrFail(PayRun, { employerId, id: payRunId });
  const { runVersion } = run;
  const version = await tx.manager.findOneByOrFail(PayRunVersion, { employerId, payRunId, runVersion });
  return {
    id: showId('run', run.id),
    status: run.status,
    advice: adviceOf(run),
    runVersion,
    period: run.period,
    kindOfPay: run.kindOfPay,
    executionDate: version.executionDate,
    submitAt: run.submitAt?.toISOString() ?? null,
    accountId: showId('acc', run.accountId),
    payments: version.rowCount,
    total: formatMinor(version.totalMinor),
    currency: run.currency,
    rootHash: version.rootHash.toString('hex'),
    parentRunId: run.parentRunId === null ? null : showId('run', run.parentRunId),
    sequence: run.sequence,
    replaces: file.replacing,
    file: { id: showId('file', file.id), sha256: file.sha256.toString('hex'), rows: file.rowCount },
    faultPolicy: file.faultPolicy,
    keptBack: await readKeptBack(tx, personal, payRunId),
    sameFile: (await runsOfSameFile(tx, payRunId)).map((id) => showId('run', id)),
    held: await readHeld(tx, payRunId),
    namesChanged: {
      count: file.renamed,
      examples: file.renamed === 0 ? [] : await readChangedNames(tx, personal, payRunId),
    },
  };
}

async function readKeptBack(
  tx: EmployerTransaction,
  personal: PersonalData,
  payRunId: string,
): Promise<UploadAnswer['keptBack']> {
  const file = await findFaultyFile(tx, payRunId);
  if (!file) return { rows: 0, faultCount: 0, faults: [] };
  const total = await keptBackOf(tx, payRunId);
  const rows = await listFaultyRows(tx, personal, file.id, { after: 0, keptBack: true }, MAX_SHOWN_FAULTS);
  const faults = rows.flatMap((row) => row.faults).slice(0, MAX_SHOWN_FAULTS);
  return { rows: total.rows, faultCount: total.faults, faults };
}

/** Payments of a run ($2) that came later than its file, with corrections. */
const ADDED_LATER = `SELECT k.payment_id FROM faulty_file f
  JOIN faulty_row k ON k.employer_id = f.employer_id AND k.faulty_file_id = f.id
  WHERE f.employer_id = $1 AND f.pay_run_id = $2 AND k.payment_id IS NOT NULL`;

async function readHeld(tx: EmployerTransaction, payRunId: string): Promise<HeldInFile> {
  const open = 'pay_hold WHERE employer_id = $1 AND pay_run_id = $2 AND outcome IS NULL';
  const [held] = await queryByHash<{ payments: number; amount_minor: string }>(
    tx,
    `SELECT count(*)::int AS payments, coalesce(sum(p.amount_minor), 0) AS amount_minor
     FROM (SELECT DISTINCT payment_id FROM ${open}) AS h
     JOIN payment p ON p.employer_id = $1 AND p.pay_run_id = $2 AND p.id = h.payment_id`,
    [tx.employerId, payRunId],
  );
  const counts = await tx.query<{ code: HoldCode; count: number }>(
    `SELECT code, count(*)::int AS count FROM ${open} GROUP BY code ORDER BY code`,
    [tx.employerId, payRunId],
  );
  return {
    payments: held?.payments ?? 0,
    amount: formatMinor(BigInt(held?.amount_minor ?? 0)),
    holds: Object.fromEntries(counts.map(({ code, count }) => [code, count])),
  };
}

async function readChangedNames(
  tx: EmployerTransaction,
  personal: PersonalData,
  payRunId: string,
): Promise<UploadAnswer['namesChanged']['examples']> {
  const rows = await tx.query<{ line: number; before: string; after: string }>(
    `SELECT line, written_name_sealed AS before, name_sealed AS after
     FROM payment
     WHERE employer_id = $1 AND pay_run_id = $2 AND written_name_sealed IS NOT NULL AND id NOT IN (${ADDED_LATER})
     ORDER BY row_no LIMIT $3`,
    [tx.employerId, payRunId, SHOWN_NAMES],
  );
  return rows.map(({ line, before, after }) => ({
    line,
    before: personal.open(before),
    after: personal.open(after),
  }));
}
