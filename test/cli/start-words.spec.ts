import { announce } from '../../src/cli/start-words';
import { COMPANY, type StaffKeys } from '../../src/cli/seed';
import { testConfig } from '../http/test-app';

describe('the upload that is printed to be pasted', () => {
  afterEach(() => jest.useRealTimers());

  it.each([
    ['is of the month that it is paid in', '2026-11-27T10:00:00Z', 'period=2026-11&executionDate=2026-11-27'],
    [
      'also late on the last day of a month',
      '2026-11-30T15:00:00Z',
      'period=2026-12&executionDate=2026-12-01',
    ],
  ])('%s', (_, now, expected) => {
    jest.useFakeTimers({ now: new Date(now) });
    const lines: string[] = [];
    announce((line) => lines.push(line), {
      url: 'http://127.0.0.1:3000',
      bankUrl: 'http://127.0.0.1:3001',
      database: 'here',
      keys: {} as StaffKeys,
      employer: { employerId: 'emp_1', accountId: 'acc_1', notReady: [] },
      config: testConfig({ BANK_TIME_ZONE: 'UTC', BANK_CUT_OFF: '14:00' }),
    });
    expect(lines.some((line) => line.includes(COMPANY))).toBe(true);
    expect(lines.filter((line) => line.includes('executionDate='))).toEqual([
      expect.stringContaining(expected),
    ]);
  });
});
