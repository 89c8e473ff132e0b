import {
  BankError,
  BankUnreachable,
  ContractDrift,
  ListUnreadable,
  NotAllowed,
  NotFound,
  RateLimited,
} from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { KnownIds } from '../../src/bank/payment-ids';
import type { BankPayment } from '../../src/bank/records';
import { Clock } from '../../src/config/clock';
import { BankReads } from '../../src/employer/bank-reads';
import type { BankRead, EmployerAccount } from '../../src/employer/employer.entity';
import type { FaultsInARow } from '../../src/employer/faults-in-a-row';
import type { InstructionAtBank, ShownBy } from '../../src/employer/instruction-at-bank';
import { PaymentsAlone } from '../../src/employer/payments-alone';
import { messageIdOf, namesOf } from '../../src/pay-run/message-id';
import { PaymentSource } from '../../src/settlement/payment-source';
import { emptyList } from '../support/empty-list';
import { faultsOf, readsOf } from '../support/reads-of';
import { MovedClock } from '../support/payroll';

const READS: BankRead[] = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'];
const OURS = '018f0000-0000-7000-8000-000000000001';
/** So many are read one by one whatever their size. */
const FEW = 5;

/** A payment of the list that cannot be read, told to whoever reads it. */
type Unreadable = (tell: Parameters<BankGateway['listPayments']>[3]) => void;

/** A read that failed twice in a row. */
function twice(read: string): FaultsInARow {
  const faults = faultsOf();
  for (let n = 0; n < 2; n += 1) faults.add(read);
  return faults;
}

/** @param alone what reads each by itself otherwise than against the bank */
function sourceOf(reads: BankReads, bank: object, alone: Partial<PaymentsAlone> = {}): PaymentSource {
  const gateway = bank as BankGateway;
  const readAlone = Object.assign(new PaymentsAlone(gateway, faultsOf()), alone);
  return new PaymentSource(reads, readAlone, gateway, new Clock());
}

/** Instructions of a size, read all at once from a bank that counts its calls. */
async function readAll(instructions: number, rows: number, reads = READS, unreadable?: Error | Unreadable) {
  const bank = { ownLists: 0, atOnce: 0, mostAtOnce: 0, sweeps: 0 };
  const payment = (n: number) => ({ bankInstructionId: `bank-${n}`, ids: [], status: 'SETTLED' });
  const payments = async (
    _: EmployerAccount,
    { bankInstructionId }: { bankInstructionId: string },
  ): Promise<unknown[]> => {
    bank.ownLists += 1;
    bank.atOnce += 1;
    bank.mostAtOnce = Math.max(bank.mostAtOnce, bank.atOnce);
    await new Promise((resolve) => setTimeout(resolve, 5));
    bank.atOnce -= 1;
    if (bankInstructionId === 'bank-7' && rows === FAILING_ROWS) throw new Error('away');
    return [payment(Number(bankInstructionId.slice(5)))];
  };
  const ownPayments = async (...asked: Parameters<typeof payments>) => {
    const found = await payments(...asked);
    if (rows === GONE_ROWS) throw new NotFound(404, { raw: 'gone' });
    return found;
  };
  const { mayBeReadOtherwise } = BankReads.prototype;
  const own = { payments, ownPayments, mayBeReadOtherwise, faults: faultsOf() };
  const gateway = {
    listPayments: async function* (...[, , , tell]: Parameters<BankGateway['listPayments']>) {
      bank.sweeps += 1;
      if (unreadable instanceof Error) throw unreadable;
      unreadable?.(tell);
      for (let n = 0; n < instructions; n += 1) yield await Promise.resolve(payment(n));
    },
  };
  const source = sourceOf(own as unknown as BankReads, gateway);
  const account = { reads } as EmployerAccount;
  const found = await Promise.allSettled(
    Array.from({ length: instructions }, (_, n) => {
      const at = {
        bankInstructionId: `bank-${n}`,
        createdAt: new Date(),
        bankIds: [],
        isNamedBy: () => false,
      };
      return source.paymentsOf(account, { id: `ours-${n}`, rows, ended: false }, at);
    }),
  );
  const seen = found.map((one) => (one.status === 'fulfilled' ? idsOf(one.value) : 'failed'));
  return { bank, seen };
}

const FAILING_ROWS = 101;
/** Of this size the bank shows none any more, but their payments. */
const GONE_ROWS = 102;
const idsOf = (payments: readonly BankPayment[]) => payments.map((one) => one.bankInstructionId).join();
const each = (count: number) => Array.from({ length: count }, (_, n) => `bank-${n}`);

it('reads many small instructions by one sweep of the general list', async () => {
  const { bank, seen } = await readAll(40, 99);
  expect(bank).toMatchObject({ ownLists: FEW, sweeps: 1 });
  expect(seen).toEqual(each(40));
});

it('reads instructions that fill pages of their own by their own lists, eight at once, and sweeps nothing', async () => {
  const { bank, seen } = await readAll(40, 100);
  expect(bank).toMatchObject({ ownLists: 40, sweeps: 0, mostAtOnce: FEW + 8 });
  expect(seen).toEqual(each(40));
});

it('sweeps for large instructions that the bank shows no more, where each alone would go through the general list', async () => {
  const { bank, seen } = await readAll(40, GONE_ROWS);
  expect(bank).toMatchObject({ ownLists: 40, mostAtOnce: FEW + 8 });
  expect(bank.sweeps).toBeLessThanOrEqual(6);
  expect(seen).toEqual(each(40));
});

it('goes on with the others when the list of one cannot be read', async () => {
  const { seen } = await readAll(40, FAILING_ROWS);
  expect(seen).toEqual(each(40).map((id, n) => (n === 7 ? 'failed' : id)));
});

it.each([new ListUnreadable('repeats'), new ContractDrift(['items.7'])])(
  'reads each by its own list where the general one cannot be read to its end (%s)',
  async (unreadable) => {
    const { bank, seen } = await readAll(40, 99, READS, unreadable);
    expect(bank.ownLists).toBe(40);
    expect(bank.mostAtOnce).toBeLessThanOrEqual(FEW + 8);
    expect(seen).toEqual(each(40));
    expect((await readAll(2, 99, ['PAYMENT_LIST'], unreadable)).seen).toEqual(['failed', 'failed']);
  },
);

it.each([
  [
    'of one of them, for that one',
    { bankInstructionId: 'bank-3' },
    ['bank-0', 'bank-1', 'bank-2', 'failed', 'bank-4'],
  ],
  ['that does not say whose it is, for none', {}, Array<string>(5).fill('failed')],
])('shows in a sweep, where a payment cannot be read %s, what is of the others', async (_, marks, seen) => {
  const unreadable: Unreadable = (tell) => tell?.(marks, new ContractDrift(['instructedAmount']));
  expect((await readAll(5, 1, ['PAYMENT_LIST'], unreadable)).seen).toEqual(seen);
});

it('does not read by own lists where the bank is away', async () => {
  const { bank } = await readAll(40, 99, READS, new BankUnreachable('ECONNREFUSED', false));
  expect(bank.ownLists).toBe(FEW);
});

it('sweeps for large instructions as well where the bank links no list', async () => {
  const { bank, seen } = await readAll(40, 100, ['PAYMENT_LIST']);
  expect(bank).toMatchObject({ ownLists: 0, sweeps: 1 });
  expect(seen).toEqual(each(40));
});

describe('where a sweep does not say of which instruction a payment is', () => {
  /** What is seen of an instruction beside as many others as are swept, and by which read, where its own list answers so. */
  async function lastSeen(own: () => Promise<unknown[]>) {
    const gateway = {
      listPayments: async function* () {
        for (let n = 0; n <= FEW; n += 1) yield await Promise.resolve({ bankPaymentId: `swept-${n}` });
      },
    };
    const ownPayments = async (_: EmployerAccount, { onShown }: InstructionAtBank) => {
      onShown?.('own-list');
      return own();
    };
    const reads = Object.assign(Object.create(BankReads.prototype) as BankReads, {
      payments: own,
      ownPayments,
      faults: twice('payments of lasting'),
    });
    const source = sourceOf(reads, gateway);
    let by: ShownBy | undefined;
    const all = Array.from({ length: FEW + 1 }, (_, n) =>
      source.paymentsOf(
        { reads: READS } as EmployerAccount,
        { id: `ours-${n}`, rows: 1, ended: true },
        {
          bankInstructionId: 'lasting',
          createdAt: new Date(0),
          bankIds: [[`swept-${n}`]],
          isNamedBy: () => false,
          onShown: (way) => (by = way),
        },
      ),
    );
    const last = (await Promise.allSettled(all)).at(-1);
    const seen = last?.status === 'fulfilled' ? last.value.map((one) => one.bankPaymentId) : 'failed';
    return { seen, by };
  }
  const shown = (ids: string[]) => () => Promise.resolve(ids.map((bankPaymentId) => ({ bankPaymentId })));

  it('reads its own list, which shows one too many', async () => {
    expect(await lastSeen(shown(['one', 'more']))).toEqual({ seen: ['one', 'more'], by: 'own-list' });
  });

  it.each([
    ['shows less', shown([])],
    ['is refused', () => Promise.reject(new NotAllowed(403, { raw: 'no' }))],
    ['fails lastingly', () => Promise.reject(new BankError(500, { raw: 'oops' }))],
  ])('keeps to the sweep where its own list %s', async (_, own) => {
    expect(await lastSeen(own)).toEqual({ seen: [`swept-${FEW}`], by: undefined });
  });

  it('fails where the bank is away', async () => {
    const away = () => Promise.reject(new BankUnreachable('ECONNREFUSED', false));
    expect((await lastSeen(away)).seen).toBe('failed');
  });
});

describe('where the general list shows none of an instruction', () => {
  /** What is seen of the last of several, and by which read, where its own list and reads of each alone answer so. */
  async function lastSeen(own: string[], alone: string[], reads = READS) {
    const paid = (ids: string[]) => ids.map((bankPaymentId) => ({ bankPaymentId }) as BankPayment);
    let by: ShownBy | undefined;
    const ownPayments = (_: EmployerAccount, { onShown }: InstructionAtBank) => {
      onShown?.('own-list');
      return Promise.resolve(paid(own));
    };
    const read = ({ onShown }: InstructionAtBank) => {
      onShown?.('itself');
      return Promise.resolve({ found: paid(alone) });
    };
    const payments = () => Promise.resolve(paid(['few']));
    const fake = Object.assign(Object.create(BankReads.prototype) as BankReads, { payments, ownPayments });
    const gateway = { listPayments: emptyList };
    const source = sourceOf(fake, gateway, { read });
    const at = { createdAt: new Date(0), bankIds: [], isNamedBy: () => false };
    const all = Array.from({ length: FEW + 1 }, (_, n) =>
      source.paymentsOf(
        { reads } as EmployerAccount,
        { id: `ours-${n}`, rows: 1, ended: false },
        { ...at, bankInstructionId: `bank-${n}`, onShown: (way) => (by = way) },
      ),
    );
    return { seen: (await Promise.all(all)).at(-1)?.map((one) => one.bankPaymentId), by };
  }

  it('reads its own list, and else each by itself', async () => {
    expect(await lastSeen(['own'], ['alone'])).toEqual({ seen: ['own'], by: 'own-list' });
    expect(await lastSeen([], ['alone'])).toEqual({ seen: ['alone'], by: 'itself' });
    expect(await lastSeen(['own'], ['alone'], ['PAYMENT_LIST'])).toEqual({ seen: ['alone'], by: 'itself' });
  });
});

describe('where the list of an instruction shows none of it', () => {
  /** What is seen of the last of several of a size, and by which read, where the general list and reads of each alone answer so. */
  async function lastSeen(
    count: number,
    rows: number,
    general: string[] | Error,
    alone: string[] | Error,
    how: Partial<InstructionAtBank> = { isOnlyFollowed: true },
    own: () => Promise<BankPayment[]> = () => Promise.resolve([]),
  ) {
    let by: ShownBy | undefined;
    const last = `bank-${count - 1}`;
    const refused = new PaymentsAlone(
      { getPayment: jest.fn().mockRejectedValue(alone) } as unknown as BankGateway,
      faultsOf(),
    );
    const read = jest.fn((...[at, manner]: Parameters<PaymentsAlone['read']>) => {
      if (alone instanceof Error)
        return refused.read(at.bankInstructionId === last ? at : { ...at, bankIds: [] }, manner);
      if (alone.length > 0) at.onShown?.('itself');
      return Promise.resolve({ found: alone.map((bankPaymentId) => ({ bankPaymentId }) as BankPayment) });
    });
    const payments = async (_: EmployerAccount, at: InstructionAtBank) => (await read(at)).found;
    const reads = Object.assign(Object.create(BankReads.prototype) as BankReads, {
      payments,
      ownPayments: own,
      faults: faultsOf(),
    });
    const gateway = {
      listPayments: async function* () {
        if (general instanceof Error) throw general;
        for (const bankPaymentId of general)
          yield await Promise.resolve({ bankPaymentId, bankInstructionId: last });
      },
    };
    const source = sourceOf(reads, gateway, { read });
    const at = { createdAt: new Date(0), bankIds: [], isNamedBy: () => false, ...how };
    const all = Array.from({ length: count }, (_, n) =>
      source.paymentsOf(
        { reads: READS } as EmployerAccount,
        { id: `ours-${n}`, rows, ended: false },
        { ...at, bankInstructionId: `bank-${n}`, onShown: (way) => (by = way) },
      ),
    );
    const seen = (await Promise.all(all)).at(-1)?.map((one) => one.bankPaymentId);
    const ofLast = read.mock.calls.filter(([{ bankInstructionId }]) => bankInstructionId === last);
    const ids = ofLast.at(-1)?.[0].bankIds;
    return { seen, by, ids };
  }

  it.each([
    ['few', 1, 1],
    ['many large ones', FEW + 1, 100],
  ])('reads the general one, of %s, and else each by itself', async (_, count, rows) => {
    expect(await lastSeen(count, rows, ['general'], [])).toMatchObject({ seen: ['general'], by: undefined });
    expect(await lastSeen(count, rows, [], ['alone'])).toMatchObject({ seen: ['alone'], by: 'itself' });
  });

  it.each<[string, () => Promise<BankPayment[]>]>([
    ['is empty', () => Promise.resolve([])],
    ['is no more', () => Promise.reject(new NotFound(404, { raw: 'gone' }))],
    ['cannot be read', () => Promise.reject(new ContractDrift(['items.0.status']))],
  ])('reads each by itself what the general one lacks, of many large ones whose own %s', async (_, own) => {
    const bankIds = [['general'], ['lacking']] as const;
    const how = { isOnlyFollowed: true, bankIds };
    expect(await lastSeen(FEW + 1, 100, ['general'], ['lacking'], how, own)).toEqual({
      seen: ['general', 'lacking'],
      by: 'itself',
      ids: [['lacking']],
    });
  });

  it.each<[string, () => Promise<BankPayment[]>]>([
    ['is empty', () => Promise.resolve([])],
    ['is no more', () => Promise.reject(new NotFound(404, { raw: 'gone' }))],
  ])(
    'keeps what the general one shows where the bank turns away from then on: its own %s',
    async (_, own) => {
      const [failure, onCutShort] = [new RateLimited(1), jest.fn()];
      const bankIds = [['general'], ['lacking']] as const;
      const how = { isOnlyFollowed: true, evenUnlisted: true, bankIds, onCutShort };
      const shown = { seen: ['general'], by: undefined, ids: [['lacking']] };
      expect(await lastSeen(FEW + 1, 100, ['general'], failure, how, own)).toEqual(shown);
      expect(onCutShort.mock.calls).toEqual([[failure]]);
      await expect(lastSeen(FEW + 1, 100, [], failure, how, own)).rejects.toBe(failure);
    },
  );

  it.each([
    new NotAllowed(403, { raw: 'no' }),
    new BankError(500, { raw: 'oops' }),
    new BankUnreachable('total-timeout', true),
  ])(
    'reads each by itself where the general one cannot be read of what is only followed (%s)',
    async (failure) => {
      const many = [FEW + 1, 100] as const;
      expect(await lastSeen(...many, failure, ['alone'])).toMatchObject({ seen: ['alone'], by: 'itself' });
      expect((await lastSeen(...many, failure, [])).seen).toEqual([]);
    },
  );

  it('tells that its own cannot be read where the general one shows none either, and nor does a read of each', async () => {
    const [drift, onUnread] = [new ContractDrift(['items.0.status']), jest.fn()];
    const own = () => Promise.reject(drift);
    const many = [FEW + 1, 100] as const;
    expect((await lastSeen(...many, [], [], { isOnlyFollowed: true, onUnread }, own)).seen).toEqual([]);
    expect(onUnread).toHaveBeenCalledWith(drift);
    // What was given up is not taken for unpaid for that.
    await expect(lastSeen(...many, ['general'], [], { byAnyList: true }, own)).rejects.toBe(drift);
  });

  it('does not take what must not have been paid for unpaid where the general one fails', async () => {
    const failure = new BankError(500, { raw: 'oops' });
    await expect(lastSeen(FEW + 1, 100, failure, [], { byAnyList: true })).rejects.toBe(failure);
  });
});

describe('what a list lacks that shows others of an instruction, and is sought', () => {
  /** What is seen of the last of several of a size, by which read, and the calls of each way, where these show so much. */
  async function lastSeen(
    { count, rows }: { count: number; rows: number },
    { own, general, alone, failure }: { own: string[]; general: string[]; alone: string[]; failure?: Error },
    isSought: InstructionAtBank['isSought'] = () => true,
  ) {
    const last = `bank-${count - 1}`;
    const record = (bankPaymentId?: string) => ({
      bankPaymentId,
      bankInstructionId: last,
      status: 'SETTLED',
    });
    const calls = { own: 0, general: 0, alone: 0 };
    const gateway = {
      listInstructionPayments: async function* (id: string) {
        calls.own += id === last ? 1 : 0;
        const shown = id === last ? own.map(record) : [{ ...record(id), bankInstructionId: id }];
        yield* await Promise.resolve(shown);
      },
      listPayments: async function* ({ from }: { from?: string }) {
        calls.general += 1;
        if (failure && from !== undefined) throw failure;
        yield* await Promise.resolve(general.map(record));
        for (let n = 0; n < count - 1; n += 1)
          yield { ...record(`bank-${n}`), bankInstructionId: `bank-${n}` };
      },
      getPayment: ([id]: KnownIds) => {
        calls.alone += 1;
        return alone.includes(id ?? '') ? Promise.resolve(record(id)) : Promise.reject(gone);
      },
    };
    const source = sourceOf(readsOf(gateway), gateway);
    const shownBy: (ShownBy | undefined)[] = [];
    const all = Array.from({ length: count }, (_, n) => {
      const bankIds: KnownIds[] = n === count - 1 ? [['901'], ['902'], ['903']] : [[`bank-${n}`]];
      return source.paymentsOf(
        { reads: READS } as EmployerAccount,
        { id: `ours-${n}`, rows, ended: false },
        {
          bankInstructionId: `bank-${n}`,
          createdAt: new Date(),
          bankIds,
          evenUnlisted: true,
          isOnlyFollowed: true,
          isNamedBy: () => false,
          isSought,
          ...(n === count - 1 && { onShown: (way) => shownBy.push(way) }),
        },
      );
    });
    const seen = (await Promise.all(all)).at(-1)?.map((one) => one.bankPaymentId);
    return { seen, by: shownBy.at(-1), calls };
  }
  const gone = new NotFound(404, { raw: '' });
  const few = { count: 1, rows: 3 };
  const large = { count: FEW + 1, rows: 100 };
  const small = { count: FEW + 1, rows: 3 };

  it.each([
    ['few', few, 1],
    ['many large ones', large, 1],
  ])('is looked for in the general list and each by itself, of %s', async (_, size, sweeps) => {
    const bank = { own: ['901'], general: ['901', '902'], alone: ['903'] };
    expect(await lastSeen(size, bank)).toEqual({
      seen: ['901', '902', '903'],
      by: 'itself',
      calls: { own: 1, general: sweeps, alone: 1 },
    });
    const all = ['901', '902', '903'];
    expect(await lastSeen(size, { ...bank, general: all })).toMatchObject({ by: undefined });
    const whole = { seen: all, by: 'own-list', calls: { own: 1, general: 0, alone: 0 } };
    expect(await lastSeen(size, { ...bank, own: all })).toEqual(whole);
    const some = await lastSeen(size, bank, (id) => id === '901');
    expect(some).toEqual({ ...whole, seen: ['901'] });
  });

  it('is looked for in its own list and each by itself where the general one is swept', async () => {
    const bank = { own: ['902'], general: ['901'], alone: ['903'] };
    expect(await lastSeen(small, bank)).toEqual({
      seen: ['901', '902', '903'],
      by: 'itself',
      calls: { own: 1, general: 1, alone: 1 },
    });
    const all = ['901', '902', '903'];
    const whole = { seen: all, by: undefined, calls: { own: 0, general: 1, alone: 0 } };
    expect(await lastSeen(small, { ...bank, general: all })).toEqual(whole);
    const some = await lastSeen(small, bank, (id) => id === '901');
    expect(some).toEqual({ ...whole, seen: ['901'] });
  });

  it('is looked for each by itself where the general list shows none, and its own some', async () => {
    expect(await lastSeen(small, { own: ['901'], general: [], alone: ['902', '903'] })).toMatchObject({
      seen: ['901', '902', '903'],
      calls: { own: 1, alone: 2 },
    });
  });

  it('is looked for in all of the general list where that refuses its bound', async () => {
    const bank = { own: ['901'], general: ['902'], alone: ['903'], failure: new BankError(400, { raw: '' }) };
    expect(await lastSeen(small, bank)).toMatchObject({
      seen: ['901', '902', '903'],
      calls: { own: 1, general: 2, alone: 1 },
    });
  });

  it('is looked for once where the general list cannot be read to its end', async () => {
    const bank = { own: ['901'], general: [], alone: [], failure: new ListUnreadable('repeats') };
    expect(await lastSeen(small, bank)).toMatchObject({ seen: ['901'], calls: { own: 1, alone: 2 } });
  });
});

describe('what the general list lacks from a date on, and is sought, where it is the only list', () => {
  /**
   * What is seen by each of two reads of two payments, and how the list was asked for it, where it shows so much.
   * @param failures of the first reads of all of it, and `failure` of each behind what it shows
   */
  async function seenTwice(
    bounded: string[],
    all: string[] | Error,
    {
      how,
      reads = ['PAYMENT_LIST'],
      failures = [],
      failure,
    }: {
      how?: Partial<InstructionAtBank>;
      reads?: BankRead[];
      failures?: Error[];
      failure?: Error;
    } = {},
  ) {
    const asked: string[] = [];
    const gateway = {
      listPayments: async function* ({ from }: { from?: string }) {
        asked.push(from === undefined ? 'all' : 'from');
        const listed = from === undefined ? (failures.shift() ?? all) : bounded;
        if (listed instanceof Error) throw listed;
        for (const bankPaymentId of listed)
          yield await Promise.resolve({ bankPaymentId, bankInstructionId: 'bank' });
        if (failure && from === undefined) throw failure;
      },
      getPayment: ([bankPaymentId]: KnownIds) => {
        if (!reads.includes('PAYMENT')) return Promise.reject(new NotAllowed(403, { raw: 'no' }));
        asked.push('alone');
        return Promise.resolve({ bankPaymentId, bankInstructionId: 'bank' });
      },
    };
    const source = sourceOf(readsOf(gateway), gateway);
    const account = { reads } as EmployerAccount;
    const bankIds: KnownIds[] = [['settled'], ['failed']];
    const at = { bankInstructionId: 'bank', createdAt: new Date(0), bankIds, isNamedBy: () => false };
    const seen: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      const sought = { isOnlyFollowed: true, evenUnlisted: true, isSought: () => true, ...how };
      const found = await source.paymentsOf(
        account,
        { id: 'ours', rows: 2, ended: false },
        { ...at, ...sought },
      );
      seen.push(`${found.map((one) => one.bankPaymentId).join()}: ${asked.splice(0).join()}`);
    }
    return seen;
  }
  const both = ['settled', 'failed'];

  it.each([
    ['shows it', ['settled'], both, ['settled,failed: from,all', 'settled,failed: from,all']],
    ['shows it, and none from a date on', [], both, ['settled,failed: from,all', 'settled,failed: from,all']],
    ['shows it no more', ['settled'], ['settled'], ['settled: from,all', 'settled: from']],
    [
      'cannot be read',
      ['settled'],
      new ListUnreadable('too-many-items'),
      ['settled: from,all', 'settled: from'],
    ],
  ])(
    'is looked for in all of the list, and again only an hour later unless that shows more: it %s',
    async (_, bounded, all, seen) => {
      expect(await seenTwice(bounded, all)).toEqual(seen);
    },
  );

  it.each([
    ['has more pages than are read of any', new ListUnreadable('too-many-pages')],
    ['fails for a moment', new BankUnreachable('total-timeout', true)],
  ])('is seen in all of a list that shows it and then %s', async (_, failure) => {
    const seen = 'settled,failed: from,all';
    expect(await seenTwice(['settled'], both, { failure })).toEqual([seen, seen]);
  });

  it('is looked for in all of the list by the next read where that failed', async () => {
    const failures = [new BankUnreachable('total-timeout', true)];
    expect(await seenTwice(['settled'], both, { failures })).toEqual([
      'settled: from,all',
      'settled,failed: from,all',
    ]);
  });

  it.each([
    ['lacks it', ['settled'], 'settled,failed: from,alone'],
    ['shows none', [], 'settled,failed: from,alone,alone'],
  ])(
    'is asked for by itself where that is allowed, and not looked for in all of a list that %s',
    async (_, bounded, seen) => {
      const reads: BankRead[] = ['PAYMENT_LIST', 'PAYMENT'];
      expect(await seenTwice(bounded, both, { reads })).toEqual([seen, seen]);
    },
  );

  it('is not looked for while the list may lag', async () => {
    expect(await seenTwice(['settled'], both, { how: { isSought: undefined } })).toEqual([
      'settled: from',
      'settled: from',
    ]);
  });
});

describe('where the general list refuses the bound it is asked with', () => {
  const DAYS_KEPT = 7;
  const DAY_MS = 86_400_000;
  const refusal = new BankError(400, { raw: 'fromDate' });

  /** Reads of instructions initiated so many days ago, of which some have ended, while the bank fails as `list` says. */
  async function readAt(
    list: (from: string | undefined) => Error | undefined,
    instructions: { days: number; ended?: boolean }[],
    reads: BankRead[],
  ) {
    const bank = { ownLists: 0, froms: [] as (string | undefined)[] };
    const payment = (n: number) => ({ bankInstructionId: `bank-${n}`, ids: [], status: 'SETTLED' });
    const own = async (_: EmployerAccount, at: { bankInstructionId: string }) => {
      bank.ownLists += 1;
      return Promise.resolve([payment(Number(at.bankInstructionId.slice(5)))]);
    };
    const gateway = {
      listPayments: async function* ({ from }: { from?: string }) {
        bank.froms.push(from);
        const failure = list(from);
        if (failure) throw failure;
        for (let n = 0; n < instructions.length; n += 1) yield await Promise.resolve(payment(n));
      },
    };
    const source = sourceOf({ payments: own, ownPayments: own } as unknown as BankReads, gateway);
    const readOnce = () =>
      Promise.allSettled(
        instructions.map(({ days, ended = false }, n) => {
          const createdAt = new Date(Date.now() - days * DAY_MS);
          const at = { bankInstructionId: `bank-${n}`, createdAt, bankIds: [], isNamedBy: () => false };
          return source.paymentsOf({ reads } as EmployerAccount, { id: `ours-${n}`, rows: 1, ended }, at);
        }),
      );
    const seen = async () =>
      (await readOnce()).map((one) => (one.status === 'fulfilled' ? idsOf(one.value) : 'failed'));
    return { bank, seen };
  }
  const isOld = (from: string | undefined) =>
    from !== undefined && Date.parse(from) < Date.now() - DAYS_KEPT * DAY_MS;
  const open = (count: number) => Array.from({ length: count }, () => ({ days: 1 }));

  it('reads each by its own list', async () => {
    const { bank, seen } = await readAt((from) => (from ? refusal : undefined), open(9), READS);
    expect(await seen()).toEqual(each(9));
    expect(bank.ownLists).toBe(9);
  });

  it('reads all of the list once for all where there are no other lists', async () => {
    const { bank, seen } = await readAt((from) => (from ? refusal : undefined), open(9), ['PAYMENT_LIST']);
    expect(await seen()).toEqual(each(9));
    expect(bank.froms).toEqual([expect.any(String), undefined]);
  });

  it('fails where all of the list is refused too', async () => {
    const { bank, seen } = await readAt(() => refusal, open(2), ['PAYMENT_LIST']);
    expect(await seen()).toEqual(['failed', 'failed']);
    expect(bank.froms).toHaveLength(2);
  });

  it('does not let what ended long ago widen the sweep of what is open', async () => {
    const followed = [...open(2), { days: 31, ended: true }];
    const tooWide = (from: string | undefined) =>
      isOld(from) ? new BankError(504, { raw: 'time-out' }) : undefined;
    const { seen } = await readAt(tooWide, followed, ['PAYMENT_LIST']);
    expect(await seen()).toEqual(['bank-0', 'bank-1', 'failed']);
  });

  it.each([new BankError(504, { raw: 'time-out' }), new BankUnreachable('total-timeout', true)])(
    'reads each by its own list once that has failed more than once (%s)',
    async (failure) => {
      const { bank, seen } = await readAt(() => failure, open(9), READS);
      expect(await seen()).toEqual([...each(FEW), ...Array<string>(9 - FEW).fill('failed')]);
      expect(bank.ownLists).toBe(FEW);
      expect(await seen()).toEqual(each(9));
    },
  );
});

describe('where the general list cannot be read, and no list of an instruction is allowed', () => {
  it.each([
    ['fails for good', new BankError(500, { raw: '' })],
    ['repeats itself', new ListUnreadable('repeats')],
  ])('what is followed is asked for each by itself: it %s', async (_, failure) => {
    const gateway = {
      listPayments: async function* () {
        yield* await Promise.reject<never[]>(failure);
      },
      getPayment: ([id]: KnownIds) =>
        Promise.resolve({ bankPaymentId: id, bankInstructionId: 'one', status: 'SETTLED' }),
    };
    const source = sourceOf(readsOf(gateway), gateway);
    const read = () =>
      source.paymentsOf(
        { reads: ['PAYMENT_LIST', 'PAYMENT'] as BankRead[] } as EmployerAccount,
        { id: 'ours', rows: 2, ended: false },
        {
          bankInstructionId: 'one',
          createdAt: new Date(),
          bankIds: [['901'], ['902']],
          byAnyList: true,
          evenUnlisted: true,
          isOnlyFollowed: true,
          isNamedBy: () => false,
        },
      );
    for (let n = 1; n < 7; n += 1) await read().catch(() => undefined);
    expect((await read()).map(({ bankPaymentId }) => bankPaymentId)).toEqual(['901', '902']);
  });
});

it('sees what was made once more elsewhere where the general list shows it, and cannot be read to its end', async () => {
  const [own, again] = [
    { bankPaymentId: '901', bankInstructionId: 'bank' },
    { bankPaymentId: '990', bankInstructionId: 'other', messageId: messageIdOf(OURS, 1) },
  ];
  const gateway = {
    listInstructionPayments: async function* () {
      yield await Promise.resolve(own);
    },
    listPayments: async function* () {
      yield await Promise.resolve(again);
      throw new ListUnreadable('too-many-pages');
    },
  };
  const source = sourceOf(readsOf(gateway), gateway);
  const at = {
    bankInstructionId: 'bank',
    createdAt: new Date(0),
    bankIds: [['901']] as KnownIds[],
    isNamedBy: namesOf(OURS),
  };
  const account = { reads: ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'] } as EmployerAccount;
  const found = await source.paymentsOf(account, { id: OURS, rows: 1, ended: true }, at);
  expect(found.map(({ bankPaymentId }) => bankPaymentId)).toEqual(['901', '990']);
});

describe('what was made once more elsewhere, and the general list shows beside own lists', () => {
  const account = { reads: ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'] } as EmployerAccount;
  const idOf = (n: number) => `018f0000-0000-7000-8000-00000000000${n}`;

  /** Reads of instructions at a bank whose general list is answered so each time, or else shows one of each made again. */
  function reads(failures: (Error | undefined)[]) {
    const gateway = {
      listInstructionPayments: async function* (bankInstructionId: string) {
        yield await Promise.resolve({ bankPaymentId: `90${bankInstructionId}`, bankInstructionId });
      },
      listPayments: jest.fn(async function* (_: { from?: string }, isWanted: (one: unknown) => boolean) {
        const failure = failures.shift();
        if (failure instanceof BankError) throw failure;
        for (const n of [1, 2, 3, 4, 5, 6, 7]) {
          const again = {
            bankPaymentId: `99${n}`,
            bankInstructionId: 'other',
            messageId: messageIdOf(idOf(n), 1),
          };
          if (isWanted(again)) yield await Promise.resolve(again);
        }
        if (failure) throw failure;
      }),
    };
    const clock = new MovedClock();
    const bank = gateway as unknown as BankGateway;
    const source = new PaymentSource(
      readsOf(gateway, undefined, undefined, clock),
      new PaymentsAlone(bank, faultsOf()),
      bank,
      clock,
    );
    const read = (n: number) => {
      const at = {
        bankInstructionId: String(n),
        createdAt: new Date(0),
        bankIds: [[`90${n}`]] as KnownIds[],
        isNamedBy: namesOf(idOf(n)),
      };
      const found = source.paymentsOf(account, { id: idOf(n), rows: 1, ended: true }, at);
      return found.then((payments) => payments.map(({ bankPaymentId }) => bankPaymentId));
    };
    return { read, clock, listPayments: gateway.listPayments };
  }

  it.each([1, 7])('is seen before that fails for good, where %s are read at once', async (many) => {
    const numbers = Array.from({ length: many }, (_none, n) => n + 1);
    const { read } = reads(Array<Error>(3).fill(new ListUnreadable('too-many-pages')));
    expect(await Promise.all(numbers.map(read))).toEqual(numbers.map((n) => [`90${n}`, `99${n}`]));
  });

  it('is looked for again by the next read where that failed for a moment, and the day after where it did so again', async () => {
    const moment = new BankError(503, { raw: '' });
    const { read, clock, listPayments } = reads([moment, undefined]);
    expect(await read(1)).toEqual(['901']);
    expect(await read(1)).toEqual(['901', '991']);
    expect(await read(1)).toEqual(['901']);
    clock.offsetMs = 86_400_000;
    expect(await read(1)).toEqual(['901', '991']);
    expect(listPayments).toHaveBeenCalledTimes(3);
    const lasting = reads([moment, moment]);
    for (let n = 1; n <= 3; n += 1) expect(await lasting.read(1)).toEqual(['901']);
    expect(lasting.listPayments).toHaveBeenCalledTimes(2);
  });

  it('is looked for in all of the list where that refuses to begin anywhere', async () => {
    const { read, listPayments } = reads([new BankError(400, { raw: '' })]);
    expect(await read(1)).toEqual(['901', '991']);
    expect(listPayments.mock.calls.map(([{ from }]) => from !== undefined)).toEqual([true, false]);
  });
});
