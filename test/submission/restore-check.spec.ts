import { InstructionReader } from '../../src/submission/read-back';
import { RestoreAdoption } from '../../src/submission/restore-adoption';
import { RestoreCheck } from '../../src/submission/restore-check';
import { idsOf, RESTORE } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const ours = idsOf(1);

describe('after a restore', () => {
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
  });
  afterEach(() => office.close());

  it.each([
    [30, []],
    [60, [{ kind: 'FOLLOW' }]],
  ])(
    'what was abandoned 40 days ago is read again where it is watched %d days: %j',
    async (watchDays, woken) => {
      await execute(
        office.server.superuserUrl,
        `UPDATE instruction SET created_at = now() - interval '40 days' WHERE id = '${ours.abandoned}'`,
      );
      const reader = {} as InstructionReader;
      const adoption = {} as RestoreAdoption;
      const check = new RestoreCheck(office.database, reader, adoption, { WATCH_DAYS: watchDays });
      const sweep = { readable: true, unknown: [], moved: [], unidentified: [] };
      await check.reconcile(ours.employer, { id: RESTORE, what: 'The database was restored.' }, sweep, []);
      expect(
        await select(
          office.server.superuserUrl,
          `SELECT kind FROM lease WHERE subject_id = '${ours.abandoned}'`,
        ),
      ).toEqual(woken);
    },
  );
});
