import { isSuccess, type Outcome } from '../bank/outcome';
import type { PreparedAdd } from '../bank/prepared';
import type { BankPayment } from '../bank/records';
import { arraysOf } from '../database/binary-array';
import { EmployerTransaction, Statement } from '../database/database';
import type { Claim } from '../database/leases';
import type { PersonalData } from '../database/personal-data';
import { aboutInstruction, Alarm, raise } from '../pay-run/attention.store';
import { AttentionKind, ECHO_IN_BUILDING, REFUSED_ALONE } from '../pay-run/attention-words';
import { tellOfBearers } from '../pay-run/charge-bearer';
import { answeredOtherwise, askOfDifferences } from '../pay-run/difference';
import { AddOutcome } from '../pay-run/instruction.entity';
import { lockInstruction } from '../pay-run/instruction.store';
import { wordsOfOther } from '../pay-run/match';
import { saidIn, whyOf } from './call-record';
import { notedId } from './taken-ids';
import { PayableRow, Work } from './work';

/** Of so many rows at most people are asked at once, of an instruction that was filled as fast as may be. */
const MOST_ASKED_AT_FIRST = 4;

const ROW_REFUSED: readonly AttentionKind[] = ['ROW_REFUSED_BY_BANK', 'ROW_REFUSED_IN_MID_RUN'];

/** One row and what the bank answered to its add. */
export interface AddResult {
  row: PayableRow;
  outcome: Outcome<BankPayment>;
}

interface Recorded {
  row: PayableRow;
  outcome: AddOutcome;
  payment?: BankPayment;
  why?: string;
  bankWords?: string;
  /** How the bank answered what is in doubt all the same; undefined where it did not, or as of another payment. */
  doubt?: string;
  /** What an answer that is not what was sent shows instead. */
  echo?: BankPayment;
}

/**
 * Writes a batch of adds down before it is sent (rule 1), or `finished`, where it is known to have been.
 * @returns the number of the batch
 */
export async function intendAdds(
  tx: EmployerTransaction,
  { instruction }: Pick<Work, 'instruction'>,
  rows: readonly PayableRow[],
  prepared: readonly PreparedAdd[],
  { epoch, finished }: { epoch: Claim['epoch']; finished: boolean },
): Promise<number> {
  const [intent] = await tx.query<{ batch: number }>(
    `INSERT INTO add_intent (employer_id, instruction_id, batch, row_nos, body_hashes, epoch, finished_at)
     SELECT $1, $2, coalesce(max(batch), 0) + 1, $3, $4, $5, CASE WHEN $6 THEN clock_timestamp() END FROM add_intent
     WHERE employer_id = $1 AND instruction_id = $2
     RETURNING batch`,
    [
      tx.employerId,
      instruction.id,
      arraysOf(rows)('int4', (row) => row.rowNo),
      Buffer.concat(prepared.map((add) => add.bodyHash)),
      epoch,
      finished,
    ],
    'kept',
  );
  if (!intent) throw new Error('an intent was not written');
  return intent.batch;
}

/**
 * Records the outcomes of a batch of adds and closes its intent, in one statement that goes with the COMMIT. A row the
 * bank provably did not take for want of access, rate or connection leaves no record: it is simply added later. Nothing
 * is recorded where the intent is not there, which a failover may have lost: the read back finds what the bank took. Nor is
 * what somebody else has written down meanwhile as in doubt, who took the instruction up or gave it up.
 * @param gentleness with 0 people are asked about a few refused rows alone: they may be refused for how they were added
 */
export async function recordAdds(
  tx: EmployerTransaction,
  personal: PersonalData,
  work: Work,
  batch: number,
  results: readonly AddResult[],
  gentleness: number,
): Promise<void> {
  const recorded = results.flatMap(recordOf);
  const refused = recorded.filter(({ outcome }) => outcome === 'REFUSED');
  const echoes = recorded.filter(isEcho).map((one) => wordsOfEcho(personal, one));
  if (refused.length > 0 || echoes.length > 0)
    await raiseOf(tx, work, refused, echoes, gentleness > 0 ? Infinity : MOST_ASKED_AT_FIRST);
  await tellOfBearers(tx, work.instruction, recorded.map(bearerIn));
  tx.beforeCommit('record', () => recording(tx, work, batch, recorded));
}

/** As `recordAdds` of a batch that the bank took as a whole, at once: what follows it in time is written after it. */
export async function recordTaken(
  tx: EmployerTransaction,
  work: Work,
  batch: number,
  results: readonly AddResult[],
): Promise<void> {
  const recorded = results.flatMap(recordOf);
  await tx.query(...recording(tx, work, batch, recorded));
  await tellOfBearers(tx, work.instruction, recorded.map(bearerIn));
}

/** Records rows that the bank provably did not take, and will not, as refused, and asks about each. */
export async function recordRefused(
  tx: EmployerTransaction,
  work: Work,
  results: readonly AddResult[],
): Promise<void> {
  const refused = results.map(refusedOf);
  await tx.query(
    `INSERT INTO bank_payment (employer_id, instruction_id, row_no, payment_id, add_outcome)
     SELECT $1, $2, r.row_no, r.payment_id, 'REFUSED' FROM unnest($3::int[], $4::uuid[]) AS r(row_no, payment_id)
     ON CONFLICT (employer_id, instruction_id, row_no) DO NOTHING`,
    [
      tx.employerId,
      work.instruction.id,
      refused.map(({ row }) => row.rowNo),
      refused.map(({ row }) => row.paymentId),
    ],
  );
  await raiseOf(tx, work, refused, [], Infinity);
}

/**
 * What was answered with the id of another payment, of whatever employer, is in doubt: one of the two is not the bank's
 * word on it, and a read of its instruction tells what was added.
 */
function recording(
  tx: EmployerTransaction,
  { instruction }: Work,
  batch: number,
  recorded: readonly Recorded[],
): Statement {
  const arrayOf = arraysOf(recorded);
  return [
    `WITH closed AS (
       UPDATE add_intent SET finished_at = clock_timestamp()
       WHERE employer_id = $1 AND instruction_id = $2 AND batch = $3 RETURNING batch),
     answer AS (
       SELECT r.* FROM closed, unnest($4::int[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
         AS r(row_no, payment_id, bank_payment_id, bank_transaction_id, outcome, status, doubt)),
     recorded AS (
       INSERT INTO bank_payment (employer_id, instruction_id, row_no, payment_id, bank_payment_id,
         bank_transaction_id, add_outcome, bank_status, last_seen_at, add_doubt)
       SELECT $1, $2, row_no, payment_id, bank_payment_id, bank_transaction_id, outcome, status,
         CASE WHEN bank_payment_id IS NOT NULL THEN clock_timestamp() END, doubt
       FROM answer ON CONFLICT DO NOTHING RETURNING row_no)
     INSERT INTO bank_payment (employer_id, instruction_id, row_no, payment_id, add_outcome, add_doubt)
     SELECT $1, $2, row_no, payment_id, 'IN_DOUBT', ${notedId('bank_payment_id')} FROM answer
     WHERE row_no NOT IN (SELECT row_no FROM recorded)
     ON CONFLICT (employer_id, instruction_id, row_no) DO NOTHING`,
    [
      tx.employerId,
      instruction.id,
      batch,
      arrayOf('int4', (one) => one.row.rowNo),
      arrayOf('uuid', (one) => one.row.paymentId),
      arrayOf('text', (one) => one.payment?.bankPaymentId ?? null),
      arrayOf('text', (one) => one.payment?.ids[1] ?? null),
      arrayOf('text', (one) => one.outcome),
      arrayOf('text', (one) => one.payment?.status ?? null),
      arrayOf('text', (one) => one.doubt ?? null),
    ],
    'kept',
  ];
}

function bearerIn({ row: { rowNo }, payment }: Recorded) {
  return { rowNo, chargeBearer: payment?.chargeBearer };
}

function recordOf({ row, outcome }: AddResult): Recorded[] {
  switch (outcome.kind) {
    case 'yes':
      return [{ row, outcome: 'ADDED', payment: outcome.value }];
    case 'in-doubt':
      return [
        { row, outcome: 'IN_DOUBT', why: outcome.why, doubt: answeredDoubt(outcome), echo: outcome.echo },
      ];
    case 'no':
      if (outcome.reason !== 'invalid') return [];
      return [refusedOf({ row, outcome })];
  }
}

function refusedOf({ row, outcome }: AddResult): Recorded {
  return { row, outcome: 'REFUSED', why: whyOf(outcome), bankWords: saidIn(outcome) };
}

function answeredDoubt(outcome: Outcome<BankPayment> & { kind: 'in-doubt' }): string | undefined {
  const { status } = outcome;
  if (status === undefined || isEcho(outcome)) return undefined;
  return isSuccess(status) ? `status ${status} (not as it must be)` : `status ${status}`;
}

const ECHO_DIFFERS = 'echo-differs: ';

function isEcho({ why }: { why?: string }): boolean {
  return why?.startsWith(ECHO_DIFFERS) ?? false;
}

function wordsOfEcho(personal: PersonalData, { row, why = '', echo }: Recorded): string {
  const fields = why.slice(ECHO_DIFFERS.length).split(', ');
  return `row ${row.rowNo} ${wordsOfOther(personal, { fields, shown: echo })}`;
}

/**
 * Of an instruction that was given up meanwhile nothing is asked: its rows are added to another.
 * @param mostAsked of so many refused rows of it people are asked
 */
async function raiseOf(
  tx: EmployerTransaction,
  work: Work,
  refused: readonly Recorded[],
  echoes: readonly string[],
  mostAsked: number,
): Promise<void> {
  const instruction = await lockInstruction(tx, work.instruction.id);
  if (instruction.status !== 'BUILDING') return;
  const asked = refused.length > 0 ? await refusalsAsked(tx, instruction.id) : 0;
  for (const one of refused.slice(0, Math.max(mostAsked - asked, 0))) {
    const happened = `The bank refused the payment of row ${one.row.rowNo}: ${one.why ?? 'no reason was given'}`;
    await raiseRefused(tx, work, one.row, { happened, bankWords: one.bankWords });
  }
  if (echoes.length === 0) return;
  const what = answeredOtherwise(instruction);
  const differences = { kind: 'ECHO_MISMATCH', what, named: echoes, certain: ECHO_IN_BUILDING } as const;
  await askOfDifferences(tx, instruction, work.planned, differences, instruction.id);
}

/** Refused rows of an instruction of which people are being asked. */
async function refusalsAsked(tx: EmployerTransaction, instructionId: string): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM attention WHERE employer_id = $1 AND instruction_id = $2
       AND kind = ANY ($3) AND resolved_at IS NULL`,
    [tx.employerId, instructionId, ROW_REFUSED],
  );
  return row?.n ?? 0;
}

/** Whether more rows of an instruction were refused than people are asked of: it is built again first, and gently. */
export async function isRefusedUnasked(tx: EmployerTransaction, instructionId: string): Promise<boolean> {
  const unasked = await tx.query(
    `SELECT FROM bank_payment b WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.add_outcome = 'REFUSED'
       AND NOT EXISTS (SELECT FROM attention a WHERE a.employer_id = $1 AND a.instruction_id = $2
         AND a.payment_id = b.payment_id AND a.kind = ANY ($3) AND a.resolved_at IS NULL) LIMIT 1`,
    [tx.employerId, instructionId, ROW_REFUSED],
  );
  return unasked.length > 0;
}

/** Asks about a payment that the bank does not take into its instruction. */
export function raiseRefused(
  tx: EmployerTransaction,
  work: Work,
  { paymentId }: PayableRow,
  told: Pick<Alarm, 'happened' | 'bankWords'>,
): Promise<void> {
  const inMidRun = work.run.status === 'SUBMITTING';
  return raise(tx, {
    kind: inMidRun ? 'ROW_REFUSED_IN_MID_RUN' : 'ROW_REFUSED_BY_BANK',
    ...aboutInstruction(work.instruction, inMidRun ? work.planned : work.run),
    subjectId: paymentId,
    paymentId,
    ...(!inMidRun && work.run.rowCount === 1 && { certain: REFUSED_ALONE }),
    ...told,
  });
}
