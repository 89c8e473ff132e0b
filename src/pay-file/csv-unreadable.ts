import { PayFileFault } from './pay-file-fault';

/** The file cannot be read further than this fault. */
export class CsvUnreadable extends Error {
  constructor(
    readonly fault: PayFileFault,
    /** The line whose encoding is not known, as bytes. */
    readonly undecoded?: Buffer,
  ) {
    super(`the file cannot be read on after line ${fault.line}: ${fault.code}`);
  }
}
