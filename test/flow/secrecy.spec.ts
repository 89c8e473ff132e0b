import axios from 'axios';
import { buildWithCrashPoints } from '../support/crash-build';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

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
        expect(text).not.toContain(row.amount.replace('.', ''));
      }
      expect(text).not.toContain('DE00123');
    }
    for (const secret of [payroll.keys.preparer, 'sandbox-token', 'sandbox-signing-secret']) {
      expect(service.output()).not.toContain(secret);
    }
  });
});
