import { createHash, hash } from 'node:crypto';
import { ApprovedFields, canonicalRow } from '../domain/pay-file';

/** SHA-256 of one row as it will be paid. */
export function rowHash(row: ApprovedFields): Buffer {
  return Buffer.from(hexRowHash(row), 'hex');
}

/** The same in hexadecimal digits, as a COPY writes it. */
export function hexRowHash(row: ApprovedFields): string {
  return hash('sha256', canonicalRow(row));
}

/** SHA-256 over the row hashes of an instruction, in row order. */
export function instructionHash(rowHashes: Iterable<Buffer>): Buffer {
  const hash = createHash('sha256');
  for (const row of rowHashes) hash.update(row);
  return hash.digest();
}

/** What an approval covers besides the rows. */
export interface ApprovedTerms {
  payRunId: string;
  runVersion: number;
  debtorName: string;
  debtorIban: string;
  bankAccountId: string;
  executionDate: string;
  currency: string;
  rowCount: number;
  totalMinor: bigint;
}

/** The root hash a person approves: the terms and the instructions' row hashes in order. */
export function rootHash(terms: ApprovedTerms, instructionHashes: readonly Buffer[]): Buffer {
  return createHash('sha256')
    .update(
      JSON.stringify([
        'run-1',
        terms.payRunId,
        terms.runVersion,
        terms.debtorName,
        terms.debtorIban,
        terms.bankAccountId,
        terms.executionDate,
        terms.currency,
        terms.rowCount,
        terms.totalMinor.toString(),
        instructionHashes.map((hash) => hash.toString('hex')),
      ]),
    )
    .digest();
}
