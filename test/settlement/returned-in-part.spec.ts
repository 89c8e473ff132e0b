import type { BankPayment } from '../../src/bank/records';
import type { EmployerTransaction } from '../../src/database/database';
import type { PersonalData } from '../../src/database/personal-data';
import type { Instruction } from '../../src/pay-run/instruction.entity';
import type { FollowedPayment } from '../../src/settlement/follow-plan';
import { backInPart, recordBackInPart, withParts } from '../../src/settlement/returned-in-part';
import { followed } from './followed-payment';

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
  const found = await backInPart(tx, personal, new Map([['b', payment]]), new Map([['b', records]]));
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

  it('stands with the least that was ever shown', () => {
    const standing = (returnedMinor: bigint | null, shownMinor: bigint) => {
      const payment = sent({ returnedMinor });
      const shown = { ...record(), amountMinor: shownMinor };
      return withParts([payment], new Map([[1, { payment, shown }]]))[0]!.returnedMinor;
    };
    expect(standing(null, 900n)).toBe(900n);
    expect(standing(900n, 800n)).toBe(800n);
    expect(standing(800n, 900n)).toBe(800n);
  });

  it('is not recorded where less was shown before', async () => {
    const query = jest.fn(() => Promise.resolve([]));
    const shown = { ...record(), amountMinor: 900n };
    const parts = [{ payment: sent({ returnedMinor: 800n }), shown }];
    await recordBackInPart({ query } as unknown as EmployerTransaction, personal, {} as Instruction, parts);
    expect(query).not.toHaveBeenCalled();
  });
});
