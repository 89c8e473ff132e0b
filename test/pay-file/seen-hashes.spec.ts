import { createHash } from 'node:crypto';
import { SeenHashes } from '../../src/pay-file/seen-hashes';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('hashes that were seen', () => {
  it('are known whenever they come again', () => {
    const hashes = Array.from({ length: 100_000 }, (_, n) => hash(`${n}`));
    const seen = new SeenHashes();
    for (const one of hashes) seen.see(one);
    expect(hashes.filter((one) => !seen.see(one))).toEqual([]);
  });

  it('are seldom taken for others, also among a million', () => {
    const seen = new SeenHashes();
    for (let n = 0; n < 1_000_000; n += 1) seen.see(hash(`${n}`));
    const mistaken = Array.from({ length: 10_000 }, (_, n) => seen.see(hash(`another ${n}`))).filter(Boolean);
    expect(mistaken.length).toBeGreaterThan(0);
    expect(mistaken.length).toBeLessThan(400);
  });
});
