import { followable, segment } from '../../src/bank/link';

const BASE = 'https://bank.example/sandbox/';
const PATH = '/api/service-domain/v1/customer-instructions/7';

describe('a link of the bank', () => {
  it('is followed when its origin and path are those of the configured bank', () => {
    expect(followable(`https://bank.example/sandbox${PATH}`, BASE, PATH)).toBe(PATH);
  });

  it.each([
    `https://evil.example/sandbox${PATH}`,
    `http://bank.example/sandbox${PATH}`,
    `https://bank.example:444/sandbox${PATH}`,
    `https://bank.example@evil.example/sandbox${PATH}`,
    `https://user:pass@bank.example/sandbox${PATH}`,
    `https://bank.example/sandbox${PATH}?to=evil`,
    `https://bank.example/sandbox${PATH}#x`,
    `https://bank.example/sandbox${PATH}8`,
    `https://bank.example/sandbox/../other${PATH}`,
    PATH,
    'javascript:alert(1)',
    '',
  ])('is not followed: %s', (href) => {
    expect(followable(href, BASE, PATH)).toBeUndefined();
  });

  it('is built only from ids that stay one segment', () => {
    expect(segment('0A-b_9.c')).toBe('0A-b_9.c');
    for (const id of ['', '.', '..', 'a/b', '../submit', 'a?b', 'a%2fb', 'é', 'x'.repeat(129)]) {
      expect(() => segment(id)).toThrow(RangeError);
    }
  });
});
