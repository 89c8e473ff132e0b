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

/** An entry of a chain up to which it was verified, and its hash. */
export interface ChainPosition {
  readonly seq: bigint;
  readonly hash: Buffer;
}

/** Before the first entry of any chain. */
export const CHAIN_START: ChainPosition = { seq: 0n, hash: GENESIS };

/** What a verification of a part found, and where the next one goes on: at the start again once the head was met. */
export interface SliceVerdict extends ChainVerdict {
  readonly next: ChainPosition;
}

/**
 * Computes a chain again from its first entry to its head, and sees any entry changed, taken out, put in or cut off
 * the end. Entries appended while it runs are left to the next time.
 */
export async function verifyChain(tx: Transaction, chainId: string): Promise<ChainVerdict> {
  const { entries, brokenAt } = await verifySlice(tx, chainId, CHAIN_START, Infinity);
  return brokenAt === undefined ? { entries } : { entries, brokenAt };
}

/**
 * Computes the part of a chain that follows `from`, of `atMost` entries, rounded up to whole batches. `entries` counts
 * from the beginning of the chain.
 */
export async function verifySlice(
  tx: Transaction,
  chainId: string,
  from: ChainPosition,
  atMost: number,
): Promise<SliceVerdict> {
  const head = await headOf(tx, chainId);
  let verified = from.seq;
  let hash = from.hash;
  for (let read = 0; read < atMost; read += BATCH) {
    const rows = await batchAfter(tx, chainId, verified, head.seq);
    for (const row of rows) {
      if (!follows(chainId, row, verified, hash)) return broken(verified, from);
      verified += 1n;
      hash = row.entry_hash;
    }
    if (rows.length < BATCH) {
      const whole =
        verified === head.seq && hash.equals(head.hash) && !(await hasEntryBeyondHead(tx, chainId));
      return whole ? { entries: Number(verified), next: CHAIN_START } : broken(verified, from);
    }
  }
  return { entries: Number(verified), next: { seq: verified, hash } };
}

function broken(verified: bigint, next: ChainPosition): SliceVerdict {
  return { entries: Number(verified), brokenAt: verified + 1n, next };
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
