import axios from 'axios';
import { BankReads } from '../../src/employer/bank-reads';
import { Follower } from '../../src/settlement/follower';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, MovedClock, Payroll, PayrollOptions } from '../support/payroll';

const DAY_MS = 86_400_000;
const LISTS = 'listInstructionPaymentTransactions';
const READS = ['getInstruction', LISTS];

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const reads = async () => {
  const calls = await payroll.calls();
  return READS.reduce((sum, operation) => sum + (calls[operation] ?? 0), 0);
};
/** Waits until the bank was read so often since, and so what followed the last but one read is written down. */
const readAgain = async (times: number) => {
  const before = await reads();
  await eventually(async () => {
    await execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
    return (await reads()) > before + times;
  }, 20_000);
};
/** A run that is followed, at a bank in which nothing moves. */
const following = async (options: PayrollOptions = {}) => {
  payroll = await Payroll.start({
    ...options,
    sandbox: { stepMs: 600_000, variants: { linkReads: 'allowed', submitRuns: 'at-once' } },
  });
  const id = await payroll.paid(payFile(payRows(3)));
  await payroll.until(id, ['FOLLOWING'], 20_000);
  return id;
};

describe('an instruction that has ended and is not shown any more', () => {
  it.each([
    ['403', ['ROW_UNSEEN']],
    ['404', []],
    ['500-before', []],
  ])('stops nobody and is read again a day later, told once (%s)', async (kind, asked) => {
    payroll = await Payroll.start({
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    for (const operation of [...READS, 'listPaymentTransactions'])
      await payroll.fault({ operation, kind, every: 1 });
    for (let n = 0; n < 2; n += 1) {
      await execute(
        payroll.database.superuserUrl,
        `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
      );
      const due = `SELECT FROM lease WHERE kind = 'FOLLOW' AND (holder IS NOT NULL OR wake_at < now() + interval '1 hour')`;
      await eventually(async () => (await select(payroll.database.superuserUrl, due)).length === 0, 5_000);
    }
    expect(await kinds()).toEqual(asked);
    expect((await payroll.as('operator').get(payroll.path(''))).data.stopped).toBeNull();
  });
});

describe('a submitted run', () => {
  it('is asked about for a strong authentication that begins once its totals were compared', async () => {
    await following();
    const bank = payroll.services[0]!.app.get(BankReads);
    const { instruction } = bank;
    jest.spyOn(bank, 'instruction').mockImplementation(async (...asked) => {
      const shown = await instruction.apply(bank, asked);
      return shown && { ...shown, status: 'SUB_STRONG_AUTH_REQUIRED' };
    });
    await eventually(async () => (await kinds()).includes('BANK_ACTION_REQUIRED'), 15_000);
    jest.restoreAllMocks();
    await eventually(async () => (await kinds()).length === 0, 15_000);
  });

  it('is not asked about again while what the bank answers cannot be read, once two people have decided it', async () => {
    const id = await following();
    for (const operation of READS) await payroll.fault({ operation, kind: 'garbage', every: 1 });
    const path = await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    const reason = 'the bank looks into it';
    await payroll.as('operator').post(`${path}/actions`, { action: 'ACKNOWLEDGE', reason });
    expect((await payroll.as('second').post(`${path}/actions/confirmation`)).status).toBe(200);
    await readAgain(4);
    expect(await kinds()).toEqual([]);
  });

  it('is asked about by time alone also where a defect of ours keeps what is read from being recorded', async () => {
    const clock = new MovedClock();
    await following({ clock });
    const follower: unknown = payroll.services[0]!.app.get(Follower);
    jest.spyOn(follower as { record(): Promise<void> }, 'record').mockRejectedValue(new Error('a defect'));
    clock.offsetMs = 9 * DAY_MS;
    await eventually(async () => {
      await execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
      return (await kinds()).includes('ROW_UNSEEN');
    }, 20_000);
    const { happened } = (await payroll.attention()).find(({ kind }) => kind === 'ROW_UNSEEN')!;
    expect(happened).toContain('cannot be recorded');
  });
});

describe('the probe of an account', () => {
  it('does not overwrite what was learnt of the account while it was under way', async () => {
    payroll = await Payroll.start();
    const status = async () =>
      (await payroll.as('operator').get(payroll.path('/accounts'))).data.items[0].status;
    await payroll.fault({ operation: 'initiate', kind: 'slow-drip', every: 1, delayMs: 4 });
    const probing = payroll.as('operator').post(payroll.path(`/accounts/${payroll.account}/probe`));
    await eventually(async () => ((await payroll.calls()).initiate ?? 0) > 1, 10_000);
    await axios.post(`${payroll.bank.url}/sandbox/accounts/1002/block`);
    await execute(payroll.database.superuserUrl, `UPDATE employer_account SET bank_status = 'BLOCKED'`);
    const { data } = await probing;
    expect([data.status, await status()]).not.toContain('OPENED');
  });
});
