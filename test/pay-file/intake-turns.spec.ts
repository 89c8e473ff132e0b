import { setImmediate } from 'node:timers/promises';
import { IntakeTurns } from '../../src/pay-file/intake-turns';

const LARGE = 2_000_000;
const USUAL = 20_000;

describe('files that come at once', () => {
  /** Begins files of these sizes, and tells which are being taken in; `end` ends the first of them. */
  const begun = (poolSize: number, sizes: number[]) => {
    const turns = new IntakeTurns({ DATABASE_POOL_SIZE: poolSize });
    const taking: { file: number; end: () => void; fail: (error: Error) => void }[] = [];
    const done = sizes.map((size, file) =>
      turns.take(size, () => new Promise<void>((end, fail) => void taking.push({ file, end, fail }))),
    );
    return { taking, done };
  };

  it('leave half of the connections to others, and a usual one waits for no large one', async () => {
    const { taking } = begun(10, [LARGE, LARGE, LARGE, LARGE, USUAL, USUAL, USUAL]);
    await setImmediate();
    expect(taking.map(({ file }) => file)).toEqual([0, 1, 4, 5]);
  });

  it('come in their order, also after one that failed', async () => {
    const { taking, done } = begun(2, [LARGE, LARGE, LARGE]);
    taking[0]?.fail(new Error('the disk is gone'));
    await expect(done[0]).rejects.toThrow('the disk is gone');
    await setImmediate();
    taking[1]?.end();
    await setImmediate();
    expect(taking.map(({ file }) => file)).toEqual([0, 1, 2]);
  });
});
