import { showId } from '../../src/http/prefixed-id';
import { assertTicked } from '../../src/pay-run/iban-ticks';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { germanIban } from '../support/pay-rows';
import { Company, pathOf, PayOffice, Row } from './pay-office';
import { RunAtBank } from './run-at-bank';

const pay = (n: number, iban = germanIban(n)): Row => ({
  employeeId: `E-${n}`,
  name: `Employee ${n}`,
  iban,
  amountMinor: 10_000n,
});

describe('new IBANs', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office?.close());
  beforeEach(async () => {
    company = await office.company({ tickIbans: true });
  });

  const hashOf = (run: Pick<PayRun, 'rootHash'>) => run.rootHash?.toString('hex') ?? '';
  const seen = (run: PayRun) => ({ rootHash: hashOf(run), total: `${run.totalMinor / 100n}.00` });
  const all = { all: true, reason: 'compared with the contracts' };

  const approve = (run: PayRun, body = seen(run)) =>
    office.as(company, 'approver').post(pathOf(run, '/approvals'), body);
  const tick = (run: PayRun, ticks: object, who: Parameters<PayOffice['as']>[1] = 'approver') =>
    office.as(company, who).post(pathOf(run, '/iban-ticks'), { rootHash: hashOf(run), ...ticks });
  const idsOf = async (run: PayRun): Promise<string[]> => {
    const rows = await office.query<{ id: string }>(
      company,
      'SELECT id FROM payment WHERE pay_run_id = $1 ORDER BY row_no',
      [run.id],
    );
    return rows.map(({ id }) => showId('pay', id));
  };

  /** October paid E-1 to E-3; November pays E-1, E-2 to another account, and E-4. */
  const november = async (): Promise<{ run: PayRun; ids: string[] }> => {
    const october = await office.run(company, [pay(1), pay(2), pay(3)], {
      period: '2026-10',
      kindOfPay: 'SALARY',
    });
    await tick(october, all).expect(200);
    await RunAtBank.ended(office, company, october);
    const run = await office.run(company, [pay(1), pay(2, germanIban(22)), pay(4)], { kindOfPay: 'SALARY' });
    return { run, ids: await idsOf(run) };
  };

  it('are ticked one by one before the run is approved, and how many are missing is told', async () => {
    const { run, ids } = await november();
    const refused = await approve(run);
    expect([refused.status, refused.body.code, refused.body.context]).toEqual([
      409,
      'IBANS_NOT_TICKED',
      { missing: 2, toTick: 2 },
    ]);
    const first = await tick(run, { paymentIds: [ids[1]] }).expect(200);
    expect(first.body.comparison.ibans).toMatchObject({ required: true, toTick: 2, ticked: 1 });
    expect((await approve(run)).body.context).toEqual({ missing: 1, toTick: 2 });
    await tick(run, { paymentIds: [ids[1], ids[2]] }).expect(200);
    const { body } = await office
      .as(company, 'finance')
      .get(pathOf(run, '/differences?kind=IBAN_CHANGED'))
      .expect(200);
    expect(body.items).toMatchObject([
      { ticked: { person: { id: showId('per', company.approver.personId), name: 'A approver' } } },
    ]);
    expect((await approve(run).expect(200)).body.status).toBe('APPROVED');
  });

  it.each([
    ['lost the role', `DELETE FROM person_role WHERE person_id = $1`],
    ['was disabled', `UPDATE person SET disabled_at = now() WHERE id = $1`],
  ])('are ticked by another person where who ticked them %s since', async (_how, leaves) => {
    const second = await office.person(company.employerId, 'A second approver', ['approver']);
    const { run, ids } = await november();
    const paymentIds = ids.slice(1);
    await tick(run, { paymentIds }, second).expect(200);
    await office.tamper(leaves, [second.personId]);
    expect((await approve(run)).body.context).toEqual({ missing: 2, toTick: 2 });
    const joined = pathOf(run, '/differences?kind=JOINED');
    const asked = async () => (await office.as(company, 'finance').get(joined).expect(200)).body.items;
    expect(await asked()).toMatchObject([{ ticked: null }]);
    const ticked = await tick(run, { paymentIds }).expect(200);
    expect(ticked.body.comparison.ibans).toMatchObject({ toTick: 2, ticked: 2 });
    expect(await asked()).toMatchObject([{ ticked: { person: { name: 'A approver' } } }]);
    await approve(run).expect(200);
  });

  it('are decided on by another person where who decided on all of them may approve no more', async () => {
    const second = await office.person(company.employerId, 'A second approver', ['approver']);
    const { run } = await november();
    await tick(run, all, second).expect(200);
    await office.tamper(`DELETE FROM person_role WHERE person_id = $1`, [second.personId]);
    expect((await approve(run)).body.context).toEqual({ missing: 2, toTick: 2 });
    const { body } = await tick(run, all).expect(200);
    expect(body.comparison.ibans.decision).toMatchObject({ person: { name: 'A approver' } });
    await approve(run).expect(200);
  });

  it('are ticked once though two people do', async () => {
    const second = await office.person(company.employerId, 'A second approver', ['approver']);
    const { run, ids } = await november();
    await tick(run, { paymentIds: [ids[1]] }, second).expect(200);
    const { body } = await tick(run, { paymentIds: [ids[1]] }).expect(200);
    expect(body.comparison.ibans).toMatchObject({ toTick: 2, ticked: 1 });
    const changed = pathOf(run, '/differences?kind=IBAN_CHANGED');
    expect((await office.as(company, 'finance').get(changed).expect(200)).body.items).toMatchObject([
      { ticked: { person: { name: 'A second approver' } } },
    ]);
    expect((await approve(run)).body.context).toEqual({ missing: 1, toTick: 2 });
  });

  it('are all ticked at once for a reason, which the run shows and the audit keeps', async () => {
    const { run } = await november();
    await tick(run, { all: true }).expect(422);
    await tick(run, { reason: 'no payments named' }).expect(422);
    await tick(run, {}).expect(422);
    const { body } = await tick(run, all).expect(200);
    expect(body.comparison.ibans).toMatchObject({
      toTick: 2,
      ticked: 0,
      decision: { person: { name: 'A approver' }, reason: all.reason },
    });
    await approve(run).expect(200);
    const entries = await office.query(
      company,
      `SELECT detail->>'reason' AS reason, detail->>'runVersion' AS version FROM audit_entry
       WHERE action = 'pay-run.ibans-ticked' AND subject = $1`,
      [showId('run', run.id)],
    );
    expect(entries).toEqual([{ reason: all.reason, version: '1' }]);
  });

  it('are all of a first run: one decision, no tick by tick', async () => {
    const run = await office.run(company, [pay(1), pay(2)]);
    expect((await approve(run)).body.context).toEqual({ missing: 2, toTick: 2 });
    const answer = await tick(run, { paymentIds: await idsOf(run) });
    expect([answer.status, answer.body.code]).toEqual([409, 'EVERY_IBAN_IS_NEW']);
    await tick(run, all).expect(200);
    await approve(run).expect(200);
  });

  it('are none where the employer does not ask, or nothing changed', async () => {
    const lax = await office.company();
    const run = await office.run(lax, [pay(1)]);
    await office.as(lax, 'approver').post(pathOf(run, '/approvals'), seen(run)).expect(200);
    const october = await office.run(company, [pay(1)], { period: '2026-10', kindOfPay: 'SALARY' });
    await tick(october, all).expect(200);
    await RunAtBank.ended(office, company, october);
    await approve(await office.run(company, [pay(1)], { kindOfPay: 'SALARY' })).expect(200);
  });

  it('are asked about again in the next version, also those that did not change', async () => {
    const { run, ids } = await november();
    await tick(run, { paymentIds: ids.slice(1) }).expect(200);
    const { body } = await office
      .as(company, 'preparer')
      .post(pathOf(run, '/amendments'), { executionDate: '2026-11-30', reason: 'a day later' })
      .expect(200);
    const old = await tick(run, all);
    expect([old.status, old.body.code]).toEqual([409, 'TICKS_OF_ANOTHER_VERSION']);
    const next = { rootHash: body.rootHash, total: body.total };
    expect((await approve(run, next)).body.context).toEqual({ missing: 2, toTick: 2 });
    const ticks = { rootHash: body.rootHash, paymentIds: ids.slice(1) };
    await tick(run, ticks).expect(200);
    await approve(run, next).expect(200);
    const again = await tick(run, ticks);
    expect([again.status, again.body.code]).toEqual([409, 'NOT_AWAITING_APPROVAL']);
  });

  it('are not ticked by who prepared the run, nor by somebody without the role', async () => {
    const both = await office.person(company.employerId, 'Both', ['preparer', 'approver']);
    const { run, ids } = await november();
    const own = await office.run(company, [pay(8)], { createdBy: both.personId });
    const answer = await tick(own, all, both);
    expect([answer.status, answer.body.code]).toEqual([409, 'TICKER_IS_PREPARER']);
    const approval = await office.as(company, both).post(pathOf(own, '/approvals'), seen(own));
    expect(approval.body.code).toBe('APPROVER_IS_PREPARER');
    for (const role of ['preparer', 'finance', 'operator'] as const) {
      await tick(run, { paymentIds: [ids[1]] }, role).expect(403);
    }
  });

  it('that came about since are asked about before the run is submitted, and not in its midst', async () => {
    const { run } = await november();
    await tick(run, all).expect(200);
    await office.tamper(
      `UPDATE payment SET returned_at = now() WHERE employer_id = $1 AND employee_id = 'E-1' AND pay_run_id <> $2`,
      [company.employerId, run.id],
    );
    const approving = (status: PayRun['status']) =>
      office.in(company, (tx) => assertTicked(tx, { ...run, status }, company.approver.personId));
    await expect(approving('READY')).rejects.toMatchObject({ code: 'COMPARISON_OUTDATED' });
    await expect(approving('SUBMITTING')).resolves.toBeUndefined();
  });

  it('are not those of whom only the amount changed', async () => {
    const october = await office.run(company, [pay(1), pay(2)], { period: '2026-10', kindOfPay: 'SALARY' });
    await tick(october, all).expect(200);
    await RunAtBank.ended(office, company, october);
    const run = await office.run(company, [{ ...pay(1), amountMinor: 90_000n }, pay(2, germanIban(22))], {
      kindOfPay: 'SALARY',
    });
    const [raised = ''] = await idsOf(run);
    const { body } = await office.as(company, 'finance').get(pathOf(run, '/differences?kind=NET_CHANGED'));
    expect(body.items).toHaveLength(1);
    const answer = await tick(run, { paymentIds: [raised] });
    expect([answer.status, answer.body.code]).toEqual([422, 'PAYMENT_NOT_TO_TICK']);
    expect((await approve(run)).body.context).toEqual({ missing: 1, toTick: 1 });
  });

  it('are not those that an earlier version alone asked about', async () => {
    const { run, ids } = await november();
    const [october] = await office.query<{ id: string }>(
      company,
      `SELECT id FROM pay_run WHERE period = '2026-10'`,
    );
    const late = await office.run(company, [pay(4)], {
      period: '2026-10',
      kindOfPay: 'SALARY',
      sequence: 1,
      parentRunId: october!.id,
    });
    await tick(late, all).expect(200);
    await RunAtBank.ended(office, company, late);
    const { body } = await office
      .as(company, 'preparer')
      .post(pathOf(run, '/amendments'), { executionDate: '2026-11-30', reason: 'compared anew' })
      .expect(200);
    const answer = await tick(run, { rootHash: body.rootHash, paymentIds: [ids[2]] });
    expect([answer.status, answer.body.code]).toEqual([422, 'PAYMENT_NOT_TO_TICK']);
    await tick(run, { rootHash: body.rootHash, paymentIds: [ids[1]] }).expect(200);
  });

  it('are those of the run and nobody else’s', async () => {
    const { run, ids } = await november();
    const unchanged = await tick(run, { paymentIds: [ids[0]] });
    expect([unchanged.status, unchanged.body.code]).toEqual([422, 'PAYMENT_NOT_TO_TICK']);
    const another = await office.run(company, [pay(9)], { kindOfPay: 'SALARY' });
    const [foreign] = await idsOf(another);
    expect((await tick(run, { paymentIds: [ids[1], foreign] })).body.code).toBe('PAYMENT_NOT_TO_TICK');
    const stranger = await office.company({ tickIbans: true });
    const asked = office.as(stranger, 'approver').post(pathOf(run, '/iban-ticks'), {
      rootHash: hashOf(run),
      ...all,
    });
    await asked.expect(404);
    expect((await approve(run)).body.context).toEqual({ missing: 2, toTick: 2 });
  });

  describe('of a run that was made before other pay settled', () => {
    const terms = (period: string) => ({ period, kindOfPay: 'SALARY' });
    const both = [pay(1), pay(2)];

    /** December's run, made when October had paid the same people to the same accounts. */
    const early = async (): Promise<PayRun> => {
      const october = await office.run(company, both, terms('2026-10'));
      await tick(october, all).expect(200);
      await RunAtBank.ended(office, company, october);
      return office.run(company, both, { ...terms('2026-12'), executionDate: '2026-12-23' });
    };
    /** November's run, whose new IBANs were ticked. */
    const next = async (rows: Row[]): Promise<PayRun> => {
      const run = await office.run(company, rows, terms('2026-11'));
      await tick(run, all).expect(200);
      return run;
    };
    const refusalOf = async (run: PayRun, body = seen(run)) => (await approve(run, body)).body.code;

    it.each([
      ['of whom that pay paid to another account', [pay(1), pay(2, germanIban(22))]],
      ['of whom it did not pay', [pay(1)]],
    ])('are asked about %s once the run is compared anew', async (_who, rows) => {
      const december = await early();
      await RunAtBank.ended(office, company, await next(rows));
      expect(await refusalOf(december)).toBe('COMPARISON_OUTDATED');
      const { body } = await office
        .as(company, 'preparer')
        .post(pathOf(december, '/amendments'), {
          executionDate: december.executionDate,
          reason: 'to be compared',
        })
        .expect(200);
      expect(body.comparison).toMatchObject({ before: { period: '2026-11' }, ibans: { toTick: 1 } });
      const amended = { rootHash: body.rootHash, total: body.total };
      expect(await refusalOf(december, amended)).toBe('IBANS_NOT_TICKED');
      const ticks = office.as(company, 'approver').post(pathOf(december, '/iban-ticks'), {
        rootHash: body.rootHash,
        ...all,
      });
      await ticks.expect(200);
      await approve(december, amended).expect(200);
    });

    it('are asked about though all of them were decided on', async () => {
      const december = await early();
      await tick(december, all).expect(200);
      await RunAtBank.ended(office, company, await next([pay(1), pay(2, germanIban(22))]));
      expect(await refusalOf(december)).toBe('COMPARISON_OUTDATED');
    });

    it('are none where it paid the same accounts, also while some of it is on its way', async () => {
      const december = await early();
      await RunAtBank.followed(office, company, await next(both), ['SETTLED', 'EXCHANGED']);
      await approve(december).expect(200);
    });

    it('are asked about once a payment to one of them has come back', async () => {
      const december = await early();
      const paid = 'SELECT id FROM payment WHERE pay_run_id <> $1 AND employee_id = $2';
      const came = `UPDATE payment SET returned_at = now() WHERE id = (${paid})`;
      await office.query(company, came, [december.id, 'E-2']);
      expect(await refusalOf(december)).toBe('COMPARISON_OUTDATED');
    });

    it('are none where the employer does not ask', async () => {
      const december = await early();
      await RunAtBank.ended(office, company, await next([pay(1), pay(2, germanIban(22))]));
      await office.query(company, 'UPDATE employer SET tick_ibans = false');
      await approve(december).expect(200);
    });
  });
});
