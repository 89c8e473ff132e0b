import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { urlOfDatabase } from '../src/database/roles';
import { readId } from '../src/http/prefixed-id';
import type { Stand } from './stand';

/**
 * The least a load of these rows can take: one COPY of rows that are ready, into a table like `payment`. As
 * superuser, because row-level security refuses COPY.
 */
export class BareCopy {
  private constructor(private readonly client: Client) {}

  static async open(stand: Stand): Promise<BareCopy> {
    const connectionString = urlOfDatabase(stand.database.superuserUrl, 'payrun');
    const client = new Client({ connectionString });
    await client.connect();
    await makeCopyOfPayment(client);
    return new BareCopy(client);
  }

  /** The payments of a run, as COPY writes them. */
  rowsOf(runId: string): Promise<Buffer> {
    const id = readId('run', runId);
    const rows = `SELECT * FROM payment WHERE pay_run_id = '${id}' ORDER BY row_no`;
    return buffer(this.client.query(copyTo(`COPY (${rows}) TO STDOUT`)));
  }

  /** Copies rows and commits. @returns the seconds it took */
  async time(rows: Buffer): Promise<number> {
    const started = performance.now();
    await pipeline(Readable.from(pieces(rows)), this.client.query(copyFrom('COPY payment_copy FROM STDIN')));
    return (performance.now() - started) / 1_000;
  }

  async stop(): Promise<void> {
    await this.client.end();
  }
}

/** Indexes and checks come with LIKE; the fill factor and the foreign keys do not. */
async function makeCopyOfPayment(client: Client): Promise<void> {
  await client.query(`
    DO $$
    DECLARE
      options text := (SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = 'payment'::regclass);
      foreign_key text;
    BEGIN
      EXECUTE format('CREATE TABLE payment_copy (LIKE payment INCLUDING ALL) WITH (%s)', options);
      FOR foreign_key IN SELECT pg_get_constraintdef(oid) FROM pg_constraint
                         WHERE conrelid = 'payment'::regclass AND contype = 'f' LOOP
        EXECUTE 'ALTER TABLE payment_copy ADD ' || foreign_key;
      END LOOP;
    END $$`);
}

const PIECE_BYTES = 65_536;

function* pieces(rows: Buffer): Generator<Buffer> {
  for (let at = 0; at < rows.length; at += PIECE_BYTES) yield rows.subarray(at, at + PIECE_BYTES);
}
