import { CANDIDATE_ENCODINGS, decodeSingleBytes } from '../domain/pay-file-encoding';
import { CsvUnreadable } from './csv-unreadable';
import { DELIMITERS, Dialect, splitLine } from './dialect';
import { PayFileFault, Reading } from './pay-file-fault';

// As long as a name may be: enough to see which reading is right.
const MAX_SHOWN = 70;

/**
 * The fault of a file that cannot be read on. Where its encoding is not known, what the first cell with a letter
 * outside ASCII, which is somebody's name as a rule, would say in each encoding it may have.
 */
export function faultOfUnreadable({ fault, undecoded }: CsvUnreadable, dialect?: Dialect): PayFileFault {
  if (!undecoded) return fault;
  const readings = undecoded.includes(0)
    ? wideReadings(undecoded)
    : narrowReadings(undecoded, dialect?.delimiter ?? DELIMITERS[0]);
  return { ...fault, readings };
}

function narrowReadings(line: Buffer, delimiter: string): Reading[] {
  const cells = splitLine(line.toString('latin1').replace(/[\r\n]+$/, ''), delimiter);
  const cell = cells.find((one) => /[\u0080-\u00ff]/.test(one)) ?? '';
  return CANDIDATE_ENCODINGS.map((encoding) => ({
    encoding,
    text: decodeSingleBytes(cell, encoding).slice(0, MAX_SHOWN),
  }));
}

function wideReadings(line: Buffer): Reading[] {
  const shown = Buffer.from(line.subarray(0, Math.min(2 * MAX_SHOWN, line.length - (line.length % 2))));
  const little = shown.toString('utf16le');
  return [
    { encoding: 'utf-16le', text: little },
    { encoding: 'utf-16be', text: shown.swap16().toString('utf16le') },
  ];
}
