import { BankError, NotAllowed, NotFound, RateLimited } from '../../src/bank/errors';
import type { KnownIds } from '../../src/bank/payment-ids';
import type { BankRead, EmployerAccount } from '../../src/employer/employer.entity';
import type { InstructionAtBank } from '../../src/employer/instruction-at-bank';
import { namesOf } from '../../src/pay-run/message-id';
import { readsOf } from '../support/reads-of';

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
  own?: string[];
  general?: string[] | Error;
  alone?: string[] | Error;
  reads?: BankRead[];
}

/** What is read of 901 to 903 after so many reads, how often the general list and each by itself were asked, and by which way what was shown. */
async function readBy(
  at: Partial<InstructionAtBank>,
  { own = [], general = [], alone = [], ...bank }: AtBank,
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
    return alone.includes(id ?? '') ? Promise.resolve(shown(id)) : Promise.reject(gone);
  });
  const reads = readsOf({ listInstructionPayments: () => listed(own), listPayments, getPayment });
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
  it('is looked for by every other read', async () => {
    expect(await readBy(at, { own: ['901'], general: ['901', '902'], alone: ['903'] })).toEqual({
      found: ['901', '902', '903'],
      asked: [1, 1],
      by: ['own-list', undefined, 'itself'],
    });
    const general: AtBank = { general: ['902'], alone: ['901', '903'], reads: ['PAYMENT_LIST'] };
    expect(await readBy(at, general)).toMatchObject({ found: ['902', '901', '903'], asked: [1, 2] });
    const own: AtBank = { own: ['902'], alone: ['901', '903'], reads: ['INSTRUCTION_PAYMENTS'] };
    expect(await readBy(at, own)).toMatchObject({ found: ['902', '901', '903'], asked: [0, 2] });
  });

  it('costs no call where the list lacks none', async () => {
    const all = ['901', '902', '903'];
    expect(await readBy(at, { own: all })).toEqual({ found: all, asked: [0, 0], by: ['own-list'] });
    expect(await readBy(at, { own: ['901'], general: all })).toMatchObject({ asked: [1, 0] });
  });

  it('is not looked for unless it is sought', async () => {
    const bank = { own: ['901'], general: ['902'], alone: ['903'] };
    const none = { found: ['901'], asked: [0, 0], by: ['own-list'] };
    expect(await readBy({ ...at, isSought: undefined }, bank)).toEqual(none);
    const is902 = (id: string) => id === '902';
    const one = { found: ['901', '902'], asked: [1, 0] };
    expect(await readBy({ ...at, isSought: is902 }, bank)).toMatchObject(one);
  });

  it.each([gone, new NotAllowed(403, raw), broken, new RateLimited(1)])(
    'is shown by itself where the general list fails (%s)',
    async (general) => {
      const bank = { own: ['901'], general, alone: ['902', '903'] };
      expect(await readBy(at, bank)).toMatchObject({ found: ['901', '902', '903'], asked: [1, 2] });
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

it('a decision goes past a few payments that are not shown by themselves', async () => {
  const bankIds = Array.from({ length: 9 }, (_, n) => [String(901 + n)] as const);
  const decided = { ...DECIDED, bankIds };
  const bank = { own: ['901'], alone: ['906', '907'] };
  expect(await readBy(decided, bank)).toMatchObject({ found: ['901', '906', '907'], asked: [1, 8] });
  expect(await readBy(decided, { own: ['901'] })).toMatchObject({ found: ['901'], asked: [1, 5] });
});

it('of more than a thousand that are only followed the next thousand are read so each time', async () => {
  const bankIds = Array.from({ length: 1_002 }, (_, n) => [String(n)] as const);
  const bank = { own: ['0'], alone: bankIds.map(([id]) => id) };
  const onUntried = jest.fn();
  const first = await readBy({ ...FOLLOWED, bankIds, onUntried }, bank);
  expect(first).toMatchObject({ asked: [1, 1_000] });
  expect(first.found).not.toContain('1001');
  expect(onUntried.mock.calls).toEqual([[['1001'], 'more-to-try']]);
  const second = await readBy({ ...FOLLOWED, bankIds, onUntried }, bank, 1);
  expect(onUntried.mock.lastCall).toEqual([['1000'], 'last-tried']);
  expect(second).toMatchObject({ asked: [2, 2_000] });
  expect(second.found).toContain('1001');
  const none = Array.from({ length: 1_001 }, (_, n) => [String(n)] as const);
  const told = onUntried.mock.calls.length;
  const inVain = await readBy({ ...FOLLOWED, bankIds: none, onUntried }, {});
  expect(inVain).toMatchObject({ found: [], asked: [1, 5] });
  expect(onUntried).toHaveBeenCalledTimes(told);
});

it('no decision rests on a payment that the bank fails to show by itself, unless it fails again and again', async () => {
  const bank = { own: ['901'], alone: broken };
  await expect(readBy(DECIDED, bank)).rejects.toBe(broken);
  await expect(readBy(DECIDED, bank, 3)).rejects.toBe(broken);
  expect(await readBy(DECIDED, bank, 4)).toMatchObject({ found: ['901'] });
});

it('what one payment alone may tell is read so a thousand times at most, whether or not the account is known to allow it', async () => {
  const bankIds = Array.from({ length: 1_001 }, (_, n) => [String(n)] as const);
  const alone = bankIds.map(([id]) => id);
  for (const reads of [LISTS, [...LISTS, 'PAYMENT'] as const]) {
    const bank = { alone, reads: [...reads] };
    expect(await readBy({ ...DECIDED, bankIds }, bank)).toMatchObject({ asked: [1, 1_000] });
    const told = { byAnyList: true, evenUnlisted: true, bankIds };
    expect(await readBy(told, bank)).toMatchObject({ asked: [1, 1_000] });
  }
});
