import { Database, EmployerTransaction } from '../../src/database/database';
import { InstructionReader } from '../../src/submission/read-back';
import { RestoreAdoption } from '../../src/submission/restore-adoption';
import { RestoreCheck } from '../../src/submission/restore-check';
import { idsOf, RESTORE } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const WAITING = { bank_instruction_id: 'b1', instruction_id: 'i1', pay_run_id: 'r1', reference: null };

describe('a forgotten submit that was not taken over', () => {
  it('is looked at again after a while though its run has not moved: the bank may not have been done with it', async () => {
    const adopt = jest.fn().mockResolvedValue('its totals are not the approved ones');
    const tx = {
      employerId: 'e1',
      query: (sql: string) =>
        Promise.resolve(sql.includes('f.restore_id IS NOT NULL') ? [{ ...WAITING, revision: '1' }] : []),
    } as unknown as EmployerTransaction;
    const database = {
      inEmployer: (_employerId: string, work: (tx: EmployerTransaction) => unknown) => work(tx),
    } as unknown as Database;
    const check = new RestoreCheck(database, undefined as never, { adopt } as unknown as RestoreAdoption, {
      WATCH_DAYS: 30,
    });
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    for (let n = 0; n < 2; n += 1) await check.adoptWaiting('e1');
    expect(adopt).toHaveBeenCalledTimes(1);
    now.mockReturnValue(3_600_000);
    await check.adoptWaiting('e1');
    expect(adopt).toHaveBeenCalledTimes(2);
    now.mockRestore();
  });
});

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
        `UPDATE instruction SET created_at = now() - interval '40 days' WHERE id = '${ours.abandoned}';
         UPDATE restore_check SET passed_at = NULL`,
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
