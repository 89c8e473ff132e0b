import { Transaction } from '../database/database';
import { GENESIS, hashOfEntry, Json } from './audit-entry';

/** A batch is a few hundred kilobytes; a chain of any length passes through it. */
const BATCH = 1_000;

/** What a verification found; `brokenAt` is the number of the first entry that is missing, changed or out of place. */
export interface ChainVerdict {
  readonly entries: number;
  readonly brokenAt?: bigint;
}

interface Row {
  seq: string;
  at: Date;
  person_id: string | null;
  action: string;
  subject: string;
  detail: Json;
  previous_hash: Buffer;
  entry_hash: Buffer;
}

/**
 * Computes a chain again from its first entry to its head, and sees any entry changed, taken out, put in or cut off
 * the end. Entries appended while it runs are left to the next time.
 */
export async function verifyChain(tx: Transaction, chainId: string): Promise<ChainVerdict> {
  const head = await headOf(tx, chainId);
  let verified = 0n;
  let hash: Buffer = GENESIS;
  for (;;) {
    const rows = await batchAfter(tx, chainId, verified, head.seq);
    for (const row of rows) {
      if (!follows(chainId, row, verified, hash)) return broken(verified);
      verified += 1n;
      hash = row.entry_hash;
    }
    if (rows.length < BATCH) break;
  }
  const whole = verified === head.seq && hash.equals(head.hash) && !(await hasEntryBeyondHead(tx, chainId));
  return whole ? { entries: Number(verified) } : broken(verified);
}

function broken(verified: bigint): ChainVerdict {
  return { entries: Number(verified), brokenAt: verified + 1n };
}

function follows(chainId: string, row: Row, previousSeq: bigint, previousHash: Buffer): boolean {
  const seq = BigInt(row.seq);
  if (seq !== previousSeq + 1n || !row.previous_hash.equals(previousHash)) return false;
  const { at, person_id: personId, action, subject, detail } = row;
  return hashOfEntry(previousHash, { chainId, seq, at, personId, action, subject, detail }).equals(
    row.entry_hash,
  );
}

function batchAfter(tx: Transaction, chainId: string, after: bigint, upTo: bigint): Promise<Row[]> {
  return tx.query<Row>(
    `SELECT seq, at, person_id, action, subject, detail, previous_hash, entry_hash FROM audit_entry
     WHERE chain_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT ${BATCH}`,
    [chainId, after.toString(), upTo.toString()],
  );
}

async function headOf(tx: Transaction, chainId: string): Promise<{ seq: bigint; hash: Buffer }> {
  const [head] = await tx.query<{ last_seq: string; last_hash: Buffer }>(
    'SELECT last_seq, last_hash FROM audit_head WHERE chain_id = $1',
    [chainId],
  );
  return head === undefined
    ? { seq: 0n, hash: GENESIS }
    : { seq: BigInt(head.last_seq), hash: head.last_hash };
}

/** One statement, hence one moment: an honest append is never seen half. */
async function hasEntryBeyondHead(tx: Transaction, chainId: string): Promise<boolean> {
  const beyond = await tx.query(
    `SELECT FROM audit_entry WHERE chain_id = $1
       AND seq > coalesce((SELECT last_seq FROM audit_head WHERE chain_id = $1), 0) LIMIT 1`,
    [chainId],
  );
  return beyond.length > 0;
}
