import { firstFew, textOfFirstFew } from '../../src/domain/first-few';

describe('the first few words of a list', () => {
  it.each([
    [[], [], ''],
    [['a', 'b'], ['a', 'b'], 'a, b'],
    [['a', 'b', 'c'], ['a', 'b', '1 more'], 'a, b and 1 more'],
    [['a', 'b', 'c', 'd'], ['a', 'b', '2 more'], 'a, b and 2 more'],
  ])('of %j are, two at the most, %j', (words, few, text) => {
    expect(firstFew(words, 2)).toEqual(few);
    expect(textOfFirstFew(words, 2)).toBe(text);
  });
});
