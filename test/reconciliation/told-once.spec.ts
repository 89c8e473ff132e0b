import fc from 'fast-check';
import { sumMinor } from '../../src/domain/money';
import { NOTHING } from '../../src/domain/reconciliation';
import { Shown, toldOnce } from '../../src/reconciliation/told-once';

const RUN = { payRunId: 'run', bankAccountId: 'account' };
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
    },
  });
  const lost = (payRunId: string, amountMinor: bigint, approvedMinor = amountMinor): Shown => ({
    ...move(payRunId, amountMinor),
    by: 'balance',
    approved: { count: 1, amountMinor: approvedMinor },
  });

  it.each([
    ['once, where the account lost as much, of another run', [move('a', 7n), lost('b', 7n)], 7n],
    ['once, where it lost as much several times over', [move('a', 7n), lost('b', 14n, 7n)], 14n],
    ['besides, where it lost what some of it divides', [move('a', 1n), lost('b', 200n)], 201n],
    ['besides, where it lost as often what another pays', [move('a', 5n), lost('b', 20n, 10n)], 25n],
    ['once, where it lost what all of them pay', [move('a', 7n), move('b', 5n), lost('c', 12n)], 12n],
    ['besides, where the account lost something else', [move('a', 7n), lost('b', 8n)], 15n],
    ['besides, where another account lost as much', [move('a', 7n, 'other'), lost('b', 7n)], 14n],
    ['besides, where it lost as much as one of two', [move('a', 7n), move('b', 7n), lost('c', 7n)], 14n],
    ['by itself, where the account is not told of', [move('a', 7n)], 7n],
  ])('is told %s', (_how, all, minor) => {
    expect(told(all)).toBe(minor);
  });
});
