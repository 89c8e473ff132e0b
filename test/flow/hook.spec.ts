import axios from 'axios';
import { DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';
import { EVENTS, PATHS } from '../../src/bank/types';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const ADDRESS = 'http://127.0.0.1:59997';
const SETTINGS = { PORT: '0', PUBLIC_URL: ADDRESS, HOOK_CHECK_MS: '200' };

let payroll: Payroll;
beforeEach(async () => {
  payroll = await Payroll.start();
});
afterEach(() => payroll.close());

const headers = { authorization: `Bearer ${DEFAULT_TOKEN}` };
const hooks = async () =>
  (await axios.get(payroll.bank.url + PATHS.hooks(), { headers })).data as {
    id: number;
    body: string;
    events: string[];
  }[];
const oneHookAt = (url: string) =>
  eventually(async () => {
    const [hook, ...more] = await hooks();
    return (
      more.length === 0 &&
      hook?.body === `${url}/webhooks/bank` &&
      EVENTS.every((event) => hook.events.includes(event))
    );
  }, 15_000);

describe('the one hook at the bank', () => {
  it('is made by itself when the bank is back, after it was lost, and at a new address', async () => {
    await payroll.fault({ operation: 'listHooks', kind: '500-before' });
    await payroll.addReplica(SETTINGS);
    await eventually(async () => ((await payroll.calls()).listHooks ?? 0) > 2, 15_000);
    await payroll.clearFaults();
    await oneHookAt(ADDRESS);
    const [lost] = await hooks();
    await axios.delete(payroll.bank.url + PATHS.hook(String(lost!.id)), { headers });
    await oneHookAt(ADDRESS);
    await payroll.addReplica({ ...SETTINGS, PUBLIC_URL: 'http://127.0.0.1:59998' });
    await oneHookAt('http://127.0.0.1:59998');
    const { associateIdentity } = await payroll.calls();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await oneHookAt('http://127.0.0.1:59998');
    expect((await payroll.calls()).associateIdentity).toBe(associateIdentity);
  });

  it('is one also when two replicas start while the bank carries a subscribe out late', async () => {
    await payroll.fault({ operation: 'subscribe', kind: 'late-commit', nth: 1, delayMs: 5_000 });
    await Promise.all([payroll.addReplica(SETTINGS), payroll.addReplica(SETTINGS)]);
    await new Promise((resolve) => setTimeout(resolve, 5_500));
    await oneHookAt(ADDRESS);
    expect((await payroll.calls()).subscribe).toBe(2);
  });

  it('is ended by itself when the bank lost the call', async () => {
    await payroll.addReplica(SETTINGS);
    await oneHookAt(ADDRESS);
    await payroll.fault({ operation: 'deleteHook', kind: 'request-lost', nth: 1 });
    const { data } = await payroll.as('operator').delete(payroll.path('/hook'));
    expect(data).toEqual({ subscriptionEnded: false });
    await eventually(async () => (await hooks()).length === 0, 15_000);
  });
});
