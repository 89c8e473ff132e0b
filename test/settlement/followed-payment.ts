import type { FollowedPayment } from '../../src/settlement/follow-plan';

/** A payment that was submitted and of which the bank has shown nothing, but for some changes. */
export function followed(change: Partial<FollowedPayment> = {}): FollowedPayment {
  return {
    instructionId: 'i',
    rowNo: 1,
    paymentId: 'p',
    messageId: 'm',
    bankIds: ['b'],
    iban: 'DE',
    amountMinor: 1n,
    currency: 'EUR',
    status: 'SUBMITTED',
    bankStatus: null,
    shownStatus: null,
    decidedStatuses: [],
    behindForMs: null,
    shownOtherwise: null,
    rank: 0,
    returned: false,
    returnedMinor: null,
    moreBackForMs: null,
    settledOn: null,
    chargesMinor: null,
    chargesUnread: false,
    ...change,
  };
}
