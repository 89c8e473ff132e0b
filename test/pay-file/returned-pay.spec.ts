import { newId } from '../../src/database/new-id';
import { HoldCode } from '../../src/domain/hold';
import { readId } from '../../src/http/prefixed-id';
import { amend } from '../../src/pay-run/amendment';
import { cancelRun } from '../../src/pay-run/cancellation';
import { raise } from '../../src/pay-run/attention.store';
import { germanIban } from '../support/pay-rows';
import { csv, Desk, PayDesk, row } from './pay-desk';

const REASON = 'she has a new account';

let desk: PayDesk;
let employer: Desk;
let approver: string;
let first: string;

beforeAll(async () => {
  desk = await PayDesk.open();
  approver = await desk.person('Arno Approver');
});
beforeEach(async () => {
  employer = await desk.employer();
  first = await upload([row('E1', '900.00'), row('E2', '1.00')]);
  await cameBack(first, 'E1');
});
afterAll(() => desk.close());

const upload = async (rows: string[], fields: Record<string, string> = {}): Promise<string> =>
  readId('run', (await desk.upload(employer, csv(...rows), fields)).answer.id);

/** The run is paid, and what it paid an employee comes back, as the bank would have it. */
const cameBack = (runId: string, ...employeeIds: string[]): Promise<void> =>
  desk.asSuperuser(
    `SET session_replication_role = replica;
     UPDATE payment SET status = 'SETTLED' WHERE pay_run_id = '${runId}';
     UPDATE payment SET returned_at = now() WHERE pay_run_id = '${runId}'
       AND employee_id IN (${employeeIds.map((id) => `'${id}'`).join(', ')});
     UPDATE pay_run SET status = 'SETTLED' WHERE id = '${runId}'`,
  );

const release = async (runId: string, code: HoldCode): Promise<void> =>
  desk.releaseHold(
    employer,
    runId,
    { paymentId: await desk.paymentIn(employer, runId, 2), code },
    { personId: approver, reason: REASON },
  );

const holdsOf = async (runId: string): Promise<string[]> => {
  const rows = await desk.query<{ code: string }>(
    employer,
    'SELECT code FROM pay_hold WHERE pay_run_id = $1 ORDER BY code',
    [runId],
  );
  return rows.map(({ code }) => code);
};

/** The run ends, and pays nobody. */
const fails = (runId: string): Promise<void> =>
  desk.asSuperuser(
    `SET session_replication_role = replica;
     UPDATE payment SET status = 'FAILED', live = false WHERE pay_run_id = '${runId}';
     UPDATE pay_run SET status = 'FAILED' WHERE id = '${runId}'`,
  );

/** Less of what the first run paid is back than it paid. */
const lessIsBack = (): Promise<void> =>
  desk.asSuperuser(
    `SET session_replication_role = replica;
     UPDATE payment SET returned_minor = 89500 WHERE pay_run_id = '${first}' AND employee_id = 'E1'`,
  );

const RELEASE = { employeeId: 'E1', period: '2026-11', kindOfPay: 'SALARY', reason: REASON };

/** The first payment of a run, and of which run the one is that it replaces. */
const paymentOf = async (runId: string) => {
  const [payment] = await desk.query(
    employer,
    `SELECT p.status, p.release_sequence AS place, o.pay_run_id AS replaces, p.replaces_reason AS why
     FROM payment p LEFT JOIN payment o ON o.id = p.replaces_payment_id WHERE p.pay_run_id = $1 AND p.line = 2`,
    [runId],
  );
  return payment;
};

const elsewhere = (amount = '900.00') => row('E1', amount, 'Zoë Müller', germanIban(9_000_001));

describe('what was paid and came back', () => {
  it('is paid again by a row that is held for a run cancelled before a restore, too', async () => {
    const cancelled = await upload([row('E1', '900.00'), row('E4')]);
    await desk.inRun(employer, cancelled, (tx, run) => cancelRun(tx, run, 'service', 'sent twice'));
    const restored = newId();
    await desk.asSuperuser(
      `INSERT INTO database_restore (id, what, told_at) VALUES ('${restored}', 'another database', now())`,
    );
    const again = await upload([elsewhere()]);
    expect(await holdsOf(again)).toEqual([
      'EMPLOYEE_MAY_BE_PAID',
      'EMPLOYEE_PAY_RETURNED',
      'RUN_MAY_BE_FORGOTTEN',
    ]);
    await release(again, 'EMPLOYEE_MAY_BE_PAID');
    await release(again, 'EMPLOYEE_PAY_RETURNED');
    expect(await paymentOf(again)).toMatchObject({ status: 'READY', replaces: first });
    await desk.asSuperuser(`DELETE FROM database_restore WHERE id = '${restored}'`);
  });

  it('is what a row replaces also where another one was left out before', async () => {
    const mistyped = await upload([row('E1', '900.00', 'Zoë Müller', germanIban(9_000_002)), row('E3')]);
    await desk.inRun(employer, mistyped, async (tx, run) => {
      const excludePaymentIds = [await desk.paymentIn(employer, mistyped, 2)];
      await amend(tx, desk.personal, run, employer.personId, { excludePaymentIds, reason: 'mistyped' });
    });
    const again = await upload([elsewhere()]);
    expect(await holdsOf(again)).toEqual(['EMPLOYEE_PAY_RETURNED']);
    expect(await paymentOf(again)).toMatchObject({ status: 'HELD', replaces: first });
  });

  it('is paid to another account by a row that replaces it, once a person has released that', async () => {
    const again = await upload([elsewhere()]);
    expect(await holdsOf(again)).toEqual(['EMPLOYEE_PAY_RETURNED']);
    expect(await paymentOf(again)).toMatchObject({ status: 'HELD', replaces: first });
    await release(again, 'EMPLOYEE_PAY_RETURNED');
    expect(await paymentOf(again)).toEqual({
      status: 'READY',
      place: 1,
      replaces: first,
      why: 'The payment came back.',
    });
    const kept = await desk.query(employer, 'SELECT reason, released_by FROM pay_release');
    expect(kept).toEqual([{ reason: REASON, released_by: approver }]);
    // By now the employee is paid.
    expect(await holdsOf(await upload([elsewhere('901.00')]))).toEqual(['EMPLOYEE_ALREADY_PAID']);
  });

  it('is paid by a row for which a person allowed it beforehand, for that reason', async () => {
    await desk.release(employer, approver, RELEASE);
    const again = await upload([elsewhere()]);
    expect(await holdsOf(again)).toEqual([]);
    expect(await paymentOf(again)).toEqual({ status: 'READY', place: 1, replaces: first, why: REASON });
  });

  it('is asked about before the same rows pay it as another kind of pay, which would replace nothing', async () => {
    const bonus = await upload([row('E1', '900.00')], { kindOfPay: 'BONUS' });
    expect(await holdsOf(bonus)).toEqual(['ROWS_OF_ANOTHER_RUN']);
  });

  it('is no pay that the same rows repeat', async () => {
    const again = await upload([row('E1', '900.00')]);
    expect(await holdsOf(again)).toEqual(['EMPLOYEE_PAY_RETURNED']);
    expect(await holdsOf(await upload([row('E2', '1.00')]))).toEqual([
      'EMPLOYEE_ALREADY_PAID',
      'ROWS_OF_ANOTHER_RUN',
    ]);
  });

  it('is paid again where it came back a second time', async () => {
    const again = await upload([elsewhere()]);
    await release(again, 'EMPLOYEE_PAY_RETURNED');
    await cameBack(again, 'E1');
    const third = await upload([row('E1', '900.00')]);
    expect(await holdsOf(third)).toEqual(['EMPLOYEE_PAY_RETURNED']);
    await release(third, 'EMPLOYEE_PAY_RETURNED');
    expect(await paymentOf(third)).toMatchObject({ status: 'READY', place: 2, replaces: again });
  });

  it('is not said to be paid where what paid it again ended unpaid', async () => {
    const again = await upload([elsewhere()]);
    await release(again, 'EMPLOYEE_PAY_RETURNED');
    await fails(again);
    const third = await upload([elsewhere('950.00')]);
    expect(await holdsOf(third)).toEqual(['EMPLOYEE_PAY_RETURNED']);
    await release(third, 'EMPLOYEE_PAY_RETURNED');
    expect(await paymentOf(third)).toMatchObject({ status: 'READY', place: 1, replaces: again });
  });

  it.each([1, 2])('is no pay that the same rows repeat, nor what paid it again (%d times)', async (times) => {
    for (let n = 0; n < times; n += 1) {
      const again = await upload([elsewhere(`90${n}.50`)]);
      await release(again, 'EMPLOYEE_PAY_RETURNED');
      await fails(again);
    }
    expect(await holdsOf(await upload([row('E1', '900.00')]))).toEqual(['EMPLOYEE_PAY_RETURNED']);
  });

  it.each([
    ['all of it', '900.00'],
    ['what is owed of it', '895.00'],
  ])(
    'is as good as paid once less of it is back, also by a row that pays %s as one did that ended unpaid',
    async (_, amount) => {
      const again = await upload([elsewhere(amount)]);
      await release(again, 'EMPLOYEE_PAY_RETURNED');
      await fails(again);
      await lessIsBack();
      const third = await upload([row('E1', amount, 'Zoë Müller', germanIban(9_000_002))]);
      expect(await holdsOf(third)).toEqual(['EMPLOYEE_ALREADY_PAID']);
      const spouse = row('E9', '12.34', 'Spouse Of Hers', germanIban(9_000_001));
      const both = ['EMPLOYEE_ALREADY_PAID', 'IBAN_UNDER_TWO_NAMES'];
      expect(await holdsOf(await upload([spouse, elsewhere(amount)]))).toEqual(both);
      await release(third, 'EMPLOYEE_ALREADY_PAID');
      expect(await paymentOf(third)).toMatchObject({ status: 'READY', place: 2, replaces: null });
    },
  );

  it.each(['is answered', 'is open'])(
    'is held once less of it is back, though a person allowed further pay before, while the question %s',
    async (how) => {
      await desk.release(employer, approver, RELEASE);
      await lessIsBack();
      if (how === 'is open')
        await desk.database.inEmployer(employer.employerId, (tx) =>
          raise(tx, {
            kind: 'TOTAL_MISMATCH_AFTER_SUBMIT',
            subjectId: first,
            payRunId: first,
            happened: how,
          }),
        );
      const again = await upload([elsewhere()]);
      expect(await holdsOf(again)).toEqual(['EMPLOYEE_ALREADY_PAID']);
      await release(again, 'EMPLOYEE_ALREADY_PAID');
      // It is used up.
      expect(await paymentOf(again)).toMatchObject({ status: 'READY', place: 1, replaces: null });
    },
  );

  it.each(['is paid', 'came back, too'])(
    'is held once less of it is back, and takes no release that was made before, where a bonus of the employee %s',
    async (how) => {
      await desk.asSuperuser(
        `SET session_replication_role = replica; UPDATE payment SET returned_at = NULL WHERE pay_run_id = '${first}'`,
      );
      const bonus = await upload([row('E1', '50.00')]);
      await release(bonus, 'EMPLOYEE_ALREADY_PAID');
      await cameBack(bonus, how === 'is paid' ? 'nobody' : 'E1');
      await cameBack(first, 'E1');
      await desk.release(employer, approver, RELEASE);
      await lessIsBack();
      const again = await upload([elsewhere()]);
      expect(await holdsOf(again)).toEqual(['EMPLOYEE_ALREADY_PAID']);
      expect(await paymentOf(again)).toMatchObject({ status: 'HELD', place: 0, replaces: null });
    },
  );

  it('is owed in part, also where a row that repaid all, and then the one that paid what is owed, ended unpaid', async () => {
    const repaid = await upload([elsewhere()]);
    await release(repaid, 'EMPLOYEE_PAY_RETURNED');
    await fails(repaid);
    await lessIsBack();
    const owed = await upload([elsewhere('895.00')]);
    await release(owed, 'EMPLOYEE_ALREADY_PAID');
    await fails(owed);
    const corrected = await upload([row('E1', '895.00', 'Zoë Müller', germanIban(9_000_003))]);
    await release(corrected, 'EMPLOYEE_ALREADY_PAID');
    expect(await paymentOf(corrected)).toMatchObject({ status: 'READY', place: 2, replaces: owed });
  });

  it('is paid to another account, once its successor failed, also by a row of whoever made that successor', async () => {
    const again = await upload([elsewhere()]);
    await release(again, 'EMPLOYEE_PAY_RETURNED');
    await desk.asSuperuser(
      `SET session_replication_role = replica; UPDATE pay_release SET released_by = '${employer.personId}'`,
    );
    await fails(again);
    const corrected = await upload([row('E1', '901.00', 'Zoë Müller', germanIban(9_000_002))]);
    await release(corrected, 'EMPLOYEE_PAY_RETURNED');
    expect(await paymentOf(corrected)).toMatchObject({ status: 'READY', place: 1, replaces: again });
  });

  it('holds a row that pays again further pay that failed, beside what repays it', async () => {
    const again = await upload([elsewhere()]);
    await release(again, 'EMPLOYEE_PAY_RETURNED');
    const further = await upload([row('E1', '50.00')]);
    await release(further, 'EMPLOYEE_ALREADY_PAID');
    await fails(further);
    const corrected = await upload([elsewhere('50.00')]);
    expect(await holdsOf(corrected)).toEqual(['EMPLOYEE_ALREADY_PAID']);
    await release(corrected, 'EMPLOYEE_ALREADY_PAID');
    expect(await paymentOf(corrected)).toMatchObject({ status: 'READY', place: 2, replaces: further });
  });

  it('is paid by one of two runs that hold it, whoever releases it in each', async () => {
    const runs = [await upload([elsewhere()]), await upload([elsewhere('899.00')])];
    await release(runs[0]!, 'EMPLOYEE_PAY_RETURNED');
    await expect(release(runs[1]!, 'EMPLOYEE_PAY_RETURNED')).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
  });

  it('beside pay that stands is not what a row is held for', async () => {
    const bonus = await upload([row('E2', '50.00'), row('E7', '2.00')]);
    await release(bonus, 'EMPLOYEE_ALREADY_PAID');
    await cameBack(bonus, 'E2');
    const again = await upload([row('E2', '1.00'), row('E8', '3.00'), row('E9', '4.00')]);
    expect(
      await desk.query(employer, 'SELECT code, beside_run_id FROM pay_hold WHERE pay_run_id = $1', [again]),
    ).toEqual([{ code: 'EMPLOYEE_ALREADY_PAID', beside_run_id: first }]);
    await release(again, 'EMPLOYEE_ALREADY_PAID');
  });

  it('is not guessed where two payments of the employee came back', async () => {
    const bonus = await upload([row('E1', '50.00')]);
    await release(bonus, 'EMPLOYEE_PAY_RETURNED');
    await desk.asSuperuser(
      `SET session_replication_role = replica;
       UPDATE payment SET replaces_payment_id = NULL, replaces_reason = NULL WHERE pay_run_id = '${bonus}'`,
    );
    await cameBack(bonus, 'E1');
    const again = await upload([elsewhere()]);
    expect(await holdsOf(again)).toEqual(['EMPLOYEE_PAY_RETURNED']);
    expect(await paymentOf(again)).toMatchObject({ replaces: null, why: null });
  });

  it('is paid as far as is known where the bank has shown two ends of it', async () => {
    const paymentId = await desk.paymentIn(employer, first, 2);
    await desk.database.inEmployer(employer.employerId, (tx) =>
      raise(tx, {
        kind: 'CONTRADICTION',
        subjectId: paymentId,
        paymentId,
        payRunId: first,
        happened: 'The bank showed a second final status that differs from the first.',
      }),
    );
    const again = await upload([elsewhere()]);
    expect(await holdsOf(again)).toEqual(['EMPLOYEE_ALREADY_PAID']);
    expect(await paymentOf(again)).toMatchObject({ replaces: null });
  });
});
