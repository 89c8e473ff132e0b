import { NotFound } from '../../src/bank/errors';
import { Claim, isThere, Leases, wake } from '../../src/database/leases';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { ENDED, nowRead, tellOfUnread } from '../../src/settlement/follow-alarms';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';
import { eventually } from '../support/payroll';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

describe('the question why what ended could not be read for a day', () => {
  it('is closed also where the last instructions of the run are read together', async () => {
    const { database, server } = office;
    const run = await database.inEmployer(ours.employer, async (tx) => {
      const found = await tx.manager.findOneByOrFail(PayRun, { id: ours.run });
      await tellOfUnread(tx, found, { bankInstructionId: 'bank-1-1' }, new NotFound(404, { raw: '' }));
      wake(tx, 'FOLLOW', ours.employer, [...ours.instruction]);
      return found;
    });
    await execute(
      server.superuserUrl,
      `UPDATE lease SET missing = '${ENDED}', missing_since = now() WHERE kind = 'FOLLOW'`,
    );
    const claims = await new Leases(database).claim('FOLLOW', 'a test', 10, 60_000);
    const [first, second] = ours.instruction.map((id) => claims.find(({ subjectId }) => subjectId === id)!);
    const read = (claim: Claim) =>
      database.inEmployer(ours.employer, async (tx) => {
        await isThere(tx, claim, ENDED);
        await nowRead(tx, run);
      });
    let beside = Promise.resolve();
    await database.inEmployer(ours.employer, async (tx) => {
      await isThere(tx, first!, ENDED);
      await nowRead(tx, run);
      beside = read(second!);
      await eventually(async () => {
        const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
        return (await select(server.superuserUrl, waiting)).length > 0;
      }, 5_000);
    });
    await beside;
    expect(await select(server.superuserUrl, `SELECT FROM attention WHERE resolved_at IS NULL`)).toEqual([]);
  });
});
