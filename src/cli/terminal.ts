/** Where a command prints: a terminal, or a file or pipe. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** One character of the bar for the share of payments in each status, the furthest first. */
const SHADES = [
  ['SETTLED', '█', 'settled'],
  ['SUBMITTED', '▓', 'submitted'],
  ['AT_BANK', '▒', 'at the bank'],
  ['APPROVED', '░', 'approved'],
] as const;
const BAR_CHARACTERS = 40;

/** Payments by status. */
export type Counts = Readonly<Record<string, number | undefined>>;

/** How far a run has come: redrawn in place on a terminal, else a line for each change. */
export class ProgressBar {
  private shown = '';

  constructor(private readonly output: Output) {}

  show(counts: Counts): void {
    const text = `  [${barOf(counts)}] ${wordsOf(counts)}`;
    if (text === this.shown) return;
    this.shown = text;
    if (this.output.isTTY) this.output.write(`\r\x1b[2K${text.slice(0, this.output.columns)}`);
    else this.output.write(`${text}\n`);
  }

  /** Leaves the bar as it stands and goes to a new line. */
  end(): void {
    if (!this.output.isTTY || this.shown === '') return;
    this.output.write('\n');
    this.shown = '';
  }
}

function barOf(counts: Counts): string {
  const total = Object.values(counts).reduce<number>((sum, count) => sum + (count ?? 0), 0);
  let bar = '';
  let seen = 0;
  for (const [status, shade] of SHADES) {
    seen += counts[status] ?? 0;
    bar += shade.repeat(Math.floor((seen * BAR_CHARACTERS) / Math.max(total, 1)) - bar.length);
  }
  return bar.padEnd(BAR_CHARACTERS);
}

function wordsOf(counts: Counts): string {
  const known = SHADES.map(([status, , word]) => [counts[status], word] as const);
  const shades = new Set<string>(SHADES.map(([status]) => status));
  const others = Object.entries(counts)
    .filter(([status]) => !shades.has(status))
    .map(([status, count]) => [count, status.toLowerCase()] as const);
  const parts = [...known, ...others].filter(([count]) => (count ?? 0) > 0);
  return parts.map(([count, word]) => `${count} ${word}`).join(' · ');
}

/**
 * Lines of a table, its columns as wide as their widest cell but the last, which a terminal may wrap.
 * @param right the columns to be set flush right
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]): string => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? '';
      return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
    });
    return `  ${padded.join('  ')}`.trimEnd();
  };
  return [line(head), ...rows.map(line)];
}
