import fc from 'fast-check';
import {
  describeHold,
  HOLD_CODES,
  HoldCode,
  HoldFinding,
  isFarFromDate,
  isFarther,
  joiningOf,
} from '../../src/domain/hold';

const CODES = Object.keys(HOLD_CODES) as HoldCode[];

const finding = (code: HoldCode): HoldFinding => ({
  code,
  besideLine: 7,
  besideRun: 'run_1',
  alsoBesideRuns: [],
  besideStatus: null,
  overtaken: null,
  boundMinor: 123_456n,
  sameRows: 9,
});

describe('a hold', () => {
  it.each(CODES)('is told in one sentence of what was found: %s', (code) => {
    const message = describeHold(finding(code));
    expect(message).toMatch(/^[A-Z][^\n]+\.$/);
    expect(message).toMatch(/line 7|Line 7|1234\.56|rows, 9|3 months|another key|has forgotten/);
    for (const words of [HOLD_CODES[code].meaning, HOLD_CODES[code].remedy])
      expect(words).toMatch(/^[A-Z].*\.$/);
  });

  it('names the other run where it was found beside one', () => {
    const beside = [
      'IBAN_AND_AMOUNT_TWICE',
      'EMPLOYEE_ALREADY_PAID',
      'EMPLOYEE_MAY_BE_PAID',
      'ROWS_OF_ANOTHER_RUN',
    ] as const;
    for (const code of beside) expect(describeHold(finding(code))).toContain('run_1');
    expect(describeHold({ ...finding('IBAN_AND_AMOUNT_TWICE'), besideRun: null })).toMatch(/^Line 7 pays/);
    const several = { ...finding('IBAN_AND_AMOUNT_TWICE'), alsoBesideRuns: ['run_2', 'run_3'] };
    expect(describeHold({ ...several, besideStatus: 'READY' })).toBe(
      'Line 7 of run_1 pays the same amount to the same account. That run is READY now. The account gets that amount from run_2, run_3, too.',
    );
    expect(describeHold({ ...finding('ROWS_OF_ANOTHER_RUN'), alsoBesideRuns: ['run_2'] })).toMatch(
      /, as in run_1\. Some are in run_2, too\.$/,
    );
    const unknown = describeHold({ ...finding('EMPLOYEE_MAY_BE_PAID'), besideLine: null });
    expect(unknown).toMatch(/^What run_1 did not pay .* forgotten\.$/);
  });
});

describe('a month of pay', () => {
  it.each([
    ['2025-11', true],
    ['2025-12', false],
    ['2026-11', false],
    ['2027-02', false],
    ['2027-03', true],
    ['2027-11', true],
    ['2062-11', true],
    ['1970-01', true],
  ])('%s, paid in November 2026, is far from its date: %s', (period, far) => {
    expect(isFarFromDate(period, '2026-11-01')).toBe(far);
    expect(isFarFromDate(period, '2026-11-30')).toBe(far);
  });

  it.each([
    ['2026-11-30', '2026-11-02', false],
    ['2026-10-30', '2026-11-02', false],
    ['2026-12-01', '2026-11-30', true],
    ['2024-06-03', '2026-11-30', true],
  ])('2025-06, paid on %s instead of %s, is farther from its date: %s', (date, before, farther) => {
    expect(isFarther('2025-06', date, before)).toBe(farther);
  });
});

describe('a payment whose last hold was released', () => {
  const held = fc.record({ paid: fc.boolean(), hasPlace: fc.boolean(), secondPayReleased: fc.boolean() });

  it('pays an employee a second time only by a release of exactly that', () => {
    fc.assert(
      fc.property(held, (one) => {
        const allowed = !one.paid || one.hasPlace || one.secondPayReleased;
        expect(joiningOf(one) === 'REFUSED').toBe(!allowed);
      }),
    );
  });

  it('uses up a new release only where it needs one', () => {
    fc.assert(
      fc.property(held, (one) => {
        if (joiningOf(one) === 'BY_RELEASE') expect(one).toMatchObject({ paid: true, hasPlace: false });
      }),
    );
  });
});
