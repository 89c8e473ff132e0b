import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { refusalOfReplacement, REPLACEMENT_REFUSALS } from '../domain/replacement';
import { showId } from '../http/prefixed-id';
import { approvedFields, StoredFields } from '../pay-run/approved-fields';
import { PayKey } from '../pay-run/pay-key';
import { ENDED_SUCCESSOR, replaceCandidatesOf } from '../pay-run/replaced.store';
import { rowHash } from '../pay-run/run-hash';

/** Rows judged and hashed at once. */
const ROWS_AT_ONCE = 1_000;

interface LinkedRow extends StoredFields {
  line: number;
  payable: boolean;
  replaces_payment_id: string;
}

/**
 * Gives each row whose employee has a payment of the period that ended unpaid the payment it replaces, under the row's
 * hash. One that may not be replaced is noted as a fault: its employee may have been paid after all.
 */
export async function linkReplaced(
  tx: EmployerTransaction,
  personal: PersonalData,
  key: PayKey,
): Promise<void> {
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET replaces_payment_id = unpaid.id
     FROM (SELECT DISTINCT ON (p.employee_id, p.release_sequence) p.employee_id, p.release_sequence, p.id
           FROM payment p JOIN pay_run own ON own.employer_id = p.employer_id AND own.id = p.pay_run_id
           WHERE p.employer_id = $1 AND p.period = $2 AND p.kind_of_pay = $3 AND NOT p.live
             AND own.status NOT IN ('CANCELLING', 'CANCELLED')
             AND NOT EXISTS (SELECT FROM payment s
               JOIN pay_run r ON r.employer_id = s.employer_id AND r.id = s.pay_run_id
               WHERE s.employer_id = p.employer_id AND s.replaces_payment_id = p.id
                 AND (s.live OR ${ENDED_SUCCESSOR}))
           ORDER BY p.employee_id, p.release_sequence,
             EXISTS (SELECT FROM attention a WHERE a.employer_id = p.employer_id AND a.payment_id = p.id
               AND a.kind = 'CONTRADICTION') DESC, p.id DESC) AS unpaid
     WHERE u.employee_id = unpaid.employee_id AND u.release_sequence = unpaid.release_sequence`,
    [tx.employerId, key.period, key.kindOfPay],
  );
  let rows: LinkedRow[] = [];
  do {
    rows = await linkedRows(tx, rows.at(-1)?.line ?? 0);
    await judge(tx, rows);
    await hash(tx, personal, rows);
  } while (rows.length === ROWS_AT_ONCE);
}

function linkedRows(tx: EmployerTransaction, after: number): Promise<LinkedRow[]> {
  return tx.query<LinkedRow>(
    `SELECT line, employee_id, replaces_payment_id, name_sealed, iban_sealed, bic, amount_minor, currency, remittance,
       payable
     FROM pg_temp.uploaded_row WHERE replaces_payment_id IS NOT NULL AND line > $1 ORDER BY line LIMIT $2`,
    [after, ROWS_AT_ONCE],
  );
}

async function judge(tx: EmployerTransaction, rows: readonly LinkedRow[]): Promise<void> {
  if (rows.length === 0) return;
  const candidates = await replaceCandidatesOf(
    tx,
    rows.map((row) => row.replaces_payment_id),
  );
  const byId = new Map(candidates.map((candidate) => [candidate.id, candidate]));
  const refused = rows.flatMap((row) => {
    const candidate = byId.get(row.replaces_payment_id);
    const code = candidate && refusalOfReplacement(candidate, { byId: true, reason: false });
    // Who is paid otherwise is told as that.
    if (code === undefined || code === 'EMPLOYEE_PAID_OTHERWISE') return [];
    const said = `${showId('pay', row.replaces_payment_id)} of the employee cannot be replaced. ${REPLACEMENT_REFUSALS[code]}`;
    return { line: row.line, employeeId: row.employee_id, said };
  });
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
  rows: readonly LinkedRow[],
): Promise<void> {
  const payable = rows.filter(({ payable }) => payable);
  const hashes = payable.map((row) => rowHash(approvedFields(personal, row)));
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET row_hash = h.hash
     FROM unnest($1::int[], $2::bytea[]) AS h(line, hash) WHERE u.line = h.line`,
    [payable.map(({ line }) => line), hashes],
  );
}
