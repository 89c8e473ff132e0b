import { randomUUID } from 'node:crypto';
import { UnsentSubmits } from '../../src/submission/unsent-submits';
import { select } from '../support/database';
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
  beforeAll(async () => {
    payroll = await Payroll.start({ settings: { BANK_TIMEOUT_MS: '2000', SUBMIT_DOUBT_MS: '60000' } });
  });
  afterAll(() => payroll.close());

  const statuses = async (): Promise<string[]> =>
    (await select<{ status: string }>(payroll.database.superuserUrl, 'SELECT status FROM instruction')).map(
      ({ status }) => status,
    );

  it('is taken back only while its own attempt stands without an outcome', async () => {
    await payroll.fault({ operation: 'submit', kind: 'hang-before', nth: 1 });
    await payroll.paid(payFile(payRows(2)));
    await eventually(async () => (await statuses()).includes('SUBMIT_INTENT'), 15_000);
    const [attempt] = await select<Attempt>(
      payroll.database.superuserUrl,
      `SELECT s.employer_id AS "employerId", s.instruction_id AS "instructionId", s.id AS "attemptId", c.id AS "callId"
       FROM submit_attempt s JOIN bank_call c ON c.instruction_id = s.instruction_id AND c.operation = 'submit'`,
    );
    const unsent = payroll.services[0]!.app.get(UnsentSubmits);
    // One that was rolled back, while another worker's attempt is on its way to the bank.
    unsent.remember({ ...attempt!, attemptId: randomUUID() });
    await unsent.takeBack();
    expect(await statuses()).toEqual(['SUBMIT_INTENT']);
    const outcome = `SELECT outcome FROM submit_attempt`;
    await eventually(
      async () => (await select(payroll.database.superuserUrl, outcome))[0]?.outcome === 'IN_DOUBT',
      15_000,
    );
    unsent.remember(attempt!);
    await unsent.takeBack();
    expect(await statuses()).toEqual(['SUBMIT_INTENT']);
    expect(await select(payroll.database.superuserUrl, outcome)).toEqual([{ outcome: 'IN_DOUBT' }]);
    expect((await payroll.calls()).submit).toBe(1);
  }, 40_000);
});
