import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { refusalOfReplacement, REPLACEMENT_REFUSALS } from '../domain/replacement';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { approvedFields, StoredFields } from '../pay-run/approved-fields';
import { PayKey } from '../pay-run/pay-key';
import {
  PLACE_IS_FREE,
  replaceCandidatesOf,
  RETURNED_OF_PERIOD,
  unpaidOfPeriod,
} from '../pay-run/replaced.store';
import { rowHash } from '../pay-run/run-hash';

/** Rows judged and hashed at once. */
const ROWS_AT_ONCE = 1_000;

/** A row and the unpaid payment that it replaces. */
const OF_ROW = 'u.employee_id = unpaid.employee_id AND u.release_sequence = unpaid.release_sequence';

/** Why a row pays again what came back, where nobody released the further pay beforehand and said it. */
const CAME_BACK = 'The payment came back.';

/**
 * Gives each row whose employee has a payment of the period that ended unpaid, or came back, the payment it replaces. One
 * that ended unpaid and may not be replaced is noted as a fault: its employee may have been paid after all. What came
 * back, or replaces what came back in part, and may not be replaced was paid.
 */
export async function linkReplaced(tx: EmployerTransaction, key: PayKey): Promise<void> {
  await queryByHash(
    tx,
    `UPDATE pg_temp.uploaded_row u SET replaces_payment_id = unpaid.id
     FROM (${unpaidOfPeriod(PLACE_IS_FREE)}) AS unpaid
     WHERE ${OF_ROW}`,
    [tx.employerId, key.period, key.kindOfPay],
  );
  await queryByHash(
    tx,
    `UPDATE pg_temp.uploaded_row u SET replaces_payment_id = returned.id, replaces_reason = coalesce(
       (SELECT r.reason FROM pay_release r WHERE r.employer_id = $1 AND r.period = $2 AND r.kind_of_pay = $3
          AND r.employee_id = u.employee_id AND r.sequence = u.release_sequence), $4)
     FROM (${RETURNED_OF_PERIOD}) AS returned
     WHERE u.employee_id = returned.employee_id AND u.replaces_payment_id IS NULL`,
    [tx.employerId, key.period, key.kindOfPay, CAME_BACK],
  );
  let rows: LinkedRow[] = [];
  do {
    rows = await linkedRows<LinkedRow>(tx, 'line, employee_id, replaces_payment_id', rows);
    await judge(tx, rows);
  } while (rows.length === ROWS_AT_ONCE);
}

/**
 * Nobody locks out who follows earlier payments: what ended unpaid between `linkReplaced` and the insertion of the rows
 * stands in the way of none, and would be replaced by a row that says nothing of it.
 * @throws Problem 409 RUN_IS_MOVING
 */
export async function assertNoneEndedSince(tx: EmployerTransaction, key: PayKey): Promise<void> {
  const ended = await queryByHash(
    tx,
    `SELECT FROM pg_temp.uploaded_row u JOIN (${unpaidOfPeriod()}) AS unpaid ON ${OF_ROW}
     WHERE u.payable AND NOT u.held AND u.replaces_payment_id IS NULL LIMIT 1`,
    [tx.employerId, key.period, key.kindOfPay],
  );
  if (ended.length === 0) return;
  const detail =
    'A payment of the period ended unpaid meanwhile. Upload the file again, so that it is replaced.';
  throw new Problem(409, 'RUN_IS_MOVING', detail);
}

/**
 * Puts what the payable rows replace under their hashes. Of several rows of an employee the first one replaces: those
 * held as `EMPLOYEE_TWICE` beside it are further pay.
 */
export async function hashReplacing(tx: EmployerTransaction, personal: PersonalData): Promise<void> {
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET replaces_payment_id = NULL, replaces_reason = NULL
     WHERE replaces_payment_id IS NOT NULL AND (NOT payable
       OR EXISTS (SELECT FROM pg_temp.found_hold h WHERE h.line = u.line AND h.code = 'EMPLOYEE_TWICE'))`,
  );
  let rows: (LinkedRow & StoredFields)[] = [];
  do {
    rows = await linkedRows(tx, SEALED_FIELDS, rows);
    await hash(tx, personal, rows);
  } while (rows.length === ROWS_AT_ONCE);
}

interface LinkedRow {
  line: number;
  employee_id: string;
  replaces_payment_id: string;
}

const SEALED_FIELDS =
  'line, employee_id, replaces_payment_id, name_sealed, iban_sealed, bic, amount_minor, currency, remittance';

function linkedRows<T extends LinkedRow>(
  tx: EmployerTransaction,
  columns: string,
  before: readonly T[],
): Promise<T[]> {
  return tx.query<T>(
    `SELECT ${columns} FROM pg_temp.uploaded_row WHERE replaces_payment_id IS NOT NULL AND line > $1
     ORDER BY line LIMIT $2`,
    [before.at(-1)?.line ?? 0, ROWS_AT_ONCE],
  );
}

async function judge(tx: EmployerTransaction, rows: readonly LinkedRow[]): Promise<void> {
  if (rows.length === 0) return;
  const candidates = await replaceCandidatesOf(
    tx,
    rows.map((row) => row.replaces_payment_id),
  );
  const byId = new Map(candidates.map((candidate) => [candidate.id, candidate]));
  const paid: number[] = [];
  const refused = rows.flatMap((row) => {
    const candidate = byId.get(row.replaces_payment_id);
    const code = candidate && refusalOfReplacement(candidate, { byId: true, reason: candidate.returned });
    const isPaid = candidate?.returned || code === 'RETURNED_IN_PART';
    if (code !== undefined && isPaid) paid.push(row.line);
    // Who is paid, otherwise or by what came back, is told as that.
    if (code === undefined || code === 'EMPLOYEE_PAID_OTHERWISE' || isPaid) return [];
    const said = `${showId('pay', row.replaces_payment_id)} of the employee cannot be replaced. ${REPLACEMENT_REFUSALS[code]}`;
    return { line: row.line, employeeId: row.employee_id, said };
  });
  await tx.query(
    `UPDATE pg_temp.uploaded_row SET replaces_payment_id = NULL, replaces_reason = NULL WHERE line = ANY ($1::int[])`,
    [paid],
  );
  await tx.query(
    `INSERT INTO pg_temp.noted_fault (line, code, employee_id, said)
     SELECT line, 'EMPLOYEE_NOT_REPAYABLE', employee_id, said
     FROM unnest($1::int[], $2::text[], $3::text[]) AS r(line, employee_id, said)`,
    [
      refused.map(({ line }) => line),
      refused.map(({ employeeId }) => employeeId),
      refused.map(({ said }) => said),
    ],
  );
}

async function hash(
  tx: EmployerTransaction,
  personal: PersonalData,
  rows: readonly (LinkedRow & StoredFields)[],
): Promise<void> {
  const hashes = rows.map((row) => rowHash(approvedFields(personal, row)));
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET row_hash = h.hash
     FROM unnest($1::int[], $2::bytea[]) AS h(line, hash) WHERE u.line = h.line AND u.payable`,
    [rows.map(({ line }) => line), hashes],
  );
}
