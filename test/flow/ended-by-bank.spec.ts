import axios from 'axios';
import { BankReads } from '../../src/employer/bank-reads';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const atBank = async (verb: 'release' | 'refuse') => {
  for (const { id } of (await payroll.ledger()).instructions)
    await axios
      .post(`${payroll.bank.url}/sandbox/instructions/${id}/${verb}`)
      .catch((error: unknown) => axios.isAxiosError(error) || Promise.reject(error as Error));
};
const decide = async (path: string, evidence?: string) => {
  const body = { action: 'NOT_EXECUTED', reason: 'the bank has confirmed it', evidence };
  expect((await payroll.as('operator').post(`${path}/actions`, body)).status).toBe(201);
  return payroll.as('second').post(`${path}/actions/confirmation`);
};

/** A run whose strong authentication somebody refused, at a bank that leaves its payments INITIATED. */
async function refused(): Promise<{ id: string; path: string }> {
  payroll = await Payroll.start({
    sandbox: {
      variants: { submitWaitsFor: 'strong-authentication', refusalEnds: 'itself', linkReads: 'allowed' },
    },
  });
  const id = await payroll.paid(payFile(payRows(4)));
  await payroll.askedAbout(id, 'BANK_ACTION_REQUIRED');
  await atBank('refuse');
  return { id, path: await payroll.askedAbout(id, 'ENDED_BY_BANK') };
}

describe('a submitted instruction that the bank ends while it leaves its payments where they were', () => {
  it('is told at once as what it is, and paid again once two people have the bank’s word in writing', async () => {
    const { id, path } = await refused();
    expect(await kinds()).toEqual(['ENDED_BY_BANK']);
    const { data } = await payroll.as('finance').get(path);
    expect(data).toMatchObject({ payments: 4, actions: ['NOT_EXECUTED'] });
    expect(data.happened).toContain('as C_INSTRUCTION_SUB_NOT_PASSED, and did not end 4 of its payments');
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
    const unproven = await decide(path);
    expect([unproven.status, unproven.data.code]).toEqual([409, 'NOT_PROVEN_DEAD']);
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await decide(path, 'letter 4711 of the bank')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    expect(await kinds()).toEqual([]);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true });
    const dates = { executionDate: payroll.executionDate(), submitAt: payroll.clock.now().toISOString() };
    const made = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), dates);
    expect(made.status).toBe(201);
    expect((await payroll.approve(made.data)).status).toBeLessThan(300);
    await payroll.askedAbout(made.data.id, 'BANK_ACTION_REQUIRED');
    await atBank('release');
    await payroll.until(made.data.id, ['SETTLED'], 20_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  });

  it('is not declared not executed once the bank shows that a payment of it went on', async () => {
    const { id, path } = await refused();
    const reads = payroll.services[0]!.app.get(BankReads);
    const { payments } = reads;
    jest.spyOn(reads, 'payments').mockImplementation(async (...asked) => {
      const [first, ...others] = await payments.apply(reads, asked);
      return [{ ...first!, status: 'EXCHANGED' }, ...others];
    });
    const moved = await decide(path, 'letter 4711 of the bank');
    expect([moved.status, moved.data.code]).toEqual([409, 'WAS_EXECUTED']);
    await eventually(async () => !(await kinds()).includes('ENDED_BY_BANK'), 15_000);
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
  });
});
