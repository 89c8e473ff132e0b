import {
  INSTRUCTION_FOLLOWED,
  INSTRUCTION_IN_DOUBT,
  InstructionStatus,
  isInstructionLive,
} from '../domain/instruction';
import { sumMinor } from '../domain/money';
import { PaymentStatus } from '../domain/payment';
import {
  add,
  bankGroup,
  CountAndSum,
  NOTHING,
  reconcile,
  ReconciliationLine,
} from '../domain/reconciliation';
import { BankPart, LinkedRun, Pair, RunAggregates, Superseded } from './aggregates';
import { judgeRow } from './row-difference';

/**
 * The places where money of a run is, in the order it passes them; then what the bank charged for it, as far as it
 * shows charges, and both together as what left the account.
 */
export const TABLE_LINES = [
  'uploaded',
  'refused',
  'held',
  'excluded',
  'approved',
  'notSent',
  'waiting',
  'inDoubt',
  'atBank',
  'settled',
  'returned',
  'notBack',
  'notPaid',
  'inFlight',
  'void',
  'charges',
  'debited',
] as const;
export type TableLine = (typeof TABLE_LINES)[number];

/** One sentence for each line, for people. */
export const TABLE_MEANING: Readonly<Record<TableLine, string>> = {
  uploaded: 'Rows of the pay file; of a successor, which has none, what it took over.',
  refused: 'Rows kept back for their faults, with what can be read of their amounts.',
  held: 'Rows held and not released; none once the run is cancelled.',
  excluded: 'Rows taken out by an amendment.',
  approved:
    'The rows of the run: those its approval covers, or that wait for one; of a cancelled run all it had.',
  notSent: 'Payments that wait for an approval, or to be put into an instruction.',
  waiting: 'In an instruction that is being built, or is built and waits for its submit.',
  inDoubt:
    'In an instruction whose submit has no answer, was refused or is unknown: the bank may execute it. People, or the bank, say what became of it.',
  atBank:
    'Payments that the bank has, submitted or not, but for those of abandoned or cancelled instructions; they stand in other lines too.',
  settled: 'Paid, as the bank shows or says in writing; what came back since is among them.',
  returned: 'The part of settled that came back.',
  notBack:
    'What of returned payments did not come back, as the bank shows less than was paid: charged for the return, or kept. It stays where they are paid again.',
  notPaid: 'Submitted and ended unpaid: failed, rejected or cancelled at the bank.',
  inFlight: 'Submitted, without an end so far.',
  void: 'Not executed, released at the cut-off or declared unpaid: a successor or a supplement can pay them, unless their instruction was found to have moved.',
  charges: 'What the bank charged for payments, paid or not, and for how many of them.',
  debited:
    'What left the account: settled and charges, and in a month `paidAgain`. What came back is not taken off.',
};
export type Table = Readonly<Record<TableLine, CountAndSum>>;

/** One equation: what one table says and what another does. */
export type ReportLine = Omit<ReconciliationLine, 'name'> & { name: string };

/** A run's reconciliation. The difference is the sum of magnitudes over all equations: it is zero or something is wrong. */
export interface Report {
  table: Table;
  lines: ReportLine[];
  byPaymentStatus: ReadonlyMap<PaymentStatus, CountAndSum>;
  byBankStatus: ReadonlyMap<string, CountAndSum>;
  /** The part of the table that payments of other runs are made instead of. */
  superseded: Table;
  replacedBy: readonly LinkedRun[];
  replaces: readonly LinkedRun[];
  /** Payments whose status and bank status cannot both be true, also where sums agree. */
  contradictions: CountAndSum;
  difference: CountAndSum;
  explained: boolean;
}

const WAITING: readonly InstructionStatus[] = ['BUILDING', 'VERIFIED'];
const DROPPED: readonly InstructionStatus[] = ['VOID', 'RELEASED'];
const BUILT: readonly InstructionStatus[] = [
  'VERIFIED',
  ...INSTRUCTION_IN_DOUBT,
  ...INSTRUCTION_FOLLOWED,
  ...DROPPED,
];

/** Draws up the report of a run from its aggregates. */
export function drawUp(run: RunAggregates): Report {
  const bank = run.bank.filter(({ addOutcome }) => addOutcome === 'ADDED' || addOutcome === 'ADOPTED');
  const declared = declaredVoid(run);
  const byWord = paidByWord(run);
  const ofSubmitted = withoutDeclared(
    byStatus(bank.filter(({ instruction }) => INSTRUCTION_FOLLOWED.includes(instruction))),
    [...declared, ...byWord],
  );
  ofSubmitted.set('SETTLED', add([ofSubmitted.get('SETTLED'), ...byWord]));
  const conservation = reconcile({
    cancelled: run.status === 'CANCELLED',
    uploaded: run.uploaded,
    refused: run.refused,
    held: less(moved(run, 'to', 'HELD'), moved(run, 'from', 'HELD')),
    excluded: moved(run, 'to', 'EXCLUDED'),
    approved: rowsOfRun(run),
    byPaymentStatus: Object.fromEntries(run.payments),
    submitted: less(planned(run, INSTRUCTION_FOLLOWED), add(declared)),
    bankByStatus: Object.fromEntries(ofSubmitted),
  });
  const lines = [...conservation, ...furtherLines(run, bank, declared, byWord)];
  const contradicting = run.pairs.filter(
    ({ status, bankStatus }) => judgeRow(run.status, status, bankStatus) !== undefined,
  );
  const contradictions = less(add(contradicting), add(byWord));
  const difference = magnitude(lines);
  return {
    table: tableOf(run, bank, conservation),
    lines,
    byPaymentStatus: run.payments,
    byBankStatus: byStatus(bank.filter(isLive)),
    superseded: supersededTable(run.superseded),
    replacedBy: run.replacedBy,
    replaces: run.replaces,
    contradictions,
    difference,
    explained: difference.count === 0 && difference.amountMinor === 0n && contradictions.count === 0,
  };
}

/** Held rows of a cancelled run became rows of the run when it was cancelled. */
function rowsOfRun(run: RunAggregates): CountAndSum {
  return add([run.version, run.moves.get('HELD>CANCELLED')]);
}

/** What two people declared not executed after its submit, since the bank had ended its instruction without it. */
function declaredVoid(run: RunAggregates): Pair[] {
  return run.pairs.filter(
    ({ status, instruction }) =>
      status === 'VOID' && instruction !== null && INSTRUCTION_FOLLOWED.includes(instruction),
  );
}

/** What is settled by the word of two people, while the bank has shown no end of it. */
function paidByWord(run: RunAggregates): Pair[] {
  return run.decided.filter(
    ({ status, bankStatus }) => status === 'SETTLED' && bankGroup(bankStatus ?? '') === 'inFlight',
  );
}

function withoutDeclared(
  byBankStatus: ReadonlyMap<string, CountAndSum>,
  declared: readonly Pair[],
): Map<string, CountAndSum> {
  const left = new Map(byBankStatus);
  for (const { bankStatus, ...part } of declared) {
    const status = bankStatus ?? '';
    left.set(status, less(left.get(status) ?? NOTHING, part));
  }
  return left;
}

function furtherLines(
  run: RunAggregates,
  bank: readonly BankPart[],
  declared: readonly Pair[],
  byWord: readonly Pair[],
): ReportLine[] {
  const ours = (...statuses: PaymentStatus[]) => add(statuses.map((status) => run.payments.get(status)));
  const atBank = (statuses: readonly InstructionStatus[]) =>
    add(bank.filter(({ instruction }) => statuses.includes(instruction)));
  return [
    line(
      'PLAN',
      'The run is the sum of its planned instructions.',
      run.recorded,
      add([...run.planned.values()]),
    ),
    line(
      'BUILT',
      'A built instruction holds its planned rows.',
      less(planned(run, BUILT), run.unbuilt.get('planned') ?? NOTHING),
      less(atBank(BUILT), run.unbuilt.get('at the bank') ?? NOTHING),
    ),
    line(
      'AT_BANK',
      'What we call at the bank waits there, or its submit is in doubt.',
      ours('AT_BANK'),
      planned(run, [...WAITING, ...INSTRUCTION_IN_DOUBT]),
    ),
    line(
      'VOID',
      'What we call void was never submitted, or declared not executed by two people.',
      ours('VOID'),
      add([planned(run, DROPPED), ...declared]),
    ),
    line(
      'DEBITED',
      'What left the account is what the bank settled and what it charged, also for what it did not pay.',
      withCharges(ours('SETTLED'), run),
      withCharges(add([...bank.filter(isSettled), ...byWord]), run),
    ),
    line('ABANDONED', 'No instruction that was given up has moved.', NOTHING, run.givenUpMoved),
  ];
}

function tableOf(run: RunAggregates, bank: readonly BankPart[], lines: readonly ReconciliationLine[]): Table {
  const actual = (name: ReconciliationLine['name']) =>
    lines.find((each) => each.name === name)?.actual ?? NOTHING;
  const expected = (name: ReconciliationLine['name']) =>
    lines.find((each) => each.name === name)?.expected ?? NOTHING;
  return {
    uploaded: run.uploaded,
    refused: run.refused,
    held: expected('HELD'),
    excluded: expected('EXCLUDED'),
    approved: rowsOfRun(run),
    notSent: add([run.payments.get('READY'), run.payments.get('APPROVED')]),
    waiting: planned(run, WAITING),
    inDoubt: planned(run, INSTRUCTION_IN_DOUBT),
    atBank: add(bank.filter(isLive)),
    settled: actual('SETTLED'),
    returned: run.returned,
    notBack: run.notBack,
    notPaid: actual('NOT_PAID'),
    inFlight: actual('IN_FLIGHT'),
    void: run.payments.get('VOID') ?? NOTHING,
    charges: run.charges,
    debited: withCharges(actual('SETTLED'), run),
  };
}

/** A charge is on top of a payment and none of its own. */
function withCharges({ count, amountMinor }: CountAndSum, { charges }: RunAggregates): CountAndSum {
  return { count, amountMinor: amountMinor + charges.amountMinor };
}

/** The lines in which replaced payments stand, by how they ended. What was charged, debited and is not back stays: it left the account. */
function linesOf({ status, returnedMinor, atBank }: Superseded): readonly TableLine[] {
  if (status === 'EXCLUDED') return ['uploaded', 'excluded'];
  const built: readonly TableLine[] = atBank ? ['uploaded', 'approved', 'atBank'] : ['uploaded', 'approved'];
  if (status === 'VOID') return [...built, 'void'];
  if (status !== 'SETTLED') return [...built, 'notPaid'];
  return returnedMinor !== null ? [...built, 'settled', 'returned'] : [...built, 'settled'];
}

function supersededTable(parts: readonly Superseded[]): Table {
  const sums = TABLE_LINES.map((name) => {
    const ofLine = parts.filter((part) => linesOf(part).includes(name));
    return [name, add(name === 'returned' ? ofLine.map(cameBackOf) : ofLine)] as const;
  });
  return Object.fromEntries(sums) as Record<TableLine, CountAndSum>;
}

function cameBackOf({ count, amountMinor, returnedMinor }: Superseded): CountAndSum {
  return { count, amountMinor: returnedMinor ?? amountMinor };
}

/** One table without another, line by line. */
export function lessTable(table: Table, without: Table): Table {
  const lines = TABLE_LINES.map((name) => [name, less(table[name], without[name])] as const);
  return Object.fromEntries(lines) as Record<TableLine, CountAndSum>;
}

/** Adds tables up, line by line. */
export function sumTables(tables: readonly Table[]): Table {
  const sums = TABLE_LINES.map((name) => [name, add(tables.map((table) => table[name]))] as const);
  return Object.fromEntries(sums) as Record<TableLine, CountAndSum>;
}

function isLive({ instruction }: BankPart): boolean {
  return isInstructionLive(instruction);
}

function isSettled(part: BankPart): boolean {
  return INSTRUCTION_FOLLOWED.includes(part.instruction) && bankGroup(part.bankStatus) === 'settled';
}

function planned(run: RunAggregates, statuses: readonly InstructionStatus[]): CountAndSum {
  return add(statuses.map((status) => run.planned.get(status)));
}

function moved(run: RunAggregates, end: 'from' | 'to', status: PaymentStatus): CountAndSum {
  const place = end === 'from' ? 0 : 1;
  const moves = [...run.moves].filter(([move]) => move.split('>')[place] === status);
  return add(moves.map(([, sum]) => sum));
}

function byStatus(parts: readonly BankPart[]): Map<string, CountAndSum> {
  const statuses = [...new Set(parts.map(({ bankStatus }) => bankStatus))].sort();
  return new Map(
    statuses.map((status) => [status, add(parts.filter(({ bankStatus }) => bankStatus === status))]),
  );
}

function line(name: string, meaning: string, expected: CountAndSum, actual: CountAndSum): ReportLine {
  const { count, amountMinor } = less(expected, actual);
  return { name, meaning, expected, actual, differenceCount: count, differenceMinor: amountMinor };
}

/** Magnitudes, so that two opposite errors do not cancel out. */
function magnitude(lines: readonly ReportLine[]): CountAndSum {
  return {
    count: lines.reduce((sum, each) => sum + Math.abs(each.differenceCount), 0),
    amountMinor: sumMinor(
      lines.map(({ differenceMinor }) => (differenceMinor < 0n ? -differenceMinor : differenceMinor)),
    ),
  };
}

function less(a: CountAndSum, b: CountAndSum): CountAndSum {
  return { count: a.count - b.count, amountMinor: a.amountMinor - b.amountMinor };
}
