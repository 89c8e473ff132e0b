import fc from 'fast-check';
import { PAYMENT_STATUSES, PaymentStatus } from '../../src/domain/payment';
import { CountAndSum, NOTHING, reconcile, ReconciliationInput } from '../../src/domain/reconciliation';

const of = (count: number, amountMinor: bigint): CountAndSum => ({ count, amountMinor });

/** A run of ten: one row refused, one held, one excluded, seven submitted of which one failed and one is open. */
const consistent: ReconciliationInput = {
  cancelled: false,
  uploaded: of(10, 1000n),
  refused: of(1, 100n),
  held: of(1, 100n),
  excluded: of(1, 100n),
  approved: of(7, 700n),
  byPaymentStatus: {
    HELD: of(1, 100n),
    EXCLUDED: of(1, 100n),
    SETTLED: of(5, 500n),
    FAILED: of(1, 100n),
    SUBMITTED: of(1, 100n),
  },
  submitted: of(7, 700n),
  bankByStatus: {
    SETTLED: of(4, 400n),
    RETURNED: of(1, 100n),
    PRO_ROUTING_FAILED: of(1, 100n),
    EXCHANGED: of(1, 100n),
  },
};

const differing = (input: ReconciliationInput): string[] =>
  reconcile(input)
    .filter((line) => line.differenceCount !== 0 || line.differenceMinor !== 0n)
    .map((line) => line.name);

describe('reconciliation', () => {
  it('explains a run whose every cent is somewhere', () => {
    expect(differing(consistent)).toEqual([]);
    expect(reconcile(consistent)).toHaveLength(8);
  });

  it('explains a run that was cancelled before anything was submitted', () => {
    const cancelled: ReconciliationInput = {
      cancelled: true,
      uploaded: of(3, 300n),
      refused: NOTHING,
      held: NOTHING,
      excluded: NOTHING,
      approved: of(3, 300n),
      byPaymentStatus: { CANCELLED: of(3, 300n) },
      submitted: NOTHING,
      bankByStatus: {},
    };
    expect(differing(cancelled)).toEqual([]);
  });

  it('explains payments void after a submit that was not executed', () => {
    const partlyVoid: ReconciliationInput = {
      ...consistent,
      byPaymentStatus: { ...consistent.byPaymentStatus, SETTLED: of(3, 300n), VOID: of(2, 200n) },
      submitted: of(5, 500n),
      bankByStatus: { SETTLED: of(3, 300n), FAILED: of(1, 100n), WAREHOUSED: of(1, 100n) },
    };
    expect(differing(partlyVoid)).toEqual([]);
  });

  it.each<[string, Partial<ReconciliationInput>, string[]]>([
    ['a row that vanished from the file', { uploaded: of(11, 1100n) }, ['FILE']],
    [
      'a cent too much at the bank',
      { bankByStatus: { ...consistent.bankByStatus, EXCHANGED: of(1, 101n) } },
      ['BANK', 'IN_FLIGHT'],
    ],
    [
      'a payment the bank has and we never sent',
      { bankByStatus: { ...consistent.bankByStatus, SETTLED: of(5, 500n) } },
      ['BANK', 'SETTLED'],
    ],
    [
      'a payment the bank settled and we call open',
      { bankByStatus: { SETTLED: of(6, 600n), FAILED: of(1, 100n) } },
      ['SETTLED', 'IN_FLIGHT'],
    ],
    ['an excluded row that is still paid', { excluded: NOTHING, approved: of(8, 800n) }, ['EXCLUDED', 'RUN']],
  ])('finds %s', (_what, change, names) => {
    expect(differing({ ...consistent, ...change })).toEqual(names);
  });

  it('does not let two opposite errors cancel out', () => {
    const swapped = {
      ...consistent,
      bankByStatus: { SETTLED: of(4, 400n), FAILED: of(2, 200n), EXCHANGED: of(1, 100n) },
    };
    expect(differing(swapped)).toEqual(['SETTLED', 'NOT_PAID']);
    const line = reconcile(swapped).find((each) => each.name === 'SETTLED');
    expect(line).toMatchObject({ differenceCount: 1, differenceMinor: 100n });
  });

  it('counts a status it does not know as still open', () => {
    const unknown = {
      ...consistent,
      bankByStatus: { ...consistent.bankByStatus, EXCHANGED: NOTHING, BRAND_NEW: of(1, 100n) },
    };
    expect(differing(unknown)).toEqual([]);
  });

  it('finds any single payment whose amount changed on our side', () => {
    const anyPart = fc.constantFrom<PaymentStatus>('HELD', 'EXCLUDED', 'SETTLED', 'FAILED', 'SUBMITTED');
    fc.assert(
      fc.property(anyPart, fc.bigInt({ min: 1n, max: 50n }), (status, cents) => {
        const before = consistent.byPaymentStatus[status]!;
        const changed = { ...before, amountMinor: before.amountMinor - cents };
        const byPaymentStatus = { ...consistent.byPaymentStatus, [status]: changed };
        expect(differing({ ...consistent, byPaymentStatus })).not.toEqual([]);
      }),
    );
  });

  it('places a payment of any status on exactly one line of the file', () => {
    for (const status of PAYMENT_STATUSES) {
      const one = of(1, 1n);
      const lines = reconcile({
        ...consistent,
        byPaymentStatus: { [status]: one },
        submitted: NOTHING,
        bankByStatus: {},
      });
      const placed = lines.filter(
        (each) => ['HELD', 'EXCLUDED', 'RUN'].includes(each.name) && each.actual.count === 1,
      );
      expect([status, placed.length]).toEqual([status, 1]);
    }
  });
});
