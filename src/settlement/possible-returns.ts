import type { PaymentMarks } from '../bank/payment-marks';
import { EmployerTransaction } from '../database/database';
import { sameIban } from '../domain/party';
import { aboutInstruction, clear, raiseNaming } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { readMessageId } from '../pay-run/message-id';
import { FollowedPayment } from './follow-plan';

/** Records named in an attention; of more their number is told. */
const RECORDS_NAMED = 100;

/**
 * What came in, names an instruction, and went to the account it was paid from. To another account it is the other side of
 * a transfer within the bank; one that does not say where it went may be either, and is none.
 */
export class CameBack {
  /** Row by what tells the record from others; undefined where the record names no row. */
  readonly rows = new Map<string, number | undefined>();

  constructor(readonly debtorIban: string) {}

  add({ bankPaymentId, messageId, creditorIban }: PaymentMarks): void {
    const record = bankPaymentId ?? messageId;
    if (record === undefined || creditorIban === undefined || !sameIban(creditorIban, this.debtorIban))
      return;
    this.rows.set(record, readMessageId(messageId ?? '')?.rowNo);
  }
}

/**
 * Money came back, as it seems, for payments that stay settled all the same: asked once for the instruction,
 * and anew when more comes. It moves nothing. Closed by itself once the bank says of these payments that they are returned.
 * @param payments of the instruction, as they stand
 */
export async function tellOfPossibleReturns(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  { rows, debtorIban }: CameBack,
): Promise<void> {
  if (rows.size === 0) return;
  // What is paid to the very account it is paid from comes in there by itself.
  const mayComeBack = payments.filter(
    ({ status, returned, iban }) => status === 'SETTLED' && !returned && !sameIban(iban, debtorIban),
  );
  const kept = new Map(mayComeBack.map((one) => [one.rowNo, one] as const));
  // What names no row may be of any payment that ended without its money being kept.
  const unnamed = [...rows.values()].filter((row) => row === undefined).length;
  const mayBeOfOthers = unnamed <= payments.length - kept.size;
  const records = [...rows].flatMap(([record, row]) =>
    (row === undefined ? !mayBeOfOthers : kept.has(row)) ? [`"${record}"`] : [],
  );
  if (records.length === 0)
    return clear(tx, ['POSSIBLE_RETURN'], instruction.id, 'no payment it could be of is settled and kept');
  const named = records.sort().slice(0, RECORDS_NAMED);
  if (records.length > named.length) named.push(`${records.length - named.length} more`);
  const amountMinor = [...new Set(rows.values())].reduce(
    (sum, row) => sum + (kept.get(row ?? 0)?.amountMinor ?? 0n),
    0n,
  );
  const alarm = {
    kind: 'POSSIBLE_RETURN',
    ...aboutInstruction(instruction),
    happened:
      `Money came in to the account of the submitted instruction and names payments of it that are settled, ` +
      `${records.length} in all: record ${named.join(', ')}.`,
    payments: records.length,
    amountMinor,
  } as const;
  await raiseNaming(tx, alarm, named);
}
