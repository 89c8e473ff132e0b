import { formatMinor } from '../domain/money';

/** Text, a count, an amount in minor units, or nothing. */
export type Cell = string | number | bigint | null;

/** What a spreadsheet takes for a formula: these signs, after any space or invisible character, also full-width. */
const FORMULA = /^(?:[\s\p{C}\p{Z}]*[=+\-@＝＋－＠]|[\t\r\n])/u;
/**
 * The same behind what a spreadsheet may take for the end of a cell: one that does not split at commas sees no quoted cell
 * here, so that a line ends it too, and a quote may stand before the sign.
 */
const FORMULA_WITHIN = /(?!^)([;\t|\r\n])(?=["\s\p{C}\p{Z}]*[=+\-@＝＋－＠])/gu;
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

/** One line of CSV (RFC 4180). Amounts are plain decimals; text that a spreadsheet would run gets an apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'bigint') return formatMinor(cell);
  if (typeof cell === 'number') return String(cell);
  const within = cell.replace(FORMULA_WITHIN, "$1'");
  const harmless = FORMULA.test(cell) ? `'${within}` : within;
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
