import fc from 'fast-check';
import { inFlight } from '../../src/submission/in-flight';

const pause = () => new Promise((resolve) => setImmediate(resolve));

describe('calls in flight', () => {
  it('sends every item once, in order, with never more than so many under way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(40), fc.integer({ min: 1, max: 8 }), async (count, atOnce) => {
        const begun: number[] = [];
        let underWay = 0;
        let most = 0;
        await inFlight(
          Array.from({ length: count }, (_, n) => n),
          atOnce,
          async (item, index) => {
            expect(index).toBe(item);
            begun.push(item);
            most = Math.max(most, (underWay += 1));
            await pause();
            underWay -= 1;
            return 'go on';
          },
        );
        expect(begun).toEqual(Array.from({ length: count }, (_, n) => n));
        expect(most).toBeLessThanOrEqual(atOnce);
      }),
      { numRuns: 50 },
    );
  });

  it('begins nothing after a stop, and waits for what is under way', async () => {
    let ended = 0;
    const begun: number[] = [];
    await inFlight([0, 1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
      begun.push(item);
      await pause();
      if (item !== 1) await pause();
      ended += 1;
      return item === 1 ? 'stop' : 'go on';
    });
    expect(begun.length).toBeLessThanOrEqual(4);
    expect(ended).toBe(begun.length);
  });
});
