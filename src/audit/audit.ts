import { arraysOf } from '../database/binary-array';
import { EmployerTransaction, Transaction } from '../database/database';
import { AuditEntry, GENESIS, hashOfEntry, Json } from './audit-entry';

/** The chain of what concerns the installation rather than an employer. */
export const INSTALLATION_CHAIN = '00000000-0000-0000-0000-000000000000';

/** Something a person, or the service when there is no `personId`, did. */
export interface AuditedAction {
  readonly personId?: string;
  /** Such as `pay-run.approved`. */
  readonly action: string;
  /** The id of what it was done to, as the outside sees it. */
  readonly subject: string;
  /** Ids, codes, counts and reasons; no name, IBAN or amount of a person. */
  readonly detail: { readonly [key: string]: Json | undefined };
}

/** A transaction of an employer, or of the installation. */
type ChainTransaction = Transaction & Partial<Pick<EmployerTransaction, 'employerId'>>;

/** Hashed and written in one piece; meanwhile the process does nothing else, for some hundredths of a second. */
const APPENDED_AT_ONCE = 1_000;

/**
 * Appends to the chain of the transaction's employer, or of the installation when it has none, and returns the
 * entry's number. The chain's head stays locked to the commit: call it last in a transaction.
 */
export function append(tx: ChainTransaction, action: AuditedAction): Promise<bigint> {
  return appendPart(tx, [action]);
}

/** As `append`, of any number of actions in their order, without a statement for each. */
export async function appendAll(tx: ChainTransaction, actions: readonly AuditedAction[]): Promise<void> {
  for (let from = 0; from < actions.length; from += APPENDED_AT_ONCE)
    await appendPart(tx, actions.slice(from, from + APPENDED_AT_ONCE));
}

/** @returns the number of the last entry */
async function appendPart(tx: ChainTransaction, actions: readonly AuditedAction[]): Promise<bigint> {
  const chainId = tx.employerId ?? INSTALLATION_CHAIN;
  const head = await lockHead(tx, chainId, actions.length);
  let previousHash = head.lastHash;
  const hashed = actions.map((action, index) => {
    const seq = head.lastSeq - BigInt(actions.length - 1 - index);
    const entry: AuditEntry = { ...action, personId: action.personId ?? null, chainId, seq, at: head.at };
    const one = { ...entry, previousHash, entryHash: hashOfEntry(previousHash, entry) };
    previousHash = one.entryHash;
    return one;
  });
  const arrayOf = arraysOf(hashed);
  await tx.query(
    `WITH head AS (UPDATE audit_head SET last_hash = $3 WHERE chain_id = $1)
     INSERT INTO audit_entry (chain_id, seq, at, person_id, action, subject, detail, previous_hash, entry_hash)
     SELECT $1, n.seq, $2, n.person_id, n.action, n.subject, n.detail::jsonb, n.previous_hash, n.entry_hash
     FROM unnest($4::bigint[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::bytea[], $10::bytea[])
       AS n(seq, person_id, action, subject, detail, previous_hash, entry_hash)`,
    [
      chainId,
      head.at,
      previousHash,
      arrayOf('int8', (entry) => entry.seq),
      arrayOf('uuid', (entry) => entry.personId),
      arrayOf('text', (entry) => entry.action),
      arrayOf('text', (entry) => entry.subject),
      arrayOf('text', (entry) => JSON.stringify(entry.detail)),
      arrayOf('bytea', (entry) => entry.previousHash.toString('hex')),
      arrayOf('bytea', (entry) => entry.entryHash.toString('hex')),
    ],
  );
  return head.lastSeq;
}

/** Takes the next numbers of a chain, of which it gives the last, under a lock held to the commit. */
async function lockHead(
  tx: Transaction,
  chainId: string,
  entries: number,
): Promise<{ lastSeq: bigint; lastHash: Buffer; at: Date }> {
  const [head] = await tx.query<{ last_seq: string; last_hash: Buffer; at: Date }>(
    `INSERT INTO audit_head AS h (chain_id, last_seq, last_hash) VALUES ($1, $3::int, $2)
     ON CONFLICT (chain_id) DO UPDATE SET last_seq = h.last_seq + $3::int
     RETURNING last_seq, last_hash, date_trunc('milliseconds', clock_timestamp()) AS at`,
    [chainId, GENESIS, entries],
  );
  if (head === undefined) throw new Error('the head of an audit chain is not visible');
  return { lastSeq: BigInt(head.last_seq), lastHash: head.last_hash, at: head.at };
}
