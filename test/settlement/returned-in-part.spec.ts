import type { BankPayment } from '../../src/bank/records';
import type { EmployerTransaction } from '../../src/database/database';
import type { PersonalData } from '../../src/database/personal-data';
import type { FollowedPayment } from '../../src/settlement/follow-plan';
import { backInPart, withParts } from '../../src/settlement/returned-in-part';
import { followed } from './followed-payment';

const LAG_MS = 600_000;
const tx = {
  query: () => Promise.resolve([{ id: 'p', name_sealed: 'Ada' }]),
} as unknown as EmployerTransaction;
const personal = { open: (sealed: string) => sealed } as unknown as PersonalData;

const paid = (change: Partial<FollowedPayment> = {}) =>
  followed({ amountMinor: 1_000n, status: 'SETTLED', bankStatus: 'SETTLED', rank: 14, ...change });
const back = (change: Partial<FollowedPayment>) =>
  paid({ bankStatus: 'RETURNED', returned: true, ...change });
const record = (status: string, amountMinor?: bigint, more: Partial<BankPayment> = {}) =>
  ({ bankPaymentId: 'b', messageId: 'm', currency: 'EUR', status, amountMinor, ...more }) as BankPayment;

/** What counts as come back of a payment after a read that shows these records; null for none that is less. */
const countsAfter = async (payment: FollowedPayment, records: readonly BankPayment[], isDone = false) => {
  const [byId, shownById] = [new Map([['b', payment]]), new Map([['b', records]])];
  const parts = await backInPart(tx, personal, byId, shownById, { isDone, maxAgeMs: LAG_MS });
  return parts.size === 0 ? undefined : withParts([payment], parts)[0]?.returnedMinor;
};

describe('what came back of a payment', () => {
  it.each<[string, FollowedPayment, BankPayment[], bigint | null | undefined]>([
    ['less is shown', paid(), [record('RETURNED', 900n)], 900n],
    ['of two the least is', paid(), [record('RETURNED', 900n), record('RETURNED', 800n)], 800n],
    ['all of it is shown, and never less', back({}), [record('RETURNED', 1_000n)], undefined],
    ['less still is shown', back({ returnedMinor: 900n }), [record('RETURNED', 800n)], 800n],
    ['more is shown for the first time', back({ returnedMinor: 800n }), [record('RETURNED', 900n)], 800n],
    [
      'more is shown for no longer than a read can be old',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS - 1 }),
      [record('RETURNED', 1_000n)],
      800n,
    ],
    [
      'more is shown for longer than that',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS }),
      [record('RETURNED', 900n)],
      900n,
    ],
    [
      'all of it is',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS }),
      [record('RETURNED', 1_000n)],
      1_000n,
    ],
    [
      'all of it is, beside what was shown before',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS }),
      [record('RETURNED', 1_000n), record('RETURNED', 800n)],
      800n,
    ],
    [
      'less is shown again after all of it was',
      back({ returnedMinor: 1_000n }),
      [record('RETURNED', 800n)],
      800n,
    ],
    [
      'no amount is shown any more',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS }),
      [record('RETURNED')],
      undefined,
    ],
  ])('where %s', async (_, payment, records, minor) => {
    expect(await countsAfter(payment, records)).toBe(minor);
  });

  it.each<[string, BankPayment, boolean]>([
    ['failed', record('FAILED'), false],
    ['not processable', record('SUB_IS_VALID', 1_000n, { groupStatus: 'NOTPROCESSABLE' }), true],
  ])('is nothing of what the same read ends as %s', async (_, other, isDone) => {
    const open = paid({ status: 'SUBMITTED', bankStatus: other.status, rank: 6 });
    expect(await countsAfter(open, [record('RETURNED', 900n), other], isDone)).toBeUndefined();
    expect(await countsAfter(open, [record('RETURNED', 900n)])).toBe(900n);
  });

  it('is less also of what the same read shows as failed, once it was settled', async () => {
    expect(await countsAfter(paid(), [record('RETURNED', 900n), record('FAILED')])).toBe(900n);
  });
});
