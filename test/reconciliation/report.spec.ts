import { parse } from 'csv-parse/sync';
import { showId } from '../../src/http/prefixed-id';
import { amend } from '../../src/pay-run/amendment';
import { Alarm, clear, raise } from '../../src/pay-run/attention.store';
import { cancelRun } from '../../src/pay-run/cancellation';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { lockRun } from '../../src/pay-run/pay-run.store';
import { Company, pathOf, PayOffice, Row, rows } from '../pay-run/pay-office';
import { Fate, RunAtBank } from '../pay-run/run-at-bank';
import { Mix, mixedRun } from './mixed-run';

/** Two people let it go on that something moved besides the rows of a run. */
const acknowledged = (
  office: PayOffice,
  company: Company,
  run: PayRun,
  told: Pick<
    Alarm,
    'kind' | 'payments' | 'amountMinor' | 'bankWords' | 'records' | 'instructionId' | 'lackingMinor'
  >,
): Promise<void> =>
  office.in(company, async (tx) => {
    const { kind } = told;
    await raise(tx, { ...told, subjectId: run.id, payRunId: run.id, happened: `${told.payments} records` });
    await tx.query(
      `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
       SELECT employer_id, gen_random_uuid(), id, 'ACKNOWLEDGE', 'the bank knows', $3, $4, clock_timestamp()
       FROM attention WHERE employer_id = $1 AND pay_run_id = $2 AND resolved_at IS NULL`,
      [tx.employerId, run.id, company.operator.personId, company.approver.personId],
    );
    await clear(tx, [kind], run.id, 'two people said so');
  });

const mixOf = (fates: readonly Fate[], change: Partial<Mix> = {}): Mix => ({
  rows: fates.map((fate, index) => ({ cents: 10_000 + index, held: false, fate })),
  stage: 'FOLLOWING',
  submits: [],
  rebuilt: false,
  excluded: false,
  ...change,
});

describe('the report of a run', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
    company = await office.company({ rowsPerInstruction: 2 });
  });
  afterAll(() => office?.close());

  const report = (run: PayRun, query = '') =>
    office.as(company, 'finance').get(pathOf(run, `/reconciliation${query}`));

  async function firstInstruction(run: PayRun): Promise<string> {
    const [first] = await office.query<{ id: string }>(
      company,
      `SELECT i.id FROM instruction i JOIN planned_instruction p ON p.id = i.planned_instruction_id
       WHERE i.pay_run_id = $1 AND p.ordinal = 1`,
      [run.id],
    );
    return first!.id;
  }

  /** As the bank shows it: returned. */
  const comesBack = (run: PayRun, rowNo: number) =>
    office.tamper(
      `UPDATE payment SET returned_at = clock_timestamp() WHERE pay_run_id = '${run.id}' AND row_no = ${rowNo};
       UPDATE bank_payment SET bank_status = 'RETURNED' WHERE row_no = ${rowNo}
         AND payment_id IN (SELECT id FROM payment WHERE pay_run_id = '${run.id}')`,
    );

  it('says where every cent is, with a difference of 0.00', async () => {
    const fates: Fate[] = ['SETTLED', 'SETTLED', 'RETURNED', 'PRO_ROUTING_FAILED', 'EXCHANGED'];
    const run = await mixedRun(office, company, mixOf(fates, { excluded: true }));
    const { body } = await report(run).expect(200);
    expect(body).toMatchObject({
      payRunId: showId('run', run.id),
      accountId: showId('acc', company.accountId),
      runVersion: 2,
      explained: true,
      difference: '0.00',
      table: {
        uploaded: { payments: 5, amount: '500.10' },
        refused: { payments: 0, amount: '0.00' },
        held: { payments: 0, amount: '0.00' },
        excluded: { payments: 1, amount: '100.00' },
        approved: { payments: 4, amount: '400.10' },
        atBank: { payments: 4, amount: '400.10' },
        settled: { payments: 2, amount: '200.03' },
        returned: { payments: 1, amount: '100.02' },
        notPaid: { payments: 1, amount: '100.03' },
        inFlight: { payments: 1, amount: '100.04' },
        void: { payments: 0, amount: '0.00' },
        charges: { payments: 3, amount: '0.45' },
        debited: { payments: 2, amount: '200.48' },
      },
      byPaymentStatus: { SETTLED: { payments: 2 }, FAILED: { payments: 1 }, SUBMITTED: { payments: 1 } },
      byBankStatus: {
        SETTLED: { payments: 1, amount: '100.01' },
        RETURNED: { payments: 1, amount: '100.02' },
        PRO_ROUTING_FAILED: { payments: 1, amount: '100.03' },
        EXCHANGED: { payments: 1, amount: '100.04' },
      },
      differences: [],
      moreDifferences: false,
    });
    for (const { difference } of body.equations) expect(difference).toEqual({ payments: 0, amount: '0.00' });
  });

  it('shows what waits for its submit, and what is in doubt, in lines of their own, in the month too', async () => {
    const own = await office.company({ rowsPerInstruction: 2 });
    const fates: Fate[] = ['SETTLED', 'SETTLED', 'SETTLED', 'SETTLED', 'SETTLED', 'SETTLED'];
    const stage = 'SUBMITTING';
    const run = await mixedRun(office, own, mixOf(fates, { stage, submits: ['SUBMITTED', 'UNKNOWN'] }));
    const lines = {
      approved: { payments: 6, amount: '600.15' },
      notSent: { payments: 0, amount: '0.00' },
      waiting: { payments: 2, amount: '200.09' },
      inDoubt: { payments: 2, amount: '200.05' },
      settled: { payments: 2, amount: '200.01' },
      inFlight: { payments: 0, amount: '0.00' },
    };
    const get = (path: string) => office.as(own, 'finance').get(path).expect(200);
    expect((await get(pathOf(run, '/reconciliation'))).body).toMatchObject({ table: lines });
    expect((await get('/reconciliation?period=2026-11')).body).toMatchObject({ totals: lines });
    const ofRun = parse((await get(pathOf(run, '/reconciliation?format=csv'))).text);
    expect(ofRun).toContainEqual(['table', 'waiting', '2', '200.09', '', '', '', '']);
    expect(ofRun).toContainEqual(['table', 'inDoubt', '2', '200.05', '', '', '', '']);
    const month = parse((await get('/reconciliation?period=2026-11&format=csv')).text, { columns: true });
    expect(month.at(-1)).toMatchObject({
      run: 'total',
      waiting_amount: '200.09',
      inDoubt_payments: '2',
      inDoubt_amount: '200.05',
    });
  });

  it('lists what moved besides its rows, as two people acknowledged it last', async () => {
    const run = await mixedRun(office, company, mixOf(['SETTLED', 'SETTLED']));
    const fee = {
      kind: 'ENTRY_OF_THE_BANK',
      payments: 1,
      amountMinor: 1_500n,
      bankWords: 'FEE "9".',
    } as const;
    const one = { kind: 'POSSIBLE_RETURN', payments: 1, amountMinor: 9_950n } as const;
    await acknowledged(office, company, run, fee);
    await acknowledged(office, company, run, one);
    await acknowledged(office, company, run, { ...one, payments: 2, amountMinor: 9_960n });
    const { body } = await report(run).expect(200);
    expect(body).toMatchObject({
      explained: true,
      acknowledged: [
        {
          kind: 'ENTRY_OF_THE_BANK',
          payments: 1,
          amount: '15.00',
          bankWords: 'FEE "9".',
          happened: '1 records',
        },
        {
          kind: 'POSSIBLE_RETURN',
          payments: 2,
          amount: '99.60',
          reason: 'the bank knows',
          proposedByName: 'A operator',
          confirmedBy: showId('per', company.approver.personId),
          confirmedByName: 'A approver',
        },
      ],
    });
    const lines = parse((await report(run, '?format=csv').expect(200)).text);
    expect(lines).toContainEqual(['acknowledged', 'ENTRY_OF_THE_BANK', '1', '15.00', '', '', '', '']);
  });

  it('lists what its account lacks, as two people acknowledged it last, and not what totals never showed', async () => {
    const own = await office.company({ rowsPerInstruction: 2 });
    const run = await mixedRun(office, own, mixOf(['SETTLED', 'PRO_ROUTING_FAILED']));
    const unseen = { kind: 'TOTALS_UNSEEN', amountMinor: 20_001n } as const;
    const get = async (path: string) => (await office.as(own, 'finance').get(path).expect(200)).body;
    await acknowledged(office, own, run, unseen);
    expect(await get(pathOf(run, '/reconciliation'))).toMatchObject({ acknowledged: [] });
    for (const lack of [9_000n, 10_001n])
      await acknowledged(office, own, run, { ...unseen, amountMinor: lack, lackingMinor: lack });
    const lacked = { acknowledged: [{ kind: 'TOTALS_UNSEEN', payments: 0, amount: '100.01' }] };
    expect(await get(pathOf(run, '/reconciliation'))).toMatchObject(lacked);
    expect(await get('/reconciliation?period=2026-11')).toMatchObject(lacked);
    const { text } = await office.as(own, 'finance').get('/reconciliation?period=2026-11&format=csv');
    const lines = parse(text, { columns: true });
    for (const line of lines) expect(line).toMatchObject({ lacked_payments: '0', lacked_amount: '100.01' });
  });

  it('adds up in no total what several runs tell that their account lacks, which may be the same', async () => {
    const own = await office.company({ rowsPerInstruction: 2 });
    for (const lack of [9_000n, 10_001n]) {
      const run = await mixedRun(office, own, mixOf(['SETTLED', 'PRO_ROUTING_FAILED']));
      await acknowledged(office, own, run, {
        kind: 'TOTALS_UNSEEN',
        amountMinor: lack,
        lackingMinor: lack,
      });
    }
    const { text } = await office.as(own, 'finance').get('/reconciliation?period=2026-11&format=csv');
    const lines: Record<string, string>[] = parse(text, { columns: true });
    expect(lines.map((line) => [line.lacked_payments, line.lacked_amount])).toEqual([
      ['0', '90.00'],
      ['0', '100.01'],
      ['', ''],
    ]);
  });

  it('tells what came in and names no payment once where the bank shows one as returned after it was asked about', async () => {
    const run = await mixedRun(office, company, mixOf(['SETTLED', 'SETTLED', 'SETTLED']));
    const instructionId = await firstInstruction(run);
    const told = async () => {
      const { body } = await report(run).expect(200);
      const { payments, amount } = body.acknowledged[0] ?? { payments: 0, amount: '0.00' };
      return [body.explained, body.table.returned.amount, payments, amount];
    };
    await comesBack(run, 1);
    const records = ['10000', '10001', '10002', '10001'].map((minor, n) => ({
      id: `in ${n}`,
      minor,
      row: n === 3 ? undefined : null,
    }));
    await acknowledged(office, company, run, {
      kind: 'POSSIBLE_RETURN',
      payments: 4,
      amountMinor: 40_004n,
      instructionId,
      records,
    });
    expect(await told()).toEqual([true, '100.00', 4, '400.04']);
    await comesBack(run, 2);
    expect(await told()).toEqual([true, '200.01', 3, '300.03']);
    await comesBack(run, 3);
    expect(await told()).toEqual([true, '300.03', 3, '300.03']);
  });

  it('takes a payment that came back for what a record names it brought, and not for another record of as much', async () => {
    const run = await mixedRun(office, company, mixOf(['SETTLED', 'SETTLED', 'SETTLED']));
    const instructionId = await firstInstruction(run);
    for (const row of [1, null])
      await acknowledged(office, company, run, {
        kind: 'POSSIBLE_RETURN',
        payments: 1,
        amountMinor: 10_000n,
        instructionId,
        bankWords: row === null ? 'names none' : 'names row 1',
        records: [{ id: `of ${row}`, minor: '10000', row }],
      });
    await comesBack(run, 1);
    const { body } = await report(run).expect(200);
    expect(body.acknowledged).toMatchObject([{ payments: 1, amount: '100.00', bankWords: 'names none' }]);
  });

  it('names each row that differs, and how', async () => {
    const fates: Fate[] = ['SETTLED', 'SETTLED', 'SETTLED', 'SETTLED', 'SETTLED'];
    const run = await mixedRun(office, company, mixOf(fates));
    const rowNo = 'pay_run_id = $1 AND row_no =';
    const bankRow = `instruction_id IN (SELECT id FROM instruction WHERE pay_run_id = $1) AND row_no =`;
    await office.tamper(`UPDATE payment SET amount_minor = amount_minor + 1 WHERE ${rowNo} 1`, [run.id]);
    await office.tamper(`DELETE FROM bank_payment WHERE ${bankRow} 2`, [run.id]);
    await office.tamper(`UPDATE bank_payment SET bank_status = 'REJECTED' WHERE ${bankRow} 3`, [run.id]);
    await office.tamper(
      `UPDATE payment SET status = 'EXCLUDED', live = false, excluded_reason = 'x' WHERE ${rowNo} 4`,
      [run.id],
    );
    await office.tamper(`DELETE FROM payment WHERE ${rowNo} 5`, [run.id]);
    const { body } = await report(run).expect(200);
    expect(body.explained).toBe(false);
    expect(body.difference).not.toBe('0.00');
    const found = body.differences.map((one: { row: number; line: number; code: string }) => [
      one.row,
      one.line,
      one.code,
    ]);
    expect(found.sort()).toEqual([
      [1, 2, 'ROW_CHANGED'],
      [2, 3, 'BANK_PAYMENT_MISSING'],
      [3, 4, 'BANK_STATUS_CONTRADICTS'],
      [4, 5, 'NOT_EXPECTED_AT_BANK'],
      [5, null, 'PAYMENT_MISSING'],
    ]);
  });

  it('takes what an add was answered with for nothing that the bank shows of what was submitted', async () => {
    const own = await office.company({ rowsPerInstruction: 2 });
    const run = await mixedRun(office, own, mixOf(['SETTLED', 'SETTLED']));
    const report = async () =>
      (
        await office
          .as(own, 'finance')
          .get(`/pay-runs/${showId('run', run.id)}/reconciliation`)
          .expect(200)
      ).body;
    expect(await report()).toMatchObject({ explained: true });
    await office.tamper(
      `UPDATE bank_payment SET bank_status_at = NULL
       WHERE payment_id = (SELECT id FROM payment WHERE pay_run_id = $1 ORDER BY row_no LIMIT 1)`,
      [run.id],
    );
    expect(await report()).toMatchObject({ explained: false, contradictions: { payments: 1 } });
  });

  it('names the first two hundred of many rows, and says that there are more', async () => {
    const big = await office.company();
    const run = await office.run(big, rows(...Array<number>(230).fill(100)));
    await office.tamper(`UPDATE payment SET amount_minor = 101 WHERE pay_run_id = $1`, [run.id]);
    const { body } = await office.as(big, 'finance').get(pathOf(run, '/reconciliation')).expect(200);
    expect([body.differences.length, body.moreDifferences]).toEqual([200, true]);
    expect(body.differences.at(-1).row).toBe(200);
  });

  it('says when it is of, in JSON and CSV, since what the bank shows later changes it', async () => {
    const run = await mixedRun(office, company, mixOf(['SETTLED', 'SETTLED']));
    const now = async () => {
      const [row] = await office.query<{ now: Date }>(company, 'SELECT clock_timestamp() AS now');
      return row!.now.getTime();
    };
    const before = await now();
    const first = (await report(run).expect(200)).body;
    const between = await now();
    await comesBack(run, 1);
    const second = (await report(run).expect(200)).body;
    expect([first, second].map(({ table }) => table.returned.payments)).toEqual([0, 1]);
    const [one, other] = [first, second].map(({ asOf }) => Date.parse(asOf));
    expect([before <= one!, one! <= between, between <= other!]).toEqual([true, true, true]);
    const ofRun = parse((await report(run, '?format=csv').expect(200)).text);
    expect(Date.parse(ofRun.find(([part]) => part === 'as of')?.[1] ?? '')).toBeGreaterThanOrEqual(other!);
    const period = (query = '') =>
      office.as(company, 'finance').get(`/reconciliation?period=2026-11${query}`).expect(200);
    const month = (await period()).body;
    expect(Date.parse(month.asOf)).toBeGreaterThanOrEqual(other!);
    const lines: Record<string, string>[] = parse((await period('&format=csv')).text, { columns: true });
    for (const line of lines) expect(Date.parse(line['as_of']!)).toBeGreaterThanOrEqual(other!);
  });

  it('is the same as CSV, by header or by query, with plain decimals', async () => {
    const run = await mixedRun(office, company, mixOf(['SETTLED', 'EXT_REFUSED']));
    const asked = await report(run).set('Accept', 'text/csv').expect(200);
    expect(asked.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(asked.headers['content-disposition']).toContain(`reconciliation-${showId('run', run.id)}.csv`);
    const untilAsOf = ({ text }: { text: string }) => text.slice(0, text.indexOf('as of,'));
    expect(untilAsOf(await report(run, '?format=csv').expect(200))).toBe(untilAsOf(asked));
    const lines = parse(asked.text);
    expect(lines).toContainEqual(['table', 'uploaded', '2', '200.01', '', '', '', '']);
    expect(lines).toContainEqual(['table', 'difference', '0', '0.00', '', '', '', '']);
    expect(lines).toContainEqual(['equation', 'SETTLED', '1', '100.00', '1', '100.00', '0', '0.00']);
    expect(lines).toContainEqual(['account', showId('acc', company.accountId), '', '', '', '', '', '']);
    expect(lines).toContainEqual(['table', 'charges', '2', '0.30', '', '', '', '']);
    expect(lines).toContainEqual(['table', 'debited', '1', '100.30', '', '', '', '']);
    expect(lines).toContainEqual(['equation', 'DEBITED', '1', '100.30', '1', '100.30', '0', '0.00']);
    expect(lines).toContainEqual(['bank status', 'EXT_REFUSED', '1', '100.01', '', '', '', '']);
  });

  it('is not given in a form it does not have', async () => {
    const run = await office.run(company, rows(1));
    const { body } = await report(run).set('Accept', 'application/pdf').expect(406);
    expect(body.code).toBe('NOT_ACCEPTABLE');
    await report(run, '?format=xlsx').expect(422);
  });

  it('is for finance, approvers and preparers, of their own employer', async () => {
    const run = await office.run(company, rows(1));
    for (const role of ['finance', 'approver', 'preparer'] as const) {
      await office.as(company, role).get(pathOf(run, '/reconciliation')).expect(200);
    }
    for (const path of ['/reconciliation', '/reconciliation/rows']) {
      await office.as(company, 'operator').get(pathOf(run, path)).expect(403);
      const other = await office.as(await office.company(), 'finance').get(pathOf(run, path));
      expect([other.status, other.body.code]).toEqual([404, 'PAY_RUN_NOT_FOUND']);
    }
  });
});

describe('what a run did not pay and others pay again', () => {
  let office: PayOffice;
  let company: Company;
  let run: PayRun;
  let failed: { id: string; employee_id: string }[];
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office?.close());
  beforeEach(async () => {
    company = await office.company();
    run = await office.run(company, rows(100_000, 245_000));
    await RunAtBank.ended(office, company, run, ['PRO_ROUTING_FAILED', 'PRO_ROUTING_FAILED']);
    failed = await office.query(
      company,
      'SELECT id, employee_id FROM payment WHERE pay_run_id = $1 ORDER BY row_no',
      [run.id],
    );
  });

  const get = async (path: string) => (await office.as(company, 'finance').get(path).expect(200)).body;
  const linkedLines = async (of: PayRun): Promise<string[][]> => {
    const { text } = await office.as(company, 'finance').get(pathOf(of, '/reconciliation?format=csv'));
    const lines: string[][] = parse(text);
    return lines.filter(([part]) => part === 'replaces' || part === 'replaced by');
  };
  const exclude = (from: PayRun, rowNo: number) =>
    office.in(company, async (tx) => {
      const [row] = await tx.query<{ id: string }>(
        'SELECT id FROM payment WHERE pay_run_id = $1 AND row_no = $2',
        [from.id, rowNo],
      );
      await amend(tx, office.personal, await lockRun(tx, from.id), company.preparer.personId, {
        excludePaymentIds: [row!.id],
        reason: 'paid in cash',
      });
    });
  /** A supplement whose row pays the second of them another amount. */
  const supplement = (row: Partial<Row> = {}) => {
    const { id: replacesPaymentId, employee_id: employeeId } = failed[1]!;
    const again = { amountMinor: 240_000n, replacesPaymentId, employeeId, ...row };
    const { kindOfPay } = run;
    return office.run(company, [again, { amountMinor: 1n, employeeId: 'E-9' }], {
      kindOfPay,
      sequence: 2,
      parentRunId: run.id,
    });
  };
  const allFailed = () => failed.map(({ id }) => id);

  it('is told once of each, by what pays it and by what it was, alike in the run and in every report', async () => {
    const first = await office.successor(company, run, allFailed());
    await exclude(first, 2);
    const second = await supplement();
    const byFirst = { payments: 1, amount: '1000.00', before: '1000.00' };
    const bySecond = { payments: 1, amount: '2400.00', before: '2450.00' };
    const replacedBy = [
      { payRunId: showId('run', first.id), ...byFirst },
      { payRunId: showId('run', second.id), ...bySecond },
    ];
    expect((await get(pathOf(run, '/reconciliation'))).replacedBy).toEqual(replacedBy);
    const month = await get('/reconciliation?period=2026-11');
    expect(month.runs.map((one: { replacedBy: unknown }) => one.replacedBy)).toEqual([replacedBy, [], []]);
    expect(await linkedLines(run)).toEqual([
      ['replaced by', showId('run', first.id), '1', '1000.00', '1', '1000.00', '', ''],
      ['replaced by', showId('run', second.id), '1', '2400.00', '1', '2450.00', '', ''],
    ]);
    for (const [pays, sum] of [
      [first, byFirst],
      [second, bySecond],
    ] as const) {
      const told = [{ payRunId: showId('run', run.id), ...sum }];
      expect((await get(pathOf(pays, '/reconciliation'))).replaces).toEqual(told);
      const differing = sum === bySecond ? 1 : 0;
      expect((await get(pathOf(pays))).replaces).toEqual({ ...sum, differing });
    }
    expect(await linkedLines(second)).toEqual([
      ['replaces', showId('run', run.id), '1', '2400.00', '1', '2450.00', '', ''],
    ]);
  });

  it('is not told of who was left out, nor of a row that is held until it is released, nor of a cancelled run', async () => {
    const leftOut = await office.successor(company, run, allFailed());
    await exclude(leftOut, 2);
    const held = await supplement({ held: true });
    const paidAgainBy = async () => {
      const { replacedBy } = await get(pathOf(run, '/reconciliation'));
      return replacedBy.map((one: { payRunId: string }) => one.payRunId);
    };
    expect(await paidAgainBy()).toEqual([showId('run', leftOut.id)]);
    expect((await get(pathOf(held, '/reconciliation'))).replaces).toEqual([]);
    const { items } = await get(pathOf(run, '/payments'));
    expect(items.map((one: { replacedByPaymentId: string | null }) => one.replacedByPaymentId)).toEqual([
      expect.any(String),
      null,
    ]);
    const { text } = await office.as(company, 'finance').get(pathOf(run, '/reconciliation/rows?format=csv'));
    const exported: Record<string, string>[] = parse(text, { columns: true });
    expect(exported.map((line) => line['replaced_by_payment_id'])).toEqual([
      expect.stringMatching(/^pay_/),
      '',
    ]);

    await office.in(company, async (tx) =>
      cancelRun(tx, await lockRun(tx, leftOut.id), 'service', 'the wrong month'),
    );
    expect(await paidAgainBy()).toEqual([]);
    expect((await get(pathOf(leftOut, '/reconciliation'))).replaces).toEqual([]);
    const none = { payments: 0, amount: '0.00', before: '0.00', differing: 0 };
    expect((await get(pathOf(leftOut))).replaces).toEqual(none);
  });

  it('shows an operator, who sees no sums, neither what is paid nor what it was', async () => {
    const successor = await office.successor(company, run, allFailed());
    const { body } = await office.as(company, 'operator').get(pathOf(successor)).expect(200);
    expect(body.replaces).toEqual({ payments: 2, amount: null, before: null, differing: 0 });
  });
});

describe('the report of a month', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
    company = await office.company({ rowsPerInstruction: 2 });
  });
  afterAll(() => office?.close());

  it('adds the runs of the month up, without those that were cancelled', async () => {
    await mixedRun(office, company, mixOf(['SETTLED', 'PRO_ROUTING_FAILED']));
    await mixedRun(office, company, mixOf(['SETTLED', 'SETTLED', 'SETTLED']));
    await mixedRun(office, company, mixOf(['SETTLED', 'SETTLED'], { stage: 'CANCELLED' }));
    await office.run(company, rows(77), { period: '2026-10' });
    const asked = () => office.as(company, 'finance').get('/reconciliation?period=2026-11');
    const { body } = await asked().expect(200);
    expect(body).toMatchObject({
      period: '2026-11',
      explained: true,
      difference: '0.00',
      totals: {
        uploaded: { payments: 5, amount: '500.04' },
        settled: { payments: 4, amount: '400.03' },
        notPaid: { payments: 1, amount: '100.01' },
      },
    });
    expect(body.runs.map(({ status }: { status: string }) => status)).toEqual([
      'FOLLOWING',
      'FOLLOWING',
      'CANCELLED',
    ]);
    const lines = parse((await asked().set('Accept', 'text/csv').expect(200)).text, { columns: true });
    expect(lines).toHaveLength(4);
    expect(lines.at(-1)).toMatchObject({ run: 'total', uploaded_payments: '5', uploaded_amount: '500.04' });
    expect(lines.at(-1)).toMatchObject({ charges_amount: '0.75', debited_amount: '400.78' });
  });

  it('says what left the account and came back, is paid again, or moved besides its rows', async () => {
    const own = await office.company({ rowsPerInstruction: 2 });
    const run = await mixedRun(office, own, mixOf(['SETTLED', 'RETURNED', 'PRO_ROUTING_FAILED']));
    const ended = await office.query<{ id: string }>(
      own,
      `SELECT id FROM payment WHERE pay_run_id = $1 AND row_no > 1 ORDER BY row_no`,
      [run.id],
    );
    const again = ended.map(({ id }) => id);
    await RunAtBank.followed(
      office,
      own,
      await office.successor(own, run, again, { reason: 'a new account' }),
    );
    await acknowledged(office, own, run, { kind: 'ENTRY_OF_THE_BANK', payments: 1, amountMinor: 1_500n });
    const { body } = await office.as(own, 'finance').get('/reconciliation?period=2026-11').expect(200);
    expect(body).toMatchObject({
      explained: true,
      totals: {
        settled: { payments: 3, amount: '300.03' },
        returned: { payments: 0, amount: '0.00' },
        charges: { amount: '0.75' },
        debited: { amount: '400.79' },
      },
      replaced: { payments: 2, amount: '200.03' },
      paidAgain: { payments: 1, amount: '100.01' },
      acknowledged: [
        { payRunId: showId('run', run.id), kind: 'ENTRY_OF_THE_BANK', payments: 1, amount: '15.00' },
      ],
    });
    const { text } = await office.as(own, 'finance').get('/reconciliation?period=2026-11&format=csv');
    const lines = parse(text, { columns: true });
    const amounts = { paidAgain_amount: '100.01', entries_amount: '15.00', cameIn_amount: '0.00' };
    expect(lines.at(0)).toMatchObject(amounts);
    expect(lines.at(-1)).toMatchObject({ run: 'total', ...amounts });
  });

  it('names the account of each run, to hold what was debited against the statement of that account', async () => {
    const own = await office.company({ rowsPerInstruction: 2 });
    const second = await office.account(own);
    await mixedRun(office, own, mixOf(['SETTLED', 'SETTLED']));
    const other = { ...own, accountId: second };
    await mixedRun(office, other, mixOf(['SETTLED']));
    const debited = { [own.accountId]: '200.31', [second]: '100.15' };
    await office.tamper('UPDATE employer_account SET detached_at = now() WHERE id = $1', [second]);
    const { body } = await office.as(own, 'finance').get('/reconciliation?period=2026-11').expect(200);
    type Shown = { accountId: string; bankAccountId: string; table: { debited: { amount: string } } };
    const shown = body.runs.map((one: Shown) => [one.accountId, one.bankAccountId, one.table.debited.amount]);
    const names = await office.query<{ id: string; bankAccountId: string }>(
      own,
      'SELECT id, bank_account_id AS "bankAccountId" FROM employer_account ORDER BY id',
    );
    const expected = names.map(({ id, bankAccountId }) => [showId('acc', id), bankAccountId, debited[id]]);
    expect(shown).toEqual(expected);
    const { text } = await office.as(own, 'finance').get('/reconciliation?period=2026-11&format=csv');
    const lines: Record<string, string>[] = parse(text, { columns: true });
    expect(lines.map((line) => [line['account'], line['bank_account'], line['debited_amount']])).toEqual([
      ...expected,
      ['', '', '300.46'],
    ]);
  });

  it('is not explained when one of its runs is not', async () => {
    const own = await office.company({ rowsPerInstruction: 2 });
    await mixedRun(office, own, mixOf(['SETTLED', 'SETTLED']));
    const run = await mixedRun(office, own, mixOf(['SETTLED', 'SETTLED']));
    await office.tamper('UPDATE pay_file SET total_minor = total_minor + 250 WHERE pay_run_id = $1', [
      run.id,
    ]);
    const { body } = await office.as(own, 'finance').get('/reconciliation?period=2026-11').expect(200);
    expect(body).toMatchObject({ explained: false, difference: '2.50' });
    expect(body.runs.map(({ explained }: { explained: boolean }) => explained)).toEqual([true, false]);
  });

  it('says as CSV, too, why a run or the month is not explained though its sums agree', async () => {
    const own = await office.company({ rowsPerInstruction: 2 });
    const run = await mixedRun(office, own, mixOf(['SETTLED', 'SETTLED']));
    await mixedRun(office, own, mixOf(['SETTLED']));
    const doubt = {
      subjectId: run.id,
      payRunId: run.id,
      happened: 'money came in',
      payments: 1,
      amountMinor: 1n,
    };
    await office.in(own, async (tx) => {
      await raise(tx, { ...doubt, kind: 'POSSIBLE_RETURN' });
      await raise(tx, { ...doubt, kind: 'TOTALS_UNSEEN' });
    });
    const asked = () =>
      office.as(own, 'finance').get('/reconciliation?period=2026-11&format=csv').expect(200);
    const told = async () => {
      const lines: Record<string, string>[] = parse((await asked()).text, { columns: true });
      return lines.map((line) => `${line['explained']} ${line['open_doubts']}`);
    };
    expect(await told()).toEqual(['false POSSIBLE_RETURN TOTALS_UNSEEN', 'true ', 'false ']);
    const restored = {
      subjectId: own.employerId,
      happened: 'a backup was put back',
      payments: 0,
      amountMinor: 0n,
    };
    await office.in(own, (tx) => raise(tx, { ...restored, kind: 'RESTORED' }));
    expect((await told()).at(-1)).toBe('false RESTORED');
  });

  it('is all zeros for a month without runs, and refused for what is no month', async () => {
    const { body } = await office.as(company, 'finance').get('/reconciliation?period=2025-01').expect(200);
    expect(body).toMatchObject({ explained: true, difference: '0.00', runs: [] });
    expect(body.totals.uploaded).toEqual({ payments: 0, amount: '0.00' });
    await office.as(company, 'finance').get('/reconciliation?period=2025-13').expect(422);
    await office.as(company, 'finance').get('/reconciliation').expect(422);
  });
});
