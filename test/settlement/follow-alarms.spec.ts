import { raise } from '../../src/pay-run/attention.store';
import { messageIdOf } from '../../src/pay-run/message-id';
import type { Totals } from '../../src/pay-run/match';
import { Attention } from '../../src/pay-run/attention.entity';
import { accountLostAgain } from '../../src/pay-run/lost-again';
import { groupsDiffer, totalsDiffer } from '../../src/pay-run/stop';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { tellOfEntries, tellOfForeign } from '../../src/settlement/follow-alarms';
import { acknowledgedOf } from '../../src/reconciliation/acknowledged';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

describe('the question what fees and refunds are that a submitted instruction lists', () => {
  it('says their amounts to whoever may see payments, and their sum', async () => {
    const { database, server } = office;
    await database.inEmployer(ours.employer, async (tx) => {
      const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      await tellOfEntries(tx, found, [
        { bankPaymentId: 'entry-2', transactionType: 'REFUND', amountMinor: 100_000n, currency: 'EUR' },
        { bankPaymentId: 'entry-1', transactionType: 'FEE', amountMinor: 1_500n, currency: 'EUR' },
        { bankPaymentId: 'entry-3', transactionType: 'FEE' },
      ]);
    });
    const asked = `SELECT happened, bank_words AS words, amount_minor AS minor FROM attention WHERE resolved_at IS NULL`;
    expect(await select(server.superuserUrl, asked)).toEqual([
      {
        happened: expect.stringMatching(/\(FEE, REFUND\): "entry-1", "entry-2", "entry-3"\.$/),
        words: 'FEE "entry-1": 15.00 EUR. REFUND "entry-2": 1000.00 EUR.',
        minor: '101500',
      },
    ]);
  });
});

type Records = { bankPaymentId: string; amountMinor?: bigint; currency: string }[];
const tellOf = (nth: 0 | 1, records: Records) =>
  office.database.inEmployer(ours.employer, async (tx) => {
    const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[nth] });
    await tellOfForeign(tx, found, records);
  });
const foreign = (bankPaymentId: string, amountMinor: bigint, currency = 'EUR') => ({
  bankPaymentId,
  amountMinor,
  currency,
});

/** As `foreign`, with the mark of a row of the first instruction. */
const marked = (bankPaymentId: string, amountMinor: bigint) => ({
  ...foreign(bankPaymentId, amountMinor),
  messageId: messageIdOf(ours.instruction[0], 1),
});

const approved = { count: 3, totalMinor: 300n };
/** The groups of an instruction of which three payments of 1.00 are approved show so much. */
const shows = (count: number, totalMinor: bigint, nth: 0 | 1 = 0) =>
  office.database.inEmployer(ours.employer, async (tx) => {
    const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[nth] });
    await groupsDiffer(tx, found, approved, [{ count, totalMinor }]);
  });
const stopping = () =>
  select<{ kind: string }>(
    office.server.superuserUrl,
    `SELECT kind FROM attention WHERE resolved_at IS NULL
     UNION ALL SELECT 'everything is stopped' FROM service_switch WHERE submits_off`,
  );

describe('what totals show of payments that were never sent, of which two people have decided', () => {
  const STOPS = [{ kind: 'TOTAL_MISMATCH_AFTER_SUBMIT' }, { kind: 'everything is stopped' }];

  it('stops nothing a second time where it is that money to the cent, however often it is shown', async () => {
    await tellOf(0, [foreign('1', 7_000n), foreign('2', 700n)]);
    await office.resume();
    await shows(5, 8_000n);
    await shows(5, 8_000n);
    expect(await stopping()).toEqual([]);
    await tellOf(0, [foreign('1', 7_000n), foreign('2', 700n), foreign('3', 1n)]);
    await office.resume();
    await shows(6, 8_001n);
    expect(await stopping()).toEqual([]);
  });

  it.each([
    { what: 'one more', count: 5, totalMinor: 8_000n },
    { what: 'one fewer', count: 3, totalMinor: 8_000n },
    { what: 'a cent more', count: 4, totalMinor: 8_001n },
    { what: 'a cent less', count: 4, totalMinor: 7_999n },
  ])('stops everything where it is $what', async ({ count, totalMinor }) => {
    await tellOf(0, [foreign('1', 7_700n)]);
    await office.resume();
    await shows(count, totalMinor);
    expect(await stopping()).toEqual(STOPS);
  });

  it.each([
    { what: 'in another currency', currency: 'JPY', totalMinor: 300n },
    { what: 'in another currency, as if they were euros', currency: 'JPY', totalMinor: 8_000n },
    { what: 'not said', amountMinor: undefined, totalMinor: 300n },
  ])('stops everything where the amount of one of them is $what', async ({ totalMinor, ...shown }) => {
    await tellOf(0, [{ ...foreign('1', 7_700n), ...shown }]);
    await office.resume();
    await shows(4, totalMinor);
    expect(await stopping()).toEqual(STOPS);
  });

  it('stops everything while they have not decided it, or decided it of another instruction', async () => {
    await tellOf(0, [foreign('1', 7_700n)]);
    await shows(4, 8_000n);
    expect(await stopping()).toEqual([{ kind: 'FOREIGN_RECORD' }, ...STOPS]);
    await office.resume();
    await shows(4, 8_000n, 1);
    expect(await stopping()).toEqual(STOPS);
  });

  it('stops everything where it was found in it before the submit, when its amounts were not kept', async () => {
    await office.database.inEmployer(ours.employer, (tx) =>
      raise(tx, {
        kind: 'FOREIGN_RECORD',
        subjectId: ours.instruction[0],
        happened: 'a payment is there that the record does not have',
        payments: 1,
        amountMinor: 7_700n,
      }),
    );
    await office.resume();
    await shows(4, 8_000n);
    expect(await stopping()).toEqual(STOPS);
  });
});

describe('payments that were never sent, of which two people have decided by what totals showed', () => {
  const STOPS = [{ kind: 'FOREIGN_RECORD' }, { kind: 'everything is stopped' }];

  it('stop nothing a second time where they are that money to the cent, however often they are listed', async () => {
    await shows(5, 8_000n);
    await office.resume();
    for (let n = 0; n < 2; n += 1) await tellOf(0, [foreign('1', 7_000n), foreign('2', 700n)]);
    expect(await stopping()).toEqual([]);
  });

  it.each([
    { what: 'one more', records: [foreign('1', 7_000n), foreign('2', 700n)] },
    { what: 'a cent more', records: [foreign('1', 7_701n)] },
    { what: 'a cent less', records: [foreign('1', 7_699n)] },
    { what: 'in another currency', records: [foreign('1', 7_700n, 'JPY')] },
  ])('stop everything where they are $what', async ({ records }) => {
    await shows(4, 8_000n);
    await office.resume();
    await tellOf(0, records);
    expect(await stopping()).toEqual(STOPS);
  });

  it('stop everything in another instruction, or where one joins them', async () => {
    await shows(4, 8_000n);
    await office.resume();
    await tellOf(0, [foreign('1', 7_700n)]);
    expect(await stopping()).toEqual([]);
    await tellOf(0, [foreign('1', 7_700n), foreign('2', 1n)]);
    expect(await stopping()).toEqual(STOPS);
    await office.resume();
    await tellOf(1, [foreign('1', 7_700n)]);
    expect(await stopping()).toEqual(STOPS);
  });

  it('stop everything where one bears our mark: totals said nothing of whom it pays a second time', async () => {
    await shows(4, 8_000n);
    await office.resume();
    await tellOf(0, [marked('1', 7_700n)]);
    expect(await stopping()).toEqual(STOPS);
  });
});

describe('what was acknowledged besides the rows of a run', () => {
  const tell = (...records: Records) => tellOf(0, records);
  const acknowledged = async () => {
    const all = await office.database.inEmployer(ours.employer, (tx) => acknowledgedOf(tx, [ours.run]));
    return all.map(({ count, amountMinor, bankWords }) => [count, amountMinor, bankWords]);
  };

  it('is of all records that were asked about, and of none twice', async () => {
    await tell(foreign('1', 100n), foreign('2', 20n));
    await office.decide();
    await tell(foreign('3', 3n));
    await office.decide();
    expect(await acknowledged()).toMatchObject([
      [2, 120n, expect.anything()],
      [1, 3n, expect.anything()],
    ]);
    await tell(foreign('1', 100n), foreign('2', 20n), foreign('3', 3n), foreign('4', 4000n));
    await office.decide();
    expect(await acknowledged()).toMatchObject([[4, 4123n, expect.anything()]]);
  });

  it('counts each record of decisions that overlap by the last one, and forgets none', async () => {
    await tell(foreign('1', 100n), foreign('2', 20n));
    await office.decide();
    await tell(foreign('2', 20n), foreign('3', 3n));
    await office.decide();
    expect(await acknowledged()).toMatchObject([
      [1, 100n, expect.anything()],
      [2, 23n, expect.anything()],
    ]);
  });

  it('counts all of them where they are more than are named', async () => {
    const many = (first: number) => Array.from({ length: 150 }, (_, n) => foreign(`${first + n}`, 1n));
    await tell(...many(1_000));
    await office.decide();
    await tell(...many(1_100));
    await office.decide();
    expect(await acknowledged()).toMatchObject([
      [100, 100n, expect.anything()],
      [150, 150n, expect.anything()],
    ]);
  });

  it('counts what the totals are beyond the approved ones by the last decision, and no payment twice', async () => {
    const shown = (count: number, totalMinor: bigint) =>
      office.database.inEmployer(ours.employer, async (tx) => {
        const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
        await groupsDiffer(tx, found, { count: 1, totalMinor: 100n }, [{ count, totalMinor }]);
      });
    await shown(2, 120n);
    await office.decide();
    expect(await acknowledged()).toEqual([[1, 20n, null]]);
    await shown(4, 420n);
    await office.decide();
    expect(await acknowledged()).toEqual([[3, 320n, null]]);
    await tell(foreign('1', 300n), foreign('2', 20n, 'JPY'));
    expect(await acknowledged()).toEqual([[3, 320n, null]]);
    await office.decide();
    expect(await acknowledged()).toEqual([
      [1, 20n, null],
      [2, 300n, expect.anything()],
    ]);
    await shown(0, 0n);
    await office.decide();
    expect(await acknowledged()).toEqual([
      [2, 300n, expect.anything()],
      [-3, -400n, null],
    ]);
  });

  const tellsOf = (nth: 0 | 1, approved: Totals, shown: Totals) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[nth] });
      await groupsDiffer(tx, found, approved, [shown]);
    });
  const lost = (instructionId: string | undefined, payments: number, amountMinor: bigint) =>
    office.database.inEmployer(ours.employer, (tx) =>
      accountLostAgain(tx, [
        {
          ...{ payRunId: ours.run, instructionId, someOf: [], times: 1, payments, amountMinor },
          takenMinor: amountMinor,
          ofAll: { count: payments, amountMinor },
        },
      ]),
    );
  const [first, second] = ours.instruction;
  const one = { count: 1, totalMinor: 100n };

  it('counts once what the totals and the balance show alike, and both where they differ', async () => {
    await lost(first, 1, 100n);
    await tellsOf(0, one, { count: 2, totalMinor: 107n });
    await office.decide();
    expect((await acknowledged()).sort()).toEqual([
      [1, 100n, null],
      [1, 7n, null],
    ]);
    await tellsOf(0, one, { count: 2, totalMinor: 200n });
    await office.decide();
    expect(await acknowledged()).toEqual([[1, 100n, null]]);
    await tell(marked('1', 100n));
    await office.decide();
    expect(await acknowledged()).toEqual([
      [0, 0n, null],
      [1, 100n, expect.anything()],
    ]);
  });

  it('says how often the account lost the sum of an instruction', async () => {
    const lostBy = (times: number) => {
      const amountMinor = 100n * BigInt(times);
      const taken = {
        payRunId: ours.run,
        instructionId: first,
        someOf: [],
        times,
        payments: times,
        amountMinor,
        takenMinor: amountMinor,
        ofAll: { count: times, amountMinor },
      };
      return office.database.inEmployer(ours.employer, (tx) => accountLostAgain(tx, [taken]));
    };
    await lostBy(1);
    await lostBy(3);
    const told = await office.database.inEmployer(ours.employer, (tx) =>
      tx.manager.find(Attention, { where: { employerId: ours.employer }, order: { openedAt: 'ASC' } }),
    );
    const lastTwo = told.slice(-2);
    expect(lastTwo.map(({ happened }) => happened.includes('3 times over'))).toEqual([false, true]);
    expect(lastTwo.map(({ askBank }) => askBank.includes('executed more than once'))).toEqual([false, true]);
  });

  it('counts once what the balance shows of all instructions of a run, whichever totals show it', async () => {
    await tellsOf(0, one, { count: 2, totalMinor: 200n });
    await office.decide();
    await lost(undefined, 2, 200n);
    await office.decide();
    expect(await acknowledged()).toEqual([[2, 200n, null]]);
    await tellsOf(1, one, { count: 3, totalMinor: 207n });
    await office.decide();
    expect(await acknowledged()).toEqual([
      [2, 200n, null],
      [1, 7n, null],
    ]);
  });

  it('is not what moved nothing of an instruction whose totals show it executed twice', async () => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE planned_instruction SET row_count = 3, total_minor = 300`,
    );
    const three = { count: 3, totalMinor: 300n };
    await tellsOf(0, three, { count: 6, totalMinor: 600n });
    await lost(first, 2, 180n);
    await office.decide();
    expect(await acknowledged()).toEqual([[2, 180n, null]]);
  });

  it('counts once what is listed of each instruction of a run whose account lost all of them again', async () => {
    await tell(foreign('1', 100n));
    await lost(undefined, 2, 200n);
    await office.decide();
    expect((await acknowledged()).sort()).toEqual([
      [1, 100n, null],
      [1, 100n, expect.anything()],
    ]);
    await tellOf(1, [foreign('2', 100n)]);
    await office.decide();
    expect((await acknowledged()).map(([, minor]) => minor)).toEqual([100n, 0n, 100n]);
  });

  it('counts once what totals show of one and a list of the other of them', async () => {
    await tellsOf(0, one, { count: 2, totalMinor: 200n });
    await tellOf(1, [foreign('2', 100n)]);
    await lost(undefined, 2, 200n);
    await office.decide();
    expect((await acknowledged()).map(([, minor]) => minor)).toEqual([100n, 100n]);
  });

  it('asks about another instruction of the run, and about all of it, where one was decided', async () => {
    const open = async () =>
      (await select(office.server.superuserUrl, `SELECT FROM attention WHERE resolved_at IS NULL`)).length;
    for (const [id, payments, minor] of [
      [first, 2, 120n],
      [second, 1, 100n],
      [undefined, 3, 220n],
    ] as const) {
      await lost(id, payments, minor);
      expect(await open()).toBe(1);
      await office.decide();
      await lost(id, payments, minor);
      expect(await open()).toBe(0);
    }
    expect(await acknowledged()).toEqual([[3, 220n, null]]);
  });

  it('takes what is listed by itself off the totals that show it, and not off the balance besides', async () => {
    const approved = { count: 3, totalMinor: 300n };
    await lost(first, 3, 300n);
    await tellsOf(0, approved, { count: 4, totalMinor: 320n });
    await tell(foreign('1', 20n));
    await office.decide();
    expect((await acknowledged()).sort()).toEqual([
      [0, 0n, null],
      [1, 20n, expect.anything()],
      [3, 300n, null],
    ]);
  });

  it('does not say that less was executed where more is listed than the totals showed', async () => {
    await office.database.inEmployer(ours.employer, async (tx) => {
      const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      await groupsDiffer(tx, found, { count: 1, totalMinor: 100n }, [{ count: 2, totalMinor: 120n }]);
    });
    await office.decide();
    await tellOf(1, [foreign('of another instruction', 20n)]);
    await office.decide();
    expect(await acknowledged()).toMatchObject([
      [1, 20n, null],
      [1, 20n, expect.anything()],
    ]);
    await tell(foreign('1', 20n), foreign('joined since', 300n));
    await office.decide();
    expect(await acknowledged()).toEqual([
      [0, 0n, null],
      [1, 20n, expect.anything()],
      [2, 320n, expect.anything()],
    ]);
  });

  it('tells of none whose difference is not known', async () => {
    await office.database.inEmployer(ours.employer, async (tx) => {
      const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      await totalsDiffer(tx, found, { rowCount: 1, totalMinor: 100n }, { happened: 'its payments differ' });
    });
    await office.decide();
    expect(await acknowledged()).toEqual([]);
  });

  it('counts no other currency as euros, and says how much it is of it', async () => {
    await tell(foreign('1', 100n), foreign('2', 5000n, 'JPY'));
    await office.decide();
    expect(await acknowledged()).toEqual([
      [2, 100n, 'Payment "1": 1.00 EUR. Payment "2": 5000 of the smallest unit of JPY.'],
    ]);
  });
});

describe('the question whence payments are that were never sent', () => {
  const asked = async (messageId: string) => {
    const { database, server } = office;
    await database.inEmployer(ours.employer, async (tx) => {
      const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      await tellOfForeign(tx, found, [{ bankPaymentId: '4711', messageId }]);
    });
    const stored = `SELECT happened, certain, ask_bank AS ask FROM attention WHERE kind = 'FOREIGN_RECORD'`;
    return (
      await select<{ happened: string; certain: string; ask: string }>(server.superuserUrl, stored)
    )[0]!;
  };

  it('says of which of our rows there is another payment, and that who is named may be paid twice', async () => {
    const told = await asked(messageIdOf(ours.instruction[0], 7));
    expect(told.happened).toMatch(/payment "4711"\. Such bear our mark of rows 7\.$/);
    expect(told.certain).toContain('may be paid twice');
    expect(told.ask).toContain('Please stop what is there twice');
  });

  it('says of others that they are none of ours', async () => {
    const told = await asked(messageIdOf(ours.instruction[1], 7));
    expect([told.happened, told.certain]).toEqual([
      expect.stringMatching(/payment "4711"\.$/),
      'We never sent this payment. It is in none of our approved rows.',
    ]);
  });
});
