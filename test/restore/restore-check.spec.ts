import { BankError, BankUnreachable, ReadFails } from '../../src/bank/errors';
import { Database, EmployerTransaction } from '../../src/database/database';
import { PersonalData } from '../../src/database/personal-data';
import { showId } from '../../src/http/prefixed-id';
import { InstructionReader } from '../../src/submission/read-back';
import { RestoreAdoption } from '../../src/restore/restore-adoption';
import { RestoreCheck } from '../../src/restore/restore-check';
import { RestoreOwners } from '../../src/restore/restore-owners';
import type { RestoreWatch } from '../../src/restore/restore-watch';
import type { Finding } from '../../src/restore/restore-words';
import type { UnrecordedSubmits } from '../../src/restore/unrecorded-submits';
import { idsOf, RESTORE } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';
import { WHOLE_SWEEP } from './whole-sweep';

const WAITING = {
  bank_instruction_id: 'b1',
  instruction_id: 'i1',
  pay_run_id: 'r1',
  reference: null,
  revision: '1',
  goes_on: true,
  status: null,
};

describe('a forgotten submit that was not taken over', () => {
  /** A check of an employer one of whose submits waits to be taken over. */
  const checkOf = (adopt: jest.Mock, waiting = [WAITING], asked: string[] = []) => {
    const tx = {
      employerId: 'e1',
      query: (sql: string) => {
        asked.push(sql);
        return Promise.resolve(sql.includes('f.restore_id') ? waiting : []);
      },
    } as unknown as EmployerTransaction;
    const database = {
      inEmployer: (_employerId: string, work: (tx: EmployerTransaction) => unknown) => work(tx),
    } as unknown as Database;
    const adoption = { adopt } as unknown as RestoreAdoption;
    return new RestoreCheck(
      database,
      undefined as never,
      adoption,
      {} as RestoreWatch,
      {} as UnrecordedSubmits,
      {
        WATCH_DAYS: 30,
      },
    );
  };

  it('keeps nobody waiting where the bank fails for good to show its payments', async () => {
    const broken = new BankError(500, { raw: '' });
    const check = checkOf(
      jest.fn().mockRejectedValue(new ReadFails('the payments of this instruction', broken)),
    );
    await expect(check.adoptWaiting('e1')).resolves.toBeUndefined();
    await expect(checkOf(jest.fn().mockRejectedValue(broken)).adoptWaiting('e1')).rejects.toBe(broken);
  });

  it('keeps no other from being taken over, or asked about, where the bank fails to show it for now', async () => {
    const asked: string[] = [];
    const adopt = jest
      .fn()
      .mockRejectedValueOnce(new BankError(500, { raw: '' }))
      .mockResolvedValue(undefined);
    const check = checkOf(adopt, [WAITING, { ...WAITING, bank_instruction_id: 'b2' }], asked);
    await expect(check.adoptWaiting('e1')).rejects.toBeInstanceOf(BankError);
    expect(adopt).toHaveBeenCalledTimes(2);
    expect(asked).toContainEqual(expect.stringContaining('SELECT DISTINCT r.id FROM forgotten_instruction'));
  });

  it('is looked at again after a while though its run has not moved: the bank may not have been done with it', async () => {
    const adopt = jest.fn().mockResolvedValue('its totals are not the approved ones');
    const check = checkOf(adopt);
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    for (let n = 0; n < 2; n += 1) await check.adoptWaiting('e1');
    expect(adopt).toHaveBeenCalledTimes(1);
    now.mockReturnValue(3_600_000);
    await check.adoptWaiting('e1');
    expect(adopt).toHaveBeenCalledTimes(2);
    now.mockRestore();
  });
});

it('after a restore each instruction is read, also behind one that fails: all are known to fail for good at one time', async () => {
  const work = { instruction: {}, account: { reads: ['INSTRUCTION'] }, run: {}, planned: {} };
  const database = { inEmployer: () => Promise.resolve([work, work, work]) } as unknown as Database;
  const readTimes = async (failure: Error) => {
    const standing = jest.fn().mockRejectedValue(failure);
    const reader = { standing } as unknown as InstructionReader;
    const check = new RestoreCheck(
      database,
      reader,
      {} as RestoreAdoption,
      {} as RestoreWatch,
      {} as UnrecordedSubmits,
      {
        WATCH_DAYS: 30,
      },
    );
    await expect(check['movedOf']('e1', WHOLE_SWEEP, [])).rejects.toBe(failure);
    return standing.mock.calls.length;
  };
  expect(await readTimes(new BankError(409, { raw: '' }))).toBe(3);
  expect(await readTimes(new BankUnreachable('ECONNREFUSED', false))).toBe(1);
});

const ours = idsOf(1);

describe('after a restore', () => {
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
  });
  afterEach(() => office.close());

  const reconcile = (
    watchDays = 30,
    findings: readonly Finding[] = [],
    unidentified: string[] = [],
    adoption: object = {},
  ) => {
    const check = new RestoreCheck(
      office.database,
      {} as InstructionReader,
      adoption as RestoreAdoption,
      {} as RestoreWatch,
      {} as UnrecordedSubmits,
      { WATCH_DAYS: watchDays },
    );
    return check.reconcile(
      ours.employer,
      { id: RESTORE, what: 'The database was restored.' },
      { ...WHOLE_SWEEP, unidentified },
      { own: findings, givenUp: [] },
    );
  };

  const unclear: Finding = {
    bankInstructionId: 'bank-1-1',
    instructionId: ours.instruction[0],
    payRunId: ours.run,
    reference: undefined,
    status: 'INITIATED',
    submitted: false,
    isUnclear: true,
    payments: 1,
    refusal: undefined,
  };

  it('what was shown to a pass that was not brought to its end is told by the one that is', async () => {
    await execute(
      office.server.superuserUrl,
      'SET session_replication_role = replica; DELETE FROM forgotten_instruction; UPDATE restore_check SET passed_at = NULL',
    );
    const shown = {
      ...unclear,
      bankInstructionId: 'bank-x',
      status: 'SUB_REQUIRED',
      submitted: true,
      payments: 7,
    };
    const byEmployer = new Map([[ours.employer, [shown, { ...unclear, bankInstructionId: 'bank-y' }]]]);
    const personal = new PersonalData({ PAYRUN_HASH_KEY: 'a key of at least thirty-two letters' });
    const owners = new RestoreOwners(office.database, personal);
    await owners.keepForgotten(RESTORE, { ...WHOLE_SWEEP, readable: false }, { byEmployer, ownerless: [] });
    const kept =
      'SELECT bank_instruction_id AS id FROM forgotten_instruction WHERE employer_id = $1 AND payments IS NOT NULL';
    expect(await select(office.server.superuserUrl, kept, [ours.employer])).toEqual([{ id: 'bank-x' }]);
    await reconcile(30, [], [], { adopt: () => Promise.resolve('a test') });
    const late = new Map([[ours.employer, [{ ...shown, bankInstructionId: 'bank-z' }]]]);
    await owners.keepForgotten(RESTORE, WHOLE_SWEEP, { byEmployer: late, ownerless: [] });
    expect(await select(office.server.superuserUrl, kept, [ours.employer])).toEqual([{ id: 'bank-x' }]);
    const [asked] = await select<{ happened: string }>(
      office.server.superuserUrl,
      `SELECT happened FROM attention WHERE employer_id = $1 AND kind = 'RESTORED' AND resolved_at IS NULL`,
      [ours.employer],
    );
    expect(asked?.happened).toMatch(/^.*1 with 7 payments \(bank-x of run_[^ ]+, SUB_REQUIRED, a test\)/);
  });

  it('runs whose approvals lapse and runs that are stopped are waited for in one order', async () => {
    const { superuserUrl } = office.server;
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE restore_check SET passed_at = NULL;
       INSERT INTO approval
       SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'pay_run_id', '${ours.spareRun}',
         'known_restores', 0))).*
       FROM approval a WHERE id = '${ours.approval}'`,
    );
    expect(ours.run < ours.spareRun).toBe(true);
    await connected(superuserUrl, async (submitter) => {
      await submitter.query(`BEGIN; SELECT FROM pay_run WHERE id = '${ours.run}' FOR SHARE`);
      const underWay = reconcile(30, [unclear]);
      await eventually(() => isWaitedFor(submitter), 5_000);
      const next = `SELECT FROM pay_run WHERE id = '${ours.spareRun}' FOR SHARE NOWAIT`;
      await expect(submitter.query(next)).resolves.toBeDefined();
      await submitter.query('COMMIT');
      await underWay;
    });
    expect(
      await select(
        superuserUrl,
        `SELECT (SELECT stopped_reason FROM pay_run WHERE id = '${ours.run}') AS stopped,
           (SELECT voided_at IS NOT NULL FROM approval WHERE pay_run_id = '${ours.spareRun}') AS lapsed`,
      ),
    ).toEqual([{ stopped: 'RESTORED_UNCLEAR', lapsed: true }]);
  });

  it('a run is stopped, too, whose rows were not fixed yet: it may have been paid since', async () => {
    const { superuserUrl } = office.server;
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE restore_check SET passed_at = NULL; UPDATE pay_run SET known_restores = 0, status = 'DRAFT'`,
    );
    await reconcile(30, [], ['of-nobody']);
    const stopped = await select(
      superuserUrl,
      `SELECT DISTINCT stopped_reason AS reason FROM pay_run WHERE employer_id = '${ours.employer}'`,
    );
    expect(stopped).toEqual([{ reason: 'RESTORED_UNCLEAR' }]);
  });

  it('a run that was cancelled while its turn was waited for is not said to stay stopped', async () => {
    const { superuserUrl } = office.server;
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE restore_check SET passed_at = NULL; UPDATE pay_run SET known_restores = 0, status = 'READY'`,
    );
    await connected(superuserUrl, async (person) => {
      await person.query(
        `SET session_replication_role = replica; BEGIN;
         UPDATE pay_run SET status = 'CANCELLED' WHERE id = '${ours.spareRun}'`,
      );
      const underWay = reconcile(30, [], ['of-nobody']);
      await eventually(() => isWaitedFor(person), 5_000);
      await person.query('COMMIT');
      await underWay;
    });
    const [asked] = await select(
      superuserUrl,
      `SELECT happened FROM attention WHERE kind = 'RESTORED' AND resolved_at IS NULL`,
    );
    expect(asked!.happened).toContain(showId('run', ours.run));
    expect(asked!.happened).not.toContain(showId('run', ours.spareRun));
  });

  it('of a run that was cancelled, and of which something may be submitted, it is not said that it is not cancelled', async () => {
    const { superuserUrl } = office.server;
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE restore_check SET passed_at = NULL; UPDATE pay_run SET status = 'CANCELLED' WHERE id = '${ours.run}'`,
    );
    await reconcile(30, [unclear]);
    const [asked] = await select(
      superuserUrl,
      `SELECT happened FROM attention WHERE kind = 'RESTORED' AND resolved_at IS NULL`,
    );
    expect(asked!.happened).toContain('its run can be neither approved nor cancelled any more');
  });

  it.each([
    [40, 30, []],
    [40, 60, [{ kind: 'FOLLOW' }]],
    [20, 30, [{ kind: 'FOLLOW' }]],
  ])(
    'what was abandoned 40 days ago, for a date %d days ago, is read again where it is watched %d days: %j',
    async (dueDays, watchDays, woken) => {
      await execute(
        office.server.superuserUrl,
        `UPDATE instruction SET created_at = now() - interval '40 days' WHERE id = '${ours.abandoned}';
         SET session_replication_role = replica; UPDATE restore_check SET passed_at = NULL;
         UPDATE pay_run_version SET execution_date = current_date - ${dueDays}`,
      );
      await reconcile(watchDays);
      expect(
        await select(
          office.server.superuserUrl,
          `SELECT kind FROM lease WHERE subject_id = '${ours.abandoned}'`,
        ),
      ).toEqual(woken);
    },
  );
});
