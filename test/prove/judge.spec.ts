import { shortcomingsOf } from '../../prove/real/faults';
import { conclusionOf, judgeBook, Look, standingOf } from '../../prove/real/judge';
import { breakagesOf, struckTooSeldom } from '../../prove/real/mix';
import { breaks, wordsOf } from '../../prove/table';
import type { PayRunStatus } from '../../src/domain/pay-run';
import { payRows } from '../support/pay-rows';

const well: Look = {
  statuses: ['SETTLED'],
  final: true,
  asked: false,
  inDoubt: false,
  paidTwice: false,
  paidUnapproved: false,
  differs: false,
  refused: [],
};
/** All of it by the first look. */
const byThen = (...kinds: string[]) => ({ first: kinds, all: kinds });
const [row] = payRows(1);
const approved = new Map([[row!.iban, BigInt(row!.amount.replace('.', ''))]]);

describe('what a run of the proof came to', () => {
  it('is well where it ended as the book says', () => {
    expect(conclusionOf(well, well, false, byThen())).toEqual({
      paidTwice: false,
      paidUnapproved: false,
      silent: false,
      stuck: false,
      undecided: false,
      attention: false,
    });
  });

  it('is undecided where the desk refused to the end what people tried, which breaks the rule inside the assumptions', () => {
    const asks = { ...well, final: false, asked: true };
    const refused = { ...asks, refused: ['SUBMIT_UNKNOWN stayed open: the desk refused EXECUTED (409 NO)'] };
    expect(conclusionOf(asks, asks, true, byThen())).toMatchObject({ undecided: false });
    expect(conclusionOf(refused, well, true, byThen())).toMatchObject({ undecided: false });
    const finding = conclusionOf(asks, refused, false, byThen());
    expect(wordsOf(finding)).toBe('undecided');
    expect(breaks(finding, 'inside')).toBe(true);
    expect(breaks(finding, 'outside')).toBe(false);
  });

  it('is stuck at rest, and after people have decided, where it is not final and nothing is asked', () => {
    const waits = { ...well, final: false };
    const asks = { ...waits, asked: true };
    expect(conclusionOf(waits, well, false, byThen())).toMatchObject({ stuck: true });
    expect(conclusionOf(asks, well, true, byThen())).toMatchObject({ stuck: false });
    expect(conclusionOf(asks, waits, true, byThen())).toMatchObject({ stuck: true });
    expect(conclusionOf(asks, asks, true, byThen())).toMatchObject({ stuck: false });
  });

  it('is told with its states and with what was asked where it is stuck', () => {
    const waits: Look = { ...well, statuses: ['BUILDING'], final: false };
    expect(standingOf({ ...waits, asked: true }, waits, ['ROW_UNSEEN'])).toEqual([
      'at rest BUILDING and asked about',
      'at the end BUILDING',
      'since it began ROW_UNSEEN was asked',
    ]);
    expect(standingOf(waits, well, [])).toContain('since it began nothing was asked');
    expect(standingOf({ ...waits, asked: true }, well, ['ROW_UNSEEN'])).toEqual([]);
  });

  it('is silent where it differs from the book in the end, whatever was asked and answered before', () => {
    const differs = { ...well, differs: true };
    const asked = { ...differs, asked: true };
    expect(conclusionOf({ ...well, asked: true }, differs, true, byThen())).toMatchObject({
      silent: true,
    });
    expect(conclusionOf({ ...well, asked: true }, asked, true, byThen())).toMatchObject({
      silent: false,
    });
    expect(conclusionOf(differs, well, false, byThen())).toMatchObject({ silent: true });
    expect(conclusionOf(asked, well, true, byThen())).toMatchObject({ silent: false });
  });

  it('is silent where somebody was paid twice or unapproved and nothing that was asked tells of moved money', () => {
    for (const wrong of ['paidTwice', 'paidUnapproved'] as const) {
      const last = { ...well, [wrong]: true };
      expect(conclusionOf(well, last, false, byThen())).toMatchObject({
        silent: true,
        [wrong]: true,
      });
      for (const kind of ['UNKNOWN_STATUS', 'ROW_REFUSED_BY_BANK', 'ROW_UNSEEN', 'CREDENTIALS']) {
        const asking = { ...last, asked: true };
        expect(conclusionOf({ ...well, asked: true }, asking, true, byThen(kind))).toMatchObject({
          silent: true,
        });
      }
      for (const kind of ['TOTAL_MISMATCH_AFTER_SUBMIT', 'FOREIGN_RECORD', 'INVARIANT_BREACH'])
        expect(conclusionOf(well, last, true, byThen('ROW_UNSEEN', kind))).toMatchObject({ silent: false });
    }
  });

  it('is silent where somebody was paid twice after the doubt of a submit was decided, and nothing tells so since', () => {
    const asked = { ...well, asked: true, inDoubt: true };
    const twice = { ...well, paidTwice: true };
    const doubt = byThen('SUBMIT_UNKNOWN');
    expect(conclusionOf(asked, twice, true, doubt)).toMatchObject({ silent: true });
    expect(conclusionOf(asked, { ...asked, paidTwice: true }, false, doubt)).toMatchObject({ silent: false });
    expect(conclusionOf({ ...asked, paidTwice: true }, well, true, doubt)).toMatchObject({ silent: false });
    const told = { first: doubt.first, all: ['SUBMIT_UNKNOWN', 'TOTAL_MISMATCH_AFTER_SUBMIT'] };
    expect(conclusionOf(asked, twice, true, told)).toMatchObject({ silent: false });
  });

  it('is silent where it was wrong at rest and nothing had told so by then, whatever was asked later', () => {
    const differs = { ...well, differs: true };
    const later = { first: [], all: ['CONTRADICTION'] };
    expect(conclusionOf(differs, well, true, later)).toMatchObject({ silent: true });
    expect(conclusionOf(differs, { ...well, asked: true }, false, later)).toMatchObject({ silent: true });
    expect(conclusionOf(differs, well, true, byThen('CONTRADICTION'))).toMatchObject({ silent: false });
    const twice = { ...well, paidTwice: true };
    const told = { first: ['ROW_UNSEEN'], all: ['ROW_UNSEEN', 'INVARIANT_BREACH'] };
    expect(conclusionOf(twice, twice, true, told)).toMatchObject({ silent: true });
    expect(conclusionOf(well, twice, true, told)).toMatchObject({ silent: false });
  });

  it('takes a row for paid where one of the runs that pay it says so', () => {
    const { employeeId, iban } = row!;
    const movedMinor = String(approved.get(iban));
    const paid = { payees: [{ iban, count: 1, movedMinor }], entriesSumMinor: '0' };
    const differsWith = (...said: [PayRunStatus, string][]) =>
      judgeBook(
        {
          runs: said.map(([run, status]) => ({ status: run, payments: [{ employeeId, status }] })),
          ledger: paid,
        },
        [row!],
        approved,
      ).differs;
    expect(differsWith(['FAILED', 'VOID'], ['SETTLED', 'SETTLED'])).toBe(false);
    expect(differsWith(['FAILED', 'VOID'], ['FAILED', 'FAILED'])).toBe(true);
    expect(differsWith(['FAILED', 'VOID'], ['FOLLOWING', 'SUBMITTED'])).toBe(false);
    expect(differsWith()).toBe(true);
  });

  it('does not differ where people were told that the bank contradicted the end, and have acknowledged it', () => {
    const { employeeId, iban } = row!;
    const ledger = {
      payees: [{ iban, count: 1, movedMinor: String(approved.get(iban)) }],
      entriesSumMinor: '0',
    };
    const differsWith = (contradicted: boolean) => {
      const payments = [{ employeeId, status: 'FAILED', contradicted }];
      return judgeBook({ runs: [{ status: 'FAILED', payments }], ledger }, [row!], approved).differs;
    };
    expect(differsWith(true)).toBe(false);
    expect(differsWith(false)).toBe(true);
  });

  it('differs where a run is final and a payment of it is not, whatever other runs say', () => {
    const { employeeId, iban } = row!;
    const movedMinor = String(approved.get(iban));
    const differsWith = (run: PayRunStatus, status: string, isPaid: boolean, other: string = status) =>
      judgeBook(
        {
          runs: [
            { status: run, payments: [{ employeeId, status }] },
            { status: 'FOLLOWING', payments: [{ employeeId, status: other }] },
          ],
          ledger: { payees: isPaid ? [{ iban, count: 1, movedMinor }] : [], entriesSumMinor: '0' },
        },
        [row!],
        approved,
      ).differs;
    for (const open of ['READY', 'APPROVED', 'AT_BANK', 'SUBMITTED']) {
      for (const final of ['SETTLED', 'PARTLY_SETTLED', 'FAILED', 'CANCELLED'] as const)
        expect(differsWith(final, open, false)).toBe(true);
      expect(differsWith('PARTLY_SETTLED', open, true, 'SETTLED')).toBe(true);
      expect(differsWith('FOLLOWING', open, false)).toBe(false);
    }
    for (const status of ['CANCELLED', 'EXCLUDED'])
      expect(differsWith('CANCELLED', status, false)).toBe(false);
    for (const status of ['HELD', 'VOID', 'FAILED'])
      expect(differsWith('CANCELLED', status, false)).toBe(true);
    expect(differsWith('PARTLY_SETTLED', 'HELD', false)).toBe(false);
  });
});

describe('a mixture', () => {
  const mixed = {
    ...conclusionOf(well, well, false, byThen()),
    missed: ['add 403'],
    raised: ['SUBMIT_UNKNOWN'],
    standing: [],
  };

  it('is well whatever did not strike and was asked, and breaks where an invariant broke and was resolved', () => {
    expect(breakagesOf(mixed, 'inside')).toEqual([]);
    const breach = { ...mixed, raised: ['INVARIANT_BREACH', 'SUBMIT_UNKNOWN'] };
    expect(breakagesOf(breach, 'inside')).toEqual(['an invariant broke']);
    expect(breakagesOf({ ...mixed, paidTwice: true }, 'inside')).toEqual(['paid twice']);
  });

  it('may pay twice outside the assumptions, where it is told', () => {
    const told = { ...mixed, paidTwice: true, raised: ['INVARIANT_BREACH'] };
    expect(breakagesOf(told, 'outside')).toEqual([]);
    expect(breakagesOf({ ...told, silent: true }, 'outside')).toEqual(['paid twice, silent']);
  });

  it('shows too little where few of its faults strike', () => {
    expect(struckTooSeldom({ armed: 100, struck: 30 })).toBe(true);
    expect(struckTooSeldom({ armed: 100, struck: 50 })).toBe(false);
    expect(struckTooSeldom({ armed: 5, struck: 0 })).toBe(false);
  });
});

describe('what a trial lacks', () => {
  it('names the fault that changed nothing', () => {
    expect(shortcomingsOf({ assumptions: 'inside' }, { missed: ['submit hang'], raised: [] })).toEqual([
      'did not strike: submit hang',
    ]);
    expect(shortcomingsOf({ assumptions: 'inside' }, { missed: [], raised: ['SUBMIT_UNKNOWN'] })).toEqual([]);
  });

  it('names what nobody was asked, and what was asked where nothing was to be', () => {
    expect(
      shortcomingsOf(
        { assumptions: 'inside', expects: ['CONTRADICTION'] },
        { missed: [], raised: ['ROW_UNSEEN'] },
      ),
    ).toEqual(['nobody was asked: CONTRADICTION']);
    expect(
      shortcomingsOf(
        { assumptions: 'inside', expects: ['CONTRADICTION'] },
        { missed: [], raised: ['CONTRADICTION'] },
      ),
    ).toEqual([]);
    expect(
      shortcomingsOf({ assumptions: 'inside', expects: [] }, { missed: [], raised: ['ROW_UNSEEN'] }),
    ).toEqual(['somebody was asked: ROW_UNSEEN']);
  });

  it('takes a broken invariant for one inside the assumptions, where it is not what was to be asked', () => {
    const breach = { missed: [], raised: ['INVARIANT_BREACH'] };
    const words = ['somebody was asked: INVARIANT_BREACH'];
    expect(shortcomingsOf({ assumptions: 'inside' }, breach)).toEqual(words);
    expect(shortcomingsOf({ assumptions: 'outside' }, breach)).toEqual([]);
    expect(shortcomingsOf({ assumptions: 'inside', expects: ['INVARIANT_BREACH'] }, breach)).toEqual([]);
  });
});
