import { EmployerTransaction } from '../database/database';
import { isBeforeSubmit, isPastSubmit, readBankStatus } from '../domain/bank-status';
import { aboutInstruction, clear, raiseNaming, raiseUndecided } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { alarmOfStatus, FollowedPayment } from './follow-plan';
import { HAPPENED, PASSING } from './follow.store';

/** Open payments of an instruction that share a status; without any it is the instruction's own. */
interface StatusGroup {
  status: string;
  payments: readonly FollowedPayment[];
}

/** Rows named in an attention; the report names them all. */
const ROWS_NAMED = 10;

/**
 * Asks once for each instruction, however many of its open payments share the status: about statuses nobody documents,
 * and about those in which the bank waits for a person. Where payments that `shouldHaveMoved` are all where they were
 * before the submit, and nothing says why, the bank is asked for whom it waits. Cleared as soon as none is left.
 * @param payments of the instruction, in row order, as they stand
 */
export async function tellOfStatuses(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  shouldHaveMoved: boolean,
): Promise<void> {
  const groups = openStatuses(instruction, payments);
  for (const kind of PASSING) {
    const alarming = groups.filter(({ status }) => alarmOfStatus(status) === kind);
    if (alarming.length === 0) {
      const maySayNothing = kind === 'BANK_ACTION_REQUIRED' && shouldHaveMoved;
      if (maySayNothing && (await tellOfStandstill(tx, instruction, payments))) continue;
      await clear(tx, [kind], instruction.id, 'the bank went on to a documented status');
      continue;
    }
    const shown = alarming.map(({ status, payments: those }) => {
      const rows = those.slice(0, ROWS_NAMED).map(({ rowNo }) => rowNo);
      const where = rows.length > 0 ? `rows ${rows.join(', ')}` : 'the instruction itself';
      return `${status} (${where})`;
    });
    const alarm = {
      kind,
      ...aboutInstruction(instruction),
      happened: `${HAPPENED[kind]}: ${shown.join(', ')}.`,
      ...heldUp(alarming.flatMap(({ payments: those }) => those)),
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
async function tellOfStandstill(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
): Promise<boolean> {
  const { kind } = readBankStatus(instruction.bankStatus ?? '');
  if (kind === 'waiting' || kind === 'terminal') return false;
  if (payments.some(({ bankStatus }) => bankStatus !== null && !isBeforeSubmit(bankStatus))) return false;
  await raiseUndecided(tx, {
    kind: 'BANK_ACTION_REQUIRED',
    ...aboutInstruction(instruction),
    happened:
      'The cut-off of the execution date passed, and as far as the bank shows, no payment of the submitted ' +
      'instruction has moved. It does not say why: it may wait for an approval or a strong authentication.',
    certain: 'It was submitted once and is never sent again. No other instruction pays these people.',
    ...heldUp(payments),
  });
  return true;
}

function heldUp(payments: readonly FollowedPayment[]): { payments: number; amountMinor: bigint } {
  return {
    payments: payments.length,
    amountMinor: payments.reduce((sum, { amountMinor }) => sum + amountMinor, 0n),
  };
}

/** The statuses of the open payments, and that of the instruction while no payment has got past it. */
function openStatuses(instruction: Instruction, payments: readonly FollowedPayment[]): StatusGroup[] {
  const byStatus = new Map<string, FollowedPayment[]>();
  for (const payment of payments) {
    if (payment.bankStatus === null || payment.status !== 'SUBMITTED') continue;
    const group = byStatus.get(payment.bankStatus);
    if (group) group.push(payment);
    else byStatus.set(payment.bankStatus, [payment]);
  }
  const groups = [...byStatus].map(([status, those]) => ({ status, payments: those }));
  const waiting = groups.length > 0 && groups.every(({ status }) => !isPastSubmit(status));
  if (!waiting || instruction.bankStatus === null) return groups;
  return [...groups, { status: instruction.bankStatus, payments: [] }];
}
