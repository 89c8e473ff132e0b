import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { buildWithCrashPoints } from '../support/crash-build';
import { execute, isLockAwaited, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, ServiceProcess } from '../support/payroll';

/** Longer than a submit may take from what allowed it to its first byte. */
const TOO_LONG_MS = 6_000;

describe('a submit that is not sent soon after it was allowed', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  const submits = async (): Promise<number> => (await payroll.calls()).submit ?? 0;
  const timesPaid = async (): Promise<number[]> => (await payroll.ledger()).payees.map(({ count }) => count);
  const attempts = (): Promise<{ outcome: string | null; outcome_detail: string | null }[]> =>
    select(
      payroll.database.superuserUrl,
      'SELECT outcome, outcome_detail FROM submit_attempt ORDER BY attempted_at',
    );

  const isStopped = ({ process: { pid } }: ServiceProcess): boolean =>
    execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .startsWith('T');

  /** A process that is frozen once its intent is committed, and is not in a hurry to be taken for dead. */
  async function frozen(
    settings: Record<string, string>,
    at = 'submit.intended',
  ): Promise<{ id: string; process: ServiceProcess }> {
    buildWithCrashPoints();
    payroll = await Payroll.start({ settings });
    await payroll.stopServices();
    const process = await payroll.spawn({
      PAYRUN_CRASH_AT: `${at}:1:SIGSTOP`,
      // A transaction that is frozen too is ended by the server after so long.
      DATABASE_STATEMENT_MS: '2000',
    });
    const run = await payroll.uploaded(payFile(payRows(2)));
    // The answer may be among what is frozen.
    payroll.approve(run).catch(() => undefined);
    await eventually(async () => isStopped(process), 15_000);
    return { id: run.id, process };
  }

  it('is not sent by a process that was frozen until people decided on it', async () => {
    const { id, process } = await frozen({ LEASE_MS: '1000', SUBMIT_DOUBT_MS: '700' });
    await payroll.spawn({ PORT: '0' });
    const asked = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    await payroll
      .as('operator')
      .post(`${asked}/actions`, { action: 'NOT_EXECUTED', reason: 'the bank said so' });
    const confirmed = await payroll.confirm(asked);
    expect(confirmed.status).toBe(200);
    await sleep(TOO_LONG_MS);
    process.process.kill('SIGCONT');
    await eventually(
      async () =>
        (
          await select(
            payroll.database.superuserUrl,
            `SELECT FROM bank_call WHERE operation = 'submit' AND outcome = 'NO'`,
          )
        ).length === 1,
      15_000,
    );
    expect(await submits()).toBe(0);
    expect(await timesPaid()).toEqual([]);
    await payroll.until(id, ['FAILED'], 15_000);
  });

  it('is not sent by a process that was frozen until its run was stopped, and is sent once that goes on', async () => {
    const { id, process } = await frozen({ LEASE_MS: '1000', SUBMIT_DOUBT_MS: '60000' });
    const { superuserUrl } = payroll.database;
    // Closed by the other's first look for what is due and held back; its next one is ten minutes later.
    await execute(
      superuserUrl,
      `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, happened, certain, ask_bank)
       SELECT employer_id, gen_random_uuid(), 'DUE_BUT_STOPPED', id, id, 'it was stopped', 'no more', '' FROM pay_run`,
    );
    await payroll.spawn({ PORT: '0' });
    const open = 'SELECT FROM attention WHERE resolved_at IS NULL';
    await eventually(async () => (await select(superuserUrl, open)).length === 0, 15_000);
    const path = payroll.path(`/pay-runs/${id}`);
    expect((await payroll.as('operator').post(`${path}/stop`, { reason: 'a look first' })).status).toBe(200);
    await sleep(TOO_LONG_MS);
    process.process.kill('SIGCONT');
    await eventually(async () => (await attempts())[0]?.outcome === 'PROVEN_UNSENT', 15_000);
    expect(await submits()).toBe(0);
    expect((await payroll.resume(path, 'second', 'looked')).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1]);
    expect(await submits()).toBe(1);
    expect(await payroll.attention()).toEqual([]);
  });

  /** The bank took it, and hides it from then on; others doubt it while whoever has the answer is frozen. */
  async function answeredUnrecorded(): Promise<{ id: string; process: ServiceProcess; asked: string }> {
    const { id, process } = await frozen({ LEASE_MS: '1000', SUBMIT_DOUBT_MS: '700' }, 'submit.sent');
    for (const operation of [
      'getInstruction',
      'listInstructionPaymentTransactions',
      'listPaymentTransactions',
      'getPaymentTransaction',
    ])
      await payroll.fault({ operation, kind: '404', every: 1 });
    await payroll.spawn({ PORT: '0' });
    return { id, process, asked: await payroll.askedAbout(id, 'SUBMIT_UNKNOWN') };
  }

  it('was taken: an answer that is recorded late ends the doubt of others', async () => {
    const { id, process } = await answeredUnrecorded();
    process.process.kill('SIGCONT');
    await eventually(async () => (await payroll.attention()).length === 0, 15_000);
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['EXECUTED']);
    await payroll.clearFaults();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
  });

  it.each([
    ['', ''],
    [
      ', and is told in the place of what else is asked of it',
      `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, instruction_id, happened, certain, ask_bank)
       SELECT employer_id, gen_random_uuid(), 'INVARIANT_BREACH', id, pay_run_id, id, 'something else', '', '' FROM instruction`,
    ],
  ])(
    'was taken: an answer that is recorded after people declared it not executed stops everything%s',
    async (_, elseAsked) => {
      const { id, process, asked } = await answeredUnrecorded();
      const action = { action: 'NOT_EXECUTED', reason: 'the bank said so', evidence: 'its letter of today' };
      expect((await payroll.decide(asked, action)).status).toBe(200);
      await execute(payroll.database.superuserUrl, elseAsked);
      process.process.kill('SIGCONT');
      await eventually(
        async () => (await payroll.as('administrator').get('/v1/service')).data.submitsOff === true,
        15_000,
      );
      const breach = await payroll.askedAbout(id, 'INVARIANT_BREACH');
      const resumed = await payroll.decide(breach, { action: 'RESUME', reason: 'we have looked into it' });
      expect(resumed.status).toBe(200);
      await payroll.clearFaults();
      await execute(payroll.database.superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
      const read = `SELECT FROM lease WHERE kind = 'FOLLOW' AND holder IS NULL AND wake_at > now() + interval '1 minute'`;
      await eventually(async () => (await select(payroll.database.superuserUrl, read)).length > 0, 15_000);
      expect((await payroll.attention()).filter(({ kind }) => kind === 'INVARIANT_BREACH')).toEqual([]);
      const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect(report.data).toMatchObject({
        openDoubts: ['INVARIANT_BREACH'],
        acknowledged: [
          {
            kind: 'INVARIANT_BREACH',
            happened: expect.stringContaining('its answer was recorded late'),
            payments: 2,
            amount: report.data.table.approved.amount,
          },
        ],
      });
    },
  );

  it('is sent later where only the clock was moved in between', async () => {
    payroll = await Payroll.start();
    const outside = new Client({ connectionString: payroll.database.superuserUrl });
    await outside.connect();
    await outside.query('BEGIN; SELECT FROM restore_mark FOR UPDATE');
    const id = await payroll.paid(payFile(payRows(2)));
    const { superuserUrl } = payroll.database;
    await eventually(() => isLockAwaited(superuserUrl, 'UPDATE restore_mark%'), 15_000);
    payroll.clock.offsetMs += TOO_LONG_MS;
    await outside.query('ROLLBACK');
    await outside.end();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['PROVEN_UNSENT', 'EXECUTED']);
    expect((await attempts())[0]?.outcome_detail).toBe('too-late');
    expect(await timesPaid()).toEqual([1, 1]);
    expect(await submits()).toBe(1);
    expect(await payroll.attention()).toEqual([]);
  });
});
