/** What became of one run of a fault, by the bank's ledger. */
export interface Finding {
  paidTwice: boolean;
  paidUnapproved: boolean;
  /** What the service says differs from the ledger, and no attention is open. */
  silent: boolean;
  stuck: boolean;
  /** People were left with what they could not decide by evidence. */
  undecided?: boolean;
  attention: boolean;
  /** From the fault to the end of the run, or to the attention; undefined where time is virtual. */
  recoveryS?: number;
}

/** One line of the table. */
export class Line {
  runs = 0;
  paidTwice = 0;
  paidUnapproved = 0;
  silent = 0;
  stuck = 0;
  attention = 0;
  private readonly recoveriesS: number[] = [];

  constructor(
    readonly fault: string,
    readonly assumptions: 'inside' | 'outside',
  ) {}

  add(finding: Finding): void {
    this.runs += 1;
    if (finding.paidTwice) this.paidTwice += 1;
    if (finding.paidUnapproved) this.paidUnapproved += 1;
    if (finding.silent) this.silent += 1;
    if (finding.stuck) this.stuck += 1;
    if (finding.attention) this.attention += 1;
    if (finding.recoveryS !== undefined) this.recoveriesS.push(finding.recoveryS);
  }

  /** The longest of its recoveries, in seconds. */
  get slowestS(): number | undefined {
    return this.recoveriesS.length === 0 ? undefined : Math.max(...this.recoveriesS);
  }
}

/**
 * The rule of the exit: inside the assumptions nobody is paid twice or unapproved and nothing is silent, stuck or left
 * undecided; outside them nothing is silent or stuck.
 */
export function breaks(finding: Finding, assumptions: Line['assumptions']): boolean {
  const { silent, stuck, paidTwice, paidUnapproved, undecided } = finding;
  if (silent || stuck) return true;
  return assumptions === 'inside' && (paidTwice || paidUnapproved || undecided === true);
}

/** What broke, in words. */
export function wordsOf({ paidTwice, paidUnapproved, silent, stuck, undecided }: Finding): string {
  const words = { 'paid twice': paidTwice, 'paid unapproved': paidUnapproved, silent, stuck, undecided };
  return Object.entries(words)
    .flatMap(([word, holds]) => (holds === true ? [word] : []))
    .join(', ');
}

const HEAD = ['assumptions', 'runs', 'twice', 'unapproved', 'silent', 'stuck', 'attention', 'recovery s'];
const FAULT_WIDTH = 72;

export function headOfTable(): string {
  return row('fault', HEAD);
}

export function textOf(line: Line): string {
  const counts = [line.runs, line.paidTwice, line.paidUnapproved, line.silent, line.stuck, line.attention];
  return row(line.fault, [line.assumptions, ...counts.map(String), line.slowestS?.toFixed(1) ?? '-']);
}

function row(fault: string, cells: readonly string[]): string {
  const padded = cells.map((cell, n) => cell.padStart(HEAD[n]?.length ?? 0));
  return `${fault.padEnd(FAULT_WIDTH)}  ${padded.join('  ')}`;
}
