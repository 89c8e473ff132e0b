import { EmployerTransaction } from '../database/database';
import { HoldCode } from '../domain/hold';
import { PayKey } from '../pay-run/pay-key';

/** The table goes with the transaction. What has no line is of the run as a whole. */
export async function createHoldTable(tx: EmployerTransaction): Promise<void> {
  await tx.query(`
    CREATE TEMPORARY TABLE found_hold (
      line integer,
      code text NOT NULL,
      beside_line integer,
      beside_run_id uuid,
      bound_minor bigint,
      same_rows integer,
      also_beside_run_ids uuid[] NOT NULL DEFAULT '{}',
      beside_payment_ids uuid[],
      later_payment_ids uuid[]
    ) ON COMMIT DROP`);
}

/** $1 is the code; what the rest of the statement selects are the columns. */
export async function note(
  tx: EmployerTransaction,
  code: HoldCode,
  columns: string,
  found: string,
  parameters: unknown[] = [],
): Promise<void> {
  await tx.query(`INSERT INTO pg_temp.found_hold (code, ${columns}) ${found}`, [code, ...parameters]);
}

/**
 * The runs of a period, of one kind of pay or of all, that may pay somebody: none is a DRAFT or cancelled, unless it is
 * in doubt.
 */
export async function otherRuns(
  tx: EmployerTransaction,
  { period, kindOfPay }: Pick<PayKey, 'period'> & Partial<PayKey>,
  inDoubt: readonly string[],
): Promise<string[]> {
  const runs = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND period = $2 AND ($4::text IS NULL OR kind_of_pay = $4)
       AND (status NOT IN ('DRAFT', 'CANCELLED') OR id = ANY ($3))`,
    [tx.employerId, period, inDoubt, kindOfPay ?? null],
  );
  return runs.map(({ id }) => id);
}
