import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import { Database, EmployerTransaction } from '../database/database';
import { PayFile } from './pay-file.entity';
import { UploadedFile } from './spool';

/** What is sent to or read from the database at once: the process never holds a whole file. */
const PART_BYTES = 262_144;

/** What is compressed at once: each time another thread has to be waited for. */
const COMPRESSED_BYTES = 65_536;

/** A pay file without what the store knows itself. */
export type NewPayFile = Omit<
  PayFile,
  | 'employerId'
  | 'content'
  | 'contentCodec'
  | 'rowCount'
  | 'totalMinor'
  | 'replacing'
  | 'renamed'
  | 'uploadedAt'
>;

/**
 * Inserts a pay file whose rows are the payments of its run, counting them, with its content, compressed on the way. A file
 * is at most MAX_PAY_FILE_BYTES long, of which the database takes up to 1 GB in one field.
 */
export async function insertPayFile(
  tx: EmployerTransaction,
  file: NewPayFile,
  content: Pick<UploadedFile, 'read'>,
): Promise<void> {
  await tx.query('CREATE TEMPORARY TABLE uploaded_part (n integer, part bytea) ON COMMIT DROP');
  let n = 0;
  const compressed = content.read(COMPRESSED_BYTES).pipe(createGzip({ level: constants.Z_BEST_SPEED }));
  // The next parts are compressed while one is stored.
  for await (const part of Readable.from(parts(compressed), { highWaterMark: 2 })) {
    n += 1;
    await tx.query(`INSERT INTO pg_temp.uploaded_part VALUES ($1, $2)`, [n, part]);
  }
  await tx.query(
    `INSERT INTO pay_file (employer_id, id, sha256, size_bytes, content, content_codec, file_name, period,
       kind_of_pay, execution_date, account_id, row_count, total_minor, replacing, renamed, pay_run_id, uploaded_by,
       profile_id, read_as, fault_policy, replayable)
     SELECT $1, $2, $3, $4, (SELECT string_agg(part, ''::bytea ORDER BY n) FROM pg_temp.uploaded_part), 'gzip',
       $5, $6, $7, $8, $9, count(*), sum(amount_minor), count(replaces_payment_id), count(written_name_sealed),
       $10, $11, $12, $13, $14, $15
     FROM payment WHERE employer_id = $1 AND pay_run_id = $10`,
    [
      tx.employerId,
      file.id,
      file.sha256,
      file.sizeBytes.toString(),
      file.fileName,
      file.period,
      file.kindOfPay,
      file.executionDate,
      file.accountId,
      file.payRunId,
      file.uploadedBy,
      file.profileId,
      JSON.stringify(file.readAs),
      JSON.stringify(file.faultPolicy),
      file.replayable,
    ],
  );
}

async function* parts(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let gathered: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes < PART_BYTES) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(gathered);
}

/** Sends the bytes of a pay file as they were uploaded. No transaction lasts longer than the reading of one part. */
export async function sendContent(
  database: Database,
  employerId: string,
  payFileId: string,
  destination: Writable,
): Promise<void> {
  await pipeline(storedParts(database, employerId, payFileId), createGunzip(), destination);
}

async function* storedParts(
  database: Database,
  employerId: string,
  payFileId: string,
): AsyncGenerator<Buffer> {
  for (let from = 1; ; from += PART_BYTES) {
    const part = await database.inEmployer(employerId, async (tx) => {
      const [row] = await tx.query<{ part: Buffer }>(
        `SELECT substring(content FROM $3::int FOR $4::int) AS part FROM pay_file WHERE employer_id = $1 AND id = $2`,
        [employerId, payFileId, from, PART_BYTES],
      );
      return row?.part ?? Buffer.alloc(0);
    });
    if (part.length > 0) yield part;
    if (part.length < PART_BYTES) return;
  }
}
