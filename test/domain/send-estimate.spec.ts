import fc from 'fast-check';
import { BankError } from '../../src/bank/errors';
import type { ListHabits, ListPage, PageQuery } from '../../src/bank/paging';
import { eachItem } from '../../src/bank/pager';
import {
  estimateSend,
  estimateSubmits,
  PaymentReading,
  SendPace,
  SendShape,
} from '../../src/domain/send-estimate';

const PACE: SendPace = {
  addsInFlight: 8,
  lagMs: 0,
  reading: { by: 'INSTRUCTION_PAYMENTS' },
  statusIsRead: true,
};

const pageRows = fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined });
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
  statusIsRead: fc.boolean(),
  reading: fc.oneof<fc.Arbitrary<PaymentReading>[]>(
    fc.constant({ by: 'PAYMENT' }),
    fc.record({ by: fc.constant('INSTRUCTION_PAYMENTS' as const), pageRows }),
    fc.record({ by: fc.constant('PAYMENT_LIST' as const), otherRows: fc.nat(100_000), pageRows }),
  ),
});

/** A list of so many rows at a bank that hands out at most `pageRows` at once, and the requests it was asked. */
class ListedBank {
  requests = 0;
  private readonly habits: ListHabits = {};

  constructor(
    private readonly pageRows: number,
    private readonly ways: { base: 0 | 1; refusesPageZero: boolean; countMeans: 'page' | 'total' },
  ) {}

  async read(rows: number): Promise<number> {
    let seen = 0;
    const fetch = (query: PageQuery) => Promise.resolve(this.answer(rows, query));
    for await (const _id of eachItem({ fetch, idOf: String, habits: this.habits })) seen += 1;
    return seen;
  }

  private answer(rows: number, query: PageQuery): ListPage<number> {
    this.requests += 1;
    if (!('page' in query)) throw new Error('this bank numbers its pages');
    const { base, refusesPageZero, countMeans } = this.ways;
    if (query.page < base && refusesPageZero) throw new BankError(400, { raw: '' });
    const limit = Math.min(query.pageSize, this.pageRows);
    const offset = Math.max(query.page - base, 0) * limit;
    const items = Array.from(
      { length: Math.max(Math.min(limit, rows - offset), 0) },
      (_one, n) => offset + n,
    );
    return { items, limit, offset, count: countMeans === 'total' ? rows : items.length };
  }
}

describe('what sending a run takes', () => {
  it('reads what is paid again once for the gate and up to four times before each submit', () => {
    const shape = { rows: 40, instructions: 2 };
    const replaced = {
      atGate: { single: 1, lists: 2, payments: 50 },
      beforeSubmits: { single: 2, lists: 4, payments: 100 },
    };
    const [gate, submits] = [1 + 3 + 2 * 3, 2 + 5 + 4 * 3];
    const more = (estimate: typeof estimateSend, pace: SendPace) =>
      estimate({ ...shape, replaced }, pace).requests - estimate(shape, pace).requests;
    expect(more(estimateSend, PACE)).toBe(gate + 4 * submits);
    expect(more(estimateSubmits, PACE)).toBe(4 * submits);
    const oneByOne: SendPace = { ...PACE, reading: { by: 'PAYMENT' } };
    expect(more(estimateSend, oneByOne)).toBe(1 + 50 + 4 * (2 + 100));
    expect(more(estimateSubmits, oneByOne)).toBe(4 * (2 + 100));
  });

  const READING = 2 + (2 + 2 * 3);
  it.each([
    ['then each instruction itself', true, 2 * READING + 2],
    ['three times where each shows its payments alone', false, 3 * READING],
  ])('reads all twice more in the turn of its submit, as a bank without totals has it, %s', (...told) => {
    const [, statusIsRead, more] = told;
    const shape = { rows: 40, instructions: 2 };
    const beforeSubmits = { single: 2, lists: 4, payments: 100 };
    const replaced = { atGate: { single: 0, lists: 0, payments: 0 }, beforeSubmits };
    const looks = (statusIsRead ? 4 : 5) * (2 + 5 + 4 * 3);
    for (const limit of [undefined, 600]) {
      const pace = { ...PACE, statusIsRead, requestsPerMinute: limit };
      const [alone, again] = [estimateSubmits(shape, pace), estimateSubmits({ ...shape, replaced }, pace)];
      expect(alone.requests).toBe(READING + more + 2);
      expect(again.requests).toBe(READING + more + 2 + looks);
      expect(estimateSend(shape, pace).requests).toBe(2 + 40 + 2 * READING + 2 + 1 + more + 2);
      expect(again.ms).toBeGreaterThanOrEqual((READING + more + looks) * 100 + 2 * 2_000);
    }
  });

  it('reads every payment four times where the bank shows them one by one only', () => {
    const shape = { rows: 1_000, instructions: 2 };
    const { requests } = estimateSend(shape, { ...PACE, reading: { by: 'PAYMENT' } });
    expect(requests).toBe(2 + 1_000 + 4 * (2 + 1_000) + 2 + 1 + 2);
  });

  it('pages through the whole general list for each reading where the bank lists payments there only', () => {
    const reading: PaymentReading = { by: 'PAYMENT_LIST', otherRows: 60 };
    const each = 1 + (5 + 2);
    expect(estimateSend({ rows: 40, instructions: 2 }, { ...PACE, reading }).requests).toBe(
      2 + 40 + 4 * 2 * each + 2 + 2 + 1 + 2,
    );
    const small = { ...reading, pageRows: 1 };
    expect(estimateSubmits({ rows: 40, instructions: 2 }, { ...PACE, reading: small }).requests).toBe(
      3 * 2 * (1 + 100 + 2) + 2 + 2,
    );
  });

  it('is never less than what is asked of a bank while its lists are read, whatever their pages', async () => {
    const sends = fc.record({
      rows: fc.integer({ min: 1, max: 60 }),
      perInstruction: fc.integer({ min: 10, max: 60 }),
      otherRows: fc.nat(150),
      pageRows: fc.integer({ min: 1, max: 100 }),
      ways: fc.record({
        base: fc.constantFrom(0, 1),
        refusesPageZero: fc.boolean(),
        countMeans: fc.constantFrom('page', 'total'),
      }),
      general: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(sends, async ({ rows, perInstruction, otherRows, general, ...list }) => {
        const bank = new ListedBank(list.pageRows, list.ways);
        const instructions = Math.ceil(rows / perInstruction);
        const parts = Array.from({ length: instructions }, (_one, n) =>
          Math.min(perInstruction, rows - n * perInstruction),
        );
        let added = 0;
        for (const part of parts) {
          added += part;
          bank.requests += 1 + part + 1;
          await bank.read(general ? otherRows + added : part);
        }
        const built = bank.requests;
        for (const part of parts) {
          bank.requests += 2;
          await bank.read(general ? otherRows + rows : part);
        }
        const known = list.pageRows < 20 ? list.pageRows : undefined;
        const reading: PaymentReading = general
          ? { by: 'PAYMENT_LIST', otherRows, pageRows: known }
          : { by: 'INSTRUCTION_PAYMENTS', pageRows: known };
        const shape = { rows, instructions };
        expect(estimateSend(shape, { ...PACE, reading }).requests).toBeGreaterThanOrEqual(bank.requests + 1);
        const atGates = bank.requests - built;
        expect(estimateSubmits(shape, { ...PACE, reading }).requests).toBeGreaterThanOrEqual(atGates);
      }),
      { numRuns: 150 },
    );
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
