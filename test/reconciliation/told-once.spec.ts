import fc from 'fast-check';
import { sumMinor } from '../../src/domain/money';
import { NOTHING } from '../../src/domain/reconciliation';
import { Shown, toldOnce } from '../../src/reconciliation/told-once';

const RUN = { payRunId: 'run', bankAccountId: 'account', loss: null };
const told = (all: readonly Shown[]) => sumMinor(toldOnce(all).map((one) => one.amountMinor));

/** An instruction with what of it was paid, and which of totals and list show that it was executed again. */
const instruction = fc.record({
  paid: fc.array(fc.bigInt(1n, 1_000n), { minLength: 1, maxLength: 4 }),
  unpaid: fc.array(fc.bigInt(1n, 1_000n), { maxLength: 2 }),
  inTotals: fc.boolean(),
  listed: fc.nat(4),
  strangerMinor: fc.option(fc.bigInt(1n, 1_000n)),
});
type Executed = typeof instruction extends fc.Arbitrary<infer One> ? One : never;

const totalOf = (amounts: readonly bigint[]) => ({ count: amounts.length, amountMinor: sumMinor(amounts) });

/** What shows a second execution of the instructions, and strangers that only totals show. */
function witnesses(all: readonly Executed[]): Shown[] {
  return all.flatMap(({ paid, unpaid, inTotals, listed, strangerMinor }, n) => {
    const of = { ...RUN, instructionId: String(n), approved: totalOf([...paid, ...unpaid]) };
    const strangers = strangerMinor === null ? [] : [strangerMinor];
    const totals = { ...of, by: 'totals' as const, ...totalOf([...paid, ...unpaid, ...strangers]) };
    const list = { ...of, by: 'list' as const, approved: NOTHING, ...totalOf(paid.slice(0, listed)) };
    return [...(inTotals ? [totals] : []), ...(listed > 0 ? [list] : [])];
  });
}

function balanceOf(all: readonly Executed[], instructionId: string | null): Shown {
  const approved = totalOf(all.flatMap(({ paid, unpaid }) => [...paid, ...unpaid]));
  return { ...RUN, by: 'balance', instructionId, approved, ...totalOf(all.flatMap(({ paid }) => paid)) };
}

const strangersOf = (all: readonly Executed[]) =>
  sumMinor(all.map(({ inTotals, strangerMinor }) => (inTotals ? (strangerMinor ?? 0n) : 0n)));

describe('what an account lost again', () => {
  const run = fc.array(instruction, { minLength: 1, maxLength: 4 });

  it('is told once, and strangers besides, whatever else shows it of all instructions of a run', () => {
    fc.assert(
      fc.property(run, (all) => {
        const balance = balanceOf(all, null);
        expect(told([balance, ...witnesses(all)])).toBe(balance.amountMinor + strangersOf(all));
      }),
    );
  });

  it('is told once of one instruction, and what is shown of others as without it', () => {
    fc.assert(
      fc.property(run, ([first, ...others]) => {
        const balance = balanceOf([first!], '0');
        const ofOthers = witnesses([{ ...first!, inTotals: false, listed: 0 }, ...others]);
        const all = [...witnesses([first!]), ...ofOthers, balance];
        expect(told(all)).toBe(balance.amountMinor + strangersOf([first!]) + told(ofOthers));
      }),
    );
  });

  it('is never told as less, however often it was executed and whatever totals and lists show', () => {
    const any = fc.record({
      by: fc.constantFrom('totals' as const, 'list' as const, 'move' as const, 'else' as const),
      payRunId: fc.constantFrom('run', 'other'),
      bankAccountId: fc.constant('account'),
      instructionId: fc.constantFrom('0', '1'),
      approved: fc.record({ count: fc.nat(3), amountMinor: fc.bigInt(0n, 300n) }),
      count: fc.nat(9),
      amountMinor: fc.bigInt(0n, 900n),
      loss: fc.constant(null),
    });
    const balance = fc.record({
      instructionId: fc.constantFrom(null, '0'),
      count: fc.nat(9),
      amountMinor: fc.bigInt(1n, 900n),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 6 }), balance, (all, lost) => {
        const one: Shown = { ...RUN, by: 'balance', approved: { count: 3, amountMinor: 300n }, ...lost };
        expect(told([...all, one])).toBeGreaterThanOrEqual(lost.amountMinor);
        expect(toldOnce([...all, one]).every(({ amountMinor }) => amountMinor >= 0n)).toBe(true);
      }),
    );
  });
});

describe('what an account lost once, and may be of any of several runs', () => {
  const of = (run: number, one: Shown): Shown => ({
    ...one,
    payRunId: `run ${run}`,
    instructionId: `${run}`,
  });
  const sizes = fc.record({ runs: fc.integer({ min: 2, max: 4 }), which: fc.nat(3) });

  it('is told once, and strangers besides, whatever else shows it of the one that it was', () => {
    fc.assert(
      fc.property(instruction, sizes, (executed, { runs, which }) => {
        const { count, amountMinor } = totalOf(executed.paid);
        const loss = { id: 'one', count, amountMinor };
        const balances = Array.from({ length: runs }, (_, run) =>
          of(run, { ...balanceOf([executed], '0'), loss }),
        );
        const shown = witnesses([executed]).map((one) => of(which % runs, one));
        expect(told([...balances, ...shown])).toBe(amountMinor + strangersOf([executed]));
      }),
    );
  });

  it('is told of the one of which totals show it', () => {
    const loss = { id: 'one', count: 1, amountMinor: 100n };
    const once = { ...RUN, count: 1, amountMinor: 100n, approved: loss, instructionId: '0' };
    const balances = [0, 1, 2].map((run) => of(run, { ...once, by: 'balance', loss }));
    const all = toldOnce([...balances, of(1, { ...once, by: 'totals' })]);
    expect(all.map(({ payRunId, by }) => [payRunId, by])).toEqual([['run 1', 'balance']]);
  });

  it('is told of each of which totals show it, though the account seemed to have lost it once', () => {
    const loss = { id: 'one', count: 1, amountMinor: 100n };
    const once = { ...RUN, count: 1, amountMinor: 100n, approved: loss, instructionId: '0' };
    const balances = [0, 1, 2].map((run) => of(run, { ...once, by: 'balance', loss }));
    expect(told([...balances, of(0, { ...once, by: 'totals' }), of(2, { ...once, by: 'totals' })])).toBe(
      200n,
    );
  });

  const part = fc.record({
    loss: fc.constantFrom('one', 'other', null),
    amountMinor: fc.bigInt(1n, 300n),
    totals: fc.option(fc.bigInt(0n, 900n)),
    listed: fc.option(fc.bigInt(0n, 900n)),
    moved: fc.option(fc.bigInt(1n, 300n)),
  });
  type Part = typeof part extends fc.Arbitrary<infer One> ? One : never;

  /** At the least what most of its runs is told of, at the most what all are told of. */
  function lossesIn(parts: readonly Part[], percent: number) {
    return ['one', 'other'].map((id) => {
      const sums = parts.filter(({ loss }) => loss === id).map(({ amountMinor }) => amountMinor);
      const mostMinor = sums.reduce((most, minor) => (minor > most ? minor : most), 0n);
      const restMinor = sumMinor(sums) - mostMinor;
      return { id, count: sums.length, amountMinor: mostMinor + (restMinor * BigInt(percent)) / 100n };
    });
  }

  it('is never told as less, and no loss is taken for another of the same sum', () => {
    const parts = fc.array(part, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(parts, fc.nat(100), (all, percent) => {
        const losses = lossesIn(all, percent);
        const shown = all.flatMap(({ loss: id, amountMinor, totals, listed, moved }, run): Shown[] => {
          const one = { ...RUN, approved: { count: 1, amountMinor }, count: 1, instructionId: '0' };
          const loss = losses.find((each) => each.id === id) ?? null;
          return [
            of(run, { ...one, by: 'balance', amountMinor, loss }),
            ...(totals === null ? [] : [of(run, { ...one, by: 'totals', amountMinor: totals })]),
            ...(listed === null ? [] : [of(run, { ...one, by: 'list', amountMinor: listed })]),
            ...(moved === null ? [] : [of(run, { ...one, by: 'move', amountMinor: moved })]),
          ];
        });
        const alone = all.filter(({ loss }) => loss === null);
        const lostMinor = sumMinor([...losses, ...alone].map(({ amountMinor }) => amountMinor));
        expect(told(shown.filter(({ by }) => by === 'balance'))).toBe(lostMinor);
        expect(told(shown)).toBeGreaterThanOrEqual(lostMinor);
        expect(toldOnce(shown).every(({ amountMinor }) => amountMinor >= 0n)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('what moved though it was declared not executed', () => {
  const move = (payRunId: string, amountMinor: bigint, bankAccountId = 'account'): Shown => ({
    ...{
      by: 'move',
      payRunId,
      bankAccountId,
      instructionId: payRunId,
      approved: NOTHING,
      count: 1,
      amountMinor,
      loss: null,
    },
  });
  const lost = (payRunId: string, amountMinor: bigint, approvedMinor = amountMinor): Shown => ({
    ...move(payRunId, amountMinor),
    by: 'balance',
    approved: { count: 1, amountMinor: approvedMinor },
  });
  const ofEither = (amountMinor: bigint, ...runs: string[]): Shown[] => {
    const loss = { id: 'a loss', count: 1, amountMinor };
    return runs.map((payRunId) => ({ ...lost(payRunId, amountMinor), loss }));
  };

  it.each([
    ['once, where the account lost as much, of another run', [move('a', 7n), lost('b', 7n)], 7n],
    ['once, where it lost as much several times over', [move('a', 7n), lost('b', 14n, 7n)], 14n],
    ['besides, where it lost what some of it divides', [move('a', 1n), lost('b', 200n)], 201n],
    ['besides, where it lost as often what another pays', [move('a', 5n), lost('b', 20n, 10n)], 25n],
    ['once, where it lost what all of them pay', [move('a', 7n), move('b', 5n), lost('c', 12n)], 12n],
    ['besides, where the account lost something else', [move('a', 7n), lost('b', 8n)], 15n],
    ['besides, where another account lost as much', [move('a', 7n, 'other'), lost('b', 7n)], 14n],
    ['besides, where it lost as much as one of two', [move('a', 7n), move('b', 7n), lost('c', 7n)], 14n],
    [
      'besides, where it lost once as much as one of two',
      [move('a', 7n), move('b', 7n), ...ofEither(7n, 'c', 'd')],
      14n,
    ],
    [
      'once, where it lost as much once, of either of two runs',
      [move('a', 7n), ...ofEither(7n, 'c', 'd')],
      7n,
    ],
    ['by itself, where the account is not told of', [move('a', 7n)], 7n],
  ])('is told %s', (_how, all, minor) => {
    expect(told(all)).toBe(minor);
  });
});
