import { createHash } from 'node:crypto';
import { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { Problem } from '../http/problem';
import { PassingBytes } from './tidy-heap';

/** Two hundred rows or so: checked in some milliseconds, and little enough to be gone from memory right after. */
const PIECE_BYTES = 16_384;
/** What is read at once: each time another thread has to be waited for. */
const READ_BYTES = 65_536;

/** The bytes of an upload on this machine's disk. */
export interface UploadedFile {
  sha256: Buffer;
  sizeBytes: number;
  /** The bytes from the beginning, in pieces of so many at most; may be called again. */
  read(pieceBytes?: number): Readable;
}

/** A received file with the form fields that came with it. */
export interface Upload {
  file: UploadedFile;
  fileName: string | undefined;
  fields: ReadonlyMap<string, string>;
}

/** Where the bytes of one upload are gathered, counted and hashed. */
export class Spool {
  constructor(
    private readonly handle: FileHandle,
    private readonly maxBytes: number,
  ) {}

  /** @throws Problem 413 when more comes than may. */
  async fill(source: AsyncIterable<Buffer>): Promise<UploadedFile> {
    const hash = createHash('sha256');
    const passing = new PassingBytes();
    let sizeBytes = 0;
    for await (const chunk of source) {
      sizeBytes += chunk.length;
      if (sizeBytes > this.maxBytes) {
        throw new Problem(413, 'PAY_FILE_TOO_LARGE', `A pay file has at most ${this.maxBytes} bytes.`);
      }
      hash.update(chunk);
      await this.handle.appendFile(chunk);
      passing.add(chunk.length);
    }
    return { sha256: hash.digest(), sizeBytes, read: (pieceBytes) => Readable.from(this.pieces(pieceBytes)) };
  }

  /** Not a stream of the file: one that is left before its end closes the descriptor. */
  private async *pieces(pieceBytes = PIECE_BYTES): AsyncGenerator<Buffer> {
    const passing = new PassingBytes();
    for (let position = 0; ;) {
      const part = Buffer.allocUnsafe(READ_BYTES);
      const { bytesRead } = await this.handle.read(part, 0, READ_BYTES, position);
      if (bytesRead === 0) return;
      for (let at = 0; at < bytesRead; at += pieceBytes) {
        yield part.subarray(at, Math.min(at + pieceBytes, bytesRead));
      }
      position += bytesRead;
      passing.add(bytesRead);
    }
  }
}
