import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711: nobody was paid of the run that is named in it';

let payroll: Payroll;
let restoring: Restoring;
afterEach(() => restoring.close());

/** What the bank has before the second run: what was paid long ago, and not submitted, and the first run. */
const BEFORE = 2 + 4;

const submits = async () => (await payroll.calls()).submit ?? 0;

describe('a run that is paid after a backup that has it as READY, at a bank whose list of payments', () => {
  it.each([
    ['has a page that shows nothing', { recordsOfOthers: 34, countMeans: 'places' }, true],
    ['has one, and counts the page', { recordsOfOthers: 34, countMeans: 'page' }, true],
    [
      'shows nothing for many pages, and counts the page',
      { recordsOfOthers: 134, countMeans: 'page' },
      false,
    ],
  ] as const)('%s, is not paid twice', async (_how, variants, isFound) => {
    restoring = await Restoring.start(
      { RECONCILE_MS: '2000' },
      { maxPageSize: 20, othersAfter: BEFORE, ...variants },
    );
    ({ payroll } = restoring);
    const first = await payroll.paid(payFile(payRows(4)));
    await payroll.until(first, ['SETTLED'], 30_000);
    const second = await payroll.uploaded(payFile(payRows(4, 5)), { supplementOf: first });
    await restoring.backUp();
    await restoring.listIsKnown();
    await payroll.approve(await payroll.run(second.id));
    await payroll.until(second.id, ['SETTLED'], 30_000);
    const before = await submits();
    await restoring.restore();
    const told = await restoring.answered();
    expect(told).toContain("resuming takes the bank's written word");
    expect(told.includes(`2 with 4 payments`)).toBe(isFound);
    expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
    await restoring.withdraw();
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
    await payroll.approve(await payroll.run(second.id));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await submits()).toBe(before);
    expect((await payroll.ledger()).payees.every(({ count }) => count === 1)).toBe(true);
  });
});
