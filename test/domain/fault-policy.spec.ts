import fc from 'fast-check';
import { FaultPolicy, refusesAnyway, refusesFile } from '../../src/domain/fault-policy';

const policies = fc.oneof(
  fc.constant<FaultPolicy>({ policy: 'strict' }),
  fc.constant<FaultPolicy>({ policy: 'hold' }),
  fc.record(
    {
      policy: fc.constant('threshold' as const),
      maxRows: fc.nat(1_000),
      maxBasisPoints: fc.nat(10_000),
    },
    { requiredKeys: ['policy'] },
  ),
);
const shares = fc
  .integer({ min: 1, max: 1_000_000 })
  .chain((rows) => fc.record({ rows: fc.constant(rows), faultyRows: fc.nat(rows) }));

describe('a policy for faulty rows', () => {
  it.each<[FaultPolicy, number, number, boolean]>([
    [{ policy: 'strict' }, 100, 1, true],
    [{ policy: 'hold' }, 100, 99, false],
    [{ policy: 'threshold', maxRows: 3 }, 100, 3, false],
    [{ policy: 'threshold', maxRows: 3 }, 100, 4, true],
    [{ policy: 'threshold', maxBasisPoints: 150 }, 200, 3, false],
    [{ policy: 'threshold', maxBasisPoints: 150 }, 199, 3, true],
    [{ policy: 'threshold', maxRows: 5, maxBasisPoints: 100 }, 100, 2, true],
    [{ policy: 'threshold', maxRows: 0 }, 100, 1, true],
  ])('%j of %i rows with %i faulty: refused %s', (policy, rows, faultyRows, refused) => {
    expect(refusesFile(policy, { rows, faultyRows })).toBe(refused);
  });

  it('never refuses a file without faulty rows, and never takes one without a good row', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 1_000_000 }), (policy, rows) => {
        expect(refusesFile(policy, { rows, faultyRows: 0 })).toBe(false);
        expect(refusesFile(policy, { rows, faultyRows: rows })).toBe(true);
      }),
    );
  });

  it('refuses no fewer files for more faulty rows, and knows it at no time too early', () => {
    fc.assert(
      fc.property(policies, shares, (policy, { rows, faultyRows }) => {
        const refused = refusesFile(policy, { rows, faultyRows });
        if (refused && faultyRows < rows) {
          expect(refusesFile(policy, { rows, faultyRows: faultyRows + 1 })).toBe(true);
        }
        if (refusesAnyway(policy, faultyRows)) expect(refused).toBe(true);
      }),
    );
  });
});
