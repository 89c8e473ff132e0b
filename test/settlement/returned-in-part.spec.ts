import type { BankPayment } from '../../src/bank/records';
import type { EmployerTransaction } from '../../src/database/database';
import type { PersonalData } from '../../src/database/personal-data';
import type { Instruction } from '../../src/pay-run/instruction.entity';
import type { FollowedPayment } from '../../src/settlement/follow-plan';
import { backInPart, recordBackInPart, withParts } from '../../src/settlement/returned-in-part';
import { followed } from './followed-payment';

const LAG_MS = 600_000;
const NAME = 'Ada Number';
const tx = {
  employerId: 'e',
  query: () => Promise.resolve([{ id: 'p', name_sealed: NAME }]),
} as unknown as EmployerTransaction;
const personal = { open: (sealed: string) => sealed } as unknown as PersonalData;

const sent = (change: Partial<FollowedPayment> = {}) => followed({ amountMinor: 1_000n, ...change });

/** A record of it as returned, with 9 euros of its 10. */
const record = (change: Partial<BankPayment> = {}): BankPayment => ({
  bankPaymentId: 'b',
  ids: ['b'],
  messageId: 'm',
  status: 'RETURNED',
  wasSettled: true,
  amountMinor: 900n,
  currency: 'EUR',
  iban: 'DE',
  name: NAME,
  ...change,
});

async function partOf(payment: FollowedPayment, ...records: BankPayment[]): Promise<bigint | undefined> {
  const found = await backInPart(tx, personal, new Map([['b', payment]]), new Map([['b', records]]), {
    isDone: false,
    maxAgeMs: LAG_MS,
  });
  return found.get(payment.rowNo)?.shown.amountMinor;
}

describe('a payment that is shown as returned with less than was paid', () => {
  it.each<[string, Partial<FollowedPayment>]>([
    ['was submitted', {}],
    ['was paid', { status: 'SETTLED' }],
    ['was paid, and shown so before', { status: 'SETTLED', shownOtherwise: 'amount' }],
  ])('came back in part where it %s', async (_, change) => {
    expect(await partOf(sent(change), record())).toBe(900n);
  });

  it.each<[string, Partial<FollowedPayment>]>([
    ['had ended unpaid', { status: 'FAILED' }],
    ['was declared not paid', { status: 'VOID' }],
    ['was shown with another amount before it was paid', { shownOtherwise: 'amount' }],
    ['was shown for another account', { status: 'SETTLED', shownOtherwise: 'amount,iban' }],
  ])('did not where it %s', async (_, change) => {
    expect(await partOf(sent(change), record())).toBeUndefined();
  });

  it.each<[string, Partial<BankPayment>]>([
    ['is not shown as returned', { status: 'SETTLED' }],
    ['is shown in another currency', { currency: 'USD' }],
    ['is shown in no currency', { currency: undefined }],
    ['is shown with nothing', { amountMinor: 0n }],
    ['is shown whole', { amountMinor: 1_000n }],
    ['is shown with more', { amountMinor: 1_100n }],
    ['is shown with no amount', { amountMinor: undefined }],
    ['is shown for another account', { iban: 'FR' }],
    ['is shown under another message id', { messageId: 'n' }],
    ['is shown for another payee', { name: 'Grace Other' }],
  ])('did not where it %s', async (_, change) => {
    expect(await partOf(sent(), record(change))).toBeUndefined();
  });

  it('came back with the least of what is shown', async () => {
    expect(await partOf(sent(), record(), record({ amountMinor: 800n }))).toBe(800n);
    expect(await partOf(sent(), record({ amountMinor: 800n }), record())).toBe(800n);
    expect(await partOf(sent(), record(), record({ amountMinor: 1_000n }))).toBe(900n);
  });

  it.each<[string, Partial<BankPayment>]>([
    ['of another account', { iban: 'FR' }],
    ['of another payee', { name: 'Grace Other' }],
    ['that was paid with another amount', { status: 'SETTLED' }],
  ])('did not where another record of it is shown %s', async (_, change) => {
    expect(await partOf(sent(), record(), record(change))).toBeUndefined();
  });

  it('is not recorded where less was shown before', async () => {
    const query = jest.fn(() => Promise.resolve([]));
    const shown = { ...record(), amountMinor: 900n };
    const parts = [{ payment: sent({ returnedMinor: 800n, moreBackForMs: 0 }), shown, counts: false }];
    await recordBackInPart({ query } as unknown as EmployerTransaction, personal, {} as Instruction, parts);
    expect(query).not.toHaveBeenCalled();
  });
});

const paid = (change: Partial<FollowedPayment> = {}) =>
  followed({ amountMinor: 1_000n, status: 'SETTLED', bankStatus: 'SETTLED', rank: 14, ...change });
const back = (change: Partial<FollowedPayment>) =>
  paid({ bankStatus: 'RETURNED', returned: true, ...change });
const shown = (status: string, amountMinor?: bigint, more: Partial<BankPayment> = {}) =>
  record({ wasSettled: false, status, amountMinor, ...more });

/** What counts as come back of a payment after a read that shows these records; null for none that is less. */
const countsAfter = async (payment: FollowedPayment, records: readonly BankPayment[], isDone = false) => {
  const [byId, shownById] = [new Map([['b', payment]]), new Map([['b', records]])];
  const parts = await backInPart(tx, personal, byId, shownById, { isDone, maxAgeMs: LAG_MS });
  return parts.size === 0 ? undefined : withParts([payment], parts)[0]?.returnedMinor;
};

describe('what came back of a payment', () => {
  it.each<[string, FollowedPayment, BankPayment[], bigint | null | undefined]>([
    ['less is shown', paid(), [shown('RETURNED', 900n)], 900n],
    ['of two the least is', paid(), [shown('RETURNED', 900n), shown('RETURNED', 800n)], 800n],
    ['all of it is shown, and never less', back({}), [shown('RETURNED', 1_000n)], undefined],
    ['less still is shown', back({ returnedMinor: 900n }), [shown('RETURNED', 800n)], 800n],
    ['more is shown for the first time', back({ returnedMinor: 800n }), [shown('RETURNED', 900n)], 800n],
    [
      'more is shown for no longer than a read can be old',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS - 1 }),
      [shown('RETURNED', 1_000n)],
      800n,
    ],
    [
      'more is shown for longer than that',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS }),
      [shown('RETURNED', 900n)],
      900n,
    ],
    [
      'all of it is',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS }),
      [shown('RETURNED', 1_000n)],
      1_000n,
    ],
    [
      'all of it is, beside what was shown before',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS }),
      [shown('RETURNED', 1_000n), shown('RETURNED', 800n)],
      800n,
    ],
    [
      'less is shown again after all of it was',
      back({ returnedMinor: 1_000n }),
      [shown('RETURNED', 800n)],
      800n,
    ],
    [
      'no amount is shown any more',
      back({ returnedMinor: 800n, moreBackForMs: LAG_MS }),
      [shown('RETURNED')],
      undefined,
    ],
  ])('where %s', async (_, payment, records, minor) => {
    expect(await countsAfter(payment, records)).toBe(minor);
  });

  it.each<[string, BankPayment, boolean]>([
    ['failed', shown('FAILED'), false],
    ['not processable', shown('SUB_IS_VALID', 1_000n, { groupStatus: 'NOTPROCESSABLE' }), true],
  ])('is nothing of what the same read ends as %s', async (_, other, isDone) => {
    const open = paid({ status: 'SUBMITTED', bankStatus: other.status, rank: 6 });
    expect(await countsAfter(open, [shown('RETURNED', 900n), other], isDone)).toBeUndefined();
    expect(await countsAfter(open, [shown('RETURNED', 900n)])).toBe(900n);
  });

  it('is less also of what the same read shows as failed, once it was settled', async () => {
    expect(await countsAfter(paid(), [shown('RETURNED', 900n), shown('FAILED')])).toBe(900n);
  });
});
