import { formatMinor } from '../../src/domain/money';
import { showId } from '../../src/http/prefixed-id';
import { voidApprovals } from '../../src/pay-run/approval';
import { lockRun } from '../../src/pay-run/pay-run.store';
import { testConfig } from '../http/test-app';
import { LEAVES_UNANSWERED } from '../support/database';
import { Company, pathOf, PayOffice, rows } from './pay-office';
import { RunAtBank } from './run-at-bank';

describe('approving a pay run', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
    company = await office.company();
  });
  afterAll(() => office?.close());

  const readyRun = async (of = company) => {
    const run = await office.run(of, rows(100_000, 250_050));
    return { run, seen: { rootHash: run.rootHash?.toString('hex'), total: '3500.50' } };
  };

  it('makes the run APPROVED, with the approver named and an entity tag that moved', async () => {
    const { run, seen } = await readyRun();
    const before = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    const after = await office.as(company, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    expect(after.body).toMatchObject({
      status: 'APPROVED',
      approvals: [{ person: { id: showId('per', company.approver.personId), name: 'A approver' } }],
      paymentsByStatus: { APPROVED: { payments: 2, amount: '3500.50' } },
    });
    expect(after.headers['etag']).not.toBe(before.headers['etag']);
  });

  it('refuses a run whose account the bank has closed since, and says what to do', async () => {
    const own = await office.company();
    const { run, seen } = await readyRun(own);
    await office.query(own, `UPDATE employer_account SET bank_status = 'CLOSED'`);
    const { body } = await office.as(own, 'approver').post(pathOf(run, '/approvals'), seen).expect(409);
    expect(body).toMatchObject({
      code: 'ACCOUNT_IS_CLOSED',
      detail: expect.stringContaining('cancel the run and upload its file with another account'),
    });
    const after = await office.as(own, 'approver').get(pathOf(run)).expect(200);
    expect(after.body).toMatchObject({ status: 'READY', approvals: [] });
  });

  it('refuses a run whose execution date became a closed day of the bank, and names a date that will do', async () => {
    const run = await office.run(company, rows(100), { executionDate: '2026-11-28' });
    const seen = { rootHash: run.rootHash?.toString('hex'), total: '1.00' };
    const { body } = await office.as(company, 'approver').post(pathOf(run, '/approvals'), seen).expect(422);
    expect(body).toMatchObject({
      code: 'EXECUTION_DATE_NOT_A_BANKING_DAY',
      detail: expect.stringContaining('Amend the run to another execution date (2026-11-30 will do)'),
      nextBankingDay: '2026-11-30',
    });
  });

  it('refuses a run that cannot be sent whole before its cut-off, with the numbers, and stores nothing', async () => {
    const cutOff = '2026-11-27T15:00:00.000Z';
    const submitAt = new Date(Date.parse(cutOff) - 20_000);
    // Rows that no other run of the company pays: the amended one would be held beside it.
    const run = await office.run(company, rows(100_003, 250_047), { submitAt });
    const seen = { rootHash: run.rootHash?.toString('hex'), total: '3500.50' };
    const before = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    const answer = await office.as(company, 'approver').post(pathOf(run, '/approvals'), seen);
    expect([answer.status, answer.type]).toEqual([409, 'application/problem+json']);
    expect(answer.body).toMatchObject({
      code: 'CUT_OFF_CANNOT_BE_MET',
      detail: expect.stringMatching(/later execution date \(2026-11-30 will do\), or take payments out/),
      requests: before.body.estimate.requests,
      seconds: before.body.estimate.seconds,
      cutOff,
      earliestExecutionDate: '2026-11-30',
    });
    expect(answer.body.finishesBy > cutOff).toBe(true);
    const after = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    expect(after.body).toMatchObject({ status: 'READY', approvals: [] });
    expect(after.headers['etag']).toBe(before.headers['etag']);
    const { body } = await office
      .as(company, 'preparer')
      .post(pathOf(run, '/amendments'), { executionDate: '2026-11-30', reason: 'as advised' })
      .expect(200);
    const terms = { rootHash: body.rootHash, total: body.total };
    await office.as(company, 'approver').post(pathOf(run, '/approvals'), terms).expect(200);
  });

  it('refuses a run whose last submit, lasting as long as a request may, would end after the cut-off', async () => {
    const closes = Date.parse('2026-11-27T15:00:00.000Z');
    const before = async (leftMs: number) => {
      const run = await office.run(company, rows(100), { submitAt: new Date(closes - leftMs) });
      const seen = { rootHash: run.rootHash?.toString('hex'), total: '1.00' };
      const { body } = await office.as(company, 'approver').get(pathOf(run)).expect(200);
      const { status } = await office.as(company, 'approver').post(pathOf(run, '/approvals'), seen);
      return { status, seconds: body.estimate.seconds };
    };
    const { seconds, status } = await before(3_600_000);
    const timeOutMs = testConfig().BANK_TIMEOUT_MS;
    expect(status).toBe(200);
    expect(seconds).toBeGreaterThan(timeOutMs / 1_000);
    expect((await before(seconds * 1_000 - timeOutMs + 10_000)).status).toBe(409);
    expect((await before(seconds * 1_000 + 1_000)).status).toBe(200);
  });

  it('refuses a person who prepared any version of the run, whatever roles they hold', async () => {
    const both = await office.person(company.employerId, 'Both', ['preparer', 'approver']);
    const run = await office.run(company, rows(100), { createdBy: both.personId });
    const seen = { rootHash: run.rootHash?.toString('hex'), total: '1.00' };
    const answer = await office.as(company, both).post(pathOf(run, '/approvals'), seen);
    expect([answer.status, answer.body.code]).toEqual([409, 'APPROVER_IS_PREPARER']);
  });

  it('refuses somebody who prepared an earlier version only', async () => {
    const both = await office.person(company.employerId, 'Amender', ['preparer', 'approver']);
    const run = await office.run(company, rows(100, 200), { createdBy: both.personId });
    const amended = await office
      .as(company, 'preparer')
      .post(pathOf(run, '/amendments'), { executionDate: '2026-11-30', reason: 'a day later' })
      .expect(200);
    const seen = { rootHash: amended.body.rootHash, total: amended.body.total };
    const answer = await office.as(company, both).post(pathOf(run, '/approvals'), seen);
    expect([answer.status, answer.body.code]).toEqual([409, 'APPROVER_IS_PREPARER']);
  });

  it('refuses who prepared a row that was left out of its run, and is copied by that of another person', async () => {
    const author = await office.person(company.employerId, 'Author', ['preparer', 'approver']);
    const run = await office.run(company, rows(100, 200, 300), { createdBy: author.personId });
    const ids = await office.query<{ id: string }>(
      company,
      'SELECT id FROM payment WHERE pay_run_id = $1 ORDER BY row_no',
      [run.id],
    );
    const [leftOut, unpaid] = ids.map(({ id }) => id);
    await office
      .as(company, 'preparer')
      .post(pathOf(run, '/amendments'), {
        excludePaymentIds: [showId('pay', leftOut!)],
        reason: 'who is this?',
      })
      .expect(200);
    await RunAtBank.ended(office, company, run, ['SETTLED', 'EXT_REFUSED']);
    const approve = async (copied: string) => {
      const successor = await office.successor(company, run, [copied]);
      const seen = {
        rootHash: successor.rootHash?.toString('hex'),
        total: formatMinor(successor.totalMinor),
      };
      const of = (who: 'approver' | typeof author) =>
        office.as(company, who).post(pathOf(successor, '/approvals'), seen);
      return { own: await of(author), other: await of('approver') };
    };
    const ofLeftOut = await approve(leftOut!);
    expect([ofLeftOut.own.status, ofLeftOut.own.body.code]).toEqual([409, 'APPROVER_IS_PREPARER']);
    expect(ofLeftOut.other.status).toBe(200);
    // What was sent had been approved by somebody else before.
    expect((await approve(unpaid!)).own.status).toBe(200);
  });

  it.each([
    ['another hash', { rootHash: 'ab'.repeat(32), total: '3500.50' }],
    ['another total', { total: '3500.51' }],
  ])('refuses %s than the one that stands', async (_what, change) => {
    const { run, seen } = await readyRun();
    const answer = await office
      .as(company, 'approver')
      .post(pathOf(run, '/approvals'), { ...seen, ...change });
    expect([answer.status, answer.body.code]).toEqual([409, 'APPROVAL_OF_ANOTHER_VERSION']);
  });

  it.each([['1e3'], ['3,500.50'], ['-1.00'], ['3500.501'], ['']])(
    'refuses the total %p as malformed',
    async (total) => {
      const { run, seen } = await readyRun();
      const answer = await office.as(company, 'approver').post(pathOf(run, '/approvals'), { ...seen, total });
      expect([answer.status, answer.body.code]).toEqual([422, 'VALIDATION_FAILED']);
      expect(answer.body.errors[0].pointer).toBe('#/total');
    },
  );

  it.each(['preparer', 'finance', 'operator'] as const)('is not open to a %s', async (role) => {
    const { run, seen } = await readyRun();
    await office.as(company, role).post(pathOf(run, '/approvals'), seen).expect(403);
  });

  it('needs as many people as the employer requires, and each of them once', async () => {
    const strict = await office.company({ approvalsRequired: 2 });
    const second = await office.person(strict.employerId, 'Second', ['approver']);
    const { run, seen } = await readyRun(strict);
    const first = await office.as(strict, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    expect(first.body).toMatchObject({ status: 'READY', approvalsRequired: 2 });
    const again = await office.as(strict, 'approver').post(pathOf(run, '/approvals'), seen);
    expect([again.status, again.body.code]).toEqual([409, 'ALREADY_APPROVED']);
    const last = await office.as(strict, second).post(pathOf(run, '/approvals'), seen).expect(200);
    expect(last.body.status).toBe('APPROVED');
    expect(last.body.approvals).toHaveLength(2);
  });

  it('counts no approval that was taken back', async () => {
    const strict = await office.company({ approvalsRequired: 2 });
    const second = await office.person(strict.employerId, 'Second', ['approver']);
    const { run, seen } = await readyRun(strict);
    await office.as(strict, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    await office.in(strict, async (tx) =>
      voidApprovals(tx, await lockRun(tx, run.id), 'service', 'the database was restored'),
    );
    const other = await office.as(strict, second).post(pathOf(run, '/approvals'), seen).expect(200);
    expect(other.body.status).toBe('READY');
    const again = await office.as(strict, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    expect(again.body.status).toBe('APPROVED');
  });

  it.each([
    ['lost the role', 'DELETE FROM person_role WHERE person_id = $1'],
    ['was disabled', 'UPDATE person SET disabled_at = now() WHERE id = $1'],
  ])(
    'is shown as not counting where its person %s: as many as are required leave the run READY',
    async (_, leave) => {
      const strict = await office.company({ approvalsRequired: 2 });
      const second = await office.person(strict.employerId, 'Second', ['approver']);
      const { run, seen } = await readyRun(strict);
      const first = await office.as(strict, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
      expect(first.body.approvals).toMatchObject([{ mayApprove: true }]);
      await office.query(strict, leave, [strict.approver.personId]);
      const last = await office.as(strict, second).post(pathOf(run, '/approvals'), seen).expect(200);
      expect(last.body).toMatchObject({
        status: 'READY',
        approvalsRequired: 2,
        approvals: [{ mayApprove: false }, { mayApprove: true }],
      });
    },
  );

  it('is taken of another person once who approved the run may approve no more, before its gate', async () => {
    const own = await office.company();
    const second = await office.person(own.employerId, 'Second', ['approver']);
    const { run, seen } = await readyRun(own);
    const approve = (by: 'approver' | typeof second) =>
      office.as(own, by).post(pathOf(run, '/approvals'), seen);
    await approve('approver').expect(200);
    expect((await approve(second)).body.code).toBe('NOT_AWAITING_APPROVAL');
    await office.query(own, 'DELETE FROM person_role WHERE person_id = $1', [own.approver.personId]);
    const lapsing = (why: string | null) =>
      office.query(own, 'UPDATE pay_run SET lapse_reason = $2 WHERE id = $1', [run.id, why]);
    await lapsing('the cut-off passed');
    expect((await approve(second)).body.code).toBe('NOT_AWAITING_APPROVAL');
    await lapsing(null);
    const taken = await approve(second).expect(200);
    expect([taken.body.status, taken.body.approvals.length]).toEqual(['APPROVED', 2]);
  });

  it('counts again what its person approved once fewer people are required', async () => {
    const strict = await office.company({ approvalsRequired: 2 });
    const { run, seen } = await readyRun(strict);
    await office.as(strict, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    await office.query(strict, 'UPDATE employer SET approvals_required = 1 WHERE id = $1', [
      strict.employerId,
    ]);
    const again = await office.as(strict, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    expect([again.body.status, again.body.approvals.length]).toEqual(['APPROVED', 1]);
  });

  it('lets exactly one of two approvers through when both send the entity tag they read', async () => {
    const strict = await office.company({ approvalsRequired: 2 });
    const second = await office.person(strict.employerId, 'Second', ['approver']);
    const { run, seen } = await readyRun(strict);
    const { headers } = await office.as(strict, 'approver').get(pathOf(run));
    const tag = headers['etag'] ?? '';
    const answers = await Promise.all(
      [strict.approver, second].map((who) =>
        office.as(strict, who).post(pathOf(run, '/approvals'), seen).set('If-Match', tag),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  it('leaves nothing behind when it is refused: no approval, no audit entry', async () => {
    const { run, seen } = await readyRun();
    await office
      .as(company, 'approver')
      .post(pathOf(run, '/approvals'), { ...seen, total: '1.00' })
      .expect(409);
    const [left] = await office.query<{ approvals: string; entries: string }>(
      company,
      `SELECT (SELECT count(*) FROM approval WHERE pay_run_id = $1) AS approvals,
         (SELECT count(*) FROM audit_entry WHERE subject = $2) AS entries`,
      [run.id, showId('run', run.id)],
    );
    expect(left).toEqual({ approvals: '0', entries: '0' });
  });

  it('is audited with the version and the hash, and no amount', async () => {
    const { run, seen } = await readyRun();
    await office.as(company, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    const [entry] = await office.query(
      company,
      'SELECT action, person_id, detail FROM audit_entry WHERE subject = $1',
      [showId('run', run.id)],
    );
    expect(entry).toEqual({
      action: 'pay-run.approved',
      person_id: company.approver.personId,
      detail: { runVersion: 1, rootHash: seen.rootHash, payments: 2, status: 'APPROVED' },
    });
  });

  it('is given back once under one Idempotency-Key', async () => {
    const { run, seen } = await readyRun();
    const send = () =>
      office
        .as(company, 'approver')
        .post(pathOf(run, '/approvals'), seen)
        .set('Idempotency-Key', `a-${run.id}`);
    await send().expect(200);
    const again = await send();
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(again.body.approvals).toHaveLength(1);
  });

  it('is not given again by a repetition once it was taken back, where the answer was lost', async () => {
    const { run, seen } = await readyRun();
    const send = () =>
      office.as(company, 'approver').post(pathOf(run, '/approvals'), seen).set('Idempotency-Key', run.id);
    await send().expect(200);
    await office.tamper(LEAVES_UNANSWERED);
    const reason = { reason: 'the bonus is missing' };
    await office.as(company, 'operator').delete(pathOf(run, '/approvals'), reason).expect(200);
    expect((await send().expect(409)).body.code).toBe('IDEMPOTENCY_UNFINISHED');
    const { body } = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    expect(body).toMatchObject({ status: 'READY', approvals: [] });
  });

  it('is refused in the same words each time under one Idempotency-Key, also by the database', async () => {
    const own = await office.company({ approvalsRequired: 2 });
    const { run, seen } = await readyRun(own);
    await office.as(own, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    for (let n = 0; n < 2; n += 1) {
      const again = office.as(own, 'approver').post(pathOf(run, '/approvals'), seen);
      const { body } = await again.set('Idempotency-Key', run.id).expect(409);
      expect(body.code).toBe('ALREADY_APPROVED');
    }
  });

  it('is stopped each time it is asked for, whatever the Idempotency-Key', async () => {
    const { run } = await readyRun();
    const press = (role: 'preparer' | 'approver', button: string, which: { stoppedAt?: string } = {}) =>
      office
        .as(company, role)
        .post(pathOf(run, button), { reason: 'a look first', ...which })
        .set('Idempotency-Key', `${button}-${run.id}`)
        .expect(200);
    const { body } = await press('preparer', '/stop');
    await press('approver', '/resume', { stoppedAt: body.stopped.at });
    expect((await press('preparer', '/stop')).body.stopped).toMatchObject({ reason: 'a look first' });
    const now = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    expect(now.body.stopped).toMatchObject({ reason: 'a look first' });
  });

  it('can be taken back while nothing is at the bank, by an approver or an operator', async () => {
    const { run, seen } = await readyRun();
    await office.as(company, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    const reason = { reason: 'the bonus is missing' };
    await office.as(company, 'preparer').delete(pathOf(run, '/approvals'), reason).expect(403);
    const { body } = await office
      .as(company, 'operator')
      .delete(pathOf(run, '/approvals'), reason)
      .expect(200);
    expect(body).toMatchObject({
      status: 'READY',
      approvals: [],
      paymentsByStatus: { READY: { payments: 2 } },
    });
    const nothing = await office.as(company, 'operator').delete(pathOf(run, '/approvals'), reason);
    expect([nothing.status, nothing.body.code]).toEqual([409, 'NO_STANDING_APPROVAL']);
    await office.as(company, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
  });

  it('cannot be taken back once instructions are being built, and what can be done instead is said', async () => {
    const { run, seen } = await readyRun();
    await office.as(company, 'approver').post(pathOf(run, '/approvals'), seen).expect(200);
    const takenBack = async (status: string) => {
      await office.query(company, `UPDATE pay_run SET status = $2 WHERE id = $1`, [run.id, status]);
      return office.as(company, 'approver').delete(pathOf(run, '/approvals'), { reason: 'too late' });
    };
    const built = await takenBack('BUILDING');
    expect([built.status, built.body.code]).toEqual([409, 'NOT_VOIDABLE']);
    expect(built.body.detail).toMatch(/Amend or cancel it instead\.$/);
    await takenBack('VERIFIED');
    const submitted = await takenBack('SUBMITTING');
    expect([submitted.status, submitted.body.code]).toEqual([409, 'NOT_VOIDABLE']);
    expect(submitted.body.detail).toMatch(/taken back\. What of it was not submitted can be stopped/);
  });

  it('does not see the run of another employer', async () => {
    const { run, seen } = await readyRun();
    const other = await office.company();
    const answer = await office.as(other, 'approver').post(pathOf(run, '/approvals'), seen);
    expect([answer.status, answer.body.code]).toEqual([404, 'PAY_RUN_NOT_FOUND']);
  });
});
