import { BankError, ListUnreadable, NotFound } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import { MadeElsewhere } from '../../src/pay-run/made-elsewhere';
import { messageIdOf } from '../../src/pay-run/message-id';
import type { EndedInstruction } from '../../src/pay-run/replaced.store';
import { SetClock } from '../schedule/schedules';
import { faultsOf } from '../support/reads-of';

const NOW = '2026-11-26T10:00:00Z';
const ended = (n: number, createdAt: string) =>
  ({
    instructionId: `018f0000-0000-7000-8000-00000000000${n}`,
    status: 'CLOSED',
    bankInstructionId: `471${n}`,
    accountId: 'account',
    createdAt: new Date(createdAt),
    payments: [{ paymentId: `payment-${n}`, rowNo: 1, status: 'FAILED', bankIds: [`81${n}`] }],
  }) as unknown as EndedInstruction;
const [first, second] = [ended(1, '2026-11-25T10:00:00Z'), ended(2, '2026-11-20T10:00:00Z')] as const;
const againOf = ({ instructionId }: EndedInstruction, otherwise: Partial<BankPayment> = {}) =>
  ({
    status: 'SETTLED',
    wasSettled: true,
    bankInstructionId: '4799',
    bankPaymentId: '990',
    messageId: messageIdOf(instructionId, 1),
    ...otherwise,
  }) as BankPayment;

/** At a bank whose general list shows so much, that grows as it is given more, and then fails with what is left of failures. */
function searching(shown: BankPayment[], failures: Error[] = []) {
  const listPayments = jest.fn(async function* (_filter: { from: string }) {
    yield* await Promise.resolve([...shown]);
    const failure = failures.shift();
    if (failure) throw failure;
  });
  const clock = new SetClock(NOW);
  const elsewhere = new MadeElsewhere({ listPayments } as unknown as BankGateway, faultsOf(), clock);
  const search = async (searched: EndedInstruction[], isRecentEnough = false) =>
    (await elsewhere.read({ searched }, isRecentEnough)).moved.map(({ paymentId }) => paymentId);
  const read = (one: EndedInstruction) => elsewhere.read({ searched: [one] }, false);
  return { search, read, clock, listPayments };
}

describe('a payment that was made once more elsewhere', () => {
  it.each<[string, Partial<BankPayment>]>([
    ['that names no instruction', { bankInstructionId: undefined }],
    ['whose history alone says that it was settled', { status: 'FAILED' }],
  ])('is seen by a record %s', async (_, otherwise) => {
    expect(await searching([againOf(first, otherwise)]).search([first])).toEqual(['payment-1']);
  });

  it('is unseen where a look before has shown it and none does now, unless people have the word of the bank', async () => {
    const [payment] = first.payments;
    const sighted = { ...first, payments: [{ ...payment!, hasMovedElsewhere: true }] };
    const said = { ...first, payments: [{ ...payment!, hasMovedElsewhere: true, byWord: true }] };
    const { read } = searching([]);
    expect(await read(sighted)).toMatchObject({ moved: [], unseen: [{ paymentId: 'payment-1' }] });
    expect(await read(said)).toEqual({ moved: [], unseen: [] });
    const failed = searching([againOf(first, { status: 'FAILED', wasSettled: false })]);
    expect(await failed.read(sighted)).toEqual({ moved: [], unseen: [] });
  });

  it.each([
    ['is refused', new NotFound(404, { raw: '' })],
    ['is more than is read of any list', new ListUnreadable('too-many-pages')],
    ['fails for a moment', new BankError(500, { raw: '' })],
  ])('is seen by what is shown before a page that %s', async (_, failure) => {
    expect(await searching([againOf(first)], [failure]).search([first, second])).toEqual(['payment-1']);
  });

  it('is searched for anew where the list failed for a moment, whatever it had shown', async () => {
    const shown = [againOf(first)];
    const { search } = searching(shown, [new BankError(500, { raw: '' }), new BankError(500, { raw: '' })]);
    await search([first, second], true);
    shown[0] = againOf(second);
    expect(await search([first, second], true)).toEqual(['payment-2']);
    shown.length = 0;
    expect(await search([first, second], true)).toEqual([]);
  });

  it('is searched for from before the oldest of all that is asked about', async () => {
    const { search, listPayments } = searching([]);
    await search([first, second]);
    const [filter] = listPayments.mock.calls[0]!;
    expect(Date.parse(filter.from)).toBeLessThan(second.createdAt.getTime());
  });

  describe('since the list was read last', () => {
    const shown: BankPayment[] = [];
    let at: ReturnType<typeof searching>;
    beforeEach(async () => {
      shown.length = 0;
      at = searching(shown);
      expect(await at.search([first])).toEqual([]);
      shown.push(againOf(first), againOf(second));
    });

    it('is seen at once by who asks for a search of that moment', async () => {
      expect(await at.search([first], true)).toEqual([]);
      expect(await at.search([first])).toEqual(['payment-1']);
    });

    it('is seen after an hour by who takes an older one', async () => {
      at.clock.set('2026-11-26T11:00:00Z');
      expect(await at.search([first], true)).toEqual([]);
      at.clock.set('2026-11-26T11:00:01Z');
      expect(await at.search([first], true)).toEqual(['payment-1']);
    });

    it('is seen by who asks about more than was searched for then', async () => {
      expect(await at.search([first, second], true)).toEqual(['payment-1', 'payment-2']);
    });
  });
});
