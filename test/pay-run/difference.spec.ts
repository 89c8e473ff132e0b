import { Database } from '../../src/database/database';
import { raise } from '../../src/pay-run/attention.store';
import { askOfDifference, isDifferenceTold } from '../../src/pay-run/difference';
import { endUnsubmitted, lockInstruction, planOf } from '../../src/pay-run/instruction.store';
import { idsOf } from '../database/two-employers';
import { execute, select } from '../support/database';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);
const [FIRST, SECOND] = ['Row 1 differs in iban.', 'Row 2 differs in amount.'];
let office: NothingAsked;
let database: Database;
beforeEach(async () => {
  office = await nothingAsked();
  ({ database } = office);
});
afterEach(() => office.close());

const open = () =>
  select<{ subject: string; attempt: string; happened: string }>(
    office.server.superuserUrl,
    `SELECT subject_id AS subject, instruction_id AS attempt, happened FROM attention
     WHERE kind = 'ECHO_MISMATCH' AND resolved_at IS NULL`,
  );
/** An attempt is given up that differed so. */
const differed = (instructionId: string, happened: string) =>
  database.inEmployer(ours.employer, async (tx) => {
    const instruction = await lockInstruction(tx, instructionId);
    await askOfDifference(tx, instruction, await planOf(tx, instruction), happened);
  });
const isTold = (happened: string, id: string = ours.planned[0]) =>
  database.inEmployer(ours.employer, (tx) => isDifferenceTold(tx, { id }, happened));

describe('how an instruction differs that is given up', () => {
  it('is one question of all its attempts, told anew where another differs otherwise', async () => {
    await differed(ours.abandoned, FIRST);
    await differed(ours.unmoved, FIRST);
    expect(await open()).toEqual([{ subject: ours.planned[0], attempt: ours.abandoned, happened: FIRST }]);
    await differed(ours.unmoved, SECOND);
    const both = `${FIRST} ${SECOND}`;
    expect(await open()).toEqual([{ subject: ours.planned[0], attempt: ours.unmoved, happened: both }]);
  });

  it('is not asked again once two people decided it, whatever else is', async () => {
    await differed(ours.abandoned, FIRST);
    await office.decide();
    await differed(ours.unmoved, SECOND);
    await differed(ours.unmoved, FIRST);
    expect(await open()).toMatchObject([{ happened: SECOND }]);
    expect(await isTold(FIRST)).toBe(true);
  });

  it('stays asked where it was asked while it was built, of an attempt that no read can clear any more', async () => {
    const [instructionId, planned] = [ours.instruction[1], ours.planned[1]];
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE instruction SET status = 'BUILDING' WHERE id = '${instructionId}'`,
    );
    await database.inEmployer(ours.employer, async (tx) => {
      const about = { subjectId: instructionId, instructionId, payRunId: ours.run };
      await raise(tx, { ...about, kind: 'ECHO_MISMATCH', happened: FIRST });
      await endUnsubmitted(tx, await lockInstruction(tx, instructionId), 'service', 'it is amended');
    });
    expect(await open()).toEqual([{ subject: planned, attempt: instructionId, happened: FIRST }]);
    expect([await isTold(FIRST, planned), await isTold(FIRST)]).toEqual([true, false]);
  });
});
