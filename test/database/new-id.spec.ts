import fc from 'fast-check';
import { newId } from '../../src/database/new-id';

describe('a new id', () => {
  it('is a UUID of version 7 that carries its milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (nowMs) => {
        const id = newId(nowMs);
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(nowMs);
      }),
    );
  });

  it('is another each time, and later ones sort after earlier ones', () => {
    const ids = Array.from({ length: 10_000 }, () => newId(1_795_000_000_000));
    expect(new Set(ids).size).toBe(ids.length);
    expect(newId(1_795_000_000_001) > newId(1_795_000_000_000)).toBe(true);
  });
});
