import { Injectable } from '@nestjs/common';
import { Database, EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { bankAccountIdsOf } from '../employer/account.store';
import { Problem } from '../http/problem';
import { PayRun } from '../pay-run/pay-run.entity';
import type { AttentionKind } from '../pay-run/attention-words';
import { findRun } from '../pay-run/pay-run.store';
import { Acknowledged, acknowledgedOf } from './acknowledged';
import { readAggregates } from './aggregates';
import { Decision, decisionsOf } from './decisions';
import { doubtsOfPeriod, openDoubts } from './open-doubts';
import { missingRows, reconciledRows } from './reconciled-rows';
import { drawUp, lessTable, Report, sumTables, Table } from './report';
import { RowDifference } from './row-difference';

/** More than a person looks through; the export of the rows has them all. */
const SHOWN_DIFFERENCES = 200;
/** A dozen runs a month are many; each of these adds its aggregates to one answer. */
const MAX_RUNS_OF_A_PERIOD = 500;

/** A row that differs; a row without a payment has no line nor id. */
export interface FoundDifference {
  row: number;
  line: number | null;
  paymentId: string | null;
  difference: RowDifference;
}

/** A run with its report. It is explained when all sums agree and no doubt is open that sums cannot show. */
export interface ReportedRun {
  run: PayRun;
  /** What the bank calls its account. */
  bankAccountId: string;
  report: Report;
  openDoubts: readonly AttentionKind[];
  explained: boolean;
}

/** The same, with the rows that differ where the sums do. */
export interface RunReport extends ReportedRun {
  /** What was recorded by then is in it. */
  asOf: Date;
  /** By which payments ended on the word of two people. */
  decisions: Decision[];
  /** What moved besides its rows, as two people acknowledged it. */
  acknowledged: Acknowledged[];
  differences: FoundDifference[];
  moreDifferences: boolean;
}

/**
 * The runs of a pay period and their sum. A cancelled run is listed and not part of the sum; of a payment and the one made
 * instead of it the sum has the latter: nobody is counted twice. `replaced` is what was left out of it so.
 */
export interface PeriodReport {
  period: string;
  /** What was recorded by then is in it. */
  asOf: Date;
  runs: ReportedRun[];
  totals: Table;
  replaced: Table;
  /** What moved besides the rows of its runs, as two people acknowledged it. */
  acknowledged: Acknowledged[];
  /** Doubts that are of none of its runs. */
  openDoubts: readonly AttentionKind[];
  explained: boolean;
}

/** Compares the file, the run and the bank to the cent. */
@Injectable()
export class Reconciliations {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
  ) {}

  /** @throws DomainError PAY_RUN_NOT_FOUND */
  ofRun(employerId: string, payRunId: string): Promise<RunReport> {
    return this.database.inEmployerAtOnce(employerId, async (tx) => {
      const run = await findRun(tx, payRunId);
      const aggregates = (await readAggregates(tx, [payRunId])).get(payRunId);
      if (!aggregates) throw new Error('the aggregates of a run are missing');
      const report = drawUp(aggregates);
      const found = report.explained ? [] : await this.differences(tx, run, aggregates.uploaded.count);
      const doubts = await openDoubts(tx, [payRunId]);
      const accounts = await bankAccountIdsOf(tx, [run.accountId]);
      return {
        asOf: await beganAt(tx),
        ...reported(run, report, doubts(payRunId), accounts),
        decisions: await decisionsOf(tx, payRunId),
        acknowledged: await acknowledgedOf(tx, [payRunId]),
        differences: found.slice(0, SHOWN_DIFFERENCES),
        moreDifferences: found.length > SHOWN_DIFFERENCES,
      };
    });
  }

  /** @throws Problem 422 TOO_MANY_RUNS */
  ofPeriod(employerId: string, period: string): Promise<PeriodReport> {
    return this.database.inEmployerAtOnce(employerId, async (tx) => {
      const runs = await tx.manager.find(PayRun, {
        where: { employerId, period },
        order: { id: 'ASC' },
        take: MAX_RUNS_OF_A_PERIOD + 1,
      });
      if (runs.length > MAX_RUNS_OF_A_PERIOD) {
        const detail = `The period has more than ${MAX_RUNS_OF_A_PERIOD} runs: reconcile them one by one.`;
        throw new Problem(422, 'TOO_MANY_RUNS', detail);
      }
      const ids = runs.map(({ id }) => id);
      const aggregates = await readAggregates(tx, ids);
      const doubts = await openDoubts(tx, ids);
      const ofNoRun = await doubtsOfPeriod(tx, period);
      const accountIds = runs.map(({ accountId }) => accountId);
      const accounts = await bankAccountIdsOf(tx, accountIds);
      const reports = runs.flatMap((run) => {
        const sums = aggregates.get(run.id);
        return sums ? [reported(run, drawUp(sums), doubts(run.id), accounts)] : [];
      });
      const counting = reports.filter(({ run }) => run.status !== 'CANCELLED');
      const replaced = sumTables(counting.map(({ report }) => report.superseded));
      return {
        period,
        asOf: await beganAt(tx),
        runs: reports,
        totals: lessTable(sumTables(counting.map(({ report }) => report.table)), replaced),
        replaced,
        acknowledged: await acknowledgedOf(tx, ids),
        openDoubts: ofNoRun,
        explained: ofNoRun.length === 0 && reports.every(({ explained }) => explained),
      };
    });
  }

  private async differences(
    tx: EmployerTransaction,
    run: PayRun,
    uploadedRows: number,
  ): Promise<FoundDifference[]> {
    const missing = await missingRows(tx, run, uploadedRows, SHOWN_DIFFERENCES + 1);
    const found: FoundDifference[] = missing.map((row) => ({
      row,
      line: null,
      paymentId: null,
      difference: 'PAYMENT_MISSING',
    }));
    for await (const { row, line, paymentId, difference } of reconciledRows(tx, this.personal, run)) {
      if (difference !== undefined) found.push({ row, line, paymentId, difference });
      if (found.length > SHOWN_DIFFERENCES) break;
    }
    return found;
  }
}

function reported(
  run: PayRun,
  report: Report,
  doubts: readonly AttentionKind[],
  accounts: ReadonlyMap<string, string>,
): ReportedRun {
  const bankAccountId = accounts.get(run.accountId);
  if (bankAccountId === undefined) throw new Error('the account of a run is missing');
  return {
    run,
    bankAccountId,
    report,
    openDoubts: doubts,
    explained: report.explained && doubts.length === 0,
  };
}

/** When the transaction began, of which all that is read in it is. */
async function beganAt(tx: EmployerTransaction): Promise<Date> {
  const [row] = await tx.query<{ at: Date }>('SELECT transaction_timestamp() AS at');
  if (row === undefined) throw new Error('the database does not say when a transaction began');
  return row.at;
}
