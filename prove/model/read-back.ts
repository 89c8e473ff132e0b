import {
  contradictions,
  type ExpectedRow,
  type Judgement,
  judgePayments,
  type SeenPayment,
} from '../../src/pay-run/match';
import { judgeTotals, judgeUnsubmitted } from '../../src/submission/decision';
import type { Context } from './context';
import type { Instruction, Payment } from './store';

type Matched = Judgement & { kind: 'equal' | 'fewer' };
export type ReadBack =
  | { kind: 'equal' | 'fewer'; judgement: Matched }
  | { kind: 'wait' | 'moved' | 'dead' | 'unidentified' }
  | { kind: 'different'; foreign: boolean };

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
  const totals =
    without === 'echo'
      ? judgeTotals(planned, { count: shown.calculated.count })
      : judgeTotals(planned, shown.calculated);
  return conclude(judgement, totals);
}

function conclude(judgement: Judgement, totals: 'equal' | 'fewer' | 'different'): ReadBack {
  switch (judgement.kind) {
    case 'twice':
    case 'different':
      return { kind: 'different', foreign: false };
    case 'foreign':
      return { kind: 'different', foreign: true };
    case 'unidentified':
      return { kind: 'unidentified' };
    case 'fewer':
      return { kind: 'fewer', judgement };
    case 'equal':
      return totals === 'different' ? { kind: 'different', foreign: false } : { kind: totals, judgement };
  }
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
