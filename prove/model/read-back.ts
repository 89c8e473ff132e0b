import { contradictions, type ExpectedRow, judgePayments, type SeenPayment } from '../../src/pay-run/match';
import { conclude, type Concluded, judgeTotals, judgeUnsubmitted } from '../../src/submission/decision';
import type { Context } from './context';
import type { Instruction, Payment } from './store';

export type ReadBack = Concluded | { kind: 'wait' | 'moved' | 'dead' };

/** Reads an unsubmitted instruction whole and judges it as the product's `InstructionReader` does. @throws Unreachable */
export function readBack(context: Context, instruction: Instruction): ReadBack {
  const { bank, without } = context;
  const { planned } = instruction;
  const shown = bank.readInstruction(instruction.bankId ?? '');
  if (shown === 'gone') return { kind: 'dead' };
  const state = judgeUnsubmitted(shown.status);
  if (state !== 'open') return { kind: state };
  const expected = planned.payments.map((payment) => expectedRow(instruction, payment));
  const seen = bank.readPayments(instruction.bankId ?? '', bankIdsOf(instruction));
  const judgement = judgePayments(expected, without === 'echo' ? seen.map(unread) : seen);
  const { calculatedCount: count, calculatedTotalMinor: totalMinor } = shown;
  const totals = judgeTotals(planned, without === 'echo' ? { count } : { count, totalMinor });
  return conclude(judgement, totals, [], undefined, { hexHash: (text) => text });
}

/** What is left of a payment when nobody compares its fields. */
function unread({ bankPaymentId, ids, messageId, status }: SeenPayment): SeenPayment {
  return { bankPaymentId, ids, messageId, status };
}

export function messageIdOf(instruction: Instruction, rowNo: number): string {
  return `${instruction.id}-${rowNo}`;
}

export function expectedRow(instruction: Instruction, payment: Payment): ExpectedRow {
  const bankId = instruction.adds.get(payment.rowNo)?.bankPaymentId;
  return {
    rowNo: payment.rowNo,
    messageId: messageIdOf(instruction, payment.rowNo),
    bankIds: bankId === undefined ? [] : [bankId],
    amountMinor: payment.amountMinor,
    currency: 'EUR',
    iban: payment.iban,
  };
}

/** The fields in which a payment contradicts its row; none when nobody compares. */
export function differences(context: Context, row: ExpectedRow, payment: SeenPayment): string[] {
  return context.without === 'echo' ? [] : contradictions(row, payment);
}

/** The bank's ids of the payments of an instruction, as far as they are known. */
export function bankIdsOf(instruction: Instruction): string[] {
  const ids: string[] = [];
  for (const { bankPaymentId } of instruction.adds.values())
    if (bankPaymentId !== undefined) ids.push(bankPaymentId);
  return ids;
}
