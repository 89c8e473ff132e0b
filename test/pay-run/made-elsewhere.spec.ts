import {
  BankError,
  isAccessRefused,
  isHidden,
  ListUnreadable,
  NotAllowed,
  NotFound,
} from '../../src/bank/errors';
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

/**
 * At a bank whose general list shows so much, that grows as it is given more, and then fails with what is left of failures; or
 * is refused so often before.
 */
function searching(shown: BankPayment[], failures: Error[] = [], refusals = { refusedWith: 0, times: 0 }) {
  const listPayments = jest.fn(async function* (_bounds: { from?: string; to?: string }) {
    refusals.times -= 1;
    if (refusals.times >= 0) throw refusal(refusals.refusedWith);
    yield* await Promise.resolve([...shown]);
    const failure = failures.shift();
    if (failure) throw failure;
  });
  const clock = new SetClock(NOW);
  const elsewhere = new MadeElsewhere({ listPayments } as unknown as BankGateway, faultsOf(), clock);
  const search = async (searched: EndedInstruction[], isRecentEnough = false) =>
    (await elsewhere.read({ searched }, isRecentEnough)).moved.map(({ paymentId }) => paymentId);
  const read = (one: EndedInstruction) => elsewhere.read({ searched: [one] }, false);
  return { search, read, clock, listPayments, elsewhere };
}

function refusal(status: number): BankError {
  if (status === 403) return new NotAllowed(status, { raw: '' });
  return [404, 410].includes(status) ? new NotFound(status, { raw: '' }) : new BankError(status, { raw: '' });
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

  it('is seen where the list from a moment on is longer than is read of any, day by day and from the last one on', async () => {
    const { search, listPayments } = searching([]);
    const hour = 3_600_000;
    const shownAt = Date.parse(NOW) + 5 * hour;
    listPayments.mockImplementation(async function* ({ from = '', to }: { from?: string; to?: string }) {
      await Promise.resolve();
      const untilMs = to === undefined ? Infinity : Date.parse(to);
      if (to === undefined && Date.parse(NOW) - Date.parse(from) > 24 * hour)
        throw new ListUnreadable('too-many-pages');
      if (Date.parse(from) <= shownAt && shownAt < untilMs) yield againOf(first);
    });
    expect(await search([first, second])).toEqual(['payment-1']);
    const parts = listPayments.mock.calls
      .slice(1)
      .map(([bounds]: [{ from?: string; to?: string }]) => bounds);
    expect(parts.length).toBeGreaterThan(6);
    parts.slice(1).forEach(({ from }, n) => expect(from).toBe(parts[n]!.to));
    expect(parts.at(-1)!.to).toBeUndefined();
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

  it.each([404, 410, 403, 405, 400, 422])(
    'is seen though the list is refused once, or from a date on (%s)',
    async (refusedWith) => {
      for (const [times, dated] of [
        [1, [true, true]],
        [2, [true, true, false]],
      ] as const) {
        const { search, listPayments } = searching([againOf(first)], [], { refusedWith, times });
        expect(await search([first])).toEqual(['payment-1']);
        expect(listPayments.mock.calls.map(([{ from }]) => from !== undefined)).toEqual(dated);
      }
    },
  );

  it('is searched for anew by each who looks where the list was refused, which says nothing of our access', async () => {
    const shown: BankPayment[] = [];
    const { search, listPayments } = searching(shown, [], { refusedWith: 403, times: 3 });
    const refused = await search([first], true).catch((error: unknown) => error);
    expect([refused, isHidden(refused), isAccessRefused(refused)]).toMatchObject([
      { status: 403 },
      false,
      false,
    ]);
    shown.push(againOf(first));
    expect(await search([first], true)).toEqual(['payment-1']);
    expect(listPayments).toHaveBeenCalledTimes(4);
  });

  it('is believed not to be shown where the list is refused again and again, and looked for anew each time', async () => {
    const { search, read, listPayments } = searching([], [], { refusedWith: 403, times: 16 });
    for (let n = 1; n < 5; n += 1) await expect(read(first)).rejects.toThrow(BankError);
    expect(await read(second)).toEqual({ moved: [], unseen: [] });
    await search([second], true);
    expect(listPayments).toHaveBeenCalledTimes(17);
  });

  it.each([
    ['the account', true, false],
    ['a search', false, true],
  ])(
    'is waited for where the list is not found, and %s has known it to be served',
    async (_who, isServed, wasSearched) => {
      const refusals = { refusedWith: 404, times: 0 };
      const { elsewhere } = searching([], [], refusals);
      if (wasSearched) await elsewhere.read({ searched: [first] }, false);
      refusals.times = 3;
      await expect(elsewhere.read({ searched: [first], isServed }, false)).rejects.toThrow(BankError);
      const never = searching([], [], { refusedWith: 404, times: 3 });
      expect(await never.elsewhere.read({ searched: [first] }, false)).toEqual({ moved: [], unseen: [] });
    },
  );

  it('is searched for from before the oldest of all that is asked about', async () => {
    const { search, listPayments } = searching([]);
    await search([first, second]);
    const [filter] = listPayments.mock.calls[0]!;
    expect(Date.parse(filter.from!)).toBeLessThan(second.createdAt.getTime());
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
