import type { Post } from '../../prove/real/proxy';
import { unintendedOf } from '../../prove/real/record';
import { PATHS } from '../../src/bank/types';

const calls = {
  initiate: ['POST', PATHS.initiate()],
  add: ['POST', PATHS.addPaymentTransaction('7')],
  delete: ['DELETE', PATHS.creditTransfer('7')],
  submit: ['POST', PATHS.submit('7')],
} as const;

const intentOf = (call: keyof typeof calls, ms = 1_000) => ({ target: calls[call][1], hash: 'same', ms });
const sent = (call: keyof typeof calls, status: number, atMs = 2_000): Post => {
  const [method, path] = calls[call];
  return { method, path, hash: 'same', atMs, status };
};

describe('what was sent without an intent', () => {
  it('is nothing where each call has an earlier intent of its own', () => {
    expect(
      unintendedOf([sent('add', 200), sent('submit', 500)], [intentOf('submit'), intentOf('add')]),
    ).toEqual([]);
  });

  it('is a call with another body, one before its intent, and a second one', () => {
    const [method, path] = calls.submit;
    const submit = [`${method} ${path}`];
    expect(unintendedOf([{ ...sent('submit', 200), hash: 'other' }], [intentOf('submit')])).toEqual(submit);
    expect(unintendedOf([sent('submit', 200)], [intentOf('submit', 2_100)])).toEqual(submit);
    expect(unintendedOf([sent('submit', 500), sent('submit', 200)], [intentOf('submit')])).toEqual(submit);
  });

  it('is, after a 401, a second submit, and a third call of those that are made again with another token', () => {
    const [method, path] = calls.submit;
    const again = [sent('submit', 401), sent('submit', 200)];
    expect(unintendedOf(again, [intentOf('submit')])).toEqual([`${method} ${path}`]);
    for (const call of ['initiate', 'add', 'delete'] as const) {
      const twice = [sent(call, 401), sent(call, 401)];
      expect(unintendedOf(twice, [intentOf(call)])).toEqual([]);
      expect(unintendedOf([...twice, sent(call, 200)], [intentOf(call)])).toEqual([calls[call].join(' ')]);
    }
  });
});
