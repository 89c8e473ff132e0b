import axios from 'axios';
import { INVARIANTS } from '../../src/reconciliation/invariants';
import { StandingReconciler } from '../../src/reconciliation/standing-reconciler';
import { select } from '../support/database';
import { Mixed, MIXED, mixedPayrolls, startMixedPayroll } from '../support/mixed-payrolls';
import { Payroll } from '../support/payroll';

const RECONCILE_MS = 500;

describe('the standing reconciler over sound payrolls', () => {
  let payroll: Payroll;
  let runs: Mixed;
  beforeAll(async () => {
    payroll = await startMixedPayroll({ RECONCILE_MS: String(RECONCILE_MS) });
    await payroll.addReplica();
    runs = await mixedPayrolls(payroll);
  }, 600_000);
  afterAll(() => payroll.close());

  const stored = <R>(sql: string) => select<R>(payroll.database.superuserUrl, sql);

  it('saw runs come to every kind of end', async () => {
    const statuses = await Promise.all(
      MIXED.map(async (name) => [name, (await payroll.run(runs[name])).status]),
    );
    expect(Object.fromEntries(statuses)).toEqual({
      settled: 'SETTLED',
      partlySettled: 'PARTLY_SETTLED',
      rebuilt: 'SETTLED',
      secondMonth: 'SETTLED',
      cancelled: 'CANCELLED',
      amended: 'SETTLED',
      unknown: 'FOLLOWING',
      voided: 'FAILED',
      released: 'PARTLY_SETTLED',
      ready: 'READY',
      approved: 'APPROVED',
    });
    const instructions = await stored<{ status: string }>('SELECT DISTINCT status FROM instruction');
    const seen = instructions.map(({ status }) => status);
    expect(seen).toEqual(
      expect.arrayContaining(['ABANDONED', 'CLOSED', 'RELEASED', 'SUBMIT_UNKNOWN', 'VOID']),
    );
  });

  it('found nothing broken at any moment, told nobody and stopped nothing', async () => {
    expect(await stored('SELECT * FROM invariant_breach')).toEqual([]);
    expect((await payroll.attention()).map(({ kind }) => kind)).not.toContain('INVARIANT_BREACH');
    expect(await stored('SELECT stopped_at FROM employer WHERE stopped_at IS NOT NULL')).toEqual([]);
    expect(await stored('SELECT submits_off FROM service_switch')).toEqual([{ submits_off: false }]);
  });

  it('asserted every invariant many times over, and says so in the metrics of both replicas', async () => {
    let checks = 0;
    const lasts: number[] = [];
    for (const { url } of payroll.services) {
      const { data } = await axios.get<string>(`${url}/metrics`);
      checks += Number(/^payrun_reconciler_check_duration_seconds_count (\d+)$/m.exec(data)?.[1]);
      lasts.push(Number(/^payrun_reconciler_last_check_timestamp_seconds ([\d.e+]+)$/m.exec(data)?.[1]));
      for (const { name } of INVARIANTS) {
        expect(data).toContain(`payrun_invariant_breaches_total{invariant="${name}"} 0`);
        expect(data).toContain(`payrun_reconciler_failures_total{invariant="${name}"} 0`);
      }
    }
    expect(checks).toBeGreaterThan(20);
    // Either may have made the last ones.
    expect(Date.now() / 1000 - Math.max(...lasts)).toBeLessThan(60);
  });

  it('finds nothing broken once all is still', async () => {
    const [service] = payroll.services;
    await new Promise((resolve) => setTimeout(resolve, RECONCILE_MS));
    const [employer] = await stored<{ id: string }>('SELECT id FROM employer');
    expect(await service!.app.get(StandingReconciler).check(employer!.id)).toEqual([]);
  });
});
