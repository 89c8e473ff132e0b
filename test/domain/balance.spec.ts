import fc from 'fast-check';
import { PaidByInstruction, paidAgain } from '../../src/domain/balance';

const one = (instructionId: string, amountMinor: bigint, chargesMinor = 0n): PaidByInstruction => ({
  instructionId,
  payments: 1,
  amountMinor,
  chargesMinor,
});
const paid = [one('a', 1_000n, 10n), one('b', 2_500n, 20n)];
const TOOK = 3_530n;

describe('what an account lost over a run', () => {
  it.each([
    ['as much as its payments and their charges', 0n, undefined],
    ['less, as something came in', -500n, undefined],
    ['as much again as the first instruction', 1_000n, 'a'],
    ['as much again as the second one with its charges', 2_520n, 'b'],
    ['as much again as all of them', 3_500n, 'a'],
    ['as much again as all of them with their charges', 3_530n, 'a'],
    ['a cent more than an instruction', 1_001n, undefined],
    ['something else', 700n, undefined],
  ])('%s', (_what, besidesMinor, instructionId) => {
    expect(paidAgain(paid, TOOK + besidesMinor)?.instructionId).toBe(instructionId);
  });

  it('names nothing where nothing was paid', () => {
    expect(paidAgain([], 100n)).toBeUndefined();
  });

  it('shows any single instruction that was paid again, and nothing where none was', () => {
    const amounts = fc.uniqueArray(fc.bigInt(1n, 10n ** 12n), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(amounts, fc.nat(), (list, nth) => {
        const all = list.map((amountMinor, n) => one(String(n), amountMinor));
        const took = list.reduce((sum, amountMinor) => sum + amountMinor, 0n);
        const again = list[nth % list.length]!;
        expect(paidAgain(all, took)).toBeUndefined();
        expect(paidAgain(all, took + again)?.amountMinor).toBe(again);
      }),
    );
  });
});
