import fc from 'fast-check';
import { BANK_STATUSES, isEndedUnpaid, NOT_PROCESSABLE, readBankStatus } from '../../src/domain/bank-status';
import { PAYMENT_FINALS, PAYMENT_STATUSES } from '../../src/domain/payment';
import { lookAgain, refusalOfReplacement, ReplaceablePayment } from '../../src/domain/replacement';

const FAILED: ReplaceablePayment = {
  status: 'FAILED',
  returned: false,
  bankStatus: 'PRO_ROUTING_FAILED',
  decidedStatuses: [],
  contradicted: false,
  doubted: false,
  mayBeKept: false,
  successor: 'none',
  paidOtherwise: false,
  paidFurther: false,
};
const all = { byId: false, reason: false };
const chosen = { byId: true, reason: true };

const payments: fc.Arbitrary<ReplaceablePayment> = fc.record({
  status: fc.constantFrom(...PAYMENT_STATUSES),
  returned: fc.boolean(),
  bankStatus: fc.constantFrom(null, 'PRO_MANUAL_REVIEW', ...BANK_STATUSES),
  decidedStatuses: fc.constant([]),
  contradicted: fc.boolean(),
  doubted: fc.boolean(),
  mayBeKept: fc.boolean(),
  successor: fc.constantFrom('none', 'live', 'ended'),
  paidOtherwise: fc.boolean(),
  paidFurther: fc.boolean(),
});
const choices = fc.record({ byId: fc.boolean(), reason: fc.boolean() });

describe('what may be paid again', () => {
  it.each(['VOID', 'FAILED', 'REJECTED', 'CANCELLED'] as const)('%s may, without being named', (status) => {
    expect(refusalOfReplacement({ ...FAILED, status }, all)).toBeUndefined();
  });

  it.each([
    ['EXCLUDED', all, 'EXCLUSION_NEEDS_CHOICE'],
    ['EXCLUDED', { byId: true, reason: false }, undefined],
    ['SETTLED', chosen, 'PAYMENT_SETTLED'],
    ['SUBMITTED', chosen, 'PAYMENT_NOT_FINISHED'],
    ['AT_BANK', chosen, 'PAYMENT_NOT_FINISHED'],
  ] as const)('%s, chosen as %j: %s', (status, choice, code) => {
    expect(refusalOfReplacement({ ...FAILED, status, bankStatus: 'EXCHANGED' }, choice)).toBe(code);
  });

  it('who has further pay of another run is chosen by id', () => {
    const besideFurther = { ...FAILED, paidFurther: true };
    expect(refusalOfReplacement(besideFurther, all)).toBe('FURTHER_PAY_NEEDS_CHOICE');
    expect(refusalOfReplacement(besideFurther, chosen)).toBeUndefined();
  });

  it.each([
    [all, 'RETURN_NEEDS_CHOICE'],
    [{ byId: true, reason: false }, 'RETURN_NEEDS_REASON'],
    [chosen, undefined],
  ])('what was paid and came back, chosen as %j: %s', (choice, code) => {
    const returned = { ...FAILED, status: 'SETTLED', returned: true, bankStatus: 'RETURNED' } as const;
    expect(refusalOfReplacement(returned, choice)).toBe(code);
  });

  it.each([
    [{ contradicted: true }, 'PAYMENT_CONTRADICTED'],
    [{ doubted: true }, 'PAYMENT_STATUS_UNCLEAR'],
    [{ mayBeKept: true }, 'RETURNED_IN_PART'],
    [{ bankStatus: 'EXCHANGE_ERROR' }, 'PAYMENT_STATUS_UNCLEAR'],
    [{ bankStatus: 'PRO_MANUAL_REVIEW' }, 'PAYMENT_STATUS_UNCLEAR'],
    [{ bankStatus: 'PRO_MANUAL_REVIEW', decidedStatuses: ['EXCHANGE_ERROR'] }, 'PAYMENT_STATUS_UNCLEAR'],
    [{ successor: 'live' as const }, 'PAYMENT_ALREADY_REPLACED'],
    [{ successor: 'ended' as const }, 'SUCCESSOR_ENDED'],
    [{ paidOtherwise: true }, 'EMPLOYEE_PAID_OTHERWISE'],
  ])('not with %j', (doubt, code) => {
    expect(refusalOfReplacement({ ...FAILED, ...doubt }, chosen)).toBe(code);
  });

  it('what shows a status that two people decided about may, and what was taken out whatever is shown', () => {
    const decided = { ...FAILED, bankStatus: 'FOO', decidedStatuses: ['BAR', 'FOO'] };
    expect(refusalOfReplacement(decided, all)).toBeUndefined();
    const excluded = { ...FAILED, status: 'EXCLUDED', bankStatus: 'FOO' } as const;
    expect(refusalOfReplacement(excluded, chosen)).toBeUndefined();
  });

  it('is never what may still be paid, was paid for good, is in doubt or has somebody who pays it', () => {
    fc.assert(
      fc.property(payments, choices, (payment, choice) => {
        if (refusalOfReplacement(payment, choice) !== undefined) return;
        expect(PAYMENT_FINALS).toContain(payment.status);
        expect(payment.status !== 'SETTLED' || (payment.returned && choice.byId && choice.reason)).toBe(true);
        expect(payment).toMatchObject({ contradicted: false, doubted: false, successor: 'none' });
        expect(payment.paidOtherwise).toBe(false);
        const { kind } = readBankStatus(payment.bankStatus ?? 'INITIATED');
        if (payment.status !== 'EXCLUDED') expect(['unclear', 'unknown']).not.toContain(kind);
      }),
      { numRuns: 5_000 },
    );
  });

  it('grows with what a person says, never shrinks', () => {
    fc.assert(
      fc.property(payments, (payment) => {
        if (refusalOfReplacement(payment, all) !== undefined) return;
        expect(refusalOfReplacement(payment, chosen)).toBeUndefined();
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('a second look', () => {
  it.each(['FAILED', 'REJECTED', 'CANCELLED'] as const)(
    'of what ended as %s is the same only where the bank shows an end without payment, or that its money came back',
    (status) => {
      const look = (shown: string) => lookAgain({ ...FAILED, status }, shown);
      const same = BANK_STATUSES.filter((shown) => look(shown) === 'same');
      const unpaid = BANK_STATUSES.filter((shown) => isEndedUnpaid(shown) || shown === 'RETURNED');
      expect(same).toEqual(unpaid);
      const left = { ...FAILED, status, bankStatus: NOT_PROCESSABLE };
      expect(lookAgain(left, 'RETURNED')).toBe('moved');
      for (const shown of ['PRO_ROUTING_FAILED', 'EXT_REFUSED', 'CANCELLED']) expect(same).toContain(shown);
      for (const shown of ['SETTLED', 'EXCHANGED', 'EXCHANGE_ERROR', 'PRO_MANUAL_REVIEW'])
        expect([shown, look(shown)]).toEqual([shown, 'moved']);
    },
  );

  it.each(PAYMENT_STATUSES.filter((status) => !['VOID', 'FAILED', 'REJECTED', 'CANCELLED'].includes(status)))(
    'of what has not ended unpaid (%s) is never the same',
    (status) => {
      for (const shown of ['INITIATED', 'FAILED', 'CANCELLED', 'RETURNED'])
        expect([shown, lookAgain({ status, returned: false }, shown)]).toEqual([shown, 'moved']);
    },
  );

  it('of what two people declared void is the same where it stands before the submit, or ended unpaid', () => {
    const ended = { status: 'VOID', returned: false, bankStatus: 'INITIATED' } as const;
    const look = (shown: string) => lookAgain(ended, shown);
    for (const shown of ['INITIATED', 'P_INSTRUCTION_SUB_NOT_PASSED', 'CANCELLED', 'REJECTED'])
      expect([shown, look(shown)]).toEqual([shown, 'same']);
    for (const shown of [
      'SUB_STARTED',
      'WAREHOUSED',
      'EXCHANGED',
      'SETTLED',
      'RETURNED',
      'PRO_MANUAL_REVIEW',
    ])
      expect([shown, look(shown)]).toEqual([shown, 'moved']);
  });

  it('of what two people declared not paid is the same in the status they decided about, and in no other', () => {
    const ended = { status: 'VOID', returned: false, decidedStatuses: ['PRO_MANUAL_REVIEW'] } as const;
    expect(lookAgain(ended, 'PRO_MANUAL_REVIEW')).toBe('same');
    expect(lookAgain(ended, 'EXCHANGE_ERROR')).toBe('moved');
    expect(lookAgain(ended, 'SETTLED')).toBe('moved');
  });

  it('of what failed is the same in each status that two people decided about, whichever came last', () => {
    const ended = { status: 'REJECTED', returned: false, decidedStatuses: ['FOO', 'BAR'] } as const;
    const shown = ['FOO', 'BAR', 'BAZ'].map((status) => lookAgain(ended, status));
    expect(shown).toEqual(['same', 'same', 'moved']);
  });

  it.each(['SUB_STARTED', 'SUB_IS_VALID', 'SUB_STRONG_AUTH_REQUIRED'])(
    'of what two people declared void while it stood at %s is the same while it stands there, or ended unpaid',
    (bankStatus) => {
      const same = BANK_STATUSES.filter(
        (shown) => lookAgain({ status: 'VOID', returned: false, bankStatus }, shown) === 'same',
      );
      for (const shown of [bankStatus, 'INITIATED', 'SUB_NOT_IS_VALID', 'REJECTED'])
        expect(same).toContain(shown);
      for (const shown of ['SUB_INT_CTRL_PASSED', 'SUBMITTED', 'WAREHOUSED', 'EXCHANGED', 'SETTLED'])
        expect(same).not.toContain(shown);
    },
  );

  it('of what two people declared void is never the same once the bank took it, wherever it stood', () => {
    for (const bankStatus of ['WAREHOUSED', 'EXCHANGED', 'SETTLED', 'PRO_MANUAL_REVIEW'])
      expect(lookAgain({ status: 'VOID', returned: false, bankStatus }, bankStatus)).toBe('moved');
  });

  it('of what came back is the same only while it is shown as returned', () => {
    const ended = { status: 'SETTLED', returned: true, bankStatus: 'RETURNED' } as const;
    expect(lookAgain(ended, 'RETURNED')).toBe('same');
    expect(lookAgain(ended, 'SETTLED')).toBe('moved');
  });
});
