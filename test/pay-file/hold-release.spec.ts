import { EmployerTransaction } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { HoldCode } from '../../src/domain/hold';
import { readId, showId } from '../../src/http/prefixed-id';
import { withdrawFurtherPay } from '../../src/pay-file/release';
import { PayFile } from '../../src/pay-file/pay-file.entity';
import { readUploadAnswer } from '../../src/pay-file/upload-answer';
import { amend } from '../../src/pay-run/amendment';
import { raise } from '../../src/pay-run/attention.store';
import { cancelRun } from '../../src/pay-run/cancellation';
import { HoldController } from '../../src/pay-run/hold.controller';
import { releaseHold } from '../../src/pay-run/hold-release';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { PayRunCommands } from '../../src/pay-run/pay-run.commands';
import { germanIban } from '../support/pay-rows';
import { csv, Desk, PayDesk, row } from './pay-desk';

let desk: PayDesk;
let employer: Desk;
let approver: string;

beforeAll(async () => {
  desk = await PayDesk.open();
  approver = await desk.person('Arno Approver');
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

const REASON = 'both are owed';

const upload = async (rows: string[], fields: Record<string, string> = {}): Promise<string> =>
  readId('run', (await desk.upload(employer, csv(...rows), fields)).answer.id);

const withRun = <T>(runId: string, work: (tx: EmployerTransaction, run: PayRun) => Promise<T>): Promise<T> =>
  desk.inRun(employer, runId, work);

const paymentIn = (runId: string, line: number): Promise<string> => desk.paymentIn(employer, runId, line);

/** Releases a hold of the row in a line, or of the whole run. */
const release = async (runId: string, code: HoldCode, line?: number, by = approver): Promise<void> => {
  const paymentId = line === undefined ? undefined : await paymentIn(runId, line);
  await desk.releaseHold(employer, runId, { paymentId, code }, { personId: by, reason: REASON });
};

const FURTHER_PAY = { employeeId: 'E1', period: '2026-11', kindOfPay: 'SALARY', reason: REASON };

/** Lets the next upload pay E1 once more. */
const allowFurtherPay = (): Promise<unknown> => desk.release(employer, approver, FURTHER_PAY);

const leaveOut = async (runId: string, ...lines: number[]): Promise<void> => {
  const excludePaymentIds = await Promise.all(lines.map((line) => paymentIn(runId, line)));
  await withRun(runId, (tx, run) =>
    amend(tx, desk.personal, run, employer.personId, { excludePaymentIds, reason: 'sent twice' }),
  );
};

const approved = (runId: string): Promise<void> => desk.approve(employer, showId('run', runId), approver);

const runOf = (runId: string): Promise<PayRun> => withRun(runId, (_, run) => Promise.resolve(run));

const rowsOf = (runId: string): Promise<string[]> =>
  desk
    .query<{ text: string }>(
      employer,
      `SELECT line || ' ' || status || ' ' || release_sequence AS text FROM payment WHERE pay_run_id = $1
       ORDER BY line`,
      [runId],
    )
    .then((rows) => rows.map(({ text }) => text));

const sequencesOf = async (runId: string): Promise<number[]> =>
  (await rowsOf(runId)).map((text) => Number(text.split(' ')[2]));

const limit = (paymentLimitMinor: bigint): Promise<void> => desk.set(employer, { paymentLimitMinor });

/** A payment ended unpaid, as the bank would have it. */
const fail = (runId: string): Promise<void> =>
  desk.asSuperuser(
    `SET session_replication_role = replica;
     UPDATE payment SET status = 'FAILED', live = false WHERE pay_run_id = '${runId}';
     UPDATE pay_run SET status = 'FAILED' WHERE id = '${runId}'`,
  );

describe('the release of a held row', () => {
  it('makes it part of the run, as a new version over its hash, by the same preparer', async () => {
    await limit(50_000n);
    const id = await upload([row('E1', '10.00'), row('E2', '900.00')]);
    const before = await runOf(id);
    await release(id, 'PAYMENT_ABOVE_LIMIT', 3);
    const after = await runOf(id);
    expect(after).toMatchObject({ status: 'READY', runVersion: 2, rowCount: 2, totalMinor: 91_000n });
    expect(after.rootHash).not.toEqual(before.rootHash);
    const versions = await desk.query(
      employer,
      'SELECT prepared_by, row_count, reason FROM pay_run_version ORDER BY run_version',
    );
    expect(versions).toEqual([
      { prepared_by: employer.personId, row_count: 1, reason: null },
      { prepared_by: employer.personId, row_count: 2, reason: REASON },
    ]);
    const moves = await desk.query(
      employer,
      `SELECT subject, from_status, to_status, actor, reason FROM state_change WHERE actor = $1 ORDER BY seq`,
      [`person:${approver}`],
    );
    expect(moves).toContainEqual({
      subject: 'payment',
      from_status: 'HELD',
      to_status: 'READY',
      actor: `person:${approver}`,
      reason: REASON,
    });
    await approved(id);
    expect(await rowsOf(id)).toEqual(['2 APPROVED 0', '3 APPROVED 0']);
  });

  it('waits for the last of its holds', async () => {
    const iban = 'DE42950800200355765512';
    const id = await upload([row('E1', '1.00', 'Ann', iban), row('E1', '1.00', 'Bob', iban)]);
    await release(id, 'EMPLOYEE_TWICE', 3);
    await release(id, 'IBAN_AND_AMOUNT_TWICE', 3);
    expect((await runOf(id)).runVersion).toBe(1);
    await expect(approved(id)).rejects.toMatchObject({ code: 'HOLDS_OPEN', detail: { openHolds: 1 } });
    await release(id, 'IBAN_UNDER_TWO_NAMES', 3);
    expect(await rowsOf(id)).toEqual(['2 READY 0', '3 READY 1']);
    expect((await runOf(id)).rowCount).toBe(2);
  });

  it('is once, and of a hold that is there', async () => {
    await limit(1n);
    const id = await upload([row('E1', '10.00')]);
    await expect(release(id, 'EMPLOYEE_TWICE', 2)).rejects.toMatchObject({ code: 'HOLD_NOT_FOUND' });
    await expect(release(id, 'PAYMENT_ABOVE_LIMIT')).rejects.toMatchObject({ code: 'HOLD_NOT_FOUND' });
    const twice = await Promise.allSettled([
      release(id, 'PAYMENT_ABOVE_LIMIT', 2),
      release(id, 'PAYMENT_ABOVE_LIMIT', 2),
    ]);
    expect(twice.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await runOf(id)).runVersion).toBe(2);
  });

  it('is not before the bank was read after a restore', async () => {
    await limit(1n);
    const id = await upload([row('E1', '10.00')]);
    const restored = newId();
    await desk.asSuperuser(
      `INSERT INTO database_restore (id, what, told_at, noticed_at, nth)
         VALUES ('${restored}', 'a dump', now(), '2020-01-01', 0);
       INSERT INTO restore_check (employer_id, restore_id) VALUES ('${employer.employerId}', '${restored}')`,
    );
    try {
      const unread = { code: 'NOT_RECONCILED' };
      await expect(release(id, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject(unread);
      await desk.asSuperuser(`UPDATE restore_check SET passed_at = now() WHERE restore_id = '${restored}'`);
      await release(id, 'PAYMENT_ABOVE_LIMIT', 2);
    } finally {
      await desk.asSuperuser(
        `SET session_replication_role = replica; DELETE FROM restore_check WHERE restore_id = '${restored}';
         DELETE FROM database_restore WHERE id = '${restored}'`,
      );
    }
  });

  it('is not for who prepared the run, or amended it', async () => {
    const id = await upload([row('E1', '1.00'), row('E1', '2.00'), row('E2')]);
    const refused = { constraint: 'releaser_is_not_preparer' };
    await expect(release(id, 'EMPLOYEE_TWICE', 3, employer.personId)).rejects.toMatchObject(refused);
    await withRun(id, async (tx, run) => {
      const excludePaymentIds = [await paymentIn(id, 4)];
      await amend(tx, desk.personal, run, approver, { excludePaymentIds, reason: 'she left' });
    });
    await expect(release(id, 'EMPLOYEE_TWICE', 3)).rejects.toMatchObject(refused);
  });

  it('is of another employer’s run for nobody', async () => {
    await limit(1n);
    const id = await upload([row('E1', '10.00')]);
    const paymentId = await paymentIn(id, 2);
    employer = await desk.employer();
    const choice = { paymentId, code: 'PAYMENT_ABOVE_LIMIT' } as const;
    await expect(
      withRun(id, (tx, run) =>
        releaseHold(tx, desk.personal, run, choice, { personId: approver, reason: REASON }),
      ),
    ).rejects.toMatchObject({ code: 'PAY_RUN_NOT_FOUND' });
    const own = await upload([row('E1', '10.00')]);
    await expect(
      withRun(own, (tx, run) =>
        releaseHold(tx, desk.personal, run, choice, { personId: approver, reason: REASON }),
      ),
    ).rejects.toMatchObject({ code: 'HOLD_NOT_FOUND' });
  });
});

describe('a month that is far from the execution date', () => {
  it('is paid once that is released, and its supplements are not asked about again', async () => {
    const owed = { period: '2025-06' };
    const run = await upload([row('E1', '1.00')], owed);
    await expect(approved(run)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
    await release(run, 'PERIOD_FAR_FROM_DATE');
    await approved(run);
    await approved(await upload([row('E2', '2.00')], { ...owed, supplementOf: showId('run', run) }));
  });
});

describe('an employee who is paid already', () => {
  it('is paid a second time by the release of that hold, which is kept as a release of the pay', async () => {
    const first = await upload([row('E1', '1.00')]);
    const second = await upload([row('E1', '2.00'), row('E2')]);
    await release(second, 'EMPLOYEE_ALREADY_PAID', 2);
    expect([await rowsOf(first), await rowsOf(second)]).toEqual([['2 READY 0'], ['2 READY 1', '3 READY 0']]);
    const kept = await desk.query(
      employer,
      'SELECT employee_id, sequence, reason, released_by FROM pay_release',
    );
    expect(kept).toEqual([{ employee_id: 'E1', sequence: 1, reason: REASON, released_by: approver }]);
    expect((await desk.audit(employer)).map(({ action }) => action)).toContain('pay.released');
  });

  it('is not paid a third time where two runs hold the row and each release speaks of the first', async () => {
    const first = await upload([row('E1', '1.00')]);
    const again = await Promise.all(['2.00', '3.00'].map((amount) => upload([row('E1', amount)])));
    const released = await Promise.allSettled(again.map((id) => release(id, 'EMPLOYEE_ALREADY_PAID', 2)));
    expect(released.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(released.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'HELD_PAYMENT_OUTDATED' },
    });
    const live = await desk.query(employer, 'SELECT FROM payment WHERE live');
    expect(live).toHaveLength(2);
    // Whoever sees all that pays the employee may release it.
    const seen = await upload([row('E1', '4.00')]);
    await release(seen, 'EMPLOYEE_ALREADY_PAID', 2);
    expect([await rowsOf(first), await rowsOf(seen)]).toEqual([['2 READY 0'], ['2 READY 2']]);
  });

  it('is not paid a third time where what the first of two such releases paid ended unpaid', async () => {
    await upload([row('E1', '1.00')]);
    const [released, held] = [await upload([row('E1', '2.00')]), await upload([row('E1', '3.00')])];
    await release(released, 'EMPLOYEE_ALREADY_PAID', 2);
    await fail(released);
    const unpaid = await paymentIn(released, 2);
    await expect(release(held, 'EMPLOYEE_ALREADY_PAID', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
      message: `The row does not replace ${showId('pay', unpaid)} of the employee, which another run did not pay: leave the row out, and upload it as a supplement or make a successor of that run if it is still owed.`,
    });
    await withRun(held, (tx, run) => cancelRun(tx, run, 'service', 'paid as a supplement'));
    const supplement = await upload([row('E1', '3.00')], { supplementOf: showId('run', released) });
    // What was released was 2.00.
    expect(await rowsOf(supplement)).toEqual(['2 HELD 1']);
    await release(supplement, 'EMPLOYEE_ALREADY_PAID', 2);
    expect(await rowsOf(supplement)).toEqual(['2 READY 1']);
    expect(
      await desk.query(employer, 'SELECT FROM payment WHERE replaces_payment_id = $1', [unpaid]),
    ).toHaveLength(1);
    expect(await desk.query(employer, 'SELECT FROM payment WHERE live')).toHaveLength(2);
  });

  it('is held for another amount than was released, also once a row of that amount was left out', async () => {
    await upload([row('E1', '1.00')]);
    await allowFurtherPay();
    const further = await upload([row('E1', '5.00')]);
    await fail(further);
    for (let time = 0; time < 2; time += 1) {
      const other = await upload([row('E1', '2000.00'), row(`N${time}`)]);
      expect(await rowsOf(other)).toEqual(['2 HELD 1', '3 READY 0']);
      await leaveOut(other, 2);
    }
    const same = await upload([row('E1', '5.00'), row('N7')]);
    expect(await rowsOf(same)).toEqual(['2 READY 1', '3 READY 0']);
  });

  it('and was left out twice before is held, not refused', async () => {
    const left = await upload([row('E1', '3.00'), row('E8')]);
    await leaveOut(left, 2);
    const again = await upload([row('E1', '3.00'), row('E9')]);
    await leaveOut(again, 2);
    await upload([row('E1', '3.00'), row('E7')]);
    const overtime = await upload([row('E1', '1.00'), row('E6')]);
    expect(await rowsOf(overtime)).toEqual(['2 HELD 0', '3 READY 0']);
    await release(overtime, 'EMPLOYEE_ALREADY_PAID', 2);
    expect(await rowsOf(overtime)).toEqual(['2 READY 1', '3 READY 0']);
  });

  it('and was left out of another run is paid again in the stead of what was sent', async () => {
    const sent = await upload([row('E1', '3.00')]);
    const left = await upload([row('E1', '3.00'), row('E9')]);
    await leaveOut(left, 2);
    await fail(sent);
    const again = await upload([row('E1', '3.00'), row('E7')]);
    const replaced = 'SELECT replaces_payment_id AS of FROM payment WHERE pay_run_id = $1 AND line = 2';
    expect(await desk.query(employer, replaced, [again])).toEqual([{ of: await paymentIn(sent, 2) }]);
  });

  it('is not paid by a row held beside one of its file that was left out, and that another run pays since', async () => {
    const id = await upload([row('E1', '1.00'), row('E1', '2.00'), row('E2')]);
    await leaveOut(id, 2);
    expect(await rowsOf(await upload([row('E1', '3.00')]))).toEqual(['2 READY 0']);
    await expect(release(id, 'EMPLOYEE_TWICE', 3)).rejects.toMatchObject({ code: 'HELD_PAYMENT_OUTDATED' });
  });

  it('is not paid a third time where the run that the hold speaks of came to pay twice', async () => {
    const first = await upload([row('E1', '1.00'), row('E1', '2.00')]);
    const second = await upload([row('E1', '3.00')]);
    await release(first, 'EMPLOYEE_TWICE', 3);
    await expect(release(second, 'EMPLOYEE_ALREADY_PAID', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
  });

  it('is not paid a second time where the run that the hold speaks of is cancelled, and one that it does not name pays', async () => {
    const [, bonus] = [await upload([row('E1', '1.00')]), await upload([row('E1', '2.00')])];
    await release(bonus, 'EMPLOYEE_ALREADY_PAID', 2);
    const again = await upload([row('E1', '1.00'), row('E2')]);
    await desk.cancel(employer, showId('run', bonus));
    await expect(release(again, 'EMPLOYEE_ALREADY_PAID', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
  });

  it('is not paid by a release whose row was left out or cancelled: the next file is held again', async () => {
    await upload([row('E1', '1.00')]);
    const left = await upload([row('E1', '2.00'), row('E2')]);
    await release(left, 'EMPLOYEE_ALREADY_PAID', 2);
    await leaveOut(left, 2);
    const cancelled = await upload([row('E1', '3.00')]);
    expect(await rowsOf(cancelled)).toEqual(['2 HELD 0']);
    await release(cancelled, 'EMPLOYEE_ALREADY_PAID', 2);
    expect(await rowsOf(cancelled)).toEqual(['2 READY 2']);
    await withRun(cancelled, (tx, run) => cancelRun(tx, run, 'service', 'the wrong file'));
    expect(await rowsOf(await upload([row('E1', '4.00')]))).toEqual(['2 HELD 0']);
  });

  it('is paid once more by a release that was made beforehand, and whose row was left out, until it is withdrawn', async () => {
    await upload([row('E1', '1.00')]);
    const held = await upload([row('E1', '3.00')]);
    await allowFurtherPay();
    const left = await upload([row('E1', '2.00'), row('E2')]);
    expect(await rowsOf(left)).toEqual(['2 READY 1', '3 READY 0']);
    await leaveOut(left, 2);
    await expect(release(held, 'EMPLOYEE_ALREADY_PAID', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
    await desk.database.inEmployer(employer.employerId, (tx) =>
      withdrawFurtherPay(tx, approver, FURTHER_PAY),
    );
    await release(held, 'EMPLOYEE_ALREADY_PAID', 2);
    expect(await rowsOf(held)).toEqual(['2 READY 2']);
  });

  it('is paid once more beside a row left out whose place another row of its file has', async () => {
    await upload([row('E1', '1.00')]);
    await allowFurtherPay();
    const twice = await upload([row('E1', '2.00'), row('E1', '3.00')]);
    await leaveOut(twice, 3);
    expect(await rowsOf(twice)).toEqual(['2 READY 1', '3 EXCLUDED 1']);
    const held = await upload([row('E1', '4.00')]);
    await release(held, 'EMPLOYEE_ALREADY_PAID', 2);
    expect(await rowsOf(held)).toEqual(['2 READY 2']);
  });

  it('is not paid by the release beside a run that another one has taken the place of', async () => {
    const first = await upload([row('E1', '1.00')]);
    const held = await upload([row('E1', '2.00')]);
    await withRun(first, (tx, run) => cancelRun(tx, run, 'service', 'the wrong file'));
    await upload([row('E1', '3.00')]);
    await expect(release(held, 'EMPLOYEE_ALREADY_PAID', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
  });

  it('is paid twice more by a row of a file that a release was taken for, and the next one', async () => {
    await upload([row('E1', '1.00')]);
    await allowFurtherPay();
    const id = await upload([row('E1', '2.00'), row('E1', '3.00')]);
    await release(id, 'EMPLOYEE_TWICE', 3);
    expect(await rowsOf(id)).toEqual(['2 READY 1', '3 READY 2']);
  });

  it.each([
    ['in their order', [2, 3, 4]],
    ['the other way round', [4, 3, 2]],
  ])(
    'is paid by rows of one file that all are held for other reasons too, whichever is released first: %s',
    async (_, lines) => {
      await limit(50_000n);
      const id = await upload([row('E1', '600.00'), row('E1', '700.00'), row('E1', '800.00')]);
      for (const line of lines) {
        if (line > 2) await release(id, 'EMPLOYEE_TWICE', line);
        await release(id, 'PAYMENT_ABOVE_LIMIT', line);
      }
      expect((await sequencesOf(id)).sort()).toEqual([0, 1, 2]);
      const made = await desk.query(employer, 'SELECT reason, released_by FROM pay_release');
      expect(made).toEqual([1, 2].map(() => ({ reason: REASON, released_by: approver })));
    },
  );

  it('is paid so by a release that was made beforehand and one more', async () => {
    await upload([row('E1', '5.00')]);
    await allowFurtherPay();
    await limit(50_000n);
    const id = await upload([row('E1', '600.00'), row('E1', '700.00')]);
    await release(id, 'EMPLOYEE_TWICE', 3);
    await release(id, 'PAYMENT_ABOVE_LIMIT', 3);
    await release(id, 'PAYMENT_ABOVE_LIMIT', 2);
    expect((await sequencesOf(id)).sort()).toEqual([1, 2]);
  });

  it('is not paid so where another run pays since, nor beside a row that was left out', async () => {
    await limit(50_000n);
    const id = await upload([row('E1', '600.00'), row('E1', '700.00')]);
    await release(id, 'EMPLOYEE_TWICE', 3);
    await leaveOut(id, 3);
    await upload([row('E1', '5.00')]);
    await expect(release(id, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toThrow('paid by another run');
  });

  it('is not paid a second time by the release of anything else', async () => {
    await limit(50_000n);
    const held = await upload([row('E1', '900.00'), row('E2', '2.00')]);
    const other = await upload([row('E1', '1.00')]);
    await expect(release(held, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
    await withRun(other, (tx, run) => cancelRun(tx, run, 'service', 'the wrong file'));
    await release(held, 'PAYMENT_ABOVE_LIMIT', 2);
    expect(await rowsOf(held)).toEqual(['2 READY 0', '3 READY 0']);
  });

  it('keeps the release that the upload took', async () => {
    await limit(50_000n);
    await upload([row('E1', '1.00')]);
    await allowFurtherPay();
    const id = await upload([row('E1', '900.00')]);
    await release(id, 'PAYMENT_ABOVE_LIMIT', 2);
    expect(await rowsOf(id)).toEqual(['2 READY 1']);
  });

  it('is paid by a release that was made since the row was held, and no later row is', async () => {
    await upload([row('E1', '1.00')]);
    const id = await upload([row('E1', '2.00')]);
    await allowFurtherPay();
    await release(id, 'EMPLOYEE_ALREADY_PAID', 2);
    expect(await rowsOf(id)).toEqual(['2 READY 1']);
    expect(await rowsOf(await upload([row('E1', '3.00')]))).toEqual(['2 HELD 0']);
  });

  it('is not paid by a release that the upload took and that was withdrawn since', async () => {
    await limit(50_000n);
    await upload([row('E1', '1.00')]);
    await allowFurtherPay();
    const id = await upload([row('E1', '900.00')]);
    await desk.database.inEmployer(employer.employerId, (tx) =>
      withdrawFurtherPay(tx, approver, FURTHER_PAY),
    );
    await expect(release(id, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
  });

  it('is paid by each of three rows under a place of its own', async () => {
    const id = await upload([row('E1', '1.00'), row('E1', '2.00'), row('E1', '3.00')]);
    await Promise.all([release(id, 'EMPLOYEE_TWICE', 4), release(id, 'EMPLOYEE_TWICE', 3)]);
    expect((await rowsOf(id)).map((text) => text.slice(-1)).sort()).toEqual(['0', '1', '2']);
    expect((await runOf(id)).runVersion).toBe(3);
  });

  it('is paid by the held row alone where the first one is left out', async () => {
    const id = await upload([row('E1', '1.00'), row('E1', '2.00')]);
    await leaveOut(id, 2);
    await release(id, 'EMPLOYEE_TWICE', 3);
    expect(await rowsOf(id)).toEqual(['2 EXCLUDED 0', '3 READY 0']);
    expect(await desk.query(employer, 'SELECT FROM pay_release')).toEqual([]);
  });
});

describe('a payment that ended unpaid', () => {
  it('is replaced by the held row, which is no end of its chain while it is held', async () => {
    const failed = await upload([row('E1', '1.00')]);
    await fail(failed);
    await limit(50_000n);
    const held = await upload([row('E1', '900.00')]);
    const replaced = await desk.query(employer, 'SELECT FROM payment WHERE replaces_payment_id = $1', [
      await paymentIn(failed, 2),
    ]);
    expect(replaced).toHaveLength(1);
    const small = await upload([row('E1', '3.00')]);
    await expect(release(held, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
    await withRun(small, (tx, run) => cancelRun(tx, run, 'service', 'the wrong file'));
    await release(held, 'PAYMENT_ABOVE_LIMIT', 2);
    expect(await rowsOf(held)).toEqual(['2 READY 0']);
  });

  it('since the row was held is not passed over by it', async () => {
    await limit(50_000n);
    const held = await upload([row('E1', '900.00')]);
    await fail(await upload([row('E1', '3.00')]));
    await expect(release(held, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
  });

  it('is named with the row that replaces it where another row of the employee is released before that one', async () => {
    await fail(await upload([row('E1', '10.00')]));
    await limit(50_000n);
    const id = await upload([row('E1', '600.00'), row('E1', '700.00')]);
    await release(id, 'EMPLOYEE_TWICE', 3);
    await expect(release(id, 'PAYMENT_ABOVE_LIMIT', 3)).rejects.toThrow(
      /Line 2 of this file replaces pay_\w+ of the employee, .*: release that row first/,
    );
    await release(id, 'PAYMENT_ABOVE_LIMIT', 2);
    await release(id, 'PAYMENT_ABOVE_LIMIT', 3);
    expect(await sequencesOf(id)).toEqual([0, 1]);
  });

  it('is replaced by the first of two rows of its employee', async () => {
    await fail(await upload([row('E1', '1.00')]));
    const id = await upload([row('E1', '2.00'), row('E1', '3.00')]);
    await release(id, 'EMPLOYEE_TWICE', 3);
    const replacing = await desk.query(
      employer,
      'SELECT line, replaces_payment_id IS NOT NULL AS replaces FROM payment WHERE pay_run_id = $1 ORDER BY line',
      [id],
    );
    expect(replacing).toEqual([
      { line: 2, replaces: true },
      { line: 3, replaces: false },
    ]);
  });
});

describe('a bonus that ended unpaid while expenses were paid in a later place', () => {
  const PLACES = `SELECT release_sequence || ': ' || amount_minor AS text FROM payment
    WHERE employee_id = 'E1' AND live ORDER BY release_sequence`;
  const places = async () => (await desk.query<{ text: string }>(employer, PLACES)).map(({ text }) => text);
  const holdsOf = async (runId: string) =>
    (
      await desk.query<{ code: HoldCode }>(
        employer,
        'SELECT code FROM pay_hold WHERE pay_run_id = $1 AND row_no > 0 AND outcome IS NULL ORDER BY code',
        [runId],
      )
    ).map(({ code }) => code);
  const outdated = { code: 'HELD_PAYMENT_OUTDATED' };

  const joint = germanIban(88);
  const bonusAgain = (n = 0) => row('E1', '600.00', 'Ann', germanIban(80 + n));
  const paidExpenses = async () => {
    const expenses = await upload([row('E1', '3.00')]);
    await release(expenses, 'EMPLOYEE_ALREADY_PAID', 2);
  };
  /** Made in the second of the places: its run of one more row. */
  const bonusRun = async () => {
    await allowFurtherPay();
    return upload([row('E1', '600.00'), row('E9')]);
  };

  beforeEach(() => upload([row('E1', '1.00')]));

  describe('is paid again', () => {
    const restored = newId();
    afterEach(() => desk.asSuperuser(`DELETE FROM database_restore WHERE id = '${restored}'`));

    it.each<[HoldCode, () => Promise<unknown>, string[]]>([
      ['PAYMENT_ABOVE_LIMIT', () => limit(50_000n), [bonusAgain()]],
      [
        'IBAN_UNDER_TWO_NAMES',
        () => Promise.resolve(),
        [row('E1', '600.00', 'Ann', joint), row('E8', '2.00', 'Bob', joint)].reverse(),
      ],
      [
        'EMPLOYEE_MAY_BE_PAID',
        () =>
          desk.asSuperuser(
            `INSERT INTO database_restore (id, what, told_at) VALUES ('${restored}', 'another database', now())`,
          ),
        [bonusAgain()],
      ],
    ])('by the release of its row that is held for %s', async (code, given, rows) => {
      const bonus = await bonusRun();
      await paidExpenses();
      await fail(bonus);
      await given();
      const again = await upload(rows);
      expect(await holdsOf(again)).toEqual([code]);
      await release(again, code, rows.length + 1);
      expect(await places()).toEqual(['0: 100', '1: 60000', '2: 300']);
    });

    it('so, too, where its row was left out', async () => {
      const bonus = await bonusRun();
      await paidExpenses();
      await leaveOut(bonus, 2);
      await limit(50_000n);
      const again = await upload([bonusAgain()]);
      await release(again, 'PAYMENT_ABOVE_LIMIT', 2);
      expect(await places()).toEqual(['0: 100', '1: 60000', '2: 300']);
    });

    it('by one of two runs that hold its row after a restore, whatever is released of the other', async () => {
      const bonus = await bonusRun();
      await paidExpenses();
      await fail(bonus);
      await desk.asSuperuser(
        `INSERT INTO database_restore (id, what, told_at) VALUES ('${restored}', 'another database', now())`,
      );
      const [again, other] = [await upload([bonusAgain(1)]), await upload([bonusAgain(2)])];
      await release(again, 'EMPLOYEE_MAY_BE_PAID', 2);
      await expect(release(other, 'EMPLOYEE_MAY_BE_PAID', 2)).rejects.toMatchObject(outdated);
      expect(await places()).toEqual(['0: 100', '1: 60000', '2: 300']);
    });
  });

  it('is not paid again beside further pay that came since its row was held', async () => {
    const bonus = await bonusRun();
    await paidExpenses();
    await allowFurtherPay();
    await fail(bonus);
    await limit(50_000n);
    const again = await upload([bonusAgain()]);
    await limit(500_000n);
    const once = await upload([bonusAgain(1)]);
    await upload([row('E1', '5.00')]);
    await desk.cancel(employer, showId('run', once));
    expect(await places()).toEqual(['0: 100', '2: 300', '3: 500']);
    await expect(release(again, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject(outdated);
  });

  it('is not paid again beside a row that came before its own, and was released since that was held', async () => {
    const bonus = await bonusRun();
    await limit(50_000n);
    await allowFurtherPay();
    const older = await upload([row('E1', '700.00')]);
    await fail(bonus);
    const again = await upload([bonusAgain()]);
    await release(older, 'PAYMENT_ABOVE_LIMIT', 2);
    expect(await places()).toEqual(['0: 100', '2: 70000']);
    await expect(release(again, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject(outdated);
    await desk.cancel(employer, showId('run', again));
    const seen = await upload([bonusAgain()]);
    await release(seen, 'PAYMENT_ABOVE_LIMIT', 2);
    expect(await places()).toEqual(['0: 100', '1: 60000', '2: 70000']);
  });
});

describe('a run with holds', () => {
  it('is approved once its rows are released or left out', async () => {
    const id = await upload([row('E1', '1.00'), row('E1', '2.00'), row('E1', '3.00')]);
    await expect(approved(id)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
    await leaveOut(id, 3);
    await release(id, 'EMPLOYEE_TWICE', 4);
    await approved(id);
    expect(await rowsOf(id)).toEqual(['2 APPROVED 0', '3 EXCLUDED 0', '4 APPROVED 1']);
    const decided = await desk.query(
      employer,
      'SELECT row_no, outcome, reason, decided_by FROM pay_hold ORDER BY row_no',
    );
    expect(decided).toEqual([
      { row_no: 2, outcome: 'LEFT_OUT', reason: 'sent twice', decided_by: employer.personId },
      { row_no: 3, outcome: 'RELEASED', reason: REASON, decided_by: approver },
    ]);
    await expect(release(id, 'EMPLOYEE_TWICE', 4)).rejects.toMatchObject({ code: 'NOT_RELEASABLE' });
  });

  it('of the whole run is approved as it was once that hold is released', async () => {
    await desk.set(employer, { runLimitMinor: 1n });
    const id = await upload([row('E1', '1.00')]);
    const before = await runOf(id);
    await expect(approved(id)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
    await release(id, 'RUN_ABOVE_LIMIT');
    expect(await runOf(id)).toMatchObject({ runVersion: 1, rootHash: before.rootHash });
    await approved(id);
  });

  it('on every row pays nobody, and is cancelled rather than emptied', async () => {
    await limit(1n);
    const id = await upload([row('E1', '1.00'), row('E2', '2.00')]);
    expect(await runOf(id)).toMatchObject({ status: 'READY', rowCount: 0, totalMinor: 0n });
    await expect(leaveOut(id, 2, 3)).rejects.toMatchObject({ code: 'NOTHING_TO_PAY' });
    await leaveOut(id, 2);
    expect(await runOf(id)).toMatchObject({ runVersion: 2, rowCount: 0 });
    await withRun(id, (tx, run) => cancelRun(tx, run, 'service', 'the wrong file'));
    expect(await rowsOf(id)).toEqual(['2 EXCLUDED 0', '3 CANCELLED 0']);
    expect(await desk.query(employer, 'SELECT outcome FROM pay_hold ORDER BY row_no')).toEqual([
      { outcome: 'LEFT_OUT' },
      { outcome: 'CANCELLED' },
    ]);
    expect(await upload([row('E1', '1.00'), row('E2', '2.00')])).not.toBe(id);
  });
});

describe('a row held beside another run', () => {
  const CODE = 'EMPLOYEE_ALREADY_PAID';
  const listed = async (runId: string) => {
    const controller = new HoldController(desk.database, desk.personal, {} as PayRunCommands);
    return (await controller.list(employer.employerId, runId, { limit: 10 })).items;
  };
  const shown = async (runId: string) =>
    (await listed(runId)).map(({ message, remedy }) => [message, remedy]);
  const found = (runId: string, rest: string) =>
    `The employee was found in line 2 of ${showId('run', runId)}. ${rest}`;

  it('shows the state of that run, and that nobody else pays the employee once it is cancelled', async () => {
    const other = await upload([row('E1')]);
    const id = await upload([row('E1', '5.00'), row('E2')]);
    const leave = 'Leave the row out, or release it if a further payment is owed.';
    expect(await shown(id)).toEqual([[found(other, 'That run is READY now.'), leave]]);
    await approved(other);
    expect(await shown(id)).toEqual([[found(other, 'That run is APPROVED now.'), leave]]);
    await desk.cancel(employer, showId('run', other));
    const releaseIt = 'Release the row if this run is to pay the employee; left out, nobody does.';
    const over = found(other, 'That run is CANCELLED now. No run pays the employee.');
    expect(await shown(id)).toEqual([[over, releaseIt]]);
    await release(id, CODE, 2);
    expect(await rowsOf(id)).toEqual(['2 READY 0', '3 READY 0']);
  });

  it('names every run that pays its account the same, and the version that asked', async () => {
    const alike = (id: string) => [row(id, '1.00', 'Ann', germanIban(77)), row(`Y${id}`), row(`Z${id}`)];
    const others = [await upload(alike('E1')), await upload(alike('E2'))];
    const [hold, ...more] = await listed(await upload(alike('E3')));
    const [payRunId, also] = others.map((id) => showId('run', id));
    expect(hold).toMatchObject({ version: 1, beside: { line: 2, payRunId, alsoPayRunIds: [also] } });
    expect(hold?.message).toMatch(`gets that amount from ${also}, too.`);
    expect(more).toEqual([]);
  });

  it('names a successor where that run ended without paying the employee, as the release is refused', async () => {
    const other = await upload([row('E1')]);
    const id = await upload([row('E1', '5.00'), row('E2')]);
    await fail(other);
    const over = found(other, 'That run is FAILED now. No run pays the employee.');
    expect(await shown(id)).toEqual([
      [over, expect.stringMatching(/^Leave the row out, and make a successor/)],
    ]);
    await expect(release(id, CODE, 2)).rejects.toMatchObject({ code: 'HELD_PAYMENT_OUTDATED' });
  });

  it('is left out for good where the bank has shown two ends of what was to pay the employee, also once that is decided', async () => {
    const other = await upload([row('E1')]);
    const id = await upload([row('E1', '5.00'), row('E2')]);
    await fail(other);
    const paymentId = await paymentIn(other, 2);
    await withRun(other, (tx) =>
      raise(tx, {
        kind: 'CONTRADICTION',
        subjectId: paymentId,
        paymentId,
        payRunId: other,
        happened: 'The bank showed a second final status that differs from the first.',
      }),
    );
    const ends =
      'That run is FAILED now. The bank has shown two ends of what was to pay the employee, who may be paid.';
    const leave =
      'eave the row out for good: nothing of this period and kind of pay pays in its place. If the bank writes that it was not and never will be paid, and nothing else pays the employee, upload the row as another kind of pay.';
    const staysSo = async () => {
      expect(await shown(id)).toEqual([[found(other, ends), `L${leave}`]]);
      await expect(release(id, CODE, 2)).rejects.toMatchObject({
        code: 'HELD_PAYMENT_OUTDATED',
        message: `The bank has shown two ends of ${showId('pay', paymentId)} of the employee, which may be paid: l${leave}`,
      });
    };
    await staysSo();
    await desk.asSuperuser(
      `UPDATE attention SET resolved_at = now(), resolution = 'acknowledged' WHERE payment_id = '${paymentId}'`,
    );
    await staysSo();
    const bonus = await upload([row('E1', '5.00')], { kindOfPay: 'BONUS' });
    expect(await rowsOf(bonus)).toEqual(['2 READY 0']);
  });

  describe('that was cancelled after a restore, and may have been submitted before it', () => {
    const restored = newId();
    const restore = () =>
      desk.asSuperuser(
        `INSERT INTO database_restore (id, what, told_at) VALUES ('${restored}', 'another database', now())`,
      );
    afterEach(() => desk.asSuperuser(`DELETE FROM database_restore WHERE id = '${restored}'`));

    it('says that the employee may have been paid, and is released as a further payment only', async () => {
      const other = await upload([row('E1')]);
      const id = await upload([row('E1', '5.00'), row('E2')]);
      await restore();
      await desk.cancel(employer, showId('run', other));
      const maybe =
        'That run is CANCELLED now. The employee may have been paid by a submit that is not in the record.';
      const ask =
        "Ask the bank what the run's instructions paid. Leave the row out, or release it if nothing was paid.";
      expect(await shown(id)).toEqual([[found(other, maybe), ask]]);
      await release(id, CODE, 2);
      expect(await rowsOf(id)).toEqual(['2 READY 1', '3 READY 0']);
      expect(await desk.query(employer, 'SELECT employee_id, sequence FROM pay_release')).toEqual([
        { employee_id: 'E1', sequence: 1 },
      ]);
    });

    it('may have used up a release that the upload of a held row took', async () => {
      await limit(50_000n);
      await upload([row('E1', '1.00')]);
      await allowFurtherPay();
      const id = await upload([row('E1', '900.00'), row('E2', '3.00')]);
      const other = await upload([row('E1', '2.00')]);
      expect([await rowsOf(id), await rowsOf(other)]).toEqual([['2 HELD 1', '3 READY 0'], ['2 READY 1']]);
      await restore();
      await desk.cancel(employer, showId('run', other));
      await expect(release(id, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject({
        code: 'HELD_PAYMENT_OUTDATED',
      });
    });

    it('pays nobody again by the release of anything else: the row comes as one held for that', async () => {
      await limit(50_000n);
      const id = await upload([row('E1', '900.00'), row('E2')]);
      const other = await upload([row('E1', '1.00')]);
      await restore();
      await desk.cancel(employer, showId('run', other));
      await expect(release(id, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject({
        code: 'HELD_PAYMENT_OUTDATED',
      });
      const again = await upload([row('E1', '7.00')]);
      expect((await shown(again)).map(([message]) => message)).toContainEqual(
        expect.stringContaining('The employee may have been paid by line 2 of'),
      );
    });
  });
});

describe('an amendment ends what is not true of its run any more, and holds what came to be', () => {
  const redated = (runId: string, executionDate: string) =>
    withRun(runId, (tx, run) =>
      amend(tx, desk.personal, run, employer.personId, {
        excludePaymentIds: [],
        executionDate,
        reason: 'another day',
      }),
    );
  const holdsOf = (runId: string) =>
    desk
      .query<{ text: string }>(
        employer,
        `SELECT code || ' ' || coalesce(outcome, 'open') AS text FROM pay_hold WHERE pay_run_id = $1
         ORDER BY row_no, decided_at`,
        [runId],
      )
      .then((rows) => rows.map(({ text }) => text));

  it('where the row that brought it above the limit is left out', async () => {
    await desk.set(employer, { runLimitMinor: 100_000n });
    const id = await upload([
      row('E1', '999999.99'),
      row('E2', '600.00'),
      row('E3', '500.00'),
      row('E4', '1.00'),
    ]);
    await leaveOut(id, 2);
    expect(await holdsOf(id)).toEqual(['RUN_ABOVE_LIMIT open']);
    await leaveOut(id, 3);
    expect(await holdsOf(id)).toEqual(['RUN_ABOVE_LIMIT AMENDED']);
    await approved(id);
  });

  it('not where what is held brings it above the limit still', async () => {
    await desk.set(employer, { runLimitMinor: 100_000n });
    const id = await upload([row('E1', '1.00'), row('E1', '1000.00'), row('E2', '1.00')]);
    await leaveOut(id, 4);
    expect(await holdsOf(id)).toEqual(['RUN_ABOVE_LIMIT open', 'EMPLOYEE_TWICE open']);
  });

  it('where the date comes near to the month, and where it goes far from it again', async () => {
    const id = await upload([row('E1', '1.00')], { period: '2025-06' });
    await redated(id, '2026-05-29');
    expect(await holdsOf(id)).toEqual(['PERIOD_FAR_FROM_DATE AMENDED']);
    await redated(id, '2026-11-27');
    expect(await holdsOf(id)).toEqual(['PERIOD_FAR_FROM_DATE AMENDED', 'PERIOD_FAR_FROM_DATE open']);
    await expect(approved(id)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
    await release(id, 'PERIOD_FAR_FROM_DATE');
    await approved(id);
  });

  it('where the date goes far from the month', async () => {
    const id = await upload([row('E1', '1.00')]);
    await redated(id, '2027-11-26');
    expect(await holdsOf(id)).toEqual(['PERIOD_FAR_FROM_DATE open']);
    await expect(approved(id)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
    const uploaded = await withRun(id, async (tx, run) => {
      const { id: file } = await tx.manager.findOneByOrFail(PayFile, { payRunId: run.id });
      return readUploadAnswer(tx, desk.personal, file);
    });
    expect(uploaded.held.holds).toEqual({ PERIOD_FAR_FROM_DATE: 1 });
  });

  it('as far as its release does not cover it: farther is held again', async () => {
    const id = await upload([row('E1', '1.00')], { period: '2025-06' });
    await release(id, 'PERIOD_FAR_FROM_DATE');
    const once = ['PERIOD_FAR_FROM_DATE RELEASED'];
    await redated(id, '2026-11-30');
    await redated(id, '2026-10-30');
    expect(await holdsOf(id)).toEqual(once);
    await redated(id, '2026-11-27');
    expect(await holdsOf(id)).toEqual([...once, 'PERIOD_FAR_FROM_DATE open']);
    await redated(id, '2026-12-18');
    expect(await holdsOf(id)).toEqual([...once, 'PERIOD_FAR_FROM_DATE open']);
  });

  it('and asks about the month of no supplement', async () => {
    const run = await upload([row('E1', '1.00')]);
    await approved(run);
    const supplement = await upload([row('E2', '2.00')], { supplementOf: showId('run', run) });
    await redated(supplement, '2027-11-26');
    expect(await holdsOf(supplement)).toEqual([]);
  });
});
