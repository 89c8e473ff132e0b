import type { BankInstruction } from '../bank/records';
import type { Database, EmployerTransaction } from '../database/database';
import { INSTRUCTION_UNSENT, type InstructionStatus } from '../domain/instruction';
import type { Group, Held } from './restore-list';

/** Of so many instructions that settled, the youngest, the list is to show a payment before it is believed to be whole. */
const MOST_SETTLED = 3;

/** An instruction as the database has it. */
export interface Recorded {
  id: string;
  bankInstructionId: string;
  status: InstructionStatus;
}

/** A payment that has settled by the record, and the instruction that it is of. */
interface Settled {
  instructionId: string;
  bankPaymentId: string;
}

/** What the database has of groups. */
interface OnRecord {
  /** Whether the instruction's id at the bank or a payment's is stored for any employer. */
  has: (group: Group) => boolean;
  /** The one that message ids name: it may be another one at the bank, as a restored database opens it anew. */
  named: ReadonlyMap<string, Recorded>;
}

/**
 * What the record has by which the list is read. One employer after the other, by its own rows: no read is longer for what
 * others have.
 */
export async function heldBy(database: Database, employerIds: readonly string[]): Promise<Held> {
  const unsent: string[] = [];
  const settled: Settled[] = [];
  for (const employerId of employerIds) {
    await database.inEmployer(employerId, async (tx) => {
      unsent.push(...(await unsentAtBank(tx)));
      settled.push(...(await youngestSettled(tx)));
    });
  }
  // Ids of instructions rise with time.
  const youngest = settled.sort((one, other) => (one.instructionId > other.instructionId ? -1 : 1));
  return {
    unsent: new Set(unsent),
    settled: new Set(youngest.slice(0, MOST_SETTLED).map(({ bankPaymentId }) => bankPaymentId)),
  };
}

/** What the database has of what a list shows, for whatever employer. */
export async function recordOf(database: Database, groups: readonly Group[]): Promise<OnRecord> {
  return database.asWorker(async (tx) => {
    const rows = await tx.query<{ id: string; bank_instruction_id: string; status: InstructionStatus }>(
      `SELECT id, bank_instruction_id, status FROM instruction
       WHERE bank_instruction_id = ANY ($1) OR id = ANY ($2) AND bank_instruction_id IS NOT NULL`,
      [
        groups.flatMap(({ bankInstructionId }) => bankInstructionId ?? []),
        groups.flatMap(({ instructionId }) => instructionId ?? []),
      ],
    );
    const payments = await tx.query<{ id: string }>(
      'SELECT bank_payment_id AS id FROM bank_payment WHERE bank_payment_id = ANY ($1)',
      [groups.map(({ one }) => one.ids[0])],
    );
    const instructions = rows.map(({ id, bank_instruction_id: bankInstructionId, status }) => ({
      id,
      bankInstructionId,
      status,
    }));
    const knownInstructions = new Set(instructions.map(({ bankInstructionId }) => bankInstructionId));
    const knownPayments = new Set(payments.map(({ id }) => id));
    return {
      has: ({ bankInstructionId, one }) =>
        knownInstructions.has(bankInstructionId ?? '') || knownPayments.has(one.ids[0]),
      named: new Map(instructions.map((recorded) => [recorded.id, recorded])),
    };
  });
}

/** Those the database has as built, or being built, by the bank's ids and ours. */
async function unsentAtBank(tx: EmployerTransaction): Promise<string[]> {
  const rows = await tx.query<{ id: string; bank_instruction_id: string }>(
    `SELECT id, bank_instruction_id FROM instruction
     WHERE employer_id = $1 AND status IN ('BUILDING', 'VERIFIED') AND bank_instruction_id IS NOT NULL`,
    [tx.employerId],
  );
  return rows.flatMap((row) => [row.bank_instruction_id, row.id]);
}

function youngestSettled(tx: EmployerTransaction): Promise<Settled[]> {
  return tx.query<Settled>(
    `SELECT i.id AS "instructionId", p.bank_payment_id AS "bankPaymentId"
     FROM (SELECT id FROM instruction WHERE employer_id = $1 AND status = 'CLOSED' AND outcome <> 'FAILED'
       ORDER BY id DESC LIMIT $2) i
     CROSS JOIN LATERAL (SELECT bank_payment_id FROM bank_payment
       WHERE employer_id = $1 AND instruction_id = i.id AND bank_status = 'SETTLED' AND bank_payment_id IS NOT NULL
       LIMIT 1) p`,
    [tx.employerId, MOST_SETTLED],
  );
}

/** Of what the record has as submitted, payments may rest as before until it is approved; what it holds is in the groups. */
export function isUnsubmitted(recorded: Recorded | undefined): boolean {
  return recorded === undefined || recorded.status === 'ABANDONED';
}

/**
 * Whether payments that name a recorded instruction are of that one at the bank: as the bank shows what they are of, or, where
 * it does not, as far as the record explains what it lists.
 */
export function isRecorded(
  recorded: Recorded,
  {
    bankInstructionId,
    shown,
    moved,
  }: Pick<Group, 'bankInstructionId' | 'moved'> & { shown: BankInstruction | undefined },
): boolean {
  if (bankInstructionId === recorded.bankInstructionId) return true;
  if (shown !== undefined) return shown.bankInstructionId === recorded.bankInstructionId;
  const isGivenUp = recorded.status === 'ABANDONED' || recorded.status === 'RELEASED';
  if (bankInstructionId === undefined) return !isGivenUp || moved === undefined;
  return !isGivenUp && !INSTRUCTION_UNSENT.includes(recorded.status);
}
