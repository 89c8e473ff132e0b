import axios from 'axios';
import { Portal } from '../../src/cli/portal';
import { announce } from '../../src/cli/start-words';
import { COMPANY, ensureEmployer, ensureStaff, type SeededEmployer } from '../../src/cli/seed';
import { readConfig } from '../../src/config/env';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
beforeAll(async () => {
  payroll = await Payroll.start();
});
afterAll(() => payroll.close());

describe('an employer of the sandbox', () => {
  it('is found again, and said not to be ready, while the bank has its account suspended', async () => {
    const { url, database, bank, settings } = payroll;
    const keys = await ensureStaff(database.url, url, {});
    const account = await new Portal(bank.url).accountOf(COMPANY);
    const ensured = () => ensureEmployer(url, keys, account);
    const block = (how: string) => axios.post(`${bank.url}/sandbox/accounts/${account.accountId}/${how}`);
    const told = (employer: SeededEmployer) => {
      const lines: string[] = [];
      announce((line) => lines.push(line), {
        url,
        bankUrl: bank.url,
        database: 'here',
        keys,
        employer,
        config: readConfig(settings),
      });
      return lines.filter((line) => line.includes('nothing is paid from its account'));
    };

    const first = await ensured();
    expect([first.notReady, told(first)]).toEqual([[], []]);
    await block('block');
    await axios.post(
      `${url}/v1/employers/${first.employerId}/accounts/${first.accountId}/probe`,
      {},
      { headers: { Authorization: `Bearer ${keys.operator}` } },
    );
    const suspended = await ensured();
    expect(suspended).toMatchObject({ ...first, notReady: [expect.stringContaining('SUSPENDED')] });
    expect(told(suspended)).toEqual([expect.stringContaining('SUSPENDED')]);
    await block('unblock');
    expect(await ensured()).toEqual(first);
  });
});
