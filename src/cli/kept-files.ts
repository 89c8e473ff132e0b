import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { STAFF_ROLES } from './seed';

/** 256 bits, as many as the hash that is keyed with it. */
const SECRET_BYTES = 32;

const secrets = z.object({ hashKey: z.string().min(32), webhookSecret: z.string().min(32) });
const port = z.int().min(1).max(65_535);
const ports = z.object({ service: port, bank: port }).partial();
const keys = z.partialRecord(z.enum(STAFF_ROLES), z.string());

/** What `payrun start` keeps beside the database in `.payrun`, for its own user's eyes only. */
export class KeptFiles {
  constructor(private readonly directory: string) {}

  get bankState(): string {
    return join(this.directory, 'bank.jsonl');
  }

  /** The secrets of this installation, made the first time. */
  async secrets(): Promise<z.infer<typeof secrets>> {
    const kept = await this.read('secrets.json', secrets);
    if (kept !== undefined) return kept;
    const made = { hashKey: makeSecret(), webhookSecret: makeSecret() };
    await this.write('secrets.json', made);
    return made;
  }

  /** The ports of the last start. */
  async ports(): Promise<z.infer<typeof ports>> {
    return (await this.read('ports.json', ports)) ?? {};
  }

  keepPorts(chosen: Required<z.infer<typeof ports>>): Promise<void> {
    return this.write('ports.json', chosen);
  }

  /** The sandbox people's keys, which the database itself cannot tell: it has their hashes only. */
  async keys(): Promise<z.infer<typeof keys>> {
    return (await this.read('keys.json', keys)) ?? {};
  }

  keepKeys(issued: z.infer<typeof keys>): Promise<void> {
    return this.write('keys.json', issued);
  }

  private async read<T>(name: string, schema: z.ZodType<T>): Promise<T | undefined> {
    const path = join(this.directory, name);
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const parsed = schema.safeParse(jsonIn(text));
    if (parsed.success) return parsed.data;
    throw new Error(`${path} cannot be read; mend it or move it away.`);
  }

  /** Renamed into place, so that a crash leaves the old file or the new one. */
  private async write(name: string, content: object): Promise<void> {
    const path = join(this.directory, name);
    await mkdir(this.directory, { recursive: true });
    await writeFile(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
}

function makeSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
