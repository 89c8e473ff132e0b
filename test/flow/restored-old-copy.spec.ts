import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BankGateway } from '../../src/bank/gateway';
import { DAY_MS } from '../../src/domain/durations';
import { payFile, payRows } from '../support/pay-rows';
import { Restoring } from '../support/restoring';

let directory: string;
let restoring: Restoring;
afterEach(async () => {
  jest.restoreAllMocks();
  await restoring.close();
  await rm(directory, { recursive: true });
});

/** All that the bank lists was made so long ago. */
function listedOnlyFrom(daysAgo: number): void {
  const { listStatuses } = BankGateway.prototype;
  jest.spyOn(BankGateway.prototype, 'listStatuses').mockImplementation(async function* (
    this: BankGateway,
    bounds = {},
    ...wanted
  ) {
    if (Date.parse(bounds.from ?? '') > Date.now() - daysAgo * DAY_MS) return;
    yield* listStatuses.call(this, bounds, ...wanted);
  });
}

describe('an older copy of the database than anything is watched, of which nobody knows how old it is', () => {
  it('is held against the bank from the oldest run on that it has as still to be paid', async () => {
    directory = await mkdtemp(join(tmpdir(), 'payrun-old-copy-'));
    restoring = await Restoring.start({ RESTORE_WITNESS_FILE: join(directory, 'witness.json') });
    const { payroll } = restoring;
    const run = await payroll.uploaded(payFile(payRows(2)));
    await restoring.backUp();
    await restoring.inBackup(
      `SET session_replication_role = replica; UPDATE pay_run SET created_at = now() - interval '40 days'`,
    );
    await payroll.approve(run);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    const [paid] = (await payroll.run(run.id)).instructions;
    listedOnlyFrom(38);
    await restoring.restore();
    const told = await restoring.answered();
    expect(await restoring.stored('SELECT data_until FROM database_restore')).toEqual([{ data_until: null }]);
    expect(told).toContain(`(${paid!.bankInstructionId} of ${run.id}`);
  });
});
