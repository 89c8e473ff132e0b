import { Client } from 'pg';
import { execute, isLockAwaited } from '../support/database';
import { eventually } from '../support/eventually';
import { trials } from './trials';
import { idsOf } from './two-employers';

const a = idsOf(1);
const HOLDER = 'this process';

/** What a call to the bank is allowed by. */
interface Allowed {
  run_status: string;
  ended: boolean;
  stopped: boolean;
  instruction_status: string;
  held: boolean;
  account_status: string;
}

const ALLOWED: Allowed = {
  run_status: 'SUBMITTING',
  ended: false,
  stopped: false,
  instruction_status: 'SUBMIT_INTENT',
  held: true,
  account_status: 'OPENED',
};

const LOCK = `SELECT run_status, ended, stopped, instruction_status, held, account_status
  FROM lock_for_call('${a.employer}', '${a.run}', '${a.instruction[0]}', '${a.account}', '${a.run}', '${HOLDER}', 1)`;

/** What forbids a call, what undoes it, and what a call then finds. */
const FORBIDDEN: [string, string, string, Partial<Allowed>][] = [
  [
    'the run is stopped',
    `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a doubt' WHERE id = '${a.run}'`,
    `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL WHERE id = '${a.run}'`,
    { stopped: true },
  ],
  [
    'the approval lapses',
    `UPDATE pay_run SET lapse_reason = 'too late' WHERE id = '${a.run}'`,
    `UPDATE pay_run SET lapse_reason = NULL WHERE id = '${a.run}'`,
    { ended: true },
  ],
  [
    'the employer is stopped',
    `UPDATE employer SET stopped_at = now(), stopped_reason = 'a doubt' WHERE id = '${a.employer}'`,
    `UPDATE employer SET stopped_at = NULL, stopped_reason = NULL WHERE id = '${a.employer}'`,
    { stopped: true },
  ],
  [
    'everything is stopped',
    `UPDATE service_switch SET submits_off = true, reason = 'a doubt'`,
    `UPDATE service_switch SET submits_off = false, reason = NULL`,
    { stopped: true },
  ],
  [
    'the account is blocked',
    `UPDATE employer_account SET bank_status = 'SUSPENDED' WHERE id = '${a.account}'`,
    `UPDATE employer_account SET bank_status = 'OPENED' WHERE id = '${a.account}'`,
    { account_status: 'SUSPENDED' },
  ],
  [
    'the instruction moves',
    `UPDATE instruction SET status = 'SUBMIT_UNKNOWN' WHERE id = '${a.instruction[0]}'`,
    `SET session_replication_role = replica;
     UPDATE instruction SET status = 'SUBMIT_INTENT' WHERE id = '${a.instruction[0]}'`,
    { instruction_status: 'SUBMIT_UNKNOWN' },
  ],
];

/** What forbids a call besides, what undoes it, and what a call then finds. */
const FORBIDDEN_TOO: [string, string, string, object][] = [
  [
    'a submit of the run is not in the record',
    `UPDATE forgotten_instruction SET adopted_at = NULL WHERE pay_run_id = '${a.run}'`,
    `UPDATE forgotten_instruction SET adopted_at = now() WHERE pay_run_id = '${a.run}'`,
    { stopped: true },
  ],
  [
    'the bank was not read since a restore',
    `UPDATE restore_check SET passed_at = NULL WHERE employer_id = '${a.employer}'`,
    `UPDATE restore_check SET passed_at = now() WHERE employer_id = '${a.employer}'`,
    { restored: true },
  ],
  [
    'an amendment waits to be applied',
    `UPDATE amendment SET applied_as_version = NULL WHERE pay_run_id = '${a.run}'`,
    `UPDATE amendment SET applied_as_version = 1 WHERE pay_run_id = '${a.run}'`,
    { ended: true },
  ],
  [
    'the run is being cancelled',
    `UPDATE pay_run SET status = 'CANCELLING' WHERE id = '${a.run}'`,
    `UPDATE pay_run SET status = 'SUBMITTING' WHERE id = '${a.run}'`,
    { ended: true, run_status: 'CANCELLING' },
  ],
];

describe('a call to the bank that is being intended', () => {
  const trial = trials();
  let other: Client;
  let undone: string | undefined;

  beforeEach(async () => {
    await execute(
      trial.superuserUrl,
      `UPDATE lease SET holder = '${HOLDER}', epoch = 1, leased_until = now() + interval '1 hour'
       WHERE subject_id = '${a.run}'`,
    );
    other = new Client({ connectionString: trial.superuserUrl });
    await other.connect();
  });
  afterEach(async () => {
    await trial.client.query('ROLLBACK');
    await other.end();
    if (undone !== undefined) await execute(trial.superuserUrl, undone);
    undone = undefined;
  });

  const allowed = async (client: Client): Promise<Allowed | undefined> =>
    (await client.query<Allowed>(LOCK)).rows[0];
  /** Whether a query waits for a lock of another; not, where it ends without. */
  const isWaiting = (query: Promise<unknown>): Promise<boolean> =>
    Promise.race([
      query.then(() => false),
      eventually(() => isLockAwaited(trial.superuserUrl), 5_000).then(() => true),
    ]);

  it.each(FORBIDDEN)('stays allowed to its commit where %s meanwhile', async (_what, forbid, undo) => {
    undone = undo;
    expect(await allowed(trial.client)).toEqual(ALLOWED);
    const forbidding = other.query(forbid);
    expect(await isWaiting(forbidding)).toBe(true);
    await trial.client.query('COMMIT');
    await forbidding;
  });

  it.each(FORBIDDEN_TOO)('is not allowed where %s', async (_what, forbid, undo, found) => {
    const lawless = (statement: string) => `SET session_replication_role = replica; ${statement}`;
    undone = lawless(undo);
    await execute(trial.superuserUrl, undone);
    const ask = async () =>
      (await trial.client.query<object>(LOCK.replace('SELECT ', 'SELECT restored, '))).rows[0];
    expect(await ask()).toEqual({ ...ALLOWED, restored: false });
    await trial.client.query('ROLLBACK; BEGIN');
    await execute(trial.superuserUrl, lawless(forbid));
    expect(await ask()).toEqual({ ...ALLOWED, restored: false, ...found });
  });

  it.each(FORBIDDEN)('is not allowed any more where %s first', async (_what, forbid, undo, found) => {
    undone = undo;
    await other.query(`BEGIN; ${forbid}`);
    const asked = allowed(trial.client);
    expect(await isWaiting(asked)).toBe(true);
    await other.query('COMMIT');
    expect(await asked).toEqual({ ...ALLOWED, ...found });
  });

  it('keeps its lease to its commit, however late that is', async () => {
    expect(await allowed(trial.client)).toEqual(ALLOWED);
    const claim = `SELECT FROM lease WHERE subject_id = '${a.run}' FOR UPDATE SKIP LOCKED`;
    expect((await other.query(claim)).rowCount).toBe(0);
    await trial.client.query('COMMIT');
    expect((await other.query(claim)).rowCount).toBe(1);
  });

  it.each([
    ['another holds it', `holder = 'another'`],
    ['it was claimed again', 'epoch = 2'],
    ['it ran out', `leased_until = now() - interval '1 second'`],
  ])('is not allowed without its lease: %s', async (_what, change) => {
    await trial.client.query(`UPDATE lease SET ${change} WHERE subject_id = '${a.run}'`);
    expect(await allowed(trial.client)).toEqual({ ...ALLOWED, held: false });
  });
});
