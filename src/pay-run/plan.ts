import { Employer, EmployerAccount } from '../employer/employer.entity';
import { readById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import { sumMinor } from '../domain/money';
import { approvedTerms } from './approved-fields';
import { compareRun } from './comparison.store';
import { Actor } from './history';
import { PayRun, PayRunVersion } from './pay-run.entity';
import { moveRun } from './pay-run.store';
import { rootHash } from './run-hash';

interface PlannedRow {
  id: string;
  ordinal: number;
  row_count: number;
  total_minor: string;
  row_hash: Buffer;
}

/**
 * Fixes a DRAFT run for approval: splits its payments into planned instructions, hashes them, writes the version,
 * compares it with the pay before it and moves the run to READY. Payments that are held or excluded are no part of it; a
 * run of held ones only has no instruction until they are released.
 * @param prepared by whom the rows are, and who made the version of them where that is another
 * @throws DomainError NOTHING_TO_PAY when no payment is left.
 */
export async function planRun(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
  prepared: { by: string; reason?: string; actor?: Actor },
): Promise<void> {
  const planned = await splitIntoInstructions(tx, run);
  if (planned.length === 0 && !(await holdsPayments(tx, run)))
    throw new DomainError('NOTHING_TO_PAY', 'No payment is left in this run.');
  run.rowCount = planned.reduce((sum, part) => sum + part.row_count, 0);
  run.totalMinor = sumMinor(planned.map((part) => BigInt(part.total_minor)));
  run.rootHash = await approvedHash(
    tx,
    personal,
    run,
    planned.map((part) => part.row_hash),
  );
  await tx.manager.update(
    PayRun,
    { employerId: tx.employerId, id: run.id },
    {
      rowCount: run.rowCount,
      totalMinor: run.totalMinor,
      rootHash: run.rootHash,
      runVersion: run.runVersion,
    },
  );
  await tx.manager.insert(PayRunVersion, {
    employerId: tx.employerId,
    payRunId: run.id,
    runVersion: run.runVersion,
    rootHash: run.rootHash,
    rowCount: run.rowCount,
    totalMinor: run.totalMinor,
    executionDate: run.executionDate,
    preparedBy: prepared.by,
    reason: prepared.reason ?? null,
  });
  await compareRun(tx, run);
  const actor = prepared.actor ?? (`person:${prepared.by}` as const);
  await moveRun(tx, run, 'READY', actor, prepared.reason);
}

/** The root hash of a run as its rows, its account and its terms stand now. */
export async function approvedHash(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
  instructionHashes: readonly Buffer[],
): Promise<Buffer> {
  const account = await readById(tx, EmployerAccount, run.accountId);
  return rootHash(approvedTerms(personal, run, account), instructionHashes);
}

async function holdsPayments(tx: EmployerTransaction, run: PayRun): Promise<boolean> {
  const rows = await tx.query(
    `SELECT FROM payment WHERE employer_id = $1 AND pay_run_id = $2 AND status = 'HELD' LIMIT 1`,
    [tx.employerId, run.id],
  );
  return rows.length > 0;
}

async function splitIntoInstructions(tx: EmployerTransaction, run: PayRun): Promise<PlannedRow[]> {
  const employer = await tx.manager.findOneByOrFail(Employer, { id: tx.employerId });
  const [last] = await tx.query<{ row: number | null }>(
    `SELECT max(row_no) AS row FROM payment WHERE employer_id = $1 AND pay_run_id = $2`,
    [tx.employerId, run.id],
  );
  const parts = Math.ceil((last?.row ?? 0) / employer.rowsPerInstruction);
  const rows = await tx.query<PlannedRow>(
    `INSERT INTO planned_instruction (employer_id, id, pay_run_id, run_version, ordinal, first_row, last_row,
       row_count, total_minor, row_hash)
     SELECT $1, ($5::uuid[])[part], $2, $3, part, min(row_no), max(row_no), count(*), sum(amount_minor),
       sha256(string_agg(row_hash, ''::bytea ORDER BY row_no))
     FROM (SELECT row_no, amount_minor, row_hash,
             ((row_number() OVER (ORDER BY row_no) - 1) / $4 + 1)::int AS part
           FROM payment WHERE employer_id = $1 AND pay_run_id = $2 AND status = 'READY') AS ready
     GROUP BY part
     RETURNING id, ordinal, row_count, total_minor, row_hash`,
    [
      tx.employerId,
      run.id,
      run.runVersion,
      employer.rowsPerInstruction,
      Array.from({ length: parts }, () => newId()),
    ],
  );
  return rows.sort((a, b) => a.ordinal - b.ordinal);
}
