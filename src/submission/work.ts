import { knownIds } from '../bank/payment-ids';
import type { Config } from '../config/env';
import { readById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { Claim, fence, Fenced, wake } from '../database/leases';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import { EmployerAccount } from '../employer/employer.entity';
import type { StoredFields } from '../pay-run/approved-fields';
import type { Attention } from '../pay-run/attention.entity';
import { Instruction } from '../pay-run/instruction.entity';
import { instructionOfRun, type InstructionOfRun, lockInstruction } from '../pay-run/instruction.store';
import { messageIdOf } from '../pay-run/message-id';
import { PayRun } from '../pay-run/pay-run.entity';
import { MADE_SINCE_BACK } from '../pay-run/same-pay';
import { raiseNotReady } from '../pay-run/waits-for-account';
import { instructionHash, rowHash } from '../pay-run/run-hash';
import type { AddOutcome } from '../pay-run/instruction.entity';
import type { ExpectedRow } from '../pay-run/match';

/** An instruction that is worked on. */
export type Work = InstructionOfRun;

/** Why work on an instruction may not go on now. */
export type Obstacle = 'RESTORED' | 'ENDED' | 'STOPPED' | 'NOT_ITS_TURN' | 'ACCOUNT';

/** Work was stopped between two calls: by a switch, an amendment, a restore, or an account that is not open. */
export class Halted extends Error {
  constructor(readonly obstacle: Obstacle) {
    super(`halted: ${obstacle}`);
  }
}

/** As `instructionOfRun`, of what people are asked about. @throws DomainError INSTRUCTION_NOT_FOUND */
export async function requireWork(
  tx: EmployerTransaction,
  { instructionId }: Pick<Attention, 'instructionId'>,
): Promise<Work> {
  const work = await instructionOfRun(tx, instructionId ?? '');
  if (!work) throw new DomainError('INSTRUCTION_NOT_FOUND', 'There is no such instruction.');
  return work;
}

/** A run as the database holds it now, and what stands in its way. */
interface RunState {
  run_status: PayRun['status'];
  ended: boolean;
  stopped: boolean;
  restored: boolean;
}

/**
 * The obstacle that stands in the way of sending anything for this run, as read at this moment: what is sent asks again
 * (`assertMayCall`). Before all others: that the database was restored and the bank not read since, for then nothing is
 * known that could be ended or sent.
 */
export async function obstacleOf(tx: EmployerTransaction, run: PayRun): Promise<Obstacle | undefined> {
  const [now] = await tx.query<RunState>(
    'SELECT run_status, ended, stopped, restored FROM run_state($1, $2)',
    [tx.employerId, run.id],
    'kept',
  );
  return obstacleIn(now);
}

/** Keeps the switches as they are to the commit; a stop waits for it. What is read of them is read after it. */
export async function lockSwitches(tx: EmployerTransaction): Promise<void> {
  await tx.query('SELECT lock_switches($1)', [tx.employerId]);
}

function obstacleIn(now: RunState | undefined): Obstacle | undefined {
  if (now?.restored) return 'RESTORED';
  if (now?.ended) return 'ENDED';
  return now?.stopped ? 'STOPPED' : undefined;
}

/** Whether every submit of every employer is stopped. */
export async function submitsOff(tx: EmployerTransaction): Promise<boolean> {
  const [service] = await tx.query<{ off: boolean }>(
    `SELECT submits_off OR NOT database_is_known() AS off FROM service_switch`,
  );
  return service?.off ?? false;
}

/** Whether a submit of the run may have been forgotten by a restored database: known so, or the bank is not read yet. */
export async function mayBeForgotten(tx: EmployerTransaction, payRunId: string): Promise<boolean> {
  const [run] = await tx.query<{ forgotten: boolean }>('SELECT may_be_forgotten($1, $2) AS forgotten', [
    tx.employerId,
    payRunId,
  ]);
  return run?.forgotten ?? true;
}

interface CallState extends RunState {
  instruction_status: Instruction['status'];
  held: boolean;
  account_status: string;
}

/**
 * Opens the right to intend a call: the lease stands, the run may be worked on and no switch is thrown, all read
 * and kept in this transaction. The order of locks is run, instruction, lease everywhere, so that none wait in a circle.
 * @returns whether the bank last said that the account is open, which so stays until the commit
 * @throws Fenced, Halted
 */
export async function assertMayCall(
  tx: EmployerTransaction,
  claim: Claim,
  work: Work,
  turns: readonly PayRun['status'][],
): Promise<{ accountOpen: boolean }> {
  const [now] = await tx.query<CallState>(
    `SELECT run_status, ended, stopped, restored, instruction_status, held, account_status
     FROM lock_for_call($1, $2, $3, $4, $5, $6, $7)`,
    [
      tx.employerId,
      work.run.id,
      work.instruction.id,
      work.account.id,
      claim.subjectId,
      claim.holder,
      claim.epoch,
    ],
    'kept',
  );
  const obstacle = obstacleIn(now);
  if (obstacle) throw new Halted(obstacle);
  if (!now || !turns.includes(now.run_status)) throw new Halted('NOT_ITS_TURN');
  if (now.instruction_status !== work.instruction.status) throw new Halted('NOT_ITS_TURN');
  if (!now.held) throw new Fenced(claim);
  return { accountOpen: now.account_status === 'OPENED' };
}

/** Holds back a call on an account that the bank last said is not open. @throws Halted */
export function assertAccountOpen({ accountOpen }: { accountOpen: boolean }): void {
  if (!accountOpen) throw new Halted('ACCOUNT');
}

/**
 * Tells people that a run waits for its account, and has the account read again.
 * @param bankStatus as the bank gave it just now; as it is kept unless it is given
 */
export async function raiseUnusable(
  tx: EmployerTransaction,
  run: PayRun,
  config: Pick<Config, 'BANK_AMOUNT_UNIT'>,
  bankStatus?: string,
): Promise<void> {
  const account = await readById(tx, EmployerAccount, run.accountId);
  await raiseNotReady(tx, run, { ...account, bankStatus: bankStatus ?? account.bankStatus }, config);
  wake(tx, 'ACCOUNT', [run.accountId]);
}

/**
 * What was read is concluded from only while the lease stands and the instruction is what it was before the read: a
 * worker that was paused may have read what its successor did. @throws Fenced, Halted
 */
export async function assertUnchanged(
  tx: EmployerTransaction,
  claim: Claim,
  work: Work,
): Promise<Instruction> {
  const instruction = await lockInstruction(tx, work.instruction.id);
  if (instruction.status !== work.instruction.status) throw new Halted('NOT_ITS_TURN');
  await fence(tx, claim);
  return instruction;
}

/** A payment as it goes to the bank, with what is known of it there. */
export interface PayableRow {
  rowNo: number;
  paymentId: string;
  employeeId: string;
  name: string;
  iban: string;
  bic: string | null;
  amountMinor: bigint;
  currency: 'EUR';
  remittance: string | null;
  replacesPaymentId: string | null;
  /** Whether it replaces a payment, or one of its employee came back before its run was made. */
  paysAgain: boolean;
  addOutcome: AddOutcome | null;
  /** How the bank answered an add that is in doubt all the same. */
  addDoubt: string | null;
  bankPaymentId: string | null;
  bankTransactionId: string | null;
  bankStatus: string | null;
}

interface StoredRow extends StoredFields {
  row_no: number;
  id: string;
  pays_again: boolean;
}

/** The rows of a planned instruction in order, with the bank's answers so far where an attempt is given. */
export async function payableRows(
  tx: EmployerTransaction,
  personal: PersonalData,
  work: Pick<Work, 'planned'> & Partial<Pick<Work, 'instruction'>>,
): Promise<PayableRow[]> {
  const stored = await tx.query<StoredRow>(
    `SELECT row_no, id, employee_id, name_sealed, iban_sealed, bic, amount_minor, currency, remittance,
       replaces_payment_id, replaces_payment_id IS NOT NULL
         OR release_sequence > 0 AND EXISTS (SELECT FROM payment b WHERE ${MADE_SINCE_BACK}) AS pays_again
     FROM payment p
     WHERE employer_id = $1 AND pay_run_id = $2 AND row_no BETWEEN $3 AND $4 AND status NOT IN ('HELD', 'EXCLUDED')
     ORDER BY row_no`,
    [tx.employerId, work.planned.payRunId, work.planned.firstRow, work.planned.lastRow],
    'kept',
  );
  const rows = stored.map((row) => ({
    rowNo: row.row_no,
    paymentId: row.id,
    employeeId: row.employee_id,
    name: personal.open(row.name_sealed),
    iban: personal.open(row.iban_sealed),
    bic: row.bic,
    amountMinor: BigInt(row.amount_minor),
    currency: row.currency,
    remittance: row.remittance,
    replacesPaymentId: row.replaces_payment_id,
    paysAgain: row.pays_again,
    ...UNANSWERED,
  }));
  return work.instruction ? withAnswers(tx, work.instruction, rows) : rows;
}

const UNANSWERED = {
  addOutcome: null,
  addDoubt: null,
  bankPaymentId: null,
  bankTransactionId: null,
  bankStatus: null,
};

/**
 * The rows with the bank's answers as they stand now. Not joined in the database: row-level security keeps the row
 * number out of the inner scan, so that a nested loop, which it chooses while the table has no statistics, reads the
 * whole instruction for each of its rows.
 */
export async function withAnswers(
  tx: EmployerTransaction,
  instruction: Instruction,
  rows: readonly PayableRow[],
): Promise<PayableRow[]> {
  const stored = await tx.query<Pick<PayableRow, 'rowNo' | keyof typeof UNANSWERED>>(
    `SELECT row_no AS "rowNo", add_outcome AS "addOutcome", add_doubt AS "addDoubt",
       bank_payment_id AS "bankPaymentId", bank_transaction_id AS "bankTransactionId", bank_status AS "bankStatus"
     FROM bank_payment WHERE employer_id = $1 AND instruction_id = $2`,
    [tx.employerId, instruction.id],
    'kept',
  );
  const answers = new Map(stored.map((answer) => [answer.rowNo, answer]));
  return rows.map((row) => ({ ...row, ...(answers.get(row.rowNo) ?? UNANSWERED) }));
}

/** The hash of rows as they are now, to be held against the approved one: computed from the data, not from its hash. */
export function hashOfRows(rows: readonly PayableRow[]): Buffer {
  return instructionHash(
    rows.map((row) =>
      rowHash({
        employeeId: row.employeeId,
        sepaName: row.name,
        iban: row.iban,
        bic: row.bic ?? undefined,
        amountMinor: row.amountMinor,
        currency: row.currency,
        remittance: row.remittance ?? '',
        replacesPaymentId: row.replacesPaymentId,
      }),
    ),
  );
}

/** What a read of the instruction must show. */
export function expectedRows(instructionId: string, rows: readonly PayableRow[]): ExpectedRow[] {
  return rows.map((row) => ({
    rowNo: row.rowNo,
    messageId: messageIdOf(instructionId, row.rowNo),
    bankIds: knownIds(row.bankPaymentId, row.bankTransactionId),
    amountMinor: row.amountMinor,
    currency: row.currency,
    iban: row.iban,
  }));
}
