import { BankClient } from '../../src/bank/client';
import {
  BankError,
  BankUnreachable,
  ContractDrift,
  isBankError,
  ListUnreadable,
  NotAllowed,
  NotFound,
  RateLimited,
  TokenUnavailable,
  Unauthorised,
  unless,
} from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import type { KnownIds } from '../../src/bank/payment-ids';
import type { EmployerAccount } from '../../src/employer/employer.entity';
import type { InstructionAtBank } from '../../src/employer/instruction-at-bank';
import { messageIdOf, namesOf } from '../../src/pay-run/message-id';
import { answer, INSTRUCTION_BODY, PAYMENT_BODY, ScriptedBank } from '../bank/scripted-bank';
import { emptyList } from '../support/empty-list';
import { MovedClock } from '../support/payroll';
import { readsOf } from '../support/reads-of';

const OURS = '018f0000-0000-7000-8000-000000000001';
/** How what was submitted is looked for while it is followed. */
const FOLLOWED = { byAnyList: true, evenUnlisted: true, isOnlyFollowed: true };

let bank: ScriptedBank;
let client: BankClient;
beforeEach(async () => {
  bank = await new ScriptedBank().listen();
  client = new BankClient({ baseUrl: bank.url, token: 'token', amountUnit: 'major' });
});
afterEach(async () => {
  client.close();
  await bank.close();
});

/** What is read of our instruction 4711, whose payment is 901, in a list of everybody's payments. */
async function readIn(...items: unknown[]): Promise<string[]> {
  bank.handler = (_request, response) =>
    answer(response, 200, { items, count: items.length, limit: 100, offset: 0 });
  const reads = readsOf(new BankGateway(client));
  const account = { reads: ['PAYMENT_LIST'] } as unknown as EmployerAccount;
  const at = {
    bankInstructionId: '4711',
    createdAt: new Date(),
    bankIds: [['901', '900'] as const],
    isNamedBy: namesOf(OURS),
  };
  return (await reads.payments(account, at)).map(({ bankPaymentId }) => bankPaymentId);
}

interface Told {
  id?: number;
  other?: number;
  instruction?: number;
  messageId?: string;
  amount?: unknown;
  status?: unknown;
  direction?: string;
}
const record = ({
  id,
  other,
  instruction,
  messageId,
  amount,
  status = { value: 'SETTLED' },
  direction,
}: Told) => ({
  customerInstructionId: instruction,
  paymentTransactionInformation: { paymentTransactionIdentification: { id: other, messageId }, direction },
  paymentTransactionInternalInformation: { id, status },
  paymentTransactionAmountInformation: { instructedAmount: amount },
});
const DOLLARS = { value: 1, currency: 'USD' };

describe('a list of everybody’s payments', () => {
  it.each([
    ['in a currency whose decimals nobody here knows', { amount: DOLLARS }],
    ['of half a cent', { amount: { value: '0.005', currency: 'EUR' } }],
    ['without a currency', { amount: { value: 1 } }],
    ['without a status', { status: null }],
    ['without an id', { id: undefined }],
  ])('is read though it holds a payment of somebody else %s', async (_what, odd: Told) => {
    const ofAnother = record({ id: 77, instruction: 9, ...odd });
    const ofNone = record({ id: 79, ...odd });
    expect(await readIn(ofAnother, PAYMENT_BODY, ...('id' in odd ? [] : [ofNone]))).toEqual(['901']);
  });

  it.each([
    ['its instruction', { id: 78, instruction: 4711 }],
    ['its message id', { id: 78, messageId: messageIdOf(OURS, 1) }],
    ['its own id', { id: 901 }],
    ['nothing it says', {}],
  ])('is not, where one is as odd that by %s may be ours', async (_by, marks: Told) => {
    const odd = { ...marks, amount: DOLLARS, ...(marks.id === undefined && { status: null }) };
    await expect(readIn(record(odd))).rejects.toThrow(ContractDrift);
  });

  it('does not take a payment that came in for ours, whatever it repeats of it but its id', async () => {
    const direction = 'INWARD';
    const cameIn = [
      record({ id: 78, instruction: 4711, direction }),
      record({ id: 79, messageId: messageIdOf(OURS, 1), direction }),
      record({ id: 80, instruction: 4711, direction, amount: DOLLARS }),
    ];
    expect(await readIn(...cameIn, record({ id: 901, direction }))).toEqual(['901']);
  });

  it('does not take a payment of somebody else for ours by either of its ids', async () => {
    const foreign = [record({ id: 901, instruction: 9 }), record({ id: 900 }), record({ id: 7, other: 901 })];
    expect(await readIn(...foreign)).toEqual([]);
  });
});

describe('the general list, where it is the only one, and shows nothing from a date on', () => {
  /** What is shown by which reads of the list, time after time, so many milliseconds apart. */
  async function readEvery(
    apartMs: readonly number[],
    {
      fromDate,
      whole,
      known = '901',
      lags = false,
      failing,
      how,
    }: {
      fromDate: readonly unknown[];
      whole: readonly unknown[] | 'too long' | 'shown, then too long';
      known?: string;
      lags?: boolean;
      /** What fails the first time: the read of the whole list, or that which follows it. */
      failing?: 'whole' | 'whether it lagged';
      how?: Partial<InstructionAtBank>;
    },
  ) {
    let isShown = false;
    let isFirst = true;
    bank.handler = ({ url, socket }, response) => {
      const isOfWhole = !url.includes('fromDate=');
      if (isFirst && failing === 'whole' && isOfWhole) return answer(response, 503, {});
      if (isFirst && failing === 'whether it lagged' && isShown && !isOfWhole) return void socket.destroy();
      // The same page of as many as are asked for, whichever is asked for.
      const long = Array.from({ length: 100 }, (_, n) => record({ id: n + 1, instruction: 9 }));
      const isBounded = !isOfWhole && !(lags && isShown);
      isShown ||= isOfWhole;
      const ofWhole =
        typeof whole !== 'string' ? whole : whole === 'too long' ? long : [PAYMENT_BODY, ...long.slice(1)];
      const items = isBounded ? fromDate : ofWhole;
      answer(response, 200, { items, count: items.length, limit: 100, offset: 0 });
    };
    const clock = new MovedClock();
    const gateway = new BankGateway(client);
    const lists = jest.spyOn(gateway, 'listPayments');
    const reads = readsOf(gateway, undefined, undefined, clock);
    const account = { reads: ['PAYMENT_LIST'] } as unknown as EmployerAccount;
    const bankIds = known === '' ? [] : [[known] as const];
    const at = {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds,
      isNamedBy: namesOf(OURS),
      ...how,
    };
    const told: string[] = [];
    for (const ms of apartMs) {
      clock.offsetMs += ms;
      const shown = await unless(isBankError, reads.payments(account, at));
      const asked = lists.mock.calls.map(([filter]) => (filter?.from === undefined ? 'whole' : 'from'));
      const ids = shown?.map(({ bankPaymentId }) => bankPaymentId).join() ?? 'failed';
      told.push(`${ids}: ${asked.join()}`);
      lists.mockClear();
      isFirst = false;
    }
    return told;
  }

  it('is read whole, and so for an hour where that shows what is known to be there', async () => {
    const told = await readEvery([0, 1_000, 3_600_000], { fromDate: [], whole: [PAYMENT_BODY] });
    expect(told).toEqual(['901: from,whole,from', '901: whole', '901: from,whole,from']);
  });

  it('is not read whole for an hour where it shows by then what it lagged with', async () => {
    const told = await readEvery([0, 1_000], { fromDate: [], whole: [PAYMENT_BODY], lags: true });
    expect(told).toEqual(['901: from,whole,from', '901: from']);
  });

  it('is read whole once a minute at most where that shows no more', async () => {
    const told = await readEvery([0, 1_000, 60_000], { fromDate: [], whole: [] });
    expect(told).toEqual([': from,whole', ': from', ': from,whole']);
  });

  it('is read whole again at once where that failed', async () => {
    const lists = { fromDate: [], whole: [PAYMENT_BODY], failing: 'whole' } as const;
    const told = await readEvery([0, 5_000], lists);
    expect(told).toEqual(['failed: from,whole', '901: from,whole,from']);
  });

  it('shows what it shows whole though it does not answer whether it only lagged, which is asked again', async () => {
    const lists = { fromDate: [], whole: [PAYMENT_BODY], failing: 'whether it lagged' } as const;
    const told = await readEvery([0, 5_000], lists);
    expect(told).toEqual(['901: from,whole,from', '901: from,whole,from']);
  });

  it('is read whole each time where a decision rests on it', async () => {
    const told = await readEvery([0, 1_000], { fromDate: [], whole: [], how: { isSought: () => true } });
    expect(told).toEqual([': from,whole', ': from,whole']);
  });

  it('shows what it showed before it could not be read on, and is asked so by the next read', async () => {
    const lists = { fromDate: [], whole: 'shown, then too long' } as const;
    expect(await readEvery([0, 1_000], lists)).toEqual(['901: from,whole', '901: from,whole']);
  });

  it('shows none where it cannot be read whole', async () => {
    expect(await readEvery([0], { fromDate: [], whole: 'too long' })).toEqual([': from,whole']);
  });

  it.each([
    ['it shows what is known from a date on', { fromDate: [PAYMENT_BODY], whole: [] }, '901: from'],
    ['no payment is known', { fromDate: [], whole: [], known: '' }, ': from'],
  ])('is not read whole where %s', async (_, lists, told) => {
    expect(await readEvery([0], lists)).toEqual([told]);
  });
});

describe('the list of an instruction that shows the same 25 payments whatever page is asked for', () => {
  const amount = { value: 1, currency: 'EUR' };
  const items = Array.from({ length: 25 }, (_none, n) => record({ id: 901 + n, instruction: 4711, amount }));
  /** How many are read where the instruction counts as many as that, and so many of it are ours. */
  async function readWhere(counted: number, ours: number): Promise<number> {
    bank.handler = ({ url }, response) => {
      const list = { items, count: items.length, limit: items.length, offset: 0 };
      const instruction = { ...INSTRUCTION_BODY, calculatedNbPaymentTransactions: counted };
      answer(response, 200, url.includes('/payment-transactions') ? list : instruction);
    };
    const account = { reads: ['INSTRUCTION', 'INSTRUCTION_PAYMENTS'] } as unknown as EmployerAccount;
    const bankIds = Array.from({ length: ours }, (_none, n) => [String(901 + n)] as const);
    const at = { bankInstructionId: '4711', createdAt: new Date(), bankIds, isNamedBy: namesOf(OURS) };
    return (await readsOf(new BankGateway(client)).payments(account, at)).length;
  }

  it.each([
    ['as many', 25, 25],
    ['fewer, as without one that failed', 24, 25],
    ['fewer, as without a fee', 24, 24],
  ])('shows all of them where the instruction counts %s', async (_how, counted, ours) => {
    expect(await readWhere(counted, ours)).toBe(25);
  });

  it.each([
    ['counts more', 26, 25],
    ['counts fewer, and more of it are ours', 24, 26],
  ])('cannot be read where the instruction %s', async (_how, counted, ours) => {
    await expect(readWhere(counted, ours)).rejects.toThrow(ListUnreadable);
  });
});

describe('the list of an instruction that no probe found, where the general one shows none', () => {
  const UNSUBMITTED = { evenUnlisted: true };
  it.each([
    ['is read of what may not be submitted', UNSUBMITTED, 200, ['901']],
    ['shows none where it is not there', UNSUBMITTED, 404, []],
    ['shows none where it fails', UNSUBMITTED, 500, []],
    ['is not read of what is only followed', FOLLOWED, 200, []],
    ['is not read of what is asked for by the lists alone', {}, 200, []],
  ])('%s', async (_what, asked, status, shown) => {
    bank.handler = ({ url }, response) => {
      if (/payment-transactions\/\d/.test(url)) return answer(response, 404, {});
      const isOwn = url.includes('/4711/');
      const items = isOwn ? [PAYMENT_BODY] : [];
      return answer(response, isOwn ? status : 200, { items, count: items.length, limit: 100, offset: 0 });
    };
    const account = { reads: ['PAYMENT_LIST'] } as unknown as EmployerAccount;
    const { found } = await readsOf(new BankGateway(client)).read(account, {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds: [['901', '900']],
      isNamedBy: namesOf(OURS),
      ...asked,
    });
    expect(found.map(({ bankPaymentId }) => bankPaymentId)).toEqual(shown);
  });
});

describe('payments that no list shows', () => {
  const shown = (id: string) => ({ bankPaymentId: id, bankInstructionId: '4711', status: 'INITIATED' });
  const readOf = (ids: readonly string[], list: () => AsyncIterable<unknown>, alone: jest.Mock) => {
    const gateway = { listInstructionPayments: list, getPayment: alone } as unknown as BankGateway;
    const account = { reads: ['INSTRUCTION_PAYMENTS'] } as unknown as EmployerAccount;
    return readsOf(gateway).payments(account, {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds: ids.map((id) => [id] as const),
      evenUnlisted: true,
      isNamedBy: namesOf(OURS),
    });
  };
  const gone = new NotFound(404, { raw: '' });
  async function* missing() {
    yield* await Promise.reject<never[]>(gone);
  }

  it.each([
    ['is empty', emptyList],
    ['is not found', missing],
  ])('are read each by itself where their own %s', async (_how, list) => {
    const alone = jest.fn(([id]: [string]) => Promise.resolve(shown(id)));
    const found = await readOf(['901', '902'], list, alone);
    expect(found.map(({ bankPaymentId }) => bankPaymentId)).toEqual(['901', '902']);
  });

  it.each([
    gone,
    new NotAllowed(403, { raw: '' }),
    new BankError(500, { raw: '' }),
    new BankError(501, { raw: '' }),
    new ContractDrift(['id']),
  ])('are not looked for any further once one is not shown either (%s)', async (failure) => {
    const alone = jest.fn(() => Promise.reject(failure));
    expect(await readOf(['901', '902'], emptyList, alone)).toEqual([]);
    await expect(readOf(['901', '902'], missing, alone)).rejects.toBe(gone);
    expect(alone).toHaveBeenCalledTimes(2);
  });

  it('are not read so where they are very many, or a list fails that may show them', async () => {
    const alone = jest.fn(([id]: [string]) => Promise.resolve(shown(id)));
    const many = Array.from({ length: 1_001 }, (_, n) => String(n));
    expect(await readOf(many, emptyList, alone)).toEqual([]);
    const unreadable = new ListUnreadable('repeats');
    async function* repeating() {
      yield* await Promise.reject<never[]>(unreadable);
    }
    await expect(readOf(['901'], repeating, alone)).rejects.toBe(unreadable);
    expect(alone).not.toHaveBeenCalled();
  });

  it('are none of the instruction where the bank says that they are of another', async () => {
    const alone = jest.fn(([id]: [string]) => Promise.resolve({ ...shown(id), bankInstructionId: '9' }));
    expect(await readOf(['901'], emptyList, alone)).toEqual([]);
  });
});

describe('payments that the list of their instruction does not show', () => {
  const gone = new NotFound(404, { raw: '' });
  const shown = ([id]: KnownIds) =>
    Promise.resolve({ bankPaymentId: id, bankInstructionId: '4711', status: 'SETTLED' });
  /** Reads of one process: as `readBy`. */
  function readsBy(
    alone: (ids: KnownIds) => Promise<unknown> = () => Promise.reject(gone),
    allowed = ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST', 'PAYMENT'],
  ) {
    const gateway = { listInstructionPayments: emptyList, listPayments: emptyList, getPayment: alone };
    const reads = readsOf(gateway);
    const at = { bankInstructionId: '4711', createdAt: new Date(), isNamedBy: namesOf(OURS), ...FOLLOWED };
    return async (more: Pick<InstructionAtBank, 'bankIds'> & Partial<InstructionAtBank>) => {
      const account = { reads: allowed } as unknown as EmployerAccount;
      const found = await reads.payments(account, { ...at, ...more });
      return found.map(({ bankPaymentId }) => bankPaymentId);
    };
  }
  /** What is read, by which way, how often the general list and each by itself were asked, as `at` says and the bank answers. */
  async function readBy(
    at: Partial<InstructionAtBank>,
    general: AsyncIterable<unknown>,
    alone: (ids: KnownIds) => Promise<unknown> = () => Promise.reject(gone),
    own: () => AsyncIterable<unknown> = emptyList,
  ) {
    const listPayments = jest.fn(() => general);
    const getPayment = jest.fn(alone);
    const gateway = { listInstructionPayments: own, listPayments, getPayment };
    const account = {
      reads: ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST', 'PAYMENT'],
    } as unknown as EmployerAccount;
    const onShown = jest.fn();
    const found = await readsOf(gateway).payments(account, {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds: [['901'], ['902']],
      isNamedBy: namesOf(OURS),
      onShown,
      ...at,
    });
    const asked = [listPayments, getPayment].map(({ mock }) => mock.calls.length);
    return { found: found.map(({ bankPaymentId }) => bankPaymentId), asked, by: onShown.mock.calls.flat() };
  }
  async function* missing() {
    yield* await Promise.reject<never[]>(gone);
  }
  async function* general() {
    yield* await Promise.resolve([{ bankPaymentId: '901', bankInstructionId: '4711', status: 'SETTLED' }]);
  }

  it('are read from the general one where they are looked for by any list, and from no other where they are not', async () => {
    expect(await readBy({ byAnyList: true }, general())).toEqual({ found: ['901'], asked: [1, 0], by: [] });
    expect(await readBy({}, general())).toEqual({ found: [], asked: [0, 0], by: [] });
  });

  it('are told to be shown by their own list also where that fails behind them', async () => {
    const onShown = jest.fn();
    async function* own() {
      yield* await Promise.resolve([{ bankPaymentId: '901', status: 'SETTLED' }]);
      throw new BankError(500, { raw: '' });
    }
    await expect(readBy({ onShown }, emptyList(), undefined, own)).rejects.toThrow(BankError);
    expect(onShown.mock.calls).toEqual([['own-list']]);
  });

  it.each([{ byAnyList: true }, FOLLOWED])(
    'are read each by itself where no list shows one, up to the first that is not shown unless they are only followed (%p)',
    async (at) => {
      const tried = at === FOLLOWED ? 2 : 1;
      expect(await readBy(at, emptyList())).toEqual({ found: [], asked: [1, tried], by: [] });
      const all = { found: ['901', '902'], asked: [1, 2], by: ['itself'] };
      expect(await readBy(at, emptyList(), shown)).toEqual(all);
      const broken = new BankError(500, { raw: '' });
      const first = (ids: KnownIds) => (ids[0] === '901' ? shown(ids) : Promise.reject(broken));
      expect(await readBy(at, emptyList(), first)).toMatchObject({ found: ['901'] });
    },
  );

  it('are read so a thousand at most', async () => {
    const bankIds = Array.from({ length: 1_001 }, (_, n) => [String(n)] as const);
    const { asked } = await readBy({ byAnyList: true, bankIds }, emptyList(), shown);
    expect(asked).toEqual([1, 1_000]);
    expect(await readBy({ ...FOLLOWED, bankIds }, emptyList(), shown)).toMatchObject({ asked: [1, 1_000] });
  });

  it('are read each by itself where the general one lacks it, of what is asked for so', async () => {
    const even = { byAnyList: true, evenUnlisted: true };
    const both = { found: ['901', '902'], asked: [1, 1], by: ['itself'] };
    expect(await readBy(even, general(), shown)).toEqual(both);
    expect(await readBy(even, general())).toEqual({ found: ['901'], asked: [1, 1], by: [] });
    expect(await readBy({ byAnyList: true }, general(), shown)).toMatchObject({ asked: [1, 0] });
  });

  it('are read so also where there is no such list, of what is only followed', async () => {
    const both = { found: ['901', '902'], asked: [1, 1], by: ['itself'] };
    expect(await readBy(FOLLOWED, general(), shown, missing)).toEqual(both);
    const even = { byAnyList: true, evenUnlisted: true };
    expect(await readBy(even, general(), shown, missing)).toMatchObject({ asked: [1, 0] });
  });

  it('are read past one that is not shown, where they are only followed', async () => {
    const bankIds = [['901'], ['902'], ['903']] as const;
    const two = (ids: KnownIds) => (ids[0] === '902' ? Promise.reject(gone) : shown(ids));
    const both = { found: ['901', '903'], asked: [1, 3], by: ['itself'] };
    expect(await readBy({ ...FOLLOWED, bankIds }, emptyList(), two)).toEqual(both);
    const first = { found: ['901'], asked: [1, 2] };
    expect(await readBy({ byAnyList: true, bankIds }, emptyList(), two)).toMatchObject(first);
    const all = { found: ['901', '903'], asked: [1, 2], by: ['itself'] };
    expect(await readBy({ ...FOLLOWED, bankIds }, general(), two)).toEqual(all);
    const later = (ids: KnownIds) => (ids[0] === '903' ? shown(ids) : Promise.reject(gone));
    expect(await readBy({ ...FOLLOWED, bankIds }, emptyList(), later)).toMatchObject({ found: ['903'] });
  });

  it('are given up after a few where the bank shows none so, or does not answer', async () => {
    const bankIds = Array.from({ length: 1_000 }, (_, n) => [String(901 + n)] as const);
    const many = { ...FOLLOWED, bankIds };
    const hangs = new BankUnreachable('total-timeout', true);
    const every = (other: number) => (ids: KnownIds) =>
      Number(ids[0]) % other === 901 % other ? shown(ids) : Promise.reject(hangs);
    expect(await readBy(many, emptyList(), every(1_000))).toMatchObject({ found: ['901'], asked: [1, 6] });
    expect(await readBy(many, emptyList(), every(2))).toMatchObject({ asked: [1, 10] });
    expect(await readBy(many, general())).toMatchObject({ found: ['901'], asked: [1, 5] });
  });

  const idsOf = (count: number) => Array.from({ length: count }, (_, n) => [String(901 + n)] as const);
  const numbers = (ids: readonly KnownIds[]) => ids.map(([id]) => id);

  it.each([
    ['one here and there', (n: number) => n % 4 === 1, 1, 0],
    ['one after the other', (n: number) => n >= 3 && n < 8, 2, 1],
    ['the first ones', (n: number) => n < 5, 2, 0],
    ['the last ones', (n: number) => n >= 15, 1, 0],
  ])(
    'are all found at the latest by the next read where a few fail lastingly: %s',
    async (_, isBad, times, cuts) => {
      const [bankIds, broken, onCutShort] = [idsOf(20), new BankError(500, { raw: '' }), jest.fn()];
      const isBadId = ([id]: KnownIds) => isBad(Number(id) - 901);
      const read = readsBy((ids) => (isBadId(ids) ? Promise.reject(broken) : shown(ids)));
      const found = new Set<string>();
      for (let n = 0; n < times; n += 1) for (const id of await read({ bankIds, onCutShort })) found.add(id);
      expect([...found].sort()).toEqual(numbers(bankIds.filter((ids) => !isBadId(ids))));
      expect(onCutShort.mock.calls).toEqual(Array.from({ length: cuts }, () => [broken]));
      // From then on each read tries all of them.
      for (let n = 0; n < 3; n += 1)
        expect((await read({ bankIds, onCutShort })).sort()).toEqual([...found].sort());
      expect(onCutShort).toHaveBeenCalledTimes(cuts);
    },
  );

  it('are all found by each read, once one of them was, where those before them are shown no more', async () => {
    const bankIds = idsOf(100);
    const read = readsBy((ids) => (Number(ids[0]) < 981 ? Promise.reject(gone) : shown(ids)));
    const counts: number[] = [];
    for (let n = 0; n < 40; n += 1) counts.push((await read({ bankIds })).length);
    expect(counts).toEqual([...Array<number>(16).fill(0), ...Array<number>(24).fill(20)]);
  });

  it('are read on from where the bank turned away', async () => {
    const bankIds = idsOf(7);
    let left = 0;
    const read = readsBy((ids) => ((left -= 1) < 0 ? Promise.reject(new RateLimited(1)) : shown(ids)));
    const found: string[][] = [];
    for (let n = 0; n < 3; n += 1) {
      left = 3;
      found.push(await read({ bankIds }));
    }
    const [a, b, c, d, e, f, g] = numbers(bankIds);
    expect(found).toEqual([
      [a, b, c],
      [d, e, f],
      [g, a, b],
    ]);
  });

  it.each([
    [new BankError(500, { raw: '' }), 4],
    [new NotAllowed(403, { raw: '' }), 4],
    [new ContractDrift(['id']), 4],
    [new BankUnreachable('total-timeout', true), 4],
    [new RateLimited(1), 2],
    [new Unauthorised(401, { raw: '' }), 2],
  ])('are kept where they are shown only so, and one is not (%s)', async (failure, count) => {
    const [bankIds, onCutShort] = [idsOf(5), jest.fn()];
    const alone = (ids: KnownIds) => (ids[0] === '903' ? Promise.reject(failure) : shown(ids));
    const read = readsBy(alone, ['PAYMENT']);
    expect(await read({ bankIds, onCutShort })).toHaveLength(count);
    expect(onCutShort.mock.calls).toEqual(count === 2 ? [[failure]] : []);
    await expect(read({ bankIds, isOnlyFollowed: false })).rejects.toBe(failure);
    const none = jest.fn(() => Promise.reject(failure));
    await expect(readsBy(none, ['PAYMENT'])({ bankIds: idsOf(1_000) })).rejects.toBe(failure);
    expect(none.mock.calls.length).toBeLessThanOrEqual(5);
  });

  it('that are not found hide no others where they are shown only so', async () => {
    const [bankIds, onCutShort] = [idsOf(20), jest.fn()];
    const alone = (ids: KnownIds) => (Number(ids[0]) < 911 ? Promise.reject(gone) : shown(ids));
    expect(await readsBy(alone, ['PAYMENT'])({ bankIds, onCutShort })).toHaveLength(10);
    expect(onCutShort).not.toHaveBeenCalled();
  });

  it('that are answered so that it cannot be used are told, of what is only followed', async () => {
    const [onUnread, drift] = [jest.fn(), new ContractDrift(['status'])];
    const read = readsBy((ids) => (ids[0] === '902' ? Promise.reject(drift) : shown(ids)));
    expect(await read({ bankIds: idsOf(3), onUnread })).toEqual(['901', '903']);
    expect(onUnread.mock.calls).toEqual([[drift, 'one']]);
    await read({ bankIds: idsOf(3), onUnread, isOnlyFollowed: false });
    expect(onUnread).toHaveBeenCalledTimes(1);
  });

  it('is told by each read of one that is answered so, until that one is answered otherwise', async () => {
    const drift = new ContractDrift(['status']);
    let odd = '902';
    const read = readsBy((ids) => Promise.reject(ids[0] === odd ? drift : gone));
    const told: number[] = [];
    for (let n = 0; n < 8; n += 1) {
      if (n === 4) odd = 'none';
      const onUnread = jest.fn();
      await read({ bankIds: idsOf(20), onUnread });
      told.push(onUnread.mock.calls.length);
    }
    expect(told).toEqual([1, 1, 1, 1, 0, 0, 0, 0]);
  });

  it.each([
    new RateLimited(1),
    new BankUnreachable('ECONNREFUSED', false),
    new TokenUnavailable('ECONNREFUSED', false),
    new Unauthorised(401, { raw: '' }),
  ])('do not take back those that are shown where the bank turns away from then on (%s)', async (failure) => {
    const bankIds = [['901'], ['902'], ['903']] as const;
    const onCutShort = jest.fn();
    const at = { ...FOLLOWED, bankIds, onCutShort };
    const away = () => Promise.reject(failure);
    expect(await readBy(at, general(), away)).toEqual({ found: ['901'], asked: [1, 1], by: [] });
    const two = (ids: KnownIds) => (ids[0] === '903' ? away() : shown(ids));
    const both = { found: ['901', '902'], by: ['itself'] };
    expect(await readBy(at, general(), two)).toMatchObject(both);
    expect(await readBy(at, emptyList(), two)).toMatchObject(both);
    expect(onCutShort.mock.calls).toEqual([[failure], [failure], [failure]]);
    await expect(readBy(at, emptyList(), away)).rejects.toBe(failure);
    await expect(readBy({ ...at, isOnlyFollowed: false }, general(), two)).rejects.toBe(failure);
    expect(onCutShort).toHaveBeenCalledTimes(3);
  });

  describe.each([
    new BankError(500, { raw: '' }),
    new BankError(504, { raw: '' }),
    new BankUnreachable('total-timeout', true),
  ])('and the general one cannot be read (%s)', (failure) => {
    async function* failing() {
      yield* await Promise.reject<never[]>(failure);
    }

    it('are not said to be none', async () => {
      await expect(readBy({ byAnyList: true }, failing())).rejects.toBe(failure);
    });

    it('are read each by itself where they are only followed, and else left to the next read', async () => {
      const all = { found: ['901', '902'], asked: [1, 2], by: ['itself'] };
      expect(await readBy(FOLLOWED, failing(), shown)).toEqual(all);
      const alone = () => Promise.reject(failure);
      expect(await readBy(FOLLOWED, failing(), alone)).toEqual({ found: [], asked: [1, 2], by: [] });
    });
  });
});

describe('what came in and names an instruction', () => {
  const parties = {
    creditor: { accountId: { type: 'IBAN', value: 'DE70999900000000001001' } },
    debtor: { accountId: { type: 'IBAN', value: 'DE43999900000000001002' } },
  };
  const byOtherType = {
    creditor: { accountId: { type: 'accountId', value: '1001' } },
    debtor: { name: 'Employee' },
  };
  const BOTH = ['77', 'DE70999900000000001001', 'DE43999900000000001002'];
  const incoming = [
    { ...record({ id: 77, instruction: 4711, direction: 'INWARD' }), paymentTransactionParties: parties },
    {
      ...record({ id: 78, messageId: messageIdOf(OURS, 3), direction: 'INWARD', amount: DOLLARS }),
      paymentTransactionParties: byOtherType,
    },
    {
      ...record({ id: 79, messageId: 'of somebody else', direction: 'INWARD' }),
      paymentTransactionParties: byOtherType,
    },
    record({ id: 901, instruction: 4711, direction: 'INWARD' }),
    {
      ...record({ id: 80, messageId: 'r-80', direction: 'INWARD' }),
      paymentTransactionDedicatedInformations: {
        remittanceInformation: {
          type: 'UNSTRUCTURED',
          value: `RETURN ${messageIdOf(OURS, 4).toUpperCase()}`,
        },
      },
    },
    {
      paymentTransactionInformation: {
        paymentTransactionIdentification: {
          messageId: 'NOTPROVIDED',
          endToEndId: messageIdOf(OURS, 5).toUpperCase(),
        },
        direction: 'INWARD',
      },
      paymentTransactionInternalInformation: { id: 81, status: { value: 'SETTLED' } },
    },
  ];

  it.each([
    ['PAYMENT_LIST', [[...BOTH], ['78'], ['80'], ['81']]],
    ['INSTRUCTION_PAYMENTS', [[...BOTH], ['79'], ['80'], ['81']]],
  ])('is told with the IBANs it went to and came from, and is no payment of it (%s)', async (read, told) => {
    const items = read === 'PAYMENT_LIST' ? incoming : [incoming[0], incoming[2], ...incoming.slice(3)];
    bank.handler = (_request, response) =>
      answer(response, 200, { items, count: items.length, limit: 100, offset: 0 });
    const seen = new Map<string, (string | undefined)[]>();
    const reads = readsOf(new BankGateway(client));
    const payments = await reads.payments({ reads: [read] } as unknown as EmployerAccount, {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds: [['901', '900'] as const],
      isNamedBy: namesOf(OURS),
      onIncoming: ({ bankPaymentId = '', bankInstructionId, creditorIban, debtorIban, remittanceWords }) => {
        const shown = [bankPaymentId, creditorIban, debtorIban].filter((one) => one !== undefined);
        seen.set(bankPaymentId, shown);
        if (read === 'INSTRUCTION_PAYMENTS') expect(bankInstructionId).toBe('4711');
        if (bankPaymentId === '80') expect(remittanceWords).toContain(messageIdOf(OURS, 4));
      },
    });
    expect([...seen.values()]).toEqual(told);
    expect(payments.map(({ bankPaymentId }) => bankPaymentId)).toEqual(['901']);
  });
});

describe('a payment with another id that no path can hold', () => {
  const long = 'x'.repeat(129);

  it('is not asked for by it, whether it was stored or is read', async () => {
    bank.handler = (_request, response) => answer(response, 404, {});
    await expect(new BankGateway(client).getPayment(['901', long])).rejects.toThrow(NotFound);
    bank.handler = (_request, response) => answer(response, 200, record({ id: 901, other: long as never }));
    expect(await new BankGateway(client).getPayment(['901'])).toMatchObject({ ids: ['901'] });
  });
});

describe('whether an instruction was submitted', () => {
  const raw = { raw: '' };
  const at = { bankInstructionId: '4711', createdAt: new Date(), bankIds: [], isNamedBy: namesOf(OURS) };
  const gone = new NotFound(404, raw);
  const refused = new NotAllowed(403, raw);
  const odd = new BankError(409, raw);
  const broken = new BankError(500, raw);
  const slow = new BankUnreachable('total-timeout', true);
  const shownAs = (what: string | Error) =>
    what instanceof Error ? Promise.reject(what) : Promise.resolve({ status: what });
  async function* listed(what: string | Error) {
    if (what instanceof Error) throw what;
    const [status = '', transactionType] = what.split(' of a ');
    yield* await Promise.resolve([{ status, transactionType, bankInstructionId: '4711' }]);
  }
  /** What is concluded of an instruction, its own list and the list of everybody, each a status or a failure. */
  const standing = async (
    instruction: string | Error,
    own: string | Error,
    general: string | Error,
    times = 1,
  ): Promise<string[] | Error> => {
    const gateway = {
      getInstruction: () => shownAs(instruction),
      listInstructionPayments: () => listed(own),
      listPayments: () => listed(general),
    };
    const reads = readsOf(gateway);
    const account = { reads: ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'] };
    const read = () =>
      reads.standing(account as unknown as EmployerAccount, at).then(
        ({ statuses }) => statuses,
        (error: Error) => error,
      );
    for (let before = 1; before < times; before += 1) await read();
    return read();
  };

  it.each([
    broken,
    odd,
    slow,
    refused,
    new RateLimited(1),
    new Unauthorised(401, raw),
    new ContractDrift(['x']),
  ])('is not known by its 404 where its payments cannot be read (%s)', async (failure) => {
    expect(await standing(gone, gone, failure)).toBe(failure);
  });

  it.each([broken, slow])('is not known by its 404 where its own list says nothing (%s)', async (failure) => {
    expect(await standing(gone, failure, 'SETTLED')).toBe(failure);
  });

  it.each([
    [gone, gone, gone, []],
    [gone, gone, 'SETTLED', ['SETTLED']],
    [gone, refused, 'SETTLED', ['SETTLED']],
    [gone, odd, 'SETTLED', ['SETTLED']],
    [refused, 'SETTLED', gone, ['SETTLED']],
    ['CANCELLED', odd, gone, ['CANCELLED']],
    ['CANCELLED', refused, refused, ['CANCELLED']],
    ['CANCELLED', new ContractDrift(['x']), gone, ['CANCELLED']],
    ['CANCELLED', 'SETTLED', gone, ['CANCELLED', 'SETTLED']],
    ['INITIATED', broken, broken, ['INITIATED']],
    ['CANCELLED', 'SETTLED of a FEE', gone, ['CANCELLED']],
    ['CANCELLED', 'SETTLED of a REFUND', gone, ['CANCELLED', 'SETTLED']],
  ])('is what is shown (%s, %s, %s)', async (instruction, own, general, expected) => {
    expect(await standing(instruction, own, general)).toEqual(expected);
  });

  it.each([
    ['CANCELLED', broken, gone, broken],
    [refused, refused, slow, slow],
    [refused, refused, refused, refused],
    [refused, odd, gone, refused],
    [broken, 'INITIATED', gone, broken],
    [slow, 'SETTLED', gone, slow],
  ])('is not known (%s, %s, %s)', async (instruction, own, general, expected) => {
    expect(await standing(instruction, own, general)).toBe(expected);
  });

  it.each([
    [broken, 'INITIATED', ['INITIATED']],
    [slow, 'INITIATED', ['INITIATED']],
    [new BankError(302, raw), 'INITIATED', ['INITIATED']],
    [new BankError(408, raw), 'INITIATED', ['INITIATED']],
    [broken, broken, broken],
    [refused, 'INITIATED', refused],
  ])(
    'is known by its payments where it fails to be shown five times (%s, %s)',
    async (own, paid, expected) => {
      expect(await standing(own, paid, paid, 4)).toBe(own);
      expect(await standing(own, paid, paid, 5)).toEqual(expected);
    },
  );
});

describe('whether an instruction of many payments was submitted, that is not found', () => {
  it('is told by a few of them as by all, also where each is sought', async () => {
    const getPayment = jest.fn(() => Promise.reject(new NotFound(404, { raw: '' })));
    const reads = readsOf({
      getInstruction: () => Promise.reject(new NotFound(404, { raw: '' })),
      listInstructionPayments: emptyList,
      getPayment,
    });
    const account = { reads: ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT'] };
    const standing = await reads.standing(account as unknown as EmployerAccount, {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds: Array.from({ length: 100 }, (_, n) => [String(n)] as const),
      evenUnlisted: true,
      isSought: () => true,
      isNamedBy: namesOf(OURS),
    });
    expect(standing).toMatchObject({ isGone: true, statuses: [], isUnclear: false });
    expect(getPayment).toHaveBeenCalledTimes(5);
  });
});

describe('an instruction that the bank fails to show for good', () => {
  const broken = new BankError(500, { raw: '' });
  /** What is concluded the fifth time of one with two payments, of which the bank shows these. */
  async function standing(shown: readonly string[], reads = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS']) {
    async function* listed() {
      yield* await Promise.resolve(
        shown.map((status, n) => ({ bankPaymentId: `90${n + 1}`, bankInstructionId: '4711', status })),
      );
    }
    const of = readsOf({
      getInstruction: () => Promise.reject(broken),
      listInstructionPayments: listed,
      getPayment: () => Promise.reject(new NotFound(404, { raw: '' })),
    });
    const at = {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds: [['901'], ['902']] as const,
      isNamedBy: namesOf(OURS),
    };
    const read = () => of.standing({ reads } as unknown as EmployerAccount, at);
    for (let n = 1; n < 5; n += 1) await read().catch(() => undefined);
    return read();
  }

  it.each([[[]], [['INITIATED', 'INITIATED']], [['CANCELLED']], [['CANCELLED', 'INITIATED']]])(
    'is unclear where its payments leave open whether it was submitted (%j)',
    async (statuses) => {
      expect(await standing(statuses)).toMatchObject({ statuses, failing: 'instruction', isUnclear: true });
      expect(await standing(statuses, ['INSTRUCTION_PAYMENTS'])).toMatchObject({ isUnclear: false });
    },
  );

  it.each([[['INITIATED', 'SETTLED']], [['CANCELLED', 'CANCELLED']]])(
    'is not where one of them is past it, or each ended unpaid (%j)',
    async (statuses) => {
      expect(await standing(statuses)).toMatchObject({ statuses, isUnclear: false });
    },
  );
});

describe('an instruction whose payments the bank fails to show for good', () => {
  const broken = new BankError(500, { raw: '' });
  const gone = new NotFound(404, { raw: '' });
  /** What is concluded once each read has failed for good, one after the other, where the lists show these of two payments, and none is shown by itself. */
  async function standing(
    instruction: string | Error,
    listed: readonly string[] | Error,
    bankIds = ['901', '902'],
  ) {
    async function* list() {
      if (listed instanceof Error) throw listed;
      yield* await Promise.resolve(
        listed.map((status, n) => ({ bankPaymentId: bankIds[n], bankInstructionId: '4711', status })),
      );
    }
    const of = readsOf({
      getInstruction: () =>
        instruction instanceof Error ? Promise.reject(instruction) : Promise.resolve({ status: instruction }),
      listInstructionPayments: list,
      listPayments: list,
      getPayment: () => Promise.reject(broken),
    });
    const at = {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds: bankIds.map((id) => [id] as const),
      isNamedBy: namesOf(OURS),
      evenUnlisted: true,
      isSought: () => true,
    };
    const reads = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'];
    const read = () => of.standing({ reads } as unknown as EmployerAccount, at);
    for (let n = 1; n < 10; n += 1) await read().catch(() => undefined);
    return read();
  }

  it.each(['CANCELLED', 'FAILED', gone])(
    'is unclear where none of them is shown, whatever is shown of itself (%s)',
    async (instruction) => {
      const unclear = { isGone: false, failing: 'payments', isUnclear: true };
      expect(await standing(instruction, broken)).toMatchObject(unclear);
      expect(await standing(instruction, broken, [])).toMatchObject(unclear);
      expect(await standing(instruction, [])).toMatchObject(unclear);
    },
  );

  it.each(['CANCELLED', gone])(
    'is unclear where others ended before the submit, and not where one moved (%s)',
    async (instruction) => {
      const ended = await standing(instruction, ['INI_INT_CTRL_FAILED']);
      expect(ended).toMatchObject({ failing: 'payments', isUnclear: true });
      expect(await standing(instruction, ['SETTLED'])).toMatchObject({ isUnclear: false });
    },
  );

  it('is clear where the lists show each of them', async () => {
    const ended = ['CANCELLED', 'CANCELLED'];
    expect(await standing('CANCELLED', ended)).toMatchObject({ isWhole: true, isUnclear: false });
  });
});

it('an instruction that is found to be none in between does not fail for good', async () => {
  const broken = new BankError(500, { raw: '' });
  const answers = [broken, broken, broken, broken, new NotFound(404, { raw: '' }), broken];
  const reads = readsOf({ getInstruction: () => Promise.reject(answers.shift()!) });
  const account = { reads: ['INSTRUCTION'] } as unknown as EmployerAccount;
  for (const answer of [...answers]) await expect(reads.instruction(account, '4711')).rejects.toBe(answer);
});

describe('the payments of an instruction whose own list fails', () => {
  const raw = { raw: '' };
  const broken = new BankError(500, raw);
  const at = { bankInstructionId: '4711', createdAt: new Date(), bankIds: [], isNamedBy: namesOf(OURS) };
  /** What is read, one time after the other, of what each list shows. */
  const readTimes = async (times: number, own: () => Error | undefined, general: Error | undefined) => {
    async function* listed(failure: Error | undefined, bankPaymentId: string) {
      if (failure) throw failure;
      yield await Promise.resolve({ bankPaymentId, bankInstructionId: '4711', status: 'SETTLED' });
    }
    const gateway = {
      listInstructionPayments: () => listed(own(), 'by its own'),
      listPayments: () => listed(general, 'by the general'),
    };
    const reads = readsOf(gateway);
    const account = { reads: ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'] } as unknown as EmployerAccount;
    const found: unknown[] = [];
    for (let n = 0; n < times; n += 1)
      found.push(
        await reads.payments(account, at).then(
          ([one]) => one?.bankPaymentId,
          (error: unknown) => error,
        ),
      );
    return found;
  };

  it('are read from the general list once the fault lasts, and from its own again when that is over', async () => {
    let times = 0;
    const own = () => (++times < 4 ? broken : undefined);
    expect(await readTimes(4, own, undefined)).toEqual([
      broken,
      'by the general',
      'by the general',
      'by its own',
    ]);
  });

  it.each([
    ['the general one fails too', new BankError(503, raw), broken],
    ['the general one shows none', new NotFound(404, raw), broken],
  ])('are not known where %s', async (_what, general, expected) => {
    expect((await readTimes(2, () => broken, general))[1]).toBe(expected);
  });

  it('are read from the general list at once where its own is too large', async () => {
    expect(await readTimes(1, () => new ListUnreadable('page-too-large'), undefined)).toEqual([
      'by the general',
    ]);
  });
});
