import fc from 'fast-check';
import { PersonalData } from '../../src/database/personal-data';
import {
  differencesIn,
  ExpectedRow,
  Fault,
  judgeGroups,
  Judgement,
  judgePayments,
  judgeSubmitted,
  SeenPayment,
} from '../../src/pay-run/match';
import { judgeTotals } from '../../src/submission/decision';

function row(n: number): ExpectedRow {
  return {
    rowNo: n,
    messageId: `m-${n}`,
    bankIds: [`b${n}`, `t${n}`],
    amountMinor: BigInt(100 + n),
    currency: 'EUR',
    iban: `DE00 0000 ${n}`,
  };
}

function seen(n: number, change: Partial<SeenPayment> = {}): SeenPayment {
  return {
    bankPaymentId: `b${n}`,
    ids: [`b${n}`],
    messageId: `m-${n}`,
    amountMinor: BigInt(100 + n),
    currency: 'EUR',
    iban: `de000000${n}`,
    status: 'INITIATED',
    ...change,
  };
}

const rows = [row(1), row(2), row(3)];
const differing = (...faults: Fault[]) => ({ kind: 'different', faults });
const personal = new PersonalData({ PAYRUN_HASH_KEY: 'a key of the tests, long enough to be one' });
const wordsOf = (judged: Judgement) => (judged.kind === 'equal' ? [] : differencesIn(judged, personal));

describe('a full read of an instruction against its rows', () => {
  it('is equal in any order, however IBANs are spaced, and with fields left out', () => {
    const bare = seen(2, {
      messageId: undefined,
      iban: undefined,
      amountMinor: undefined,
      currency: undefined,
    });
    expect(judgePayments(rows, [seen(3), bare, seen(1)]).kind).toBe('equal');
  });

  it('finds a row by its message id while the ids of its add are not known', () => {
    const doubt = { ...row(2), bankIds: [] as const };
    const judged = judgePayments([row(1), doubt], [seen(1), seen(2, { bankPaymentId: 'new', ids: ['new'] })]);
    expect(judged).toMatchObject({ kind: 'equal' });
  });

  it('holds each id of a payment against its like: the other id of another row says nothing', () => {
    const crossed = rows.map((one, index) => ({
      ...one,
      bankIds: [`b${index + 1}`, `b${index}`] as const,
    }));
    const shown = rows.map((_, index) => seen(index + 1, { ids: [`b${index + 1}`, `b${index}`] }));
    expect(judgePayments(crossed, shown)).toMatchObject({ kind: 'equal' });
    const stranger = seen(9, { bankPaymentId: 'b0', ids: ['b0'], messageId: undefined });
    expect(judgePayments(crossed, [...shown, stranger])).toEqual(
      differing({ kind: 'foreign', bankPaymentId: 'b0' }),
    );
  });

  it('names the rows that are missing', () => {
    expect(judgePayments(rows, [seen(2)])).toMatchObject({ kind: 'fewer', missing: [1, 3] });
  });

  it.each([
    ['amount', { amountMinor: 999n }],
    ['currency', { currency: 'USD' }],
    ['iban', { iban: 'FR00' }],
    ['messageId', { messageId: 'm-9' }],
  ])('is different when the %s is another', (field, change) => {
    const shown = seen(2, change);
    expect(judgePayments(rows, [seen(1), shown, seen(3)])).toEqual(
      differing({ kind: 'otherwise', rowNo: 2, fields: [field], shown }),
    );
  });

  it('is different when a row whose add was answered is shown under another id, whatever message id it bears', () => {
    const moved = seen(2, { bankPaymentId: 'b9', ids: ['b9', 't2'] });
    expect(judgePayments(rows, [seen(1), moved, seen(3)])).toEqual(
      differing({ kind: 'otherwise', rowNo: 2, fields: ['bankPaymentId'], shown: moved }),
    );
  });

  it('does not take one row seen twice for two rows', () => {
    const again = seen(1, { bankPaymentId: 'b9', ids: ['b9'] });
    expect(judgePayments(rows, [seen(1), seen(2), seen(3), again])).toEqual(
      differing({ kind: 'twice', rowNo: 1 }),
    );
  });

  it('tells of a row that is there twice also how either of the two differs, in any order', () => {
    const other = seen(3, { bankPaymentId: 'b9', ids: ['b9'], iban: 'FR00' });
    for (const both of [
      [seen(3), other],
      [other, seen(3)],
    ]) {
      const told = wordsOf(judgePayments(rows, [seen(1), seen(2), ...both])).sort();
      expect(told).toEqual([expect.stringMatching(/^row 3 differs in .*iban /), 'row 3 is there twice']);
    }
  });

  it('does not call a payment without any mark a stranger while a row in doubt may be it', () => {
    const doubt = { ...row(2), bankIds: [] as const };
    const unmarked = { bankPaymentId: 'b9', ids: ['b9'] as const, messageId: undefined };
    expect(judgePayments([row(1), doubt], [seen(1), seen(2, { ...unmarked, iban: undefined })])).toEqual({
      kind: 'unidentified',
      bankPaymentId: 'b9',
    });
    for (const change of [{ amountMinor: 999n }, { iban: 'FR00' }, { messageId: 'm-9' }]) {
      const judged = judgePayments([row(1), doubt], [seen(1), seen(2, { ...unmarked, ...change })]);
      expect(judged).toEqual(differing({ kind: 'foreign', bankPaymentId: 'b9' }));
    }
  });

  it('calls one that no row in doubt may be a stranger, wherever it is in the list', () => {
    const doubt = { ...row(2), bankIds: [] as const };
    const unmarked = seen(2, { bankPaymentId: 'b8', messageId: undefined });
    const stranger = seen(9, { messageId: undefined });
    for (const listed of [
      [stranger, unmarked],
      [unmarked, stranger],
    ])
      expect(judgePayments([row(1), doubt], [seen(1), ...listed])).toEqual(
        differing({ kind: 'foreign', bankPaymentId: 'b9' }),
      );
  });

  it('tells of a payment that was never sent', () => {
    const strange = seen(9, { messageId: undefined });
    expect(judgePayments(rows, [seen(1), strange])).toEqual(
      differing({ kind: 'foreign', bankPaymentId: 'b9' }),
    );
  });

  it('tells of all that differs, also beside what may be a row in doubt', () => {
    const doubt = { ...row(2), bankIds: [] as const };
    const unmarked = seen(2, { bankPaymentId: 'b8', messageId: undefined });
    const others = [seen(1, { iban: 'FR00' }), seen(3, { amountMinor: 1n }), seen(9, { messageId: 'm-9' })];
    const judged = judgePayments([row(1), doubt, row(3)], [unmarked, ...others, ...others]);
    expect(judged).toMatchObject({ kind: 'different', faults: { length: 3 } });
    expect(wordsOf(judged)).toEqual([
      'a payment is there that the record does not have ("b9")',
      expect.stringMatching(/^row 1 differs in iban [(]reading iban \w{8}[)]$/),
      expect.stringMatching(/^row 3 differs in amount [(]reading amount \w{8}[)]$/),
    ]);
  });

  it('tells one difference of a row from another, of what was approved of it, and holds nothing of a person', () => {
    const shown = (change: Partial<SeenPayment>) => wordsOf(judgePayments(rows, [seen(1, change)])).join();
    expect(shown({ iban: 'FR00' })).toBe(shown({ iban: 'fr 00' }));
    expect(shown({ iban: 'FR00' })).not.toBe(shown({ iban: 'FR01' }));
    expect(shown({ amountMinor: 1n })).not.toBe(shown({ amountMinor: 2n }));
    expect(shown({ iban: 'FR00' })).not.toContain('FR00');
    // Each attempt has a message id of its own.
    expect(shown({ messageId: 'm-8' })).toBe('row 1 differs in messageId');
  });
});

describe('totals', () => {
  const planned = { count: 3, totalMinor: 306n };

  it.each([
    [{ count: 3, totalMinor: 306n }, 'equal'],
    [{}, 'equal'],
    [{ count: 2, totalMinor: 203n }, 'fewer'],
    [{ count: 4, totalMinor: 306n }, 'different'],
    [{ count: 3, totalMinor: 305n }, 'different'],
    [{ count: 2, totalMinor: 307n }, 'different'],
  ])('%j of 3 payments and 3.06 euro: %s', (calculated, judged) => {
    expect(judgeTotals(planned, calculated)).toBe(judged);
  });

  it('sums over all groups of a submitted instruction, whatever their names and split', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ count: fc.nat(50), totalMinor: fc.bigInt(0n, 10n ** 12n) }), { minLength: 1 }),
        (groups) => {
          const sum = {
            count: groups.reduce((all, group) => all + group.count, 0),
            totalMinor: groups.reduce((all, group) => all + group.totalMinor, 0n),
          };
          expect(judgeGroups(sum, groups)).toBe('equal');
          expect(judgeGroups({ ...sum, totalMinor: sum.totalMinor + 1n }, groups)).toBe('different');
          expect(judgeGroups({ ...sum, count: sum.count + 1 }, groups)).toBe('different');
        },
      ),
    );
    expect(judgeGroups(planned, undefined)).toBe('absent');
    expect(judgeGroups(planned, undefined, 'filling')).toBe('absent');
    expect(judgeGroups(planned, [])).toBe('absent');
  });

  it.each([
    [0, 0n, 'absent', 'absent', 'different'],
    [2, 204n, 'absent', 'absent', 'different'],
    [3, 306n, 'equal', 'equal', 'equal'],
    [3, 305n, 'absent', 'different', 'different'],
    [3, 0n, 'absent', 'different', 'different'],
    [2, 306n, 'absent', 'different', 'different'],
    [0, 306n, 'absent', 'different', 'different'],
    [4, 200n, 'different', 'different', 'different'],
    [4, 306n, 'different', 'different', 'different'],
    [4, 307n, 'different', 'different', 'different'],
    [2, 307n, 'different', 'different', 'different'],
    [3, 307n, 'different', 'different', 'different'],
  ] as const)(
    '%d payments of 3, %d cents of 306, in groups that are filled: %s, that may lack some: %s, else: %s',
    (count, totalMinor, filling, fewer, whole) => {
      expect(judgeGroups(planned, [{ count, totalMinor }], 'filling')).toBe(filling);
      expect(judgeGroups(planned, [{ count, totalMinor }], 'fewer')).toBe(fewer);
      expect(judgeGroups(planned, [{ count, totalMinor }])).toBe(whole);
    },
  );

  it.each([
    [undefined, undefined, 'equal'],
    [3, 306n, 'equal'],
    [2, 204n, 'equal'],
    [4, 306n, 'different'],
    [4, undefined, 'different'],
    [3, 307n, 'different'],
    [2, 307n, 'different'],
    [undefined, 307n, 'different'],
  ])('%s payments of 3 and %s cents of 306 calculated beside equal groups: %s', (count, cents, judged) => {
    const calculated = { calculatedCount: count, calculatedTotalMinor: cents };
    expect(judgeSubmitted(planned, { groups: [planned], ...calculated }).kind).toBe(judged);
  });
});
