import type { EmployerTransaction } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { SUBMITTED_OR_NOT, UNSENT_OR_NOT } from '../../src/pay-run/attention-actions';
import { ATTENTION_WORDS, AttentionKind } from '../../src/pay-run/attention-words';
import { clear, raise } from '../../src/pay-run/attention.store';
import { RESTORED_UNCLEAR } from '../../src/pay-run/stop';
import { doubtsOfPeriod, openDoubts } from '../../src/reconciliation/open-doubts';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const ours = idsOf(1);
let office: NothingAsked;
beforeAll(async () => {
  office = await nothingAsked();
});
afterAll(() => office.close());

it('a submit that is not in the record is a doubt, whatever people decided of it', async () => {
  const forgotten = (adopted: string) =>
    execute(
      office.server.superuserUrl,
      `DELETE FROM forgotten_instruction;
       WITH restored AS (INSERT INTO database_restore (id, what) VALUES ('${newId()}', 'another database') RETURNING id)
       INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status, adopted_at)
       SELECT '${ours.employer}', '4711', id, '${ours.spareRun}', 'SUBMITTED', ${adopted} FROM restored`,
    );
  const doubts = () =>
    office.database.inEmployer(ours.employer, async (tx) =>
      (await openDoubts(tx, [ours.spareRun]))(ours.spareRun),
    );
  await forgotten('NULL');
  expect(await doubts()).toEqual(['UNRECORDED_SUBMIT']);
  await forgotten('now()');
  expect(await doubts()).toEqual([]);
});

it('a submit that is not in the record is none once all that it executed is counted', async () => {
  const forgotten = (executed: string) =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       DELETE FROM forgotten_instruction;
       INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status,
         action_id, executed_payments, executed_minor)
       VALUES ('${ours.employer}', '4711', '${newId()}', '${ours.spareRun}', 'SUBMITTED', '${newId()}', ${executed})`,
    );
  const doubts = () =>
    office.database.inEmployer(ours.employer, async (tx) =>
      (await openDoubts(tx, [ours.spareRun]))(ours.spareRun),
    );
  await forgotten('NULL, NULL');
  expect(await doubts()).toEqual(['UNRECORDED_SUBMIT']);
  await forgotten('2, 300');
  expect(await doubts()).toEqual([]);
  await execute(office.server.superuserUrl, 'DELETE FROM forgotten_instruction');
});

it('a run that a restore left unclear is a doubt while a submit of it may be forgotten, until it is resumed', async () => {
  const restoreId = newId();
  const [restored, checked, stopped, resumed] = [
    `UPDATE database_restore SET nth = 0;
     INSERT INTO database_restore (id, what, noticed_at, nth) VALUES ('${restoreId}', 'a dump', '2000-01-01', 3)`,
    `INSERT INTO restore_check (employer_id, restore_id, passed_at, needs_evidence)
     VALUES ('${ours.employer}', '${restoreId}', now(), false)`,
    `UPDATE pay_run SET stopped_at = now(), stopped_reason = '${RESTORED_UNCLEAR}' WHERE id = '${ours.spareRun}'`,
    `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL WHERE id = '${ours.spareRun}'`,
  ] as const;
  const doubtsAfter = async (statement: string) => {
    await execute(office.server.superuserUrl, `SET session_replication_role = replica; ${statement}`);
    return office.database.inEmployer(ours.employer, async (tx) =>
      (await openDoubts(tx, [ours.spareRun]))(ours.spareRun).join(),
    );
  };
  expect(await doubtsAfter(restored)).toBe('');
  expect(await doubtsAfter(stopped)).toBe('UNRECORDED_SUBMIT');
  expect(await doubtsAfter(checked)).toBe('');
  expect(await doubtsAfter(`DELETE FROM restore_check WHERE restore_id = '${restoreId}'`)).not.toBe('');
  expect(await doubtsAfter(resumed)).toBe('');
  await doubtsAfter(`DELETE FROM database_restore WHERE id = '${restoreId}'`);
});

it('what the bank shows otherwise than it was sent is a doubt, unless people have its word that it is not paid', async () => {
  const doubtsOf = async (otherwise: string, status: string) => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE bank_payment SET shown_otherwise = ${otherwise} WHERE payment_id = '${ours.payment}';
       UPDATE payment SET status = '${status}', live = ${status !== 'VOID'} WHERE id = '${ours.payment}'`,
    );
    return office.database.inEmployer(ours.employer, async (tx) =>
      (await openDoubts(tx, [ours.run]))(ours.run).filter((kind) => kind === 'ECHO_MISMATCH'),
    );
  };
  const [{ status: before } = { status: '' }] = await select<{ status: string }>(
    office.server.superuserUrl,
    `SELECT status FROM payment WHERE id = '${ours.payment}'`,
  );
  expect(await doubtsOf(`'amount'`, 'SETTLED')).toEqual(['ECHO_MISMATCH']);
  expect(await doubtsOf(`'amount'`, 'VOID')).toEqual([]);
  expect(await doubtsOf('NULL', before)).toEqual([]);
});

it('what a status means is one where it is asked of what had ended, and not of what is open', async () => {
  const [instructionId] = ours.instruction;
  const about = { kind: 'UNKNOWN_STATUS', instructionId, payRunId: ours.run, happened: 'something' } as const;
  const asked = (subjectId: string) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      await raise(tx, { ...about, subjectId });
      const kinds = (await openDoubts(tx, [ours.run]))(ours.run);
      await clear(tx, ['UNKNOWN_STATUS'], subjectId, 'decided');
      return kinds.filter((kind) => kind === 'UNKNOWN_STATUS');
    });
  expect(await asked(instructionId)).toEqual([]);
  expect(await asked(newId())).toEqual(['UNKNOWN_STATUS']);
});

it('a month is in doubt while a restore is not answered for, and about what was submitted that is of no run', async () => {
  const doubtsAfter = async (statement: string) => {
    await execute(office.server.superuserUrl, `SET session_replication_role = replica; ${statement}`);
    const found = [];
    for (const period of ['2026-01', '2026-02', '2026-03', '2026-04', '2026-05'])
      found.push(await office.database.inEmployer(ours.employer, (tx) => doubtsOfPeriod(tx, period)));
    return found.map((kinds) => kinds.join());
  };
  const doubt = 'UNRECORDED_SUBMIT';
  const forgotten = `INSERT INTO forgotten_instruction
    (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status, found_at)
    VALUES ('${ours.employer}', '4712', '${newId()}', NULL, 'SUBMITTED', '2026-03-10T12:00:00Z')`;
  expect(await doubtsAfter(`DELETE FROM restore_check; ${forgotten}`)).toEqual(['', doubt, doubt, doubt, '']);
  const asked = `INSERT INTO attention (employer_id, id, kind, subject_id, happened, certain, ask_bank, opened_at)
    VALUES ('${ours.employer}', '${newId()}', 'RESTORED', '${newId()}', 'x', 'x', 'x', now())`;
  const all = await doubtsAfter(`DELETE FROM forgotten_instruction; ${asked}`);
  expect(all).toEqual(Array(5).fill('RESTORED'));
  const decided = `UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE kind = 'RESTORED'`;
  expect(await doubtsAfter(decided)).toEqual(['', '', '', '', '']);
});

it('what the bank showed after a restore, and nobody can tell whose it is, is a doubt of the months about that', async () => {
  const checked = (unidentified: number) =>
    execute(
      office.server.superuserUrl,
      `DELETE FROM restore_check;
       WITH restored AS (INSERT INTO database_restore (id, what) VALUES ('${newId()}', 'another database') RETURNING id)
       INSERT INTO restore_check (employer_id, restore_id, passed_at, unidentified)
       SELECT '${ours.employer}', id, '2026-03-10T12:00:00Z', ${unidentified} FROM restored`,
    );
  const doubts = async () => {
    const found = [];
    for (const period of ['2026-01', '2026-02', '2026-03', '2026-04', '2026-05'])
      found.push(await office.database.inEmployer(ours.employer, (tx) => doubtsOfPeriod(tx, period)));
    return found.map((kinds) => kinds.join());
  };
  await checked(0);
  expect(await doubts()).toEqual(['', '', '', '', '']);
  await checked(37);
  const doubt = 'UNRECORDED_SUBMIT';
  expect(await doubts()).toEqual(['', doubt, doubt, doubt, '']);
});

it('an answer that cannot be used is a doubt of what was submitted, until it is read well or people have decided', async () => {
  const [instructionId] = ours.instruction;
  const doubts = () =>
    office.database.inEmployer(ours.employer, async (tx) =>
      (await openDoubts(tx, [ours.run]))(ours.run).filter((kind) => kind === 'CONTRACT_DRIFT'),
    );
  const submitted = (at: string) =>
    execute(
      office.server.superuserUrl,
      `UPDATE instruction SET submitted_at = ${at} WHERE id = '${instructionId}'`,
    );
  await submitted('NULL');
  await office.database.inEmployer(ours.employer, (tx) =>
    raise(tx, {
      kind: 'CONTRACT_DRIFT',
      subjectId: instructionId,
      instructionId,
      payRunId: ours.run,
      happened: 'something',
    }),
  );
  expect(await doubts()).toEqual([]);
  await submitted('now()');
  expect(await doubts()).toEqual(['CONTRACT_DRIFT']);
  await execute(
    office.server.superuserUrl,
    `UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE kind = 'CONTRACT_DRIFT'`,
  );
  expect(await doubts()).toEqual([]);
});

it.each(['VOID', 'ABANDONED', 'RELEASED'])(
  'an answer that cannot be used is a doubt of what is %s and watched, though it was never submitted',
  async (status) => {
    const [instructionId] = ours.instruction;
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       DELETE FROM attention WHERE kind = 'CONTRACT_DRIFT';
       UPDATE instruction SET submitted_at = NULL, status = '${status}' WHERE id = '${instructionId}'`,
    );
    const about = { subjectId: instructionId, instructionId, payRunId: ours.run };
    const doubts = await office.database.inEmployer(ours.employer, async (tx) => {
      await raise(tx, { kind: 'CONTRACT_DRIFT', ...about, happened: 'something' });
      return openDoubts(tx, [ours.run]);
    });
    expect(doubts(ours.run)).toContain('CONTRACT_DRIFT');
  },
);

it('that nobody sees what becomes of ended instructions of a run is one while it is open, and not of one being built', async () => {
  const asked = async (subjectId: string) => {
    const doubts = await office.database.inEmployer(ours.employer, async (tx) => {
      await raise(tx, { kind: 'ROW_UNSEEN', subjectId, payRunId: ours.run, happened: 'something' });
      return openDoubts(tx, [ours.run]);
    });
    return doubts(ours.run).filter((kind) => kind === 'ROW_UNSEEN');
  };
  expect(await asked(newId())).toEqual([]);
  expect(await asked(ours.run)).toEqual(['ROW_UNSEEN']);
  await execute(
    office.server.superuserUrl,
    `UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE kind = 'ROW_UNSEEN'`,
  );
  const left = await office.database.inEmployer(ours.employer, (tx) => openDoubts(tx, [ours.run]));
  expect(left(ours.run)).not.toContain('ROW_UNSEEN');
});

it.each([
  ['is to be submitted', UNSENT_OR_NOT],
  ['is to be ended', SUBMITTED_OR_NOT],
])('whether somebody else submitted what %s is a doubt while it is open', async (_what, question) => {
  const [instructionId] = ours.instruction;
  const about = { kind: 'ROW_UNSEEN', subjectId: instructionId, instructionId, payRunId: ours.run } as const;
  const doubts = async (tx: EmployerTransaction) => (await openDoubts(tx, [ours.run]))(ours.run);
  await office.database.inEmployer(ours.employer, async (tx) => {
    await raise(tx, { ...about, happened: `${question}: it shows an error again and again.` });
    expect(await doubts(tx)).toContain('ROW_UNSEEN');
    await clear(tx, ['ROW_UNSEEN'], instructionId, 'the bank shows it');
    expect(await doubts(tx)).not.toContain('ROW_UNSEEN');
  });
});

it.each([
  ['BUILDING', 'SUBMITTED', true],
  ['VERIFIED', 'SETTLED', true],
  ['VERIFIED', 'INITIATED', false],
  ['VERIFIED', 'CANCELLED', false],
  ['SUBMITTED', 'SETTLED', false],
])(
  'an instruction that is %s and was shown as %s by the bank is a doubt, whatever people decided: %s',
  async (status, bankStatus, isDoubt) => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       DELETE FROM moved_instruction;
       UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE resolved_at IS NULL;
       UPDATE instruction SET status = '${status}', bank_status = '${bankStatus}' WHERE id = '${ours.instruction[0]}'`,
    );
    const doubts = await office.database.inEmployer(ours.employer, (tx) => openDoubts(tx, [ours.run]));
    expect(doubts(ours.run).includes('INVARIANT_BREACH')).toBe(isDoubt);
  },
);

it('what says that the bank did something else than any sum shows is a doubt while it is open', async () => {
  const kinds = Object.keys(ATTENTION_WORDS) as AttentionKind[];
  const doubts = await office.database.inEmployer(ours.employer, async (tx) => {
    for (const kind of kinds)
      await raise(tx, { kind, subjectId: newId(), payRunId: ours.run, happened: 'something' });
    return openDoubts(tx, [ours.run, ours.spareRun]);
  });
  expect([...doubts(ours.run)].sort()).toEqual([
    'CHARGE_BEARER_DIFFERS',
    'CONTRADICTION',
    'ENDED_BY_BANK',
    'ENTRY_OF_THE_BANK',
    'FOREIGN_RECORD',
    'INVARIANT_BREACH',
    'POSSIBLE_RETURN',
    'REPLACED_PAYMENT_MOVED',
    'RESTORED',
    'SUBMIT_REFUSED',
    'SUBMIT_UNKNOWN',
    'TOTALS_UNSEEN',
    'TOTAL_MISMATCH_AFTER_SUBMIT',
    'UNRECORDED_SUBMIT',
  ]);
  expect(doubts(ours.spareRun)).toEqual(['RESTORED']);
  await execute(
    office.server.superuserUrl,
    `UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE resolved_at IS NULL`,
  );
  const left = await office.database.inEmployer(ours.employer, (tx) => openDoubts(tx, [ours.run]));
  expect(left(ours.run)).toContain('CONTRADICTION');
  expect(left(ours.run)).not.toContain('FOREIGN_RECORD');
});
