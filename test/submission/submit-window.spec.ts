import { whyLapsed } from '../../src/submission/lapse';
import { submitWindow } from '../../src/submission/submit-window';

const hours = { cutOff: '16:00', timeZone: 'Europe/Paris', closedDays: new Set<string>(['2026-11-26']) };
const at = (text: string) => new Date(text);
const window = (
  run: { executionDate: string; submitAt: string | null },
  approvedAt: string,
  now: string,
  expectedMs = 0,
) =>
  submitWindow(
    { executionDate: run.executionDate, submitAt: run.submitAt === null ? null : at(run.submitAt) },
    at(approvedAt),
    at(now),
    hours,
    expectedMs,
  );

describe('when a run may be submitted', () => {
  it('at once, when it was approved on a banking day before the cut-off', () => {
    const run = { executionDate: '2026-11-25', submitAt: null };
    expect(window(run, '2026-11-20T09:00:00Z', '2026-11-20T09:00:01Z')).toEqual({ kind: 'open' });
  });

  it('from the next banking day, when it was approved after the cut-off, at a weekend or on a closed day', () => {
    const run = { executionDate: '2026-11-30', submitAt: null };
    const monday = at('2026-11-23T00:00:00+01:00').getTime();
    for (const approved of ['2026-11-20T15:30:00Z', '2026-11-21T10:00:00Z', '2026-11-22T10:00:00Z']) {
      const now = at(approved).getTime() + 1_000;
      expect(window(run, approved, new Date(now).toISOString())).toEqual({ kind: 'early', ms: monday - now });
    }
    const friday = at('2026-11-27T00:00:00+01:00').getTime();
    const thursday = at('2026-11-26T10:00:00Z').getTime();
    expect(window(run, '2026-11-26T10:00:00Z', '2026-11-26T10:00:00Z')).toEqual({
      kind: 'early',
      ms: friday - thursday,
    });
  });

  it('from its own time on, where it has one, be it a weekend', () => {
    const run = { executionDate: '2026-11-25', submitAt: '2026-11-21T08:00:00Z' };
    expect(window(run, '2026-11-20T09:00:00Z', '2026-11-21T07:59:59Z')).toEqual({ kind: 'early', ms: 1_000 });
    expect(window(run, '2026-11-20T09:00:00Z', '2026-11-21T08:00:00Z')).toEqual({ kind: 'open' });
  });

  it('not from the cut-off of its execution date on, less what the sending is expected to take', () => {
    const run = { executionDate: '2026-11-20', submitAt: null };
    expect(window(run, '2026-11-20T09:00:00Z', '2026-11-20T14:59:59Z').kind).toBe('open');
    expect(window(run, '2026-11-20T09:00:00Z', '2026-11-20T15:00:00Z').kind).toBe('late');
    expect(window(run, '2026-11-20T09:00:00Z', '2026-11-20T14:59:00Z', 61_000).kind).toBe('late');
    expect(
      window({ ...run, executionDate: '2026-11-19' }, '2026-11-20T09:00:00Z', '2026-11-20T09:00:00Z').kind,
    ).toBe('late');
  });

  it('never on a closed day of the bank, and after its cut-off it is late as on any other', () => {
    const run = { executionDate: '2026-11-26', submitAt: '2026-11-26T10:00:00Z' };
    for (const now of ['2026-11-25T10:00:00Z', '2026-11-26T14:59:59Z'])
      expect(window(run, '2026-11-25T09:00:00Z', now)).toEqual({ kind: 'closed' });
    expect(window(run, '2026-11-25T09:00:00Z', '2026-11-26T15:00:00Z').kind).toBe('late');
  });

  it('never at a time of its own that is not before the cut-off, however long before that is known', () => {
    for (const submitAt of ['2026-11-25T15:00:00Z', '2026-11-25T15:30:00Z']) {
      const run = { executionDate: '2026-11-25', submitAt };
      expect(window(run, '2026-11-20T09:00:00Z', '2026-11-23T09:00:00Z')).toEqual({ kind: 'behind' });
      expect(window(run, '2026-11-20T09:00:00Z', '2026-11-25T15:00:00Z')).toEqual({ kind: 'late' });
    }
    const run = { executionDate: '2026-11-25', submitAt: '2026-11-25T14:59:59Z' };
    expect(window(run, '2026-11-20T09:00:00Z', '2026-11-23T09:00:00Z').kind).toBe('early');
  });
});

it('a window says why an approval lapses, and where it does not', () => {
  expect(whyLapsed({ kind: 'late' }, 'cannot be met')).toBe(
    'the cut-off of the execution date cannot be met',
  );
  expect(whyLapsed({ kind: 'late' }, 'passed')).toBe('the cut-off of the execution date passed');
  expect(whyLapsed({ kind: 'closed' }, 'passed')).toBe('the bank is closed on the execution date');
  expect(whyLapsed({ kind: 'behind' }, 'passed')).toBe(
    'the cut-off of the execution date is before the time from which it may be submitted',
  );
  expect(whyLapsed({ kind: 'open' }, 'passed')).toBeUndefined();
  expect(whyLapsed({ kind: 'early', ms: 1 }, 'passed')).toBeUndefined();
});
