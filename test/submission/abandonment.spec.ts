import { Config } from '../../src/config/env';
import { Claim, Leases, wake } from '../../src/database/leases';
import { WHY_ENDED } from '../../src/pay-run/attention-words';
import { instructionOfRun } from '../../src/pay-run/instruction.store';
import { Abandonment } from '../../src/submission/abandonment';
import { Halted, Work } from '../../src/submission/work';
import type { InstructionReader } from '../../src/submission/read-back';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

/** The unmoved instruction, as one that a process is to take further, verified in a run of its own. */
async function claimed() {
  await execute(
    office.server.superuserUrl,
    `SET session_replication_role = replica;
     UPDATE pay_run SET status = 'VERIFIED' WHERE id = '${ours.spareRun}';
     UPDATE instruction SET status = 'VERIFIED', pay_run_id = '${ours.spareRun}', planned_instruction_id = '${ours.planned[2]}'
     WHERE id = '${ours.unmoved}'`,
  );
  await office.database.inEmployer(ours.employer, async (tx) => wake(tx, 'INSTRUCTION', [ours.unmoved]));
  const [claim] = await new Leases(office.database).claim('INSTRUCTION', 'first', 1, 60_000);
  const work = await office.database.inEmployer(ours.employer, (tx) => instructionOfRun(tx, ours.unmoved));
  return { claim: claim!, work: work! };
}

describe('what is ended for an amendment, and is shown as submitted by somebody else', () => {
  it('waits in one order for the turns of its own run and of those that pay the same people', async () => {
    const { superuserUrl } = office.server;
    const { claim, work } = await claimed();
    const submittedBefore = () => Promise.resolve({ moved: 'EXCHANGED', isUnclear: false });
    const reader = { submittedBefore } as unknown as InstructionReader;
    const abandonment = new Abandonment(office.database, reader, {} as Config);
    expect(ours.run < ours.spareRun).toBe(true);
    await connected(superuserUrl, async (submitter) => {
      await submitter.query(`BEGIN; SELECT FROM pay_run WHERE id = '${ours.run}' FOR SHARE`);
      const underWay = abandonment.end(claim, work);
      await eventually(() => isWaitedFor(submitter), 5_000);
      const own = `SELECT FROM pay_run WHERE id = '${ours.spareRun}' FOR SHARE NOWAIT`;
      await expect(submitter.query(own)).resolves.toBeDefined();
      await submitter.query('COMMIT');
      await underWay;
    });
    expect(await select(superuserUrl, `SELECT stopped_reason FROM pay_run WHERE id = '${ours.run}'`)).toEqual(
      [{ stopped_reason: 'POSSIBLE_DUPLICATE_PAY' }],
    );
  });
});

describe('what was built too often in vain', () => {
  it.each([
    [
      'the bank ended it (CANCELLED)',
      WHY_ENDED,
      /^Why did you end customer instruction \S+, or do not show it/,
    ],
    [
      'an add without an answer was not seen',
      undefined,
      /^Why do additions to an instruction, last to \S+, stay/,
    ],
  ])('asks the bank about what it was abandoned for: %s', async (reason, askBank, asked) => {
    const { superuserUrl } = office.server;
    const { claim, work } = await claimed();
    const abandonment = new Abandonment(
      office.database,
      {} as InstructionReader,
      { REBUILD_LIMIT: 0 } as Config,
    );
    await abandonment.rebuild(claim, work, reason, askBank);
    const told = `SELECT happened, ask_bank AS asked FROM attention WHERE kind = 'REBUILD_LIMIT' AND resolved_at IS NULL`;
    const answered = { happened: expect.stringContaining(reason), asked: expect.stringMatching(asked) };
    expect(await select(superuserUrl, told)).toEqual([answered]);
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       DELETE FROM attention WHERE kind = 'REBUILD_LIMIT';
       UPDATE instruction SET status = 'VERIFIED' WHERE id = '${ours.unmoved}';
       UPDATE bank_payment SET add_doubt = 'the id 7 of another payment', add_outcome = 'IN_DOUBT', bank_payment_id = NULL
       WHERE instruction_id IN (SELECT id FROM instruction WHERE planned_instruction_id = '${ours.planned[2]}')`,
    );
    await abandonment.rebuild(claim, work, reason, askBank);
    expect(await select(superuserUrl, told)).toEqual([
      {
        ...answered,
        asked: expect.stringMatching(`${asked.source}.* Why did you give one payment id to two`),
      },
    ]);
  });
});

describe('what is to be ended by a step that a restore overtakes', () => {
  const unmoved = { submittedBefore: () => Promise.resolve({ isUnclear: false }) };
  it.each<[string, (abandonment: Abandonment, ...of: [Claim, Work]) => Promise<unknown>]>([
    [
      'to be built again',
      (abandonment, claim, work) => abandonment.rebuild(claim, work, 'a row is not seen'),
    ],
    ['for an amendment', (abandonment, claim, work) => abandonment.end(claim, work)],
  ])('is not given up before the bank was read, %s', async (_, ends) => {
    const { superuserUrl } = office.server;
    const { claim, work } = await claimed();
    const reader = unmoved as unknown as InstructionReader;
    const abandonment = new Abandonment(office.database, reader, { REBUILD_LIMIT: 5 } as Config);
    await execute(
      superuserUrl,
      `INSERT INTO database_restore (id, what) VALUES (gen_random_uuid(), 'a dump')`,
    );
    await expect(ends(abandonment, claim, work)).rejects.toEqual(new Halted('RESTORED'));
    const stands = `SELECT status FROM instruction WHERE id = '${ours.unmoved}'`;
    expect(await select(superuserUrl, stands)).toEqual([{ status: 'VERIFIED' }]);
    await execute(
      superuserUrl,
      `UPDATE database_restore SET told_at = now() WHERE told_at IS NULL;
       INSERT INTO restore_check (employer_id, restore_id, passed_at)
       SELECT '${ours.employer}', id, now() FROM database_restore ON CONFLICT DO NOTHING`,
    );
    await ends(abandonment, claim, work);
    expect(await select(superuserUrl, stands)).toEqual([{ status: 'ABANDONED' }]);
  });
});
