import { Logger } from '@nestjs/common';
import type { BankGateway } from '../../src/bank/gateway';
import type { Outcome } from '../../src/bank/outcome';
import type { BankInstruction } from '../../src/bank/records';
import { PersonalData } from '../../src/database/personal-data';
import { Fenced, Leases, wake } from '../../src/database/leases';
import { DatabaseIsBehind, type RestoreGuard } from '../../src/database/restore-guard';
import { instructionOfRun } from '../../src/pay-run/instruction.store';
import type { Abandonment } from '../../src/submission/abandonment';
import { CutOff } from '../../src/submission/cut-off';
import type { GivenUpLook } from '../../src/submission/given-up-look';
import type { InstructionReader, ReadBack } from '../../src/submission/read-back';
import type { SubmitLooks } from '../../src/submission/submit-looks';
import { isOlderThanARestore } from '../../src/submission/submit-record';
import { Submitter } from '../../src/submission/submitter';
import { RowsChanged } from '../../src/submission/tampering';
import type { UnsentSubmits } from '../../src/submission/unsent-submits';
import type { UnsubmittedLook } from '../../src/submission/unsubmitted-look';
import type { Verifier } from '../../src/submission/verifier';
import { Halted, hashOfRows, type PayableRow } from '../../src/submission/work';
import { idsOf, RESTORE, uuid } from '../database/two-employers';
import { testConfig } from '../http/test-app';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { SetClock } from '../schedule/schedules';
import { execute, select } from '../support/database';

const ours = idsOf(1);
const ROW = {
  rowNo: 1,
  employeeId: 'E1',
  name: 'A',
  iban: 'DE70999900000000001001',
  bic: null,
  amountMinor: 100n,
  currency: 'EUR',
  remittance: null,
  replacesPaymentId: null,
  paysAgain: false,
} as PayableRow;
const APPROVED = `'\\x${hashOfRows([ROW]).toString('hex')}'`;
const [IN_TIME, LATE] = ['2026-11-27T15:59:56.999Z', '2026-11-27T15:59:57.000Z'];
const INSTRUCTION = `WHERE id = '${ours.instruction[0]}'`;
/** An attempt at it that provably never left. */
const UNSENT = uuid(77);

let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
  await replicate(
    `UPDATE instruction SET status = 'VERIFIED', bank_status = 'INITIATED' ${INSTRUCTION};
     UPDATE planned_instruction SET row_hash = ${APPROVED} WHERE id = '${ours.planned[0]}';
     UPDATE submit_attempt SET id = '${UNSENT}', row_hash = ${APPROVED}, outcome = 'PROVEN_UNSENT', outcome_detail = 'not-sent',
       attempted_at = now() - interval '1 day', finished_at = now() WHERE employer_id = '${ours.employer}';
     DELETE FROM forgotten_instruction; DELETE FROM moved_instruction; DELETE FROM attention; DELETE FROM attention_action;
     DELETE FROM service_stop; DELETE FROM lease; UPDATE service_switch SET submits_off = false, reason = NULL`,
  );
});
afterEach(async () => {
  jest.restoreAllMocks();
  await office.close();
});

const replicate = (sql: string) =>
  execute(office.server.superuserUrl, `SET session_replication_role = replica; ${sql}`);

type Answer = Outcome<BankInstruction>;
const SHOWN = {
  bankInstructionId: 'bank-1-1',
  status: 'SUB_REQUIRED',
  calculatedCount: 1,
  calculatedTotalMinor: 100n,
} as unknown as BankInstruction;
const YES: Answer = { kind: 'yes', status: 201, value: SHOWN };
const NOT_SENT: Answer = { kind: 'no', reason: 'not-sent', why: 'ECONNREFUSED' };

interface So {
  /** In SQL, once all was looked at, and while it is sent. */
  meanwhile?: string;
  whileSent?: string;
  answer?: Answer;
  now?: string;
  rows?: PayableRow[];
  reading?: ReadBack;
  stops?: boolean;
  /** What was given up of the same rows has moved. */
  isPaidByAnother?: boolean;
  guard?: Partial<RestoreGuard>;
  settings?: Record<string, string>;
}

/** One step of a verified instruction, and what it comes to. */
async function step(so: So = {}) {
  await office.database.inEmployer(ours.employer, async (tx) =>
    wake(tx, 'INSTRUCTION', [ours.instruction[0]]),
  );
  const [claim] = await new Leases(office.database).claim('INSTRUCTION', 'first', 1, 60_000);
  const work = await office.database.inEmployer(ours.employer, (tx) =>
    instructionOfRun(tx, ours.instruction[0]),
  );
  const done: string[] = [];
  const note = (what: string) => () => Promise.resolve(done.push(what)).then(() => 'never' as const);
  const config = testConfig({
    BANK_TIME_ZONE: 'UTC',
    BANK_CUT_OFF: '16:00',
    BANK_TIMEOUT_MS: '3000',
    BANK_AMOUNT_UNIT: 'minor',
    ...so.settings,
  });
  const gateway = {
    prepareSubmit: (bankInstructionId: string) => ({
      bankInstructionId,
      path: '/submit',
      bodyHash: Buffer.alloc(32),
    }),
    sendSubmit: async () => {
      done.push('sent');
      if (so.whileSent) await replicate(so.whileSent);
      return so.answer ?? YES;
    },
  } as unknown as BankGateway;
  const reader = {
    readBack: () =>
      Promise.resolve(so.reading ?? { kind: 'equal', judgement: { kind: 'equal', matched: new Map() } }),
  } as unknown as InstructionReader;
  const verifier = {
    shown: () => Promise.resolve(),
    wait: note('wait'),
    fewer: note('fewer'),
    breach: note('breach'),
  };
  const clock = new SetClock(so.now ?? IN_TIME);
  const personal = {} as PersonalData;
  const cutOff = new CutOff(
    office.database,
    personal,
    reader,
    verifier as unknown as Verifier,
    clock,
    config,
  );
  const looks = {
    inPlace: (_rows: unknown, look: () => unknown) => look(),
    atReplaced: () => Promise.resolve({}),
    ageFromNow: () => undefined,
    inTurn: async () => {
      if (so.meanwhile) await replicate(so.meanwhile);
      if (so.stops) submitter.stop();
      return { allowed: {} };
    },
  } as unknown as SubmitLooks;
  const guard = { markWithin: () => Promise.resolve(1n), keep: () => Promise.resolve(), ...so.guard };
  const submitter: Submitter = new Submitter(
    office.database,
    gateway,
    personal,
    verifier as unknown as Verifier,
    { endAsRead: note('end') } as unknown as Abandonment,
    { remember: note('unsent') } as unknown as UnsentSubmits,
    guard as unknown as RestoreGuard,
    cutOff,
    looks,
    { stand: () => Promise.resolve(!so.isPaidByAnother) } as unknown as GivenUpLook,
    { wasUnsubmitted: () => Promise.resolve() } as unknown as UnsubmittedLook,
    clock,
    config,
  );
  submitter['rowsOf'] = () => Promise.resolve(so.rows ?? [ROW]);
  const end: unknown = await submitter.step(claim!, work!).catch((error: unknown) => error);
  return { end, done, ...(await stands()) };
}

/** How the instruction, its payment and its submit attempts stand, and what people are asked. */
async function stands() {
  const [now] = await select<{
    status: string;
    pays: string;
    attempts: (string | null)[];
    asked: string | null;
  }>(
    office.server.superuserUrl,
    `SELECT i.status, (SELECT status FROM payment WHERE id = '${ours.payment}') AS pays,
       ARRAY(SELECT outcome || CASE WHEN outcome_detail LIKE 'turned away: %' THEN ', turned away' ELSE '' END FROM submit_attempt WHERE instruction_id = i.id AND id <> '${UNSENT}') AS attempts,
       (SELECT string_agg(kind, ',' ORDER BY kind) FROM attention WHERE resolved_at IS NULL) AS asked
     FROM instruction i ${INSTRUCTION}`,
  );
  return now;
}

const NOT_BEGUN = { done: [], status: 'VERIFIED', pays: 'AT_BANK', attempts: [] };

describe('a submit', () => {
  it('of what stands as it was approved is sent once, and is executed where the bank says so', async () => {
    expect(await step()).toEqual({
      end: 'never',
      done: ['sent'],
      status: 'SUBMITTED',
      pays: 'SUBMITTED',
      attempts: ['EXECUTED'],
      asked: null,
    });
    const before = `SELECT outcome FROM submit_attempt WHERE id = '${UNSENT}'`;
    expect(await select(office.server.superuserUrl, before)).toEqual([{ outcome: 'PROVEN_UNSENT' }]);
  });

  const otherRow = [{ ...ROW, amountMinor: 101n }];
  it.each<[string, So, unknown]>([
    ['its rows are not those approved', { rows: otherRow }, expect.any(RowsChanged)],
    [
      'its run is followed meanwhile',
      { meanwhile: `UPDATE pay_run SET status = 'FOLLOWING' WHERE id = '${ours.run}'` },
      new Halted('NOT_ITS_TURN'),
    ],
    [
      'its run is stopped meanwhile',
      {
        meanwhile: `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a doubt' WHERE id = '${ours.run}'`,
      },
      new Halted('STOPPED'),
    ],
    [
      'another has it meanwhile',
      { meanwhile: `UPDATE lease SET holder = 'another', epoch = epoch + 1` },
      expect.any(Fenced),
    ],
    [
      'its account is blocked meanwhile',
      { meanwhile: `UPDATE employer_account SET bank_status = 'SUSPENDED'` },
      new Halted('ACCOUNT'),
    ],
    ['its process ends', { stops: true }, 0],
    ['what was given up of its rows does not stand', { isPaidByAnother: true }, expect.any(Number)],
    [
      'the database is behind what was remembered',
      { guard: { markWithin: () => Promise.reject(new DatabaseIsBehind()) } },
      new Halted('RESTORED'),
    ],
  ])('is not begun where %s', async (_, so, end) => {
    expect(await step(so)).toEqual({ ...NOT_BEGUN, end, asked: null });
  });

  it.each<[string, So, unknown, string]>([
    [
      'too few approvals stand',
      { meanwhile: `UPDATE employer SET approvals_required = 2 WHERE id = '${ours.employer}'` },
      'never',
      'INVARIANT_BREACH',
    ],
    [
      'a submit that is forgotten may have paid its rows',
      {
        meanwhile: `INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(),
            'pay_run_id', '${ours.spareRun}', 'status', 'VOID', 'live', false))).* FROM payment p WHERE id = '${ours.payment}';
          INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status)
          VALUES ('${ours.employer}', 'forgotten-9', '${RESTORE}', '${ours.spareRun}', 'SETTLED')`,
      },
      expect.any(Number),
      'POSSIBLE_DUPLICATE_PAY',
    ],
  ])('is not begun, and people are asked, where %s', async (_, so, end, asked) => {
    expect(await step(so)).toEqual({ ...NOT_BEGUN, end, asked });
  });

  it('is not begun past the cut-off: what was to be submitted is released', async () => {
    const released = { done: [], status: 'RELEASED', pays: 'VOID', attempts: [], asked: 'STALE_DATE' };
    expect(await step({ now: LATE })).toEqual({ ...released, end: 'never' });
  });

  it('is not begun where the cut-off comes to pass while its turn is waited for', async () => {
    const meanwhile = `UPDATE pay_run SET execution_date = '2026-11-26' WHERE id = '${ours.run}'`;
    const released = { done: [], status: 'RELEASED', pays: 'VOID', attempts: [], asked: 'STALE_DATE' };
    expect(await step({ meanwhile })).toEqual({ ...released, end: 'never' });
  });

  it.each<[string, ReadBack, string]>([
    ['less', { kind: 'fewer' } as unknown as ReadBack, 'fewer'],
    ['not at its gate', { kind: 'wait', bankStatus: 'INI_STARTED' }, 'wait'],
    ['unclear', { kind: 'unclear' }, 'wait'],
    ['moved', { kind: 'moved', bankStatus: 'EXCHANGED' }, 'breach'],
    ['dead', { kind: 'dead', bankStatus: 'CANCELLED' }, 'end'],
    ['gone', { kind: 'gone' }, 'end'],
    ['unidentified', { kind: 'unidentified', why: 'a row' }, 'end'],
    ['different', { kind: 'different', why: 'a row', named: {} } as unknown as ReadBack, 'end'],
  ])('is not begun where it is read as %s', async (_, reading, what) => {
    expect(await step({ reading })).toEqual({ ...NOT_BEGUN, done: [what], end: 'never', asked: null });
  });

  it('is not sent where its intent cannot be remembered outside the database, and stays to be sent', async () => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const guard = { keep: () => Promise.reject(new Error('the disk is full')) };
    expect(await step({ guard })).toMatchObject({
      done: [],
      status: 'VERIFIED',
      attempts: ['PROVEN_UNSENT'],
    });
  });
});

describe('the answer to a submit', () => {
  const intended = (outcome: string) => ({
    done: ['sent'],
    status: 'SUBMIT_INTENT',
    pays: 'AT_BANK',
    attempts: [outcome],
  });
  const restored = (nth = 'DEFAULT') =>
    `INSERT INTO database_restore (id, what, nth, told_at) VALUES ('${uuid(78)}', 'a dump', ${nth}, now())`;

  it.each<[string, So, object]>([
    ['never left', { answer: NOT_SENT }, { status: 'VERIFIED', attempts: ['PROVEN_UNSENT'] }],
    [
      'never left, after a restore from before it',
      { answer: NOT_SENT, whileSent: restored('0') },
      { status: 'VERIFIED', attempts: ['PROVEN_UNSENT'] },
    ],
    [
      'never left, and the database was restored since, which may have forgotten another that did',
      { answer: NOT_SENT, whileSent: restored() },
      intended('IN_DOUBT'),
    ],
    ['is none', { answer: { kind: 'in-doubt', why: 'time-out' } }, intended('IN_DOUBT')],
    [
      'is a 401 of a bank that gave no word on it',
      { answer: { kind: 'no', reason: 'unauthorised', status: 401 } },
      intended('IN_DOUBT'),
    ],
    [
      'is a 401 of a bank that turns away before it executes',
      {
        answer: { kind: 'no', reason: 'unauthorised', status: 401 },
        settings: { BANK_REJECTS_BEFORE_EXECUTING: 'true' },
      },
      intended('IN_DOUBT, turned away'),
    ],
    [
      'is a refusal',
      { answer: { kind: 'no', reason: 'invalid', status: 422 } },
      { status: 'SUBMIT_REFUSED', attempts: ['REFUSED'], asked: 'SUBMIT_REFUSED', pays: 'AT_BANK' },
    ],
    [
      'comes after others doubted it: a yes ends that',
      { whileSent: `UPDATE instruction SET status = 'SUBMIT_UNKNOWN' ${INSTRUCTION}` },
      { status: 'SUBMITTED', attempts: ['EXECUTED'], pays: 'SUBMITTED', asked: null },
    ],
    [
      'comes after others doubted it: that it never left changes nothing',
      { answer: NOT_SENT, whileSent: `UPDATE instruction SET status = 'SUBMIT_UNKNOWN' ${INSTRUCTION}` },
      { status: 'SUBMIT_UNKNOWN', attempts: [null], pays: 'AT_BANK' },
    ],
    [
      'comes after people said that it was not executed: a yes stops everything',
      { whileSent: `UPDATE instruction SET status = 'VOID' ${INSTRUCTION}` },
      { status: 'VOID', attempts: [null], asked: 'INVARIANT_BREACH,POSSIBLE_DUPLICATE_PAY' },
    ],
    [
      'shows other totals',
      { answer: { ...YES, value: { ...SHOWN, calculatedCount: 2 } } },
      { status: 'SUBMITTED', attempts: ['EXECUTED'], asked: 'TOTAL_MISMATCH_AFTER_SUBMIT' },
    ],
  ])('%s', async (_, so, ends) => {
    expect(await step(so)).toMatchObject(ends);
  });

  it('of one that people said was not executed changes nothing where it never left', async () => {
    const whileSent = `UPDATE instruction SET status = 'VOID' ${INSTRUCTION}`;
    const seen = await step({ answer: NOT_SENT, whileSent });
    expect(seen).toMatchObject({ end: 'never', status: 'VOID', asked: null });
  });

  it.each<[string, Answer, string]>([
    ['is executed', YES, 'EXECUTED'],
    ['never left', NOT_SENT, 'PROVEN_UNSENT'],
  ])('finishes no attempt at another instruction where it %s', async (_, answer, outcome) => {
    await replicate(`INSERT INTO submit_attempt (employer_id, id, planned_instruction_id, instruction_id, bank_instruction_id, row_hash, epoch)
      VALUES ('${ours.employer}', '${uuid(78)}', '${ours.planned[1]}', '${ours.instruction[1]}', 'bank-1-2', ${APPROVED}, 1)`);
    expect((await step({ answer })).attempts).toEqual([outcome]);
    const other = `SELECT outcome FROM submit_attempt WHERE id = '${uuid(78)}'`;
    expect(await select(office.server.superuserUrl, other)).toEqual([{ outcome: null }]);
  });

  it.each([
    ['this instruction', '', true],
    ['an earlier one of the same rows', `, instruction_id = '${ours.abandoned}'`, false],
  ])(
    'is known to be older than a restore by a submit of this instruction alone: %s',
    async (_, of, isOlder) => {
      await replicate(`DELETE FROM database_restore; ${restored()};
      UPDATE submit_attempt SET outcome = NULL, outcome_detail = NULL, finished_at = NULL, known_restores = 0${of} WHERE id = '${UNSENT}'`);
      const instruction = { id: ours.instruction[0], plannedInstructionId: ours.planned[0] };
      const older = await office.database.inEmployer(ours.employer, (tx) =>
        isOlderThanARestore(tx, instruction),
      );
      expect(older).toBe(isOlder);
    },
  );

  it('leaves its totals to be checked where it shows none', async () => {
    await step({ answer: { ...YES, value: { status: 'SUB_REQUIRED' } } as Answer });
    const checked = `SELECT totals_checked_at AS at FROM instruction ${INSTRUCTION}`;
    expect(await select(office.server.superuserUrl, checked)).toEqual([{ at: null }]);
  });

  it.each([
    ['never left', 'not-sent', false],
    ['was turned away', 'turned away: status 401', true],
  ])('counts what was sent before, where one that %s was', async (_, detail, isCounted) => {
    await replicate(`UPDATE submit_attempt SET outcome_detail = '${detail}' WHERE id = '${UNSENT}'`);
    await step({ answer: { kind: 'no', reason: 'invalid', status: 422 } });
    const certain = `SELECT certain LIKE '%was sent 2 times%' AS counted FROM attention WHERE resolved_at IS NULL`;
    expect(await select(office.server.superuserUrl, certain)).toEqual([{ counted: isCounted }]);
  });

  it('finds that the database has lost its intent: nothing of it is recorded, and it counts as restored', async () => {
    const { status } = await step({ whileSent: `DELETE FROM bank_call WHERE operation = 'submit'` });
    expect(status).toBe('SUBMIT_INTENT');
    const found = `SELECT FROM database_restore WHERE what LIKE 'The database lost the intent of a submit%'`;
    expect(await select(office.server.superuserUrl, found)).toHaveLength(1);
  });
});
