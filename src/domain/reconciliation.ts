import { readBankStatus } from './bank-status';
import { sumMinor } from './money';
import { PaymentStatus } from './payment';

/** How many payments, and their sum in minor units. */
export interface CountAndSum {
  count: number;
  amountMinor: bigint;
}

export const NOTHING: CountAndSum = { count: 0, amountMinor: 0n };

/**
 * The aggregates of one pay run. `cancelled`: it ended before anything was submitted; what it paid was cancelled by us, and
 * the bank has no record of it. `refused` rows never became payments; `held` rows are held now (none once the run is
 * cancelled); `approved` is the rows of the run: those the approval covers, before it those that wait for it, and in a
 * cancelled run all it had. `submitted` is the planned totals of the instructions the bank has; `bankByStatus` holds
 * the bank's own records of those instructions by status value as received.
 */
export interface ReconciliationInput {
  cancelled: boolean;
  uploaded: CountAndSum;
  refused: CountAndSum;
  held: CountAndSum;
  excluded: CountAndSum;
  approved: CountAndSum;
  byPaymentStatus: Partial<Readonly<Record<PaymentStatus, CountAndSum>>>;
  submitted: CountAndSum;
  bankByStatus: Readonly<Record<string, CountAndSum>>;
}

export type ReconciliationLineName =
  'FILE' | 'HELD' | 'EXCLUDED' | 'RUN' | 'BANK' | 'SETTLED' | 'NOT_PAID' | 'IN_FLIGHT';

/** One equation of the conservation law: what it says should be, what is, and left minus right. */
export interface ReconciliationLine {
  name: ReconciliationLineName;
  meaning: string;
  expected: CountAndSum;
  actual: CountAndSum;
  differenceCount: number;
  differenceMinor: bigint;
}

/**
 * Compares counts and cents along the conservation law: file = run + held + excluded + refused; run = its payments;
 * submitted = the bank's records = settled + not paid + in flight.
 */
export function reconcile(input: ReconciliationInput): ReconciliationLine[] {
  const ours = (...statuses: PaymentStatus[]): CountAndSum =>
    add(statuses.map((status) => input.byPaymentStatus[status]));
  const bank = foldBank(input.bankByStatus);
  const cancelledAtBank = input.cancelled ? NOTHING : ours('CANCELLED');
  const inRun = ours(
    'READY',
    'APPROVED',
    'AT_BANK',
    'SUBMITTED',
    'SETTLED',
    'FAILED',
    'REJECTED',
    'CANCELLED',
    'VOID',
  );
  const { approved, held, excluded, refused } = input;
  return [
    line('FILE', 'The file is the run and what was held, excluded and refused.', input.uploaded, [
      approved,
      held,
      excluded,
      refused,
    ]),
    line('HELD', 'Every row held is a held payment.', held, [ours('HELD')]),
    line('EXCLUDED', 'Every row excluded is an excluded payment.', excluded, [ours('EXCLUDED')]),
    line('RUN', 'Every row of the run is a payment in some state.', approved, [inRun]),
    line(
      'BANK',
      'The bank holds exactly what was submitted.',
      input.submitted,
      Object.values(input.bankByStatus),
    ),
    line(
      'SETTLED',
      'What we call settled the bank settled, or says in writing that it did.',
      ours('SETTLED'),
      [bank.settled],
    ),
    line(
      'NOT_PAID',
      'What we call failed, rejected or cancelled the bank did not pay.',
      add([ours('FAILED', 'REJECTED'), cancelledAtBank]),
      [bank.notPaid],
    ),
    line('IN_FLIGHT', 'What we wait for the bank has not finished.', ours('SUBMITTED'), [bank.inFlight]),
  ];
}

function foldBank(
  byStatus: Readonly<Record<string, CountAndSum>>,
): Record<'settled' | 'notPaid' | 'inFlight', CountAndSum> {
  const folded = { settled: NOTHING, notPaid: NOTHING, inFlight: NOTHING };
  for (const [status, part] of Object.entries(byStatus)) {
    const group = bankGroup(status);
    folded[group] = add([folded[group], part]);
  }
  return folded;
}

/** Where money is that the bank calls by a status, as received: an unknown one is still on its way. */
export function bankGroup(status: string): 'settled' | 'notPaid' | 'inFlight' {
  const reading = readBankStatus(status);
  if (reading.kind === 'returned') return 'settled';
  if (reading.kind !== 'terminal') return 'inFlight';
  return reading.outcome === 'SETTLED' ? 'settled' : 'notPaid';
}

function line(
  name: ReconciliationLineName,
  meaning: string,
  expected: CountAndSum,
  parts: readonly CountAndSum[],
): ReconciliationLine {
  const actual = add(parts);
  return {
    name,
    meaning,
    expected,
    actual,
    differenceCount: expected.count - actual.count,
    differenceMinor: expected.amountMinor - actual.amountMinor,
  };
}

/** The sum of counts and of amounts in minor units; what is not there counts as nothing. */
export function add(parts: readonly (CountAndSum | undefined)[]): CountAndSum {
  const present = parts.filter((part) => part !== undefined);
  return {
    count: present.reduce((sum, part) => sum + part.count, 0),
    amountMinor: sumMinor(present.map((part) => part.amountMinor)),
  };
}
