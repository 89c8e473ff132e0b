import { Database, EmployerTransaction } from '../../src/database/database';
import { KillSwitch } from '../../src/employer/kill-switch';
import { clear, raise } from '../../src/pay-run/attention.store';
import { Attention } from '../../src/pay-run/attention.entity';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import { resumeAfter, stopEverything, stopUnlessDecided } from '../../src/pay-run/stop';
import { APPROVER, idsOf, PREPARER } from '../database/two-employers';
import { select, TestDatabase } from '../support/database';
import { eventually } from '../support/payroll';
import { NothingAsked, nothingAsked } from './nothing-asked';

const [ours, theirs] = [idsOf(1), idsOf(2)];
let office: NothingAsked;
let server: TestDatabase;
let database: Database;
let people: KillSwitch;
beforeEach(async () => {
  office = await nothingAsked();
  ({ server, database } = office);
  people = new KillSwitch(database);
});
afterEach(() => office.close());

type Breach = 'FOREIGN_RECORD' | 'INVARIANT_BREACH';

/** A breach as the service meets it: an attention and the stop of everything. */
function breach(kind: Breach, of = ours): Promise<void> {
  return database.inEmployer(of.employer, async (tx) => {
    await raise(tx, { kind, subjectId: of.run, payRunId: of.run, happened: 'a test' });
    await stopEverything(tx, { kind, subjectId: of.run });
  });
}

/** Two people let it go on. */
function decided(kind: AttentionKind, of = ours, subjectId = of.run): Promise<void> {
  return database.inEmployer(of.employer, async (tx) => {
    const attention = await openAttention(tx, kind, subjectId);
    await resumeAfter(tx, attention);
    await clear(tx, [kind], subjectId, 'two people said so');
  });
}

function openAttention(tx: EmployerTransaction, kind: AttentionKind, subjectId: string): Promise<Attention> {
  return tx.manager
    .createQueryBuilder(Attention, 'a')
    .where('a.kind = :kind AND a.subjectId = :subjectId AND a.resolvedAt IS NULL', { kind, subjectId })
    .getOneOrFail();
}

const submits = async () => {
  const { submitsOff, reason } = await people.service();
  return submitsOff ? reason : 'on';
};
const stoppedEmployer = async () => {
  const [row] = await database.inEmployer(ours.employer, (tx) =>
    tx.query<{ reason: string | null }>(`SELECT stopped_reason AS reason FROM employer`),
  );
  return row?.reason ?? 'runs';
};

describe('a breach that stops everything', () => {
  it('is over when two people decided it', async () => {
    await breach('FOREIGN_RECORD');
    expect(await submits()).toBe('FOREIGN_RECORD');
    await decided('FOREIGN_RECORD');
    expect(await submits()).toBe('on');
  });

  it('is not thrown again by a read that was under way while two people decided', async () => {
    const read = () =>
      database.inEmployer(ours.employer, (tx) =>
        stopUnlessDecided(tx, { kind: 'FOREIGN_RECORD', subjectId: ours.run, happened: 'a test' }),
      );
    await read();
    let underWay = Promise.resolve();
    await database.inEmployer(ours.employer, async (tx) => {
      const attention = await openAttention(tx, 'FOREIGN_RECORD', ours.run);
      await resumeAfter(tx, attention);
      await tx.query(
        `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
           confirmed_at) VALUES ($1, gen_random_uuid(), $2, 'RESUME', 'the bank knows', $3, $4, now())`,
        [ours.employer, attention.id, PREPARER, APPROVER],
      );
      await clear(tx, ['FOREIGN_RECORD'], ours.run, 'two people said so');
      underWay = read();
      await eventually(async () => {
        const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
        return (await select(server.superuserUrl, waiting)).length > 0;
      }, 5_000);
    });
    await underWay;
    expect(await submits()).toBe('on');
    expect(await select(server.superuserUrl, `SELECT FROM attention WHERE resolved_at IS NULL`)).toEqual([]);
  });

  it('stands while another one is undecided, of whatever kind', async () => {
    await breach('FOREIGN_RECORD');
    await breach('INVARIANT_BREACH');
    await decided('FOREIGN_RECORD');
    expect(await submits()).toBe('INVARIANT_BREACH');
    await decided('INVARIANT_BREACH');
    expect(await submits()).toBe('on');
  });

  it('stands while another employer has one, of the same kind too', async () => {
    await breach('FOREIGN_RECORD');
    await breach('FOREIGN_RECORD', theirs);
    await decided('FOREIGN_RECORD');
    expect(await submits()).toBe('FOREIGN_RECORD');
    await decided('FOREIGN_RECORD', theirs);
    expect(await submits()).toBe('on');
  });

  it('cannot be turned on again by the person who had stopped everything before it', async () => {
    await people.stopService(PREPARER, 'a look first');
    await breach('INVARIANT_BREACH');
    await expect(people.resumeService(PREPARER, 'looked')).rejects.toMatchObject({
      code: 'ATTENTION_DECIDES',
    });
    await decided('INVARIANT_BREACH');
    expect(await submits()).toBe('a look first');
    await people.resumeService(PREPARER, 'looked');
    expect(await submits()).toBe('on');
  });

  it("becomes a person's stop too, so that deciding it does not turn submits on", async () => {
    await breach('INVARIANT_BREACH');
    await people.stopService(PREPARER, 'we want to see this');
    await people.stopService(PREPARER, 'a second reason');
    await decided('INVARIANT_BREACH');
    expect(await submits()).toBe('we want to see this');
  });
});

describe('a stopped employer', () => {
  it('stays stopped while another attention stops it', async () => {
    await database.inEmployer(ours.employer, async (tx) => {
      const happened = 'a test';
      await raise(tx, { kind: 'CREDENTIALS', subjectId: ours.employer, happened });
      await raise(tx, { kind: 'INVARIANT_BREACH', subjectId: ours.run, happened });
      await tx.query(`UPDATE employer SET stopped_at = now(), stopped_reason = 'CREDENTIALS'`);
    });
    await decided('CREDENTIALS', ours, ours.employer);
    expect(await stoppedEmployer()).toBe('INVARIANT_BREACH');
    await decided('INVARIANT_BREACH', ours, ours.run);
    expect(await stoppedEmployer()).toBe('runs');
  });
});
