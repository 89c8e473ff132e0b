import { outcomeOf, type Outcome } from '../../src/bank/outcome';
import type { EmployerTransaction } from '../../src/database/database';
import { writeOutcome } from '../../src/employer/bank-calls';
import { refusesOurAccess } from '../../src/submission/submit-record';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, isLockAwaited } from '../support/database';
import { eventually } from '../support/eventually';

const { employer, instruction } = idsOf(1);
const CALLS = [1, 2].map((n) => `00000000-0000-4000-8000-00000000000${n}`);

let office: NothingAsked;
beforeAll(async () => {
  office = await nothingAsked();
});
afterAll(() => office.close());

const sql = (text: string, parameters?: unknown[]) => execute(office.server.superuserUrl, text, parameters);
const answered = (status: number): Outcome<unknown> =>
  outcomeOf({ kind: 'answer', status, text: '', header: () => undefined }, undefined);
const inEmployer = <T>(work: (tx: EmployerTransaction) => Promise<T>) =>
  office.database.inEmployer(employer, work);
const turnedAway = async (tx: EmployerTransaction, call: string) => {
  await writeOutcome(tx, call, answered(401));
  return refusesOurAccess(tx, answered(401));
};

describe('two submits that are turned away with a 401', () => {
  beforeEach(async () => {
    await sql(`DELETE FROM bank_call WHERE operation = 'submit'`);
    for (const call of CALLS) {
      await sql(
        `INSERT INTO bank_call (employer_id, id, operation, instruction_id, target, body_hash, attempt, epoch)
         VALUES ($1, $2, 'submit', $3, '/submit', '', 1, 0)`,
        [employer, call, instruction[call === CALLS[0] ? 0 : 1]],
      );
    }
  });

  it('say that our access is refused, also where both are written down at one time', async () => {
    const [first, second] = CALLS as [string, string];
    let later: Promise<boolean> | undefined;
    const earlier = await inEmployer(async (tx) => {
      const refused = await turnedAway(tx, first);
      later = inEmployer((other) => turnedAway(other, second));
      await eventually(() => isLockAwaited(office.server.superuserUrl, '%advisory%'), 5_000);
      return refused;
    });
    expect([earlier, await later]).toEqual([false, true]);
  });

  it.each([
    ['one sent between them was', 'clock_timestamp()'],
    ['the first was itself', `clock_timestamp() - interval '1 hour'`],
  ])('do not where %s executed, by whatever evidence', async (_which, at) => {
    const [first, second] = CALLS as [string, string];
    expect(await inEmployer((tx) => turnedAway(tx, first))).toBe(false);
    await sql(`SET session_replication_role = replica;
      UPDATE submit_attempt SET outcome = 'EXECUTED', attempted_at = ${at};
      UPDATE bank_call SET instruction_id = (SELECT instruction_id FROM submit_attempt WHERE employer_id = '${employer}' LIMIT 1)
      WHERE id = '${first}'`);
    expect(await inEmployer((tx) => turnedAway(tx, second))).toBe(false);
  });
});
