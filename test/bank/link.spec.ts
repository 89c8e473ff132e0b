import { segment } from '../../src/bank/link';

describe('a path of the bank', () => {
  it('is built only from ids that stay one segment', () => {
    expect(segment('0A-b_9.c')).toBe('0A-b_9.c');
    for (const id of ['', '.', '..', 'a/b', '../submit', 'a?b', 'a%2fb', 'é', 'x'.repeat(129)]) {
      expect(() => segment(id)).toThrow(RangeError);
    }
  });
});
