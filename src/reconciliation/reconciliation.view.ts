import { formatMinor, sumMinor } from '../domain/money';
import { add, CountAndSum } from '../domain/reconciliation';
import { Cell, csvLine } from '../http/csv';
import { showId } from '../http/prefixed-id';
import { PayRun } from '../pay-run/pay-run.entity';
import { Acknowledged, BESIDE_THE_ROWS, KINDS_BESIDE, MEANING_BESIDE } from './acknowledged';
import { LinkedRun } from './aggregates';
import { PeriodReportDocument, RunReportDocument } from './reconciliation.dto';
import type { Decision } from './decisions';
import { PeriodReport, RunReport } from './reconciliation';
import { Report, ReportLine, Table, TABLE_LINES } from './report';
import { ROW_DIFFERENCES } from './row-difference';

interface Counted {
  payments: number;
  amount: string;
}

/** The reconciliation of a run as JSON. */
export function showRunReport({
  asOf,
  run,
  bankAccountId,
  report,
  openDoubts,
  explained,
  decisions,
  acknowledged,
  differences,
  moreDifferences,
}: RunReport): RunReportDocument {
  return {
    asOf: asOf.toISOString(),
    payRunId: showId('run', run.id),
    status: run.status,
    accountId: showId('acc', run.accountId),
    bankAccountId,
    period: run.period,
    kindOfPay: run.kindOfPay,
    executionDate: run.executionDate,
    runVersion: run.runVersion,
    parentRunId: parentOf(run),
    sequence: run.sequence,
    currency: run.currency,
    explained,
    openDoubts: [...openDoubts],
    difference: formatMinor(report.difference.amountMinor),
    table: showTable(report.table),
    equations: report.lines.map((line) => ({
      name: line.name,
      meaning: line.meaning,
      expected: counted(line.expected),
      actual: counted(line.actual),
      difference: counted(differenceOf(line)),
    })),
    byPaymentStatus: showStatuses(report.byPaymentStatus),
    byBankStatus: showStatuses(report.byBankStatus),
    replaces: report.replaces.map(showLinked),
    replacedBy: report.replacedBy.map(showLinked),
    contradictions: counted(report.contradictions),
    decisions: decisions.map((one) => ({
      ...counted(one),
      actionId: showId('act', one.actionId),
      action: one.action,
      bankStatus: one.bankStatus,
      reason: one.reason,
      evidence: one.evidence,
      ...showDeciders(one),
    })),
    acknowledged: acknowledged.map((one) => ({
      ...counted(one),
      attentionId: showId('att', one.attentionId),
      kind: one.kind,
      meaning: MEANING_BESIDE[one.kind],
      happened: one.happened,
      bankWords: one.bankWords,
      reason: one.reason,
      evidence: one.evidence,
      ...showDeciders(one),
    })),
    differences: differences.map(({ row, line, paymentId, difference }) => ({
      row,
      line,
      paymentId: paymentId === null ? null : showId('pay', paymentId),
      code: difference,
      meaning: ROW_DIFFERENCES[difference],
    })),
    moreDifferences,
  };
}

/** The same as CSV: the table, the equations, both sides by status, and linked runs, compared with what they replace. */
export function csvOfRunReport({
  asOf,
  run,
  bankAccountId,
  report,
  decisions,
  acknowledged,
  openDoubts,
  explained,
}: RunReport): string {
  const { table, lines, difference, contradictions, byPaymentStatus, byBankStatus, replaces, replacedBy } =
    report;
  const linked = (name: string, runs: readonly LinkedRun[]): Cell[][] =>
    runs.map(({ payRunId, count, amountMinor, beforeMinor }) => [
      name,
      showId('run', payRunId),
      count,
      amountMinor,
      count,
      beforeMinor,
    ]);
  const part = (name: string, statuses: ReadonlyMap<string, CountAndSum>): Cell[][] =>
    [...statuses].map(([status, sum]) => [name, status, sum.count, sum.amountMinor]);
  return [
    ['part', 'name', 'payments', 'amount', 'compared_payments', 'compared_amount'].concat([
      'difference_payments',
      'difference_amount',
    ]),
    ...TABLE_LINES.map((name) => ['table', name, table[name].count, table[name].amountMinor]),
    ['table', 'difference', difference.count, difference.amountMinor],
    ['table', 'contradictions', contradictions.count, contradictions.amountMinor],
    ...lines.map(equationCells),
    ...part('payment status', byPaymentStatus),
    ...part('bank status', byBankStatus),
    ...linked('replaces', replaces),
    ...linked('replaced by', replacedBy),
    ...decisions.map((one) => [
      'two people',
      `${one.bankStatus} is ${one.action}`,
      one.count,
      one.amountMinor,
    ]),
    ...acknowledged.map((one) => ['acknowledged', one.kind, one.count, one.amountMinor]),
    ...openDoubts.map((kind) => ['open doubt', kind]),
    ['explained', String(explained)],
    ['account', showId('acc', run.accountId)],
    ['bank account', bankAccountId],
    ['as of', asOf.toISOString()],
  ]
    .map((cells: Cell[]) => csvLine([...cells, ...Array<null>(CSV_COLUMNS - cells.length).fill(null)]))
    .join('');
}

const CSV_COLUMNS = 8;

function equationCells(line: ReportLine): Cell[] {
  const { name, expected, actual, differenceCount, differenceMinor } = line;
  return [
    'equation',
    name,
    expected.count,
    expected.amountMinor,
    actual.count,
    actual.amountMinor,
    differenceCount,
    differenceMinor,
  ];
}

/** The reconciliation of a pay period as JSON. */
export function showPeriodReport({
  asOf,
  period,
  runs,
  totals,
  replaced,
  acknowledged,
  openDoubts,
  explained,
}: PeriodReport): PeriodReportDocument {
  return {
    asOf: asOf.toISOString(),
    period,
    currency: 'EUR',
    explained,
    openDoubts: [...openDoubts],
    difference: formatMinor(differenceIn(runs)),
    totals: showTable(totals),
    replaced: counted(replaced.uploaded),
    paidAgain: counted(replaced.settled),
    acknowledged: acknowledged.map((one) => ({
      ...counted(one),
      payRunId: showId('run', one.payRunId),
      attentionId: showId('att', one.attentionId),
      kind: one.kind,
      meaning: MEANING_BESIDE[one.kind],
    })),
    runs: runs.map(({ run, report, ...reported }) => ({
      payRunId: showId('run', run.id),
      status: run.status,
      accountId: showId('acc', run.accountId),
      bankAccountId: reported.bankAccountId,
      kindOfPay: run.kindOfPay,
      executionDate: run.executionDate,
      parentRunId: parentOf(run),
      sequence: run.sequence,
      replacedBy: report.replacedBy.map(showLinked),
      explained: reported.explained,
      openDoubts: [...reported.openDoubts],
      difference: formatMinor(report.difference.amountMinor),
      table: showTable(report.table),
    })),
  };
}

/** The same as CSV: one line for each run, the totals last, but of what several runs tell that their account lacks. */
export function csvOfPeriodReport({
  asOf,
  runs,
  totals,
  replaced,
  acknowledged,
  openDoubts,
  explained,
}: PeriodReport): string {
  const columns = TABLE_LINES.flatMap((name) => [`${name}_payments`, `${name}_amount`]);
  const header = [
    'run',
    'status',
    'kind_of_pay',
    'execution_date',
    ...columns,
    'difference_amount',
    'explained',
    'parent_run',
    'sequence',
    'replaced_payments',
    'replaced_amount',
    'paidAgain_payments',
    'paidAgain_amount',
    ...KINDS_BESIDE.flatMap((kind) => [
      `${BESIDE_THE_ROWS[kind]}_payments`,
      `${BESIDE_THE_ROWS[kind]}_amount`,
    ]),
    'open_doubts',
    'account',
    'bank_account',
    'as_of',
  ];
  return [
    header,
    ...runs.map(({ run, report, ...reported }): Cell[] => [
      showId('run', run.id),
      run.status,
      run.kindOfPay,
      run.executionDate,
      ...tableCells(report.table),
      report.difference.amountMinor,
      String(reported.explained),
      parentOf(run),
      run.sequence,
      ...replacedCells(report.superseded),
      ...besideCells(acknowledged.filter(({ payRunId }) => payRunId === run.id)),
      reported.openDoubts.join(' '),
      showId('acc', run.accountId),
      reported.bankAccountId,
      asOf.toISOString(),
    ]),
    [
      'total',
      null,
      null,
      null,
      ...tableCells(totals),
      differenceIn(runs),
      String(explained),
      null,
      null,
      ...replacedCells(replaced),
      ...besideCells(acknowledged),
      openDoubts.join(' '),
      null,
      null,
      asOf.toISOString(),
    ],
  ]
    .map(csvLine)
    .join('');
}

function parentOf({ parentRunId }: PayRun): string | null {
  return parentRunId === null ? null : showId('run', parentRunId);
}

function showLinked({ payRunId, beforeMinor, ...sum }: LinkedRun): RunReportDocument['replaces'][number] {
  return { payRunId: showId('run', payRunId), ...counted(sum), before: formatMinor(beforeMinor) };
}

function replacedCells({ uploaded, settled }: Table): Cell[] {
  return [uploaded.count, uploaded.amountMinor, settled.count, settled.amountMinor];
}

function besideCells(acknowledged: readonly Acknowledged[]): Cell[] {
  return KINDS_BESIDE.flatMap((kind) => {
    const those = acknowledged.filter((one) => one.kind === kind);
    // Runs of one account may tell of the same.
    if (kind === 'TOTALS_UNSEEN' && new Set(those.map((one) => one.payRunId)).size > 1) return [null, null];
    const { count, amountMinor } = add(those);
    return [count, amountMinor];
  });
}

function differenceIn(runs: readonly { report: Report }[]): bigint {
  return sumMinor(runs.map(({ report }) => report.difference.amountMinor));
}

function tableCells(table: Table): Cell[] {
  return TABLE_LINES.flatMap((name) => [table[name].count, table[name].amountMinor]);
}

type Deciders = Pick<
  Decision,
  'proposedBy' | 'proposedByName' | 'confirmedBy' | 'confirmedByName' | 'confirmedAt'
>;

function showDeciders({
  proposedBy,
  confirmedBy,
  confirmedAt,
  ...names
}: Deciders): Record<keyof Deciders, string> {
  return {
    proposedBy: showId('per', proposedBy),
    proposedByName: names.proposedByName,
    confirmedBy: showId('per', confirmedBy),
    confirmedByName: names.confirmedByName,
    confirmedAt: confirmedAt.toISOString(),
  };
}

function showTable(table: Table): RunReportDocument['table'] {
  const lines = TABLE_LINES.map((name) => [name, counted(table[name])] as const);
  return Object.fromEntries(lines) as RunReportDocument['table'];
}

function showStatuses(statuses: ReadonlyMap<string, CountAndSum>): Record<string, Counted> {
  return Object.fromEntries([...statuses].map(([status, sum]) => [status, counted(sum)]));
}

function differenceOf({ differenceCount, differenceMinor }: ReportLine): CountAndSum {
  return { count: differenceCount, amountMinor: differenceMinor };
}

function counted({ count, amountMinor }: CountAndSum): Counted {
  return { payments: count, amount: formatMinor(amountMinor) };
}
