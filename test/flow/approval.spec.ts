import { readId } from '../../src/http/prefixed-id';
import { NOTHING_TO_ASK } from '../../src/pay-run/attention-words';
import { Submitter } from '../../src/submission/submitter';
import { dueAt, execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const LOSES_ROLE = `DELETE FROM person_role r USING person p
  WHERE p.id = r.person_id AND p.name = 'approver' AND r.role = 'approver'`;

describe('nothing is paid that was not approved', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '1' } });
  });
  afterAll(() => payroll.close());

  const paid = async () => (await payroll.ledger()).payees.length;

  it('not by somebody without the role, and not by who prepared it even with the role', async () => {
    const run = await payroll.uploaded(payFile(payRows(3)));
    const path = payroll.path(`/pay-runs/${run.id}/approvals`);
    const body = { rootHash: run.rootHash, total: run.total };
    for (const role of ['preparer', 'finance', 'operator'] as const) {
      expect((await payroll.as(role).post(path, body)).status).toBe(403);
    }
    await execute(
      payroll.database.superuserUrl,
      `INSERT INTO person_role (employer_id, person_id, role) SELECT employer_id, person_id, 'approver' FROM person_role
       WHERE role = 'preparer' ON CONFLICT DO NOTHING`,
    );
    const own = await payroll.as('preparer').post(path, body);
    expect(own.status).toBeGreaterThanOrEqual(400);
    expect(own.data.code).toBe('APPROVER_IS_PREPARER');
    expect((await payroll.run(run.id)).status).toBe('READY');
    await execute(
      payroll.database.superuserUrl,
      `DELETE FROM person_role r USING person p WHERE p.id = r.person_id AND p.name = 'preparer' AND r.role = 'approver'`,
    );
    await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${run.id}/cancellation`), { reason: 'test over' });
  });

  it('not with another hash or total than those that stand', async () => {
    const run = await payroll.uploaded(payFile(payRows(3, 10)));
    const wrongHash = await payroll.approve({ ...run, rootHash: '0'.repeat(64) });
    expect(wrongHash.data.code).toBe('APPROVAL_OF_ANOTHER_VERSION');
    const wrongTotal = await payroll.approve({ ...run, total: '1.00' });
    expect(wrongTotal.data.code).toBe('APPROVAL_OF_ANOTHER_VERSION');
    expect((await payroll.run(run.id)).status).toBe('READY');
  });

  const becomesDue = async (id: string) => {
    const { superuserUrl } = payroll.database;
    await dueAt(superuserUrl, 'now()', readId('run', id));
    await execute(superuserUrl, `UPDATE lease SET wake_at = now() WHERE subject_id = $1`, [
      readId('run', id),
    ]);
  };
  const cancel = (id: string) =>
    payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), { reason: 'test over' });
  const submits = (id: string) =>
    select(
      payroll.database.superuserUrl,
      `SELECT s.id FROM submit_attempt s JOIN instruction i ON i.id = s.instruction_id WHERE i.pay_run_id = $1`,
      [readId('run', id)],
    );

  it.each([
    ['an amount', `UPDATE payment SET amount_minor = amount_minor + 1 WHERE pay_run_id = $1 AND row_no = 2`],
    [
      'an account',
      `UPDATE payment SET iban_sealed = '0:DE89370400440532013000' WHERE pay_run_id = $1 AND row_no = 1`,
    ],
    ['a name', `UPDATE payment SET name_sealed = '0:Somebody Else' WHERE pay_run_id = $1 AND row_no = 3`],
  ])(
    'not when %s was changed in the database: the employer is stopped and people are told',
    async (_what, change) => {
      const before = await paid();
      const run = await payroll.uploaded(payFile(payRows(3, 20)), payroll.later());
      await payroll.approve(run);
      await execute(payroll.database.superuserUrl, change, [readId('run', run.id)]);
      await becomesDue(run.id);
      let breach: { id: string } | undefined;
      await eventually(async () => {
        breach = (await payroll.attention()).find(
          (one) => one.kind === 'INVARIANT_BREACH' && one.payRunId === run.id,
        );
        return breach !== undefined;
      }, 20_000);
      expect((await payroll.as('operator').get(payroll.path(''))).data.stopped).not.toBeNull();
      await cancel(run.id);
      await payroll.until(run.id, ['CANCELLED'], 20_000);
      expect(await submits(run.id)).toEqual([]);
      expect(await paid()).toBe(before);
      const path = payroll.path(`/attention/${breach!.id}`);
      expect(
        (await payroll.decide(path, { action: 'RESUME', reason: 'restored and looked into' })).status,
      ).toBe(200);
    },
  );

  it('not when the execution date was changed: the approval lapses, and an amendment has it approved as it is', async () => {
    const rows = payRows(3, 40);
    const run = await payroll.uploaded(payFile(rows), payroll.later());
    await payroll.approve(run);
    const { superuserUrl } = payroll.database;
    await execute(superuserUrl, `UPDATE pay_run SET execution_date = execution_date + 7 WHERE id = $1`, [
      readId('run', run.id),
    ]);
    await becomesDue(run.id);
    await payroll.until(run.id, ['READY'], 20_000);
    expect((await payroll.attention()).map((one) => one.kind)).toContain('APPROVAL_LAPSED');
    expect((await payroll.approve(run)).data.code).toBe('RUN_TERMS_CHANGED');
    expect(await submits(run.id)).toEqual([]);
    const amended = await payroll.as('preparer').post(payroll.path(`/pay-runs/${run.id}/amendments`), {
      excludePaymentIds: [],
      executionDate: payroll.executionDate(),
      reason: 'the date as it was',
    });
    expect(amended.status).toBeLessThan(300);
    expect((await payroll.approve(await payroll.run(run.id))).status).toBeLessThan(300);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    expect((await payroll.attention()).map((one) => one.kind)).not.toContain('APPROVAL_LAPSED');
  });

  it('not once the approver has lost the role: another approves the same, and it is built and rebuilt as from the start', async () => {
    const rows = payRows(3, 60);
    const run = await payroll.uploaded(payFile(rows), payroll.later());
    await payroll.approve(run);
    const { superuserUrl } = payroll.database;
    await execute(
      superuserUrl,
      `CREATE FUNCTION lose_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN ${LOSES_ROLE}; RETURN NEW; END $$;
       CREATE TRIGGER as_soon_as_verified BEFORE UPDATE ON pay_run FOR EACH ROW
         WHEN (OLD.status = 'BUILDING' AND NEW.status = 'VERIFIED') EXECUTE FUNCTION lose_role()`,
    );
    await becomesDue(run.id);
    await payroll.until(run.id, ['READY'], 20_000);
    expect(await submits(run.id)).toEqual([]);
    await execute(
      superuserUrl,
      `DROP TRIGGER as_soon_as_verified ON pay_run; INSERT INTO person_role (employer_id, person_id, role)
       SELECT e.id, p.id, 'approver' FROM employer e, person p WHERE p.name = 'approver'`,
    );
    await payroll.fault({ operation: 'add', kind: 'request-lost', nth: 1 });
    const { rootHash, total } = run;
    const again = await payroll
      .as('second')
      .post(payroll.path(`/pay-runs/${run.id}/approvals`), { rootHash, total });
    expect(again.status).toBeLessThan(300);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    await payroll.clearFaults();
    expect(await payroll.run(run.id)).toMatchObject({ runVersion: 1, instructions: [{ attempt: 3 }] });
    const payees = new Map((await payroll.ledger()).payees.map(({ iban, count }) => [iban, count]));
    expect(rows.map(({ iban }) => payees.get(iban))).toEqual([1, 1, 1]);
  });

  it('not once the approver has lost the role while it waited for its time: nothing is built', async () => {
    const run = await payroll.uploaded(payFile(payRows(2, 80)), payroll.later());
    await payroll.approve(run);
    const { superuserUrl } = payroll.database;
    await execute(superuserUrl, LOSES_ROLE);
    const before = (await payroll.calls()).initiate;
    await becomesDue(run.id);
    await payroll.until(run.id, ['READY'], 20_000);
    const lapsed = (await payroll.attention()).find(({ payRunId }) => payRunId === run.id);
    expect(lapsed!.happened).toMatch(/Have the run approved again as it stands\.$/);
    expect((await payroll.calls()).initiate).toBe(before);
    await execute(
      superuserUrl,
      `INSERT INTO person_role (employer_id, person_id, role)
       SELECT e.id, p.id, 'approver' FROM employer e, person p WHERE p.name = 'approver'`,
    );
    await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${run.id}/cancellation`), { reason: 'a mistake' });
  });

  it.each([
    ['while it waited for its time: nothing is built', 90, 'APPROVED', 0],
    ['while it was built: nothing is submitted', 190, 'VERIFIED', 1],
  ])(
    'not once who allowed a further payment of it beforehand came to approve no more %s',
    async (_, first, status, built) => {
      const { superuserUrl } = payroll.database;
      const [one] = payRows(1, first);
      await payroll.until(await payroll.paid(payFile([one!])), ['SETTLED'], 20_000);
      const key = { employeeId: one!.employeeId, period: payroll.executionDate().slice(0, 7) };
      const release = { ...key, kindOfPay: 'SALARY', reason: 'paid too little' };
      expect((await payroll.as('second').post(payroll.path('/releases'), release)).status).toBe(201);
      const further = { ...one!, amount: '3.00' };
      const run = await payroll.uploaded(payFile([further, ...payRows(1, first + 5)]), payroll.later());
      await execute(
        superuserUrl,
        `CREATE OR REPLACE FUNCTION lose_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
           BEGIN ${LOSES_ROLE.replace("'approver'", "'second'")}; RETURN NEW; END $$;
         CREATE TRIGGER as_soon_as BEFORE UPDATE ON pay_run FOR EACH ROW
           WHEN (OLD.status <> NEW.status AND NEW.status = '${status}') EXECUTE FUNCTION lose_role()`,
      );
      expect((await payroll.approve(run)).status).toBeLessThan(300);
      const { initiate = 0 } = await payroll.calls();
      await becomesDue(run.id);
      await payroll.until(run.id, ['READY'], 20_000);
      const lapsed = (await payroll.attention()).find(({ payRunId }) => payRunId === run.id);
      expect(lapsed!.happened).toContain('further pay that somebody allowed who may approve no more');
      expect(await submits(run.id)).toEqual([]);
      expect((await payroll.calls()).initiate).toBe(initiate + built);
      expect((await payroll.approve(run)).data.code).toBe('RELEASE_NOT_BACKED');
      await execute(
        superuserUrl,
        `DROP FUNCTION lose_role CASCADE; INSERT INTO person_role (employer_id, person_id, role)
         SELECT e.id, p.id, 'approver' FROM employer e, person p WHERE p.name = 'second'`,
      );
      await cancel(run.id);
    },
  );

  it('not when more approvals are required once submitting has begun: the run is stopped until another approves it and two people resume it', async () => {
    const { superuserUrl } = payroll.database;
    await execute(
      superuserUrl,
      `CREATE FUNCTION require_another() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN UPDATE employer SET approvals_required = 2; RETURN NULL; END $$;
       CREATE TRIGGER require_another AFTER UPDATE ON pay_run
         FOR EACH ROW WHEN (NEW.status = 'SUBMITTING' AND OLD.status = 'VERIFIED') EXECUTE FUNCTION require_another()`,
    );
    const run = await payroll.uploaded(payFile(payRows(3, 70)), { submitAt: new Date().toISOString() });
    await payroll.approve(run);
    let breach: { id: string } | undefined;
    await eventually(async () => {
      breach = (await payroll.attention()).find(
        (one) => one.kind === 'INVARIANT_BREACH' && one.payRunId === run.id,
      );
      return breach !== undefined && (await payroll.run(run.id)).stopped !== null;
    }, 20_000);
    expect(await submits(run.id)).toEqual([]);
    const path = payroll.path(`/attention/${breach!.id}`);
    const { askBank, certain } = (await payroll.as('operator').get(path)).data;
    expect(askBank).toBe(NOTHING_TO_ASK);
    expect(certain).toMatch(/^We have not submitted this instruction\./);
    await execute(superuserUrl, 'DROP TRIGGER require_another ON pay_run');
    const { rootHash, total } = run;
    const approveAs = (role: 'approver' | 'second') =>
      payroll.as(role).post(payroll.path(`/pay-runs/${run.id}/approvals`), { rootHash, total });
    expect((await approveAs('approver')).status).toBe(409);
    expect((await approveAs('second')).data).toMatchObject({ status: 'SUBMITTING' });
    expect((await approveAs('second')).data.code).toBe('NOT_AWAITING_APPROVAL');
    expect(
      (await payroll.decide(path, { action: 'RESUME', reason: 'another person approved it' })).status,
    ).toBe(200);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    expect(await submits(run.id)).toHaveLength(1);
    await execute(superuserUrl, 'UPDATE employer SET approvals_required = 1');
  });

  it('goes on where the approval that lacked was given before anybody was told that it lacks', async () => {
    const { superuserUrl } = payroll.database;
    await execute(
      superuserUrl,
      `CREATE TRIGGER require_another AFTER UPDATE ON pay_run
         FOR EACH ROW WHEN (NEW.status = 'SUBMITTING' AND OLD.status = 'VERIFIED') EXECUTE FUNCTION require_another()`,
    );
    const run = await payroll.uploaded(payFile(payRows(3, 75)), { submitAt: new Date().toISOString() });
    type Telling = Record<'unapproved', (...of: unknown[]) => Promise<unknown>>;
    const submitter: Telling = payroll.services[0]!.app.get(Submitter);
    const { unapproved } = submitter;
    const told = jest.spyOn(submitter, 'unapproved').mockImplementation(async (...of) => {
      const { rootHash, total } = run;
      await payroll.as('second').post(payroll.path(`/pay-runs/${run.id}/approvals`), { rootHash, total });
      return unapproved.apply(submitter, of);
    });
    await payroll.approve(run);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    expect(told).toHaveBeenCalledTimes(1);
    expect((await payroll.attention()).filter(({ payRunId }) => payRunId === run.id)).toEqual([]);
    told.mockRestore();
    await execute(
      superuserUrl,
      'DROP TRIGGER require_another ON pay_run; UPDATE employer SET approvals_required = 1',
    );
  });

  it('an amendment voids the approval, and what it takes out is not paid', async () => {
    const rows = payRows(4, 80);
    const run = await payroll.uploaded(payFile(rows), {
      ...payroll.later(),
    });
    await payroll.approve(run);
    const payments = (await payroll.as('finance').get(payroll.path(`/pay-runs/${run.id}/payments`))).data
      .items;
    const amended = await payroll.as('preparer').post(payroll.path(`/pay-runs/${run.id}/amendments`), {
      excludePaymentIds: [payments[1].id],
      reason: 'left the company',
    });
    expect(amended.status).toBeLessThan(300);
    const after = await payroll.run(run.id);
    expect(after).toMatchObject({ status: 'READY', runVersion: 2 });
    expect(after.rootHash).not.toBe(run.rootHash);
    expect((await payroll.approve(run)).data.code).toBe('APPROVAL_OF_ANOTHER_VERSION');
    await dueAt(payroll.database.superuserUrl, 'now()', readId('run', run.id));
    expect(
      (await payroll.approve({ id: run.id, rootHash: after.rootHash, total: after.total })).status,
    ).toBeLessThan(300);
    await payroll.until(run.id, ['SETTLED']);
    const payees = (await payroll.ledger()).payees.map((payee) => payee.iban);
    expect(rows.map((row) => payees.includes(row.iban))).toEqual([true, false, true, true]);
  });
});
