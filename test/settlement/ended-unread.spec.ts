import { NoReadAllowed, NotAllowed, NotFound } from '../../src/bank/errors';
import { readById } from '../../src/database/by-id';
import type { EmployerTransaction } from '../../src/database/database';
import { Claim, isThere, Leases, wake } from '../../src/database/leases';
import { EmployerAccount } from '../../src/employer/employer.entity';
import { ENDED } from '../../src/pay-run/ended-reads';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { nowRead, tellOfHidden, tellOfUnread } from '../../src/settlement/ended-unread';
import type { Followed } from '../../src/settlement/followed';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, isLockAwaited, select } from '../support/database';
import { eventually } from '../support/eventually';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

const followedOf = async (tx: EmployerTransaction, n: 0 | 1) =>
  ({
    run: await readById(tx, PayRun, ours.run),
    account: await readById(tx, EmployerAccount, ours.account),
    instruction: await readById(tx, Instruction, ours.instruction[n]),
  }) as Followed;

describe('two ended instructions of a run, which are not read for different reasons', () => {
  const refused = new NotAllowed(403, { raw: '' });
  const hidden = 'The bank refuses to show instructions of this run that have ended: The bank answered 403.';
  const unasked = /Instructions of this run that have ended are not read any more: .*: probe it again\./;
  const unread =
    /could not be read in full for a day, such as customer instruction "ended": The bank answered 404\./;

  beforeEach(() =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET bank_instruction_id = 'ended' WHERE id = '${ours.instruction[0]}';
       DELETE FROM lease;
       INSERT INTO lease (subject_id, employer_id, kind, wake_at, missing, missing_since)
         SELECT id, employer_id, 'FOLLOW', now(), '${ENDED}', now() FROM instruction
         WHERE id IN ('${ours.instruction.join("', '")}')`,
    ),
  );
  const tell = (n: 0 | 1, refusal: NotAllowed | NotFound) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const followed = await followedOf(tx, n);
      if (refusal instanceof NotAllowed) await tellOfHidden(tx, followed, refusal);
      else await tellOfUnread(tx, followed, refusal.message);
    });
  const asked = () =>
    select<{ id: string; happened: string; askBank: string }>(
      office.server.superuserUrl,
      `SELECT id, happened, ask_bank AS "askBank" FROM attention WHERE resolved_at IS NULL`,
    );

  it.each([
    [
      'is refused',
      'not asked for',
      refused,
      new NoReadAllowed(),
      [hidden, unasked],
      [/^Why are .* not shown any more/],
    ],
    [
      'could not be read for a day',
      'refused',
      new NotFound(404, { raw: '' }),
      refused,
      [unread, hidden],
      [/^Why can .*, such as customer instruction "ended", not be read/, /Why are .* not shown any more/],
    ],
  ] as const)(
    'are one question where one %s and the other is %s, told anew once only, and not again once decided',
    async (_one, _other, first, second, told, questions) => {
      await tell(0, first);
      await tell(1, second);
      const [open] = await asked();
      for (const words of told) expect(open?.happened).toMatch(words);
      for (const words of questions) expect(open?.askBank).toMatch(words);
      for (let n = 0; n < 2; n += 1) {
        await tell(0, first);
        await tell(1, second);
        expect(await asked()).toEqual([open]);
      }
      await office.decide();
      await tell(0, first);
      await tell(1, second);
      expect(await asked()).toEqual([]);
    },
  );

  it('ask the bank about the one that could not be read alone, where a defect of ours keeps the other from being recorded', async () => {
    const tellBoth = async () => {
      await office.database.inEmployer(ours.employer, async (tx) =>
        tellOfUnread(tx, await followedOf(tx, 1)),
      );
      await tell(0, new NotFound(404, { raw: '' }));
    };
    await tellBoth();
    const open = await asked();
    expect(open).toMatchObject([
      {
        happened: expect.stringMatching(/could not be recorded .* could not be read in full/),
        askBank: expect.stringMatching(/^Why can [^?]* "ended", not be read any more [^?]*\?$/),
      },
    ]);
    await tellBoth();
    expect(await asked()).toEqual(open);
  });

  describe('of which the watch of one ended while it was unread', () => {
    beforeEach(async () => {
      await tell(0, refused);
      await execute(
        office.server.superuserUrl,
        `UPDATE lease SET wake_at = 'infinity', missing_since = now() - interval '40 days'
         WHERE subject_id = '${ours.instruction[0]}'`,
      );
    });

    it('are told of again, where the other is hidden after people decided of the first', async () => {
      await office.decide();
      await execute(
        office.server.superuserUrl,
        `SET session_replication_role = replica;
         UPDATE attention SET resolved_at = now() - interval '39 days'`,
      );
      await tell(1, refused);
      expect(await asked()).toMatchObject([{ happened: hidden }]);
    });

    it('stay asked about until people decide, though the other is read: the first never was', async () => {
      const open = await asked();
      await office.database.inEmployer(ours.employer, async (tx) =>
        nowRead(tx, (await followedOf(tx, 1)).run, ours.instruction[1]),
      );
      expect(await asked()).toEqual(open);
    });
  });

  it('are told without what was said of the one that was read since', async () => {
    await tell(0, new NotFound(404, { raw: '' }));
    await execute(
      office.server.superuserUrl,
      `UPDATE lease SET missing = NULL, missing_since = NULL WHERE subject_id = '${ours.instruction[0]}'`,
    );
    await tell(1, refused);
    expect(await asked()).toMatchObject([{ happened: hidden }]);
  });
});

describe('the question why what ended could not be read for a day', () => {
  it('is closed also where the last instructions of the run are read together', async () => {
    const { database, server } = office;
    const run = await database.inEmployer(ours.employer, async (tx) => {
      const followed = await followedOf(tx, 0);
      await tellOfUnread(tx, followed, new NotFound(404, { raw: '' }).message);
      wake(tx, 'FOLLOW', [...ours.instruction]);
      return followed.run;
    });
    await execute(
      server.superuserUrl,
      `UPDATE lease SET missing = '${ENDED}', missing_since = now() WHERE kind = 'FOLLOW'`,
    );
    const claims = await new Leases(database).claim('FOLLOW', 'a test', 10, 60_000);
    const [first, second] = ours.instruction.map((id) => claims.find(({ subjectId }) => subjectId === id)!);
    const read = (claim: Claim) =>
      database.inEmployer(ours.employer, async (tx) => {
        isThere(tx, claim, ENDED);
        await nowRead(tx, run, claim.subjectId);
      });
    let beside = Promise.resolve();
    await database.inEmployer(ours.employer, async (tx) => {
      isThere(tx, first!, ENDED);
      await nowRead(tx, run, first!.subjectId);
      beside = read(second!);
      await eventually(() => isLockAwaited(server.superuserUrl), 5_000);
    });
    await beside;
    expect(await select(server.superuserUrl, `SELECT FROM attention WHERE resolved_at IS NULL`)).toEqual([]);
  });
});
