import fc from 'fast-check';
import { estimateSend, estimateSubmits, SendPace, SendShape } from '../../src/domain/send-estimate';

const PACE: SendPace = { addsInFlight: 8, lagMs: 0, readsOneByOne: false };

const shapes = fc
  .record({
    rows: fc.integer({ min: 1, max: 1_000_000 }),
    perInstruction: fc.integer({ min: 1, max: 5_000 }),
  })
  .map(({ rows, perInstruction }): SendShape & { perInstruction: number } => ({
    rows,
    instructions: Math.ceil(rows / perInstruction),
    perInstruction,
  }));
const paces = fc.record({
  requestsPerMinute: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
  addsInFlight: fc.integer({ min: 1, max: 64 }),
  lagMs: fc.nat(60_000),
  readsOneByOne: fc.boolean(),
});

describe('what sending a run takes', () => {
  it('is one initiate, the adds, two readings of each instruction, the balance and the submits', () => {
    const { requests } = estimateSend({ rows: 40, instructions: 2 }, PACE);
    const reading = 2 + (2 + 2 * 3);
    expect(requests).toBe(2 + 40 + 2 * reading + 1 + 2);
    expect(estimateSubmits({ rows: 40, instructions: 2 }, PACE).requests).toBe(reading + 2);
  });

  it('reads every payment twice where the bank shows them one by one only', () => {
    const shape = { rows: 1_000, instructions: 2 };
    const { requests } = estimateSend(shape, { ...PACE, readsOneByOne: true });
    expect(requests).toBe(2 + 1_000 + 2 * (2 + 1_000) + 1 + 2);
  });

  it('is never less than its payments at the limit of the bank', () => {
    fc.assert(
      fc.property(shapes, paces, (shape, pace) => {
        const { requests, ms } = estimateSend(shape, pace);
        expect(requests).toBeGreaterThan(shape.rows);
        if (pace.requestsPerMinute === undefined) return;
        expect(ms).toBeGreaterThanOrEqual((shape.rows / pace.requestsPerMinute) * 60_000);
        expect(ms).toBeGreaterThanOrEqual((requests / pace.requestsPerMinute) * 60_000);
      }),
    );
  });

  it('grows with the payments', () => {
    fc.assert(
      fc.property(shapes, paces, fc.integer({ min: 1, max: 10_000 }), (shape, pace, more) => {
        const rows = shape.rows + more;
        const larger = { rows, instructions: Math.ceil(rows / shape.perInstruction) };
        expect(estimateSend(larger, pace).requests).toBeGreaterThan(estimateSend(shape, pace).requests);
        expect(estimateSend(larger, pace).ms).toBeGreaterThanOrEqual(estimateSend(shape, pace).ms);
        expect(estimateSubmits(larger, pace).ms).toBeGreaterThanOrEqual(estimateSubmits(shape, pace).ms);
      }),
    );
  });

  it('shrinks with every payment that is at the bank, down to no less than the submits', () => {
    fc.assert(
      fc.property(shapes, paces, fc.double({ min: 0, max: 1, noNaN: true }), (shape, pace, share) => {
        const rowsAtBank = Math.floor(shape.rows * share);
        const left = estimateSend({ ...shape, rowsAtBank }, pace);
        expect(left.requests).toBeLessThanOrEqual(estimateSend(shape, pace).requests - rowsAtBank);
        expect(left.ms).toBeLessThanOrEqual(estimateSend(shape, pace).ms);
        expect(left.ms).toBeGreaterThanOrEqual(estimateSubmits(shape, pace).ms);
      }),
    );
  });

  it('is decided by the answers of the bank where no limit is known, and by the lower of both where one is', () => {
    const shape = { rows: 8_000, instructions: 16 };
    const unlimited = estimateSend(shape, PACE).ms;
    expect(estimateSend(shape, { ...PACE, requestsPerMinute: 1_000_000 }).ms).toBe(unlimited);
    expect(estimateSend(shape, { ...PACE, requestsPerMinute: 60 }).ms).toBeGreaterThan(8_000_000);
    expect(estimateSend(shape, { ...PACE, addsInFlight: 16 }).ms).toBeLessThan(unlimited);
  });
});
