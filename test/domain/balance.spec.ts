import fc from 'fast-check';
import {
  lacksDeclared,
  mayBeBookedLate,
  PaidByInstruction,
  paidAgain,
  TakenAgain,
} from '../../src/domain/balance';

const one = (
  instructionId: string,
  amountMinor: bigint,
  chargesMinor = 0n,
  returnedMinor = 0n,
  payRunId = 'run',
): PaidByInstruction => ({
  payRunId,
  instructionId,
  payments: 1,
  amountMinor,
  chargesMinor,
  returnedMinor,
  unpaidMinor: 0n,
  unpaidChargesMinor: 0n,
  voidMinor: 0n,
});
/** The same, where payments of the first of them ended unpaid. */
const withUnpaid = (
  [first, ...others]: PaidByInstruction[],
  unpaidMinor: bigint,
  unpaidChargesMinor = 0n,
): PaidByInstruction[] => [{ ...first!, unpaidMinor, unpaidChargesMinor }, ...others];
const paid = [one('a', 1_000n, 10n), one('b', 2_500n, 20n)];
const TOOK = 3_530n;
const again = (
  instructionId: string | undefined,
  payments: number,
  amountMinor: bigint,
  payRunId = 'run',
  times = 1,
  someOf: string[] = [],
  takenMinor = amountMinor,
  ofAll = { count: payments, amountMinor },
): TakenAgain[] => [{ payRunId, instructionId, someOf, times, payments, amountMinor, takenMinor, ofAll }];
const secondAgain = again('b', 1, 2_500n);

describe('what an account lost over a run', () => {
  it.each([
    ['as much as its payments and their charges', 0n, []],
    ['less, as something came in', -500n, []],
    ['as much again as the first instruction', 1_000n, again('a', 1, 1_000n)],
    ['as much again as the second one with its charges', 2_520n, again('b', 1, 2_500n, 'run', 1, [], 2_520n)],
    ['as much again as all of them', 3_500n, again(undefined, 2, 3_500n)],
    [
      'as much again as all of them with their charges',
      3_530n,
      again(undefined, 2, 3_500n, 'run', 1, [], 3_530n),
    ],
    ['twice as much again as the second instruction', 5_000n, again('b', 2, 5_000n, 'run', 2)],
    [
      'three times as much again as the first one with its charges',
      3_030n,
      again('a', 3, 3_000n, 'run', 3, [], 3_030n),
    ],
    ['twice as much again as all of them', 7_000n, again(undefined, 4, 7_000n, 'run', 2)],
    ['four times as much again as the second one', 10_000n, []],
    ['a cent more than an instruction', 1_001n, []],
    ['a cent more than twice an instruction', 2_001n, []],
    ['something else', 700n, []],
  ])('%s', (_what, besidesMinor, expected) => {
    expect(paidAgain(paid, TOOK + besidesMinor)).toEqual(expected);
  });

  it.each([
    ['may be what was not paid and has not come back, though an instruction took as much', 1_000n, 'not-yet'],
    ['may be a part of that', 400n, 'not-yet'],
    ['is more than all of that', 1_001n, []],
    ['is more than that by an instruction', 3_500n, secondAgain],
    ['is an instruction, with all of that back', 2_500n, secondAgain],
  ])('and where payments ended unpaid, %s', (_what, besidesMinor, expected) => {
    expect(paidAgain(withUnpaid(paid, 1_000n), TOOK + besidesMinor)).toEqual(expected);
  });

  it.each([
    ['is none at all', 0n, []],
    ['may be all of them', 30n, []],
    ['is more, and may be what was not paid', 500n, 'not-yet'],
    ['is an instruction besides them', 2_530n, secondAgain],
    ['is an instruction, and none of them was taken', 2_500n, secondAgain],
    ['is an instruction besides them and what was not paid', 3_530n, secondAgain],
  ])('and where the bank shows charges of those, %s', (_what, besidesMinor, expected) => {
    expect(paidAgain(withUnpaid(paid, 1_000n, 30n), TOOK + besidesMinor)).toEqual(expected);
  });

  it.each([
    ['is back', -600n, 0n, []],
    ['is not back, as far as it shows, or hides as much that was paid again', 0n, 0n, 'not-yet'],
    ['is back but for a fee', -590n, 0n, 'not-yet'],
    ['is back, and an instruction was paid again', 1_900n, 0n, ['b']],
    ['is not back, and an instruction was paid again', 2_500n, 0n, ['b']],
    ['is back, what was not paid is not, and an instruction was paid again', 2_000n, 100n, ['b']],
    ['is not back, what was not paid is, and an instruction was paid again', 2_520n, 100n, ['b']],
  ])(
    'and where one came back after it was paid, its money %s',
    (_what, besidesMinor, unpaidMinor, expected) => {
      const returned = [one('a', 1_000n, 10n, 600n), one('b', 2_500n, 20n)];
      const found = paidAgain(withUnpaid(returned, unpaidMinor), TOOK + besidesMinor);
      expect(found === 'not-yet' ? found : found.map(({ instructionId }) => instructionId)).toEqual(expected);
    },
  );

  it.each([
    ['is one of these', 800n, 'not-yet'],
    ['is all of these, and what was not paid is not back', 1_800n, 'not-yet'],
    ['is as much as an instruction that was paid', 1_000n, again('a', 1, 1_000n)],
    ['is less than any of these', 300n, []],
    ['is more than all of these', 1_501n, []],
  ])('and where people declared some not executed, %s', (_what, besidesMinor, expected) => {
    const ofVoid = (id: string, voidMinor: bigint) => ({ ...one(id, 0n), payments: 0, voidMinor });
    const all = [...paid, ofVoid('c', 800n), ofVoid('d', 700n)];
    const unpaidMinor = besidesMinor === 1_800n ? 300n : 0n;
    expect(paidAgain(withUnpaid(all, unpaidMinor), TOOK + besidesMinor)).toEqual(expected);
  });

  it.each([
    ['is that, though as much may not have come back', 800n, true],
    ['is that, and what was not paid is not back', 1_800n, true],
    ['is that, and what was declared of all others too', 2_100n, true],
    ['is what was declared of another run alone', 700n, false],
    ['is what was not paid', 1_000n, false],
    ['is nothing', 0n, false],
    ['is what was declared of a run that paid something too', 600n, true],
  ])('and where people declared all of a run not executed, %s', (_what, lackMinor, expected) => {
    const ofVoid = (payRunId: string, voidMinor: bigint) => ({
      ...one(payRunId, 0n, 0n, 0n, payRunId),
      payments: 0,
      voidMinor,
    });
    const all = [...paid, ofVoid('declared', 800n), ofVoid('other', 700n), ofVoid('run', 600n)];
    expect(lacksDeclared('declared', withUnpaid(all, 1_000n), TOOK + lackMinor, [])).toBe(expected);
  });

  it('hides no instruction that was paid again, and of which all came back', () => {
    expect(paidAgain([one('a', 1_000n, 0n, 1_000n)], 1_000n)).toBe('not-yet');
  });

  it('is told of each run by itself where it is what several took, and of none that paid nothing', () => {
    const ofOther = one('c', 4_000n, 0n, 0n, 'other');
    const unpaid = { ...one('d', 0n, 0n, 0n, 'another'), payments: 0 };
    const ofAll = { count: 3, amountMinor: 7_500n };
    expect(paidAgain([...paid, ofOther, unpaid], TOOK + 4_000n + 7_500n)).toEqual([
      ...again(undefined, 2, 3_500n, 'run', 1, [], 7_500n, ofAll),
      ...again('c', 1, 4_000n, 'other', 1, [], 7_500n, ofAll),
    ]);
  });

  it('is told of the one run of which all was taken again, though others paid meanwhile', () => {
    const all = [...paid, one('c', 4_000n, 0n, 0n, 'other'), one('d', 700n, 0n, 0n, 'other')];
    expect(paidAgain(all, TOOK + 4_700n + 3_530n)).toEqual(again(undefined, 2, 3_500n, 'run', 1, [], 3_530n));
    expect(paidAgain(all, TOOK + 4_700n + 9_400n)).toEqual(again(undefined, 4, 9_400n, 'other', 2));
  });

  it('may be any of those that took as much, of whichever run', () => {
    const all = [...paid, one('c', 1_000n), one('d', 1_010n), one('e', 1_000n, 0n, 0n, 'other')];
    const took = 3_530n + 3_010n;
    expect(paidAgain(all, took + 1_000n)).toEqual([
      ...again(undefined, 1, 1_000n, 'run', 1, ['a', 'c', 'e']),
      ...again(undefined, 1, 1_000n, 'other', 1, ['a', 'c', 'e']),
    ]);
    expect(paidAgain(all.slice(0, 4), took - 1_000n + 1_010n)).toEqual(
      again(undefined, 1, 1_010n, 'run', 1, ['a', 'd']),
    );
  });

  it('is of all of them what those took together that took most, whichever it was', () => {
    const [a, b] = [one('a', 1_000n, 0n, 0n, 'one'), one('b', 1_000n, 0n, 0n, 'other')];
    const c = { ...one('c', 700n, 0n, 0n, 'third'), payments: 2 };
    const found = paidAgain([a, b, c], 2_700n + 1_700n);
    const names =
      found === 'not-yet' ? [] : found.map(({ payRunId, amountMinor }) => [payRunId, amountMinor]);
    expect(names).toEqual([
      ['one', 1_000n],
      ['other', 1_000n],
      ['third', 700n],
    ]);
    const ofAll = { count: 3, amountMinor: 1_700n };
    expect(found).toMatchObject([{ ofAll }, { ofAll }, { ofAll }]);
  });

  it('may be any of the runs that took as much', () => {
    const ofOther = [one('c', 3_000n, 0n, 0n, 'other'), one('d', 500n, 0n, 0n, 'other')];
    expect(paidAgain([...paid, ...ofOther], TOOK + 3_500n + 3_500n)).toEqual([
      ...again(undefined, 2, 3_500n, 'run', 1, ['a', 'b', 'c', 'd']),
      ...again(undefined, 2, 3_500n, 'other', 1, ['a', 'b', 'c', 'd']),
    ]);
  });

  it.each([
    ['one that ended just before', 2_500n, true],
    ['one of these with its charges', 2_520n, true],
    ['some of these', 3_500n, true],
    ['a cent more than one', 2_501n, false],
    ['some with and others without their charges', 3_520n, false],
  ])('may be what the bank booked late where it is what %s took', (_what, takenMinor, expected) => {
    const before = [...paid, one('c', 8_000n)];
    expect(mayBeBookedLate(again('z', 1, takenMinor), before)).toBe(expected);
    expect(mayBeBookedLate([], before)).toBe(false);
  });

  it('names nothing where nothing was paid', () => {
    expect(paidAgain([], 100n)).toEqual([]);
  });

  it('shows any single instruction that was paid again, and nothing where none was', () => {
    const amounts = fc.uniqueArray(fc.bigInt(1n, 10n ** 12n), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(amounts, fc.nat(), (list, nth) => {
        const all = list.map((amountMinor, n) => one(String(n), amountMinor));
        const took = list.reduce((sum, amountMinor) => sum + amountMinor, 0n);
        const taken = list[nth % list.length]!;
        expect(paidAgain(all, took)).toEqual([]);
        expect(paidAgain(all, took + taken)).toMatchObject([{ amountMinor: taken }]);
      }),
    );
  });

  const sumOf = (list: readonly bigint[]) => list.reduce((sum, minor) => sum + minor, 0n);

  it('is never silent where some instructions of a run were paid again, and never tells where none was', () => {
    const amounts = fc.array(fc.tuple(fc.bigInt(1n, 10n ** 12n), fc.boolean()), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(amounts, (list) => {
        const all = list.map(([amountMinor], n) => one(String(n), amountMinor));
        const took = sumOf(list.map(([minor]) => minor));
        const taken = sumOf(list.filter(([, isAgain]) => isAgain).map(([minor]) => minor));
        expect(paidAgain(all, took + taken)).toHaveLength(taken > 0n ? 1 : 0);
      }),
    );
  });

  it.each([
    ['instructions of one run', () => 'run'],
    ['runs', (n: number) => `run ${n}`],
  ])('names all of some %s that were paid again', (_what, runOf) => {
    const which = fc.subarray([0, 1, 2, 3, 4, 5], { minLength: 1 });
    // No sum of some of these is one of others, nor a multiple.
    const all = [4, 2, 0, 1, 5, 3].map((power, n) =>
      one(String(n), 1_000n * 4n ** BigInt(power), 0n, 0n, runOf(n)),
    );
    fc.assert(
      fc.property(which, (taken) => {
        const minor = sumOf(taken.map((n) => all[n]!.amountMinor));
        const found = paidAgain(all, sumOf(all.map((some) => some.amountMinor)) + minor);
        if (found === 'not-yet') throw new Error('nothing may come back');
        expect(sumOf(found.map((some) => some.amountMinor))).toBe(minor);
        const names = found.flatMap(({ instructionId, someOf, payRunId }) =>
          someOf.length > 0
            ? someOf
            : (instructionId ??
              all.filter((some) => some.payRunId === payRunId).map((some) => some.instructionId)),
        );
        expect(names).toEqual(taken.map(String));
      }),
    );
  });

  it('says nothing of some of many, which other traffic takes by chance', () => {
    const all = Array.from({ length: 200 }, (_, n) => one(String(n), 10n ** 6n + BigInt(n) ** 3n));
    const took = sumOf(all.map((some) => some.amountMinor));
    expect(paidAgain(all, took + all[57]!.amountMinor + all[191]!.amountMinor)).toEqual([]);
  });

  it('is told of any of very many of one sum, however many they are', () => {
    const all = Array.from({ length: 150_000 }, (_, n) => one(String(n), 25_000n));
    const found = paidAgain(all, sumOf(all.map((some) => some.amountMinor)) + 25_000n);
    expect(found).toMatchObject([{ payments: 1, amountMinor: 25_000n }]);
  });
});
