import { In, IsNull } from 'typeorm';
import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { sumMinor } from '../domain/money';
import { showId } from '../http/prefixed-id';
import { Attention } from './attention.entity';
import { aboutInstruction, type Alarm, clear, type Open, openAbout, raise } from './attention.store';
import { ATTENTION_WORDS, notPaid } from './attention-words';
import { Instruction } from './instruction.entity';
import { CONTRADICTED, MAY_BE_KEPT, PAID_OTHERWISE } from './same-pay';

/** Each payment `p` of an instruction `i` that no run of which nothing is left to be submitted makes again. */
const notMadeAgain = (instructionId: string) => `FROM instruction i
  JOIN planned_instruction n ON n.employer_id = i.employer_id AND n.id = i.planned_instruction_id
  JOIN payment p ON p.employer_id = $1 AND p.pay_run_id = n.pay_run_id AND p.row_no BETWEEN n.first_row AND n.last_row
  WHERE i.employer_id = $1 AND i.id = ${instructionId} AND (
    SELECT count(*) = 0 FROM payment s CROSS JOIN ${byKey('pay_run', 's.pay_run_id')} r
    WHERE s.employer_id = $1 AND s.replaces_payment_id = p.id AND s.status NOT IN ('EXCLUDED', 'HELD')
      AND r.status IN ('FOLLOWING', 'SETTLED', 'PARTLY_SETTLED', 'FAILED'))`;

/** Which rows of an instruction ($2) two people were told of as come back, and decided. */
const DECIDED_ROWS = `SELECT (told ->> 'row')::int FROM attention x
  JOIN attention_action d ON d.employer_id = x.employer_id AND d.attention_id = x.id AND d.confirmed_at IS NOT NULL
  CROSS JOIN jsonb_array_elements(x.records) AS told
  WHERE x.employer_id = $1 AND x.kind = 'PAYMENT_RETURNED' AND x.subject_id = $2`;

/** A payment that came back, and nobody was asked about or pays again in its stead. */
interface CameBack {
  id: string;
  row_no: number;
  amount_minor: string;
  /** Whether another payment pays, or may pay, its employee: then it cannot be replaced. */
  otherwise: boolean;
  /** Whether less of it, or of what it replaces, came back than was paid, and two people have not said that its payee kept nothing. */
  kept: boolean;
}

/**
 * Tells of the payments of an instruction that came back, which people have not decided: these people are not paid. Told
 * anew where others are left, and no more where none is; of what the bank shows two ends of, people are asked by that.
 */
export async function tellOfReturned(
  tx: EmployerTransaction,
  instruction: Pick<Instruction, 'id' | 'payRunId' | 'bankInstructionId'>,
): Promise<void> {
  // Who decides it, or submits what pays some of them again, at this moment has done so before it is told anew.
  await lockAsked(tx, instruction.id);
  const back = await tx.query<CameBack>(
    `SELECT p.id, p.row_no, p.amount_minor, ${PAID_OTHERWISE} OR ${CONTRADICTED} AS otherwise,
       ${MAY_BE_KEPT} AS kept
     ${notMadeAgain('$2')} AND p.returned_at IS NOT NULL AND p.row_no NOT IN (${DECIDED_ROWS})
       AND NOT EXISTS (SELECT FROM attention c
         WHERE c.employer_id = $1 AND c.payment_id = p.id AND c.kind = 'CONTRADICTION')
     ORDER BY p.row_no`,
    [tx.employerId, instruction.id],
  );
  if (back.length === 0) return clear(tx, ['PAYMENT_RETURNED'], instruction.id, NONE_LEFT);
  const alarm = { ...aboutInstruction(instruction), ...alarmOf(back) };
  const open = await openAbout(tx, alarm);
  if (open?.certain === alarm.certain && isOfSame(open, alarm)) return;
  if (open) await clear(tx, ['PAYMENT_RETURNED'], instruction.id, 'other payments are left: told anew');
  await raise(tx, alarm);
}

const NONE_LEFT =
  'each payment was made again by a run that is submitted or has ended, or the bank shows two ends of it';

function lockAsked(tx: EmployerTransaction, instructionId: string | null): Promise<unknown> {
  return tx.query(
    `SELECT FROM attention WHERE employer_id = $1 AND kind = 'PAYMENT_RETURNED' AND resolved_at IS NULL
       AND ($2::uuid IS NULL OR subject_id = $2) ORDER BY id FOR NO KEY UPDATE`,
    [tx.employerId, instructionId],
  );
}

/** Whether both tell of the same rows, all of them and those that are told apart. */
function isOfSame(
  open: Pick<Open, 'happened' | 'records'>,
  alarm: Pick<Alarm, 'happened' | 'records'>,
): boolean {
  const rowsOf = ({ records }: Pick<Alarm | Open, 'records'>) => records?.map(({ row }) => row).join();
  return open.happened === alarm.happened && rowsOf(open) === rowsOf(alarm);
}

/** Of what came back, in row order. */
function alarmOf(back: readonly CameBack[]) {
  const others = back.filter(({ otherwise }) => otherwise);
  const isOf = others.length === 1 ? 'the person' : 'the people';
  const apart = ` Another payment of the period pays ${isOf} of ${rowsOf(others)}, or may.`;
  const kept = back.filter((one) => one.kept);
  const inPart = ` Less than was paid came back of ${rowsOf(kept)}, or of what that replaces: its ECHO_MISMATCH says how it is paid.`;
  return {
    kind: 'PAYMENT_RETURNED',
    happened: `What had been paid by a submitted instruction came back: ${rowsOf(back)}.${others.length > 0 ? apart : ''}${kept.length > 0 ? inPart : ''}`,
    certain: certainOf(back.length - others.length, others.length),
    payments: back.length,
    amountMinor: sumMinor(back.map((one) => BigInt(one.amount_minor))),
    records: back.map((one) => ({
      id: showId('pay', one.id),
      minor: one.amount_minor,
      row: one.row_no,
    })),
  } as const;
}

const COMPARE =
  'The other payment may have been made in the stead of what came back: compare the two before anybody is paid once more. Who is still owed is paid by a row that is uploaded as a supplement, where an approver releases it; a successor is refused. This does not close by itself: acknowledge it.';

function certainOf(unpaid: number, others: number): string {
  if (others === 0) return ATTENTION_WORDS.PAYMENT_RETURNED.certain;
  if (unpaid > 0) return `${notPaid('The others')} ${COMPARE}`;
  return `What they were paid is recorded as returned. Nothing is stopped, and nothing is paid again by itself. ${COMPARE}`;
}

function rowsOf(payments: readonly CameBack[]): string {
  const rows = payments.map((one) => String(one.row_no));
  return `${rows.length === 1 ? 'row' : 'rows'} ${textOfFirstFew(rows, MOST_NAMED)}`;
}

/**
 * Closes what people are told of instructions that were released at their cut-off, and of payments that came back, once
 * each of these is made again by a run of which nothing is left to be submitted; of what came back it is told anew of
 * those that are left.
 */
export async function closeMadeAgain(tx: EmployerTransaction): Promise<void> {
  await tx.query(
    `UPDATE attention a SET resolved_at = clock_timestamp(), resolution = 'another run was made of its payments, and is submitted or has ended'
     WHERE a.employer_id = $1 AND a.kind = 'STALE_DATE' AND a.resolved_at IS NULL AND a.instruction_id IS NOT NULL
       AND NOT EXISTS (SELECT ${notMadeAgain('a.instruction_id')} AND p.status = 'VOID')`,
    [tx.employerId],
  );
  // All, and before they are looked for: what is told anew at this moment may know nothing of this run yet.
  await lockAsked(tx, null);
  const { employerId } = tx;
  const open = { employerId, kind: 'PAYMENT_RETURNED', resolvedAt: IsNull() } as const;
  const asked = await tx.manager.find(Attention, { where: open, order: { id: 'ASC' } });
  const instructions = await tx.manager.findBy(Instruction, {
    employerId,
    id: In(asked.map(({ subjectId }) => subjectId)),
  });
  for (const instruction of instructions) await tellOfReturned(tx, instruction);
}
