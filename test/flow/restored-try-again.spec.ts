import { InstructionReader } from '../../src/submission/read-back';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Restoring } from '../support/restoring';

let restoring: Restoring;
afterEach(() => {
  jest.restoreAllMocks();
  return restoring.close();
});

const QUEUED_MS = 12_000;

it('is not built again on the word of two people before the bank is read, while a submit of it may be forgotten', async () => {
  restoring = await Restoring.start({ SUBMIT_DOUBT_MS: '60000' }, { secondSubmit: 'executed' });
  const { payroll } = restoring;
  // The bank fails to show it for a while, so that people are asked.
  const { readBack } = InstructionReader.prototype;
  let isHidden = true;
  jest.spyOn(InstructionReader.prototype, 'readBack').mockImplementation(async function (
    this: InstructionReader,
    ...asked
  ) {
    const read = await readBack.apply(this, asked);
    const waits = isHidden && asked[0].instruction.status === 'VERIFIED';
    return waits ? { kind: 'wait', bankStatus: 'INI_STARTED' } : read;
  });
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SUBMITTING'], 20_000);
  await eventually(async () => {
    await execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET missing_since = missing_since - interval '11 minutes', wake_at = now() WHERE missing = 'ROWS'`,
    );
    return (await payroll.attention()).some(({ kind }) => kind === 'ROW_UNSEEN');
  }, 20_000);
  await restoring.backUp();
  await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs: QUEUED_MS });
  isHidden = false;
  await payroll.wakeAll();
  await eventually(async () => ((await payroll.calls()).submit ?? 0) === 1, 20_000);
  const late = new Promise((resolve) => setTimeout(resolve, QUEUED_MS + 500));
  await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
  await restoring.restore();
  const path = await payroll.askedAbout(id, 'ROW_UNSEEN');
  const said = await payroll.decide(path, { action: 'TRY_AGAIN', reason: 'it is not shown' });
  expect([said.status, said.data.code]).toEqual([409, 'NOT_RECONCILED']);
  await payroll.clearFaults();
  await restoring.answered();
  expect(await restoring.resume()).toBe('RESUMED');
  await payroll.until(id, ['SETTLED'], 30_000);
  await late;
  expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  await payroll.reconcile();
  expect(await payroll.attention()).toEqual([]);
});
