import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { growAtMost, keepHeapSmall } from '../../src/config/heap';

/** A heap of its own, of which always as much is in use: what comes is held for a while, as pages of payments are. */
const WORK = `
  const { parentPort } = require('node:worker_threads');
  const { getHeapStatistics } = require('node:v8');
  const held = Array.from({ length: 200_000 }, (_, n) => ({ n, text: [n] }));
  let most = 0;
  for (let n = 0; n < 4_000_000; n += 1) {
    held[n % held.length] = { n, text: [n] };
    if (n % 10_000 === 0) most = Math.max(most, getHeapStatistics().used_heap_size);
  }
  parentPort.postMessage(most);`;

async function mostUsed(): Promise<number> {
  const [bytes] = await once(new Worker(WORK, { eval: true }), 'message');
  return Number(bytes);
}

afterAll(() => setFlagsFromString('--heap-growing-percent=0'));

describe('a heap that is kept small', () => {
  it('is tidied long before one that V8 lets grow as it likes', async () => {
    growAtMost(0);
    const asItLikes = await mostUsed();
    keepHeapSmall();
    expect(await mostUsed()).toBeLessThan(asItLikes * 0.75);
  });
});
