import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { normaliseName } from '../../src/domain/party';
import { sendContent } from '../../src/pay-file/content.store';
import { Payment } from '../../src/pay-run/payment.entity';
import { instructionHash, rowHash } from '../../src/pay-run/run-hash';
import { readId } from '../../src/http/prefixed-id';
import { amend } from '../../src/pay-run/amendment';
import { eventually } from '../support/eventually';
import { csv, Desk, fileOf, PayDesk, row, sample } from './pay-desk';

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

const payments = ({ employerId }: Desk): Promise<Payment[]> =>
  desk.database.inEmployer(employerId, (tx) => tx.manager.find(Payment, { order: { rowNo: 'ASC' } }));

describe('a good pay file', () => {
  it('becomes a run that awaits approval', async () => {
    const bytes = sample('payroll-250.csv');
    const { answer, replayed } = await desk.upload(employer, bytes, { fileName: 'November.csv' });
    expect(replayed).toBe(false);
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^run_[0-9a-f]{32}$/),
      status: 'READY',
      runVersion: 1,
      period: '2026-11',
      kindOfPay: 'SALARY',
      executionDate: '2026-11-27',
      submitAt: null,
      payments: 250,
      total: '1056550.54',
      currency: 'EUR',
      rootHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      file: { rows: 250, sha256: createHash('sha256').update(bytes).digest('hex') },
    });
    expect(await desk.stored(employer)).toEqual({ runs: 1, files: 1, payments: 250 });
    expect(await desk.query(employer, 'SELECT status, row_count, total_minor FROM pay_run')).toEqual([
      { status: 'READY', row_count: 250, total_minor: '105655054' },
    ]);
  });

  it('shows which names are sent otherwise than they were written', async () => {
    const { answer } = await desk.upload(employer, sample('payroll-5.csv'));
    expect(answer.namesChanged.count).toBe(5);
    expect(answer.namesChanged.examples[0]).toEqual({ line: 2, before: 'Zoë Müller', after: 'Zoe Muller' });
  });

  it('shows twenty changed names and counts the others', async () => {
    const rows = Array.from({ length: 30 }, (_, n) =>
      row(`E${n}`, '1.00', n === 0 ? 'Ann Smith' : 'Zoë Müller'),
    );
    const { namesChanged } = (await desk.upload(employer, csv(...rows))).answer;
    expect(namesChanged.count).toBe(29);
    expect(namesChanged.examples.map(({ line }) => line)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 3),
    );
  });

  it('stores each row sealed, hashed, and numbered in the order of the file', async () => {
    await desk.upload(
      employer,
      csv('E9,Ann Smith,de42 9508 0020 0355 7655 12,,7.10,EUR,', row('E1', '0.01')),
    );
    const [first, second] = await payments(employer);
    expect(first).toMatchObject({
      rowNo: 1,
      line: 2,
      period: '2026-11',
      kindOfPay: 'SALARY',
      employeeId: 'E9',
      nameSealed: desk.personal.seal('Ann Smith'),
      writtenNameSealed: null,
      nameHash: desk.personal.hash(normaliseName('Ann Smith')),
      ibanSealed: desk.personal.seal('DE42950800200355765512'),
      ibanHash: desk.personal.hash('DE42950800200355765512'),
      bic: null,
      amountMinor: 710n,
      currency: 'EUR',
      remittance: 'Salary 2026-11',
      status: 'READY',
      live: true,
      releaseSequence: 0,
    });
    expect(second).toMatchObject({
      rowNo: 2,
      line: 3,
      employeeId: 'E1',
      bic: 'ELBKDEHHXXX',
      amountMinor: 1n,
    });
    expect(second?.writtenNameSealed).toBe(desk.personal.seal('Zoë Müller'));
  });

  it('is hashed as its rows are stored', async () => {
    await desk.upload(employer, sample('payroll-5.csv'));
    const hashes = (await payments(employer)).map((payment) =>
      rowHash({
        employeeId: payment.employeeId,
        sepaName: desk.personal.open(payment.nameSealed),
        iban: desk.personal.open(payment.ibanSealed),
        bic: payment.bic ?? undefined,
        amountMinor: payment.amountMinor,
        currency: payment.currency,
        remittance: payment.remittance ?? '',
      }),
    );
    expect((await payments(employer)).map((payment) => payment.rowHash)).toEqual(hashes);
    const [planned] = await desk.query<{ row_hash: Buffer }>(
      employer,
      'SELECT row_hash FROM planned_instruction',
    );
    expect(planned?.row_hash).toEqual(instructionHash(hashes));
  });

  it('keeps the line a payment came from, past blank ones', async () => {
    const file = csv('E1,"Ann Smith",DE42950800200355765512,,1.00,EUR,', '', row('E2'));
    await desk.upload(employer, file);
    expect((await payments(employer)).map(({ rowNo, line }) => [rowNo, line])).toEqual([
      [1, 2],
      [2, 4],
    ]);
  });

  it('is kept byte for byte', async () => {
    // Letters that hardly compress, so that the content has more than one part.
    const noise = Array.from({ length: 40_000 }, (_, n) => createHash('sha256').update(`${n}`).digest('hex'));
    const bytes = csv(...noise.map((hex, n) => `E${n},${hex},DE42950800200355765512,,1.00,EUR,`));
    const { answer } = await desk.upload(employer, bytes);
    const sink = new PassThrough();
    const [content] = await Promise.all([
      buffer(sink),
      sendContent(desk.database, employer.employerId, readId('file', answer.file.id), sink),
    ]);
    expect(content.equals(bytes)).toBe(true);
    const [stored] = await desk.query<{ n: number }>(employer, 'SELECT length(content) AS n FROM pay_file');
    expect(stored?.n).toBeGreaterThan(1_048_576);
    expect(stored?.n).toBeLessThan(bytes.length);
  });

  it('is audited without a name or an amount', async () => {
    const { answer } = await desk.upload(employer, sample('payroll-5.csv'));
    expect(await desk.audit(employer)).toEqual([
      {
        action: 'pay-file.uploaded',
        subject: answer.file.id,
        detail: { payRunId: answer.id, rows: 5, rootHash: answer.rootHash },
      },
    ]);
  });

  it('carries any cell that is payable into the database unchanged, with or without an employee twice', async () => {
    const employeeId = fc.string({
      unit: fc.constantFrom('\\', 'N', '.', "'", '"', ',', 'a', '9'),
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(employeeId, { minLength: 1, maxLength: 8 }), async (ids) => {
        const own = await desk.employer();
        const quoted = ids.map((id) => row(`"${id.replaceAll('"', '""')}"`));
        await desk.upload(own, csv(...quoted));
        expect((await payments(own)).map((payment) => payment.employeeId)).toEqual(ids);
        const other = await desk.employer();
        await desk.upload(other, csv(...quoted, ...quoted.slice(0, 1)));
        expect((await payments(other)).map((payment) => payment.employeeId)).toEqual([...ids, ids[0]]);
      }),
      { numRuns: 25 },
    );
  });
});

describe('the same upload again', () => {
  it('is answered with its run and stores nothing', async () => {
    const first = await desk.upload(employer, sample('payroll-5.csv'));
    const again = await desk.upload(employer, sample('payroll-5.csv'), { fileName: 'another name.csv' });
    expect(again).toEqual({ answer: first.answer, replayed: true });
    expect(await desk.stored(employer)).toEqual({ runs: 1, files: 1, payments: 5 });
    expect(await desk.audit(employer)).toHaveLength(1);
  });

  it('is answered with its run when the execution date has passed meanwhile', async () => {
    const first = await desk.upload(employer, sample('payroll-5.csv'));
    const later = desk.intake({ now: new Date('2026-12-15T09:00:00Z') });
    expect((await desk.upload(employer, sample('payroll-5.csv'), {}, later)).answer).toEqual(first.answer);
  });

  it('is told the version that stands, by whose hash and total the run is approved', async () => {
    const file = csv(row('E1', '10.00'), row('E2', '5.00'));
    const first = (await desk.upload(employer, file)).answer;
    const runId = readId('run', first.id);
    const excludePaymentIds = [await desk.paymentIn(employer, runId, 3)];
    await desk.inRun(employer, runId, (tx, run) =>
      amend(tx, desk.personal, run, employer.personId, {
        excludePaymentIds,
        executionDate: '2026-11-26',
        reason: 'she left',
      }),
    );
    const again = (await desk.upload(employer, file)).answer;
    const changed = { runVersion: 2, executionDate: '2026-11-26', payments: 1, total: '10.00' };
    expect(again).toEqual({ ...first, ...changed, rootHash: again.rootHash });
    const stands = 'SELECT root_hash FROM pay_run_version WHERE run_version = 2';
    expect(await desk.query(employer, stands)).toEqual([{ root_hash: Buffer.from(again.rootHash, 'hex') }]);
  });

  it('is told that its run is approved, and what can be done where that is wrong', async () => {
    const first = (await desk.upload(employer, sample('payroll-5.csv'))).answer;
    expect(first.advice).toBeNull();
    await desk.approve(employer, first.id);
    const again = await desk.upload(employer, sample('payroll-5.csv'));
    expect(again).toEqual({
      answer: { ...first, status: 'APPROVED', advice: expect.stringContaining('amend or cancel it') },
      replayed: true,
    });
    await desk.cancel(employer, first.id);
    expect((await desk.upload(employer, sample('payroll-5.csv'))).replayed).toBe(false);
  });

  it('makes one run and equal answers when it comes five times at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 5 }, () => desk.upload(employer, sample('payroll-250.csv'))),
    );
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(all.map(({ answer }) => JSON.stringify(answer))).size).toBe(1);
    expect(await desk.stored(employer)).toEqual({ runs: 1, files: 1, payments: 250 });
  });

  it('is a new run when its run was cancelled', async () => {
    const first = await desk.upload(employer, sample('payroll-5.csv'));
    await desk.cancel(employer, first.answer.id);
    const again = await desk.upload(employer, sample('payroll-5.csv'));
    expect(again.replayed).toBe(false);
    expect(again.answer.id).not.toBe(first.answer.id);
  });

  it('is taken once the cancelling of its run has ended, and not answered by a run that is about to be none', async () => {
    const first = await desk.upload(employer, sample('payroll-5.csv'));
    await desk.query(employer, `UPDATE pay_run SET status = 'CANCELLING'`);
    const refused = await desk.refusal(employer, sample('payroll-5.csv'));
    expect(refused).toMatchObject({
      status: 409,
      code: 'RUN_IS_MOVING',
      extra: { payRunId: first.answer.id },
    });
  });

  it('as a supplement is told what the file is already, and what to do', async () => {
    const { id } = (await desk.upload(employer, sample('payroll-5.csv'))).answer;
    await desk.approve(employer, id);
    const before = await desk.stored(employer);
    const refused = await desk.refusal(employer, sample('payroll-5.csv'), { supplementOf: id });
    expect(refused).toMatchObject({ status: 409, code: 'FILE_ALREADY_UPLOADED', extra: { payRunId: id } });
    expect(refused.message).toContain(`The file is ${id} already, as a run of its own.`);
    expect(refused.message).toContain('Cancel that run to upload it otherwise');
    expect(await desk.stored(employer)).toEqual(before);
  });

  it('as a run of its own, or as a supplement of another run, is told that it is a supplement', async () => {
    const first = (await desk.upload(employer, sample('payroll-5.csv'))).answer.id;
    await desk.approve(employer, first);
    const file = csv(row('further'));
    const upload = (fields: Record<string, string>) => desk.upload(employer, file, fields);
    const supplement = (await upload({ supplementOf: first })).answer;
    await desk.approve(employer, supplement.id);
    for (const fields of [{}, { supplementOf: supplement.id }] as Record<string, string>[]) {
      const refused = await desk.refusal(employer, file, fields);
      expect(refused).toMatchObject({ code: 'FILE_ALREADY_UPLOADED', extra: { payRunId: supplement.id } });
      expect(refused.message).toContain(`${supplement.id} already, as a supplement of ${first}.`);
    }
    const again = await upload({ supplementOf: first });
    expect(again).toMatchObject({ answer: { id: supplement.id, parentRunId: first }, replayed: true });
    await desk.cancel(employer, supplement.id);
    expect((await upload({})).replayed).toBe(false);
  });

  it('is not stopped by its own refusal', async () => {
    await desk.refusal(employer, sample('payroll-5.csv'), { executionDate: '2026-11-28' });
    await expect(desk.upload(employer, sample('payroll-5.csv'))).resolves.toMatchObject({ replayed: false });
  });

  it.each([
    ['another period', { period: '2026-12', executionDate: '2026-12-23' }],
    ['another kind of pay', { kindOfPay: 'BONUS' }],
  ])('is a new run for %s', async (_, fields) => {
    const first = await desk.upload(employer, sample('payroll-5.csv'));
    const second = await desk.upload(employer, sample('payroll-5.csv'), fields);
    expect(second.replayed).toBe(false);
    expect(second.answer.id).not.toBe(first.answer.id);
  });

  it('is another employer’s own run', async () => {
    const other = await desk.employer();
    await desk.upload(employer, sample('payroll-5.csv'));
    expect((await desk.upload(other, sample('payroll-5.csv'))).replayed).toBe(false);
  });
});

describe('an employee who is paid already', () => {
  it('is held in whichever of two files at once is later', async () => {
    const files = [csv(row('E1'), row('E2')), csv(row('E2'), row('E3'))];
    const taken = await Promise.all(files.map((file) => desk.upload(employer, file)));
    expect(taken.map(({ answer }) => answer.held.payments).sort()).toEqual([0, 1]);
    const live = await desk.query(employer, 'SELECT employee_id FROM payment WHERE live ORDER BY 1');
    expect(live).toEqual(['E1', 'E2', 'E3'].map((id) => ({ employee_id: id })));
  });

  it('may be paid again once the first run was cancelled', async () => {
    const first = await desk.upload(employer, csv(row('E1')));
    await desk.cancel(employer, first.answer.id);
    await expect(desk.upload(employer, csv(row('E1', '2.00')))).resolves.toMatchObject({ replayed: false });
  });

  it('is not paid twice by a writer that passes the check', async () => {
    const { answer } = await desk.upload(employer, csv(row('E1')));
    const intake = desk.intake();
    // The check sees no live payment; the constraint does, once it is live again within the same transaction.
    await desk.asSuperuser(`
      CREATE FUNCTION copy_of_e1() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE payment SET status = 'READY', live = true WHERE employee_id = 'E1' AND NOT live;
        RETURN NEW; END $$;
      CREATE TRIGGER copy_of_e1 BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION copy_of_e1();
      ALTER TABLE payment DISABLE TRIGGER refuse_illegal_payment_move;`);
    await desk.asSuperuser(`UPDATE payment SET status = 'CANCELLED', live = false WHERE pay_run_id = $1`, [
      readId('run', answer.id),
    ]);
    try {
      const problem = await desk.refusal(employer, csv(row('E1', '2.00')), {}, intake);
      expect(problem).toMatchObject({ status: 409, code: 'EMPLOYEE_ALREADY_PAID' });
      expect((await desk.stored(employer)).payments).toBe(1);
    } finally {
      await desk.asSuperuser(
        `DROP TRIGGER copy_of_e1 ON payment; ALTER TABLE payment ENABLE TRIGGER refuse_illegal_payment_move`,
      );
    }
  });
});

describe('a payment that ends unpaid while rows that pay it again are taken', () => {
  /** Ends the payments of a run unpaid while something waits for the account after it has looked at earlier payments. */
  const endedDuring = async (runId: string, take: () => Promise<unknown>): Promise<unknown> => {
    let taken: Promise<unknown> = Promise.resolve();
    await desk.database.inEmployer(employer.employerId, async (tx) => {
      await tx.query('SELECT FROM employer_account WHERE id = $1 FOR UPDATE', [employer.accountId]);
      taken = take().catch((error: unknown) => error);
      await eventually(() => desk.isLockAwaited(), 5_000);
      await desk.asSuperuser(
        `SET session_replication_role = replica;
         UPDATE payment SET status = 'FAILED', live = false WHERE pay_run_id = '${runId}';
         UPDATE pay_run SET status = 'FAILED' WHERE id = '${runId}'`,
      );
    });
    return taken;
  };
  const MOVING = { status: 409, code: 'RUN_IS_MOVING' };
  const replaced = () =>
    desk.query(
      employer,
      `SELECT p.status, p.replaces_payment_id = o.id AS replaces FROM payment p
       JOIN payment o ON o.employee_id = p.employee_id AND o.status = 'FAILED' WHERE p.live`,
    );

  it('is replaced by the same upload, sent again', async () => {
    const first = readId('run', (await desk.upload(employer, csv(row('E1')))).answer.id);
    const upload = () => desk.upload(employer, csv(row('E1', '2.00'), row('E2')));
    expect(await endedDuring(first, upload)).toMatchObject(MOVING);
    expect(await desk.stored(employer)).toEqual({ runs: 1, files: 1, payments: 1 });
    expect(await upload()).toMatchObject({ replayed: false, answer: { replaces: 1, held: { payments: 0 } } });
    expect(await replaced()).toEqual([{ status: 'READY', replaces: true }]);
  });

  it('is replaced by the same corrections, sent again', async () => {
    await desk.set(employer, { faultPolicy: { policy: 'hold' } });
    const first = readId('run', (await desk.upload(employer, csv(row('E1')))).answer.id);
    const { id } = (await desk.upload(employer, csv(row('E1', '0.00'), row('E2')))).answer;
    await desk.approve(employer, id);
    const text = (await desk.corrections(employer, id)).toString().replace(',0.00,', ',2.00,');
    const correct = () => desk.correct(employer, id, Buffer.from(text), { executionDate: '2026-11-27' });
    expect(await endedDuring(first, correct)).toMatchObject(MOVING);
    expect(await correct()).toMatchObject({ corrected: 1, held: 0, keptBack: 0 });
    expect(await replaced()).toEqual([{ status: 'READY', replaces: true }]);
  });
});

describe('the process that dies', () => {
  it('has stored all of the run or nothing', async () => {
    const read = fileOf(csv(row('E1'))).read;
    const intake = desk.intake();
    let reads = 0;
    const file = {
      ...fileOf(csv(row('E1'))),
      read: () => {
        reads += 1;
        if (reads > 1) throw new Error('the disk is gone');
        return read();
      },
    };
    const fields = { period: '2026-11', kindOfPay: 'SALARY', executionDate: '2026-11-27' };
    await expect(intake.take({ ...employer, file, fields })).rejects.toThrow('the disk is gone');
    expect(await desk.stored(employer)).toEqual({ runs: 0, files: 0, payments: 0 });
  });
});
