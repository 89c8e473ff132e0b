import { BankUnreachable } from '../../src/bank/errors';
import { PersonalData } from '../../src/database/personal-data';
import { Claim, Fenced, Leases, wake } from '../../src/database/leases';
import { instructionOfRun } from '../../src/pay-run/instruction.store';
import { CutOff } from '../../src/submission/cut-off';
import type { InstructionReader, ReadBack } from '../../src/submission/read-back';
import type { Verifier } from '../../src/submission/verifier';
import { Halted, Work } from '../../src/submission/work';
import { idsOf, RESTORE } from '../database/two-employers';
import { testConfig } from '../http/test-app';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { SetClock } from '../schedule/schedules';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';

const ours = idsOf(1);
const CONFIG = testConfig({
  BANK_TIME_ZONE: 'UTC',
  BANK_CUT_OFF: '16:00',
  BANK_TIMEOUT_MS: '3000',
  BANK_AMOUNT_UNIT: 'minor',
});
/** The last moment at which a submit may begin, and the first at which none may. */
const [IN_TIME, LATE] = ['2026-11-27T15:59:56.999Z', '2026-11-27T15:59:57.000Z'];

const WAITS = `UPDATE instruction SET status = 'VERIFIED' WHERE id = '${ours.instruction[0]}'`;
const forgotten = (run: string) =>
  `INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status)
   VALUES ('${ours.employer}', 'forgotten-9', '${RESTORE}', '${run}', 'SETTLED')`;
const STOPS_ALL = `UPDATE service_switch SET submits_off = true, reason = 'RESTORED'`;
const ANOTHER_UNIT = `UPDATE employer_account SET unit_confirmed = 'major'`;

let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
  await replicate(`
    ${WAITS};
    DELETE FROM submit_attempt; DELETE FROM forgotten_instruction; DELETE FROM moved_instruction;
    DELETE FROM service_stop; DELETE FROM attention_action; DELETE FROM lease;
    UPDATE service_switch SET submits_off = false, reason = NULL`);
});
afterEach(() => office.close());

const replicate = (sql: string) =>
  execute(office.server.superuserUrl, `SET session_replication_role = replica; ${sql}`);

const EQUAL = { kind: 'equal' } as ReadBack & { kind: 'equal' };

/** Whatever is read; what is to be decided by people is noted. */
function cutOffAt(now: string, read: () => Promise<ReadBack> = () => Promise.resolve(EQUAL)) {
  const breaches: string[] = [];
  const breach = (_claim: Claim, _work: Work, bankStatus: string) => {
    breaches.push(bankStatus);
    return Promise.resolve(60_000);
  };
  const cutOff = new CutOff(
    office.database,
    { open: () => '' } as unknown as PersonalData,
    { readBack: read } as unknown as InstructionReader,
    { breach } as unknown as Verifier,
    new SetClock(now),
    CONFIG,
  );
  return { cutOff, breaches };
}

async function claimed() {
  await office.database.inEmployer(ours.employer, async (tx) =>
    wake(tx, 'INSTRUCTION', [ours.instruction[0]]),
  );
  const [claim] = await new Leases(office.database).claim('INSTRUCTION', 'first', 1, 60_000);
  const work = await office.database.inEmployer(ours.employer, (tx) =>
    instructionOfRun(tx, ours.instruction[0]),
  );
  return { claim: claim!, work: work! };
}

/** The states of the instruction and its payment, and whether people are asked about it. */
async function stands() {
  const [now] = await select<{ of: string; pays: string; asked: string | null }>(
    office.server.superuserUrl,
    `SELECT i.status AS of, p.status AS pays, (SELECT a.kind FROM attention a WHERE a.resolved_at IS NULL) AS asked
     FROM instruction i, payment p WHERE i.id = '${ours.instruction[0]}' AND p.id = '${ours.payment}'`,
  );
  return now && [now.of, now.pays, now.asked];
}
const RELEASED = ['RELEASED', 'VOID', 'STALE_DATE'];
const UNTOUCHED = ['VERIFIED', 'AT_BANK', null];

describe('an instruction of which no submit can end before the cut-off any more', () => {
  it('is too late from the moment at which its submit might end after it, where it is still unsent in a submitting run', async () => {
    const { work } = await claimed();
    const isTooLate = (now: string, run = {}, instruction = {}) =>
      cutOffAt(now).cutOff.isTooLate({
        run: { ...work.run, ...run },
        instruction: { ...work.instruction, ...instruction },
      });
    expect([isTooLate(IN_TIME), isTooLate(LATE)]).toEqual([false, true]);
    for (const status of ['VERIFIED', 'FOLLOWING']) expect(isTooLate(LATE, { status })).toBe(false);
    for (const status of ['SUBMIT_INTENT', 'SUBMITTED', 'SUBMIT_UNKNOWN', 'SUBMIT_REFUSED', 'ABANDONED'])
      expect([status, isTooLate(LATE, {}, { status })]).toEqual([status, false]);
  });

  it('is released, its payments are void, and who follows both is woken', async () => {
    await replicate(
      `UPDATE add_intent SET finished_at = NULL;
       DELETE FROM bank_payment WHERE instruction_id = '${ours.instruction[0]}'`,
    );
    const { claim, work } = await claimed();
    await cutOffAt(LATE).cutOff.expire(claim, work, EQUAL);
    expect(await stands()).toEqual(RELEASED);
    const { superuserUrl } = office.server;
    expect(
      await select(superuserUrl, `SELECT kind FROM lease WHERE employer_id = '${ours.employer}' ORDER BY 1`),
    ).toEqual(['FOLLOW', 'RUN'].map((kind) => ({ kind })));
    expect(
      await select(
        superuserUrl,
        `SELECT row_no, add_outcome FROM bank_payment WHERE instruction_id = '${ours.instruction[0]}'`,
      ),
    ).toEqual([{ row_no: 1, add_outcome: 'IN_DOUBT' }]);
  });

  it.each<[string, { now?: string; sets?: string; seen?: ReadBack | { kind: 'unread' } }]>([
    ['it is in time', { now: IN_TIME }],
    ['its submit was begun meanwhile', { sets: WAITS.replace('VERIFIED', 'SUBMIT_INTENT') }],
    [
      'its run is followed meanwhile',
      { sets: `UPDATE pay_run SET status = 'FOLLOWING' WHERE id = '${ours.run}'` },
    ],
  ])('is not released where %s', async (_, { now = LATE, sets = '' }) => {
    const { claim, work } = await claimed();
    await replicate(sets);
    const before = await stands();
    await cutOffAt(now).cutOff.expire(claim, work, EQUAL);
    expect(await stands()).toEqual(before);
  });

  it('is released by nobody who has lost it', async () => {
    const { claim, work } = await claimed();
    await replicate(`UPDATE lease SET holder = 'another', epoch = epoch + 1`);
    await expect(cutOffAt(LATE).cutOff.expire(claim, work, EQUAL)).rejects.toBeInstanceOf(Fenced);
    expect(await stands()).toEqual(UNTOUCHED);
  });

  it('waits in one order for its run and itself', async () => {
    const { claim, work } = await claimed();
    await connected(office.server.superuserUrl, async (other) => {
      await other.query(`BEGIN; SELECT FROM pay_run WHERE id = '${ours.run}' FOR UPDATE`);
      const underWay = cutOffAt(LATE).cutOff.expire(claim, work, EQUAL);
      await eventually(() => isWaitedFor(other), 5_000);
      const own = `SELECT FROM instruction WHERE id = '${ours.instruction[0]}' FOR UPDATE NOWAIT`;
      await expect(other.query(own)).resolves.toBeDefined();
      await other.query(`UPDATE pay_run SET stopped_at = NULL WHERE id = '${ours.run}'; COMMIT`);
      await underWay;
    });
    expect(await stands()).toEqual(RELEASED);
  });

  it.each<[string, string, ReadBack | { kind: 'unread' }]>([
    ['it is not read while everything is stopped', STOPS_ALL, { kind: 'unread' }],
    ['nothing clear is shown of it while everything is stopped', STOPS_ALL, { kind: 'unclear' }],
    ['a restore may have forgotten a submit of its run', forgotten(ours.run), EQUAL],
  ])('is not released where %s', async (_, sets, seen) => {
    await replicate(sets);
    const { claim, work } = await claimed();
    await expect(cutOffAt(LATE).cutOff.expire(claim, work, seen)).rejects.toEqual(new Halted('STOPPED'));
    expect(await stands()).toEqual(UNTOUCHED);
  });

  it('is released while everything is stopped where it is shown as unsubmitted', async () => {
    await replicate(STOPS_ALL);
    const { claim, work } = await claimed();
    await cutOffAt(LATE).cutOff.expire(claim, work, EQUAL);
    expect(await stands()).toEqual(RELEASED);
  });
});

describe('what is read of an instruction when the cut-off has passed', () => {
  const away = () => Promise.reject(new BankUnreachable('ECONNREFUSED', false));
  const readAt = async (now: string, read: () => Promise<ReadBack>, bankStatus = 'INITIATED') => {
    const { work } = await claimed();
    const { cutOff } = cutOffAt(now, read);
    return cutOff.readUnlessLate({ ...work, instruction: { ...work.instruction, bankStatus } }, []);
  };

  it('is nothing where the bank is away, and that it moved where that was seen before', async () => {
    expect(await readAt(LATE, away)).toEqual({ kind: 'unread' });
    expect(await readAt(LATE, away, 'SUB_REQUIRED')).toEqual({ kind: 'moved', bankStatus: 'SUB_REQUIRED' });
  });

  it('is awaited before it, and no fault of ours passes for a bank that is away', async () => {
    await expect(readAt(IN_TIME, away)).rejects.toThrow(BankUnreachable);
    await expect(readAt(LATE, () => Promise.reject(new TypeError('a fault')))).rejects.toThrow(TypeError);
  });

  const SAID = `INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, pay_run_id, bank_status, action_id)
    SELECT '${ours.employer}', bank_instruction_id, NULL, 'SETTLED', gen_random_uuid() FROM instruction
    WHERE id = '${ours.instruction[0]}'`;
  const moved = () => Promise.resolve<ReadBack>({ kind: 'moved', bankStatus: 'EXCHANGED' });

  it('keeps what moved for people to decide, until two have said that it was executed', async () => {
    const { claim, work } = await claimed();
    const before = cutOffAt(LATE, moved);
    expect(await before.cutOff.giveUp(claim, work)).toBe(60_000);
    expect(before.breaches).toEqual(['EXCHANGED']);
    expect(await stands()).toEqual(UNTOUCHED);
    await replicate(SAID);
    const inTime = cutOffAt(IN_TIME, moved);
    await inTime.cutOff.moved(claim, work, 'EXCHANGED');
    expect(inTime.breaches).toEqual(['EXCHANGED']);
    const decided = cutOffAt(LATE, moved);
    expect(await decided.cutOff.giveUp(claim, work)).toBe('never');
    expect(decided.breaches).toEqual([]);
    expect(await stands()).toEqual(RELEASED);
  });

  const tellOf = async (seen: () => Promise<ReadBack>, sets = '') => {
    await replicate(sets);
    const { claim, work } = await claimed();
    await cutOffAt(LATE, seen).cutOff.giveUp(claim, work);
    return select<{ happened: string; certain: string }>(
      office.server.superuserUrl,
      'SELECT happened, certain FROM attention WHERE resolved_at IS NULL ORDER BY kind DESC',
    );
  };
  const told = (happened: string) => [{ happened: expect.stringContaining(happened) }];
  const AS_EVER = 'Make a successor of the run, which pays its rows.';

  it('is told, and what pays its rows now', async () => {
    expect(await tellOf(() => Promise.resolve(EQUAL))).toMatchObject(told(AS_EVER));
  });

  it('leaves a doubt where the bank is away', async () => {
    expect(await tellOf(away)).toMatchObject(told('could not be read'));
  });

  it('leaves a doubt where nothing clear is shown', async () => {
    const unclear = { kind: 'unclear', unknown: 'PRO_ODD' } as const;
    expect(await tellOf(() => Promise.resolve(unclear))).toMatchObject(told('shows the status PRO_ODD'));
  });

  it('leaves none of what was never at the bank', async () => {
    const seen = await tellOf(away, `UPDATE instruction SET bank_instruction_id = NULL`);
    expect(seen).toMatchObject(told(AS_EVER));
    expect(JSON.stringify(seen)).not.toContain('could not be read');
  });

  /** Another run has the same rows, and did not pay them as far as the record says. */
  const inAnother = `INSERT INTO payment
    SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'pay_run_id', '${ours.spareRun}',
      'status', 'VOID', 'live', false))).* FROM payment p WHERE id IN ('${ours.payment}', '${ours.voidPayment}')`;
  it.each([
    ['a submit that is forgotten', forgotten(ours.spareRun), 'no successor pays them'],
    [
      'a run that is cancelled since a restore',
      // A row in between was left out.
      `UPDATE pay_run SET status = 'CANCELLED', known_restores = 0 WHERE id = '${ours.spareRun}';
       UPDATE planned_instruction SET last_row = 2 WHERE id = '${ours.planned[0]}'`,
      'may have paid 1 of its 1 payments: no successor pays these',
    ],
  ])('names nobody as payable again whom %s may have paid', async (_, sets, words) => {
    const seen = await tellOf(() => Promise.resolve(EQUAL), `${sets}; ${inAnother}`);
    expect(seen).toMatchObject(told(words));
  });

  it.each([
    ['tells how it differs', '', true],
    ['tells of no amount in a unit that nobody confirmed', ANOTHER_UNIT, false],
  ])('%s', async (_, sets, isTold) => {
    const different = {
      kind: 'different',
      why: 'a row',
      named: { FOREIGN_RECORD: ['9999 cents'], ECHO_MISMATCH: [] },
    } as unknown as ReadBack;
    const seen = () => Promise.resolve(different);
    expect(JSON.stringify(await tellOf(seen, sets)).includes('9999 cents')).toBe(isTold);
  });
});
