import { randomUUID } from 'node:crypto';
import { UnsentSubmits } from '../../src/submission/unsent-submits';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

interface Attempt {
  employerId: string;
  instructionId: string;
  attemptId: string;
  callId: string;
}

describe('a submit that was not sent', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  const statuses = async (): Promise<string[]> =>
    (await select<{ status: string }>(payroll.database.superuserUrl, 'SELECT status FROM instruction')).map(
      ({ status }) => status,
    );

  /** A run whose submit is on its way, and has no answer for so long. */
  async function submitting(settings: Record<string, string>): Promise<{ id: string; attempt: Attempt }> {
    payroll = await Payroll.start({ settings });
    await payroll.fault({ operation: 'submit', kind: 'hang-before', nth: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await eventually(async () => (await statuses()).includes('SUBMIT_INTENT'), 15_000);
    const [attempt] = await select<Attempt>(
      payroll.database.superuserUrl,
      `SELECT s.employer_id AS "employerId", s.instruction_id AS "instructionId", s.id AS "attemptId", c.id AS "callId"
       FROM submit_attempt s JOIN bank_call c ON c.instruction_id = s.instruction_id AND c.operation = 'submit'`,
    );
    return { id, attempt: attempt! };
  }
  const outcome = `SELECT outcome FROM submit_attempt`;
  const doubted = () =>
    eventually(
      async () => (await select(payroll.database.superuserUrl, outcome))[0]?.outcome === 'IN_DOUBT',
      15_000,
    );

  it('is taken back only while its own attempt stands without an answer', async () => {
    const { attempt } = await submitting({ BANK_TIMEOUT_MS: '2000', SUBMIT_DOUBT_MS: '60000' });
    const unsent = payroll.services[0]!.app.get(UnsentSubmits);
    // One that was rolled back, while another worker's attempt is on its way to the bank.
    unsent.remember({ ...attempt, attemptId: randomUUID() });
    await unsent.takeBack();
    expect(await statuses()).toEqual(['SUBMIT_INTENT']);
    await doubted();
    unsent.remember(attempt);
    await unsent.takeBack();
    expect(await statuses()).toEqual(['SUBMIT_INTENT']);
    expect(await select(payroll.database.superuserUrl, outcome)).toEqual([{ outcome: 'IN_DOUBT' }]);
    expect((await payroll.calls()).submit).toBe(1);
  });

  it('is not parked after an outage before the process that knows it could say so', async () => {
    const { id, attempt } = await submitting({ BANK_TIMEOUT_MS: '8000', SUBMIT_DOUBT_MS: '3000' });
    // Everybody was away for an hour; another replica comes back first.
    await execute(
      payroll.database.superuserUrl,
      `UPDATE submit_attempt SET attempted_at = attempted_at - interval '1 hour'`,
    );
    await payroll.stealLeases();
    await doubted();
    expect(await statuses()).toEqual(['SUBMIT_INTENT']);
    const unsent = payroll.services[0]!.app.get(UnsentSubmits);
    unsent.remember(attempt);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await payroll.attention()).toEqual([]);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });
});
