import { encodeCursor } from '../../src/http/cursor';
import { showId } from '../../src/http/prefixed-id';
import { BankRate } from '../../src/database/bank-rate';
import { newId } from '../../src/database/new-id';
import { apiDocument } from '../../src/http/openapi';
import { raise } from '../../src/pay-run/attention.store';
import { grantRelease } from '../../src/pay-run/pay-release';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { Company, IBAN, pathOf, PayOffice, rows } from './pay-office';
import { Fate, RunAtBank } from './run-at-bank';

describe('reading pay runs', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
    company = await office.company({ rowsPerInstruction: 2 });
  });
  afterAll(() => office?.close());

  const followed = async (fates: readonly Fate[]): Promise<PayRun> => {
    const run = await office.run(company, rows(...fates.map((_, index) => 1000 + index)));
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    const parts = Math.ceil(fates.length / 2);
    for (let ordinal = 1; ordinal <= parts; ordinal += 1) await atBank.build(ordinal);
    await atBank.move('VERIFIED', 'SUBMITTING');
    for (let ordinal = 1; ordinal <= parts; ordinal += 1) {
      await atBank.instruction(ordinal, 'SUBMIT_INTENT', 'SUBMITTED');
    }
    await atBank.move('FOLLOWING');
    await atBank.fates(new Map(fates.map((fate, index) => [index + 1, fate])));
    return run;
  };

  it('shows what there is to approve: version, total as a decimal string, and the root hash', async () => {
    const run = await office.run(company, rows(123_450, 5));
    const { body, headers } = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    expect(body).toMatchObject({
      id: showId('run', run.id),
      status: 'READY',
      runVersion: 1,
      payments: 2,
      total: '1234.55',
      currency: 'EUR',
      rootHash: run.rootHash?.toString('hex'),
      preparedBy: showId('per', company.preparer.personId),
      paymentsByStatus: { READY: { payments: 2, amount: '1234.55' } },
      instructions: [{ ordinal: 1, status: 'PLANNED', id: null, attempt: 0, payments: 2, total: '1234.55' }],
      amendment: null,
      stopped: null,
      openAttentions: 0,
    });
    expect(headers['etag']).toMatch(/^"\d+"$/);
  });

  it('says before anything is submitted how long it takes to send, when that ends, and how far it is', async () => {
    const run = await office.run(company, rows(1, 2, 3));
    const read = async () => (await office.as(company, 'finance').get(pathOf(run)).expect(200)).body;
    const ready = await read();
    expect(ready).toMatchObject({
      estimate: {
        requests: expect.any(Number),
        seconds: expect.any(Number),
        cutOff: '2026-11-27T15:00:00.000Z',
      },
      progress: null,
    });
    expect(ready.estimate.requests).toBeGreaterThan(3 + 2 * 2);
    const left = Date.parse(ready.estimate.finishesBy) - office.clock.now().getTime();
    expect(Math.abs(left / 1_000 - ready.estimate.seconds)).toBeLessThan(10);
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    await atBank.build(1);
    const building = await read();
    expect(building).toMatchObject({ status: 'BUILDING', progress: { paymentsAtBank: 2, payments: 3 } });
    expect(building.estimate.requests).toBeLessThanOrEqual(ready.estimate.requests - 2);
    await atBank.build(2);
    await atBank.move('VERIFIED', 'SUBMITTING');
    expect(await read()).toMatchObject({ status: 'SUBMITTING', estimate: null, progress: null });
  });

  it('estimates by the limit the bank named, and from the time of the run on', async () => {
    const submitAt = new Date('2026-11-20T09:00:00Z');
    const run = await office.run(company, rows(1, 2), { submitAt });
    const estimate = async () =>
      (await office.as(company, 'finance').get(pathOf(run)).expect(200)).body.estimate;
    const { requests, seconds } = await estimate();
    await office.app.get(BankRate).learn(1);
    const slow = await estimate();
    await office.tamper('UPDATE bank_rate SET learned_per_minute = NULL, learned_at = NULL');
    expect(slow.requests).toBe(requests);
    expect(slow.seconds).toBeGreaterThan(seconds);
    expect(slow.seconds).toBeGreaterThanOrEqual(60 * requests);
    expect(Date.parse(slow.finishesBy)).toBe(submitAt.getTime() + slow.seconds * 1_000);
  });

  it('keeps every sum, and the hash over the rows, from an operator', async () => {
    const read = async (run: PayRun, role: 'operator' | 'finance', path = '') =>
      (await office.as(company, role).get(pathOf(run, path)).expect(200)).body;
    const one = await office.run(company, rows(123_450));
    expect(await read(one, 'finance')).toMatchObject({ total: '1234.50' });
    expect(await read(one, 'operator')).toMatchObject({
      payments: 1,
      total: null,
      rootHash: null,
      paymentsByStatus: { READY: { payments: 1, amount: null } },
      instructions: [{ payments: 1, total: null }],
    });
    const stop = { reason: 'a look first' };
    const stopped = await office.as(company, 'operator').post(pathOf(one, '/stop'), stop).expect(200);
    expect(stopped.body.total).toBeNull();

    const four = await followed(['SETTLED', 'SETTLED', 'SETTLED', 'PRO_ROUTING_FAILED']);
    expect(await read(four, 'finance')).toMatchObject({
      paymentsByStatus: { SETTLED: { amount: '30.03' }, FAILED: { amount: '10.03' } },
    });
    expect(await read(four, 'operator')).toMatchObject({
      total: null,
      paymentsByStatus: { SETTLED: { payments: 3, amount: null }, FAILED: { payments: 1, amount: null } },
      instructions: [{ total: null }, { total: null }],
    });
    const listed = (await office.as(company, 'operator').get('/pay-runs').expect(200)).body.items;
    expect(listed.slice(0, 2).map(({ total }: { total: string | null }) => total)).toEqual([null, null]);
    const { items } = await read(four, 'operator', '/history');
    expect(items.length).toBeGreaterThan(3);
    expect(new Set(items.map(({ amount }: { amount: string | null }) => amount))).toEqual(new Set([null]));
    const whole = (await read(four, 'finance', '/history')).items;
    expect(whole.every(({ amount }: { amount: string | null }) => amount !== null)).toBe(true);
  });

  it('shows where money is: payments and instructions by status, the bank ids, what came back', async () => {
    const run = await followed(['SETTLED', 'RETURNED', 'PRO_ROUTING_FAILED']);
    await office.in(company, (tx) =>
      raise(tx, { kind: 'ROW_UNSEEN', subjectId: run.id, payRunId: run.id, happened: 'a row was not seen' }),
    );
    const { body } = await office.as(company, 'finance').get(pathOf(run)).expect(200);
    expect(body).toMatchObject({
      status: 'FOLLOWING',
      paymentsByStatus: {
        SETTLED: { payments: 2, amount: '20.01' },
        FAILED: { payments: 1, amount: '10.02' },
      },
      returned: { payments: 1, amount: '10.01' },
      instructionsByStatus: { SUBMITTED: 2 },
      openAttentions: 1,
    });
    expect(body.instructions).toHaveLength(2);
    expect(body.instructions[1]).toMatchObject({
      ordinal: 2,
      attempt: 1,
      bankInstructionId: expect.any(String),
    });
  });

  it('shows the latest attempt of an instruction that was built again', async () => {
    const run = await office.run(company, rows(1, 2));
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    await atBank.build(1, 1);
    await atBank.rebuild(1);
    const { body } = await office.as(company, 'finance').get(pathOf(run)).expect(200);
    expect(body.instructions).toEqual([expect.objectContaining({ attempt: 2, status: 'PLANNED' })]);
    expect(body.instructionsByStatus).toEqual({ PLANNED: 1 });
  });

  it('lists runs newest first, page by page, each exactly once', async () => {
    const own = await office.company();
    const runs: string[] = [];
    for (let n = 0; n < 5; n += 1) runs.unshift(showId('run', (await office.run(own, rows(1))).id));
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page += 1) {
      const { body } = await office.as(own, 'finance').get(`/pay-runs?limit=2${cursor}`).expect(200);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(seen).toEqual(runs);
    expect(cursor).toBe('&cursor=null');
  });

  it('narrows the list by status and period', async () => {
    const own = await office.company();
    const [october, november] = [
      await office.run(own, rows(1), { period: '2026-10' }),
      await office.run(own, rows(1)),
    ];
    await RunAtBank.approved(office, own, november);
    const ids = async (query: string) =>
      (await office.as(own, 'finance').get(`/pay-runs?${query}`).expect(200)).body.items.map(
        ({ id }: { id: string }) => id,
      );
    expect(await ids('period=2026-10')).toEqual([showId('run', october.id)]);
    expect(await ids('status=APPROVED')).toEqual([showId('run', november.id)]);
    expect(await ids('status=APPROVED&period=2026-10')).toEqual([]);
    await office.as(own, 'finance').get('/pay-runs?status=PAID').expect(422);
    const forged = await office.as(own, 'finance').get('/pay-runs?cursor=bm9uc2Vuc2U').expect(422);
    expect(forged.body.code).toBe('CURSOR_INVALID');
  });

  it.each([
    ['/payments', { row: 2 ** 31 }],
    ['/differences?kind=JOINED', { n: 2 ** 31 }],
    ['/holds', { row: 2 ** 31, code: 'PAYMENT_ABOVE_LIMIT' }],
    ['/holds', { row: 1, code: 'A\u0000' }],
  ])('takes no cursor of %s that holds what no row can: %j', async (list, position) => {
    const run = await office.run(company, rows(1));
    const path = pathOf(run, `${list}${list.includes('?') ? '&' : '?'}cursor=${encodeCursor(position)}`);
    const { body } = await office.as(company, 'finance').get(path).expect(422);
    expect(body.code).toBe('CURSOR_INVALID');
  });

  it('shows payments to those who may know salaries, with the IBAN masked', async () => {
    const run = await followed(['SETTLED', 'EXT_REFUSED']);
    for (const role of ['preparer', 'approver', 'finance'] as const) {
      const { body, text } = await office.as(company, role).get(pathOf(run, '/payments')).expect(200);
      expect(body.items[0]).toMatchObject({
        row: 1,
        line: 2,
        employeeId: 'E-1',
        name: 'Ada Number 1',
        iban: 'DE…5512',
        amount: '10.00',
        status: 'SETTLED',
        settledOn: '2026-11-27',
        bankStatus: 'SETTLED',
        bankPaymentId: expect.any(String),
      });
      expect(text).not.toContain(IBAN);
    }
  });

  it('names the file that a run was uploaded as, and none of a successor', async () => {
    const run = await RunAtBank.ended(office, company, await office.run(company, rows(100)), ['EXT_REFUSED']);
    const ended = await office.query<{ id: string }>(
      company,
      'SELECT id FROM payment WHERE pay_run_id = $1',
      [run.id],
    );
    const successor = await office.successor(
      company,
      run,
      ended.map(({ id }) => id),
    );
    const [file] = await office.query<{ id: string }>(
      company,
      'SELECT id FROM pay_file WHERE pay_run_id = $1',
      [run.id],
    );
    const fileOf = async (of: PayRun) =>
      (await office.as(company, 'approver').get(pathOf(of)).expect(200)).body.fileId;
    expect([await fileOf(run), await fileOf(successor)]).toEqual([showId('file', file!.id), null]);
  });

  it('counts the payments of employees who were paid in the period already', async () => {
    const terms = { kindOfPay: 'OVERTIME' };
    await office.run(company, rows(100, 200), terms);
    await office.query(
      company,
      `INSERT INTO pay_release (employer_id, id, period, kind_of_pay, employee_id, sequence, reason, released_by)
       VALUES ($1, $2, '2026-11', 'OVERTIME', 'E-1', 1, 'a second shift', $3)`,
      [company.employerId, newId(), company.approver.personId],
    );
    const further = { amountMinor: 300n, employeeId: 'E-1', releaseSequence: 1 };
    const run = await office.run(company, [further, { amountMinor: 400n, employeeId: 'E-3' }], terms);
    const { body } = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    expect(body.furtherPayments).toBe(1);
  });

  it('says before the approval which payments are further pay, who allowed each and why', async () => {
    const terms = { kindOfPay: 'NIGHTS' };
    const paid = await office.run(company, rows(100, 200), terms);
    await RunAtBank.ended(office, company, paid, ['SETTLED', 'RETURNED']);
    const { personId } = company.approver;
    for (const [employeeId, reason] of [
      ['E-1', 'a second shift'],
      ['E-2', 'a new account'],
    ] as const)
      await office.in(company, (tx) =>
        grantRelease(tx, personId, { employeeId, period: '2026-11', kindOfPay: 'NIGHTS', reason }),
      );
    const [back] = await office.query<{ id: string }>(
      company,
      'SELECT id FROM payment WHERE pay_run_id = $1 AND row_no = 2',
      [paid.id],
    );
    const again = { amountMinor: 200n, employeeId: 'E-2', releaseSequence: 1, replacesPaymentId: back!.id };
    const run = await office.run(
      company,
      [
        { amountMinor: 400n, employeeId: 'E-3' },
        { amountMinor: 300n, employeeId: 'E-1', releaseSequence: 1 },
        { ...again, replacesReason: 'a new account' },
      ],
      { ...terms, sequence: 1, parentRunId: paid.id },
    );
    const get = async (path: string) =>
      (await office.as(company, 'approver').get(pathOf(run, path)).expect(200)).body;
    const allowed = (reason: string) => ({
      sequence: 1,
      reason,
      releasedBy: { id: showId('per', personId), name: 'A approver' },
      releasedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    const { items } = await get('/payments');
    const releases = items.map(({ row, release }: { row: number; release: unknown }) => [row, release]);
    expect(releases).toEqual([
      [1, null],
      [2, allowed('a second shift')],
      [3, allowed('a new account')],
    ]);
    const further = (await get('/payments?further=true')).items;
    expect(further.map(({ row }: { row: number }) => row)).toEqual([2]);
    expect((await get('')).furtherPayments).toBe(further.length);
    await office.as(company, 'approver').get(pathOf(run, '/payments?further=no')).expect(422);
  });

  it('shows and lists the payments whose names are sent in other letters than they were written in', async () => {
    const run = await office.run(company, [
      { amountMinor: 100n, name: 'Zoe Muller', writtenName: 'Zoë Müller' },
      { amountMinor: 100n },
      { amountMinor: 100n, name: 'Bjorn', writtenName: 'Bjørn' },
    ]);
    const { body } = await office.as(company, 'approver').get(pathOf(run)).expect(200);
    expect(body.namesChanged).toBe(2);
    const names = async (query: string) =>
      (
        await office
          .as(company, 'approver')
          .get(pathOf(run, `/payments${query}`))
          .expect(200)
      ).body.items.map(({ name, writtenName }: { name: string; writtenName: string | null }) => [
        name,
        writtenName,
      ]);
    const changed = [
      ['Zoe Muller', 'Zoë Müller'],
      ['Bjorn', 'Bjørn'],
    ];
    expect(await names('?nameChanged=true')).toEqual(changed);
    expect(await names('')).toEqual([changed[0], ['Ada Number 2', null], changed[1]]);
    await office.as(company, 'approver').get(pathOf(run, '/payments?nameChanged=no')).expect(422);
  });

  it('refuses a filter that is mistyped, which would show everything', async () => {
    const run = await followed(['SETTLED']);
    const asked = office.as(company, 'finance').get(pathOf(run, '/payments?stauts=FAILED'));
    expect((await asked.expect(422)).body.errors).toEqual([
      { pointer: '#/stauts', code: 'unrecognized_keys', detail: 'This field is not known.' },
    ]);
    for (const path of [
      '/reconciliation?period=2026-11&fromat=csv',
      pathOf(run, '/reconciliation?fromat=csv'),
      pathOf(run, '/reconciliation/rows?fromat=csv'),
    ])
      await office.as(company, 'finance').get(path).expect(422);
  });

  it('shows no payment to an operator, also not in the history', async () => {
    const run = await followed(['SETTLED', 'EXT_REFUSED']);
    await office.as(company, 'operator').get(pathOf(run, '/payments')).expect(403);
    const subjects = async (role: 'operator' | 'finance') => {
      const { body } = await office.as(company, role).get(pathOf(run, '/history?limit=500')).expect(200);
      return new Set(body.items.map(({ subject }: { subject: string }) => subject));
    };
    expect(await subjects('operator')).not.toContain('payment');
    expect(await subjects('finance')).toContain('payment');
  });

  it('pages payments in row order and narrows them by status', async () => {
    const run = await followed(['SETTLED', 'PRO_ROUTING_FAILED', 'SETTLED', 'SETTLED', 'PRO_ROUTING_FAILED']);
    const page = async (query: string) =>
      (
        await office
          .as(company, 'finance')
          .get(pathOf(run, `/payments?${query}`))
          .expect(200)
      ).body;
    const first = await page('limit=2&status=SETTLED');
    const second = await page(`limit=2&status=SETTLED&cursor=${first.nextCursor}`);
    const rowsOf = (body: { items: { row: number }[] }) => body.items.map(({ row }) => row);
    expect([rowsOf(first), rowsOf(second), second.nextCursor]).toEqual([[1, 3], [4], null]);
  });

  it('shows each payment once where two of them were made instead of one', async () => {
    const old = await office.run(company, rows(7));
    const run = await office.run(company, rows(1, 2));
    await office.tamper(
      `UPDATE payment SET replaces_payment_id = (SELECT id FROM payment WHERE pay_run_id = $2) WHERE pay_run_id = $1 AND row_no = 1`,
      [run.id, old.id],
    );
    await office.tamper(
      `UPDATE payment SET replaces_payment_id = (SELECT id FROM payment WHERE pay_run_id = $2), status = 'EXCLUDED',
         live = false, excluded_reason = 'it came twice' WHERE pay_run_id = $1 AND row_no = 2`,
      [run.id, old.id],
    );
    const { body } = await office
      .as(company, 'finance')
      .get(`${pathOf(run)}/payments`)
      .expect(200);
    const shown = body.items.map((one: { row: number; replaces: { payRunId: string } }) => [
      one.row,
      one.replaces.payRunId,
    ]);
    const parent = showId('run', old.id);
    expect(shown).toEqual([
      [1, parent],
      [2, parent],
    ]);
  });

  it('tells the history from the first change on, with who did it', async () => {
    const run = await office.run(company, rows(100, 200));
    await RunAtBank.approved(office, company, run);
    const first = await office.as(company, 'finance').get(pathOf(run, '/history?limit=1')).expect(200);
    const rest = await office
      .as(company, 'finance')
      .get(pathOf(run, `/history?cursor=${first.body.nextCursor}`))
      .expect(200);
    const changes = [...first.body.items, ...rest.body.items];
    expect(
      changes.map(({ subject, from, to, payments, amount }) => [subject, from, to, payments, amount]),
    ).toEqual([
      ['pay_run', 'DRAFT', 'READY', 2, '3.00'],
      ['payments_of_run', 'READY', 'APPROVED', 2, '3.00'],
      ['pay_run', 'READY', 'APPROVED', 2, '3.00'],
    ]);
    expect(changes[2].actor).toBe(showId('per', company.approver.personId));
  });

  it('knows no run of another employer, and none that does not exist', async () => {
    const run = await office.run(await office.company(), rows(1));
    for (const path of ['', '/payments', '/history']) {
      const { body } = await office.as(company, 'finance').get(pathOf(run, path)).expect(404);
      expect(body.code).toBe('PAY_RUN_NOT_FOUND');
    }
    await office.as(company, 'finance').get('/pay-runs/run_42').expect(404);
  });

  it('describes every route with its answer and its roles', () => {
    const { paths, components } = apiDocument(office.app);
    const run = '/v1/employers/{employerId}/pay-runs/{runId}';
    expect(
      Object.keys(paths)
        .filter((path) => path.startsWith(run))
        .sort(),
    ).toEqual(
      [
        '',
        '/amendments',
        '/approvals',
        '/cancellation',
        '/differences',
        '/differences.csv',
        '/history',
        '/holds',
        '/holds/release',
        '/iban-ticks',
        '/payments',
        '/reconciliation',
      ]
        .concat(['/reconciliation/rows', '/resume', '/stop'].map((path) => path))
        .map((path) => run + path),
    );
    expect(paths[`${run}/approvals`]?.post).toMatchObject({
      'x-roles': ['approver'],
      requestBody: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ApprovalRequest' } } },
      },
    });
    expect(paths[`${run}/approvals`]?.post?.parameters).toHaveLength(3);
    expect(components?.schemas?.['ApprovalRequest']).toMatchObject({
      required: ['rootHash', 'total'],
      properties: { total: { type: 'string' } },
    });
    expect(components?.schemas).toHaveProperty('RunBody');
    expect(components?.schemas).toHaveProperty('RunReportBody');
  });
});
