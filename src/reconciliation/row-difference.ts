import { PayRunStatus } from '../domain/pay-run';
import { PaymentStatus } from '../domain/payment';
import { bankGroup } from '../domain/reconciliation';

/** Each way in which a row differs, and what it means. */
export const ROW_DIFFERENCES = {
  PAYMENT_MISSING: 'The file had this row, and there is no payment of it.',
  ROW_CHANGED: 'The stored payment is not the row that was uploaded and approved.',
  BANK_PAYMENT_MISSING: 'The bank has no payment of this row.',
  BANK_STATUS_CONTRADICTS: 'The bank has another status of this payment than we have.',
  NOT_EXPECTED_AT_BANK: 'The bank has a payment of this row, which is not to be paid.',
} as const;
export type RowDifference = keyof typeof ROW_DIFFERENCES;

/**
 * In these states of a run every row of it was seen at the bank. Not in SUBMITTING, when an instruction may be built
 * again beside those that are submitted; what those hold is held against their plan by its sums.
 */
const BUILT: readonly PayRunStatus[] = ['VERIFIED', 'FOLLOWING', 'SETTLED', 'PARTLY_SETTLED', 'FAILED'];

/**
 * Holds our status of a payment against the bank's. `bankStatus` is as received, of the payment in the row's live
 * instruction, and null where there is none. `decided`: two people said what that status means.
 * Undefined when the two agree.
 */
export function judgeRow(
  run: PayRunStatus,
  status: PaymentStatus,
  bankStatus: string | null,
  decided = false,
): RowDifference | undefined {
  if (bankStatus === null) return mustBeAtBank(run, status) ? 'BANK_PAYMENT_MISSING' : undefined;
  const group = bankGroup(bankStatus);
  const unless = (agrees: boolean) => (agrees ? undefined : 'BANK_STATUS_CONTRADICTS');
  switch (status) {
    case 'READY':
    case 'HELD':
    case 'APPROVED':
    case 'EXCLUDED':
      return 'NOT_EXPECTED_AT_BANK';
    case 'AT_BANK':
    case 'VOID':
      return unless(group !== 'settled');
    case 'SUBMITTED':
      return unless(group === 'inFlight');
    case 'SETTLED':
      return unless(group === 'settled' || (decided && group === 'inFlight'));
    case 'FAILED':
    case 'REJECTED':
    case 'CANCELLED':
      return unless(group === 'notPaid');
  }
}

function mustBeAtBank(run: PayRunStatus, status: PaymentStatus): boolean {
  switch (status) {
    case 'SUBMITTED':
    case 'SETTLED':
    case 'FAILED':
    case 'REJECTED':
      return true;
    case 'AT_BANK':
      return BUILT.includes(run);
    case 'READY':
    case 'HELD':
    case 'APPROVED':
    case 'CANCELLED':
    case 'VOID':
    case 'EXCLUDED':
      return false;
  }
}
