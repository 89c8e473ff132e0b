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

/**
 * Appends to the chain of the transaction's employer, or of the installation when it has none, and returns the
 * entry's number. The chain's head stays locked to the commit: call it last in a transaction.
 */
export async function append(
  tx: Transaction & Partial<Pick<EmployerTransaction, 'employerId'>>,
  action: AuditedAction,
): Promise<bigint> {
  const chainId = tx.employerId ?? INSTALLATION_CHAIN;
  const head = await lockHead(tx, chainId);
  const entry: AuditEntry = {
    ...action,
    personId: action.personId ?? null,
    chainId,
    seq: head.seq,
    at: head.at,
  };
  const entryHash = hashOfEntry(head.previousHash, entry);
  await tx.query(
    `WITH head AS (UPDATE audit_head SET last_hash = $9 WHERE chain_id = $1)
     INSERT INTO audit_entry (chain_id, seq, at, person_id, action, subject, detail, previous_hash, entry_hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      chainId,
      entry.seq.toString(),
      entry.at,
      entry.personId,
      entry.action,
      entry.subject,
      JSON.stringify(entry.detail),
      head.previousHash,
      entryHash,
    ],
  );
  return entry.seq;
}

/** Takes the next number of a chain under a lock held to the commit. */
async function lockHead(
  tx: Transaction,
  chainId: string,
): Promise<{ seq: bigint; previousHash: Buffer; at: Date }> {
  const [head] = await tx.query<{ last_seq: string; last_hash: Buffer; at: Date }>(
    `INSERT INTO audit_head AS h (chain_id, last_seq, last_hash) VALUES ($1, 1, $2)
     ON CONFLICT (chain_id) DO UPDATE SET last_seq = h.last_seq + 1
     RETURNING last_seq, last_hash, date_trunc('milliseconds', clock_timestamp()) AS at`,
    [chainId, GENESIS],
  );
  if (head === undefined) throw new Error('the head of an audit chain is not visible');
  return { seq: BigInt(head.last_seq), previousHash: head.last_hash, at: head.at };
}
