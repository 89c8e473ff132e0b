import { BankError, isBankError } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { Outcome } from '../../src/bank/outcome';
import type { BankInstruction } from '../../src/bank/records';
import { BankCalls } from '../../src/employer/bank-calls';
import type { BankReads } from '../../src/employer/bank-reads';
import type { Standing } from '../../src/employer/standing';
import { type Fenced, RestoreFence } from '../../src/restore/restore-fence';
import type { InstructionReader } from '../../src/submission/read-back';
import { hashOf, idsOf, RESTORE, uuid } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { SetClock } from '../schedule/schedules';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';
import { WHOLE_SWEEP } from './whole-sweep';

const ours = idsOf(1);
const TARGET = `/api/service-domain/v1/customer-instructions/credit-transfers/bank-1-10`;
const YES: Outcome<undefined> = { kind: 'yes', value: undefined, status: 204 };
const shown = (status: string): Standing => ({
  shown: { status } as BankInstruction,
  statuses: [status],
  isGone: false,
  isUnclear: false,
});
const NOT_FOUND: Standing = { isGone: true, isUnclear: false, statuses: [] };

let office: NothingAsked;
const sets = (sql: string) =>
  execute(office.server.superuserUrl, `SET session_replication_role = replica; ${sql}`);

/** One instruction that is verified, of a run that goes on, and a check that nobody has passed. */
beforeEach(async () => {
  office = await nothingAsked();
  await sets(
    `UPDATE employer_account SET reads = '{INSTRUCTION,PAYMENT_LIST}';
     UPDATE pay_run SET status = 'VERIFIED' WHERE id = '${ours.spareRun}';
     UPDATE planned_instruction SET pay_run_id = '${ours.spareRun}' WHERE id = '${ours.planned[2]}';
     UPDATE instruction SET status = 'VERIFIED', pay_run_id = '${ours.spareRun}', planned_instruction_id = '${ours.planned[2]}'
     WHERE id = '${ours.unmoved}';
     UPDATE restore_check SET passed_at = NULL WHERE restore_id = '${RESTORE}'`,
  );
});
afterEach(() => office.close());

const PASSED = `UPDATE restore_check SET passed_at = now() WHERE restore_id = '${RESTORE}'`;
const SUBMITTING = `UPDATE instruction SET status = 'SUBMIT_INTENT' WHERE id = '${ours.unmoved}'`;

/** Fences at a bank that shows it so, one read after the other, and answers a delete so; what else happens is in SQL. */
async function fenced({
  shows = [shown('INITIATED'), shown('CANCELLED')],
  answer = YES,
  whileRead = '',
  whileDeleted = '',
  doubtMs = 0,
}: {
  shows?: Standing[];
  answer?: Outcome<undefined>;
  whileRead?: string;
  whileDeleted?: string;
  doubtMs?: number;
}): Promise<Pick<Fenced, 'gone'> & { deletes: number }> {
  const standings = [...shows];
  const deleteInstruction = jest.fn(async () => {
    await sets(whileDeleted);
    return answer;
  });
  const standing = async () => {
    await sets(whileRead);
    return standings.length > 1 ? standings.shift() : standings[0];
  };
  const fence = new RestoreFence(
    office.database,
    { deleteInstruction } as unknown as BankGateway,
    new BankCalls(office.database, new SetClock('2026-11-26T10:00:00Z')),
    { standing } as unknown as InstructionReader,
    {} as BankReads,
    { BANK_LAG_BOUND_MS: 0, SUBMIT_DOUBT_MS: doubtMs, WATCH_DAYS: 14 },
  );
  const { gone } = await fence.fence(ours.employer, RESTORE, WHOLE_SWEEP, []);
  return { gone, deletes: deleteInstruction.mock.calls.length };
}

const attempts = async () =>
  (
    await select<{ status: string }>(
      office.server.superuserUrl,
      `SELECT status FROM instruction WHERE pay_run_id = '${ours.spareRun}' ORDER BY status`,
    )
  ).map(({ status }) => status);

describe('what the record holds as built, once the bank has deleted it after a restore,', () => {
  it.each(['VERIFIED', 'BUILDING'])(
    'is abandoned, and built again where its run goes on: %s',
    async (status) => {
      await sets(`UPDATE instruction SET status = '${status}' WHERE id = '${ours.unmoved}'`);
      expect((await fenced({})).deletes).toBe(1);
      expect(await attempts()).toEqual(['ABANDONED', 'PLANNED']);
    },
  );

  it('is not built again where no approval stands for it any more', async () => {
    await sets(`UPDATE pay_run SET lapse_reason = 'a restore' WHERE id = '${ours.spareRun}'`);
    await fenced({});
    expect(await attempts()).toEqual(['ABANDONED']);
  });

  it.each([
    ['others passed the check', PASSED, 'VERIFIED'],
    ['others took it further', SUBMITTING, 'SUBMIT_INTENT'],
  ])('is left as it is where %s while it was deleted', async (_, whileDeleted, status) => {
    expect((await fenced({ whileDeleted })).deletes).toBe(1);
    expect(await attempts()).toEqual([status]);
  });
});

describe('what the record holds as built is not deleted after a restore', () => {
  it.each([
    ['others passed the check', PASSED],
    ['it was taken further', SUBMITTING],
  ])('where %s while it was read', async (_, whileRead) => {
    expect((await fenced({ whileRead })).deletes).toBe(0);
  });

  it('by who waits for others that pass the check at that moment', async () => {
    await connected(office.server.superuserUrl, async (passing) => {
      await passing.query(`BEGIN; ${PASSED}`);
      const fencing = fenced({});
      await eventually(() => isWaitedFor(passing), 5_000);
      await passing.query('COMMIT');
      expect((await fencing).deletes).toBe(0);
    });
    expect(await attempts()).toEqual(['VERIFIED']);
  });
});

describe('what the record holds as built, and the bank does not find after a restore,', () => {
  const deletedBefore = (outcome: string, target: string) =>
    sets(
      `INSERT INTO bank_call (employer_id, id, operation, instruction_id, target, body_hash, attempt, epoch, outcome, finished_at)
       VALUES ('${ours.employer}', '${uuid(7_001)}', 'delete', '${ours.unmoved}', '${target}', '${hashOf(1)}', 1, 0, '${outcome}', now())`,
    );

  it.each([
    ['YES', TARGET, 1],
    ['IN_DOUBT', TARGET, 0],
    ['NO', TARGET, 0],
    ['YES', `${TARGET}1`, 0],
  ])('is gone by a delete that was answered with %s at %s: %i', async (outcome, target, gone) => {
    await deletedBefore(outcome, target);
    const found = await fenced({ shows: [NOT_FOUND] });
    expect([found.gone.length, found.deletes]).toEqual([gone, 0]);
  });
});

describe('a delete after a restore', () => {
  const refusal = (status: number) => new BankError(status, { raw: '' });
  it.each<[string, Outcome<undefined>]>([
    ['was not answered', { kind: 'in-doubt', why: 'time-out' }],
    ['was answered with 500', { kind: 'in-doubt', status: 500, why: 'status 500' }],
    ['was not sent', { kind: 'no', reason: 'not-sent', why: 'ECONNREFUSED' }],
    ['was to wait', { kind: 'no', reason: 'rate-limited', status: 429, error: refusal(429) }],
  ])('that %s is tried again, until that has lasted for long', async (_, answer) => {
    const failing = fenced({ shows: [shown('INITIATED')], answer, doubtMs: 60_000 });
    expect(isBankError(await failing.catch((error: unknown) => error))).toBe(true);
    expect(await fenced({ shows: [shown('INITIATED')], answer })).toEqual({ gone: [], deletes: 1 });
    expect(await attempts()).toEqual(['VERIFIED']);
  });

  it.each<[string, Outcome<undefined>]>([
    ['not found', { kind: 'in-doubt', status: 404, why: 'status 404' }],
    ['invalid', { kind: 'no', reason: 'invalid', status: 422, error: refusal(422) }],
    ['forbidden', { kind: 'no', reason: 'forbidden', status: 403, error: refusal(403) }],
  ])('that is refused as %s is not tried again, and proves nothing', async (_, answer) => {
    const refused = await fenced({ shows: [shown('INITIATED')], answer, doubtMs: 60_000 });
    expect(refused).toEqual({ gone: [], deletes: 1 });
    expect(await attempts()).toEqual(['VERIFIED']);
  });
});
