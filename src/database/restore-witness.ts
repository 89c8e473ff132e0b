import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG, Config } from '../config/env';
import { newId } from './new-id';

/** The mark of processes without a file of their own: they remember it as long as they live. */
const WITHOUT_FILE = '00000000-0000-0000-0000-000000000000';

const remembered = z.object({ id: z.uuid(), seq: z.coerce.bigint() });

/**
 * What is remembered of the database outside it: the highest number of a mark that was committed there. An older copy
 * of the same files, put back, has a lower one. In a file it outlives the process; keep that apart from the database.
 */
@Injectable()
export class RestoreWitness {
  /** The mark in the database that this witness remembers. */
  id = WITHOUT_FILE;
  /** The highest number known to be committed; undefined before the first look. */
  seq: bigint | undefined;
  /** Whether the file could not be read or written when that was last tried. */
  private failed = false;
  /** The highest number that is in the file. */
  private written: bigint | undefined;
  private readonly path: string | undefined;
  private writing = Promise.resolve();

  constructor(@Inject(CONFIG) config: Pick<Config, 'RESTORE_WITNESS_FILE'>) {
    this.path = config.RESTORE_WITNESS_FILE;
  }

  /** Whether an older copy of the database's files is noticed at a start. */
  get outlivesProcess(): boolean {
    return this.path !== undefined && !this.failed;
  }

  /** Reads the file, once. @throws Error when there is one that cannot be read. */
  async recall(): Promise<void> {
    const { path } = this;
    if (path === undefined || this.id !== WITHOUT_FILE) return;
    await this.noting(() => this.read(path));
  }

  private async noting(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.failed = false;
    } catch (error) {
      this.failed = true;
      throw error;
    }
  }

  private async read(path: string): Promise<void> {
    const text = await readFile(path, 'utf8').catch(absent);
    if (text === undefined) {
      this.id = newId();
      return;
    }
    try {
      const { id, seq } = remembered.parse(JSON.parse(text));
      this.id = id;
      this.seq = seq;
      this.written = seq;
    } catch {
      throw new Error(
        'RESTORE_WITNESS_FILE is not what this service wrote: see whether the database was restored',
      );
    }
  }

  /** Remembers a number that is committed; resolves when it is on the disk. @throws Error of the file system */
  async remember(seq: bigint): Promise<void> {
    if (this.seq === undefined || seq > this.seq) this.seq = seq;
    if (this.path === undefined || this.isWritten(seq)) return;
    const { path } = this;
    const write = () => this.noting(() => this.write(path));
    this.writing = this.writing.then(write, write);
    await this.writing;
  }

  private isWritten(seq: bigint): boolean {
    return this.written !== undefined && this.written >= seq;
  }

  private async write(path: string): Promise<void> {
    const { seq } = this;
    if (seq === undefined || this.isWritten(seq)) return;
    await mkdir(dirname(path), { recursive: true });
    const unfinished = `${path}.${process.pid}`;
    const file = await open(unfinished, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify({ id: this.id, seq: String(seq) }));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
    this.written = seq;
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
