import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
afterEach(() => restoring.close());

const QUEUED_MS = 14_000;

const attempts = () =>
  restoring.stored<{ outcome: string | null; detail: string | null }>(
    'SELECT outcome, outcome_detail AS detail FROM submit_attempt ORDER BY attempted_at',
  );

/**
 * Restored to when the bank had turned a submit away, which was sent once more since; that one is queued. Nothing of it is
 * read before people resume.
 */
async function sentAgainSince(doubtMs: number): Promise<{ id: string; late: Promise<unknown> }> {
  restoring = await Restoring.start(
    { BANK_REJECTS_BEFORE_EXECUTING: 'true', BANK_LAG_BOUND_MS: '500', SUBMIT_DOUBT_MS: String(doubtMs) },
    { secondSubmit: 'executed' },
  );
  payroll = restoring.payroll;
  await payroll.stopPastTheGate();
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SUBMITTING'], 20_000);
  await payroll.fault({ operation: 'submit', kind: '429', nth: 1 });
  await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 2, delayMs: QUEUED_MS });
  await payroll.letRunsGoOn();
  await eventually(async () => (await attempts())[0]?.detail?.startsWith('turned away') ?? false, 20_000);
  await payroll.letRest('INSTRUCTION');
  expect(await attempts()).toMatchObject([{ outcome: 'IN_DOUBT' }]);
  await restoring.backUp();
  await restoring.inBackup('UPDATE lease SET wake_at = now()');
  await payroll.wakeAll();
  await eventually(async () => ((await payroll.calls()).submit ?? 0) === 2, 20_000);
  const late = new Promise((resolve) => setTimeout(resolve, QUEUED_MS + 500));
  await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
  await restoring.restore();
  await restoring.answered();
  expect(await restoring.resume()).toBe('RESUMED');
  await payroll.clearFaults();
  return { id, late };
}

describe('a submit that was turned away by the record of a restored database', () => {
  it('is not sent again, as it was since, and is found executed', async () => {
    const { id, late } = await sentAgainSince(120_000);
    await payroll.until(id, ['SETTLED'], 40_000);
    await late;
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
    expect(await attempts()).toMatchObject([{ outcome: 'EXECUTED' }]);
    await payroll.reconcile();
    expect(await payroll.attention()).toEqual([]);
  });

  it('is asked about where nothing shows that it was executed, and pays nobody once it is declared not to be', async () => {
    const { id, late } = await sentAgainSince(3_000);
    const path = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    const { data } = await payroll.as('operator').get(path);
    expect(data.certain).toContain('may have forgotten that it was sent once more');
    expect(data.certain).not.toContain('at most once');
    const reason = 'the bank has deleted it';
    expect((await payroll.decide(path, { action: 'NOT_EXECUTED', reason })).status).toBe(200);
    await payroll.until(id, ['FAILED'], 20_000);
    await late;
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([]);
  });
});
