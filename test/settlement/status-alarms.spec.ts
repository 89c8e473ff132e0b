import { IsNull } from 'typeorm';
import { NEVER_SHOWN } from '../../src/domain/bank-status';
import { Attention } from '../../src/pay-run/attention.entity';
import { actionsFor } from '../../src/pay-run/attention-actions';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { FollowedPayment } from '../../src/settlement/follow-plan';
import {
  IN_ANOTHER_UNIT,
  tellOfShownAfterEnd,
  tellOfStatuses,
  UNRECORDABLE,
} from '../../src/settlement/status-alarms';
import { APPROVER, idsOf, PREPARER } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';
import { followed } from './followed-payment';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

/** Tells of overdue payments of the first instruction. */
async function tell(payments: readonly FollowedPayment[], bankStatus: string | null = null): Promise<void> {
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

describe('of which payments people are asked what a status means', () => {
  const odd = (...rows: number[]) => rows.map((rowNo) => followed({ rowNo, bankStatus: 'PRO_ODD', rank: 4 }));
  const open = async () => {
    const all = await office.database.inEmployer(ours.employer, (tx) =>
      tx.manager.findBy(Attention, { kind: 'UNKNOWN_STATUS', resolvedAt: IsNull() }),
    );
    return all.map(({ askedRows }) => askedRows);
  };
  const asked = (...rows: number[]) => [[{ status: 'PRO_ODD', rows }]];
  const later = () =>
    execute(
      office.server.superuserUrl,
      `UPDATE attention SET opened_at = opened_at - interval '11 minutes' WHERE resolved_at IS NULL`,
    );

  it('is told anew where others took the place of some, after a while only, and not where some merely went on', async () => {
    await tell(odd(1, 2));
    await tell(odd(2, 3));
    expect(await open()).toEqual(asked(1, 2));
    await later();
    await tell(odd(2));
    expect(await open()).toEqual(asked(1, 2));
    await tell(odd(2, 3));
    expect(await open()).toEqual(asked(2, 3));
    await tell(odd(3, 4));
    expect(await open()).toEqual(asked(2, 3));
  });

  it('is told anew where one went on to another status that is asked about already', async () => {
    const other = (rowNo: number) => followed({ rowNo, bankStatus: 'PRO_ODDER', rank: 4 });
    await tell([...odd(1), other(2)]);
    await later();
    await tell([other(1), other(2)]);
    expect(await open()).toEqual([[{ status: 'PRO_ODDER', rows: [1, 2] }]]);
  });

  it('is told anew at once where that was not kept yet', async () => {
    await tell(odd(1, 2));
    await execute(
      office.server.superuserUrl,
      'UPDATE attention SET asked_rows = NULL WHERE resolved_at IS NULL',
    );
    await tell(odd(2));
    expect(await open()).toEqual(asked(2));
  });

  it('is by the status of their instruction while the bank is past its submit with none, and by their own after that', async () => {
    const [still, shown] = [odd(1, 2), followed({ rowNo: 3, bankStatus: 'INITIATED', rank: 4 })];
    await tell([...still, shown], 'PRO_ODD');
    expect(await open()).toEqual([
      [
        { status: 'PRO_ODD', rows: [1, 2] },
        { status: 'PRO_ODD', rows: [3] },
      ],
    ]);
    await tell([...still, shown, followed({ rowNo: 4, bankStatus: 'SUBMITTED', rank: 9 })], 'PRO_ODD');
    expect(await open()).toEqual([
      [
        { status: 'PRO_ODD', rows: [1, 2] },
        { status: 'INITIATED', rows: [3] },
        { status: 'SUBMITTED', rows: [4] },
      ],
    ]);
  });

  it('is told of thousands of rows in little, and compared quickly', async () => {
    const many = Array.from({ length: 5000 }, (_, n) => n + 1);
    await tell(odd(...many));
    await later();
    const begun = performance.now();
    await tell(odd(...many.slice(1)));
    expect(performance.now() - begun).toBeLessThan(2000);
    expect(await open()).toEqual(asked(...many));
  });
});

describe('a submitted instruction of which no payment has moved past the cut-off', () => {
  const UNREAD = 'Nothing can be read from the bank at present.';
  const PAST = 'The cut-off of the execution date passed, and ';
  const STOOD_STILL = `${PAST}as far as the bank shows`;
  const UNKNOWN = `${PAST}no open payment of the submitted instruction is known to have moved. ${UNREAD}`;
  const still = [1, 2].map((rowNo) => followed({ rowNo, bankStatus: 'INITIATED', rank: 4 }));
  const look = (unread?: string, payments: readonly FollowedPayment[] = still) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      Object.assign(instruction, { bankStatus: 'INITIATED', bankInstructionId: '70685' });
      await tellOfStatuses(tx, instruction, payments, { shouldHaveMoved: true, overdue: false, unread });
    });
  const asked = async () => {
    const open = await office.database.inEmployer(ours.employer, (tx) =>
      tx.manager.findBy(Attention, { kind: 'BANK_ACTION_REQUIRED', resolvedAt: IsNull() }),
    );
    return open.map(({ happened, askBank }) => [happened, askBank]);
  };
  const decided = () =>
    execute(
      office.server.superuserUrl,
      `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
       SELECT employer_id, gen_random_uuid(), id, 'ACKNOWLEDGE', 'the bank looks', '${PREPARER}', '${APPROVER}', now()
       FROM attention WHERE resolved_at IS NULL;
       UPDATE attention SET resolved_at = now(), resolution = 'two people said so' WHERE resolved_at IS NULL`,
    );
  const wasItExecuted = [UNKNOWN, 'Was customer instruction 70685 executed? If not, what does it wait for?'];
  const forWhom = [
    expect.stringContaining(STOOD_STILL) as string,
    'Which approval or strong authentication does 70685 wait for?',
  ];

  it('is asked about by whether it was executed while the bank cannot be read, and by what it waits for once it can', async () => {
    await look(UNREAD);
    await look('What the bank shows of them cannot be recorded.');
    expect(await asked()).toEqual([wasItExecuted]);
    await look();
    await look();
    expect(await asked()).toEqual([forWhom]);
    await look(UNREAD);
    expect(await asked()).toEqual([forWhom]);
    await look(undefined, [followed({ bankStatus: 'SUB_STARTED', rank: 5 })]);
    expect(await asked()).toEqual([]);
  });

  it('is asked about once it can be read though it was decided while it could not, and not by an outage once that is decided', async () => {
    await look(UNREAD);
    await decided();
    await look(UNREAD);
    expect(await asked()).toEqual([]);
    await look();
    expect(await asked()).toEqual([forWhom]);
    await decided();
    await look(UNREAD);
    await look();
    expect(await asked()).toEqual([]);
  });
});

describe('what is held up where no payment has moved past the cut-off', () => {
  const initiated = (rowNo: number, status: 'SUBMITTED' | 'VOID') =>
    followed({ rowNo, amountMinor: 10_000n, bankStatus: 'INITIATED', rank: 4, status });
  const asked = () =>
    select(
      office.server.superuserUrl,
      `SELECT payments, amount_minor AS amount FROM attention WHERE kind = 'BANK_ACTION_REQUIRED' AND resolved_at IS NULL`,
    );

  it('is what people have not ended, and nothing once they have ended all', async () => {
    await tell([initiated(1, 'VOID'), initiated(2, 'SUBMITTED')]);
    expect(await asked()).toEqual([{ payments: 1, amount: '10000' }]);
    await tell([initiated(1, 'VOID'), initiated(2, 'VOID')]);
    expect(await asked()).toEqual([]);
    expect(
      await select(
        office.server.superuserUrl,
        `SELECT resolution FROM attention WHERE kind = 'BANK_ACTION_REQUIRED' AND resolved_at IS NOT NULL ORDER BY resolved_at DESC LIMIT 1`,
      ),
    ).toEqual([{ resolution: 'every payment reached its end' }]);
  });

  it('is what is open beside a payment that was refused before the submit', async () => {
    const refused = { rowNo: 2, bankStatus: 'INI_INT_CTRL_FAILED' };
    await tell([initiated(1, 'SUBMITTED'), followed({ ...refused, status: 'FAILED', rank: 14 })]);
    expect(await asked()).toEqual([{ payments: 1, amount: '10000' }]);
  });
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

describe('an undocumented status that is shown of what was paid', () => {
  const reversed = (...rows: number[]) =>
    rows.map((rowNo) =>
      followed({
        rowNo,
        paymentId: ours.payment,
        amountMinor: 100n,
        status: 'SETTLED',
        rank: 14,
        shownStatus: 'REVERSED',
      }),
    );
  const show = (payments: readonly FollowedPayment[]) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      await tellOfShownAfterEnd(tx, instruction, [], payments);
    });
  const asked = async () => {
    const open = await office.database.inEmployer(ours.employer, (tx) =>
      tx.manager.findBy(Attention, { kind: 'UNKNOWN_STATUS', resolvedAt: IsNull() }),
    );
    return open.map((one) => [/\(rows [^)]*\)/.exec(one.happened)?.[0], one.payments, ...actionsFor(one)]);
  };

  it('is asked about anew, once it was decided of some, where more show it; of fewer it is not', async () => {
    await show(reversed(1));
    await show(reversed(1, 2));
    expect(await asked()).toEqual([['(rows 1, 2)', 2, 'ACKNOWLEDGE']]);
    await execute(
      office.server.superuserUrl,
      `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
       SELECT employer_id, gen_random_uuid(), id, 'ACKNOWLEDGE', 'the bank looks', '${PREPARER}', '${APPROVER}', now()
       FROM attention WHERE resolved_at IS NULL;
       UPDATE attention SET resolved_at = now(), resolution = 'two people said so' WHERE resolved_at IS NULL`,
    );
    await show(reversed(2));
    expect(await asked()).toEqual([]);
    await show(reversed(1, 2, 3));
    expect(await asked()).toEqual([['(rows 1, 2, 3)', 3, 'ACKNOWLEDGE']]);
  });

  it('is asked about anew, once it was decided of some, where others show it in their place', async () => {
    await show(reversed(1, 2));
    await office.decide();
    await show(reversed(2));
    expect(await asked()).toEqual([]);
    await show(reversed(2, 3));
    expect(await asked()).toEqual([['(rows 2, 3)', 2, 'ACKNOWLEDGE']]);
  });

  it('is left open where the bank says that they were paid, of those alone that had ended unpaid', async () => {
    const failed = reversed(2).map((one) => ({ ...one, status: 'FAILED' as const }));
    await show([...reversed(1), ...failed]);
    const open = await office.database.inEmployer(ours.employer, (tx) =>
      tx.manager.findBy(Attention, { kind: 'UNKNOWN_STATUS', resolvedAt: IsNull() }),
    );
    const told = open.map(({ happened, certain }) => [
      /ended as (\w+)/.exec(happened)?.[1],
      certain.includes('If the bank says that they were paid, leave this open'),
    ]);
    expect(Object.fromEntries(told)).toEqual({ SETTLED: false, FAILED: true });
  });
});

describe('payments that are not final two banking days after the execution date', () => {
  const UNREAD = 'Nothing can be read from the bank at present.';
  const exchanged = (rowNo: number) =>
    followed({ rowNo, amountMinor: 10_000n, bankStatus: 'EXCHANGED', rank: 12 });
  const unseen = (rowNo: number) => followed({ rowNo, amountMinor: 10_000n, bankStatus: null, rank: 0 });
  const look = (payments: readonly FollowedPayment[], unread?: string) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      await tellOfStatuses(tx, instruction, payments, { shouldHaveMoved: true, overdue: true, unread });
    });
  const open = async () => {
    const all = await office.database.inEmployer(ours.employer, (tx) =>
      tx.manager.find(Attention, { where: { resolvedAt: IsNull() }, order: { kind: 'ASC' } }),
    );
    return all.filter(({ kind }) => kind !== 'BANK_ACTION_REQUIRED');
  };
  const asked = async () => (await open()).map(({ kind, payments, happened }) => [kind, payments, happened]);
  const has = (words: string) => expect.stringContaining(words) as string;

  it('are asked about by the status that they show alone', async () => {
    await look([exchanged(1)]);
    expect(await asked()).toEqual([['UNKNOWN_STATUS', 1, has('EXCHANGED (rows 1)')]]);
    const settled = followed({ rowNo: 2, status: 'SETTLED', bankStatus: 'SETTLED', rank: 14 });
    await look([exchanged(1), settled], UNREAD);
    expect(await asked()).toEqual([['UNKNOWN_STATUS', 1, has('EXCHANGED (rows 1)')]]);
  });

  it.each([
    ['refused before the submit', 'INI_INT_CTRL_FAILED', 'INI_INT_CTRL_FAILED'],
    ['ended, as no answer to an add should say', 'SETTLED', 'SETTLED'],
    ['nothing', null, NEVER_SHOWN],
  ])(
    'are decided by people also where the bank was last seen to show them as %s',
    async (_, bankStatus, as) => {
      await look([followed({ rowNo: 1, bankStatus, rank: 0 })]);
      expect(await asked()).toEqual([['UNKNOWN_STATUS', 1, has(` ${as} (rows 1)`)]]);
      expect((await open()).flatMap(actionsFor)).toEqual(['PAID', 'NOT_PAID']);
    },
  );

  it('are said to be so at a bank that cannot be read, and not any more once it can', async () => {
    for (const why of [UNREAD, UNRECORDABLE, IN_ANOTHER_UNIT]) {
      const late = `: EXCHANGED (rows 1), ${NEVER_SHOWN} (rows 2).`;
      await look([exchanged(1), unseen(2)], why);
      expect(await asked()).toEqual([['UNKNOWN_STATUS', 2, has(`${late} ${why}`)]]);
      await look([exchanged(1), unseen(2)]);
      await look([exchanged(1), unseen(2)], why);
      expect(await asked()).toEqual([['UNKNOWN_STATUS', 2, expect.stringMatching(/ \(rows 2\)\.$/)]]);
      await look([]);
    }
  });

  it('are asked about until each has ended, and anew once more is shown of one', async () => {
    await look([exchanged(1), unseen(2)]);
    await office.decide();
    await look([unseen(2)]);
    expect(await asked()).toEqual([['UNKNOWN_STATUS', 1, has(`: ${NEVER_SHOWN} (rows 2).`)]]);
    await look([exchanged(2)]);
    expect(await asked()).toEqual([['UNKNOWN_STATUS', 1, has(': EXCHANGED (rows 2).')]]);
    await look([followed({ rowNo: 2, status: 'VOID' })]);
    expect(await asked()).toEqual([]);
  });
});
