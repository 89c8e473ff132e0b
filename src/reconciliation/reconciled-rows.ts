import QueryStream from 'pg-query-stream';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { maskIban } from '../domain/iban';
import { PaymentStatus } from '../domain/payment';
import { approvedFields, StoredFields } from '../pay-run/approved-fields';
import { CORRECTED_BY } from '../pay-run/kept-back';
import { PayRun } from '../pay-run/pay-run.entity';
import { REPLACED_BY } from '../pay-run/pay-run.reads';
import { rowHash } from '../pay-run/run-hash';
import { joinByHash, STATUS_AT_BANK } from './aggregates';
import { judgeRow, RowDifference } from './row-difference';

/** A row of a run with what we and the bank say of it. The IBAN is masked, the amount in minor units. */
export interface ReconciledRow {
  paymentId: string;
  row: number;
  line: number;
  employeeId: string;
  name: string;
  iban: string;
  amountMinor: bigint;
  currency: 'EUR';
  status: PaymentStatus;
  bankPaymentId: string | null;
  bankStatus: string | null;
  settledOn: string | null;
  returnedAt: Date | null;
  /** What came back of it; null where nothing did. */
  returnedMinor: bigint | null;
  /** What the bank charged on top, where it shows it. */
  chargesMinor: bigint | null;
  /** The payment of an earlier run it is made instead of, and the one made instead of it. */
  replacesPaymentId: string | null;
  replacedByPaymentId: string | null;
  /** The last action by which two people decided what a status of the bank means for it. */
  decisionId: string | null;
  difference: RowDifference | undefined;
}

interface StoredRow extends StoredFields {
  id: string;
  row_no: number;
  line: number;
  row_hash: Buffer;
  status: PaymentStatus;
  settled_on: string | null;
  returned_at: Date | null;
  returned_minor: string | null;
  charges_minor: string | null;
  bank_payment_id: string | null;
  bank_status: string | null;
  replaced_by_id: string | null;
  decision_id: string | null;
}

const ROWS = `
  SELECT p.id, p.row_no, p.line, p.employee_id, p.name_sealed, p.iban_sealed, p.bic, p.amount_minor, p.currency,
    p.remittance, p.replaces_payment_id, p.row_hash, p.status, p.settled_on::text AS settled_on, p.returned_at,
    CASE WHEN p.returned_at IS NOT NULL THEN coalesce(p.returned_minor, p.amount_minor) END AS returned_minor,
    p.charges_minor, b.bank_payment_id, b.bank_status, ${REPLACED_BY} AS replaced_by_id,
    d.action_id AS decision_id
  FROM payment p
  LEFT JOIN (
    SELECT DISTINCT ON (o.payment_id) o.payment_id, o.action_id
    FROM payment_decision o JOIN attention_action a ON a.employer_id = o.employer_id AND a.id = o.action_id
    WHERE o.employer_id = $1 AND o.instruction_id = ANY (ARRAY(
      SELECT id FROM instruction WHERE employer_id = $1 AND pay_run_id = $2))
    ORDER BY o.payment_id, a.confirmed_at DESC) AS d ON d.payment_id = p.id
  LEFT JOIN (
    SELECT b.payment_id, b.row_no, b.bank_payment_id, ${STATUS_AT_BANK} AS bank_status
    FROM bank_payment b JOIN instruction i ON i.employer_id = b.employer_id AND i.id = b.instruction_id
    WHERE b.employer_id = $1 AND b.bank_payment_id IS NOT NULL AND b.instruction_id = ANY (ARRAY(
      SELECT id FROM instruction
      WHERE employer_id = $1 AND pay_run_id = $2 AND status NOT IN ('ABANDONED', 'CANCELLED')))) AS b
    ON b.payment_id = p.id AND b.row_no = p.row_no
  WHERE p.employer_id = $1 AND p.pay_run_id = $2
  ORDER BY p.row_no`;

/** Rows fetched at once: some hundred kilobytes, whatever the length of the run. */
const FETCH_ROWS = 500;

/** Every row of a run in order, through a cursor: one moment, and never the whole result in memory. */
export async function* reconciledRows(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
): AsyncGenerator<ReconciledRow> {
  await joinByHash(tx);
  const stream = new QueryStream(ROWS, [tx.employerId, run.id], { batchSize: FETCH_ROWS });
  const rows: AsyncIterable<StoredRow> = tx.stream(stream);
  for await (const row of rows) yield readRow(personal, run, row);
}

/** Row numbers of the file, of which there is no payment; at most `limit`. */
export async function missingRows(
  tx: EmployerTransaction,
  run: PayRun,
  uploadedRows: number,
  limit: number,
): Promise<number[]> {
  const rows = await tx.query<{ row_no: number }>(
    `WITH faulty AS (
       SELECT k.row_no, ${CORRECTED_BY} AS paid_by
       FROM faulty_file f JOIN faulty_row k ON k.employer_id = f.employer_id AND k.faulty_file_id = f.id
       WHERE f.employer_id = $1 AND f.pay_run_id = $2)
     SELECT n AS row_no
     FROM generate_series(1, $3::int + (SELECT count(*)::int FROM faulty WHERE paid_by <> $2)) AS n
     WHERE NOT EXISTS (SELECT FROM payment p WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.row_no = n)
       AND NOT EXISTS (SELECT FROM faulty WHERE faulty.row_no = n AND paid_by IS DISTINCT FROM $2)
     ORDER BY n LIMIT $4`,
    [tx.employerId, run.id, uploadedRows, limit],
  );
  return rows.map(({ row_no }) => row_no);
}

function readRow(personal: PersonalData, run: PayRun, row: StoredRow): ReconciledRow {
  const fields = approvedFields(personal, row);
  const bankStatus = row.bank_payment_id === null ? null : (row.bank_status ?? '');
  const changed = row.row_hash.equals(rowHash(fields)) ? undefined : 'ROW_CHANGED';
  return {
    paymentId: row.id,
    row: row.row_no,
    line: row.line,
    employeeId: row.employee_id,
    name: fields.sepaName,
    iban: maskIban(fields.iban),
    amountMinor: fields.amountMinor,
    currency: row.currency,
    status: row.status,
    bankPaymentId: row.bank_payment_id,
    bankStatus: row.bank_status,
    settledOn: row.settled_on,
    returnedAt: row.returned_at,
    returnedMinor: row.returned_minor === null ? null : BigInt(row.returned_minor),
    chargesMinor: row.charges_minor === null ? null : BigInt(row.charges_minor),
    replacesPaymentId: row.replaces_payment_id,
    replacedByPaymentId: row.replaced_by_id,
    decisionId: row.decision_id,
    difference: changed ?? judgeRow(run.status, row.status, bankStatus, row.decision_id !== null),
  };
}
