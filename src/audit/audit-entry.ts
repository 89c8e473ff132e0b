import { createHash } from 'node:crypto';

/** JSON without floats in disguise: numbers here are counts, amounts and revisions are text. */
export type Json =
  string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/** One entry of a chain, as it is hashed. */
export interface AuditEntry {
  readonly chainId: string;
  readonly seq: bigint;
  /** Whole milliseconds: a Date holds no more. */
  readonly at: Date;
  readonly personId: string | null;
  readonly action: string;
  readonly subject: string;
  readonly detail: Json;
}

/** What the first entry of a chain follows. */
export const GENESIS = Buffer.alloc(32);

/** SHA-256 over the previous entry's hash and this entry's canonical JSON. */
export function hashOfEntry(previousHash: Buffer, entry: AuditEntry): Buffer {
  const { chainId, seq, at, personId, action, subject, detail } = entry;
  const text = canonicalJson([chainId, seq.toString(), at.toISOString(), personId, action, subject, detail]);
  return createHash('sha256').update(previousHash).update(text).digest();
}

/** JSON with the keys of every object sorted by code unit, so that a trip through jsonb changes nothing. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_, member: Json) =>
    isObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
