import { Instruction } from '../../src/pay-run/instruction.entity';
import { FollowedPayment } from '../../src/settlement/follow-plan';
import { tellOfStatuses } from '../../src/settlement/status-alarms';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { select } from '../support/database';
import { followed } from './followed-payment';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

/** Tells of overdue payments of the first instruction. */
async function tell(payments: readonly FollowedPayment[], bankStatus?: string): Promise<void> {
  await office.database.inEmployer(ours.employer, async (tx) => {
    const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
    const late = { shouldHaveMoved: true, overdue: true };
    await tellOfStatuses(tx, Object.assign(instruction, { bankStatus }), payments, late);
  });
}

it('the question what a status means says how many rows there are beside those it names', async () => {
  await tell(
    Array.from({ length: 12 }, (_, n) => followed({ rowNo: n + 1, bankStatus: 'PRO_ODD', rank: 4 })),
  );
  const asked = `SELECT happened FROM attention WHERE kind = 'UNKNOWN_STATUS' AND resolved_at IS NULL`;
  const named = 'PRO_ODD (rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more)';
  expect(await select(office.server.superuserUrl, asked)).toEqual([
    { happened: expect.stringContaining(named) as string },
  ]);
});

it('what a status means is asked anew for more payments than were told, and for fewer it is not', async () => {
  const odd = (...rows: number[]) =>
    rows.map((rowNo) =>
      followed({ rowNo, amountMinor: 100n * BigInt(rowNo), bankStatus: 'PRO_ODD', rank: 4 }),
    );
  const asked = async () => {
    const all = await select<{ resolution: string | null; happened: string }>(
      office.server.superuserUrl,
      `SELECT resolution, happened FROM attention WHERE kind = 'UNKNOWN_STATUS' AND resolution IS DISTINCT FROM 'before the test' ORDER BY id`,
    );
    return all.map(({ resolution, happened }) => [resolution, /\(rows [^)]*\)/.exec(happened)?.[0]]);
  };
  const more = 'there is more to it: told anew';
  await tell(odd(1, 3));
  await tell(odd(3));
  expect(await asked()).toEqual([[null, '(rows 1, 3)']]);
  await tell(odd(1, 2, 3));
  const three = [
    [more, '(rows 1, 3)'],
    [null, '(rows 1, 2, 3)'],
  ];
  expect(await asked()).toEqual(three);
  await tell(odd(1, 2));
  expect(await asked()).toEqual(three);
  await tell(odd(2, 3, 4));
  expect((await asked()).at(-1)).toEqual([null, '(rows 2, 3, 4)']);
});

describe('what is held up by statuses that do not say what became of payments', () => {
  it.each(['EXCHANGE_ERROR', 'PRO_MANUAL_REVIEW'])(
    'is counted once where the overdue payments and their instruction (%s) are asked about together',
    async (bankStatus) => {
      const payments = [1, 2].map((rowNo) =>
        followed({ rowNo, amountMinor: 10_000n, bankStatus: 'INITIATED', rank: 4 }),
      );
      await tell(payments, bankStatus);
      const asked = await select(
        office.server.superuserUrl,
        `SELECT payments, amount_minor AS amount FROM attention WHERE kind = 'UNKNOWN_STATUS' AND resolved_at IS NULL`,
      );
      expect(asked).toEqual([{ payments: 2, amount: '20000' }]);
    },
  );
});
