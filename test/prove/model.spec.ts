import fc from 'fast-check';
import { Guard, GUARDS } from '../../prove/guards';
import { KEPT_SEEDS } from '../../prove/kept-seeds';
import { playSeeds } from '../../prove/model/play';
import { simulate } from '../../prove/model/simulate';
import { OUTSIDE } from '../../prove/model/world';
import { breaks } from '../../prove/table';

/** More than any guard needs to be missed in; see the seeds that find it, printed by `npm run prove`. */
const SHORT_RUN = 10_000;

describe('the model of the protocol', () => {
  it('pays nobody twice or unapproved, is never silent and never stuck, in thousands of seeds', () => {
    const { lines, broken } = playSeeds(1, 4_000);
    expect(broken).toEqual([]);
    expect(lines).toHaveLength(1 + OUTSIDE.length);
    const [inside] = lines;
    expect(inside).toMatchObject({ paidTwice: 0, paidUnapproved: 0, silent: 0, stuck: 0 });
    expect(inside!.attention).toBeGreaterThan(inside!.runs / 20);
    expect(inside!.attention).toBeLessThan(inside!.runs / 2);
  });

  it('keeps the rule at any seed', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const { outside, ...verdict } = simulate(seed);
        expect(breaks({ ...verdict, attention: false }, outside ? 'outside' : 'inside')).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('plays a seed the same way each time', () => {
    for (const seed of [1, 77, 510, 5340]) expect(simulate(seed)).toEqual(simulate(seed));
  });

  it('meets a doubled POST that pays twice, and never in silence', () => {
    const { lines } = playSeeds(1, 4_000);
    const doubled = lines.find((line) => line.fault.includes('doubles a POST'));
    expect(doubled!.paidTwice).toBeGreaterThan(0);
    expect(doubled!.silent).toBe(0);
  });

  it.each(Object.keys(GUARDS) as Guard[])('without %s somebody is paid twice or nobody is told', (guard) => {
    const { broken } = playSeeds(1, SHORT_RUN, guard);
    expect(broken).toHaveLength(1);
    const { paidTwice, silent } = broken[0]!.finding;
    expect(paidTwice || silent).toBe(true);
  });

  it.each(KEPT_SEEDS.model)('does not break the rule again at seed $seed: $found', ({ seed }) => {
    const { outside, ...verdict } = simulate(seed);
    expect(breaks({ ...verdict, attention: false }, outside ? 'outside' : 'inside')).toBe(false);
  });
});
