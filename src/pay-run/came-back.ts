import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import type { AskedRecord } from './attention.entity';

/** A payment that the bank shows as returned. */
export interface Returned {
  instructionId: string;
  rowNo: number;
  /** What came back, in minor units. */
  minor: string;
  /** Microseconds since 1970: more can happen within a millisecond. */
  returnedAt: bigint;
  /** The id of the record that names it; null while none was seen. */
  cameBackAs: string | null;
}

/** A record of money that came in, as people are asked about it, or decided. */
export interface Asked extends AskedRecord {
  instructionId: string | null;
  /** Microseconds since 1970. */
  askedAt: bigint;
}

/** In SQL, a timestamp as microseconds since 1970. */
export function microseconds(column: string): string {
  return `(extract(epoch FROM ${column}) * 1000000)::bigint`;
}

/** The payments of submitted instructions of the runs, or of one of these, that came back, the latest last. */
export async function returnedOf(
  tx: EmployerTransaction,
  payRunIds: readonly string[],
  instructionId: string | null = null,
): Promise<Returned[]> {
  const returned = await tx.query<{
    instruction_id: string;
    row_no: number;
    amount_minor: string;
    returned_at: string;
    came_back_as: string | null;
  }>(
    `SELECT i.id AS instruction_id, p.row_no, coalesce(p.returned_minor, p.amount_minor) AS amount_minor, ${microseconds('p.returned_at')} AS returned_at, b.came_back_as FROM payment p
     JOIN planned_instruction l ON l.employer_id = p.employer_id AND l.pay_run_id = p.pay_run_id
       AND p.row_no BETWEEN l.first_row AND l.last_row
     JOIN instruction i ON i.employer_id = l.employer_id AND i.planned_instruction_id = l.id
       AND i.status IN ('SUBMITTED', 'CLOSED')
     LEFT JOIN bank_payment b ON b.employer_id = i.employer_id AND b.instruction_id = i.id AND b.row_no = p.row_no
     WHERE p.employer_id = $1 AND p.pay_run_id = ANY ($2) AND p.returned_at IS NOT NULL
       AND ($3::uuid IS NULL OR i.id = $3)
     ORDER BY p.returned_at, p.row_no`,
    [tx.employerId, payRunIds, instructionId],
  );
  return returned.map((one) => ({
    instructionId: one.instruction_id,
    rowNo: one.row_no,
    minor: one.amount_minor,
    returnedAt: BigInt(one.returned_at),
    cameBackAs: one.came_back_as,
  }));
}

/** Which record names each payment of an instruction, by row, as it was remembered. */
export async function cameBackAsOf(
  tx: EmployerTransaction,
  instructionId: string,
): Promise<Map<number, string>> {
  const named = await tx.query<{ row_no: number; came_back_as: string }>(
    `SELECT row_no, came_back_as FROM bank_payment
     WHERE employer_id = $1 AND instruction_id = $2 AND came_back_as IS NOT NULL`,
    [tx.employerId, instructionId],
  );
  return new Map(named.map((one) => [one.row_no, one.came_back_as]));
}

/** Remembers which record names payments of an instruction, by row: for good, since not every read shows it. */
export async function recordCameBack(
  tx: EmployerTransaction,
  instructionId: string,
  named: ReadonlyMap<number, string>,
): Promise<void> {
  if (named.size === 0) return;
  await queryByHash(
    tx,
    `UPDATE bank_payment b SET came_back_as = s.record FROM unnest($3::int[], $4::text[]) AS s(row_no, record)
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.row_no = s.row_no AND b.came_back_as IS NULL`,
    [tx.employerId, instructionId, [...named.keys()], [...named.values()]],
  );
}

/**
 * Which payment that came back each record brought that people are asked about: the one that it names, or where it names
 * none, one of as much in its instruction that no record names, and that the bank did not show to have come back when
 * they were asked. Each payment explains one record.
 * @param asked what was asked last first
 * @param returned the latest last
 */
export function broughtBack(
  asked: readonly Asked[],
  returned: readonly Returned[],
): ReadonlyMap<Asked, Returned> {
  const left = new Returns(asked, returned);
  return new Map(
    asked.flatMap((one) => {
      const payment = left.take(one);
      return payment ? [[one, payment] as const] : [];
    }),
  );
}

/** Payments that came back and explain no record so far. */
class Returns {
  private readonly byRecord = new Map<string, Returned>();
  private readonly byRow = new Map<string, Returned>();
  private readonly byAmount = new Map<string, Returned[]>();

  constructor(asked: readonly Asked[], returned: readonly Returned[]) {
    const named = new Set(asked.map(({ instructionId, row }) => `${instructionId} ${row}`));
    for (const one of returned) {
      const row = `${one.instructionId} ${one.rowNo}`;
      if (one.cameBackAs !== null) this.byRecord.set(`${one.instructionId} ${one.cameBackAs}`, one);
      else if (named.has(row)) this.byRow.set(row, one);
      else this.unnamedOf(one.instructionId, one.minor).push(one);
    }
  }

  take({ instructionId, id, row, minor, askedAt }: Asked): Returned | undefined {
    const ofRecord = this.byRecord.get(`${instructionId} ${id}`);
    if (ofRecord) return ofRecord.minor === minor ? ofRecord : undefined;
    if (row === undefined) return undefined;
    if (row === null) {
      const unnamed = this.unnamedOf(instructionId, minor);
      return (unnamed.at(-1)?.returnedAt ?? askedAt) > askedAt ? unnamed.pop() : undefined;
    }
    const key = `${instructionId} ${row}`;
    const named = this.byRow.get(key);
    return named?.minor === minor && this.byRow.delete(key) ? named : undefined;
  }

  private unnamedOf(instructionId: string | null, minor: string): Returned[] {
    const key = `${instructionId} ${minor}`;
    const unnamed = this.byAmount.get(key) ?? [];
    this.byAmount.set(key, unnamed);
    return unnamed;
  }
}
