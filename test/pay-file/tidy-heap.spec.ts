import { setImmediate } from 'node:timers/promises';
import { PassingBytes, withTidyHeap } from '../../src/pay-file/tidy-heap';

/** Something that nobody holds any more. */
async function garbage(): Promise<WeakRef<object>> {
  const left = new WeakRef({ rows: [1, 2, 3] });
  // Within the job that makes a reference its target stays.
  await setImmediate();
  return left;
}

/** The most bytes outside the heap while so many chunks come and go. */
async function mostHeld(chunks: number, passing: PassingBytes): Promise<number> {
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let n = 0; n < chunks; n += 1) {
    passing.add(Buffer.alloc(65_536).length);
    await setImmediate();
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  return most;
}

describe('bytes that pass', () => {
  it('are given back before they are some megabytes', async () => {
    expect(await mostHeld(400, new PassingBytes())).toBeLessThan(9_000_000);
  });
});

describe('a heap that is kept tidy', () => {
  it('is tidied before a large file is read', async () => {
    const left = await garbage();
    await withTidyHeap(2_000_000, async () => expect(left.deref()).toBeUndefined());
  });

  it('is not waited for by a usual file', async () => {
    let lies = false;
    // The collector may come by itself, and hardly ever each time.
    for (let tries = 0; tries < 5 && !lies; tries += 1) {
      const left = await garbage();
      await withTidyHeap(20_000, async () => void (lies = left.deref() !== undefined));
    }
    expect(lies).toBe(true);
  });

  it('answers what was read, and throws what kept it from being read', async () => {
    await expect(withTidyHeap(1, () => Promise.resolve(7))).resolves.toBe(7);
    await expect(withTidyHeap(1, () => Promise.reject(new Error('unread')))).rejects.toThrow('unread');
  });
});
