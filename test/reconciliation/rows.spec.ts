import { get } from 'node:http';
import { AddressInfo } from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { showId } from '../../src/http/prefixed-id';
import { RowExport } from '../../src/reconciliation/row-export';
import { Company, IBAN, pathOf, PayOffice, rows } from '../pay-run/pay-office';
import { mixedRun } from './mixed-run';

const records = (text: string) => parse<Record<string, string>>(text, { columns: true });

describe('the rows of a run', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
    company = await office.company({ rowsPerInstruction: 2 });
  });
  afterAll(() => office?.close());

  const settledRun = () =>
    mixedRun(office, company, {
      rows: [
        { cents: 123_456, held: false, fate: 'RETURNED' },
        { cents: 5, held: false, fate: 'PRO_ROUTING_FAILED' },
        { cents: 70, held: true, fate: 'SETTLED' },
      ],
      stage: 'FOLLOWING',
      submits: [],
      rebuilt: true,
      excluded: false,
    });

  it('come as CSV: every row, with the IBAN masked and amounts as plain decimals', async () => {
    const run = await settledRun();
    const answer = await office
      .as(company, 'finance')
      .get(pathOf(run, '/reconciliation/rows'))
      .set('Accept', 'text/csv')
      .expect(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.text).not.toContain(IBAN);
    expect(records(answer.text)).toEqual([
      {
        line: '2',
        employee_id: 'E-1',
        name: 'Ada Number 1',
        iban: 'DE…5512',
        amount: '1234.56',
        currency: 'EUR',
        status: 'SETTLED',
        bank_payment_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        bank_status: 'RETURNED',
        settled_on: '2026-11-27',
        returned_at: expect.stringMatching(/^\d{4}-.*Z$/),
        charges: '0.15',
        difference: '',
        payment_id: expect.stringMatching(/^pay_[0-9a-f]{32}$/),
        replaces_payment_id: '',
        replaced_by_payment_id: '',
        decision_id: '',
        returned_amount: '1234.56',
      },
      expect.objectContaining({
        line: '3',
        amount: '0.05',
        status: 'FAILED',
        bank_status: 'PRO_ROUTING_FAILED',
      }),
      expect.objectContaining({
        line: '4',
        amount: '0.70',
        status: 'HELD',
        bank_payment_id: '',
        bank_status: '',
      }),
    ]);
  });

  it('come as NDJSON when asked', async () => {
    const run = await settledRun();
    const answer = await office
      .as(company, 'preparer')
      .get(pathOf(run, '/reconciliation/rows?format=ndjson'))
      .buffer(true)
      .parse((response, done) => {
        let text = '';
        response.on('data', (part: Buffer) => (text += part.toString()));
        response.on('end', () => done(null, text));
      })
      .expect(200);
    const lines = (answer.body as string)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({
      paymentId: expect.stringMatching(/^pay_[0-9a-f]{32}$/),
      amount: '1234.56',
      iban: 'DE…5512',
      difference: null,
    });
  });

  it('name what differs in a row of their own', async () => {
    const run = await settledRun();
    await office.tamper('UPDATE payment SET amount_minor = 999 WHERE pay_run_id = $1 AND row_no = 2', [
      run.id,
    ]);
    const { text } = await office.as(company, 'finance').get(pathOf(run, '/reconciliation/rows?format=csv'));
    const differences = records(text).map(({ difference }) => difference);
    expect(differences).toEqual(['', 'ROW_CHANGED', '']);
  });

  it('are of one moment, whatever is built again meanwhile', async () => {
    const run = await mixedRun(office, company, {
      rows: [{ cents: 5, held: false, fate: 'SETTLED' }],
      stage: 'VERIFIED',
      submits: [],
      rebuilt: false,
      excluded: false,
    });
    const builtAgain = `DELETE FROM bank_payment
      WHERE payment_id IN (SELECT id FROM payment WHERE pay_run_id = '${run.id}');
      UPDATE pay_run SET status = 'BUILDING' WHERE id = '${run.id}'`;
    const { text } = await office.tamperAhead('payment', builtAgain, async () =>
      office.as(company, 'finance').get(pathOf(run, '/reconciliation/rows?format=csv')),
    );
    expect(records(text).map(({ difference }) => difference)).toEqual(['']);
  });

  it('cannot run anything in a spreadsheet', async () => {
    const run = await office.run(company, [
      { amountMinor: 1n, employeeId: '=HYPERLINK("http://x")', name: '+cmd|calc' },
      { amountMinor: 2n, employeeId: '@A1', name: '  -2+3' },
    ]);
    const { text } = await office.as(company, 'finance').get(pathOf(run, '/reconciliation/rows?format=csv'));
    const cells = records(text).map((row) => [row['employee_id'], row['name']]);
    expect(cells).toEqual([
      [`'=HYPERLINK("http://x")`, "'+cmd|calc"],
      ["'@A1", "'  -2+3"],
    ]);
  });

  describe('of a long run', () => {
    const LENGTH = 20_000;
    let long: Company;
    let runPath: string;
    let runId: string;
    beforeAll(async () => {
      long = await office.company({ rowsPerInstruction: 10_000 });
      const run = await office.run(long, rows(1));
      runId = run.id;
      runPath = pathOf(run, '/reconciliation/rows?format=csv');
      await office.tamper(
        `INSERT INTO payment (employer_id, id, pay_run_id, row_no, line, period, kind_of_pay, employee_id, name_sealed,
           name_hash, iban_sealed, iban_hash, amount_minor, currency, row_hash, status)
         SELECT employer_id, gen_random_uuid(), pay_run_id, n, n + 1, period, kind_of_pay, 'L-' || n, name_sealed,
           name_hash, iban_sealed, iban_hash, amount_minor, currency, row_hash, status
         FROM payment, generate_series(2, $2::int) AS n WHERE pay_run_id = $1`,
        [run.id, LENGTH],
      );
    });

    const rowExport = () => office.app.get(RowExport);

    it('are all there, in order', async () => {
      const { text } = await office.as(long, 'finance').get(runPath).expect(200);
      const lines = records(text);
      expect(lines).toHaveLength(LENGTH);
      expect(lines.map(({ line }) => line)).toEqual(Array.from({ length: LENGTH }, (_, n) => String(n + 2)));
    });

    it('are read no faster than they are taken', async () => {
      let taken = 0;
      const slow = new Writable({
        highWaterMark: 1,
        write(chunk: Buffer, _encoding, done) {
          taken += chunk.length;
          if (taken < 200_000) done();
        },
      });
      const sending = rowExport().send(long.employerId, runId, 'csv', () => slow);
      while (taken < 200_000) await sleep(20);
      await sleep(300);
      expect(taken).toBeLessThan(400_000);
      slow.destroy();
      await expect(sending).rejects.toThrow(/Premature close/);
    });

    it('are not sent to more clients at once than leave connections for everybody else', async () => {
      const stuck = new PassThrough({ highWaterMark: 1 });
      const sending = rowExport().send(long.employerId, runId, 'csv', () => stuck);
      await sleep(100);
      const busy = await office.as(long, 'finance').get(runPath);
      expect([busy.status, busy.body.code]).toEqual([503, 'EXPORTS_BUSY']);
      expect(busy.headers['retry-after']).toBe('5');
      await office.as(long, 'finance').get('/pay-runs').expect(200);
      stuck.resume();
      await sending;
      await office.as(long, 'finance').get(runPath).expect(200);
    });

    it('give everything back when the client hangs up', async () => {
      const server = office.app.getHttpServer();
      if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const path = `/v1/employers/${showId('emp', long.employerId)}${runPath}`;
      await new Promise<void>((resolve) => {
        const asked = get(
          { port, path, headers: { authorization: long.finance.authorization } },
          (response) => {
            response.once('data', () => {
              asked.destroy();
              resolve();
            });
          },
        );
        asked.on('error', () => undefined);
      });
      for (let tries = 0; tries < 50; tries += 1) {
        const { status } = await office.as(long, 'finance').get(runPath);
        if (status === 200) return;
        await sleep(50);
      }
      throw new Error('the export never ended');
    });
  });
});
