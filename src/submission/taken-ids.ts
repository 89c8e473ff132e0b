import { Database, EmployerTransaction } from '../database/database';
import { textOfFirstFew } from '../domain/first-few';
import { showId } from '../http/prefixed-id';
import type { Instruction } from '../pay-run/instruction.entity';
import type { SeenPayment } from '../pay-run/match';

/** Why an instruction is built again of which the bank shows a payment with the id of another one. */
export const HAS_ID_OF_ANOTHER = 'the bank gave a payment of it the id of another payment';

/** Ids that a question names; of more their number is told. */
const IDS_NAMED = 5;

/** A row that the bank gave the id of another payment. */
export interface TakenId {
  rowNo: number;
  bankPaymentId: string;
}

/** What an add is noted with that has the id of another payment, in SQL of that id. */
export function notedId(id: string): string {
  return `format('the id %s of another payment', ${id})`;
}

/** The rows of an instruction that are shown with the id of a payment of another instruction, of whatever employer. */
export async function takenIds(
  database: Database,
  { id }: Pick<Instruction, 'id'>,
  shown: ReadonlyMap<number, SeenPayment>,
): Promise<TakenId[]> {
  const rows = [...shown].map(([rowNo, { bankPaymentId }]) => ({ rowNo, bankPaymentId }));
  const taken = await database.asWorker((tx) =>
    tx.query<{ id: string }>(
      'SELECT bank_payment_id AS id FROM bank_payment WHERE bank_payment_id = ANY ($1) AND instruction_id <> $2',
      [rows.map(({ bankPaymentId }) => bankPaymentId), id],
    ),
  );
  const ids = new Set(taken.map((one) => one.id));
  return rows.filter(({ bankPaymentId }) => ids.has(bankPaymentId));
}

/** That rows are shown with the ids of other payments, in words. */
export function wordsOfTaken(taken: readonly TakenId[]): string {
  const named = taken.map(({ rowNo, bankPaymentId }) => `row ${rowNo} with "${bankPaymentId}"`);
  return `it shows payments of it with ids that the record has as those of others (${textOfFirstFew(named, IDS_NAMED)})`;
}

/** Notes beside adds in doubt that they have the ids of other payments. */
export async function noteTaken(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
  taken: readonly TakenId[],
): Promise<void> {
  await tx.query(
    `UPDATE bank_payment b SET add_doubt = ${notedId('t.id')} FROM unnest($3::int[], $4::text[]) AS t(row_no, id)
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.row_no = t.row_no AND b.add_outcome = 'IN_DOUBT'`,
    [tx.employerId, id, taken.map(({ rowNo }) => rowNo), taken.map(({ bankPaymentId }) => bankPaymentId)],
  );
}

/**
 * What people are told, and ask the bank, of the ids it gave out twice in the attempts at some rows; undefined where it
 * did not.
 * @param beside what else the bank is asked, where that is not all
 */
export async function toldOfTaken(
  tx: EmployerTransaction,
  { plannedInstructionId }: Pick<Instruction, 'plannedInstructionId'>,
  beside: string | undefined,
): Promise<{ happened: string; askBank: string } | undefined> {
  const taken = await tx.query<{
    own: string;
    row_no: number;
    payment_id: string;
    id: string;
    other: string | null;
  }>(
    `SELECT i.bank_instruction_id AS own, b.row_no, b.payment_id, t.id, (
         SELECT oi.bank_instruction_id FROM bank_payment o
         JOIN instruction oi ON oi.employer_id = o.employer_id AND oi.id = o.instruction_id
         WHERE o.employer_id = $1 AND o.bank_payment_id = t.id) AS other
     FROM instruction i JOIN bank_payment b ON b.employer_id = i.employer_id AND b.instruction_id = i.id
     CROSS JOIN LATERAL (SELECT substring(b.add_doubt FROM '^the id (.*) of another payment$') AS id) AS t
     WHERE i.employer_id = $1 AND i.planned_instruction_id = $2 AND t.id IS NOT NULL
     ORDER BY i.attempt DESC, b.row_no`,
    [tx.employerId, plannedInstructionId],
  );
  if (taken.length === 0) return undefined;
  const rows = taken.map(
    ({ own, row_no, payment_id, id }) => `"${id}" to row ${row_no} (${showId('pay', payment_id)}) in ${own}`,
  );
  const ids = taken.map(({ own, id, other }) =>
    own === other
      ? `"${id}" twice in customer instruction ${own}`
      : `"${id}" in customer instruction ${own} and in ${other === null ? 'another instruction' : `customer instruction ${other}`}`,
  );
  const asked = `Why did you give one payment id to two payments: ${textOfFirstFew(ids, IDS_NAMED)}? Which of them has it?`;
  return {
    happened: ` It gave ${textOfFirstFew(rows, IDS_NAMED)}.`,
    askBank: beside === undefined ? asked : `${beside} ${asked}`,
  };
}
