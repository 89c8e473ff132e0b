import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { isBeforeSubmit, isPastSubmit, readBankStatus } from '../domain/bank-status';
import { aboutInstruction, clear, raiseNaming, raiseUndecided } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { alarmOfStatus } from './follow-plan';
import { HAPPENED, PASSING } from './follow.store';

/** Open payments of an instruction that share a status; the amount in minor units. */
interface StatusGroup {
  status: string;
  payments: number;
  amount: string;
  rows: number[];
}

/** Rows named in an attention; the report names them all. */
const ROWS_NAMED = 10;

/**
 * Asks once for each instruction, however many of its open payments share the status: about statuses nobody documents,
 * and about those in which the bank waits for a person. Where payments that `shouldHaveMoved` are all where they were
 * before the submit, and nothing says why, the bank is asked for whom it waits. Cleared as soon as none is left.
 */
export async function tellOfStatuses(
  tx: EmployerTransaction,
  instruction: Instruction,
  shouldHaveMoved: boolean,
): Promise<void> {
  const groups = await openStatuses(tx, instruction);
  for (const kind of PASSING) {
    const alarming = groups.filter(({ status }) => alarmOfStatus(status) === kind);
    if (alarming.length === 0) {
      if (kind === 'BANK_ACTION_REQUIRED' && shouldHaveMoved && (await tellOfStandstill(tx, instruction)))
        continue;
      await clear(tx, [kind], instruction.id, 'the bank went on to a documented status');
      continue;
    }
    const shown = alarming.map(({ status, rows }) => {
      const where = rows.length > 0 ? `rows ${rows.join(', ')}` : 'the instruction itself';
      return `${status} (${where})`;
    });
    const alarm = {
      kind,
      ...aboutInstruction(instruction),
      happened: `${HAPPENED[kind]}: ${shown.join(', ')}.`,
      payments: alarming.reduce((sum, { payments }) => sum + payments, 0),
      amountMinor: alarming.reduce((sum, { amount }) => sum + BigInt(amount), 0n),
    };
    // Not by the rows: they come and go, and each time somebody would be asked again.
    await raiseNaming(
      tx,
      alarm,
      alarming.map(({ status }) => ` ${status} (`),
    );
  }
}

/** Raises the alarm when no payment has moved since before the submit; false when one has, or the bank says why. */
async function tellOfStandstill(tx: EmployerTransaction, instruction: Instruction): Promise<boolean> {
  if (instruction.bankStatus !== null && readBankStatus(instruction.bankStatus).kind === 'waiting')
    return false;
  const groups = await tx.query<{ status: string | null; payments: number; amount: string }>(
    `SELECT b.bank_status AS status, count(*)::int AS payments, sum(p.amount_minor)::text AS amount
     FROM bank_payment b JOIN ${byKey('payment', 'b.payment_id')} p ON true
     WHERE b.employer_id = $1 AND b.instruction_id = $2 GROUP BY b.bank_status`,
    [tx.employerId, instruction.id],
  );
  if (groups.some(({ status }) => status !== null && !isBeforeSubmit(status))) return false;
  await raiseUndecided(tx, {
    kind: 'BANK_ACTION_REQUIRED',
    ...aboutInstruction(instruction),
    happened:
      'The cut-off of the execution date passed, and as far as the bank shows, no payment of the submitted ' +
      'instruction has moved. It does not say why: it may wait for an approval or a strong authentication.',
    certain: 'It was submitted once and is never sent again. No other instruction pays these people.',
    payments: groups.reduce((sum, { payments }) => sum + payments, 0),
    amountMinor: groups.reduce((sum, { amount }) => sum + BigInt(amount), 0n),
  });
  return true;
}

/** The statuses of the open payments, and that of the instruction while no payment has got past it. */
async function openStatuses(tx: EmployerTransaction, instruction: Instruction): Promise<StatusGroup[]> {
  const groups = await tx.query<StatusGroup>(
    `SELECT b.bank_status AS status, count(*)::int AS payments, sum(p.amount_minor)::text AS amount,
       (array_agg(b.row_no ORDER BY b.row_no))[1:$3] AS rows
     FROM bank_payment b JOIN ${byKey('payment', 'b.payment_id')} p ON true
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.bank_status IS NOT NULL AND p.status = 'SUBMITTED'
     GROUP BY b.bank_status ORDER BY min(b.row_no)`,
    [tx.employerId, instruction.id, ROWS_NAMED],
  );
  const waiting = groups.length > 0 && groups.every(({ status }) => !isPastSubmit(status));
  if (!waiting || instruction.bankStatus === null) return groups;
  return [...groups, { status: instruction.bankStatus, payments: 0, amount: '0', rows: [] }];
}
