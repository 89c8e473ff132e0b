import {
  BankError,
  BankUnreachable,
  ContractDrift,
  NotAllowed,
  NotFound,
  RateLimited,
  ReadFails,
} from '../../src/bank/errors';
import type { KnownIds } from '../../src/bank/payment-ids';
import type { BankRead, EmployerAccount } from '../../src/employer/employer.entity';
import type { InstructionAtBank } from '../../src/employer/instruction-at-bank';
import { namesOf } from '../../src/pay-run/message-id';
import { emptyList } from '../support/empty-list';
import { MovedClock } from '../support/payroll';
import { faultsOf, readsOf } from '../support/reads-of';

const raw = { raw: '' };
const gone = new NotFound(404, raw);
const broken = new BankError(500, raw);
const LISTS: BankRead[] = ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'];
/** How a decision reads what it rests on, and how what was submitted a while ago is followed. */
const DECIDED = { byAnyList: true, evenUnlisted: true, isSought: () => true };
const FOLLOWED = { ...DECIDED, isOnlyFollowed: true };
/** How what has ended is watched. */
const WATCHED = { ...FOLLOWED, byAnyList: false };

interface AtBank {
  /** What the list of the instruction shows, the general one, and which are shown each by itself. */
  own?: string[] | Error;
  general?: string[] | Error;
  alone?: string[] | Error;
  /** What a read of one by itself fails with. */
  faults?: Record<string, Error>;
  reads?: BankRead[];
  /** What the own list shows, where it cannot be read as it must be: by their ids, and the one that can be read. */
  unreadable?: { ids: (string | undefined)[]; readable?: string };
}

/** What is read of 901 to 903 after so many reads, how often the general list and each by itself were asked, and by which way what was shown. */
async function readBy(
  at: Partial<InstructionAtBank>,
  { own = [], general = [], alone = [], unreadable = { ids: [] }, ...bank }: AtBank,
  before = 0,
) {
  const shown = (bankPaymentId?: string) => ({ bankPaymentId, bankInstructionId: '4711', status: 'SETTLED' });
  async function* listed(what: string[] | Error) {
    if (what instanceof Error) throw what;
    yield* await Promise.resolve(what.map(shown));
  }
  const listPayments = jest.fn(() => listed(general));
  const getPayment = jest.fn(([id]: KnownIds) => {
    if (alone instanceof Error) return Promise.reject(alone);
    const fault = bank.faults?.[id ?? ''];
    if (fault) return Promise.reject(fault);
    return alone.includes(id ?? '') ? Promise.resolve(shown(id)) : Promise.reject(gone);
  });
  async function* listInstructionMarks() {
    const { ids, readable } = unreadable;
    yield* await Promise.resolve(
      ids.map((id) => ({ marks: { bankPaymentId: id }, isReadable: id === readable && id !== undefined })),
    );
  }
  const listInstructionPayments = () => listed(own);
  const reads = readsOf({ listInstructionPayments, listInstructionMarks, listPayments, getPayment });
  const account = { reads: bank.reads ?? LISTS } as unknown as EmployerAccount;
  const onShown = jest.fn();
  const instruction: InstructionAtBank = {
    bankInstructionId: '4711',
    createdAt: new Date(),
    bankIds: [['901'], ['902'], ['903'], []],
    isNamedBy: namesOf('018f0000-0000-7000-8000-000000000001'),
    onShown,
    ...at,
  };
  for (let n = 0; n < before; n += 1) await reads.payments(account, instruction).catch(() => undefined);
  const found = await reads.payments(account, instruction);
  const asked = [listPayments, getPayment].map(({ mock }) => mock.calls.length);
  return { found: found.map(({ bankPaymentId }) => bankPaymentId), asked, by: onShown.mock.calls.flat() };
}

describe.each([
  ['a decision', DECIDED],
  ['following', FOLLOWED],
  ['watching what ended', WATCHED],
])('what a list of an instruction lacks, that shows others of it, for %s', (_, at) => {
  const isDecided = at === DECIDED;

  it('is looked for by every other read, for a decision each by itself first', async () => {
    expect(await readBy(at, { own: ['901'], general: ['901', '902'], alone: ['903'] })).toEqual(
      isDecided
        ? { found: ['901', '903', '902'], asked: [1, 2], by: ['own-list', 'itself', undefined] }
        : { found: ['901', '902', '903'], asked: [1, 1], by: ['own-list', undefined, 'itself'] },
    );
    const general: AtBank = { general: ['902'], alone: ['901', '903'], reads: ['PAYMENT_LIST'] };
    expect(await readBy(at, general)).toMatchObject({ found: ['902', '901', '903'], asked: [1, 2] });
    const own: AtBank = { own: ['902'], alone: ['901', '903'], reads: ['INSTRUCTION_PAYMENTS'] };
    expect(await readBy(at, own)).toMatchObject({ found: ['902', '901', '903'], asked: [0, 2] });
  });

  it('costs no call where the list lacks none', async () => {
    const all = ['901', '902', '903'];
    expect(await readBy(at, { own: all })).toEqual({ found: all, asked: [0, 0], by: ['own-list'] });
    expect(await readBy(at, { own: ['901'], general: all })).toMatchObject({ asked: [1, isDecided ? 2 : 0] });
  });

  it('is not looked for unless it is sought', async () => {
    const bank = { own: ['901'], general: ['902'], alone: ['903'] };
    const none = { found: ['901'], asked: [0, 0], by: ['own-list'] };
    expect(await readBy({ ...at, isSought: undefined }, bank)).toEqual(none);
    const is902 = (id: string) => id === '902';
    const one = { found: ['901', '902'], asked: [1, isDecided ? 1 : 0] };
    expect(await readBy({ ...at, isSought: is902 }, bank)).toMatchObject(one);
  });

  it.each([gone, new NotAllowed(403, raw), broken, new RateLimited(1)])(
    'is shown by itself where the general list fails (%s)',
    async (general) => {
      const bank = { own: ['901'], general, alone: ['902', '903'] };
      const asked = [isDecided ? 0 : 1, 2];
      expect(await readBy(at, bank)).toMatchObject({ found: ['901', '902', '903'], asked });
    },
  );

  it.each([gone, new NotAllowed(403, raw)])(
    'is shown nowhere where that is refused (%s)',
    async (failure) => {
      const bank = { own: ['901'], general: failure, alone: failure };
      expect(await readBy(at, bank)).toMatchObject({ found: ['901'], by: ['own-list'] });
    },
  );
});

describe('that a list lacks what another read shows', () => {
  async function remembered(at: Partial<InstructionAtBank>, lacked: string, reads: BankRead[] = LISTS) {
    const payment = (bankPaymentId: string, status: string) => ({
      bankPaymentId,
      bankInstructionId: '4711',
      status,
      wasSettled: false,
    });
    async function* listed() {
      yield await Promise.resolve(payment('901', 'INITIATED'));
    }
    const gateway = {
      listInstructionPayments: listed,
      listPayments: listed,
      getPayment: ([id = '']: KnownIds) => Promise.resolve(payment(id, id === '902' ? lacked : 'INITIATED')),
    };
    const rememberLacking = jest.fn(() => Promise.resolve());
    await readsOf(gateway, faultsOf(), rememberLacking).payments({ reads } as unknown as EmployerAccount, {
      bankInstructionId: '4711',
      createdAt: new Date(),
      bankIds: [['901'], ['902'], ['903']],
      isNamedBy: namesOf('018f0000-0000-7000-8000-000000000001'),
      ...at,
    });
    return rememberLacking.mock.calls.flat();
  }

  it.each(['SETTLED', 'FAILED', 'CANCELLED', 'RETURNED', 'EXCHANGED', 'PRO_ODD'])(
    'is remembered of that list where it was submitted, or ended (%s)',
    async (status) => {
      expect(await remembered(DECIDED, status)).toEqual(['INSTRUCTION_PAYMENTS']);
      expect(await remembered(DECIDED, status, ['PAYMENT_LIST'])).toEqual(['PAYMENTS']);
    },
  );

  it('is not where that may be too new for a list that lags, nor by what is only followed', async () => {
    expect(await remembered(DECIDED, 'INITIATED')).toEqual([]);
    expect(await remembered(FOLLOWED, 'SETTLED')).toEqual([]);
  });
});

it('a decision rests on no list that lacks some while another fails, and what is only followed is kept', async () => {
  const bank = { own: ['901'], general: broken, alone: ['902'] };
  await expect(readBy(DECIDED, bank)).rejects.toBe(broken);
  expect(await readBy(FOLLOWED, bank)).toMatchObject({ found: ['901', '902'] });
});

it('a decision goes on without a general list that fails again and again, and whose own list works', async () => {
  const bank = { own: ['901'], general: new BankError(504, raw), alone: ['902'] };
  await expect(readBy(DECIDED, bank, 3)).rejects.toBe(bank.general);
  expect(await readBy(DECIDED, bank, 4)).toMatchObject({ found: ['901', '902'] });
});

/** What a decision rests on of an instruction of two payments. */
const OF_TWO = {
  bankInstructionId: '4711',
  createdAt: new Date(),
  bankIds: [['901'], ['902']] as const,
  isNamedBy: () => false,
  ...DECIDED,
};

it('a decision waits for a general list, or a payment, that failed five times in a moment', async () => {
  const [fails, isNone] = [() => Promise.reject(broken), () => Promise.reject(gone)];
  async function* own() {
    yield* await Promise.resolve([{ bankPaymentId: '901', bankInstructionId: '4711', status: 'SETTLED' }]);
  }
  async function* general() {
    yield* await Promise.reject<never[]>(broken);
  }
  const clock = new MovedClock();
  const account = { reads: LISTS } as unknown as EmployerAccount;
  for (const other of [
    { listPayments: general, getPayment: isNone },
    { listPayments: emptyList, getPayment: fails },
  ]) {
    const reads = readsOf({ listInstructionPayments: own, ...other }, faultsOf(clock, 600_000));
    for (let n = 0; n < 9; n += 1) await expect(reads.payments(account, OF_TWO)).rejects.toBe(broken);
    for (let n = 0; n < 3; n += 1) {
      clock.offsetMs += 150_000;
      await expect(reads.payments(account, OF_TWO)).rejects.toBe(broken);
    }
    clock.offsetMs += 150_000;
    expect(await reads.payments(account, OF_TWO)).toMatchObject([{ bankPaymentId: '901' }]);
  }
});

it('a decision goes past a few payments that are not shown by themselves', async () => {
  const bankIds = Array.from({ length: 9 }, (_, n) => [String(901 + n)] as const);
  const decided = { ...DECIDED, bankIds };
  const bank = { own: ['901'], alone: ['906', '907'] };
  expect(await readBy(decided, bank)).toMatchObject({ found: ['901', '906', '907'], asked: [1, 8] });
  expect(await readBy(decided, { own: ['901'] })).toMatchObject({ found: ['901'], asked: [1, 5] });
});

describe('a decision at a bank that is known to show payments by themselves', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, n) => [String(901 + n)] as const);
  const reads: BankRead[] = [...LISTS, 'PAYMENT'];

  it.each([
    ['no list shows any', []],
    ['a list shows others', ['900']],
  ])('asks for each of them though many are not found so, where %s', async (_, own) => {
    const decided = { ...DECIDED, bankIds: ids(20) };
    const bank: AtBank = { own, alone: ['907', '919'], reads };
    expect(await readBy(decided, bank)).toMatchObject({ found: [...own, '907', '919'], asked: [1, 20] });
    expect(await readBy(decided, { own, reads })).toMatchObject({ found: own, asked: [1, 20] });
  });

  it('asks for each of them behind some that are refused or fail for good, whatever a list shows of others', async () => {
    const decided = { ...DECIDED, bankIds: ids(20) };
    const refused: AtBank = { own: ['900'], alone: new NotAllowed(403, raw), reads };
    expect(await readBy(decided, refused)).toMatchObject({ found: ['900'], asked: [1, 20] });
    const first = ids(5).map(([id]) => id);
    for (const odd of [broken, new ContractDrift(['status']), new BankError(405, raw)])
      for (const lists of [{ own: ['900'], reads }, { own: ['900'] }, { reads: ['PAYMENT' as const] }]) {
        const faults = Object.fromEntries(first.map((id) => [id, odd]));
        const fails: AtBank = { ...lists, faults, alone: ['906', '919'] };
        await expect(readBy(decided, fails, 3)).rejects.toBe(odd);
        expect(await readBy(decided, fails, 4)).toMatchObject({
          found: [...(lists.own ?? []), '906', '919'],
        });
      }
  });

  it('asks for each of them where those that are refused stand among others that are not found', async () => {
    const decided = { ...DECIDED, bankIds: ids(60) };
    const odd = new BankError(400, raw);
    const refused = ids(58).filter((_, n) => n % 2 === 0);
    const faults = Object.fromEntries(refused.map(([id]) => [id, odd]));
    const bank: AtBank = { own: ['900'], alone: ['960'], faults, reads };
    await expect(readBy(decided, bank, 3)).rejects.toBe(odd);
    expect(await readBy(decided, bank, 9)).toMatchObject({ found: ['900', '960'] });
  });

  it('asks for a few where these tell as much as all', async () => {
    const few = { ...DECIDED, bankIds: ids(20), fewTell: true };
    expect(await readBy(few, { reads })).toMatchObject({ found: [], asked: [1, 5] });
  });
});

it('a decision goes past payments that are not found by themselves once others were', async () => {
  const bankIds = Array.from({ length: 20 }, (_, n) => [String(901 + n)] as const);
  const bank = { own: ['900'], alone: ['902', '920'] };
  const all = { found: ['900', '902', '920'], asked: [1, 20] };
  expect(await readBy({ ...DECIDED, bankIds }, bank)).toMatchObject(all);
});

it('of more than a thousand that are only followed the next thousand are read so each time', async () => {
  const bankIds = Array.from({ length: 1_002 }, (_, n) => [String(n)] as const);
  const bank = { own: ['0'], alone: bankIds.map(([id]) => id) };
  const onUntried = jest.fn();
  const first = await readBy({ ...FOLLOWED, bankIds, onUntried }, bank);
  expect(first).toMatchObject({ asked: [1, 1_000] });
  expect(first.found).not.toContain('1001');
  expect(onUntried.mock.calls).toEqual([[['1001']]]);
  const second = await readBy({ ...FOLLOWED, bankIds, onUntried }, bank, 1);
  expect(onUntried.mock.lastCall).toEqual([['1000']]);
  expect(second).toMatchObject({ asked: [2, 2_000] });
  expect(second.found).toContain('1001');
  const none = Array.from({ length: 1_001 }, (_, n) => [String(n)] as const);
  const told = onUntried.mock.calls.length;
  const inVain = await readBy({ ...FOLLOWED, bankIds: none, onUntried }, {});
  expect(inVain).toMatchObject({ found: [], asked: [1, 5] });
  expect(onUntried).toHaveBeenCalledTimes(told);
});

it('a decision reads no list of all payments for what each by itself shows, and rests on it where these fail', async () => {
  const all = ['901', '902', '903'];
  expect(await readBy(DECIDED, { own: ['901'], general: all, alone: all })).toMatchObject({ asked: [0, 2] });
  const bank = { own: ['901'], general: all, alone: broken };
  expect(await readBy(DECIDED, bank)).toMatchObject({ found: all, asked: [1, 2] });
});

it('no decision rests on a payment that the bank fails to show by itself, unless it fails again and again', async () => {
  const bank = { own: ['901'], alone: broken };
  await expect(readBy(DECIDED, bank)).rejects.toBe(broken);
  await expect(readBy(DECIDED, bank, 3)).rejects.toBe(broken);
  expect(await readBy(DECIDED, bank, 4)).toMatchObject({ found: ['901'] });
});

it('what one payment alone may tell is read so of each that a decision rests on, and else a thousand times at most', async () => {
  const bankIds = Array.from({ length: 1_001 }, (_, n) => [String(n)] as const);
  const alone = bankIds.map(([id]) => id);
  for (const reads of [LISTS, [...LISTS, 'PAYMENT'] as const]) {
    const bank = { alone, reads: [...reads] };
    expect(await readBy({ ...DECIDED, bankIds }, bank)).toMatchObject({ asked: [1, 1_001] });
    const few = { ...DECIDED, bankIds, fewTell: true };
    expect(await readBy(few, bank)).toMatchObject({ asked: [1, 1_000] });
    const told = { byAnyList: true, evenUnlisted: true, bankIds };
    expect(await readBy(told, bank)).toMatchObject({ asked: [1, 1_000] });
  }
});

describe('where no list answers', () => {
  const unlisted: AtBank = { own: gone, general: gone };
  const one: BankRead[] = ['PAYMENT'];

  it.each([
    ['though lists are allowed', [...LISTS, ...one]],
    ['as none is allowed', one],
  ])('a decision goes on without one payment that the bank fails to show for good, %s', async (_, reads) => {
    const bank = { ...unlisted, alone: ['901', '902'], faults: { '903': broken }, reads };
    await expect(readBy(DECIDED, bank, 3)).rejects.toBe(broken);
    expect(await readBy(DECIDED, bank, 4)).toMatchObject({ found: ['901', '902'] });
    const refused = { ...bank, faults: { '901': new NotAllowed(403, raw) }, alone: ['902', '903'] };
    expect(await readBy(DECIDED, refused)).toMatchObject({ found: ['902', '903'] });
    for (const odd of [new ContractDrift(['status']), new BankError(409, raw)]) {
      const garbled = { ...refused, faults: { '901': odd } };
      await expect(readBy(DECIDED, garbled, 3)).rejects.toBe(odd);
      expect(await readBy(DECIDED, garbled, 4)).toMatchObject({ found: ['902', '903'] });
    }
    const away = { ...bank, faults: { '903': new RateLimited(1) } };
    await expect(readBy(DECIDED, away, 4)).rejects.toThrow(RateLimited);
  });

  it.each([
    ['though lists are allowed', [...LISTS, ...one]],
    ['as none is allowed', one],
  ])(
    'a decision goes past all payments that fail for good, until a few are not answered at all, %s',
    async (_, reads) => {
      const bankIds = Array.from({ length: 20 }, (_, n) => [String(901 + n)] as const);
      const decided = { ...DECIDED, bankIds };
      const faults = Object.fromEntries(bankIds.slice(0, 18).map(([id]) => [id, broken]));
      const bank = { ...unlisted, faults, alone: ['919', '920'], reads };
      await expect(readBy(decided, bank, 4)).rejects.toBe(broken);
      expect(await readBy(decided, bank, 5)).toMatchObject({ found: ['919', '920'] });
      const getPayment = jest.fn(() => Promise.reject(new BankUnreachable('total-timeout', true)));
      async function* hidden() {
        yield* await Promise.reject<never[]>(gone);
      }
      const silent = readsOf({ listInstructionPayments: hidden, listPayments: hidden, getPayment });
      const at = { bankInstructionId: '4711', createdAt: new Date(), isNamedBy: () => false, ...decided };
      const account = { reads } as unknown as EmployerAccount;
      for (let n = 0; n < 5; n += 1) await silent.payments(account, at).catch(() => undefined);
      expect(getPayment).toHaveBeenCalledTimes(25);
    },
  );

  it('a decision asks for each payment by itself where the only list there is fails for good', async () => {
    const bank: AtBank = { own: broken, alone: ['901', '902', '903'], reads: ['INSTRUCTION_PAYMENTS'] };
    await expect(readBy(DECIDED, bank, 3)).rejects.toBe(broken);
    expect(await readBy(DECIDED, bank, 4)).toMatchObject({ found: ['901', '902', '903'] });
    await expect(readBy(DECIDED, { ...bank, alone: [] }, 4)).rejects.toThrow(ReadFails);
  });

  it('a decision is told that every payment fails for good, and that none is shown where each is refused', async () => {
    const faults = { '901': broken, '903': broken };
    await expect(readBy(DECIDED, { faults, reads: one }, 3)).rejects.toBe(broken);
    await expect(readBy(DECIDED, { faults, reads: one }, 4)).rejects.toThrow(ReadFails);
    const refused = new NotAllowed(403, raw);
    await expect(readBy(DECIDED, { alone: refused, reads: one })).rejects.toBe(refused);
    expect(await readBy(DECIDED, { reads: one })).toMatchObject({ found: [] });
  });
});

describe('where the general list fails for good, and no other shows any', () => {
  const all = ['901', '902', '903'];
  const reads: BankRead[] = [...LISTS, 'PAYMENT'];

  it.each<[string, AtBank]>([
    ['its own is empty', { reads }],
    ['its own is empty, and whether payments are shown by themselves is not known', {}],
    ['its own is not found', { own: gone, reads }],
    ['no own one is allowed', { reads: ['PAYMENT_LIST', 'PAYMENT'] }],
  ])('payments are asked for each by itself: %s', async (_, lists) => {
    const bank = { ...lists, general: broken, alone: all };
    await expect(readBy(DECIDED, bank, 3)).rejects.toBe(broken);
    expect(await readBy(DECIDED, bank, 4)).toMatchObject({ found: all });
    expect(await readBy(FOLLOWED, bank, 4)).toMatchObject({ found: all });
  });

  it('none that is shown is not taken for none that there is', async () => {
    for (const own of [[], gone])
      await expect(readBy(DECIDED, { own, general: broken, reads }, 4)).rejects.toThrow(
        new ReadFails('the payments of this instruction'),
      );
  });
});

it('one garbled payment in the own list of an instruction keeps no decision for good from what else shows the others', async () => {
  const own = new ContractDrift(['items.7']);
  const reads: BankRead[] = [...LISTS, 'PAYMENT'];
  const faults = { '902': own };
  const bank = { own, general: own, alone: ['901', '903'], faults, reads };
  await expect(readBy(DECIDED, bank, 3)).rejects.toBe(own);
  expect(await readBy(DECIDED, bank, 9)).toMatchObject({ found: ['901', '903'] });
  await expect(readBy({ ...DECIDED, isSought: undefined }, bank)).rejects.toBe(own);
});

describe('an own list whose records cannot be read', () => {
  const own = new ContractDrift(['items.0.status']);
  const all = ['901', '902', '903'];
  /** How an instruction is read back before its submit, and how what was submitted is followed. */
  const ways = [
    ['before the submit', { evenUnlisted: true }],
    ['that is followed', FOLLOWED],
  ] as const;

  it.each(ways)('is read from the general list, which shows each of them: %s', async (_, at) => {
    expect(await readBy(at, { own, general: all, unreadable: { ids: all } })).toMatchObject({ found: all });
  });

  it.each<[string, AtBank]>([
    ['one of them can be', { general: all, unreadable: { ids: all, readable: '902' } }],
    ['one of them is not there', { general: all, unreadable: { ids: [...all, '904'] } }],
    ['one of them has no id', { general: all, unreadable: { ids: [...all, undefined] } }],
    ['it shows none by now', { general: all }],
    ['the general list fails', { general: broken, unreadable: { ids: all } }],
    ['that is the only list', { unreadable: { ids: all }, reads: ['INSTRUCTION_PAYMENTS'] }],
  ])('is not, where %s', async (_, bank) => {
    for (const [, at] of ways) await expect(readBy(at, { own, ...bank })).rejects.toBe(own);
  });
});

describe('a bank that is down for a moment', () => {
  const away = new BankError(503, raw);
  const bankIds = Array.from({ length: 50 }, (_, n) => [String(901 + n)] as const);

  it.each<[string, AtBank]>([
    ['its lists show none', { reads: [...LISTS, 'PAYMENT'] }],
    ['no list is allowed', { reads: ['PAYMENT'] }],
  ])('is not asked for every payment by a decision: %s', async (_, lists) => {
    const getPayment = jest.fn(() => Promise.reject(away));
    const reads = readsOf({ listInstructionPayments: emptyList, listPayments: emptyList, getPayment });
    const at = {
      bankInstructionId: '4711',
      createdAt: new Date(),
      isNamedBy: () => false,
      ...DECIDED,
      bankIds,
    };
    const account = { reads: lists.reads } as unknown as EmployerAccount;
    for (let n = 1; n < 5; n += 1) await expect(reads.payments(account, at)).rejects.toBe(away);
    expect(getPayment).toHaveBeenCalledTimes(20);
  });

  it('is asked for all once these failed for good, which those behind them need not do as often again', async () => {
    const faults = Object.fromEntries(bankIds.slice(1, 40).map(([id]) => [id, away]));
    const bank: AtBank = { faults, alone: bankIds.map(([id]) => id), reads: ['PAYMENT'] };
    const decided = { ...DECIDED, bankIds };
    await expect(readBy(decided, bank, 4)).rejects.toBe(away);
    for (const before of [5, 6, 9]) expect((await readBy(decided, bank, before)).found).toHaveLength(11);
  });
});

it('one payment that fails for a moment is waited for, also where another way has failed for good', async () => {
  const getPayment = jest.fn(([bankPaymentId]: KnownIds) =>
    Promise.resolve({ bankPaymentId, bankInstructionId: '4711', status: 'SETTLED' }),
  );
  async function* own() {
    yield* await Promise.reject<never[]>(broken);
  }
  const reads = readsOf({ listInstructionPayments: own, getPayment });
  const account = { reads: ['INSTRUCTION_PAYMENTS', 'PAYMENT'] } as unknown as EmployerAccount;
  for (let n = 1; n < 5; n += 1) await reads.payments(account, OF_TWO).catch(() => undefined);
  expect(await reads.payments(account, OF_TWO)).toHaveLength(2);
  const away = new BankError(503, raw);
  getPayment.mockRejectedValueOnce(away);
  await expect(reads.payments(account, OF_TWO)).rejects.toBe(away);
});

describe('payments of which many fail for good by themselves', () => {
  const bankIds = Array.from({ length: 20 }, (_, n) => [String(901 + n)] as const);
  const shown = (bankPaymentId = '') => ({ bankPaymentId, bankInstructionId: '4711', status: 'SETTLED' });

  /** Decisions of one process that read each by itself, of which these fail, each so. */
  function decidingOf(failing: ReadonlyMap<string, Error>) {
    const getPayment = ([id = '']: KnownIds) => {
      const failure = failing.get(id);
      return failure ? Promise.reject(failure) : Promise.resolve(shown(id));
    };
    const reads = readsOf({ getPayment });
    const account = { reads: ['PAYMENT'] } as unknown as EmployerAccount;
    return () => reads.payments(account, { ...OF_TWO, bankIds });
  }

  it('keep a decision waiting for another that fails for the first time behind them', async () => {
    const [away, failing] = [new BankError(503, raw), new Set(bankIds.slice(0, 5).map(([id]) => id))];
    const getPayment = ([id = '']: KnownIds) =>
      failing.has(id) ? Promise.reject(away) : Promise.resolve(shown(id));
    const reads = readsOf({ getPayment });
    const account = { reads: ['PAYMENT'] } as unknown as EmployerAccount;
    const decided = () => reads.payments(account, { ...OF_TWO, bankIds });
    for (let n = 1; n < 5; n += 1) await expect(decided()).rejects.toBe(away);
    expect(await decided()).toHaveLength(15);
    failing.add('906');
    await expect(decided()).rejects.toBe(away);
    failing.delete('906');
    expect(await decided()).toHaveLength(15);
  });

  it.each([new BankUnreachable('total-timeout', true), new BankError(503, raw), new ContractDrift(['id'])])(
    'keep a decision waiting for another behind them that fails otherwise until that has lasted by itself (%p)',
    async (otherwise) => {
      const refused = new BankError(409, raw);
      const failing = new Map<string, Error>(bankIds.slice(0, 5).map(([id]) => [id, refused]));
      const decided = decidingOf(failing);
      for (let n = 1; n < 5; n += 1) await expect(decided()).rejects.toBe(refused);
      expect(await decided()).toHaveLength(15);
      failing.set('906', otherwise);
      for (let n = 1; n < 5; n += 1) await expect(decided()).rejects.toBe(otherwise);
      expect(await decided()).toHaveLength(14);
      // What fails as they do need not last as often again.
      failing.set('907', refused);
      await expect(decided()).rejects.toBe(refused);
      expect(await decided()).toHaveLength(13);
    },
  );

  it('are of one time where they fail alike: some that are shown meanwhile begin anew, in whichever way others fail', async () => {
    const failing = new Map<string, Error>();
    const failSo = (from: number, failure?: Error) => {
      for (const [id] of bankIds.slice(from, from + 5))
        if (failure) failing.set(id, failure);
        else failing.delete(id);
    };
    const decided = decidingOf(failing);
    const refused = new BankError(409, raw);
    failSo(0, refused);
    failSo(5, broken);
    for (let n = 1; n < 5; n += 1) await expect(decided()).rejects.toBe(refused);
    for (let n = 1; n < 5; n += 1) await decided().catch(() => undefined);
    expect(await decided()).toHaveLength(10);
    failSo(0);
    expect(await decided()).toHaveLength(15);
    failSo(10, refused);
    for (let n = 1; n < 5; n += 1) await expect(decided()).rejects.toBe(refused);
    expect(await decided()).toHaveLength(10);
  });

  it('keep no decision waiting for longer where reads that only follow begin elsewhere each time', async () => {
    async function* own() {
      yield* await Promise.resolve([shown('900')]);
    }
    const reads = readsOf({ listInstructionPayments: own, getPayment: () => Promise.reject(broken) });
    const account = { reads: ['INSTRUCTION_PAYMENTS', 'PAYMENT'] } as unknown as EmployerAccount;
    const read = (at: Partial<InstructionAtBank>) => reads.payments(account, { ...OF_TWO, ...at, bankIds });
    for (let n = 1; n < 6; n += 1) {
      await read(FOLLOWED);
      await expect(read(DECIDED)).rejects.toBe(broken);
    }
    await read(FOLLOWED);
    expect(await read(DECIDED)).toHaveLength(1);
  });
});

describe('of thousands of payments that are refused or fail for good by themselves', () => {
  const bankIds = Array.from({ length: 2_500 }, (_, n) => [String(1_001 + n)] as const);
  const shown = (bankPaymentId: string) => ({ bankPaymentId, bankInstructionId: '4711', status: 'SETTLED' });
  /** Decisions of one process, where the list of the instruction shows one and the first so many others fail. */
  function deciding(failing: number, failure: Error | ((id: string) => Error)) {
    async function* own() {
      yield* await Promise.resolve([shown('900')]);
    }
    const getPayment = jest.fn(([id = '']: KnownIds) =>
      Number(id) <= 1_000 + failing
        ? Promise.reject(failure instanceof Error ? failure : failure(id))
        : Promise.resolve(shown(id)),
    );
    const reads = readsOf({ listInstructionPayments: own, getPayment });
    const account = { reads: ['INSTRUCTION_PAYMENTS', 'PAYMENT'] } as unknown as EmployerAccount;
    return async () => {
      getPayment.mockClear();
      const read = await reads
        .read(account, { ...OF_TWO, bankIds })
        .catch((error: unknown) => ({ error, found: [], untold: undefined }));
      return { error: undefined, ...read, found: read.found.length, asked: getPayment.mock.calls.length };
    };
  }

  it.each([new BankError(409, raw), new ContractDrift(['status'])])(
    'a thousand are asked for by a decision, and what is left is untold (%p)',
    async (failure) => {
      const decide = deciding(2_500, failure);
      for (let n = 1; n < 5; n += 1) expect(await decide()).toMatchObject({ error: failure, asked: 5 });
      expect(await decide()).toMatchObject({ error: failure, asked: 1_000 });
      for (let n = 0; n < 3; n += 1)
        expect(await decide()).toEqual({ found: 1, untold: failure, asked: 1_000 });
    },
  );

  it('each waits with the others, where a server fails each by another of its faults', async () => {
    const faults = [502, 503, 504].map((status) => new BankError(status, raw));
    const decide = deciding(2_500, (id) => faults[Number(id) % 3]!);
    for (let n = 1; n < 6; n += 1) expect((await decide()).error).toBeInstanceOf(BankError);
    expect(await decide()).toEqual({ found: 1, untold: expect.any(BankError), asked: 1_000 });
  });

  it('a thousand are asked for where each is refused at once (403), and what is left is untold', async () => {
    const refused = new NotAllowed(403, raw);
    expect(await deciding(2_500, refused)()).toEqual({ found: 1, untold: refused, asked: 1_000 });
    expect(await deciding(900, refused)()).toEqual({ found: 1_601, untold: undefined, asked: 2_500 });
  });

  it('each is asked for while others between them are shown', async () => {
    const decide = deciding(900, new BankError(409, raw));
    for (let n = 1; n < 6; n += 1) await decide();
    expect(await decide()).toMatchObject({ found: 1_601, asked: 2_500 });
  });
});

describe('a payment whose id the bank has not told, since the answer to its add was lost', () => {
  const all = ['901', '902', '903'];
  const known = all.map((id) => [id] as const);
  const bank: AtBank = { own: broken, general: all };

  it('keeps a decision waiting while a list that may show it fails, though others show all that are known', async () => {
    await expect(readBy(DECIDED, bank, 3)).rejects.toBe(broken);
    expect(await readBy({ ...DECIDED, bankIds: known }, bank, 3)).toMatchObject({ found: all });
    expect(await readBy(DECIDED, bank, 4)).toMatchObject({ found: all });
    expect(await readBy(FOLLOWED, bank, 3)).toMatchObject({ found: all });
  });

  it('leaves open whether its instruction was submitted where such a list fails for good', async () => {
    async function* own() {
      yield* await Promise.reject<never[]>(broken);
    }
    async function* general() {
      yield* await Promise.resolve([
        { bankPaymentId: '901', bankInstructionId: '4711', status: 'CANCELLED', wasSettled: false },
      ]);
    }
    const getInstruction = () => Promise.resolve({ status: 'CANCELLED' });
    const account = { reads: ['INSTRUCTION', ...LISTS] } as unknown as EmployerAccount;
    for (const bankIds of [[['901']], [['901'], []]] as const) {
      const reads = readsOf({ getInstruction, listInstructionPayments: own, listPayments: general });
      const standing = () => reads.standing(account, { ...OF_TWO, bankIds });
      for (let n = 1; n < 5; n += 1) await standing().catch(() => undefined);
      expect(await standing()).toMatchObject({ isUnclear: bankIds.length > 1 });
    }
  });
});

describe('a list that is not offered (501)', () => {
  const missing = new BankError(501, raw);

  it('is no fault: what else shows payments is read, and a decision waits for it until it is so for good', async () => {
    for (const list of [missing, new BankError(405, raw)]) {
      const known = { ...DECIDED, bankIds: [['901'], ['902'], ['903']] as const };
      expect(await readBy(known, { own: list, general: ['901', '902', '903'] })).toMatchObject({
        found: ['901', '902', '903'],
      });
      expect(await readBy({}, { own: list, general: ['901'] })).toMatchObject({ found: ['901'] });
      for (const bank of [
        { own: ['901'], general: list, alone: ['902'] },
        { own: list, alone: ['901', '902'], reads: ['INSTRUCTION_PAYMENTS' as const] },
      ]) {
        await expect(readBy(DECIDED, bank, 3)).rejects.toBe(list);
        expect(await readBy(DECIDED, bank, 4)).toMatchObject({ found: ['901', '902'] });
      }
    }
  });

  it('says nothing of payments that no other list shows either', async () => {
    for (const list of [missing, new BankError(405, raw)])
      await expect(readBy({}, { own: list, general: [] })).rejects.toBe(list);
  });
});

describe('a decision waits for each way by itself until what it answers is for good', () => {
  const garbled = () => new ContractDrift(['body']);
  const account = { reads: [...LISTS, 'PAYMENT'] } as unknown as EmployerAccount;
  /** Reads of one process, of a bank that answers so until it answers otherwise. */
  function asking(bank: Record<'own' | 'general' | 'alone', Error | string[]>) {
    const shown = (bankPaymentId: string) => ({
      bankPaymentId,
      bankInstructionId: '4711',
      status: 'SETTLED',
    });
    async function* listed(what: Error | string[]) {
      if (what instanceof Error) throw what;
      yield* await Promise.resolve(what.map(shown));
    }
    const reads = readsOf({
      getInstruction: () => Promise.reject(gone),
      listInstructionPayments: () => listed(bank.own),
      listPayments: () => listed(bank.general),
      getPayment: ([id = '']: KnownIds) => {
        const { alone: now } = bank;
        if (now instanceof Error) return Promise.reject(now);
        return now.includes(id) ? Promise.resolve(shown(id)) : Promise.reject(gone);
      },
    });
    return (at: Partial<InstructionAtBank> = {}) => reads.read(account, { ...OF_TWO, ...at });
  }

  it.each([garbled(), new BankError(409, raw)])(
    'though another fails for good: the general list, for a moment (%s)',
    async (moment) => {
      const bank = { own: new BankError(405, raw), general: [] as Error | string[], alone: [] as string[] };
      const read = asking(bank);
      for (let n = 1; n < 5; n += 1) await expect(read()).rejects.toBe(bank.own);
      expect(await read()).toMatchObject({ found: [], untold: bank.own });
      bank.general = moment;
      await expect(read()).rejects.toBe(moment);
      bank.general = ['901'];
      expect((await read()).found).toHaveLength(1);
    },
  );

  it('though what is not found was asked often: 403 and 404 count towards nothing else', async () => {
    const bank = {
      own: gone as Error | string[],
      general: [] as Error | string[],
      alone: [] as Error | string[],
    };
    const read = asking(bank);
    for (let n = 1; n < 7; n += 1) await read(n % 2 ? FOLLOWED : {});
    for (const way of ['own', 'general', 'alone'] as const) {
      const before = bank[way];
      const moment = garbled();
      bank[way] = moment;
      await expect(read()).rejects.toBe(moment);
      bank[way] = before;
      await read();
    }
  });

  it('where all of them are garbled for a moment, or the one that may show what the own list lacks', async () => {
    const bank: Parameters<typeof asking>[0] = { own: garbled(), general: garbled(), alone: garbled() };
    await expect(asking(bank)()).rejects.toThrow(ContractDrift);
    const lacking: typeof bank = { own: ['901'], general: garbled(), alone: [] };
    const read = asking(lacking);
    for (let n = 1; n < 5; n += 1) await expect(read()).rejects.toBe(lacking.general);
    expect(await read()).toMatchObject({ found: [{ bankPaymentId: '901' }], untold: lacking.general });
  });

  it('and what a read that only follows was shown ends what was counted', async () => {
    const bank: Parameters<typeof asking>[0] = { own: [], general: [], alone: broken };
    const read = asking(bank);
    for (let n = 1; n < 5; n += 1) await expect(read()).rejects.toBe(broken);
    bank.alone = ['901', '902'];
    expect((await read(FOLLOWED)).found).toHaveLength(2);
    bank.alone = broken;
    await expect(read()).rejects.toBe(broken);
  });

  it('and ends once each payment is refused otherwise for good, by itself', async () => {
    for (const own of [gone, [] as string[]]) {
      const bank = { own, general: gone, alone: new BankError(409, raw) };
      const read = asking(bank);
      for (let n = 1; n < 5; n += 1) await expect(read()).rejects.toBe(bank.alone);
      expect(await read()).toMatchObject({ found: [], untold: bank.alone });
    }
  });
});
