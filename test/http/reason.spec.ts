import { reason, words } from '../../src/http/reason';

describe('a reason', () => {
  it.each(['why', '  why ', '👍👍👍', 'ä'.repeat(500)])('is taken: %j', (text) => {
    expect(reason.parse(text)).toBe(text.trim());
  });

  // The database counts characters: two of them would be refused there only.
  it.each(['', '  a ', 'no', '👍', '👍👍', 'a'.repeat(501)])('is refused, with one fault: %j', (text) => {
    expect(reason.safeParse(text).error?.issues).toHaveLength(1);
  });

  it('is as long as it may be', () => {
    expect(words(5).safeParse('12345').success).toBe(true);
    expect(words(5).safeParse('123456').success).toBe(false);
  });
});
