import { Logger } from '@nestjs/common';
import {
  BankError,
  type BankClientError,
  ContractDrift,
  NoReadAllowed,
  NotAllowed,
  NotFound,
  RateLimited,
  Unauthorised,
} from '../../src/bank/errors';
import { Clock } from '../../src/config/clock';
import type { Config } from '../../src/config/env';
import type { BackgroundDatabase } from '../../src/database/background-database';
import { Leases } from '../../src/database/leases';
import { ENDED } from '../../src/pay-run/ended-reads';
import type { BalanceLook } from '../../src/settlement/balance-look';
import { FollowService } from '../../src/settlement/follow.service';
import type { FollowRecord } from '../../src/settlement/follow-record';
import type { Follower, Step } from '../../src/settlement/follower';
import type { TombstoneWatch } from '../../src/settlement/tombstone-watch';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await office.close();
});

/** Takes up what is due once, which reads so; unless it is said, a defect of ours keeps that from being recorded. */
async function follow(step?: () => Promise<Step>, delayMs = 50, lookSoon = false): Promise<void> {
  const database = office.database as unknown as BackgroundDatabase;
  const defect = () => Promise.reject(new Error('a defect'));
  const follower = { step: step ?? defect } as unknown as Follower;
  const records = { judgeUnread: () => Promise.resolve() } as unknown as FollowRecord;
  const tombstones = { step: step ?? defect } as unknown as TombstoneWatch;
  const config = {
    LEASE_MS: 60_000,
    BANK_AMOUNT_UNIT: 'minor',
    WATCH_DAYS: 30,
    FOLLOW_DELAYS_MS: [delayMs],
    FOLLOW_STEP_MS: 1,
    SUBMIT_DOUBT_MS: 0,
  };
  const service = new FollowService(
    database,
    new Leases(database),
    follower,
    records,
    tombstones,
    { at: () => Promise.resolve(lookSoon) } as unknown as BalanceLook,
    new Clock(),
    config as unknown as Config,
  );
  await service.tick(new Set(['FOLLOW']));
  await service.drain();
}

const asked = () =>
  select(
    office.server.superuserUrl,
    `SELECT kind, payments, happened FROM attention WHERE resolved_at IS NULL`,
  );

it.each([
  ['CLOSED', `submitted_at = now(), closed_at = now(), outcome = 'SETTLED'`],
  ['ABANDONED', 'closed_at = NULL'],
])(
  'what is %s and cannot be recorded for a day is asked about, since nobody sees what becomes of it',
  async (status, ended) => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET status = '${status}', bank_instruction_id = '4711', ${ended}
       WHERE id = '${ours.instruction[1]}';
       DELETE FROM lease;
       INSERT INTO lease (subject_id, employer_id, kind, wake_at) VALUES ('${ours.instruction[1]}', '${ours.employer}', 'FOLLOW', now())`,
    );
    await follow();
    expect(await asked()).toEqual([]);
    const missing = await select(office.server.superuserUrl, `SELECT missing FROM lease`);
    expect(missing).toEqual([{ missing: ENDED }]);
    await execute(
      office.server.superuserUrl,
      `UPDATE lease SET missing_since = now() - interval '25 hours', wake_at = now()`,
    );
    await follow();
    await execute(office.server.superuserUrl, `UPDATE lease SET wake_at = now()`);
    await follow();
    const happened = expect.stringMatching(
      /^What the bank shows .* could not be recorded for a day, such as customer instruction "4711": that is a defect of this service/,
    ) as string;
    expect(await asked()).toEqual([{ kind: 'ROW_UNSEEN', payments: 3, happened }]);
    const [{ certain, askBank } = {}] = await select<{ certain: string; askBank: string }>(
      office.server.superuserUrl,
      `SELECT certain, ask_bank AS "askBank" FROM attention WHERE resolved_at IS NULL`,
    );
    expect(askBank).toBe('Nothing: this is decided here.');
    expect(certain).not.toContain('the bank does not show');
    await execute(
      office.server.superuserUrl,
      'UPDATE lease SET wake_at = now(), holder = NULL, leased_until = NULL',
    );
    await follow(() => Promise.resolve({ unshown: [] }));
    expect(await asked()).toEqual([]);
  },
);

describe('what ended, and is not shown', () => {
  const refused = new NotAllowed(403, { raw: '' });
  const hidden =
    /^The bank refuses to show instructions of this run that have ended: The bank answered 403\.$/;
  const whyHidden = /^Why are instructions of ours not shown any more/;
  const unasked = /^Instructions of this run that have ended are not read any more: .*: probe it again\.$/;
  const nothing = /^Nothing: this is decided here\.$/;
  const detached = /^Instructions of this run that have ended are not read any more: .* it is detached since/;
  const whatMoved = /^Did anything move of our instructions from account \S+ since they ended/;

  const readOnce = async (step: () => Promise<Step>, ofAccount = 'detached_at = NULL', lookSoon = false) => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE employer_account SET ${ofAccount} WHERE id = '${ours.account}';
       UPDATE instruction SET status = 'CLOSED', bank_instruction_id = '4711', submitted_at = now(), closed_at = now(),
         outcome = 'SETTLED' WHERE id = '${ours.instruction[1]}';
       INSERT INTO lease (subject_id, employer_id, kind, wake_at)
         VALUES ('${ours.instruction[1]}', '${ours.employer}', 'FOLLOW', now())
         ON CONFLICT (subject_id) DO UPDATE SET kind = 'FOLLOW', wake_at = now(), holder = NULL, leased_until = NULL;
       DELETE FROM lease WHERE subject_id <> '${ours.instruction[1]}'`,
    );
    await follow(step, undefined, lookSoon);
  };
  const told = () =>
    select<{ happened: string; askBank: string }>(
      office.server.superuserUrl,
      `SELECT happened, ask_bank AS "askBank" FROM attention WHERE resolved_at IS NULL`,
    );
  const tells = async (happened: RegExp, askBank: RegExp) =>
    expect(await told()).toEqual([
      {
        happened: expect.stringMatching(happened) as string,
        askBank: expect.stringMatching(askBank) as string,
      },
    ]);

  it.each([
    ['asks the bank why, where it refuses', refused, 'detached_at = NULL', hidden, whyHidden],
    ['asks it nothing where it was not asked', new NoReadAllowed(), 'detached_at = NULL', unasked, nothing],
    [
      'advises no probe of a detached account, and asks what moved',
      new NoReadAllowed(),
      'detached_at = now()',
      detached,
      whatMoved,
    ],
  ])('%s; and closes once it is read', async (_what, refusal, ofAccount, happened, askBank) => {
    await readOnce(() => Promise.reject(refusal), ofAccount);
    await tells(happened, askBank);
    await readOnce(() => Promise.resolve({ unshown: [] }), ofAccount);
    expect(await told()).toEqual([]);
  });

  it.each([
    ['403', refused],
    ['404', new NotFound(404, { raw: '' })],
  ])(
    'is read again soon where it answers %s, and the balance is to be looked at soon',
    async (_what, hides) => {
      const isSoon = async (lookSoon: boolean) => {
        await readOnce(() => Promise.reject(hides), undefined, lookSoon);
        const soon = `SELECT wake_at < now() + interval '1 minute' AS soon FROM lease`;
        return select(office.server.superuserUrl, soon);
      };
      // The second look at what ended has been, so that the next is a day later.
      await isSoon(true);
      expect(await isSoon(true)).toEqual([{ soon: true }]);
      expect(await isSoon(false)).toEqual([{ soon: false }]);
    },
  );

  it('asks what moved once its account is detached, also where people had read before that a probe may help', async () => {
    await readOnce(() => Promise.reject(new NoReadAllowed()));
    await tells(unasked, nothing);
    await readOnce(() => Promise.reject(new NoReadAllowed()), 'detached_at = now()');
    await tells(detached, whatMoved);
  });

  it('is told anew where the bank refuses what it was not asked for before, and the other way round', async () => {
    for (let n = 0; n < 2; n += 1) {
      await readOnce(() => Promise.reject(new NoReadAllowed()));
      await tells(unasked, nothing);
      await readOnce(() => Promise.reject(refused));
      await tells(hidden, whyHidden);
    }
  });
});

describe('one of two that ended, and were not shown for a day,', () => {
  const [FIRST, SECOND] = ours.instruction;
  const broken = new BankError(500, { raw: '' });
  const refused = new NotAllowed(403, { raw: '' });
  beforeEach(() =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET status = 'CLOSED', bank_instruction_id = '471' || right(id::text, 1), submitted_at = now(),
         closed_at = now(), outcome = 'SETTLED' WHERE id IN ('${FIRST}', '${SECOND}');
       DELETE FROM lease;
       INSERT INTO lease (subject_id, employer_id, kind, wake_at, missing, missing_since)
         SELECT id, employer_id, 'FOLLOW', 'infinity', '${ENDED}', now() - interval '25 hours' FROM instruction
         WHERE id IN ('${FIRST}', '${SECOND}')`,
    ),
  );
  const readOnce = async (id: string, failure?: BankClientError) => {
    await execute(
      office.server.superuserUrl,
      `UPDATE lease SET holder = NULL, leased_until = NULL,
         wake_at = CASE WHEN subject_id = '${id}' THEN now() ELSE 'infinity' END`,
    );
    await follow(() => (failure ? Promise.reject(failure) : Promise.resolve({ unshown: [] })));
  };
  const told = () =>
    select<{ id: string; happened: string }>(
      office.server.superuserUrl,
      'SELECT id, happened FROM attention WHERE resolved_at IS NULL',
    );

  it('is not asked about any more once it is read, and the other is', async () => {
    for (const id of [FIRST, SECOND]) await readOnce(id, broken);
    const before = await told();
    expect(before).toMatchObject([{ happened: expect.stringMatching(/^[^"]*"4711"[^"]*$/) }]);
    await readOnce(FIRST);
    for (let n = 0; n < 2; n += 1) await readOnce(SECOND, broken);
    expect(await told()).toMatchObject([{ happened: expect.stringMatching(/^[^"]*"4712"[^"]*$/) }]);
    await readOnce(SECOND);
    expect(await told()).toEqual([]);
  });

  it('is not told anew in the same words of the other, of which the same is true', async () => {
    await readOnce(FIRST, refused);
    const before = await told();
    await readOnce(FIRST);
    await readOnce(SECOND, refused);
    expect(before).toHaveLength(1);
    expect(await told()).toEqual(before);
  });
});

describe('what ended, and to which our access is refused', () => {
  const id = ours.instruction[1];
  const refused = new Unauthorised(401, { raw: '' });
  const READ = undefined;
  const changed = (...statements: string[]) =>
    execute(
      office.server.superuserUrl,
      ['SET session_replication_role = replica', ...statements].join(';\n'),
    );
  beforeEach(() =>
    changed(
      `UPDATE pay_run SET status = 'SETTLED' WHERE id = '${ours.run}'`,
      `UPDATE instruction SET status = 'CLOSED', bank_instruction_id = '4711', submitted_at = now(), closed_at = now(),
         outcome = 'SETTLED' WHERE id = '${id}'`,
      'DELETE FROM lease',
      `INSERT INTO lease (subject_id, employer_id, kind, wake_at) VALUES ('${id}', '${ours.employer}', 'FOLLOW', now())`,
    ),
  );
  /** Whether the employer is stopped after a read that fails so, or does not. */
  const isStoppedBy = async (failure?: BankClientError) => {
    await changed('UPDATE lease SET wake_at = now(), holder = NULL, leased_until = NULL');
    await follow(() => (failure ? Promise.reject(failure) : Promise.resolve({ unshown: [] })));
    const stopped = 'SELECT FROM employer WHERE stopped_at IS NOT NULL';
    return (await select(office.server.superuserUrl, stopped)).length > 0;
  };
  const resume = async () => {
    await office.resume();
    await changed('UPDATE employer SET stopped_at = NULL, stopped_reason = NULL');
  };

  it('stops nobody again, as long as it lasts, once two people let the employer go on', async () => {
    expect(await isStoppedBy(refused)).toBe(true);
    expect(await asked()).toMatchObject([{ kind: 'CREDENTIALS' }]);
    await resume();
    for (const failure of [refused, new BankError(500, { raw: '' }), refused])
      expect(await isStoppedBy(failure)).toBe(false);
    expect(await asked()).toEqual([]);
  });

  it('stops them again where it was read meanwhile', async () => {
    await isStoppedBy(refused);
    await resume();
    expect(await isStoppedBy(READ)).toBe(false);
    expect(await isStoppedBy(refused)).toBe(true);
  });

  it('stops them again where our access is refused to what has not ended, too', async () => {
    await isStoppedBy(refused);
    await resume();
    await changed(
      `UPDATE instruction SET status = 'SUBMITTED', closed_at = NULL, outcome = NULL WHERE id = '${id}'`,
    );
    expect(await isStoppedBy(refused)).toBe(true);
  });
});

describe('in a process set to another unit of amounts than its account was checked under', () => {
  it.each([
    ['SUBMITTED', 'submitted_at = now()', 1],
    ['CLOSED', `submitted_at = now(), closed_at = now(), outcome = 'SETTLED'`, 1],
    ['ABANDONED', 'closed_at = NULL', 0],
    ['RELEASED', 'closed_at = NULL', 0],
    ['VOID', 'closed_at = NULL', 0],
  ])('what is %s is told of as not followed only where it was submitted', async (status, ended, told) => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE employer_account SET unit_confirmed = 'major' WHERE id = '${ours.account}';
       UPDATE instruction SET status = '${status}', bank_instruction_id = '4711', ${ended}
       WHERE id = '${ours.instruction[1]}';
       DELETE FROM lease;
       INSERT INTO lease (subject_id, employer_id, kind, wake_at) VALUES ('${ours.instruction[1]}', '${ours.employer}', 'FOLLOW', now())`,
    );
    await follow(() => Promise.reject(new Error('is not read')));
    const happened = expect.stringMatching(/^What was submitted from account/) as string;
    expect(await asked()).toEqual(Array(told).fill({ kind: 'ACCOUNT_UNUSABLE', payments: 0, happened }));
  });
});

describe('what is open, and of which some payments were seen while others could not be read', () => {
  const HOUR_S = 3_600;
  const broken = new BankError(500, { raw: '' });
  const garbled = new ContractDrift(['status']);

  async function readOnce(failures: Pick<Step, 'cutShort' | 'unread' | 'isLacking'>): Promise<number> {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET status = 'SUBMITTED', bank_instruction_id = '4711', submitted_at = now()
       WHERE id = '${ours.instruction[1]}';
       DELETE FROM lease;
       INSERT INTO lease (subject_id, employer_id, kind, wake_at) VALUES ('${ours.instruction[1]}', '${ours.employer}', 'FOLLOW', now())`,
    );
    await follow(() => Promise.resolve({ unshown: [], ...failures }), HOUR_S * 1_000);
    const [{ s = 0 } = {}] = await select<{ s: number }>(
      office.server.superuserUrl,
      'SELECT round(extract(epoch FROM wake_at - clock_timestamp()))::int AS s FROM lease',
    );
    return s;
  }
  const kinds = async () => (await asked()).map(({ kind }) => kind as string);

  it.each<[string, BankClientError]>([
    ['fail', broken],
    ['are answered so that it cannot be used', garbled],
  ])('is read again when it would have been, where those %s', async (_, failure) => {
    const s = await readOnce(failure === garbled ? { unread: failure } : { cutShort: failure });
    expect(s).toBeGreaterThan(HOUR_S - 60);
    expect(await kinds()).toEqual(failure === garbled ? ['CONTRACT_DRIFT'] : []);
  });

  it('is read again as soon as the bank asks for that', async () => {
    const s = await readOnce({ cutShort: new RateLimited(60_000) });
    expect(s).toBeGreaterThan(30);
    expect(s).toBeLessThan(90);
  });

  it('is asked about where one is answered so, whatever keeps others from being read, until all are read', async () => {
    await readOnce({ cutShort: broken, unread: garbled });
    expect(await kinds()).toEqual(['CONTRACT_DRIFT']);
    await readOnce({ cutShort: broken });
    expect(await kinds()).toEqual(['CONTRACT_DRIFT']);
    await readOnce({ isLacking: true });
    expect(await kinds()).toEqual(['CONTRACT_DRIFT']);
    await readOnce({});
    expect(await kinds()).toEqual([]);
  });
});

const NEVER_SUBMITTED = 'submitted_at = NULL, closed_at = NULL';

describe.each([
  ['people declared not executed', 'VOID', NEVER_SUBMITTED],
  ['was abandoned', 'ABANDONED', NEVER_SUBMITTED],
  ['was released', 'RELEASED', NEVER_SUBMITTED],
  [
    'was submitted, and whose payments people declared not paid',
    'CLOSED',
    `submitted_at = now() - interval '40 days', closed_at = now() - interval '31 days', outcome = 'FAILED'`,
  ],
])('what %s more than the days ago that it is watched', (_what, status, ended) => {
  const isReadAgain = async (executionDate: string, declared = 'VOID') => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET status = '${status}', bank_instruction_id = '4711', ${ended}
       WHERE id = '${ours.instruction[1]}';
       UPDATE payment SET status = '${declared}', live = false;
       DELETE FROM payment_decision;
       UPDATE state_change SET at = now() - interval '31 days';
       UPDATE instruction SET created_at = now() - interval '31 days';
       UPDATE pay_run SET execution_date = current_date - 32;
       UPDATE pay_run_version SET execution_date = ${executionDate};
       DELETE FROM lease;
       INSERT INTO lease (subject_id, employer_id, kind, wake_at) VALUES ('${ours.instruction[1]}', '${ours.employer}', 'FOLLOW', now())`,
    );
    await follow(() => Promise.resolve({ unshown: [] }));
    return select(
      office.server.superuserUrl,
      `SELECT wake_at < 'infinity' AS again, wake_at BETWEEN now() + interval '23 hours' AND now() + interval '25 hours' AS daily FROM lease`,
    );
  };

  it.each([
    ['is read daily where the bank may execute it on a date to come', 'current_date + 15', true],
    ['is read daily where that date was not so long ago', 'current_date - 15', true],
    ['is read no more where that date was as long ago', 'current_date - 32', false],
  ])('%s', async (_what, executionDate, expected) => {
    expect(await isReadAgain(executionDate)).toEqual([{ again: expected, daily: expected }]);
  });

  if (status === 'CLOSED')
    it('is read no more, whatever its date, where the bank had ended all of it', async () => {
      const expected = [{ again: false, daily: false }];
      expect(await isReadAgain('current_date + 15', 'FAILED')).toEqual(expected);
    });
});

describe('what ended more than the days ago that it is watched', () => {
  const closed = (at: string) =>
    `status = 'CLOSED', outcome = 'SETTLED', closed_at = now() - interval '${at}'`;
  const isReadAgain = async (
    balance: string,
    sent: string,
    other: string,
    own = `submitted_at = now() - interval '32 days', ${closed('31 days')}`,
  ) => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO pay_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'schedule_id', gen_random_uuid()))).*
         FROM pay_run r WHERE id = '${ours.run}';
       INSERT INTO instruction SELECT (jsonb_populate_record(i, jsonb_build_object('id', gen_random_uuid(),
           'planned_instruction_id', gen_random_uuid(), 'bank_instruction_id', '4712',
           'pay_run_id', (SELECT r.id FROM pay_run r WHERE r.employer_id = i.employer_id AND r.id <> i.pay_run_id LIMIT 1)))).*
         FROM instruction i WHERE id = '${ours.instruction[1]}';
       UPDATE instruction SET submitted_at = now() - interval '${sent}', ${other} WHERE bank_instruction_id = '4712';
       UPDATE instruction SET bank_instruction_id = '4711', ${own}
       WHERE id = '${ours.instruction[1]}';
       UPDATE pay_run_version SET execution_date = current_date - 31;
       UPDATE pay_run SET balance_before_minor = ${balance}, balance_read_at = CASE WHEN ${balance} IS NOT NULL THEN now() END WHERE id = '${ours.run}';
       DELETE FROM lease;
       INSERT INTO lease (subject_id, employer_id, kind, wake_at) VALUES ('${ours.instruction[1]}', '${ours.employer}', 'FOLLOW', now())`,
    );
    await follow(() => Promise.resolve({ unshown: [] }));
    const [lease] = await select<{ again: boolean }>(
      office.server.superuserUrl,
      `SELECT wake_at < 'infinity' AS again FROM lease WHERE subject_id = '${ours.instruction[1]}'`,
    );
    return lease?.again;
  };

  it.each([
    [
      'is read on while another, sent within these, is under way',
      '1',
      '20 days',
      `status = 'SUBMITTED'`,
      true,
    ],
    ['is read on while that ended within the days that it is watched', '1', '20 days', closed('1 day'), true],
    ['is read no more once that ended longer ago', '1', '32 days', closed('31 days'), false],
    ['is read no more for another that was sent since', '1', '1 hour', `status = 'SUBMITTED'`, false],
    ['is read no more where no balance is to be compared', 'NULL', '20 days', `status = 'SUBMITTED'`, false],
  ])('%s', async (_what, balance, sent, other, expected) => {
    expect(await isReadAgain(balance, sent, other)).toBe(expected);
  });

  it('is read on, where people declared it not executed before its date, by that date', async () => {
    const declared = `status = 'VOID', submitted_at = NULL, created_at = now() - interval '60 days'`;
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       DELETE FROM state_change WHERE subject_id = '${ours.instruction[1]}'`,
    );
    expect(await isReadAgain('1', '20 days', `status = 'SUBMITTED'`, declared)).toBe(true);
  });
});
