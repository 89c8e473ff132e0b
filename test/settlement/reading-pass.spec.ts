import { ENDED } from '../../src/pay-run/ended-reads';
import { goesOn, isWhole, type Pass, passOf } from '../../src/settlement/reading-pass';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 27, 10, minute));

/** The reads of payments 1 to 4, one a minute: what each does not show, and does not try of that. */
function after(...reads: [lacking: string, untried?: string][]): Pass {
  const pass = reads.reduce<Pass | undefined>(
    (before, [lacking, untried], minute) =>
      passOf(before, { begunAt: at(minute), lacking: lacking.split(''), untried: untried?.split('') }),
    undefined,
  );
  if (!pass) throw new Error('there is a read');
  return pass;
}

describe('reads of which each tries some payments', () => {
  it('show all once each was shown by one of them, since the first', () => {
    const pass = after(['34', '34'], ['12', '12']);
    expect([isWhole(pass), pass.begunAt]).toEqual([true, at(0)]);
  });

  it('leave what none of them tried', () => {
    const pass = after(['234', '234'], ['134', '134']);
    expect([isWhole(pass), [...pass.left]]).toEqual([false, ['3', '4']]);
  });

  it('do not show what was tried in vain, unless a later one shows it', () => {
    expect([...after(['1234', '34'], ['12', '12']).unshown]).toEqual(['1', '2']);
    expect([...after(['1234', '34'], ['12', '12'], ['234', '34']).unshown]).toEqual(['2']);
    expect(isWhole(after(['1234', '34'], ['12', '12'], ['34', '34']))).toBe(true);
  });

  it('count as one where it tries all', () => {
    const pass = after(['1234', '34'], ['']);
    expect([isWhole(pass), pass.begunAt]).toEqual([true, at(1)]);
    expect([...after(['34', '34'], ['1']).unshown]).toEqual(['1']);
  });
});

describe('reads that began before', () => {
  const pass = after(['34', '34']);
  const open = { closedAt: null };

  it('go on while nothing was missing when they began', () => {
    expect(goesOn(pass, open, { missing: null }, at(30))).toBe(true);
    expect(goesOn(pass, open, { missing: { what: ENDED, forMs: 31 * 60_000 } }, at(30))).toBe(true);
    expect(goesOn(pass, open, { missing: { what: 'REPLACED', forMs: 1 } }, at(30))).toBe(true);
  });

  it('go on for less than a day: by then another process has completed them', () => {
    expect(goesOn(pass, open, { missing: null }, at(24 * 60 - 1))).toBe(true);
    expect(goesOn(pass, open, { missing: null }, at(24 * 60))).toBe(false);
  });

  it('say nothing of what was missing since, nor of what ended since', () => {
    expect(goesOn(pass, open, { missing: { what: ENDED, forMs: 29 * 60_000 } }, at(30))).toBe(false);
    expect(goesOn(pass, { closedAt: at(1) }, { missing: null }, at(30))).toBe(false);
  });
});
