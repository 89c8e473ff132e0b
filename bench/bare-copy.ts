import { Readable } from 'node:stream';
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

  /** Copies the payments of a run, read before its time is taken, and commits. @returns the seconds it took */
  async time(runId: string): Promise<number> {
    const rows = `SELECT * FROM payment WHERE pay_run_id = '${uuidOf(runId)}' ORDER BY row_no`;
    const chunks: Buffer[] = await this.client.query(copyTo(`COPY (${rows}) TO STDOUT`)).toArray();
    const started = performance.now();
    await pipeline(Readable.from(chunks), this.client.query(copyFrom('COPY payment_copy FROM STDIN')));
    return (performance.now() - started) / 1_000;
  }

  /** Makes a run one that has ended and paid everybody, past the guards. */
  async settle(runId: string): Promise<void> {
    await this.client.query(`
      SET session_replication_role = replica;
      UPDATE pay_run SET status = 'SETTLED' WHERE id = '${uuidOf(runId)}';
      UPDATE payment SET status = 'SETTLED', settled_on = execution_date FROM pay_run r
        WHERE pay_run_id = r.id AND r.id = '${uuidOf(runId)}'`);
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

function uuidOf(runId: string): string {
  return readId('run', runId);
}
