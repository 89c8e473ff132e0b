import type { AxiosResponse } from 'axios';
import { otherEffects } from '../../prove/real/effects';
import { saidAgain } from '../../prove/real/said-again';

const NONE = {
  entries: 0,
  accounts: 0,
  actions: 0,
  amendments: 0,
  approvals: 0,
  employers: 0,
  profiles: 0,
  releases: 0,
  runs: 0,
  schedules: 0,
};

describe('what five presses of a button made', () => {
  const made = { ...NONE, entries: 7, amendments: 6 };
  const expected = { entries: 5, amendments: 5 };

  it('is no more than what they were to make', () => {
    expect(otherEffects(NONE, made, expected)).toEqual(['7 entries, not 5', '6 amendments, not 5']);
  });

  it('may be so much more as was said again when it may have been done, and only of what was to be made', () => {
    expect(otherEffects(NONE, made, expected, 1)).toEqual(['7 entries, not 5']);
    expect(otherEffects(NONE, made, expected, 2)).toEqual([]);
    expect(otherEffects(NONE, made, { entries: 5 }, 2)).toEqual(['6 amendments, not 0']);
    expect(otherEffects(NONE, made, { entries: 8, amendments: 6 }, 2)).toEqual(['7 entries, not 8']);
  });
});

describe('what is said again', () => {
  it('tells how often it may have been done all the same', async () => {
    const answers = [
      { status: 503, data: { code: 'TEMPORARILY_UNAVAILABLE' } },
      { status: 503, data: { code: 'OUTCOME_UNKNOWN' } },
      { status: 502, data: '' },
      { status: 503, data: { code: 'OUTCOME_UNKNOWN' } },
      { status: 200, data: {} },
    ] as AxiosResponse[];
    let unknown = 0;
    const answer = await saidAgain(
      () => Promise.resolve(answers.shift()!),
      () => (unknown += 1),
    );
    expect({ status: answer.status, unknown }).toEqual({ status: 200, unknown: 2 });
  });
});
