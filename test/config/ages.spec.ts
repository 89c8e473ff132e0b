import { Ages } from '../../src/config/ages';

let nowMs = 5_000;
beforeEach(() => jest.spyOn(performance, 'now').mockImplementation(() => nowMs));
afterEach(() => jest.restoreAllMocks());

it('is what the clock of the database says', () => {
  expect(new Ages().of('one', 700)).toBe(700);
});

it('is counted from when it is first seen where that clock dates it ahead, each thing by itself', () => {
  const ages = new Ages();
  expect(ages.of('one', -7_200_000)).toBe(0);
  nowMs += 300;
  expect(ages.of('one', -7_199_700)).toBe(300);
  expect(ages.of('other', -5)).toBe(0);
});

it('is by that clock again once it dates it ahead no more', () => {
  const ages = new Ages();
  ages.of('one', -5);
  nowMs += 300;
  expect(ages.of('one', 295)).toBe(295);
  expect(ages.of('one', -5)).toBe(0);
});
