import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { Problem } from '../http/problem';
import { approvedFields, StoredFields } from './approved-fields';
import { PayKey } from './pay-key';
import { grantReleases, MadeRelease, unusedReleases } from './pay-release';
import { Candidate } from './replaced.store';
import { rowHash } from './run-hash';

/** Payments to be made instead of others, in the order of their rows. */
export interface Copies {
  payRunId: string;
  key: PayKey;
  replaced: readonly Candidate[];
  /** Who makes them, and why: needed where a payment was paid and came back. */
  personId: string;
  reason: string | undefined;
}

/** Payments copied by one statement. */
const COPIED_AT_ONCE = 1_000;

/** A payment that is replaced, and the id of what replaces it. */
type Copy = Candidate & { copyId: string };

interface StoredRow extends StoredFields {
  id: string;
  row_hash: Buffer;
}

/**
 * Inserts a READY payment for each that is replaced: the same employee, name, IBAN, amount and text, and the payment it
 * replaces under its hash.
 * @returns the releases that were made for them, to be audited
 * @throws Problem 409 ROW_CHANGED when a stored row is not the one that was approved
 */
export async function copyPayments(
  tx: EmployerTransaction,
  personal: PersonalData,
  copies: Copies,
): Promise<MadeRelease[]> {
  const made: MadeRelease[] = [];
  for (let from = 0; from < copies.replaced.length; from += COPIED_AT_ONCE) {
    made.push(...(await copyPart(tx, personal, copies, from)));
  }
  return made;
}

async function copyPart(
  tx: EmployerTransaction,
  personal: PersonalData,
  copies: Copies,
  from: number,
): Promise<MadeRelease[]> {
  const part = copies.replaced.slice(from, from + COPIED_AT_ONCE).map((one) => ({ ...one, copyId: newId() }));
  const hashes = await successorHashes(tx, personal, part);
  // What is made is released before it is inserted.
  await tx.query('SET CONSTRAINTS release_is_of_a_payment DEFERRED');
  const { places, made } = await placesFor(tx, copies, part);
  await tx.query(
    `INSERT INTO payment (employer_id, id, pay_run_id, row_no, line, period, kind_of_pay, employee_id, name_sealed,
       written_name_sealed, name_hash, iban_sealed, iban_hash, bic, amount_minor, currency, remittance, row_hash,
       status, live, release_sequence, replaces_payment_id, replaces_reason)
     SELECT $1, n.id, $2, n.row_no, p.line, p.period, p.kind_of_pay, p.employee_id, p.name_sealed,
       p.written_name_sealed, p.name_hash, p.iban_sealed, p.iban_hash, p.bic, p.amount_minor, p.currency,
       p.remittance, n.hash, 'READY', true, n.release, p.id, $8
     FROM unnest($3::uuid[], $4::uuid[], $5::int[], $6::bytea[], $7::smallint[])
       AS n(id, replaced, row_no, hash, release)
     JOIN ${byKey('payment', 'n.replaced')} p ON true`,
    [
      tx.employerId,
      copies.payRunId,
      part.map(({ copyId }) => copyId),
      part.map(({ id }) => id),
      part.map((_, index) => from + index + 1),
      part.map(({ id }) => hashes.get(id)),
      part.map(({ copyId }) => places.get(copyId)),
      copies.reason ?? null,
    ],
  );
  return made;
}

/** The hash of each row as it will be paid now: its own fields and what it replaces. */
async function successorHashes(
  tx: EmployerTransaction,
  personal: PersonalData,
  part: readonly Candidate[],
): Promise<Map<string, Buffer>> {
  const rows = await tx.query<StoredRow>(
    `SELECT id, employee_id, name_sealed, iban_sealed, bic, amount_minor, currency, remittance, row_hash,
       replaces_payment_id
     FROM payment WHERE employer_id = $1 AND id = ANY ($2)`,
    [tx.employerId, part.map(({ id }) => id)],
  );
  return new Map(
    rows.map((row) => {
      const fields = approvedFields(personal, row);
      if (!row.row_hash.equals(rowHash(fields))) {
        throw new Problem(409, 'ROW_CHANGED', 'A stored payment is not the row that was approved.');
      }
      return [row.id, rowHash({ ...fields, replacesPaymentId: row.id })];
    }),
  );
}

/**
 * The place of each copy among the payments of its employee, by its id. What was never paid keeps its place; what was paid
 * and came back still holds it, so that it takes a release: the unused one of its employee, or another that is made.
 */
async function placesFor(
  tx: EmployerTransaction,
  { key, personId, reason = '' }: Copies,
  part: readonly Copy[],
): Promise<{ places: Map<string, number>; made: MadeRelease[] }> {
  const unpaid = part.filter(({ status }) => status !== 'SETTLED');
  const returned = part.filter(({ status }) => status === 'SETTLED');
  const { period, kindOfPay } = key;
  const employeeIds = [...new Set(returned.map(({ employeeId }) => employeeId))];
  const unused = await unusedReleases(tx, { period, kindOfPay }, employeeIds);
  // A place that a payment had which ended unpaid is kept for what replaces that one.
  for (const { employeeId, releaseSequence } of unpaid)
    if (unused.get(employeeId) === releaseSequence) unused.delete(employeeId);
  const places = new Map(unpaid.map(({ copyId, releaseSequence }) => [copyId, releaseSequence]));
  for (const { copyId, employeeId } of returned) {
    const sequence = unused.get(employeeId);
    if (sequence !== undefined) places.set(copyId, sequence);
    unused.delete(employeeId);
  }
  const unplaced = returned.filter(({ copyId }) => !places.has(copyId));
  const made = await grantReleases(
    tx,
    personId,
    { period, kindOfPay, reason },
    unplaced.map(({ employeeId, copyId }) => ({ employeeId, paymentId: copyId })),
  );
  for (const { paymentId, sequence } of made) places.set(paymentId, sequence);
  return { places, made };
}
