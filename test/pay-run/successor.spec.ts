import { Client } from 'pg';
import { verifyChain } from '../../src/audit/verify-chain';
import { CONFIG } from '../../src/config/env';
import { refusalOfReplacement } from '../../src/domain/replacement';
import { showId } from '../../src/http/prefixed-id';
import { lockPayKey } from '../../src/pay-run/pay-key';
import { tellOfPaidAlready } from '../../src/pay-run/paid-already';
import { grantRelease } from '../../src/pay-run/pay-release';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { replaceCandidates } from '../../src/pay-run/replaced.store';
import { SecondLook } from '../../src/pay-run/second-look';
import { Successors } from '../../src/pay-run/successor';
import { eventually } from '../support/eventually';
import { Company, pathOf, PayOffice } from './pay-office';
import { RunAtBank } from './run-at-bank';

const KEY = { employeeId: 'E-1', period: '2026-11', kindOfPay: 'SALARY' };

/** Of what the bank shows as before. */
function successorsOf(office: PayOffice): Successors {
  const secondLook = { ofPayments: () => Promise.resolve({ moved: [], unseen: [] }) };
  return new Successors(
    office.database,
    office.personal,
    secondLook as unknown as SecondLook,
    office.clock,
    office.app.get(CONFIG),
  );
}

const commandOf = ({ employerId, preparer }: Company, run: PayRun) => ({
  employerId,
  payRunId: run.id,
  personId: preparer.personId,
  ifMatch: undefined,
});

describe('two payments of an employee that came back', () => {
  let office: PayOffice;
  let company: Company;
  let run: PayRun;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office?.close());

  const furtherPay = (reason: string) =>
    office.in(company, (tx) => grantRelease(tx, company.approver.personId, { ...KEY, reason }));
  beforeEach(async () => {
    company = await office.company();
    await furtherPay('a bonus');
    const paid = [100n, 200n].map((amountMinor, releaseSequence) => ({
      employeeId: 'E-1',
      amountMinor,
      releaseSequence,
    }));
    run = await office.run(company, paid, { kindOfPay: 'SALARY' });
    await RunAtBank.ended(office, company, run, ['RETURNED', 'RETURNED']);
  });

  const paidBack = async (of = run): Promise<string[]> => {
    const sql = 'SELECT id FROM payment WHERE pay_run_id = $1 ORDER BY row_no';
    return (await office.query<{ id: string }>(company, sql, [of.id])).map(({ id }) => id);
  };
  const refusals = async (of = run) => {
    const ids = await paidBack(of);
    const candidates = await office.in(company, (tx) => replaceCandidates(tx, of.id, ids, ids.length));
    return candidates.map((one) => refusalOfReplacement(one, { byId: true, reason: true }));
  };
  const places = () =>
    office.query(company, 'SELECT release_sequence AS place FROM payment WHERE pay_run_id <> $1 ORDER BY 1', [
      run.id,
    ]);

  it('are paid again by one successor, also where one further payment was allowed beforehand', async () => {
    await furtherPay('one of the two');
    const successor = await office.successor(company, run, await paidBack(), { reason: 'a new account' });
    expect(successor.rowCount).toBe(2);
    expect(await places()).toEqual([{ place: 2 }, { place: 3 }]);
  });

  it('are paid again by a successor each, and by no more', async () => {
    const [first, second] = await paidBack();
    await office.successor(company, run, [first!], { reason: 'a new account' });
    expect(await refusals()).toEqual(['PAYMENT_ALREADY_REPLACED', undefined]);
    await office.successor(company, run, [second!], { reason: 'a new account', sequence: 2 });
    expect(await refusals()).toEqual(['PAYMENT_ALREADY_REPLACED', 'PAYMENT_ALREADY_REPLACED']);
    expect(await places()).toEqual([{ place: 2 }, { place: 3 }]);
  });

  it('are not paid again beside further pay that replaces none of them', async () => {
    await furtherPay('both at once');
    const again = { employeeId: 'E-1', amountMinor: 300n, releaseSequence: 2 };
    await office.run(company, [again], { kindOfPay: 'SALARY', sequence: 1, parentRunId: run.id });
    expect(await refusals()).toEqual(['EMPLOYEE_PAID_OTHERWISE', 'EMPLOYEE_PAID_OTHERWISE']);
  });

  /** Further pay of a run of its own, of which nobody knows which of the two it pays again; it comes back itself, or fails. */
  const unlinked = async (fate: 'RETURNED' | 'PRO_ROUTING_FAILED'): Promise<PayRun> => {
    await furtherPay('one of the two');
    const again = { employeeId: 'E-1', amountMinor: 100n, releaseSequence: 2 };
    const terms = { kindOfPay: 'SALARY', sequence: 1, parentRunId: run.id };
    return RunAtBank.ended(office, company, await office.run(company, [again], terms), [fate]);
  };
  const succeed = async (of: PayRun, sequence: number): Promise<PayRun> =>
    office.successor(company, of, (await paidBack(of)).slice(0, 1), { reason: 'a new account', sequence });

  it('are not paid again beside what pays again such pay that came back', async () => {
    const further = await unlinked('RETURNED');
    expect(await refusals()).toEqual([undefined, undefined]);
    await succeed(further, 2);
    expect(await refusals()).toEqual(['EMPLOYEE_PAID_OTHERWISE', 'EMPLOYEE_PAID_OTHERWISE']);
    await expect(succeed(run, 3)).rejects.toMatchObject({ constraint: 'replaced_is_not_paid_otherwise' });
  });

  it.each(['RETURNED', 'PRO_ROUTING_FAILED'] as const)(
    'are paid again by a successor, and such pay that ended as %s is not paid beside it',
    async (fate) => {
      const further = await unlinked(fate);
      await succeed(run, 2);
      expect(await refusals(further)).toEqual(['EMPLOYEE_PAID_OTHERWISE']);
    },
  );

  it('are not paid again by what replaces their successor, which failed, beside what pays such pay again', async () => {
    const further = await unlinked('RETURNED');
    const failed = await RunAtBank.ended(office, company, await succeed(run, 2), ['PRO_ROUTING_FAILED']);
    expect(await refusals(failed)).toEqual([undefined]);
    await succeed(further, 3);
    expect(await refusals(failed)).toEqual(['EMPLOYEE_PAID_OTHERWISE']);
  });

  it('are asked about before a submit beside what pays such pay again, where both runs were made before that was refused', async () => {
    const further = await unlinked('RETURNED');
    const earlier = await succeed(further, 2);
    const stands = (how: string) =>
      office.tamper(`UPDATE payment SET ${how} WHERE pay_run_id = $1`, [earlier.id]);
    await stands(`status = 'SETTLED', returned_at = now()`);
    const later = await succeed(run, 3);
    await stands(`status = 'READY', returned_at = NULL`);
    for (const one of [earlier, later])
      expect(await office.in(company, (tx) => tellOfPaidAlready(tx, one.id))).toBe(true);
    const told = await office.query<{ happened: string }>(company, 'SELECT happened FROM attention');
    expect(told).toHaveLength(2);
    expect(told[0]!.happened).toContain('may be made in the stead of the same');
    await stands(`status = 'FAILED', live = false`);
    expect(await office.in(company, (tx) => tellOfPaidAlready(tx, later.id))).toBe(false);
  });

  it('are not paid again beside such pay that comes at the same moment', async () => {
    const successors = successorsOf(office);
    const again = { employeeId: 'E-1', amountMinor: 300n, releaseSequence: 2 };
    const request = { executionDate: '2026-11-27', paymentIds: await paidBack(), reason: 'a new account' };
    let making: Promise<unknown> = Promise.resolve();
    await office.in(company, async (tx) => {
      // For this a successor that takes no turn would wait once it has chosen.
      await tx.query('SELECT FROM employer_account WHERE id = $1 FOR UPDATE', [company.accountId]);
      await lockPayKey(tx, run);
      making = successors.make(commandOf(company, run), request).catch((error: unknown) => error);
      await eventually(() => office.isLockAwaited(), 5_000);
      await grantRelease(tx, company.approver.personId, { ...KEY, reason: 'both at once' });
      await office.runWithin(tx, company, [again], { kindOfPay: 'SALARY', sequence: 1, parentRunId: run.id });
    });
    expect(await making).toMatchObject({ code: 'SUCCESSOR_REFUSED' });
    expect(await places()).toEqual([{ place: 2 }]);
  });
});

describe('a payment that failed, whose successor the bank has cancelled', () => {
  it('is not paid again itself, and its successor is', async () => {
    const office = await PayOffice.open();
    try {
      const company = await office.company();
      const run = await office.run(company, [{ amountMinor: 100n }]);
      await RunAtBank.ended(office, company, run, ['PRO_ROUTING_FAILED']);
      const refusals = (of: PayRun) =>
        office.in(company, async (tx) =>
          (await replaceCandidates(tx, of.id, undefined, 9)).map((one) =>
            refusalOfReplacement(one, { byId: true, reason: true }),
          ),
        );
      expect(await refusals(run)).toEqual([undefined]);
      const sql = 'SELECT id FROM payment WHERE pay_run_id = $1';
      const [{ id } = { id: '' }] = await office.query<{ id: string }>(company, sql, [run.id]);
      const successor = await office.successor(company, run, [id]);
      expect(await refusals(run)).toEqual(['PAYMENT_ALREADY_REPLACED']);
      await RunAtBank.ended(office, company, successor, ['CANCELLED']);
      expect(await refusals(run)).toEqual(['SUCCESSOR_ENDED']);
      expect(await refusals(successor)).toEqual([undefined]);
    } finally {
      await office.close();
    }
  });
});

describe('a successor of payments that came back', () => {
  let office: PayOffice;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office?.close());

  /** Has a company paid, to one account, and some of it come back, one payment of each employee. */
  async function returned(payments: number, kept = 0) {
    const company = await office.company();
    const toPay = Array.from({ length: payments + kept }, () => ({ amountMinor: 100n }));
    const run = await office.run(company, toPay);
    await RunAtBank.ended(
      office,
      company,
      run,
      Array.from({ length: payments }, () => 'RETURNED' as const),
    );
    return { company, run, payments };
  }

  /** Pays again what came back, which the bank shows as before. */
  async function paidAgain({ company, run, payments }: Awaited<ReturnType<typeof returned>>) {
    const sql = 'SELECT id FROM payment WHERE pay_run_id = $1 ORDER BY row_no';
    const all = await office.query<{ id: string }>(company, sql, [run.id]);
    const ids = all.slice(0, payments).map(({ id }) => id);
    const successors = successorsOf(office);
    const command = commandOf(company, run);
    const request = { executionDate: '2026-11-27', paymentIds: ids, reason: 'a new account' };
    const asked = jest.spyOn(Client.prototype, 'query');
    const made = await successors.make(command, request);
    const statements = asked.mock.calls.length;
    asked.mockRestore();
    return { company, run, made, statements };
  }

  it('asks the database no more often for many of them than for one', async () => {
    const [one, many] = [await paidAgain(await returned(1)), await paidAgain(await returned(40))];
    expect(many.made.record.run.rowCount).toBe(40);
    expect(many.statements).toBe(one.statements);
  });

  it('has a release of each in the audit chain, in the order of the rows, and then its own entry', async () => {
    const { company, run } = await paidAgain(await returned(12));
    const entries = await office.query(
      company,
      `SELECT action, subject, person_id AS person, detail FROM audit_entry
       WHERE action IN ('pay.released', 'pay-run.succeeded') ORDER BY seq`,
    );
    const { period, kindOfPay } = run;
    const person = company.preparer.personId;
    expect(entries).toEqual([
      ...Array.from({ length: 12 }, (_, n) => ({
        action: 'pay.released',
        subject: `E-${n + 1}`,
        person,
        detail: { period, kindOfPay, sequence: 1, reason: 'a new account' },
      })),
      expect.objectContaining({ action: 'pay-run.succeeded', person }),
    ]);
    const verdict = await office.in(company, (tx) => verifyChain(tx, company.employerId));
    expect(verdict).toEqual({ entries: entries.length });
  });

  it('is not held beside the run whose payments it pays again, of which another pays the same account the same', async () => {
    const { made } = await paidAgain(await returned(1, 1));
    expect(made.record).toMatchObject({ openHolds: 0 });
  });

  it('is not held beside the run that they came back from, where what paid them again ended unpaid', async () => {
    const before = await returned(1, 1);
    let run = before.run;
    for (let times = 0; times < 3; times += 1) {
      const { made } = await paidAgain({ ...before, run });
      expect(made.record).toMatchObject({ openHolds: 0 });
      run = await RunAtBank.ended(office, before.company, made.record.run, ['PRO_ROUTING_FAILED']);
    }
  });

  it('is held beside a run of about the same day that may have paid the same, though nobody knows', async () => {
    const before = await returned(1);
    const { company, run } = before;
    const paid = [{ employeeId: 'X-1', amountMinor: 100n }];
    const lost = await office.run(company, paid, { kindOfPay: 'BONUS', period: run.period });
    const cancelled = await office
      .as(company, 'preparer')
      .post(pathOf(lost, '/cancellation'), { reason: 'gone' });
    expect(cancelled.status).toBe(200);
    await office.tamper(
      `INSERT INTO database_restore (id, what, told_at) VALUES (gen_random_uuid(), 'a dump', now())`,
    );
    await office.tamper('UPDATE pay_run SET known_restores = known_restores() WHERE id = $1', [run.id]);
    const { made } = await paidAgain(before);
    expect(made.record).toMatchObject({ openHolds: 1 });
    const { body } = await office.as(company, 'approver').get(pathOf(made.record.run, '/holds')).expect(200);
    expect(body.items).toMatchObject([
      { code: 'ROWS_OF_ANOTHER_RUN', payment: null, beside: { payRunId: showId('run', lost.id) } },
    ]);
  });
});
