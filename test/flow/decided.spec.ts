import axios from 'axios';
import { BankReads } from '../../src/employer/bank-reads';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { MovedClock, Payroll, PayrollOptions } from '../support/payroll';
import { passThrough } from '../support/payments-shown';

const ACCOUNT = '1002';
/** Long enough for people to be asked before the run is due, and then by the run. */
const DUE_IN_MS = 2_000;

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const start = async (options: PayrollOptions = {}) => {
  payroll = await Payroll.start(options);
};
const sandbox = (path: string, body?: unknown) => axios.post(`${payroll.bank.url}/sandbox/${path}`, body);
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);

const acknowledge = async (id: string) => {
  const path = payroll.path(`/attention/${id}`);
  const proposal = { action: 'ACKNOWLEDGE', reason: 'asked, and waited for' };
  expect((await payroll.decide(path, proposal)).status).toBe(200);
};

/** Has everything looked at once more, without a pause of ours. */
const lookAgain = () => payroll.wakeAll();

/** Looks again until the bank was asked so often, and so what followed the last but one answer is written down. */
const readAgain = async (operation: string, times = 4) => {
  const reads = async () => (await payroll.calls())[operation] ?? 0;
  const before = await reads();
  await eventually(async () => {
    await lookAgain();
    return (await reads()) > before + times;
  }, 20_000);
};

describe('what waits at the bank and was decided by two people', () => {
  it('is not asked again while the balance is still too low, and the run goes on once it is not', async () => {
    await start();
    const balances = await axios.get<{ accountId: string; balance: string }[]>(
      `${payroll.bank.url}/sandbox/portal/accounts`,
    );
    const balance = balances.data.find(({ accountId }) => accountId === ACCOUNT)!.balance.replace('.', '');
    const half = String(BigInt(balance) / 2n);
    const post = async (direction: 'DEBIT' | 'CREDIT') => {
      const posting = { accountId: ACCOUNT, type: 'DISTRIBUTOR_POSTING', direction, amountMinor: half };
      for (let n = 0; n < 2; n += 1) await sandbox('postings', posting);
    };
    await post('DEBIT');
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.askedAbout(id, 'LOW_BALANCE');
    await acknowledge((await payroll.attention())[0]!.id);
    await readAgain('getAccount');
    expect(await kinds()).toEqual([]);
    await post('CREDIT');
    await eventually(async () => {
      await lookAgain();
      return (await payroll.run(id)).status === 'SETTLED';
    }, 20_000);
  });

  it.each([
    ['before', 0, 'getInstruction'],
    ['after', 600_000, 'listInstructionPaymentTransactions'],
  ])('is not asked again while answers cannot be read, %s the submit', async (_when, stepMs, read) => {
    await start({ sandbox: { stepMs, variants: { linkReads: 'allowed' } } });
    const broken = async () => {
      for (const operation of ['getInstruction', 'listInstructionPaymentTransactions'])
        await payroll.fault({ operation, kind: 'garbage', every: 1 });
    };
    if (stepMs === 0) await broken();
    const id = await payroll.paid(payFile(payRows(2)));
    if (stepMs > 0) {
      await payroll.until(id, ['FOLLOWING']);
      await broken();
    }
    await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    await acknowledge((await payroll.attention())[0]!.id);
    await readAgain(read);
    expect(await kinds()).toEqual([]);
  });

  it('is not asked again of fewer payments, as the bank goes on with one of them', async () => {
    const clock = new MovedClock();
    await start({ clock, sandbox: { variants: { linkReads: 'allowed' } } });
    const reads = payroll.services[0]!.app.get(BankReads);
    let held = 3;
    passThrough(reads, (seen) => {
      const inOrder = seen.sort((one, other) => Number(one.bankPaymentId) - Number(other.bankPaymentId));
      const from = inOrder.length - held;
      return inOrder.map((one, n) =>
        n < from || one.status === 'INITIATED' ? one : { ...one, status: 'SUB_STRONG_AUTH_REQUIRED' },
      );
    });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['FOLLOWING']);
    clock.offsetMs = 9 * 86_400_000;
    await eventually(async () => {
      await lookAgain();
      return (await kinds()).length === 2;
    }, 20_000);
    expect((await kinds()).sort()).toEqual(['BANK_ACTION_REQUIRED', 'UNKNOWN_STATUS']);
    for (const { id: asked, kind } of await payroll.attention())
      if (kind !== 'UNKNOWN_STATUS') await acknowledge(asked);
    held = 2;
    const ended = `SELECT FROM payment WHERE status = 'SETTLED'`;
    await eventually(async () => {
      await lookAgain();
      return (await select(payroll.database.superuserUrl, ended)).length === 1;
    }, 20_000);
    // Two people may have the bank's word on these at any time.
    expect(await kinds()).toEqual(['UNKNOWN_STATUS']);
  });

  it('is not asked again while the account is blocked, and is when it is blocked anew', async () => {
    await start({ settings: { ACCOUNT_READ_MS: '100' } });
    await sandbox(`accounts/${ACCOUNT}/block`);
    const status = async () =>
      (await payroll.as('operator').get(payroll.path('/accounts'))).data.items[0].status as string;
    await payroll.paid(payFile(payRows(2)), { submitAt: new Date(Date.now() + DUE_IN_MS).toISOString() });
    /** Decides whatever is asked until nothing is, however often all is looked at. */
    const decided = async () => {
      for (let quiet = 0; quiet < 3;) {
        const [open] = await payroll.attention();
        quiet = open === undefined ? quiet + 1 : 0;
        if (open !== undefined) await acknowledge(open.id);
        else await readAgain('getAccount');
      }
    };
    const askedTwice = () =>
      select(
        payroll.database.superuserUrl,
        'SELECT happened FROM attention GROUP BY happened HAVING count(*) > 1',
      );
    await eventually(async () => (await kinds()).length > 0, 15_000);
    await new Promise((resolve) => setTimeout(resolve, DUE_IN_MS));
    await decided();
    expect(await askedTwice()).toEqual([]);
    await payroll.as('operator').post(payroll.path('/stop'), { reason: 'not to be sent in between' });
    await sandbox(`accounts/${ACCOUNT}/unblock`);
    await eventually(async () => (await status()) === 'OPENED', 15_000);
    await sandbox(`accounts/${ACCOUNT}/block`);
    await eventually(async () => (await kinds()).length > 0, 15_000);
    expect(await kinds()).toEqual(['ACCOUNT_UNUSABLE']);
  });
});

describe('what two people decided under an approval', () => {
  const superuser = (sql: string) => execute(payroll.database.superuserUrl, sql);
  const approvedBy = async (
    role: 'approver' | 'second',
    run: { id: string; rootHash: string; total: string },
  ) => {
    const { rootHash, total } = run;
    const path = payroll.path(`/pay-runs/${run.id}/approvals`);
    expect((await payroll.as(role).post(path, { rootHash, total })).status).toBe(200);
  };
  const backTo = (id: string) =>
    eventually(async () => {
      await lookAgain();
      return (await payroll.run(id)).status === 'READY';
    }, 20_000);
  const emptied = async () => {
    const { data } = await axios.get<{ accountId: string; balance: string }[]>(
      `${payroll.bank.url}/sandbox/portal/accounts`,
    );
    const { balance } = data.find(({ accountId }) => accountId === ACCOUNT)!;
    const half = String(BigInt(balance.replace('.', '')) / 2n);
    for (let n = 0; n < 2; n += 1)
      await sandbox('postings', { accountId: ACCOUNT, type: 'FEE', amountMinor: half });
  };
  const unreadable = () => payroll.fault({ operation: 'getAccount', kind: 'garbage', every: 1 });

  it.each([
    ['LOW_BALANCE', emptied, async () => undefined],
    ['CONTRACT_DRIFT', unreadable, () => payroll.clearFaults()],
  ])('is asked again when the same version is approved anew: %s', async (kind, hinder, help) => {
    await start();
    await hinder();
    const run = await payroll.uploaded(payFile(payRows(2)));
    await approvedBy('approver', run);
    await payroll.askedAbout(run.id, kind);
    await acknowledge((await payroll.attention())[0]!.id);
    await readAgain('getAccount');
    expect(await kinds()).toEqual([]);
    await superuser(
      `DELETE FROM person_role WHERE role = 'approver' AND person_id = (SELECT approver_id FROM approval)`,
    );
    await help();
    await backTo(run.id);
    if (kind === 'CONTRACT_DRIFT') await hinder();
    await approvedBy('second', run);
    await payroll.askedAbout(run.id, kind);
    expect((await payroll.run(run.id)).runVersion).toBe(1);
  });

  // A run whose account is blocked waits before its gate, where nobody looks whether its approvers are still entitled.
  it('is asked again when the same version is approved anew, the account being blocked all the while', async () => {
    await start({ settings: { ACCOUNT_READ_MS: '100' } });
    await sandbox(`accounts/${ACCOUNT}/block`);
    // Before the bank's word for it is known the run would begin to be built.
    await superuser(`UPDATE employer_account SET bank_status = 'SUSPENDED'`);
    const run = await payroll.uploaded(payFile(payRows(2)));
    await approvedBy('approver', run);
    const waits = async () =>
      (await payroll.attention()).filter(({ happened }) => happened.includes('waits for its account'));
    /** Both who wait for an account and who watch it ask, the one once the other is decided. */
    const decided = async () => {
      for (let quiet = 0; quiet < 3;) {
        const open = await payroll.attention();
        quiet = open.length === 0 ? quiet + 1 : 0;
        for (const { id } of open) await acknowledge(id);
        await readAgain('getAccount');
      }
    };
    await payroll.askedAbout(run.id, 'ACCOUNT_UNUSABLE');
    await decided();
    const withdrawn = await payroll.as('approver').delete(payroll.path(`/pay-runs/${run.id}/approvals`), {
      data: { reason: 'a second look' },
    });
    expect([withdrawn.status, withdrawn.data.code]).toEqual([200, undefined]);
    await approvedBy('second', run);
    await eventually(async () => {
      await lookAgain();
      return (await waits()).length > 0;
    }, 20_000);
    const [asked] = await waits();
    expect(asked!.happened).toMatch(/^Version 1 of run_[0-9a-f]{32}, approved at .* waits for its account/);
    expect((await payroll.run(run.id)).runVersion).toBe(1);
  });
});
