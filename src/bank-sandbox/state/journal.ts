import { closeSync, existsSync, openSync, readSync, truncateSync, writeSync } from 'node:fs';
import { parseJson, writeJson } from '../json';
import type { CommandLine } from './commands';

/** Read in pieces: a journal may be larger than the longest string. */
const READ_BYTES = 1 << 20;
const LINE_FEED = 0x0a;

/**
 * The bank's memory on disk: one line per executed command, handed to the operating system before the
 * command is answered, so that killing the process loses nothing that was said to have happened.
 */
export class Journal {
  private readonly file: number;

  private constructor(path: string) {
    this.file = openSync(path, 'a', 0o600);
  }

  /**
   * Replays what the file holds into `apply`, drops a line cut by a crash, and goes on appending. Throws one line that
   * names the file and its first line that cannot be replayed.
   */
  static open(path: string, apply: (line: CommandLine) => void): Journal {
    if (existsSync(path)) truncateSync(path, replay(path, apply));
    return new Journal(path);
  }

  append(line: CommandLine): void {
    writeSync(this.file, `${writeJson(line)}\n`);
  }

  close(): void {
    closeSync(this.file);
  }
}

/** Returns the length in bytes of the complete lines. */
function replay(path: string, apply: (line: CommandLine) => void): number {
  const file = openSync(path, 'r');
  const piece = Buffer.allocUnsafe(READ_BYTES);
  let rest: Buffer = Buffer.alloc(0);
  let completeBytes = 0;
  let lines = 0;
  for (let read = readSync(file, piece); read > 0; read = readSync(file, piece)) {
    const bytes = Buffer.concat([rest, piece.subarray(0, read)]);
    const end = bytes.lastIndexOf(LINE_FEED) + 1;
    const texts = bytes.toString('utf8', 0, end).split('\n').slice(0, -1);
    for (const text of texts) {
      lines += 1;
      replayLine(text, apply, `${path}, line ${lines}`);
    }
    completeBytes += end;
    rest = bytes.subarray(end);
  }
  closeSync(file);
  return completeBytes;
}

/** What went wrong is not told: the line may hold names and amounts. */
function replayLine(text: string, apply: (line: CommandLine) => void, place: string): void {
  try {
    if (text !== '') apply(parseJson(text) as CommandLine);
  } catch {
    throw new Error(
      `${place}, cannot be replayed: SANDBOX_FRESH=true throws the whole file away and begins anew`,
    );
  }
}
