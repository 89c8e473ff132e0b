import { Clock } from '../../src/config/clock';
import { Database, EmployerTransaction } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { PersonalData } from '../../src/database/personal-data';
import {
  Alarm,
  clear,
  clearBuilding,
  raise,
  raiseNaming,
  raiseUndecided,
} from '../../src/pay-run/attention.store';
import type { AttentionAction } from '../../src/pay-run/attention-words';
import { stopUnlessDecided } from '../../src/pay-run/stop';
import { AttentionDesk } from '../../src/attention/attention-desk';
import { EndedInstruction } from '../../src/attention/ended-instruction';
import { Burial } from '../../src/submission/burial';
import { ExecutedWord } from '../../src/attention/executed-word';
import { StatusMeaning } from '../../src/attention/status-meaning';
import { UnseenWord } from '../../src/attention/unseen-word';
import { TryAgain } from '../../src/attention/try-again';
import { UnrecordedSubmits } from '../../src/restore/unrecorded-submits';
import { APPROVER, idsOf, OTHER, PREPARER } from '../database/two-employers';
import { execute, select, TestDatabase } from '../support/database';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);
const kind = 'UNKNOWN_STATUS';
const shown = { kind, subjectId: ours.run, happened: 'The bank showed PRO_ODD (rows 2).' } as const;

let office: NothingAsked;
let server: TestDatabase;
let database: Database;
beforeEach(async () => {
  office = await nothingAsked();
  ({ server, database } = office);
  await execute(
    server.superuserUrl,
    `INSERT INTO person_role (employer_id, person_id, role)
     VALUES ('${ours.employer}', '${APPROVER}', 'approver'), ('${ours.employer}', '${OTHER}', 'operator')`,
  );
});
afterEach(() => office.close());

const open = () => select(server.superuserUrl, `SELECT happened FROM attention WHERE resolved_at IS NULL`);

/** Two people decide what is open, if anything is. */
const decide = (action = 'ACKNOWLEDGE') =>
  database.inEmployer(ours.employer, async (tx) => {
    await tx.query(
      `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
       SELECT employer_id, gen_random_uuid(), id, $4, 'the bank looks', $2, $3, now()
       FROM attention WHERE employer_id = $1 AND resolved_at IS NULL`,
      [ours.employer, PREPARER, APPROVER, action],
    );
    await clear(tx, [kind], ours.run, 'two people said so');
  });

const statusesIn = (happened: string) => [...happened.matchAll(/ PRO_[A-Z]+ \(/g)].map(([word]) => word);

describe.each([
  ['raiseUndecided', raiseUndecided],
  [
    'raiseNaming',
    (tx: EmployerTransaction, alarm: Alarm) => raiseNaming(tx, alarm, statusesIn(alarm.happened)),
  ],
])('what every read shows again (%s)', (_, tell) => {
  /** `meanwhile` happens behind each statement of the read. */
  const read = (alarm: Alarm = shown, meanwhile: () => Promise<void> = () => Promise.resolve()) =>
    database.inEmployer(ours.employer, (tx) => {
      const query: typeof tx.query = async (...statement) => {
        const rows = await tx.query<never>(...statement);
        await meanwhile();
        return rows;
      };
      return tell({ ...tx, query }, alarm);
    });

  it('is asked once, and not again once two people have decided it', async () => {
    await read();
    await read();
    expect(await open()).toEqual([{ happened: shown.happened }]);
    await decide();
    await read();
    expect(await open()).toEqual([]);
  });

  it('is not asked again by a read that was under way while two people decided', async () => {
    await read();
    await read(shown, decide);
    expect(await open()).toEqual([]);
  });

  it('is told once also where the bank’s word holds what no database stores', async () => {
    const odd = { ...shown, happened: 'The bank showed PRO_ODD (rows 2), PRO_\ud800 (rows 3).' };
    const tellOdd = () =>
      database.inEmployer(ours.employer, (tx) => raiseNaming(tx, odd, [' PRO_ODD (', ' PRO_\ud800 (']));
    await tellOdd();
    const [told] = await select(server.superuserUrl, 'SELECT id FROM attention WHERE resolved_at IS NULL');
    await tellOdd();
    expect(await select(server.superuserUrl, 'SELECT id FROM attention WHERE resolved_at IS NULL')).toEqual([
      told,
    ]);
  });

  it('is asked again when it is something else than was decided', async () => {
    await read();
    await decide();
    const more = { ...shown, happened: 'The bank showed PRO_ODD (rows 2), PRO_EVEN (rows 3).' };
    await read(more);
    expect(await open()).toEqual([{ happened: more.happened }]);
  });
});

describe('what was decided of many payments that share a status', () => {
  const tell = (status: string, rows: string, payments: number) =>
    database.inEmployer(ours.employer, (tx) =>
      raiseNaming(tx, { ...shown, happened: `The bank showed ${status} (rows ${rows}).`, payments }, [
        ` ${status} (`,
      ]),
    );

  it('is not asked again as they become fewer, and is as they become more or show something else', async () => {
    await tell('PRO_ODD', '1, 2, 3', 3);
    await decide();
    await tell('PRO_ODD', '2, 3', 2);
    expect(await open()).toEqual([]);
    await tell('PRO_ODD', '2, 3, 4, 5', 4);
    expect(await open()).toEqual([{ happened: 'The bank showed PRO_ODD (rows 2, 3, 4, 5).' }]);
    await decide();
    await tell('PRO_EVEN', '2', 1);
    expect(await open()).toEqual([{ happened: 'The bank showed PRO_EVEN (rows 2).' }]);
  });

  it('is asked again of others where those that were decided were ended by it', async () => {
    await tell('PRO_ODD', '1, 2, 3', 3);
    await decide('NOT_EXECUTED');
    await tell('PRO_ODD', '4', 1);
    expect(await open()).toEqual([{ happened: 'The bank showed PRO_ODD (rows 4).' }]);
  });
});

describe('what two people confirm', () => {
  const deskOf = (of: Database) =>
    new AttentionDesk(
      of,
      {} as PersonalData,
      {} as Burial,
      {} as EndedInstruction,
      {} as ExecutedWord,
      {} as UnrecordedSubmits,
      {} as StatusMeaning,
      {} as UnseenWord,
      {} as TryAgain,
      new Clock(),
    );

  /** The database, where `meanwhile` happens before the nth transaction. */
  const before = (nth: number, meanwhile: () => Promise<void>): Database => {
    let transactions = 0;
    const inEmployer: Database['inEmployer'] = async (employerId, work) => {
      transactions += 1;
      if (transactions === nth) await meanwhile();
      return database.inEmployer(employerId, work);
    };
    return { inEmployer } as Database;
  };

  const ACKNOWLEDGED = { action: 'ACKNOWLEDGE', reason: 'the bank looks' } as const;
  /** A question, and what one of them proposes. */
  const proposed = async () => {
    await database.inEmployer(ours.employer, (tx) => raise(tx, shown));
    const [{ id: asked } = { id: '' }] = await select<{ id: string }>(
      server.superuserUrl,
      'SELECT id FROM attention WHERE resolved_at IS NULL',
    );
    const { id } = await deskOf(database).propose(ours.employer, asked, PREPARER, ACKNOWLEDGED);
    const confirm = (by = APPROVER, on = database, action = id) =>
      deskOf(on).confirm(ours.employer, asked, by, action);
    return { asked, confirm };
  };

  it('is proposed by one, confirmed by another as it was read, and then closed', async () => {
    const { asked, confirm } = await proposed();
    await expect(confirm(PREPARER)).rejects.toMatchObject({ code: 'SECOND_PERSON_REQUIRED' });
    await expect(confirm(APPROVER, database, newId())).rejects.toMatchObject({ code: 'ACTION_CHANGED' });
    expect(await open()).toHaveLength(1);
    await confirm();
    expect(await open()).toEqual([]);
    const again = deskOf(database).propose(ours.employer, asked, PREPARER, ACKNOWLEDGED);
    await expect(again).rejects.toMatchObject({ code: 'ATTENTION_IS_RESOLVED' });
    await expect(confirm()).rejects.toMatchObject({ code: 'ATTENTION_IS_RESOLVED' });
  });

  it('is on offer, and one thing at a time, also where two are proposed at once', async () => {
    await database.inEmployer(ours.employer, (tx) => raise(tx, shown));
    const [{ id: asked } = { id: '' }] = await select<{ id: string }>(
      server.superuserUrl,
      'SELECT id FROM attention WHERE resolved_at IS NULL',
    );
    const propose = (action: AttentionAction) =>
      deskOf(database).propose(ours.employer, asked, PREPARER, { ...ACKNOWLEDGED, action });
    await expect(propose('EXECUTED')).rejects.toMatchObject({ code: 'ACTION_NOT_OFFERED' });
    const both = await Promise.allSettled([propose('ACKNOWLEDGE'), propose('ACKNOWLEDGE')]);
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refused = both.find(({ status }) => status === 'rejected');
    expect(refused).toMatchObject({ reason: { code: 'ACTION_IS_PROPOSED' } });
  });

  const NOT_ENTITLED = [
    ['has a role of another employer only', `DELETE FROM person_role WHERE employer_id = '${ours.employer}'`],
    ['may do nothing any more', `UPDATE person SET disabled_at = now() WHERE id = '${PREPARER}'`],
  ] as const;

  it.each(NOT_ENTITLED)('changes nothing where who proposed it %s', async (_, change) => {
    const { confirm } = await proposed();
    await execute(server.superuserUrl, change);
    await expect(confirm()).rejects.toMatchObject({ code: 'PROPOSER_NOT_ENTITLED' });
    expect(await open()).toHaveLength(1);
  });

  it.each([
    ['may confirm nothing here any more', `DELETE FROM person_role WHERE role = 'approver'`],
    ['may do nothing any more', `UPDATE person SET disabled_at = now() WHERE id = '${APPROVER}'`],
  ])('changes nothing where who confirms it %s by the time that the bank was read', async (_, change) => {
    const { confirm } = await proposed();
    const leaves = () => execute(server.superuserUrl, change);
    await expect(confirm(APPROVER, before(2, leaves))).rejects.toMatchObject({ code: 'ROLE_REQUIRED' });
    expect(await open()).toHaveLength(1);
  });

  it.each(NOT_ENTITLED)(
    'changes nothing where who proposed it %s by the time that the bank was read',
    async (_, change) => {
      const { confirm } = await proposed();
      const leaves = () => execute(server.superuserUrl, change);
      await expect(confirm(APPROVER, before(2, leaves))).rejects.toMatchObject({
        code: 'PROPOSER_NOT_ENTITLED',
      });
      expect(await open()).toHaveLength(1);
    },
  );

  it('changes nothing where it was withdrawn while the bank was read', async () => {
    const { asked, confirm } = await proposed();
    const withdraws = () => deskOf(database).withdraw(ours.employer, asked, PREPARER);
    await expect(confirm(APPROVER, before(2, withdraws))).rejects.toMatchObject({ code: 'ACTION_NOT_FOUND' });
    expect(await open()).toHaveLength(1);
  });

  it('is done once where two others confirm it', async () => {
    const { confirm } = await proposed();
    const confirming = confirm(
      OTHER,
      before(2, () => confirm()),
    );
    await expect(confirming).rejects.toMatchObject({ code: 'ACTION_NOT_FOUND' });
    const by = 'SELECT confirmed_by AS by FROM attention_action ORDER BY proposed_at DESC LIMIT 1';
    expect(await select(server.superuserUrl, by)).toEqual([{ by: APPROVER }]);
  });

  it('closes nothing where what they have read was asked anew meanwhile', async () => {
    const tell = (status: string) =>
      database.inEmployer(ours.employer, (tx) =>
        raiseNaming(tx, { ...shown, happened: `The bank showed ${status} (rows 2).` }, [` ${status} (`]),
      );
    await tell('PRO_ODD');
    const [told] = await select<{ id: string }>(
      server.superuserUrl,
      'SELECT id FROM attention WHERE resolved_at IS NULL',
    );
    const proposed = { action: 'ACKNOWLEDGE', reason: 'the bank looks' } as const;
    const read = await deskOf(database).propose(ours.employer, told!.id, PREPARER, proposed);
    const asked = deskOf(before(2, () => tell('PRO_EVEN')));
    const confirming = asked.confirm(ours.employer, told!.id, APPROVER, read.id);
    await expect(confirming).rejects.toMatchObject({ code: 'ATTENTION_IS_RESOLVED' });
    expect(await open()).toEqual([{ happened: 'The bank showed PRO_EVEN (rows 2).' }]);
  });

  it('lets nothing go on where another question took the place of theirs meanwhile', async () => {
    const stopping = (happened: string) =>
      database.inEmployer(ours.employer, (tx) =>
        stopUnlessDecided(tx, { kind: 'FOREIGN_RECORD', subjectId: ours.run, happened }),
      );
    await stopping('one payment');
    const [told] = await select<{ id: string }>(
      server.superuserUrl,
      'SELECT id FROM attention WHERE resolved_at IS NULL',
    );
    const proposed = { action: 'RESUME', reason: 'known' } as const;
    const read = await deskOf(database).propose(ours.employer, told!.id, PREPARER, proposed);
    const confirming = deskOf(
      before(2, async () => {
        await database.inEmployer(ours.employer, (tx) =>
          clear(tx, ['FOREIGN_RECORD'], ours.run, 'told anew'),
        );
        await stopping('two payments');
      }),
    ).confirm(ours.employer, told!.id, APPROVER, read.id);
    await expect(confirming).rejects.toMatchObject({ code: 'ATTENTION_IS_RESOLVED' });
    expect(await open()).toEqual([{ happened: 'two payments' }]);
    expect(await select(server.superuserUrl, 'SELECT submits_off FROM service_switch')).toEqual([
      { submits_off: true },
    ]);
  });
});

describe('a run that was amended, cancelled or ended', () => {
  it('closes what was asked about building it, and not what the bank showed otherwise than it was sent, nor what had ended', async () => {
    const told = { payRunId: ours.run, subjectId: ours.instruction[0] } as const;
    await database.inEmployer(ours.employer, async (tx) => {
      await raise(tx, { ...told, kind: 'INITIATE_REFUSED', happened: 'it was not opened' });
      await raise(tx, { ...told, kind: 'ECHO_MISMATCH', happened: 'row 3 differs in iban' });
      const ofRun = { payRunId: ours.run, subjectId: ours.run } as const;
      await raise(tx, { ...ofRun, kind: 'DUE_BUT_WAITING', happened: 'it waits' });
      await raise(tx, { ...ofRun, kind: 'ROW_UNSEEN', happened: 'what had ended is not read' });
      await clearBuilding(tx, ours.run, 'the run ended');
    });
    const left = (await open()).map(({ happened }) => happened).sort();
    expect(left).toEqual(['row 3 differs in iban', 'what had ended is not read']);
  });
});
