import fc from 'fast-check';
import {
  afterBuildAnswer,
  afterDoubt,
  afterSubmitAnswer,
  Answer,
  Doubt,
  DoubtLimits,
  judgeUnsubmitted,
  TURNED_AWAY,
} from '../../src/submission/decision';

const answers: fc.Arbitrary<Answer> = fc.record({
  kind: fc.constantFrom('yes', 'no', 'in-doubt'),
  reason: fc.constantFrom(
    'not-sent',
    'no-token',
    'invalid',
    'unauthorised',
    'forbidden',
    'rate-limited',
    undefined,
  ),
});

describe('what follows an answer', () => {
  it('arms a submit again only when it never left, or when the bank promised and turned it away', () => {
    fc.assert(
      fc.property(answers, fc.boolean(), (answer, promised) => {
        const next = afterSubmitAnswer(answer, promised);
        if (next === 'unsent') {
          expect(answer.kind).toBe('no');
          expect(['not-sent', 'no-token']).toContain(answer.reason);
        }
        if (next === 'rejected-unexecuted') {
          expect(promised).toBe(true);
          expect(['unauthorised', 'rate-limited']).toContain(answer.reason);
        }
        if (next === 'executed') expect(answer.kind).toBe('yes');
      }),
    );
  });

  it('takes every submit that may have arrived for a doubt', () => {
    expect(afterSubmitAnswer({ kind: 'in-doubt' }, true)).toBe('in-doubt');
    expect(afterSubmitAnswer({ kind: 'no', reason: 'unauthorised' }, false)).toBe('in-doubt');
    expect(afterSubmitAnswer({ kind: 'no', reason: 'rate-limited' }, false)).toBe('in-doubt');
    expect(afterSubmitAnswer({ kind: 'no', reason: 'invalid' }, false)).toBe('refused');
    expect(afterSubmitAnswer({ kind: 'no', reason: 'forbidden' }, true)).toBe('refused');
  });

  it('tells a person when there is no token, though a submit without one never left', () => {
    expect(afterBuildAnswer({ kind: 'no', reason: 'no-token' })).toEqual({ kind: 'credentials' });
    expect(afterSubmitAnswer({ kind: 'no', reason: 'no-token' }, false)).toBe('unsent');
  });

  it('waits after a rate limit as long as the bank asks', () => {
    expect(afterBuildAnswer({ kind: 'no', reason: 'rate-limited', retryAfterMs: 7_000 })).toEqual({
      kind: 'wait',
      ms: 7_000,
    });
    // Held back by our own budget, while all pause.
    expect(afterBuildAnswer({ kind: 'no', reason: 'not-sent', retryAfterMs: 7_000 })).toEqual({
      kind: 'wait',
      ms: 7_000,
    });
  });

  it('never concludes from a doubt that a row was refused or not added', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const next = afterBuildAnswer({ ...answer, kind: 'in-doubt' });
        expect(next).toEqual({ kind: 'doubt' });
      }),
    );
  });
});

describe('an instruction that was not submitted', () => {
  it.each([
    ['INITIATED', 'open'],
    ['INI_STARTED', 'wait'],
    ['INI_IS_VALID', 'wait'],
    ['INI_INT_CTRL_PASSED', 'wait'],
    ['SUB_STARTED', 'moved'],
    ['SETTLED', 'moved'],
    ['CANCELLED', 'dead'],
    ['FAILED', 'dead'],
    ['SOMETHING_NEW', 'wait'],
  ])('is %s: %s', (status, judged) => {
    expect(judgeUnsubmitted(status)).toBe(judged);
  });
});

describe('what follows a doubt', () => {
  const limits: DoubtLimits = {
    rejectsBeforeExecuting: true,
    lagBoundMs: 60,
    doubtMs: 200,
    rebuildLimit: 5,
  };
  /** All that is asked before a submit is armed again. */
  const proven: Doubt = {
    outcome: 'IN_DOUBT',
    detail: `${TURNED_AWAY}401`,
    stillInitiated: true,
    ageMs: 70,
    readAgoMs: 10,
    timesTurnedAway: 4,
    olderThanARestore: false,
  };

  it('arms a submit again that was turned away, by the bank’s word and a read after the lag bound', () => {
    expect(afterDoubt(proven, limits)).toBe('arm');
  });

  it.each<[string, Partial<Doubt>, Partial<DoubtLimits>]>([
    ['without the word of the bank', {}, { rejectsBeforeExecuting: false }],
    ['that was not turned away', { detail: 'no answer' }, {}],
    ['of which nothing is said', { detail: null }, {}],
    ['that is not read to be INITIATED', { stillInitiated: false }, {}],
    ['within the lag bound', { ageMs: 69 }, {}],
    ['by a read that began within it', { readAgoMs: 11 }, {}],
    ['that was turned away too often', { timesTurnedAway: 5 }, {}],
    ['that is older than a restore, which may have forgotten the next', { olderThanARestore: true }, {}],
  ])('arms none %s', (_, doubt, otherwise) => {
    const ofAge = (ageMs: number) => afterDoubt({ ...proven, ageMs, ...doubt }, { ...limits, ...otherwise });
    expect(ofAge(70)).toBe('read-again');
    if (doubt.ageMs === undefined && doubt.readAgoMs === undefined) expect(ofAge(200)).toBe('park');
  });

  it('begins a doubt before anything is concluded from it', () => {
    expect(afterDoubt({ ...proven, outcome: null, ageMs: 300 }, limits)).toBe('begin');
  });
});
