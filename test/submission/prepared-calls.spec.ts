import { isReferenceOf, readReference, referenceOf } from '../../src/submission/prepared-calls';
import type { Work } from '../../src/submission/work';

const workOf = (runVersion: number, ordinal: number, attempt: number) =>
  ({
    run: { id: '018f0000-0000-7000-8000-000000000002' },
    planned: { runVersion, ordinal },
    instruction: { attempt },
  }) as unknown as Work;

describe('the reference of an instruction', () => {
  it('names the version of its run, and stays within 35 characters', () => {
    const reference = referenceOf(workOf(99, 1_000_000, 99), 20);
    expect(reference.length).toBeLessThanOrEqual(35);
    const named = { run: '018f000000007000800000', version: 99, ordinal: 1_000_000 };
    expect(readReference(reference.toUpperCase())).toEqual(named);
  });

  it('is read, and known to be of its instruction, as it was sent before it named the version', () => {
    const reference = '018f000000007000800000-12-3-1';
    expect(readReference(reference)).toMatchObject({ version: undefined, ordinal: 12 });
    expect(isReferenceOf(workOf(2, 12, 3), reference)).toBe(true);
    expect(isReferenceOf(workOf(2, 12, 4), reference)).toBe(false);
  });

  it.each(['PAY-2026-12', '018f000000007000800000-1-1', '018f000000007000800000-1-1-1-1-1'])(
    'is no other: %s',
    (reference) => expect(readReference(reference)).toBeUndefined(),
  );
});
