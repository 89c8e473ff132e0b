import { readById } from '../../src/database/by-id';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { isChargeUnread, tellOfCharges } from '../../src/settlement/unread-charges';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { select } from '../support/database';
import { followed } from './followed-payment';

describe('charges that could not be read', () => {
  it.each<[string, boolean, Parameters<typeof isChargeUnread>[1]]>([
    ['stay so where none are shown any more', true, [{}]],
    ['stay so where the payment is not shown', true, []],
    [
      'stay so where one of two records shows them still',
      true,
      [{ chargesUnread: true }, { chargesMinor: 1n }],
    ],
    ['are read once a record shows them well', false, [{ chargesMinor: 1n }]],
    ['are read where a record shows that there are none', false, [{}, { chargesMinor: 0n }]],
  ])('%s', (_what, unread, shown) => {
    expect(isChargeUnread({ chargesUnread: true }, shown)).toBe(unread);
  });

  it('are not any where none were shown', () => {
    expect(isChargeUnread({ chargesUnread: false }, [{}])).toBe(false);
    expect(isChargeUnread({ chargesUnread: false }, [{ chargesUnread: true }])).toBe(true);
  });
});

describe('a question about charges that cannot be read', () => {
  const ours = idsOf(1);
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
  });
  afterEach(() => office.close());

  const payments = (unread: readonly number[]) =>
    [1, 2, 3].map((rowNo) =>
      followed({ rowNo, bankIds: [`90${rowNo}`], chargesUnread: unread.includes(rowNo) }),
    );
  /** A read has the charges of these rows unread, where it was those of others before. */
  const shows = (unread: readonly number[], before: readonly number[] = []) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await readById(tx, Instruction, ours.instruction[0]);
      const now = payments(unread).filter(({ chargesUnread }) => chargesUnread);
      await tellOfCharges(tx, instruction, payments(before), now);
    });
  const asked = () =>
    select<{ id: string; payments: number; happened: string }>(
      office.server.superuserUrl,
      `SELECT id, payments, happened FROM attention WHERE resolved_at IS NULL`,
    );
  const rowsAsked = async () => (await asked()).map(({ happened }) => /\((rows .*)\)/.exec(happened)?.[1]);

  it('is told once, anew for more payments, and cleared once all are read', async () => {
    await shows([1]);
    const [first] = await asked();
    await shows([1], [1]);
    expect(await asked()).toEqual([first]);
    await shows([1, 3], [1]);
    expect(await rowsAsked()).toEqual(['rows 1, 3']);
    await shows([], [1, 3]);
    expect(await asked()).toEqual([]);
  });

  it('is not asked again of those that were decided, nor of some of them, and is of others', async () => {
    await shows([1, 2]);
    await office.decide();
    await shows([1, 2], [1, 2]);
    await shows([2], [1, 2]);
    expect(await asked()).toEqual([]);
    await shows([3], [2]);
    expect(await rowsAsked()).toEqual(['rows 3']);
  });
});
