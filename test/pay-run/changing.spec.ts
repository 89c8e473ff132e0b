import { showId } from '../../src/http/prefixed-id';
import { raise } from '../../src/pay-run/attention.store';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { LEAVES_UNANSWERED } from '../support/database';
import { Company, pathOf, PayOffice, rows } from './pay-office';
import { RunAtBank } from './run-at-bank';

describe('changing a pay run', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
    company = await office.company({ rowsPerInstruction: 2 });
  });
  afterAll(() => office?.close());

  const paymentId = async (run: PayRun, rowNo: number): Promise<string> => {
    const [row] = await office.query<{ id: string }>(
      company,
      'SELECT id FROM payment WHERE pay_run_id = $1 AND row_no = $2',
      [run.id, rowNo],
    );
    return showId('pay', row?.id ?? '');
  };
  const wakes = async (run: PayRun, kind: 'RUN' | 'INSTRUCTION'): Promise<number> => {
    const due = await office.query(
      company,
      `SELECT FROM lease WHERE kind = $2 AND wake_at <= clock_timestamp()
         AND subject_id IN (SELECT $1::uuid UNION SELECT id FROM instruction WHERE pay_run_id = $1)`,
      [run.id, kind],
    );
    return due.length;
  };
  const sleep = (run: PayRun) =>
    office.query(
      company,
      `UPDATE lease SET wake_at = 'infinity'
       WHERE subject_id IN (SELECT $1::uuid UNION SELECT id FROM instruction WHERE pay_run_id = $1)`,
      [run.id],
    );

  describe('by an amendment', () => {
    it('takes a payment out, voids the approval and asks for a new one over a new hash', async () => {
      const run = await office.run(company, rows(100, 200, 300));
      await RunAtBank.approved(office, company, run);
      const { body } = await office
        .as(company, 'preparer')
        .post(pathOf(run, '/amendments'), {
          excludePaymentIds: [await paymentId(run, 2)],
          reason: 'left the company',
        })
        .expect(200);
      expect(body).toMatchObject({
        status: 'READY',
        runVersion: 2,
        payments: 2,
        total: '4.00',
        approvals: [],
        amendment: null,
        paymentsByStatus: { READY: { payments: 2 }, EXCLUDED: { payments: 1, amount: '2.00' } },
      });
      expect(body.rootHash).not.toBe(run.rootHash?.toString('hex'));
    });

    it('waits for the instructions at the bank, and says so', async () => {
      const run = await office.run(company, rows(100, 200, 300));
      const atBank = await RunAtBank.approved(office, company, run);
      await atBank.start();
      await atBank.build(1);
      await sleep(run);
      const { body } = await office
        .as(company, 'preparer')
        .post(pathOf(run, '/amendments'), { executionDate: '2026-11-30', reason: 'the bank was slow' })
        .expect(200);
      expect(body).toMatchObject({
        status: 'BUILDING',
        executionDate: '2026-11-27',
        amendment: { executionDate: '2026-11-30', excludedPayments: 0, reason: 'the bank was slow' },
      });
      expect([await wakes(run, 'RUN'), await wakes(run, 'INSTRUCTION')]).toEqual([1, 2]);
      const second = await office
        .as(company, 'preparer')
        .post(pathOf(run, '/amendments'), { executionDate: '2026-12-01', reason: 'another day' });
      expect([second.status, second.body.code]).toEqual([409, 'AMENDMENT_IS_OPEN']);
    });

    it('has it approved anew where its approval lapsed, and nobody had taken it back yet', async () => {
      const run = await office.run(company, rows(100));
      const atBank = await RunAtBank.approved(office, company, run);
      await atBank.start();
      await atBank.instruction(1, 'BUILDING', 'ABANDONED');
      await office.query(company, `UPDATE pay_run SET lapse_reason = 'the cut-off passed' WHERE id = $1`, [
        run.id,
      ]);
      const { body } = await office
        .as(company, 'preparer')
        .post(pathOf(run, '/amendments'), { executionDate: '2026-11-30', reason: 'the cut-off passed' })
        .expect(200);
      expect(body).toMatchObject({ status: 'READY', runVersion: 2 });
      const [row] = await office.query<{ lapse_reason: string | null }>(
        company,
        'SELECT lapse_reason FROM pay_run WHERE id = $1',
        [run.id],
      );
      expect(row?.lapse_reason).toBeNull();
    });

    it.each([
      ['2026-10-30', 'EXECUTION_DATE_PAST', '2026-11-02'],
      ['2026-11-28', 'EXECUTION_DATE_NOT_A_BANKING_DAY', '2026-11-30'],
      ['2026-12-25', 'EXECUTION_DATE_NOT_A_BANKING_DAY', '2026-12-28'],
      ['2028-01-03', 'EXECUTION_DATE_TOO_FAR', '2026-11-02'],
    ])('refuses the execution date %s', async (executionDate, code, nextBankingDay) => {
      const run = await office.run(company, rows(100));
      const { body } = await office
        .as(company, 'preparer')
        .post(pathOf(run, '/amendments'), { executionDate, reason: 'another day' })
        .expect(422);
      expect(body).toMatchObject({ code, nextBankingDay });
    });

    it('refuses a date further ahead than the employer lets it be', async () => {
      const run = await office.run(company, rows(100));
      const amended = (executionDate: string) =>
        office
          .as(company, 'preparer')
          .post(pathOf(run, '/amendments'), { executionDate, reason: 'another day' });
      await office.query(company, 'UPDATE employer SET days_ahead_limit = 28');
      expect((await amended('2026-12-01').expect(422)).body.code).toBe('EXECUTION_DATE_TOO_FAR');
      await amended('2026-11-30').expect(200);
      await office.query(company, 'UPDATE employer SET days_ahead_limit = NULL');
    });

    it('refuses a date whose cut-off passes before the run is to be submitted', async () => {
      const run = await office.run(company, rows(100), { submitAt: new Date('2026-11-26T09:00:00Z') });
      const { body } = await office
        .as(company, 'preparer')
        .post(pathOf(run, '/amendments'), { executionDate: '2026-11-25', reason: 'earlier' })
        .expect(422);
      expect(body).toMatchObject({ code: 'SUBMIT_AT_TOO_LATE', latest: '2026-11-25T15:00:00.000Z' });
      expect(body.detail).toContain('submitAt');
    });

    it('moves when it is submitted, alone or with the date, which is approved anew', async () => {
      const run = await office.run(company, rows(100), { submitAt: new Date('2026-11-26T09:00:00Z') });
      await RunAtBank.approved(office, company, run);
      const amend = (body: object) =>
        office.as(company, 'preparer').post(pathOf(run, '/amendments'), { reason: 'earlier', ...body });
      const { body } = await amend({ submitAt: '2026-11-24T10:00:00+01:00' }).expect(200);
      const submitAt = '2026-11-24T09:00:00.000Z';
      expect(body).toMatchObject({ status: 'READY', runVersion: 2, approvals: [], submitAt });
      expect(body.rootHash).not.toBe(run.rootHash?.toString('hex'));
      const late = await amend({ submitAt: '2026-11-27T15:00:00Z' }).expect(422);
      expect(late.body).toMatchObject({ code: 'SUBMIT_AT_TOO_LATE', latest: '2026-11-27T15:00:00.000Z' });
      const both = { executionDate: '2026-11-25', submitAt: '2026-11-25T09:00:00.000Z' };
      expect((await amend(both).expect(200)).body).toMatchObject({ ...both, runVersion: 3 });
      const audited = await office.query<{ detail: object }>(
        company,
        `SELECT detail FROM audit_entry WHERE action = 'pay-run.amended' AND subject = $1 ORDER BY seq`,
        [showId('run', run.id)],
      );
      expect(audited.map(({ detail }) => detail)).toMatchObject([{ submitAt }, both]);
    });

    it('shows when it will be submitted while it waits for the instructions at the bank', async () => {
      const run = await office.run(company, rows(100, 200, 300));
      const atBank = await RunAtBank.approved(office, company, run);
      await atBank.start();
      await atBank.build(1);
      const submitAt = '2026-11-26T09:00:00.000Z';
      const { body } = await office
        .as(company, 'preparer')
        .post(pathOf(run, '/amendments'), { submitAt, reason: 'not before Thursday' })
        .expect(200);
      expect(body).toMatchObject({ status: 'BUILDING', submitAt: null, amendment: { submitAt } });
    });

    it('refuses to take out a payment of another run, or every payment', async () => {
      const [run, other] = [await office.run(company, rows(100)), await office.run(company, rows(100))];
      const amend = async (excluded: string) =>
        (
          await office
            .as(company, 'preparer')
            .post(pathOf(run, '/amendments'), { excludePaymentIds: [excluded], reason: 'not theirs' })
            .expect(422)
        ).body.code;
      expect(await amend(await paymentId(other, 1))).toBe('PAYMENT_NOT_IN_RUN');
      expect(await amend(await paymentId(run, 1))).toBe('NOTHING_TO_PAY');
      expect(await amend('pay_42')).toBe('VALIDATION_FAILED');
    });

    it('refuses an amendment that changes nothing, or says no reason', async () => {
      const run = await office.run(company, rows(100));
      const amend = (body: object) =>
        office.as(company, 'preparer').post(pathOf(run, '/amendments'), body).expect(422);
      await amend({ reason: 'no change' });
      await amend({ executionDate: '2026-11-30' });
      await amend({ executionDate: '2026-11-30', reason: ' . ' });
      await amend({ executionDate: '2026-02-30', reason: 'no such day' });
      await amend({ executionDate: '2026-11-30', reason: 'an unknown field', addPayments: [] });
    });

    it('is refused once submitting has begun, and to people other than preparers', async () => {
      const run = await office.run(company, rows(100));
      const atBank = await RunAtBank.approved(office, company, run);
      const body = { executionDate: '2026-11-30', reason: 'another day' };
      await office.as(company, 'approver').post(pathOf(run, '/amendments'), body).expect(403);
      await atBank.start();
      await atBank.build(1);
      await atBank.move('VERIFIED', 'SUBMITTING');
      const answer = await office.as(company, 'preparer').post(pathOf(run, '/amendments'), body);
      expect([answer.status, answer.body.code]).toEqual([409, 'NOT_AMENDABLE']);
    });
  });

  describe('by cancelling it', () => {
    const reason = { reason: 'the wrong month' };

    it('ends a run of which nothing is at the bank at once, and frees its people for another', async () => {
      const run = await office.run(company, rows(100, 200), { kindOfPay: 'BONUS' });
      const { body } = await office
        .as(company, 'preparer')
        .post(pathOf(run, '/cancellation'), reason)
        .expect(200);
      expect(body).toMatchObject({ status: 'CANCELLED', paymentsByStatus: { CANCELLED: { payments: 2 } } });
      await expect(office.run(company, rows(100, 200), { kindOfPay: 'BONUS' })).resolves.toBeDefined();
    });

    it('waits for what is at the bank', async () => {
      const run = await office.run(company, rows(100, 200));
      const atBank = await RunAtBank.approved(office, company, run);
      await atBank.start();
      await atBank.build(1, 1);
      const { body } = await office
        .as(company, 'approver')
        .post(pathOf(run, '/cancellation'), reason)
        .expect(200);
      expect(body.status).toBe('CANCELLING');
    });

    it('is refused once submitting has begun, to finance and to operators', async () => {
      const run = await office.run(company, rows(100));
      const atBank = await RunAtBank.approved(office, company, run);
      await office.as(company, 'finance').post(pathOf(run, '/cancellation'), reason).expect(403);
      await office.as(company, 'operator').post(pathOf(run, '/cancellation'), reason).expect(403);
      await atBank.start();
      await atBank.build(1);
      await atBank.move('VERIFIED', 'SUBMITTING');
      const answer = await office.as(company, 'approver').post(pathOf(run, '/cancellation'), reason);
      expect([answer.status, answer.body.code]).toEqual([409, 'NOT_CANCELLABLE']);
    });
  });

  it('voids no later approval by a repetition of an amendment whose answer was lost', async () => {
    // Rows that no other run of the company pays: the amended one would be held beside it.
    const run = await office.run(company, rows(109));
    const moved = { executionDate: '2026-11-30', reason: 'the bank is closed' };
    const amend = () =>
      office.as(company, 'preparer').post(pathOf(run, '/amendments'), moved).set('Idempotency-Key', run.id);
    const { rootHash, total } = (await amend().expect(200)).body;
    await office.tamper(LEAVES_UNANSWERED);
    await office.as(company, 'approver').post(pathOf(run, '/approvals'), { rootHash, total }).expect(200);
    expect((await amend().expect(409)).body.code).toBe('IDEMPOTENCY_UNFINISHED');
    const { body } = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    expect(body).toMatchObject({ status: 'APPROVED', runVersion: 2 });
  });

  describe('by its kill switch', () => {
    const stop = { reason: 'something looks wrong' };
    const resume = { reason: 'it was nothing', stoppedAt: new Date(0).toISOString() };
    /** Somebody stops it. @returns what resumes that */
    const stopped = async (run: PayRun) => {
      const { body } = await office.as(company, 'operator').post(pathOf(run, '/stop'), stop).expect(200);
      return { ...resume, stoppedAt: body.stopped.at };
    };

    it('is stopped by anybody and resumed by somebody else, which wakes what waited', async () => {
      const run = await office.run(company, rows(100, 200, 300));
      const atBank = await RunAtBank.approved(office, company, run);
      await atBank.start();
      await atBank.build(1);
      const stopped = await office.as(company, 'operator').post(pathOf(run, '/stop'), stop).expect(200);
      expect(stopped.body.stopped).toEqual({ at: expect.any(String), reason: stop.reason });
      await sleep(run);
      const going = { ...resume, stoppedAt: stopped.body.stopped.at };
      const own = await office.as(company, 'operator').post(pathOf(run, '/resume'), going);
      expect([own.status, own.body.code]).toEqual([409, 'SECOND_PERSON_REQUIRED']);
      const resumed = await office.as(company, 'approver').post(pathOf(run, '/resume'), going).expect(200);
      expect(resumed.body.stopped).toBeNull();
      expect(resumed.headers['etag']).not.toBe(stopped.headers['etag']);
      expect([await wakes(run, 'RUN'), await wakes(run, 'INSTRUCTION')]).toEqual([1, 2]);
    });

    it('is not resumed by a repetition after another stop, where the answer to the first resume was lost', async () => {
      const run = await office.run(company, rows(100));
      const going = await stopped(run);
      const resumeByKey = () =>
        office.as(company, 'approver').post(pathOf(run, '/resume'), going).set('Idempotency-Key', run.id);
      await resumeByKey().expect(200);
      await office.tamper(LEAVES_UNANSWERED);
      await office.as(company, 'operator').post(pathOf(run, '/stop'), stop).expect(200);
      expect((await resumeByKey().expect(409)).body.code).toBe('IDEMPOTENCY_UNFINISHED');
      const { body } = await office.as(company, 'approver').get(pathOf(run)).expect(200);
      expect(body.stopped).toMatchObject(stop);
    });

    it('is not resumed by who read of another stop, which somebody has taken back since, nor by who names none', async () => {
      const run = await office.run(company, rows(100));
      const first = await stopped(run);
      await office.as(company, 'approver').post(pathOf(run, '/resume'), first).expect(200);
      const second = await stopped(run);
      const late = await office.as(company, 'approver').post(pathOf(run, '/resume'), first).expect(409);
      expect(late.body).toMatchObject({
        code: 'OTHER_STOPS_STAND',
        detail: expect.stringContaining(second.stoppedAt),
        standing: [stop],
      });
      const { reason } = resume;
      await office.as(company, 'approver').post(pathOf(run, '/resume'), { reason }).expect(422);
      const { body } = await office.as(company, 'approver').get(pathOf(run)).expect(200);
      expect(body.stopped).toMatchObject({ at: second.stoppedAt });
      await office.as(company, 'approver').post(pathOf(run, '/resume'), second).expect(200);
    });

    it('leaves the following of submitted instructions as it is', async () => {
      const run = await office.run(company, rows(100, 200, 300));
      const atBank = await RunAtBank.approved(office, company, run);
      await atBank.start();
      await atBank.build(1);
      await atBank.build(2);
      await atBank.move('VERIFIED', 'SUBMITTING');
      await atBank.instruction(1, 'SUBMIT_INTENT', 'SUBMITTED');
      await office.query(
        company,
        `UPDATE lease SET kind = 'FOLLOW' FROM instruction i
         WHERE subject_id = i.id AND i.pay_run_id = $1 AND i.status = 'SUBMITTED'`,
        [run.id],
      );
      await office
        .as(company, 'approver')
        .post(pathOf(run, '/resume'), await stopped(run))
        .expect(200);
      const kinds = await office.query<{ kind: string; status: string }>(
        company,
        `SELECT l.kind, i.status FROM lease l JOIN instruction i ON i.id = l.subject_id
         WHERE i.pay_run_id = $1 ORDER BY i.status`,
        [run.id],
      );
      expect(kinds).toEqual([
        { kind: 'FOLLOW', status: 'SUBMITTED' },
        { kind: 'INSTRUCTION', status: 'VERIFIED' },
      ]);
    });

    it('is not resumed by one person while an attention leaves that to two', async () => {
      const run = await office.run(company, rows(100));
      await office.as(company, 'operator').post(pathOf(run, '/stop'), stop).expect(200);
      await office.in(company, (tx) =>
        raise(tx, {
          kind: 'ECHO_MISMATCH',
          subjectId: run.id,
          payRunId: run.id,
          happened: 'an echo differed',
        }),
      );
      const { body } = await office.as(company, 'approver').post(pathOf(run, '/resume'), resume).expect(409);
      expect(body).toMatchObject({
        code: 'ATTENTION_DECIDES',
        attentionIds: [expect.stringMatching(/^att_/)],
      });
    });

    it('is not resumed by one person where the service alone stopped it, whatever was decided since', async () => {
      const run = await office.run(company, rows(100));
      await office.query(
        company,
        `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = 'ECHO_MISMATCH' WHERE id = $1`,
        [run.id],
      );
      const alone = await office.as(company, 'approver').post(pathOf(run, '/resume'), resume).expect(409);
      expect(alone.body).toMatchObject({ code: 'ATTENTION_DECIDES', attentionIds: [] });
      const going = await stopped(run);
      const own = await office.as(company, 'operator').post(pathOf(run, '/resume'), going);
      expect([own.status, own.body.code]).toEqual([409, 'SECOND_PERSON_REQUIRED']);
      const resumed = await office.as(company, 'approver').post(pathOf(run, '/resume'), going).expect(200);
      expect(resumed.body.stopped).toBeNull();
    });

    it('is refused twice, on a run that is finished, and to a run that is not stopped', async () => {
      const run = await office.run(company, rows(100));
      const code = async (what: string, body: object) =>
        (await office.as(company, 'approver').post(pathOf(run, what), body).expect(409)).body.code;
      expect(await code('/resume', resume)).toBe('NOT_STOPPED');
      await office.as(company, 'approver').post(pathOf(run, '/stop'), stop).expect(200);
      expect(await code('/stop', stop)).toBe('ALREADY_STOPPED');
      await office.as(company, 'approver').post(pathOf(run, '/cancellation'), stop).expect(200);
      expect(await code('/stop', stop)).toBe('RUN_IS_FINISHED');
    });
  });

  it('is refused to who looked at an older state of the run', async () => {
    const run = await office.run(company, rows(100));
    const { headers } = await office.as(company, 'preparer').get(pathOf(run));
    await office.as(company, 'operator').post(pathOf(run, '/stop'), { reason: 'wait' }).expect(200);
    const answer = await office
      .as(company, 'preparer')
      .post(pathOf(run, '/cancellation'), { reason: 'the wrong month' })
      .set('If-Match', headers['etag'] ?? '');
    expect([answer.status, answer.body.code]).toEqual([412, 'PRECONDITION_FAILED']);
  });

  it('is audited, each change with its reason, in a chain that verifies', async () => {
    const own = await office.company();
    const run = await office.run(own, rows(100, 200));
    const { body: held } = await office
      .as(own, 'operator')
      .post(pathOf(run, '/stop'), { reason: 'wait' })
      .expect(200);
    const going = { reason: 'go on', stoppedAt: held.stopped.at };
    await office.as(own, 'approver').post(pathOf(run, '/resume'), going).expect(200);
    await office
      .as(own, 'preparer')
      .post(pathOf(run, '/amendments'), { executionDate: '2026-11-30', reason: 'a day later' })
      .expect(200);
    await office
      .as(own, 'preparer')
      .post(pathOf(run, '/cancellation'), { reason: 'wrong month' })
      .expect(200);
    const { body } = await office.as(own, 'finance').get('/audit').expect(200);
    const entries = body.items.map((entry: { action: string; detail: { reason: string } }) => [
      entry.action,
      entry.detail.reason,
    ]);
    expect(entries.reverse()).toEqual([
      ['pay-run.stopped', 'wait'],
      ['pay-run.resumed', 'go on'],
      ['pay-run.amended', 'a day later'],
      ['pay-run.cancelled', 'wrong month'],
    ]);
    const verified = await office.as(own, 'finance').get('/audit/verification').expect(200);
    expect(verified.body.intact).toBe(true);
  });
});
