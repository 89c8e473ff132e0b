import { randomUUID } from 'node:crypto';
import { BankGateway } from '../../src/bank/gateway';
import { SubmissionService } from '../../src/submission/submission.service';
import { UnsentSubmits } from '../../src/submission/unsent-submits';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

interface Attempt {
  employerId: string;
  instructionId: string;
  attemptId: string;
  callId: string;
  why: string;
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
      `SELECT s.employer_id AS "employerId", s.instruction_id AS "instructionId", s.id AS "attemptId", c.id AS "callId", 'a test' AS why
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
    // One whose instruction a restore has taken away.
    unsent.remember({ ...attempt, attemptId: randomUUID(), instructionId: randomUUID() });
    await unsent.takeBack();
    await unsent.drain();
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

  it('is submitted, though it was taken back while another worker read the bank', async () => {
    const { id, attempt } = await submitting({ BANK_TIMEOUT_MS: '8000', SUBMIT_DOUBT_MS: '60000' });
    const before = (await payroll.calls()).getInstruction ?? 0;
    await payroll.fault({ operation: 'getInstruction', kind: 'slow-drip', every: 1, delayMs: 2 });
    await payroll.stealLeases();
    await eventually(async () => ((await payroll.calls()).getInstruction ?? 0) > before, 15_000);
    const unsent = payroll.services[0]!.app.get(UnsentSubmits);
    unsent.remember(attempt);
    await eventually(async () => (await statuses()).includes('VERIFIED'), 5_000);
    await payroll.clearFaults();
    await payroll.until(id, ['SETTLED'], 15_000);
    expect(await payroll.attention()).toEqual([]);
  });

  /** As people who were told of it have let things go on. */
  const restored = () =>
    execute(
      payroll.database.superuserUrl,
      // And once long before.
      `INSERT INTO database_restore (id, what, told_at, nth)
       VALUES (gen_random_uuid(), 'a dump', now(), 2), (gen_random_uuid(), 'a dump', now(), 1)`,
    );

  it('is asked about where the database was restored since, which may have forgotten that it was sent again', async () => {
    const { id, attempt } = await submitting({ BANK_TIMEOUT_MS: '8000', SUBMIT_DOUBT_MS: '1000' });
    await restored();
    const unsent = payroll.services[0]!.app.get(UnsentSubmits);
    unsent.remember(attempt);
    await unsent.takeBack();
    expect(await statuses()).toEqual(['SUBMIT_INTENT']);
    await payroll.stealLeases();
    const path = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    const { data } = await payroll.as('operator').get(path);
    expect(data.certain).toContain('may have forgotten that it was sent once more');
  });

  it('is asked about where the database was restored before it was known not to leave', async () => {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '1000' } });
    const sendSubmit = jest
      .spyOn(payroll.services[0]!.app.get(BankGateway), 'sendSubmit')
      .mockImplementationOnce(async () => {
        await restored();
        return { kind: 'no', reason: 'not-sent', why: 'ECONNREFUSED' };
      });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    expect(sendSubmit).toHaveBeenCalledTimes(1);
    expect(await select(payroll.database.superuserUrl, outcome)).toEqual([{ outcome: 'IN_DOUBT' }]);
    // What it was answered with is written down, and not refused with its being sent again.
    const answers = `SELECT outcome FROM bank_call WHERE operation = 'submit'`;
    expect(await select(payroll.database.superuserUrl, answers)).toEqual([{ outcome: 'NO' }]);
  });

  /**
   * A run whose first submit does not leave, while the database refuses to write down what became of calls. The first five
   * times are those of who called; it is tried a sixth time by who remembers it.
   */
  async function refusing(times: number): Promise<string> {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '60000' } });
    await execute(
      payroll.database.superuserUrl,
      `CREATE SEQUENCE tried;
       CREATE FUNCTION refuse() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('public.tried') <= ${times} THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;
         RETURN NEW; END $$;
       CREATE TRIGGER refuse BEFORE UPDATE ON bank_call FOR EACH ROW
         WHEN (NEW.operation = 'submit') EXECUTE FUNCTION refuse()`,
    );
    jest
      .spyOn(payroll.services[0]!.app.get(BankGateway), 'sendSubmit')
      .mockResolvedValueOnce({ kind: 'no', reason: 'no-token', why: 'status 401' });
    const id = await payroll.paid(payFile(payRows(2)));
    await eventually(
      async () => Number((await select(payroll.database.superuserUrl, tried))[0]?.n) > 5,
      20_000,
    );
    return id;
  }
  const tried = 'SELECT last_value AS n FROM tried';

  it('is remembered where that cannot be written down for a while', async () => {
    const id = await refusing(5);
    await payroll.until(id, ['SETTLED'], 20_000);
    const known = 'SELECT outcome, outcome_detail AS why FROM submit_attempt ORDER BY attempted_at';
    expect(await select(payroll.database.superuserUrl, known)).toEqual([
      { outcome: 'PROVEN_UNSENT', why: 'status 401' },
      { outcome: 'EXECUTED', why: 'the answer' },
    ]);
    expect(await payroll.attention()).toEqual([]);
    expect((await payroll.calls()).submit).toBe(1);
  });

  it('is written down by a process that ends, though another call of it hangs', async () => {
    const { attempt } = await submitting({ BANK_TIMEOUT_MS: '9000', SUBMIT_DOUBT_MS: '60000' });
    const { app } = payroll.services[0]!;
    const service = app.get(SubmissionService);
    jest.spyOn(service, 'takeBackUnsent').mockResolvedValue();
    let isOver = false;
    const draining = service.drain().finally(() => (isOver = true));
    // What is under way may turn out not to have been sent only now.
    app.get(UnsentSubmits).remember(attempt);
    await eventually(async () => (await statuses()).includes('VERIFIED'), 2_000);
    expect(isOver).toBe(false);
    await draining;
    expect(await select(payroll.database.superuserUrl, outcome)).toEqual([{ outcome: 'PROVEN_UNSENT' }]);
  });

  it('is not forgotten by a process that ends meanwhile', async () => {
    await refusing(1_000_000);
    const ended = payroll.stopServices();
    await new Promise((resolve) => setTimeout(resolve, 500));
    await execute(payroll.database.superuserUrl, 'DROP TRIGGER refuse ON bank_call');
    await ended;
    expect(await statuses()).toEqual(['VERIFIED']);
    expect(await select(payroll.database.superuserUrl, outcome)).toEqual([{ outcome: 'PROVEN_UNSENT' }]);
  });
});
