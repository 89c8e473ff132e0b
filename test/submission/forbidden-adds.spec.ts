import fc from 'fast-check';
import { afterTurns, Known, Next, Turn } from '../../src/submission/forbidden-adds';

const UNKNOWN: Known = {
  tookSome: false,
  resumed: new Set(),
  askedEach: new Set(),
  tookElsewhere: new Set(),
};

/** What a bank does with an add that it works as the nth of all, be it taken or not. */
type Bank = (payment: string, nth: number) => 'taken' | 'forbidden';

interface Course {
  end: Next;
  turns: Turn[];
  taken: Set<string>;
}

/** Adds as the builder does: so many side by side, none after a refusal is heard, and worked from whichever end. */
function add(open: readonly string[], bank: Bank, inFlight: number, known = UNKNOWN, worked = 0): Course {
  const turns: Turn[] = [];
  const taken = new Set<string>();
  for (let nth = worked; ;) {
    const left = open.filter((one) => !taken.has(one));
    if (left.length === 0) return { end: { kind: 'payments', payments: [] }, turns, taken };
    const next = afterTurns(left, turns, known);
    if (next.kind !== 'add') return { end: next, turns, taken };
    expect(next.payments.length).toBeGreaterThan(0);
    const turn: { taken: string[]; forbidden: string[] } = { taken: [], forbidden: [] };
    for (let at = 0; at < next.payments.length && turn.forbidden.length === 0; at += inFlight) {
      const sideBySide = next.payments.slice(at, at + inFlight);
      for (const one of turns.length % 2 === 0 ? sideBySide : sideBySide.reverse()) {
        const answer = bank(one, nth++);
        turn[answer].push(one);
        if (answer === 'taken') taken.add(one);
      }
    }
    turns.push(turn);
    if (turns.length > 4 * open.length + 10) throw new Error('it does not end');
  }
}

const payments = (n: number) => Array.from({ length: n }, (_, i) => `p${i}`);
const forbids =
  (...forbidden: string[]): Bank =>
  (one) =>
    forbidden.includes(one) ? 'forbidden' : 'taken';

const shape = fc.record({
  all: fc.integer({ min: 1, max: 60 }).map(payments),
  inFlight: fc.constantFrom(1, 2, 4, 8, 32, 64),
  marks: fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
  after: fc.nat(60),
});

describe('what forbidden adds are held for', () => {
  it('is the payments, each of which is forbidden twice, where another is taken after them', () => {
    const { end, turns } = add(payments(12), forbids('p0', 'p1', 'p2', 'p3', 'p4', 'p5'), 4);
    expect(end).toEqual({ kind: 'payments', payments: ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'] });
    expect(turns.at(-1)?.taken).toEqual(['p11']);
  });

  it('is our access where those taken may have gone before them', () => {
    const turn = { taken: ['p1', 'p3', 'p5', 'p7', 'p9'], forbidden: ['p0', 'p2', 'p4', 'p6', 'p8'] };
    expect(afterTurns(turn.forbidden, [turn], UNKNOWN)).toEqual({
      kind: 'access',
      payments: turn.forbidden,
    });
  });

  it('is our access where nothing at all is taken, be it of one payment', () => {
    expect(add(['p0'], forbids('p0'), 1).end).toEqual({ kind: 'access', payments: ['p0'] });
  });

  it('is a few payments where nothing is taken after them, and others were before', () => {
    const tookSome = { ...UNKNOWN, tookSome: true };
    expect(add(['p8', 'p9'], forbids('p8', 'p9'), 1, tookSome).end.kind).toBe('payments');
  });

  it('is our access, as to those after which nothing is taken, though another is forbidden by itself', () => {
    const { end } = add(payments(20), (one, nth) => (nth > 10 || one === 'p0' ? 'forbidden' : 'taken'), 1);
    expect(end.kind).toBe('access');
    expect(end.payments).not.toContain('p0');
  });

  it('is our access again where more than a few are forbidden that were taken before and nobody was asked about', () => {
    const known = {
      ...UNKNOWN,
      resumed: new Set(['p19']),
      tookElsewhere: new Set(payments(19)),
    };
    const withdrawn: Bank = (_, nth) => (nth < 10 ? 'taken' : 'forbidden');
    expect(add(payments(20), withdrawn, 1, known).end.kind).toBe('access');
    expect(add(payments(20), forbids('p19'), 1, known).end).toEqual({ kind: 'payments', payments: ['p19'] });
  });

  it('is our access again, of all, where people had it go on too early: only what they were asked about is payments then', () => {
    const bank = forbids(...payments(40));
    let known = UNKNOWN;
    const asked: number[] = [];
    for (let end = add(payments(40), bank, 1).end; ; end = add(payments(40), bank, 1, known).end) {
      if (end.kind === 'payments') return expect(asked).toEqual([6, 40]);
      asked.push(end.payments.length);
      known = { ...UNKNOWN, resumed: new Set([...known.resumed, ...end.payments]) };
    }
  });

  it('is payments that people were asked about each, though another of them is taken now', () => {
    const [taken, ...others] = payments(12).slice(5);
    const known = { ...UNKNOWN, resumed: new Set([taken!, ...others]), askedEach: new Set(others) };
    expect(add(payments(12), forbids(...others), 4, known).end).toEqual({
      kind: 'payments',
      payments: others,
    });
    const withdrawn: Bank = (_, nth) => (nth >= 4 ? 'forbidden' : 'taken');
    expect(add(payments(24), withdrawn, 1, known).end.kind).toBe('access');
    expect(add(payments(12), forbids(...others), 4, { ...known, askedEach: new Set() }).end.kind).toBe(
      'access',
    );
  });

  it('never is payments that were to come after our access was withdrawn, but for a few', () => {
    fc.assert(
      fc.property(shape, ({ all, inFlight, marks, after }) => {
        const byThemselves = new Set(all.filter((_, n) => marks[n] && n % 3 === 0));
        const bank: Bank = (one, nth) => (nth >= after || byThemselves.has(one) ? 'forbidden' : 'taken');
        const { end, taken } = add(all, bank, inFlight);
        const cutOff = all.filter((one) => !taken.has(one) && !byThemselves.has(one));
        if (cutOff.length > 4) expect(end.kind).toBe('access');
      }),
    );
  });

  it('is payments, and all that are forbidden, after three questions of our access at most where that is there, and one more where all are added anew', () => {
    fc.assert(
      fc.property(shape, ({ all, inFlight, marks }) => {
        const forbidden = all.filter((_, n) => marks[n]);
        const bank = forbids(...forbidden);
        let { end, taken } = add(all, bank, inFlight);
        const left = all.filter((one) => !taken.has(one));
        let known = { ...UNKNOWN, tookSome: taken.size > 0 };
        const askedOfAccess = () => {
          known = { ...known, resumed: new Set([...known.resumed, ...end.payments]) };
        };
        for (let asked = 0; end.kind === 'access' && asked < 3; asked++) {
          askedOfAccess();
          ({ end, taken } = add(left, bank, inFlight, known));
        }
        expect(end.kind).toBe('payments');
        expect(new Set(end.payments)).toEqual(new Set(forbidden));
        // Remembered where all are added anew, but for what another that was taken had shown to be payments.
        ({ end, taken } = add(all, bank, inFlight, known));
        if (end.kind === 'access') {
          askedOfAccess();
          ({ end, taken } = add(all, bank, inFlight, known));
        }
        expect(end.kind).toBe('payments');
      }),
    );
  });

  it('is our access, and again where it is withdrawn again, until all are taken', () => {
    fc.assert(
      fc.property(shape, ({ all, inFlight, after }) => {
        const each = Math.max(1, after);
        let left = all;
        for (let known = UNKNOWN; left.length > 4;) {
          const bank: Bank = (_, nth) => (nth >= each ? 'forbidden' : 'taken');
          const { end, taken } = add(left, bank, inFlight, known);
          if (taken.size === left.length) return;
          left = left.filter((one) => !taken.has(one));
          if (left.length > 4) expect(end.kind).toBe('access');
          known = { ...UNKNOWN, tookSome: true, resumed: new Set(end.payments) };
        }
      }),
    );
  });

  it('never is a payment that was forbidden only once', () => {
    fc.assert(
      fc.property(shape, ({ all, inFlight, marks }) => {
        const { end, turns } = add(all, (_, nth) => (marks[nth % 60] ? 'forbidden' : 'taken'), inFlight);
        if (end.kind !== 'payments') return;
        for (const one of end.payments)
          expect(turns.filter(({ forbidden }) => forbidden.includes(one))).toHaveLength(2);
      }),
    );
  });
});
