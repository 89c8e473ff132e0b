import { createServer, Server } from 'node:http';
import { AddressInfo } from 'node:net';
import axios from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { Database } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { raise } from '../../src/pay-run/attention.store';
import { execute, select } from '../support/database';
import { buildWithCrashPoints } from '../support/crash-build';
import { eventually } from '../support/eventually';
import { payFile, payRows, totalMinor } from '../support/pay-rows';
import { Payroll, ServiceProcess } from '../support/payroll';

describe('salaries are secret', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start({ settings: { LOG_LEVEL: 'debug' } });
    await payroll.stopServices();
  });
  afterAll(() => payroll.close());

  it('no name, IBAN or amount of a person is in logs, metrics or the references sent to the bank', async () => {
    const service = await payroll.spawn({ LOG_LEVEL: 'debug' });
    const rows = payRows(6).map((row, n) => ({ ...row, name: `Zaphod Beeblebrox${'abcdef'[n]}` }));
    const refused = [...rows.slice(0, 2), { ...rows[2]!, iban: 'DE00123', amount: '1,5' }];
    expect((await payroll.upload(payFile(refused))).status).toBe(422);
    await payroll.fault({ operation: 'add', kind: '422', nth: 2 });
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['BUILDING', 'VERIFIED'], 20_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const metrics = (await axios.get(`${service.url}/metrics`)).data as string;
    const ledger = await payroll.ledger();
    const references = ledger.instructions.map(
      (one) =>
        `${(one as { reference?: string }).reference ?? ''} ${one.rows.map((row) => row.messageId).join(' ')}`,
    );
    const attention = JSON.stringify(await payroll.attention());
    const written = [service.output(), metrics, references.join(' '), attention];
    expect(service.output()).toContain('request completed');
    for (const text of written) {
      for (const row of rows) {
        expect(text).not.toContain(row.iban);
        expect(text).not.toContain(row.name);
        expect(text).not.toContain(row.amount);
        // By itself: moments, durations and ids hold many digits.
        expect(text).not.toMatch(new RegExp(`(?<![0-9a-f.])${row.amount.replace('.', '')}(?![0-9a-f])`));
      }
      expect(text).not.toContain('DE00123');
    }
    for (const secret of [payroll.keys.preparer, 'sandbox-token', 'sandbox-signing-secret']) {
      expect(service.output()).not.toContain(secret);
    }
  });
});

const SAID = 'Payment of Zoe Muller, EUR 2450, cannot be shown';

/** The bank, behind what changes its answers. */
async function relayTo(
  bankUrl: string,
  changed: (status: number, body: Buffer) => Buffer | string,
): Promise<Server> {
  const answer: Parameters<typeof createServer>[1] = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { host: _, ...headers } = request.headers;
      void axios
        .request<Buffer>({
          url: bankUrl + request.url,
          method: request.method,
          headers,
          data: chunks.length > 0 ? Buffer.concat(chunks) : undefined,
          responseType: 'arraybuffer',
          validateStatus: () => true,
          maxRedirects: 0,
        })
        .then(({ status, data }) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(changed(status, data));
        })
        .catch(() => response.destroy());
    });
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return server;
}

describe('a bank that names a person where it refuses', () => {
  let payroll: Payroll;
  let relay: Server;
  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start();
    await payroll.stopServices();
    relay = await relayTo(payroll.bank.url, (status, body) =>
      status < 400 ? body : JSON.stringify({ code: 'E17', message: SAID }),
    );
  });
  afterAll(async () => {
    await payroll.close();
    relay.close();
  });

  it('is repeated in no log, problem, history, or attention but to those who may see payments', async () => {
    const BANK_BASE_URL = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
    const service = await payroll.spawn({ LOG_LEVEL: 'debug', BANK_BASE_URL });
    const shown: string[] = [];
    const rows = payRows(3);
    rows[1]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'routingFails')!.iban;
    const parent = await payroll.paid(payFile(rows));
    await payroll.until(parent, ['PARTLY_SETTLED']);
    await payroll.fault({ operation: '*', kind: '500-before', every: 1 });
    const made = await payroll.successorOf(parent);
    await payroll.clearFaults();
    expect([made.status, made.data.code]).toEqual([503, 'BANK_UNREADABLE']);
    expect(made.data.detail).toContain('The bank answered 500 E17');
    shown.push(JSON.stringify(made.data));

    const refusals: [operation: string, kind: string][] = [
      ['submit', 'SUBMIT_REFUSED'],
      ['add', 'ROW_REFUSED_BY_BANK'],
      ['initiate', 'INITIATE_REFUSED'],
    ];
    for (const [index, [operation, kind]] of refusals.entries()) {
      await payroll.fault({ operation, kind: '422', every: 1 });
      const id = await payroll.paid(payFile(payRows(2, 100 * (index + 1))));
      const path = await payroll.askedAbout(id, kind);
      await payroll.clearFaults();
      const [operator, finance] = [
        (await payroll.as('operator').get(path)).data,
        (await payroll.as('finance').get(path)).data,
      ];
      expect(operator).toMatchObject({ bankWords: null, happened: expect.stringContaining('422 E17') });
      expect(finance.bankWords).toBe(SAID);
      const history = await payroll.as('operator').get(payroll.path(`/pay-runs/${id}/history`));
      shown.push(JSON.stringify(operator), JSON.stringify(history.data));
    }
    await payroll.fault({ operation: 'initiate', kind: '403', every: 1 });
    const id = await payroll.paid(payFile(payRows(2, 500)));
    shown.push(
      JSON.stringify((await payroll.as('operator').get(await payroll.askedAbout(id, 'CREDENTIALS'))).data),
    );
    for (const text of [...shown, service.output()]) expect(text).not.toMatch(/Zoe|Muller|EUR 2450/);
    expect(service.output()).toContain('BANK_UNREADABLE');
    const kept = `SELECT outcome_detail FROM bank_call WHERE operation = 'submit' AND outcome = 'NO'`;
    expect(await select(payroll.database.superuserUrl, kept)).toEqual([
      { outcome_detail: `The bank answered 422 E17: ${SAID}` },
    ]);
  });
});

describe('a bank that shows a sum which cannot be read', () => {
  let payroll: Payroll;
  let relay: Server;
  let service: ServiceProcess;
  let noise: string;
  /** How often each sum was shown. */
  const shown = new Map<string, number>();
  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start();
    await payroll.stopServices();
    const noisy = (_all: string, before: string, sum: string) => {
      shown.set(sum, (shown.get(sum) ?? 0) + 1);
      return `${before}${sum}${noise}`;
    };
    relay = await relayTo(payroll.bank.url, (_status, body) =>
      body.toString().replace(/("calculatedAmount":\{"value":)([1-9]\d*)/g, noisy),
    );
    const BANK_BASE_URL = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
    service = await payroll.spawn({ LOG_LEVEL: 'debug', BANK_BASE_URL });
  });
  afterAll(async () => {
    await payroll.close();
    relay.close();
  });

  it.each([1, 2])('is repeated but to who may see payments to nobody, and asked once: %i', async (count) => {
    noise = '.5';
    const rows = payRows(count, 700 * count);
    const sum = String(totalMinor(rows));
    const id = await payroll.paid(payFile(rows));
    const path = await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    const [operator, finance] = [
      (await payroll.as('operator').get(path)).data,
      (await payroll.as('finance').get(path)).data,
    ];
    const happened = expect.stringContaining('its interface: calculatedAmount.value, read while');
    expect(operator).toMatchObject({ bankWords: null, happened });
    expect(finance.bankWords).toBe(`${sum}.5`);
    const reason = 'the bank looks into it';
    expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason })).status).toBe(200);
    noise = '.25';
    shown.clear();
    await eventually(async () => {
      await execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
      return (shown.get(sum) ?? 0) > 3;
    }, 20_000);
    expect(await payroll.attention()).toEqual([]);
    const waits = await select(payroll.database.superuserUrl, 'SELECT waits_for FROM lease');
    for (const text of [JSON.stringify(waits), service.output()]) expect(text).not.toContain(`${sum}.`);
  });
});

describe('the sums of an attention', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start();
  });
  afterAll(() => payroll.close());

  it.each([1, 2, 99])('are not for an operator: %d payments', async (payments) => {
    const run = await payroll.uploaded(payFile(payRows(3, 1_000 * payments)));
    const payRunId = run.id.replace(/^run_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    const [{ employer_id: employerId } = { employer_id: '' }] = await select<{ employer_id: string }>(
      payroll.database.superuserUrl,
      `SELECT employer_id FROM pay_run WHERE id = '${payRunId}'`,
    );
    await payroll.services[0]!.app.get(Database).inEmployer(employerId, (tx) =>
      raise(tx, {
        kind: 'ROW_UNSEEN',
        subjectId: newId(),
        payRunId,
        happened: 'a test',
        payments,
        amountMinor: 245_000n,
        lackingMinor: 245_000n,
        beyond: { count: payments, totalMinor: 245_000n },
      }),
    );
    const sumsOf = (one: Record<'amount' | 'lacking' | 'beyond', unknown>) => [
      one.amount,
      one.lacking,
      one.beyond,
    ];
    const path = await payroll.askedAbout(run.id, 'ROW_UNSEEN');
    const sums = await Promise.all(
      (['operator', 'finance', 'preparer', 'approver'] as const).map(async (role) => {
        const { items } = (await payroll.as(role).get(payroll.path('/attention'))).data;
        const listed = items.find((one: { id: string }) => path.endsWith(one.id));
        return [sumsOf(listed), sumsOf((await payroll.as(role).get(path)).data)];
      }),
    );
    const [none, all] = [Array(3).fill(null), ['2450.00', '2450.00', { payments, amount: '2450.00' }]];
    expect(sums).toEqual([[none, none], ...Array(3).fill([all, all])]);
  });
});
