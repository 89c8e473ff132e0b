import { judgeRow } from '../../src/reconciliation/row-difference';

describe('a payment that is to be at the bank and is not', () => {
  it.each(['VERIFIED', 'FOLLOWING', 'SETTLED'] as const)('is missing there when its run is %s', (run) => {
    expect(judgeRow(run, 'AT_BANK', null)).toBe('BANK_PAYMENT_MISSING');
  });

  it.each(['BUILDING', 'SUBMITTING'] as const)('may be built just now when its run is %s', (run) => {
    expect(judgeRow(run, 'AT_BANK', null)).toBeUndefined();
  });

  it('is missing at any time once it was submitted', () => {
    expect(judgeRow('SUBMITTING', 'SUBMITTED', null)).toBe('BANK_PAYMENT_MISSING');
  });
});
