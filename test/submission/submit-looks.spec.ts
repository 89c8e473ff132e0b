import type { BankGateway } from '../../src/bank/gateway';
import type { Claim } from '../../src/database/leases';
import type { CutOff } from '../../src/submission/cut-off';
import type { InstructionReader, Otherwise } from '../../src/submission/read-back';
import type { ReplacedLook } from '../../src/submission/replaced-look';
import { SubmitLooks } from '../../src/submission/submit-looks';
import type { PayableRow, Work } from '../../src/submission/work';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const claim = { missing: null } as unknown as Claim;
const work = {} as Work;
const rowsThat = (payAgain: boolean) => [{ paysAgain: payAgain }] as unknown as PayableRow[];
const PAYS_AGAIN = rowsThat(true);

interface Takes {
  /** A look at what is paid again, reading the instruction again, the turns of both, and one of its own. */
  lookMs?: number;
  readMs?: number;
  pairMs?: number;
  turnMs?: number;
  /** Until the cut-off. */
  leftMs?: number;
  /** What the look comes to, each time. */
  stand?: () => boolean;
  otherwise?: Otherwise;
}

/** Looks at a bank where all takes so long, by a clock that only they move. */
function atBank(takes: Takes) {
  let nowMs = 0;
  const done: string[] = [];
  const takesUp = async (what: string, ms = 0) => {
    done.push(what);
    await Promise.resolve();
    nowMs += ms;
  };
  const clock = {
    now: () => new Date(nowMs),
    within: (ms: number) => {
      const sinceMs = nowMs;
      return () => nowMs - sinceMs <= ms;
    },
  };
  const lookedMs: number[] = [];
  const replaced = {
    standsBeforeSubmit: async () => {
      lookedMs.push(nowMs);
      await takesUp('look', takes.lookMs);
      return takes.stand?.() ?? true;
    },
  } as unknown as ReplacedLook;
  const turnToSubmit = async () => {
    await takesUp('turn', takes.turnMs);
    return { atMs: nowMs };
  };
  const turnToSubmitAfter = async (read: (turn: object) => Promise<unknown>) => {
    await takesUp('turns', takes.pairMs);
    const beganMs = nowMs;
    const answer = await read({});
    return nowMs - beganMs <= 2 * SECOND ? { turn: { atMs: nowMs }, answer } : { answer };
  };
  const gateway = { turnToSubmit, turnToSubmitAfter } as unknown as BankGateway;
  const readAgain = async () => {
    await takesUp('read', takes.readMs);
    return takes.otherwise;
  };
  const cutOff = { leftMs: () => takes.leftMs ?? 24 * 60 * MINUTE } as unknown as CutOff;
  const reader = { readAgain } as unknown as InstructionReader;
  const looks = new SubmitLooks(gateway, reader, replaced, cutOff, clock);
  const submit = async (rows = PAYS_AGAIN) => {
    const look = await looks.atReplaced(claim, work, rows);
    if ('end' in look) return look;
    const age = looks.ageFromNow();
    await takesUp('read', takes.readMs);
    return looks.inTurn(claim, work, rows, { age, look }, () => false);
  };
  /** How old what was read first of the last look is. */
  const oldestMs = () => nowMs - (lookedMs.at(-1) ?? 0);
  const pass = (ms: number) => (nowMs += ms);
  return { looks, submit, done, oldestMs, pass };
}

const waiting = { end: { inMs: expect.any(Number), waitsFor: expect.any(String) } };

describe('what a submit pays again', () => {
  it('is looked at once where that and the turn are quick', async () => {
    const { submit, done, oldestMs } = atBank({ lookMs: SECOND, readMs: SECOND });
    expect(await submit()).toMatchObject({ allowed: {} });
    expect(done).toEqual(['look', 'read', 'turn']);
    expect(oldestMs()).toBeLessThan(5 * SECOND);
  });

  it('is looked at once where the look alone takes longer than five seconds', async () => {
    const { submit, done, oldestMs } = atBank({ lookMs: 20 * SECOND, readMs: 100, pairMs: 3 * SECOND });
    expect(await submit()).toMatchObject({ allowed: {} });
    expect(done).toEqual(['look', 'read', 'turn']);
    expect(oldestMs()).toBeLessThan(MINUTE);
  });

  it('is looked at after a reading of all of the instruction that takes over a minute each time', async () => {
    const { submit, done, oldestMs } = atBank({ lookMs: 10 * SECOND, readMs: 61 * SECOND });
    expect(await submit()).toMatchObject({ allowed: {} });
    expect(done.slice(-4)).toEqual(['turns', 'read', 'look', 'turn']);
    expect(oldestMs()).toBeLessThan(MINUTE);
  });

  it('is not paid again where it is seen after that reading that it moved', async () => {
    let looks = 0;
    const bank = atBank({ readMs: 61 * SECOND, stand: () => (looks += 1) < 4 });
    expect(await bank.submit()).toEqual({ end: 15 * SECOND });
    expect(bank.done.slice(-2)).toEqual(['read', 'look']);
  });

  it('is looked at once more where its turn came over five seconds after a quick look', async () => {
    let looks = 0;
    const bank = atBank({ pairMs: 10 * SECOND, turnMs: 3 * SECOND, stand: () => (looks += 1) < 3 });
    expect(await bank.submit()).toEqual({ end: 15 * SECOND });
    expect(bank.done).toEqual(['look', 'read', 'turn', 'look', 'turns', 'read', 'look']);
  });

  it('is looked at once more where a look of under five seconds was over that as its turn came', async () => {
    let looks = 0;
    const bank = atBank({ lookMs: 4.5 * SECOND, turnMs: 1.5 * SECOND, stand: () => (looks += 1) < 2 });
    expect(await bank.submit()).toEqual({ end: 15 * SECOND });
    expect(bank.done).toEqual(['look', 'read', 'turn', 'look']);
  });

  it('counts as read when the look began: one of over a minute allows no submit, and is told', async () => {
    const { submit, done } = atBank({ lookMs: 10 * MINUTE });
    const looked = await submit();
    expect(looked).toMatchObject(waiting);
    expect(looked).toMatchObject({
      end: {
        waitsFor: expect.stringMatching(/^this service: .*minute before its submit \(tried for 600 s\)/),
      },
    });
    expect(done).toEqual(['look']);
  });

  it('is told where its look fits into a minute, and never with the turn after it', async () => {
    const { submit, oldestMs } = atBank({
      lookMs: 40 * SECOND,
      readMs: 100,
      pairMs: 40 * SECOND,
      turnMs: 30 * SECOND,
    });
    expect(await submit()).toMatchObject(waiting);
    expect(oldestMs()).toBeGreaterThan(MINUTE);
  });

  it.each<[string, Takes]>([
    ['at the first look', { lookMs: 54 * SECOND, readMs: 100 }],
    ['after a reading of all of the instruction', { lookMs: 54 * SECOND, readMs: 61 * SECOND }],
    ['after a turn that always comes late', { lookMs: 40 * SECOND, readMs: 3 * SECOND, turnMs: 11 * SECOND }],
  ])(
    'counts as read when the look began until the submit leaves, too, where it is allowed %s',
    async (_, takes) => {
      const { submit, oldestMs, pass } = atBank(takes);
      const looked = await submit();
      if (!('allowed' in looked)) throw new Error('it is allowed');
      expect(looked.allowed.mayLeave?.()).toBe(true);
      pass(61 * SECOND - oldestMs());
      expect(looked.allowed.mayLeave?.()).toBe(false);
    },
  );

  it('leaves the limit to others for nine times as long, at least 15 seconds and an hour at most, and is tried again before the cut-off', async () => {
    const restOf = async (takes: Takes) => (await atBank(takes).submit()) as { end: { inMs: number } };
    expect(await restOf({ lookMs: 2 * MINUTE })).toMatchObject({ end: { inMs: 18 * MINUTE } });
    expect(await restOf({ lookMs: MINUTE, leftMs: 6 * MINUTE })).toMatchObject({ end: { inMs: 4 * MINUTE } });
    expect(await restOf({ lookMs: 2 * MINUTE, leftMs: MINUTE })).toMatchObject({
      end: { inMs: 15 * SECOND },
    });
    expect(await restOf({ lookMs: 2 * MINUTE, leftMs: -1 })).toMatchObject({ end: { inMs: 15 * SECOND } });
    expect(await restOf({ lookMs: 10 * MINUTE })).toMatchObject({ end: { inMs: 60 * MINUTE } });
  });

  it('is looked at by one instruction after the other', async () => {
    const { looks } = atBank({});
    const order: string[] = [];
    const goOn = (name: string) => async () => {
      order.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} ends`);
    };
    const [first, second] = [looks.inPlace(PAYS_AGAIN, goOn('1')), looks.inPlace(PAYS_AGAIN, goOn('2'))];
    await looks.inPlace(rowsThat(false), goOn('other'));
    await Promise.all([first, second]);
    expect(order.filter((one) => !one.startsWith('other'))).toEqual([
      '1 begins',
      '1 ends',
      '2 begins',
      '2 ends',
    ]);
    expect(order.indexOf('other begins')).toBeLessThan(order.indexOf('1 ends'));
  });
});

it('a submit that pays nobody again is sent however long all of it takes to read', async () => {
  const { submit, done } = atBank({ readMs: 61 * SECOND, turnMs: 2 * MINUTE });
  expect(await submit(rowsThat(false))).toMatchObject({ allowed: {} });
  expect(done).not.toContain('look');
});

it.each([
  ['pays somebody again', PAYS_AGAIN],
  ['pays nobody again', rowsThat(false)],
])(
  'a submit that %s is not sent where all of it, read again in its turn, is not as it was approved',
  async (_, rows) => {
    const otherwise: Otherwise = { kind: 'gone' };
    expect(await atBank({ turnMs: 3 * SECOND, otherwise }).submit(rows)).toEqual({ otherwise });
  },
);
