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

/** Where a chain is broken. */
export interface ChainBreak {
  /** The number of the first entry that is missing, changed or out of place. */
  readonly at: bigint;
  /** How many in a row are, from this one on: up to the next that is sound, or the end of the slice. */
  readonly entries: number;
}

/** What a verification of a part found, and where the next one goes on: at the start again once the head was met. */
export interface SliceVerdict {
  readonly entries: number;
  /** In order, none adjacent to another. What follows a broken entry is held against its hash as it is stored. */
  readonly breaks: readonly ChainBreak[];
  readonly next: ChainPosition;
}

/**
 * Computes a chain again from its first entry to its head, and sees any entry changed, taken out, put in or cut off
 * the end.
 */
export async function verifyChain(tx: Transaction, chainId: string): Promise<ChainVerdict> {
  let from = CHAIN_START;
  for (;;) {
    const { entries, breaks, next } = await verifySlice(tx, chainId, from, BATCH);
    const [first] = breaks;
    if (first) return { entries: Math.min(entries, Number(first.at) - 1), brokenAt: first.at };
    if (next === CHAIN_START) return { entries };
    from = next;
  }
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
  const breaks: ChainBreak[] = [];
  let last = from;
  for (let read = 0; read < atMost; read += BATCH) {
    const rows = await batchAfter(tx, chainId, last.seq, head.seq);
    for (const row of rows) {
      breaks.push(...breaksAt(chainId, row, last));
      last = { seq: BigInt(row.seq), hash: row.entry_hash };
    }
    if (rows.length < BATCH) {
      breaks.push(...(await breaksAtEnd(tx, chainId, last, head)));
      return { entries: Number(last.seq), breaks: merged(breaks), next: CHAIN_START };
    }
  }
  return { entries: Number(last.seq), breaks: merged(breaks), next: last };
}

/** One cause that broke entries in a row is one break. */
function merged(breaks: readonly ChainBreak[]): ChainBreak[] {
  const all: ChainBreak[] = [];
  for (const one of breaks) {
    const before = all.at(-1);
    if (before && before.at + BigInt(before.entries) === one.at)
      all[all.length - 1] = { at: before.at, entries: before.entries + one.entries };
    else all.push(one);
  }
  return all;
}

function breaksAt(chainId: string, row: Row, previous: ChainPosition): ChainBreak[] {
  const { at, person_id: personId, action, subject, detail, previous_hash: previousHash } = row;
  const seq = BigInt(row.seq);
  const missing = Number(seq - previous.seq) - 1;
  const own = hashOfEntry(previousHash, { chainId, seq, at, personId, action, subject, detail });
  const follows = missing > 0 || previousHash.equals(previous.hash);
  return [
    ...(missing > 0 ? [{ at: previous.seq + 1n, entries: missing }] : []),
    ...(follows && own.equals(row.entry_hash) ? [] : [{ at: seq, entries: 1 }]),
  ];
}

/** Cut off before its head, or of another hash than that, or with an entry beyond it. */
async function breaksAtEnd(
  tx: Transaction,
  chainId: string,
  last: ChainPosition,
  head: ChainPosition,
): Promise<ChainBreak[]> {
  const [from, to] = last.seq < head.seq ? [last.seq, head.seq] : [head.seq, last.seq];
  if (from !== to || !last.hash.equals(head.hash))
    return [{ at: from + 1n, entries: Math.max(Number(to - from), 1) }];
  const beyond = await firstBeyondHead(tx, chainId);
  return beyond === undefined ? [] : [{ at: beyond, entries: 1 }];
}

function batchAfter(tx: Transaction, chainId: string, after: bigint, upTo: bigint): Promise<Row[]> {
  return tx.query<Row>(
    `SELECT seq, at, person_id, action, subject, detail, previous_hash, entry_hash FROM audit_entry
     WHERE chain_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT ${BATCH}`,
    [chainId, after.toString(), upTo.toString()],
  );
}

async function headOf(tx: Transaction, chainId: string): Promise<ChainPosition> {
  const [head] = await tx.query<{ last_seq: string; last_hash: Buffer }>(
    'SELECT last_seq, last_hash FROM audit_head WHERE chain_id = $1',
    [chainId],
  );
  return head === undefined
    ? { seq: 0n, hash: GENESIS }
    : { seq: BigInt(head.last_seq), hash: head.last_hash };
}

/** One statement, hence one moment: an honest append is never seen half. */
async function firstBeyondHead(tx: Transaction, chainId: string): Promise<bigint | undefined> {
  const [beyond] = await tx.query<{ seq: string }>(
    `SELECT seq FROM audit_entry WHERE chain_id = $1
       AND seq > coalesce((SELECT last_seq FROM audit_head WHERE chain_id = $1), 0) ORDER BY seq LIMIT 1`,
    [chainId],
  );
  return beyond && BigInt(beyond.seq);
}
