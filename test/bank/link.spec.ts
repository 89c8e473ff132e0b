import { segment } from '../../src/bank/link';

describe('a path of the bank', () => {
  it('is built only from ids that stay one segment', () => {
    expect(segment('0A-b_9.c')).toBe('0A-b_9.c');
    for (const id of ['', '.', '..', 'x'.repeat(129), '\ud800', 'a\0b', 'a\uFFFDb'])
      expect(() => segment(id)).toThrow(RangeError);
  });

  it('escapes what could leave its segment, since the interface shows no pattern of ids', () => {
    for (const id of ['a/b', '../submit', 'a?b', 'a%2fb', 'GR:17 é#1', '%2e%2e']) {
      const { pathname } = new URL(`http://bank/accounts/${segment(id)}/end`);
      expect(pathname.split('/').map(decodeURIComponent)).toEqual(['', 'accounts', id, 'end']);
    }
  });
});
