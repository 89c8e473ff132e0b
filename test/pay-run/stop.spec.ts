import { IsNull } from 'typeorm';
import { append } from '../../src/audit/audit';
import { STOPPED } from '../../src/audit/who-stopped';
import { Database, EmployerTransaction } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { KillSwitch } from '../../src/employer/kill-switch';
import { showId } from '../../src/http/prefixed-id';
import { clear, raise } from '../../src/pay-run/attention.store';
import { Attention } from '../../src/pay-run/attention.entity';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import { Instruction, PlannedInstruction } from '../../src/pay-run/instruction.entity';
import { resumeRun, stopRun } from '../../src/pay-run/kill-switch';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { lockRun } from '../../src/pay-run/pay-run.store';
import {
  endUnclear,
  groupsDiffer,
  LACKS_APPROVALS,
  resumeAfter,
  resumeUnlessPersons,
  stopEmployer,
  stopEverything,
  stopRunByService,
  stopUnclear,
  stopUnlessDecided,
} from '../../src/pay-run/stop';
import { tellOf } from '../../src/reconciliation/breach';
import { Finding, inRuns, Invariant } from '../../src/reconciliation/invariant';
import { tellOfForeign } from '../../src/settlement/follow-alarms';
import { reportTampering } from '../../src/submission/tampering';
import { APPROVER, idsOf, PREPARER } from '../database/two-employers';
import { execute, isLockAwaited, select, TestDatabase } from '../support/database';
import { eventually } from '../support/eventually';
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
    await resumed(tx, attention);
    await clear(tx, [kind], subjectId, 'two people said so');
  });
}

async function resumed(tx: EmployerTransaction, attention: Attention): Promise<void> {
  await tx.query(
    `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
       confirmed_at) VALUES ($1, gen_random_uuid(), $2, 'RESUME', 'the bank knows', $3, $4, now())`,
    [attention.employerId, attention.id, PREPARER, APPROVER],
  );
  await resumeAfter(tx, attention);
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
/** Somebody turns submits on who has read of the stop that stands. */
const resumeService = async (personId: string) => {
  const { changedAt } = await people.service();
  await people.resumeService(personId, 'looked', { stoppedAt: changedAt });
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
      await resumed(tx, attention);
      await clear(tx, ['FOREIGN_RECORD'], ours.run, 'two people said so');
      underWay = read();
      await eventually(() => isLockAwaited(server.superuserUrl), 5_000);
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
    await expect(resumeService(PREPARER)).rejects.toMatchObject({
      code: 'ATTENTION_DECIDES',
    });
    await decided('INVARIANT_BREACH');
    expect(await submits()).toBe('a look first');
    await resumeService(PREPARER);
    expect(await submits()).toBe('on');
  });

  it("becomes a person's stop too, so that deciding it does not turn submits on", async () => {
    await breach('INVARIANT_BREACH');
    await people.stopService(PREPARER, 'we want to see this');
    await people.stopService(PREPARER, 'a second reason');
    await decided('INVARIANT_BREACH');
    expect(await submits()).toBe('we want to see this; a second reason');
  });
});

describe("a person's stop of everything", () => {
  it('stands when two people decide an attention that stopped nothing', async () => {
    await people.stopService(PREPARER, 'FOREIGN_RECORD');
    await database.inEmployer(ours.employer, (tx) =>
      raise(tx, { kind: 'CREDENTIALS', subjectId: ours.employer, happened: 'a test' }),
    );
    await decided('CREDENTIALS', ours, ours.employer);
    expect(await submits()).toBe('FOREIGN_RECORD');
  });

  it.each(['before', 'after'])(
    'stands, thrown %s a breach, though its reason is the word of the attention that two people decide',
    async (when) => {
      const stop = () => people.stopService(PREPARER, 'INVARIANT_BREACH');
      if (when === 'before') await stop();
      await breach('INVARIANT_BREACH');
      if (when === 'after') await stop();
      await decided('INVARIANT_BREACH');
      expect(await submits()).toBe('INVARIANT_BREACH');
      await resumeService(APPROVER);
      expect(await submits()).toBe('on');
      await breach('INVARIANT_BREACH');
      await decided('INVARIANT_BREACH');
      expect(await submits()).toBe('on');
    },
  );
});

describe('two questions that are decided at the same moment', () => {
  const resolve = (tx: EmployerTransaction, { kind, subjectId }: Attention) =>
    clear(tx, [kind], subjectId, 'two people said so');
  const isWaited = () => isLockAwaited(server.superuserUrl);
  /** Decides one question, and before that is over begins what else is to be done. */
  const decidedWhile = async (kind: AttentionKind, subjectId: string, beside: () => Promise<unknown>) => {
    let underWay: Promise<unknown> = Promise.resolve();
    await database.inEmployer(ours.employer, async (tx) => {
      const attention = await openAttention(tx, kind, subjectId);
      await resumed(tx, attention);
      await resolve(tx, attention);
      underWay = beside();
      await eventually(isWaited, 5_000);
    });
    await underWay;
  };
  const stoppedRun = async () => {
    const [run] = await select<{ reason: string | null }>(
      server.superuserUrl,
      'SELECT stopped_reason AS reason FROM pay_run WHERE id = $1',
      [ours.run],
    );
    return run?.reason ?? 'runs';
  };

  it('let their run go on', async () => {
    const [first, second] = [newId(), newId()];
    await database.inEmployer(ours.employer, async (tx) => {
      await stopRunByService(tx, ours.run, 'ECHO_MISMATCH');
      for (const subjectId of [first, second])
        await raise(tx, { kind: 'ECHO_MISMATCH', subjectId, payRunId: ours.run, happened: 'a test' });
    });
    await decidedWhile('ECHO_MISMATCH', first, () => decided('ECHO_MISMATCH', ours, second));
    expect(await stoppedRun()).toBe('runs');
  });

  it('let their employer go on', async () => {
    const breachId = newId();
    await database.inEmployer(ours.employer, async (tx) => {
      await stopEmployer(tx, 'CREDENTIALS');
      await raise(tx, { kind: 'CREDENTIALS', subjectId: ours.employer, happened: 'a test' });
      await raise(tx, { kind: 'INVARIANT_BREACH', subjectId: breachId, happened: 'a test' });
    });
    await decidedWhile('CREDENTIALS', ours.employer, () => decided('INVARIANT_BREACH', ours, breachId));
    expect(await stoppedEmployer()).toBe('runs');
  });

  it('let everything go on', async () => {
    await breach('FOREIGN_RECORD');
    await breach('FOREIGN_RECORD', theirs);
    await decidedWhile('FOREIGN_RECORD', ours.run, () => decided('FOREIGN_RECORD', theirs));
    expect(await submits()).toBe('on');
  });

  it('let nothing go on past what stops everything at that moment', async () => {
    await breach('FOREIGN_RECORD');
    await decidedWhile('FOREIGN_RECORD', ours.run, () => breach('INVARIANT_BREACH', theirs));
    expect(await submits()).toBe('INVARIANT_BREACH');
  });

  it('do not take back the stop by what is found at that moment', async () => {
    const breachId = newId();
    await database.inEmployer(ours.employer, async (tx) => {
      await stopEmployer(tx, 'INVARIANT_BREACH');
      await raise(tx, { kind: 'INVARIANT_BREACH', subjectId: breachId, happened: 'a test' });
    });
    const finding: Finding = { subjectId: ours.run, payRunId: ours.run, instructionId: null, found: 1 };
    const looked = inRuns([ours.run], [finding]);
    const invariant: Invariant = {
      name: 'a_test',
      sentence: 'nothing is found',
      scope: 'internal',
      sliced: false,
      find: () => Promise.resolve(looked),
    };
    await decidedWhile('INVARIANT_BREACH', breachId, () =>
      database.inEmployer(ours.employer, (tx) => tellOf(tx, invariant, looked)),
    );
    expect(await stoppedEmployer()).toBe('INVARIANT_BREACH');
  });
});

describe('what a breach asks the bank', () => {
  const [instructionId] = ours.instruction;
  const asked = async () => {
    const [row] = await select<{ ask_bank: string }>(
      server.superuserUrl,
      `SELECT ask_bank FROM attention WHERE kind = 'INVARIANT_BREACH' AND resolved_at IS NULL`,
    );
    return row?.ask_bank;
  };
  const found = (scope: Invariant['scope'], where: Partial<Finding>) =>
    database.inEmployer(ours.employer, async (tx) => {
      const finding = { subjectId: ours.run, payRunId: null, instructionId: null, found: 1, ...where };
      const looked = inRuns([], [finding]);
      const find = () => Promise.resolve(looked);
      const sentence = 'It is as it should be.';
      await tellOf(tx, { name: 'of-the-test', sentence, scope, sliced: false, find }, looked);
    });
  const tampered = (of?: string) =>
    database.inEmployer(ours.employer, async (tx) => {
      const planned = await tx.manager.findOneByOrFail(PlannedInstruction, { id: ours.planned[0] });
      await reportTampering(tx, planned, of);
    });

  it.each([
    ['of an instruction', () => found('internal', { payRunId: ours.run, instructionId })],
    ['of rows that were tampered with', () => tampered(instructionId)],
  ])('is, %s, for its payments', async (_of, tell) => {
    await tell();
    expect(await asked()).toBe('Please list every payment of customer instruction bank-1-1 and its status.');
  });

  it('is, of money of a run as a whole, for the payments of all its instructions', async () => {
    await found('money moved', { payRunId: ours.run });
    expect(await asked()).toMatch(
      / of customer instruction bank-1-1, bank-1-2(, bank-1-\d+)* and its status/,
    );
  });

  it.each([
    ['of what belongs to no run', () => found('internal', {})],
    ['of the record of a run as a whole', () => found('internal', { payRunId: ours.run })],
    ['of rows of which nothing is built', () => tampered()],
  ])('is nothing, %s', async (_of, tell) => {
    await tell();
    expect(await asked()).toBe('Nothing: this is decided here.');
  });
});

describe('what stops everything and lasts', () => {
  const [instructionId] = ours.instruction;
  const ofInstruction = (work: (tx: EmployerTransaction, instruction: Instruction) => Promise<void>) =>
    database.inEmployer(ours.employer, async (tx) =>
      work(tx, await tx.manager.findOneByOrFail(Instruction, { id: instructionId })),
    );
  const shows =
    (count: number, otherMinor = 250n) =>
    () =>
      ofInstruction((tx, instruction) =>
        groupsDiffer(tx, instruction, { count: 2, totalMinor: 300n }, [
          { count: 1, totalMinor: 100n },
          { count: count - 1, totalMinor: otherMinor },
        ]),
      );
  const holds = (...ids: string[]) => {
    const foreign = ids.map((bankPaymentId) => ({ bankPaymentId }));
    return () => ofInstruction((tx, instruction) => tellOfForeign(tx, instruction, foreign));
  };
  const asked = async () =>
    (
      await select<{ happened: string }>(
        server.superuserUrl,
        'SELECT happened FROM attention WHERE resolved_at IS NULL',
      )
    ).map(({ happened }) => happened);
  /** Two people let go on what they read. */
  const letGoOn = () =>
    database.inEmployer(ours.employer, async (tx) => {
      const [open] = await tx.manager.findBy(Attention, { employerId: ours.employer, resolvedAt: IsNull() });
      await resumed(tx, open!);
      await clear(tx, [open!.kind], open!.subjectId, 'two people said so');
    });

  it.each([
    ['totals', shows(3), shows(4), ': 3 payments.', ': 4 payments.'],
    ['sums', shows(3), shows(3, 260n), ': 3 payments.', ': 3 payments.'],
    ['foreign payments', holds('11'), holds('2', '11', '11'), ': payment "11".', ': payment "11", "2".'],
  ])(
    'is decided once, and asked about again when there is more to it (%s)',
    async (_, read, more, one, two) => {
      await read();
      await read();
      expect(await asked()).toEqual([expect.stringContaining(one)]);
      await letGoOn();
      await read();
      expect(await asked()).toEqual([]);
      expect(await submits()).toBe('on');
      await more();
      expect(await asked()).toEqual([expect.stringContaining(two)]);
      expect(await submits()).not.toBe('on');
    },
  );

  it.each([
    ['totals', shows(3), shows(4), '4 payments'],
    ['foreign payments', holds('11'), holds('2', '11'), '"11", "2"'],
  ])('is told anew when more joins it before anybody decided (%s)', async (_, read, more, told) => {
    await read();
    await more();
    expect(await asked()).toEqual([expect.stringContaining(told)]);
    await letGoOn();
    await more();
    expect(await asked()).toEqual([]);
    expect(await submits()).toBe('on');
  });

  it('is told anew where the sum alone is another, which is the amount and in no text', async () => {
    const amounts = () =>
      select(server.superuserUrl, 'SELECT payments, amount_minor FROM attention WHERE resolved_at IS NULL');
    await shows(1, 0n)();
    await shows(1, 0n)();
    expect(await amounts()).toEqual([{ payments: 1, amount_minor: '100' }]);
    await shows(1, 5n)();
    expect(await amounts()).toEqual([{ payments: 1, amount_minor: '105' }]);
    const [told] = await asked();
    expect(told).toMatch(/: 1 payments\.$/);
  });

  it('names a hundred foreign payments, and how many more there are', async () => {
    await holds(...Array.from({ length: 120 }, (_none, n) => String(1_000 + n)))();
    const [told] = await asked();
    expect(told).toContain('"1000", "1001"');
    expect(told).toContain('"1099", 20 more.');
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

  it("stays stopped by a person's stop, though its reason is the word of the attention that two people decide", async () => {
    await database.inEmployer(ours.employer, (tx) =>
      raise(tx, { kind: 'CREDENTIALS', subjectId: ours.employer, happened: 'a test' }),
    );
    await people.stopEmployer(ours.employer, PREPARER, 'CREDENTIALS');
    await decided('CREDENTIALS', ours, ours.employer);
    expect(await stoppedEmployer()).toBe('CREDENTIALS');
  });

  describe('while an instruction of one run lacks approvals', () => {
    const [subjectId] = ours.instruction;
    const resume = async () => {
      const [employer] = await database.inEmployer(ours.employer, (tx) =>
        tx.query<{ stoppedAt: Date }>(`SELECT coalesce(stopped_at, now()) AS "stoppedAt" FROM employer`),
      );
      return people.resumeEmployer(ours.employer, APPROVER, 'cleared up', employer!);
    };
    beforeEach(() =>
      database.inEmployer(ours.employer, async (tx) => {
        const about = { subjectId, instructionId: subjectId, payRunId: ours.run };
        await stopRunByService(tx, ours.run, LACKS_APPROVALS);
        await raise(tx, { kind: 'INVARIANT_BREACH', ...about, happened: LACKS_APPROVALS });
      }),
    );

    it('by a person is resumed by another, and not by who decides of that one', async () => {
      await people.stopEmployer(ours.employer, PREPARER, 'a doubt');
      await decided('INVARIANT_BREACH', ours, subjectId);
      expect(await stoppedEmployer()).toBe('a doubt');
      await resume();
      expect(await stoppedEmployer()).toBe('runs');
    });

    it('by a person is resumed by another before that is decided', async () => {
      await people.stopEmployer(ours.employer, PREPARER, 'a doubt');
      await resume();
      expect(await stoppedEmployer()).toBe('runs');
    });

    it('by the service goes on once two people decide what it was stopped for', async () => {
      await database.inEmployer(ours.employer, async (tx) => {
        await stopEmployer(tx, 'CREDENTIALS');
        await raise(tx, { kind: 'CREDENTIALS', subjectId: ours.employer, happened: 'a test' });
      });
      await decided('CREDENTIALS', ours, ours.employer);
      expect(await stoppedEmployer()).toBe('runs');
    });

    it('by a person, and then by the service for changed rows, is resumed by nobody alone', async () => {
      await people.stopEmployer(ours.employer, PREPARER, 'a doubt');
      await database.inEmployer(ours.employer, async (tx) => {
        const planned = await tx.manager.findOneByOrFail(PlannedInstruction, { id: ours.planned[0] });
        await reportTampering(tx, planned, subjectId);
      });
      await expect(resume()).rejects.toMatchObject({ code: 'ATTENTION_DECIDES' });
      await decided('INVARIANT_BREACH', ours, subjectId);
      await expect(resume()).rejects.toMatchObject({ code: 'ATTENTION_DECIDES' });
    });
  });
});

describe('a stopped run', () => {
  const stoppedRun = async () => {
    const [row] = await database.inEmployer(ours.employer, (tx) =>
      tx.query<{ reason: string | null }>(`SELECT stopped_reason AS reason FROM pay_run WHERE id = $1`, [
        ours.run,
      ]),
    );
    return row?.reason ?? 'runs';
  };
  const stopByService = () =>
    database.inEmployer(ours.employer, async (tx) => {
      await raise(tx, {
        kind: 'ECHO_MISMATCH',
        subjectId: ours.run,
        payRunId: ours.run,
        happened: 'a test',
      });
      await tx.query(
        `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = 'an echo differed' WHERE id = $1`,
        [ours.run],
      );
    });
  /** Somebody lets it go on who has read of the stop that stands. */
  const resume = (tx: EmployerTransaction, run: PayRun) => resumeRun(tx, run, run.stoppedAt ?? new Date(0));
  const stopByPerson = (reason: string) =>
    database.inEmployer(ours.employer, async (tx) => {
      await stopRun(tx, await lockRun(tx, ours.run), reason);
      const subject = showId('run', ours.run);
      await append(tx, { personId: PREPARER, action: STOPPED.payRun, subject, detail: { reason } });
    });

  it('goes on when two people decided what the service stopped it for', async () => {
    await stopByService();
    await decided('ECHO_MISMATCH');
    expect(await stoppedRun()).toBe('runs');
  });

  it('goes on so also while its employer is stopped because our access to it is refused', async () => {
    await stopByService();
    await database.inEmployer(ours.employer, async (tx) => {
      await stopEmployer(tx, 'CREDENTIALS');
      const about = { subjectId: ours.employer, payRunId: ours.run };
      await raise(tx, { kind: 'CREDENTIALS', ...about, happened: 'a test' });
    });
    await decided('ECHO_MISMATCH');
    expect(await stoppedRun()).toBe('runs');
    expect(await stoppedEmployer()).toBe('CREDENTIALS');
  });

  it('stays stopped where a person had stopped it before', async () => {
    await stopByPerson('a look first');
    await database.inEmployer(ours.employer, (tx) =>
      raise(tx, { kind: 'ECHO_MISMATCH', subjectId: ours.run, payRunId: ours.run, happened: 'a test' }),
    );
    await decided('ECHO_MISMATCH');
    expect(await stoppedRun()).toBe('a look first');
  });

  it.each<[string, string, string, string]>([
    ['goes on', 'differed before its run was submitted', ours.planned[1], 'ABANDONED'],
    ['goes on', 'is answered otherwise than it was sent, while it is built', ours.instruction[1], 'BUILDING'],
    ['stays stopped', 'differed while its run was submitted', ours.instruction[1], 'ABANDONED'],
  ])('%s while it is asked how an instruction %s', async (then, _what, subjectId, status) => {
    await stopByService();
    await execute(
      server.superuserUrl,
      `SET session_replication_role = replica; UPDATE instruction SET status = '${status}' WHERE id = '${ours.instruction[1]}'`,
    );
    const about = { subjectId, payRunId: ours.run, instructionId: ours.instruction[1] };
    await database.inEmployer(ours.employer, (tx) =>
      raise(tx, { ...about, kind: 'ECHO_MISMATCH', happened: 'row 3 differs in iban' }),
    );
    await decided('ECHO_MISMATCH');
    expect(await stoppedRun()).toBe(then === 'goes on' ? 'runs' : 'an echo differed');
    await stopByPerson('a look first').catch(() => undefined);
    const resuming = database.inEmployer(ours.employer, async (tx) =>
      resume(tx, await lockRun(tx, ours.run)),
    );
    if (then === 'goes on') await resuming;
    else await expect(resuming).rejects.toMatchObject({ code: 'ATTENTION_DECIDES' });
  });

  it('goes on where a person stopped it while our access is refused to its employer, which stays stopped', async () => {
    await stopByPerson('a look first');
    await database.inEmployer(ours.employer, async (tx) => {
      await stopEmployer(tx, 'CREDENTIALS');
      const about = { subjectId: ours.employer, payRunId: ours.run };
      await raise(tx, { ...about, kind: 'CREDENTIALS', happened: 'a test' });
      await resume(tx, await lockRun(tx, ours.run));
    });
    expect(await stoppedRun()).toBe('runs');
    expect(await stoppedEmployer()).toBe('CREDENTIALS');
  });

  it.each([
    ['READY', 'approve the same rows as they were'],
    ['VERIFIED', 'cancel it'],
    ['SUBMITTING', 'once it has ended'],
    ['FOLLOWING', 'once it has ended'],
  ])(
    'of which a submit is not in the record is resumed by nobody, who are told what they can do: %s',
    async (status, next) => {
      await stopByPerson('the bank is asked');
      await execute(
        server.superuserUrl,
        `SET session_replication_role = replica; UPDATE pay_run SET status = '${status}';
       WITH restored AS (INSERT INTO database_restore (id, what) VALUES ('${newId()}', 'another database') RETURNING id)
       INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status)
       SELECT '${ours.employer}', '471', id, '${ours.run}', 'SETTLED' FROM restored`,
      );
      const resuming = database.inEmployer(ours.employer, async (tx) =>
        resume(tx, await lockRun(tx, ours.run)),
      );
      await expect(resuming).rejects.toMatchObject({
        code: 'WAS_SUBMITTED',
        message: expect.stringContaining(next),
      });
    },
  );

  it("stays stopped where a person made the service's stop their own", async () => {
    await stopByService();
    await stopByPerson('we want to see this');
    await expect(stopByPerson('a second reason')).rejects.toMatchObject({ code: 'ALREADY_STOPPED' });
    await decided('ECHO_MISMATCH');
    expect(await stoppedRun()).toBe('we want to see this');
  });

  it.each([
    ['of the service', () => database.inEmployer(ours.employer, stopAsAfterRestore), 'runs'],
    ['of a person, whatever its reason', () => stopByPerson('RESTORED'), 'RESTORED'],
  ])('goes on after a restore where the stop was one %s', async (_whose, stop, expected) => {
    await stop();
    await database.inEmployer(ours.employer, (tx) => resumeUnlessPersons(tx, ours.run, ['RESTORED']));
    expect(await stoppedRun()).toBe(expected);
  });

  it('stays stopped after a restore for what it was stopped before', async () => {
    await stopByService();
    await database.inEmployer(ours.employer, (tx) => resumeUnlessPersons(tx, ours.run, ['RESTORED']));
    expect(await stoppedRun()).toBe('an echo differed');
  });

  const inRun = (work: (tx: EmployerTransaction, run: PayRun) => Promise<void>) =>
    database.inEmployer(ours.employer, async (tx) => work(tx, await lockRun(tx, ours.run)));

  it('takes a resume of what a person stopped before a restore, and is left unclear then, by a clock that was ahead too', async () => {
    await stopByPerson('two payees are strange');
    await execute(
      server.superuserUrl,
      `SET session_replication_role = replica; UPDATE audit_entry SET at = at + interval '1 hour'`,
    );
    await inRun((tx, run) => stopUnclear(tx, [run.id]));
    await inRun(resume);
    expect(await stoppedRun()).toBe('RESTORED_UNCLEAR');
  });

  it.each([
    ['goes on', [], 'runs'],
    ['stays stopped by a person', ['two payees are strange'], 'two payees are strange'],
  ])('%s once nothing of it is unclear any more', async (_as, stops, left) => {
    for (const reason of stops) await stopByPerson(reason);
    await inRun((tx, run) => stopUnclear(tx, [run.id]));
    await inRun(endUnclear);
    expect(await stoppedRun()).toBe(left);
    await inRun(endUnclear);
    expect(await stoppedRun()).toBe(left);
  });

  async function stopAsAfterRestore(tx: EmployerTransaction): Promise<void> {
    await tx.query(
      `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = 'RESTORED' WHERE id = $1`,
      [ours.run],
    );
  }
});
