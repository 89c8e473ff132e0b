import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { sumMinor } from '../domain/money';
import { showId } from '../http/prefixed-id';
import { approvedVersion } from './approval';
import { Alarm, clear, raiseNaming } from './attention.store';
import { ATTENTION_WORDS } from './attention-words';
import { repaysForgotten } from './forgotten-pay';
import { PlannedInstruction } from './instruction.entity';
import { findRun } from './pay-run.store';
import { PAID_OTHERWISE_UNASKED } from './same-pay';
import { SENT } from './sent';

/** A payment that is not submitted, because somebody else may have paid its employee what it pays. */
interface PaidAlready {
  id: string;
  rowNo: number;
  amountMinor: bigint;
  /**
   * What it pays again has statuses that contradict one another, another payment of the employee may be made in the stead of
   * the same, or a submit that is not in the record may have paid it.
   */
  cause: 'CONTRADICTED' | 'OTHERWISE' | 'FORGOTTEN';
}

const CAUSES: Record<PaidAlready['cause'], string> = {
  CONTRADICTED: 'of what they pay again the bank has shown statuses that contradict one another',
  OTHERWISE:
    'another payment of the same employees, of which one came back, may be made in the stead of the same as they',
  FORGOTTEN: 'the bank has a submit for the same employees that is not in the record',
};

const ASKED: Record<PaidAlready['cause'], string> = {
  CONTRADICTED:
    'What became of what these payments pay again, of which statuses were shown that contradict one another, and where is the money?',
  OTHERWISE:
    'Which of the payments that we made to the payees of these in the period came back to our account, and which did not?',
  FORGOTTEN: ATTENTION_WORDS.POSSIBLE_DUPLICATE_PAY.askBank,
};

/** What of a run may not be submitted: payments that are named, or any of it where it repays a forgotten submit. */
interface Found {
  payments: readonly PaidAlready[];
  repays: boolean;
}

/** Asks people about what of a run the database lets nobody submit, and names it. @returns whether there is any */
export async function tellOfPaidAlready(tx: EmployerTransaction, payRunId: string): Promise<boolean> {
  return isAny(await findAndTell(tx, payRunId));
}

/**
 * As `tellOfPaidAlready`, of one instruction. @returns whether it may not be submitted: a payment of it may have been
 * paid, or any of its run by a forgotten submit
 */
export async function mayBePaidAlready(
  tx: EmployerTransaction,
  { payRunId, firstRow, lastRow }: PlannedInstruction,
): Promise<boolean> {
  const { payments, repays } = await findAndTell(tx, payRunId);
  return repays || payments.some(({ rowNo }) => rowNo >= firstRow && rowNo <= lastRow);
}

async function findAndTell(tx: EmployerTransaction, payRunId: string): Promise<Found> {
  const repays = await repaysForgotten(tx, payRunId);
  const candidates = [
    ...(await contradicted(tx, payRunId)),
    ...(await otherwise(tx, payRunId)),
    ...(repays ? await forgotten(tx, payRunId) : []),
  ];
  const payments = await withoutSent(tx, candidates);
  const found = { payments, repays };
  if (!isAny(found)) return found;
  const ids = payments.map(({ id }) => showId('pay', id));
  await raiseNaming(tx, await alarmOf(tx, payRunId, found, ids), ids.slice(0, MOST_NAMED));
  return found;
}

function isAny({ payments, repays }: Found): boolean {
  return repays || payments.length > 0;
}

/** Closes the question where nothing of the run is in doubt any more. */
export function clearPaidAlready(tx: EmployerTransaction, payRunId: string): Promise<void> {
  return clear(tx, ['POSSIBLE_DUPLICATE_PAY'], payRunId, 'nothing is known any more that may have paid it');
}

async function alarmOf(
  tx: EmployerTransaction,
  payRunId: string,
  { payments, repays }: Found,
  ids: readonly string[],
): Promise<Alarm> {
  const causes = [...new Set(payments.map(({ cause }) => cause))];
  if (repays && !causes.includes('FORGOTTEN')) causes.push('FORGOTTEN');
  const version = await approvedVersion(tx, await findRun(tx, payRunId));
  const which = ids.length > 0 ? ` (${textOfFirstFew(ids, MOST_NAMED)})` : '';
  return {
    kind: 'POSSIBLE_DUPLICATE_PAY',
    subjectId: payRunId,
    payRunId,
    happened: `${version} has ${payments.length} payments that may have been paid already: ${causes.map((cause) => CAUSES[cause]).join('; ')}${which}.`,
    askBank: causes.map((cause) => ASKED[cause]).join(' '),
    ...(causes.includes('FORGOTTEN') && { bankReference: await forgottenIds(tx) }),
    payments: payments.length,
    amountMinor: sumMinor(payments.map(({ amountMinor }) => amountMinor)),
  };
}

async function forgottenIds(tx: EmployerTransaction): Promise<string> {
  const rows = await tx.query<{ id: string }>(
    `SELECT bank_instruction_id AS id, found_at AS since FROM forgotten_instruction
     WHERE employer_id = $1 AND pay_run_id IS NOT NULL AND adopted_at IS NULL
     UNION ALL
     SELECT i.bank_instruction_id, m.seen_at FROM moved_instruction m
     JOIN instruction i ON i.employer_id = $1 AND i.id = m.instruction_id
     WHERE m.employer_id = $1
     ORDER BY since, id LIMIT ${MOST_NAMED}`,
    [tx.employerId],
  );
  return rows.map(({ id }) => id).join(', ');
}

interface Row {
  id: string;
  row_no: number;
  amount_minor: string;
}

const read =
  (cause: PaidAlready['cause']) =>
  ({ id, row_no, amount_minor }: Row): PaidAlready => ({
    id,
    rowNo: row_no,
    amountMinor: BigInt(amount_minor),
    cause,
  });

const UNSENT = `p.live AND p.status NOT IN ('SUBMITTED', 'SETTLED')`;

/** Those that were not sent: a submit without a known outcome may have sent a payment that is not SUBMITTED yet. */
async function withoutSent(tx: EmployerTransaction, found: readonly PaidAlready[]): Promise<PaidAlready[]> {
  if (found.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    `SELECT p.id FROM payment p WHERE p.employer_id = $1 AND p.id = ANY ($2::uuid[]) AND NOT ${SENT}`,
    [tx.employerId, found.map(({ id }) => id)],
  );
  const unsent = new Set(rows.map(({ id }) => id));
  return found.filter(({ id }) => unsent.has(id));
}

/** What replaces a payment with contradicting statuses, or was made instead of what replaced it, and the instruction of that one. */
const CONTRADICTED = `RECURSIVE successor AS (
  SELECT a.payment_id AS id, a.instruction_id FROM attention a
  WHERE a.employer_id = $1 AND a.kind = 'CONTRADICTION' AND a.payment_id IS NOT NULL
  UNION SELECT s.id, f.instruction_id FROM successor f
  JOIN payment s ON s.employer_id = $1 AND s.replaces_payment_id = f.id)`;

/** What of these a run pays. */
async function contradicted(tx: EmployerTransaction, payRunId: string): Promise<PaidAlready[]> {
  const rows = await tx.query<Row>(
    `WITH ${CONTRADICTED}
     SELECT p.id, p.row_no, p.amount_minor FROM payment p
     WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.id IN (SELECT id FROM successor)
       AND p.replaces_payment_id IS NOT NULL AND ${UNSENT}
     ORDER BY p.row_no`,
    [tx.employerId, payRunId],
  );
  return rows.map(read('CONTRADICTED'));
}

/** What a run pays beside another payment that may be made in the stead of the same, of which nobody released the later one. */
async function otherwise(tx: EmployerTransaction, payRunId: string): Promise<PaidAlready[]> {
  const rows = await tx.query<Row>(
    `SELECT p.id, p.row_no, p.amount_minor FROM payment p
     WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND ${UNSENT}
       AND (p.replaces_payment_id IS NOT NULL OR p.release_sequence > 0) AND ${PAID_OTHERWISE_UNASKED}
     ORDER BY p.row_no`,
    [tx.employerId, payRunId],
  );
  return rows.map(read('OTHERWISE'));
}

/**
 * Has the bank be read at once for what a run pays again and was shown to contradict its end: while people were asked about
 * one such payment nothing was told of others.
 */
export async function readContradicted(tx: EmployerTransaction, payRunId: string): Promise<void> {
  const instructions = await tx.query<{ id: string }>(
    `WITH ${CONTRADICTED}
     SELECT DISTINCT f.instruction_id AS id FROM successor f
     JOIN payment p ON p.employer_id = $1 AND p.id = f.id AND p.pay_run_id = $2 AND p.replaces_payment_id IS NOT NULL
     WHERE f.instruction_id IS NOT NULL`,
    [tx.employerId, payRunId],
  );
  const ids = instructions.map(({ id }) => id);
  wake(tx, 'FOLLOW', ids);
}

async function forgotten(tx: EmployerTransaction, payRunId: string): Promise<PaidAlready[]> {
  const rows = await queryByHash<Row>(
    tx,
    `WITH unadopted AS MATERIALIZED (
       SELECT DISTINCT pay_run_id FROM forgotten_instruction
       WHERE employer_id = $1 AND pay_run_id IS NOT NULL AND adopted_at IS NULL),
     owed AS MATERIALIZED (
       SELECT o.period, o.kind_of_pay, o.employee_id, o.release_sequence FROM payment o
       WHERE o.employer_id = $1 AND o.pay_run_id = ANY (ARRAY(SELECT pay_run_id FROM unadopted WHERE pay_run_id <> $2))
       UNION ALL
       SELECT o.period, o.kind_of_pay, o.employee_id, o.release_sequence FROM moved_instruction m
       JOIN bank_payment b ON b.employer_id = $1 AND b.instruction_id = m.instruction_id
       JOIN payment o ON o.employer_id = $1 AND o.id = b.payment_id
       WHERE m.employer_id = $1),
     paid AS MATERIALIZED (
       SELECT period, kind_of_pay, employee_id, max(release_sequence) AS release_sequence FROM owed GROUP BY 1, 2, 3)
     SELECT p.id, p.row_no, p.amount_minor FROM payment p
     LEFT JOIN paid o ON o.period = p.period AND o.kind_of_pay = p.kind_of_pay AND o.employee_id = p.employee_id
       AND p.release_sequence <= o.release_sequence
     WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND ${UNSENT}
       AND (o.employee_id IS NOT NULL OR EXISTS (SELECT FROM unadopted WHERE pay_run_id = $2))
     ORDER BY p.row_no`,
    [tx.employerId, payRunId],
  );
  return rows.map(read('FORGOTTEN'));
}
