import { answered } from '../../src/bank/errors';
import type { EmployerTransaction } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { TURNED_AWAY } from '../../src/submission/decision';
import {
  finishAttempt,
  isOlderThanARestore,
  refusesOurAccess,
  timesTurnedAway,
} from '../../src/submission/submit-record';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { firstRows, idsOf, insertion, Row } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const ours = idsOf(1);
const { submit_attempt: attempt, bank_call: call } = firstRows(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

const inOurs = <T>(work: (tx: EmployerTransaction) => Promise<T>) =>
  office.database.inEmployer(ours.employer, work);
const as = (...statements: string[]) =>
  execute(office.server.superuserUrl, ['SET session_replication_role = replica', ...statements].join('; '));
/** A further attempt of the same rows, beside the one that stands. */
const attempted = (outcome: string | null, outcome_detail: string | null, more: Row = {}) =>
  as(insertion('submit_attempt', { ...attempt, id: newId(), outcome, outcome_detail, ...more }));

describe('how often a submit was turned away', () => {
  const times = () => inOurs((tx) => timesTurnedAway(tx, { plannedInstructionId: ours.planned[0] }));

  it('is counted by what was armed again, of the same rows and for that', async () => {
    expect(await times()).toBe(0);
    await attempted('PROVEN_UNSENT', `${TURNED_AWAY}once`);
    await attempted('PROVEN_UNSENT', `${TURNED_AWAY}twice`);
    await attempted('PROVEN_UNSENT', 'ECONNREFUSED');
    await attempted('PROVEN_UNSENT', `${TURNED_AWAY}another`, { planned_instruction_id: ours.planned[1] });
    expect(await times()).toBe(2);
    await as(
      `UPDATE submit_attempt SET outcome = 'IN_DOUBT', outcome_detail = '${TURNED_AWAY}thrice' WHERE id = '${ours.attempt}'`,
    );
    expect(await times()).toBe(2);
  });
});

describe('what is known of a submit', () => {
  it('is written down with the attempt that stands, and no other', async () => {
    await attempted('PROVEN_UNSENT', 'ECONNREFUSED');
    await attempted(null, null, {
      planned_instruction_id: ours.planned[1],
      instruction_id: ours.instruction[1],
    });
    await inOurs((tx) =>
      finishAttempt(tx, { id: ours.instruction[0] } as Instruction, 'EXECUTED', 'the answer'),
    );
    const all = `SELECT outcome, outcome_detail AS detail FROM submit_attempt WHERE employer_id = '${ours.employer}' ORDER BY outcome`;
    expect(await select(office.server.superuserUrl, all)).toEqual([
      { outcome: 'EXECUTED', detail: 'the answer' },
      { outcome: 'PROVEN_UNSENT', detail: 'ECONNREFUSED' },
      { outcome: null, detail: null },
    ]);
  });
});

describe('whether the database was restored since a submit', () => {
  const isOlder = () =>
    inOurs((tx) =>
      isOlderThanARestore(tx, { id: ours.instruction[0], plannedInstructionId: ours.planned[0] }),
    );
  const restored = () =>
    as(`INSERT INTO database_restore (id, what, told_at) VALUES (gen_random_uuid(), 'a dump', now())`);

  it('is told by the last of its restores, of the attempt that stands, whatever a clock said', async () => {
    await as(`UPDATE submit_attempt SET attempted_at = '2100-01-01T08:00:00Z' WHERE id = '${ours.attempt}'`);
    expect(await isOlder()).toBe(false);
    await restored();
    expect(await isOlder()).toBe(true);
    await as(`UPDATE submit_attempt SET outcome = 'PROVEN_UNSENT' WHERE id = '${ours.attempt}'`);
    expect(await isOlder()).toBe(false);
    await attempted(null, null, { attempted_at: '2020-01-01T08:00:00Z' });
    expect(await isOlder()).toBe(false);
  });
});

describe('whether an answer to a submit refuses our access', () => {
  const UNAUTHORISED = { kind: 'no', reason: 'unauthorised', why: answered(401) } as const;
  const refuses = (outcome: Parameters<typeof refusesOurAccess>[1] = UNAUTHORISED) =>
    inOurs((tx) => refusesOurAccess(tx, outcome));
  const [FIRST, SECOND, THIRD] = ['2026-11-20T08:00:00Z', '2026-11-20T09:00:00Z', '2026-11-20T10:00:00Z'];
  const submitted = (finished_at: string, of: Row = {}) =>
    as(
      insertion('bank_call', {
        ...call,
        id: newId(),
        operation: 'submit',
        outcome: 'NO',
        outcome_detail: answered(401),
        finished_at,
        ...of,
      }),
    );

  it('is so by a 403, or the second 401 with nothing executed in between', async () => {
    expect(await refuses({ kind: 'no', reason: 'forbidden', why: answered(403) })).toBe(true);
    expect(await refuses({ kind: 'in-doubt', why: 'no answer' })).toBe(false);
    await submitted(FIRST);
    expect(await refuses()).toBe(false);
    await submitted(THIRD);
    expect(await refuses()).toBe(true);
    await submitted(SECOND, { outcome: 'YES', outcome_detail: null });
    expect(await refuses()).toBe(false);
  });

  it.each<[string, Row]>([
    ['was answered otherwise', { outcome_detail: answered(429) }],
    ['was no refusal', { outcome: 'IN_DOUBT' }],
    ['was no submit', { operation: 'initiate' }],
  ])('is not so where what was answered before %s', async (_what, change) => {
    await submitted(FIRST, change);
    await submitted(SECOND);
    expect(await refuses()).toBe(false);
  });

  it('is so by what was attempted meanwhile and is in doubt, and not where that was executed', async () => {
    await submitted(FIRST, { instruction_id: ours.instruction[1] });
    await submitted(THIRD, { instruction_id: ours.instruction[1] });
    const ends = (outcome: string) =>
      as(
        `UPDATE submit_attempt SET outcome = '${outcome}', attempted_at = '${SECOND}' WHERE id = '${ours.attempt}'`,
      );
    await ends('IN_DOUBT');
    expect(await refuses()).toBe(true);
    await ends('EXECUTED');
    expect(await refuses()).toBe(false);
  });
});
