import { pauseWhileUnseen } from '../../src/submission/unseen';

const missingFor = (forMs: number) => ({ missing: { what: 'ROWS', forMs } });

describe('what the bank does not show', () => {
  it('is looked for again soon, and ever less often, but four times a minute', () => {
    expect(pauseWhileUnseen({ missing: null }, 'ROWS')).toBe(1_000);
    expect(pauseWhileUnseen(missingFor(30_000), 'ROWS')).toBe(1_000);
    expect(pauseWhileUnseen(missingFor(120_000), 'ROWS')).toBe(3_000);
    expect(pauseWhileUnseen(missingFor(24 * 3_600_000), 'ROWS')).toBe(15_000);
  });

  it('is looked for soon where something else was missing before', () => {
    expect(pauseWhileUnseen(missingFor(3_600_000), 'REPLACED')).toBe(1_000);
  });
});
