import { readId, showId } from '../../src/http/prefixed-id';
import { amend } from '../../src/pay-run/amendment';
import { csv, Desk, PayDesk, row } from './pay-desk';

const DATE = { executionDate: '2026-11-27' };

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
  await desk.set(employer, { faultPolicy: { policy: 'hold' } });
});
afterAll(() => desk.close());

/** A run of E1 and E3, of which E2 and E4 are kept back for their amounts. */
const held = async (): Promise<string> =>
  (
    await desk.upload(
      employer,
      csv(row('E1'), row('E2', '0.00'), row('E3'), row('E4', '-1'), row('E5', '5.00')),
    )
  ).answer.id;

/** The corrections file of the run with some of its text replaced. */
const mended = async (run: string, ...changes: [string | RegExp, string][]): Promise<Buffer> => {
  const text = (await desk.corrections(employer, run)).toString();
  return Buffer.from(changes.reduce((left, [from, to]) => left.replace(from, to), text));
};
const payments = (run: string) =>
  desk.query<{ row_no: number; line: number; employee_id: string; amount_minor: string; status: string }>(
    employer,
    `SELECT row_no, line, employee_id, amount_minor, status FROM payment WHERE pay_run_id = $1 ORDER BY row_no`,
    [readId('run', run)],
  );
const paid = async (run: string) =>
  (await payments(run)).map((one) => [one.row_no, one.line, one.employee_id, one.amount_minor]);
const kept = () =>
  desk.query(employer, 'SELECT line, payment_id IS NOT NULL AS corrected FROM faulty_row ORDER BY line');
const told = ({ faults }: { faults: readonly { line: number; code: string }[] }) =>
  faults.map(({ line, code }) => [line, code]);

describe('corrections before the approval', () => {
  it('join the run as its next version, in their places', async () => {
    const id = await held();
    const file = await mended(id, [',0.00,', ',20.00,'], [',-1,', ',40.00,']);
    const done = await desk.correct(employer, id, file);
    expect(done).toMatchObject({
      corrected: 2,
      held: 0,
      unchanged: 0,
      stillFaulty: 0,
      keptBack: 0,
      faultCount: 0,
    });
    expect(done.run).toMatchObject({ status: 'READY', runVersion: 2, rowCount: 5, totalMinor: 206_500n });
    expect(await paid(id)).toEqual([
      [1, 2, 'E1', '100000'],
      [2, 3, 'E2', '2000'],
      [3, 4, 'E3', '100000'],
      [4, 5, 'E4', '4000'],
      [5, 6, 'E5', '500'],
    ]);
    const versions = await desk.query<{ root_hash: Buffer; row_count: number }>(
      employer,
      'SELECT root_hash, row_count FROM pay_run_version ORDER BY run_version',
    );
    expect(versions.map((version) => version.row_count)).toEqual([3, 5]);
    expect(versions[1]?.root_hash).toEqual(done.run.rootHash);
    expect(await kept()).toEqual([
      { line: 3, corrected: true },
      { line: 5, corrected: true },
    ]);
    expect((await desk.audit(employer)).at(-1)).toMatchObject({
      action: 'pay-run.corrected',
      subject: id,
      detail: { corrected: 2, runVersion: 2, rootHash: done.run.rootHash?.toString('hex') },
    });
    expect((await desk.corrections(employer, id)).toString().split('\n')).toHaveLength(2);
    await desk.approve(employer, id);
    expect(new Set((await payments(id)).map(({ status }) => status))).toEqual(new Set(['APPROVED']));
  });

  it('leave a row that is still faulty kept back, with its new cells and faults', async () => {
    const id = await held();
    const file = await mended(id, [',0.00,', ',20.00,'], [',-1,', ',1.234,']);
    const done = await desk.correct(employer, id, file);
    expect(done).toMatchObject({ corrected: 1, stillFaulty: 1, keptBack: 1, run: { rowCount: 4 } });
    expect(told(done)).toEqual([[3, 'AMOUNT_AMBIGUOUS']]);
    const [, again] = (await desk.corrections(employer, id)).toString().split('\n');
    expect(again).toMatch(/^E4,.*,1\.234,EUR,Salary,"?line 5: amount: .*\(AMOUNT_AMBIGUOUS\)/);
    const last = await desk.correct(employer, id, await mended(id, [',1.234,', ',1234.00,']));
    expect(last).toMatchObject({ corrected: 1, keptBack: 0, run: { rowCount: 5, runVersion: 3 } });
  });

  it('are refused where rows stay faulty and would be given back under other headers, and taken where none does', async () => {
    const id = await held();
    const turned = async (...replaced: [string, string][]) => {
      const lines = (await mended(id, ...replaced)).toString().trimEnd().split('\n');
      // The first two columns change places.
      return Buffer.from(lines.map((line) => line.replace(/^([^,]*),([^,]*),/, '$2,$1,')).join('\n') + '\n');
    };
    const faulty = await turned([',0.00,', ',20.00,']);
    await expect(desk.correct(employer, id, faulty)).rejects.toMatchObject({
      status: 422,
      code: 'CORRECTIONS_LAID_OUT_OTHERWISE',
    });
    const done = await desk.correct(employer, id, await turned([',0.00,', ',20.00,'], [',-1,', ',1.00,']));
    expect(done).toMatchObject({ stillFaulty: 0, keptBack: 0 });
  });

  it('change nothing the second time', async () => {
    const id = await held();
    const file = await mended(id, [',0.00,', ',20.00,']);
    const first = await desk.correct(employer, id, file);
    const audit = await desk.audit(employer);
    const second = await desk.correct(employer, id, file);
    expect(second).toMatchObject({ corrected: 0, unchanged: 1, stillFaulty: 1, keptBack: 1 });
    expect(second.run.rootHash).toEqual(first.run.rootHash);
    expect([second.run.runVersion, second.run.revision]).toEqual([2, first.run.revision]);
    expect(await desk.audit(employer)).toEqual(audit);
  });

  it('are known by the line their errors name, and without it by their employee', async () => {
    const id = await held();
    const renamed = await mended(
      id,
      ['E2,', 'E22,'],
      [',0.00,', ',20.00,'],
      [/,"?line 5: .*"?\n/, ',\n'],
      [',-1,', ',40.00,'],
    );
    expect(await desk.correct(employer, id, renamed)).toMatchObject({ corrected: 2, keptBack: 0 });
    expect((await paid(id)).slice(1, 4)).toEqual([
      [2, 3, 'E22', '2000'],
      [3, 4, 'E3', '100000'],
      [4, 5, 'E4', '4000'],
    ]);
  });

  it('take no row that was not kept back, nor one that is paid or was corrected otherwise', async () => {
    const id = await held();
    const first = await desk.correct(employer, id, await mended(id, [',0.00,', ',20.00,']));
    const done = await desk.correct(
      employer,
      id,
      csv(row('E2', '21.00'), row('E4', '4.00'), row('E4', '4.50'), row('NEW'), row('E1', '9.00')),
    );
    expect(done).toMatchObject({ corrected: 1, stillFaulty: 4, keptBack: 0 });
    expect(told(done)).toEqual([
      [2, 'ROW_ALREADY_CORRECTED'],
      [4, 'CORRECTS_NO_ROW'],
      [5, 'CORRECTS_NO_ROW'],
      [6, 'CORRECTS_NO_ROW'],
    ]);
    expect(done.run.totalMinor - first.run.totalMinor).toBe(400n);
    expect((await paid(id))[1]).toEqual([2, 3, 'E2', '2000']);
  });

  it('take an approval back, and are not approved by who made them', async () => {
    const id = await held();
    await desk.query(employer, 'UPDATE employer SET approvals_required = 2');
    await desk.approve(employer, id);
    await desk.correct(employer, id, await mended(id, [',0.00,', ',20.00,']));
    const approvals = await desk.query(employer, 'SELECT voided_at IS NULL AS stands FROM approval');
    expect(approvals).toEqual([{ stands: false }]);
    const byPreparer = desk.query(
      employer,
      `INSERT INTO approval (employer_id, pay_run_id, run_version, approver_id, prepared_by, root_hash, id)
       SELECT employer_id, pay_run_id, run_version, $2, prepared_by, root_hash, gen_random_uuid()
       FROM pay_run_version WHERE pay_run_id = $1 AND run_version = 2`,
      [readId('run', id), employer.personId],
    );
    await expect(byPreparer).rejects.toMatchObject({ constraint: 'approver_is_not_preparer' });
  });

  it('take no row out of the corrections of another run, though its line and its employee were kept back here', async () => {
    const id = await held();
    const bonus = await desk.upload(employer, csv(row('E1'), row('E9', '0.00'), row('E3'), row('E4', '-1')), {
      kindOfPay: 'BONUS',
    });
    const file = await mended(bonus.answer.id, [',0.00,', ',20.00,'], [',-1,', ',40.00,']);
    const done = await desk.correct(employer, id, file);
    expect(done).toMatchObject({ corrected: 0, stillFaulty: 2, keptBack: 2, run: { runVersion: 1 } });
    expect(told(done)).toEqual([
      [2, 'CORRECTS_NO_ROW'],
      [3, 'CORRECTS_NO_ROW'],
    ]);
    expect(done.faults[0]?.message).toBe('The row comes from the corrections file of another run.');
    expect(await desk.correct(employer, bonus.answer.id, file)).toMatchObject({ corrected: 2, keptBack: 0 });
  });

  it.each([
    ['a header that is not known', 'employee,money\n1,2\n'],
    ['an unclosed quote', `${csv(row('E2', '1.00')).toString()}"open`],
    ['no rows', csv().toString()],
  ])('with %s change nothing', async (_, text) => {
    const id = await held();
    await expect(desk.correct(employer, id, Buffer.from(text))).rejects.toMatchObject({
      code: 'PAY_FILE_REFUSED',
    });
    expect(await payments(id)).toHaveLength(3);
  });

  it('have no date of their own, and are of a run with rows kept back', async () => {
    const id = await held();
    const file = await mended(id);
    await expect(desk.correct(employer, id, file, DATE)).rejects.toMatchObject({
      code: 'DATE_OF_A_SUPPLEMENT',
    });
    const { answer } = await desk.upload(employer, csv(row('X')), { kindOfPay: 'BONUS' });
    await expect(desk.correct(employer, answer.id, file)).rejects.toMatchObject({
      code: 'NOTHING_KEPT_BACK',
    });
    const other = await desk.employer();
    await expect(desk.correct(other, id, file)).rejects.toMatchObject({ code: 'PAY_RUN_NOT_FOUND' });
  });

  it('are read as the file was, without the lines around its rows', async () => {
    await desk.database.inEmployer(employer.employerId, (tx) =>
      tx.query(
        `INSERT INTO pay_file_profile (employer_id, id, name, definition, created_by)
         VALUES ($1, gen_random_uuid(), 'Lohn', $2, $3)`,
        [
          tx.employerId,
          JSON.stringify({
            columns: { Zahlung: 'amount', Anmerkung: 'ignored' },
            amounts: { decimalSign: 'comma', thousandsSign: 'dot' },
            constants: { currency: 'EUR' },
            encoding: 'windows-1252',
            titleLines: 2,
            totals: { lines: 1, totalColumn: 'Zahlung' },
          }),
          employer.personId,
        ],
      ),
    );
    const iban = 'DE42950800200355765512';
    const text = `Lohn\n\u00a0\nPersonalnummer;Name;IBAN;Zahlung;Anmerkung\nE1;Zoë;${iban};1.234,50;=x\nE2;Zoë;${iban}x;10,00;"a;b"\n;;;1.244,50;\n`;
    const { answer } = await desk.upload(employer, Buffer.from(text, 'latin1'), { profile: 'Lohn' });
    expect([answer.payments, answer.keptBack.rows]).toEqual([1, 1]);
    const corrections = (await desk.corrections(employer, answer.id)).toString('latin1');
    expect(corrections.split('\n').slice(0, 2)).toEqual([
      'Personalnummer;Name;IBAN;Zahlung;Anmerkung;payrun_errors',
      expect.stringMatching(new RegExp(`^E2;Zoë;${iban}x;10,00;"a;b";"line 5: IBAN: `)),
    ]);
    const file = Buffer.from(corrections.replace(`${iban}x`, iban), 'latin1');
    const done = await desk.correct(employer, answer.id, file);
    expect(done).toMatchObject({ corrected: 1, run: { totalMinor: 124_450n } });
  });
});

describe('corrections after the approval', () => {
  it('are a supplement with an approval of its own', async () => {
    const id = await held();
    await desk.approve(employer, id);
    const file = await mended(id, [',-1,', ',40.00,']);
    await expect(desk.correct(employer, id, file)).rejects.toMatchObject({ code: 'EXECUTION_DATE_MISSING' });
    const done = await desk.correct(employer, id, file, { ...DATE, fileName: 'mended.csv' });
    expect(done).toMatchObject({ corrected: 1, stillFaulty: 1, keptBack: 1 });
    expect(done.run).toMatchObject({
      status: 'READY',
      runVersion: 1,
      parentRunId: readId('run', id),
      sequence: 1,
      rowCount: 1,
      totalMinor: 4_000n,
    });
    const supplement = showId('run', done.run.id);
    expect(await paid(supplement)).toEqual([[1, 5, 'E4', '4000']]);
    expect((await payments(id)).map(({ status }) => status)).toEqual(['APPROVED', 'APPROVED', 'APPROVED']);
    expect((await desk.audit(employer)).at(-1)?.detail).toMatchObject({ payRunId: supplement, corrects: id });
    const again = await desk.correct(employer, id, file, DATE);
    expect(again).toMatchObject({ corrected: 0, unchanged: 1, keptBack: 1, run: { id: readId('run', id) } });
    expect((await desk.stored(employer)).runs).toBe(2);
    await desk.approve(employer, supplement);
  });

  it('may come again when their supplement was cancelled', async () => {
    const id = await held();
    await desk.approve(employer, id);
    const file = await mended(id, [',-1,', ',40.00,'], [',0.00,', ',1.00,']);
    const first = await desk.correct(employer, id, file, DATE);
    expect(first.keptBack).toBe(0);
    await desk.cancel(employer, showId('run', first.run.id));
    expect((await desk.corrections(employer, id)).toString().split('\n')).toHaveLength(4);
    const second = await desk.correct(employer, id, file, DATE);
    expect(second).toMatchObject({ corrected: 2, unchanged: 0, run: { sequence: 2 } });
  });

  it('are none of a run that is cancelled', async () => {
    const id = await held();
    const file = await mended(id, [',-1,', ',40.00,']);
    await desk.cancel(employer, id);
    await expect(desk.correct(employer, id, file, DATE)).rejects.toMatchObject({
      code: 'PARENT_NOT_APPROVED',
    });
  });

  it('sent by two people at once pay each row once', async () => {
    const id = await held();
    await desk.approve(employer, id);
    const file = await mended(id, [',-1,', ',40.00,'], [',0.00,', ',1.00,']);
    const done = await Promise.all([1, 2].map(() => desk.correct(employer, id, file, DATE)));
    expect(done.map(({ corrected, unchanged }) => [corrected, unchanged]).sort()).toEqual([
      [0, 2],
      [2, 0],
    ]);
    expect((await desk.stored(employer)).payments).toBe(5);
  });
});

describe('who wrote a row that was kept back', () => {
  const NOT_BY_AUTHORS = { constraint: 'approver_is_not_preparer' };
  /** Who uploads approves, too; the row of E2 is theirs, and a colleague mends what is wrong with it. */
  let author: string;
  let colleague: Desk;
  beforeEach(async () => {
    author = employer.personId;
    colleague = { ...employer, personId: await desk.person('Quinn Colleague') };
  });
  const supplemented = async (by: Desk, ...changes: [string, string][]): Promise<string> => {
    const id = await held();
    await desk.approve(employer, id);
    const { run } = await desk.correct(by, id, await mended(id, ...changes), DATE);
    return showId('run', run.id);
  };
  const parentOf = async (run: string): Promise<string> => {
    const sql = 'SELECT parent_run_id AS id FROM pay_run WHERE id = $1';
    const [parent] = await desk.query<{ id: string }>(employer, sql, [readId('run', run)]);
    return parent?.id ?? '';
  };

  it('does not approve it in the supplement of who mended a cell', async () => {
    const supplement = await supplemented(colleague, [',0.00,', ',20.00,']);
    await expect(desk.approve(employer, supplement, author)).rejects.toMatchObject(NOT_BY_AUTHORS);
    await desk.approve(employer, supplement);
  });

  it('is told that, not that IBANs are to be ticked', async () => {
    const supplement = await supplemented(colleague, [',0.00,', ',20.00,']);
    await desk.set(employer, { tickIbans: true });
    await expect(desk.approve(employer, supplement, author)).rejects.toMatchObject(NOT_BY_AUTHORS);
    await expect(desk.approve(employer, supplement)).rejects.toMatchObject({ code: 'IBANS_NOT_TICKED' });
  });

  it('releases no hold of it', async () => {
    const supplement = await supplemented(colleague, ['E2,', 'E1,'], [',0.00,', ',20.00,']);
    const run = readId('run', supplement);
    const paymentId = await desk.paymentIn(employer, run, 3);
    const release = (personId: string) =>
      desk.releaseHold(
        employer,
        run,
        { code: 'EMPLOYEE_ALREADY_PAID', paymentId },
        { personId, reason: 'owed' },
      );
    await expect(release(author)).rejects.toMatchObject({ constraint: 'releaser_is_not_preparer' });
    await release(await desk.person('Ada Approver'));
  });

  it.each(['before', 'after'])(
    'is also who changed cells and left it faulty, %s the approval',
    async (when) => {
      const id = await held();
      const writer = { ...employer, personId: await desk.person('Wim Writer') };
      await desk.correct(writer, id, await mended(id, [',0.00,', ',2.345,']));
      expect((await desk.corrections(employer, id)).toString()).toContain(',2.345,');
      if (when === 'after') await desk.approve(employer, id);
      const file = await mended(id, [',2.345,', ',2345.00,']);
      const { run } = await desk.correct(colleague, id, file, when === 'after' ? DATE : {});
      const approval = desk.approve(employer, showId('run', run.id), writer.personId);
      await expect(approval).rejects.toMatchObject(NOT_BY_AUTHORS);
      await desk.approve(employer, showId('run', run.id));
    },
  );

  it('is not who sent a row back as it was, beside one that was mended', async () => {
    const file = csv(row('E1'), row('E2', '0.00'), 'E3,too,few', row('E4', '-1'));
    const id = (await desk.upload(employer, file)).answer.id;
    await desk.approve(employer, id, colleague.personId);
    const some = await mended(id, [',-1,', ',40.00,']);
    expect(await desk.correct(colleague, id, some, DATE)).toMatchObject({ corrected: 1, stillFaulty: 2 });
    const { run } = await desk.correct(
      employer,
      id,
      await mended(id, [',0.00,', ',20.00,'], [/E3,too,few/, row('E3', '30.00')]),
      DATE,
    );
    expect(run.rowCount).toBe(2);
    await desk.approve(employer, showId('run', run.id), colleague.personId);
  });

  it('releases none of it beforehand, by which a colleague who mended a cell would pay it', async () => {
    const writer = await desk.person('Wim Writer');
    await desk.upload(employer, csv(row('E2', '3.00'), row('E3', '3.00'), row('E4', '3.00')));
    const id = (
      await desk.upload(employer, csv(row('E1'), row('E2', '0.00'), row('E3', '-1'), row('E4', '0')))
    ).answer.id;
    const changed = await mended(id, [',-1,', ',2.345,']);
    await desk.correct({ ...employer, personId: writer }, id, changed);
    const release = (employeeId: string, by: string) =>
      desk.release(employer, by, { employeeId, period: '2026-11', kindOfPay: 'SALARY', reason: 'owed' });
    await release('E2', author);
    await release('E3', writer);
    await release('E4', writer);
    const all = await mended(id, [',0.00,', ',20.00,'], [',2.345,', ',30.00,'], [',0,', ',40.00,']);
    expect(await desk.correct(colleague, id, all)).toMatchObject({ corrected: 3, held: 2 });
    const paid = `SELECT employee_id AS of, release_sequence AS release, status FROM payment
      WHERE pay_run_id = $1 AND line > 2 ORDER BY line`;
    expect(await desk.query(employer, paid, [readId('run', id)])).toEqual([
      { of: 'E2', release: 0, status: 'HELD' },
      { of: 'E3', release: 0, status: 'HELD' },
      { of: 'E4', release: 1, status: 'READY' },
    ]);
  });

  it('is nobody who changes other rows once it was approved', async () => {
    const supplement = await supplemented(colleague, [',0.00,', ',20.00,']);
    const id = showId('run', await parentOf(supplement));
    const approver = { ...employer, personId: await desk.person('Ada Approver') };
    await desk.approve(employer, supplement, approver.personId);
    await desk.correct(approver, id, await mended(id, [',-1,', ',2.345,']), DATE);
    const [found] = await desk.query(employer, 'SELECT has_prepared($1, $2, $3) AS prepared', [
      employer.employerId,
      readId('run', supplement),
      approver.personId,
    ]);
    expect(found).toEqual({ prepared: false });
  });

  it('approves a supplement that has none of their rows', async () => {
    const id = await held();
    await desk.approve(employer, id);
    const { answer } = await desk.upload(colleague, csv(row('E9')), { supplementOf: id });
    await desk.approve(employer, answer.id, author);
  });
});

describe('corrections sent again for a row that is not paid', () => {
  const asAmended = async (run: string, line: number): Promise<string> => {
    const id = readId('run', run);
    const paymentId = await desk.paymentIn(employer, id, line);
    await desk.inRun(employer, id, (tx, locked) =>
      amend(tx, desk.personal, locked, employer.personId, {
        excludePaymentIds: [paymentId],
        reason: 'not owed',
      }),
    );
    return showId('pay', paymentId);
  };
  const corrected = async (run: string, terms: Record<string, string> = {}) => {
    const file = await mended(run, [',0.00,', ',20.00,'], [',-1,', ',40.00,']);
    return { file, done: await desk.correct(employer, run, file, terms) };
  };
  const NOT_PAID = [2, 'CORRECTED_ROW_NOT_PAID'];

  it('tell that it was left out, alike and with another cell', async () => {
    const id = await held();
    const { file } = await corrected(id);
    const leftOut = await asAmended(id, 3);
    const before = await payments(id);
    const again = await desk.correct(employer, id, file);
    expect(again).toMatchObject({ corrected: 0, unchanged: 1, stillFaulty: 1, keptBack: 0 });
    expect(told(again)).toEqual([NOT_PAID]);
    expect(again.faults[0]).toMatchObject({
      message: `The row became ${leftOut} of ${id}, which was left out.`,
      remedy: expect.stringContaining('as a supplement'),
    });
    const other = await desk.correct(employer, id, csv(row('E2', '21.00'), row('E4', '41.00')));
    expect(told(other)).toEqual([NOT_PAID, [3, 'ROW_ALREADY_CORRECTED']]);
    expect(await payments(id)).toEqual(before);
  });

  it.each(['FAILED', 'VOID'])('tell that it ended %s in its supplement', async (status) => {
    const id = await held();
    await desk.approve(employer, id);
    const { file, done } = await corrected(id, DATE);
    const supplement = showId('run', done.run.id);
    const paymentId = await desk.paymentIn(employer, done.run.id, 3);
    await ended(paymentId, status);
    const again = await desk.correct(employer, id, file, DATE);
    expect(again).toMatchObject({ corrected: 0, unchanged: 1, stillFaulty: 1, keptBack: 0 });
    expect(again.faults.map(({ line, code, message }) => [line, code, message])).toEqual([
      [...NOT_PAID, `The row became ${showId('pay', paymentId)} of ${supplement}, which ended ${status}.`],
    ]);
  });

  it('change nothing where another payment was made instead of it', async () => {
    const id = await held();
    await desk.approve(employer, id);
    const { file, done } = await corrected(id, DATE);
    await ended(await desk.paymentIn(employer, done.run.id, 3), 'FAILED');
    await desk.upload(employer, csv(row('E2', '20.00')), { supplementOf: id });
    const again = await desk.correct(employer, id, file, DATE);
    expect(again).toMatchObject({ unchanged: 2, stillFaulty: 0 });
  });

  it('change nothing where it is held', async () => {
    const id = await held();
    const file = await mended(id, ['E2,', 'E1,'], [',0.00,', ',20.00,']);
    expect(await desk.correct(employer, id, file)).toMatchObject({ corrected: 1, held: 1 });
    expect(await desk.correct(employer, id, file)).toMatchObject({
      unchanged: 1,
      stillFaulty: 1,
      keptBack: 1,
    });
  });

  /** As if the bank had ended it. */
  const ended = (paymentId: string, status: string) =>
    desk.asSuperuser(
      `SET session_replication_role = replica;
       UPDATE payment SET status = '${status}', live = false WHERE id = '${paymentId}'`,
    );
});
