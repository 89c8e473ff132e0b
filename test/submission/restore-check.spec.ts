import { Database, EmployerTransaction } from '../../src/database/database';
import { RestoreAdoption } from '../../src/submission/restore-adoption';
import { RestoreCheck } from '../../src/submission/restore-check';

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
    const check = new RestoreCheck(database, undefined as never, { adopt } as unknown as RestoreAdoption);
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    for (let n = 0; n < 2; n += 1) await check.adoptWaiting('e1');
    expect(adopt).toHaveBeenCalledTimes(1);
    now.mockReturnValue(3_600_000);
    await check.adoptWaiting('e1');
    expect(adopt).toHaveBeenCalledTimes(2);
    now.mockRestore();
  });
});
