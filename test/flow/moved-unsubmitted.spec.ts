import { Client } from 'pg';
import { Variants } from '../../src/bank-sandbox/variants';
import { addDays } from '../../src/domain/calendar';
import { BankReads } from '../../src/employer/bank-reads';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { showsInstructions } from '../support/payments-shown';
import { Payroll } from '../support/payroll';

interface Shown {
  status: string;
  bankInstructionId: string;
}

let payroll: Payroll;
const decided = async (path: string, action: string, evidence?: string) => {
  const reason = 'the bank and we have looked into it';
  return payroll.decide(path, { action, reason, evidence });
};
const act = async (path: string, action: string) => {
  expect((await decided(path, action)).status).toBe(200);
};
const instruction = async (runId: string, is: (one: Shown) => boolean): Promise<Shown | undefined> =>
  ((await payroll.run(runId)).instructions as Shown[]).find(is);
const verified = (runId: string) => instruction(runId, ({ status }) => status === 'VERIFIED');
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind).sort();
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const submitsAtBank = async (id: string) =>
  (await payroll.ledger()).instructions.find((one) => String(one.id) === id)?.submits;
/** No invariant is found broken, by a pass of the reconciler that began after what was done. */
const soundly = async () => {
  await payroll.reconcile();
  expect(await select(payroll.database.superuserUrl, 'SELECT invariant FROM invariant_breach')).toEqual([]);
};
const explained = async (runId: string) => {
  const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${runId}/reconciliation`));
  expect(report.data).toMatchObject({ explained: true, difference: '0.00', acknowledged: [] });
};

/** A run that is being submitted, of which somebody else has submitted an instruction of two. */
async function movedByOthers(meddle: (bankId: string) => Promise<unknown> = async () => undefined, rows = 4) {
  await payroll.stopPastTheGate();
  const id = await payroll.paid(payFile(payRows(rows)));
  await payroll.until(id, ['SUBMITTING'], 20_000);
  const moved = (await verified(id))!.bankInstructionId;
  await meddle(moved);
  await payroll.submitAtBank(moved);
  // A bank that shows it late would take our submit beside it.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await payroll.letRunsGoOn();
  const asked = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
  return { id, moved, asked };
}

describe('an instruction that the bank executes though it was never submitted', () => {
  beforeAll(async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 2 });
  });
  afterAll(() => payroll.close());

  /** It was read since two people decided, and is read again after a while. */
  const waits = async ({ bankInstructionId }: Shown) =>
    (
      await select(
        payroll.database.superuserUrl,
        `SELECT FROM lease l JOIN instruction i ON i.id = l.subject_id WHERE i.bank_instruction_id = $1
           AND l.kind = 'INSTRUCTION' AND l.holder IS NULL AND l.wake_at > now() + interval '30 seconds'`,
        [bankInstructionId],
      )
    ).length > 0;

  it('stops everything until two people decide it, and not again while the bank shows the same', async () => {
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    const refused = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    await eventually(async () => (await verified(id)) !== undefined, 15_000);
    const moved = await verified(id);
    await payroll.submitAtBank(moved!.bankInstructionId);
    await act(refused, 'TRY_AGAIN');
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await eventually(
      async () => (await instruction(id, ({ status }) => status === 'CLOSED')) !== undefined,
      20_000,
    );
    await eventually(() => waits(moved!), 20_000);
    expect(await kinds()).toEqual(['UNRECORDED_SUBMIT']);
    expect((await verified(id))?.bankInstructionId).toBe(moved!.bankInstructionId);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    const attempts = `SELECT bank_instruction_id FROM submit_attempt WHERE bank_instruction_id = $1`;
    expect(await select(payroll.database.superuserUrl, attempts, [moved!.bankInstructionId])).toEqual([]);
  });
});

describe('an instruction that somebody else submits while its run is amended', () => {
  beforeEach(async () => {
    const settings = { RECONCILE_MS: '2000', BANK_LAG_BOUND_MS: '1000' };
    payroll = await Payroll.start({ rowsPerInstruction: 2, settings });
  });
  afterEach(() => payroll.close());

  const reason = 'the bank and we have looked into it';
  const approved = async (id: string) => {
    expect((await payroll.approve(await payroll.run(id))).status).toBe(200);
  };
  const moved = async (bankId: string) => {
    await payroll.submitAtBank(bankId);
    // A bank that shows it late is waited for.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  };

  /** What was given up is not read again by itself before the next day. */
  const nobodyFollows = () => payroll.letRest('FOLLOW');

  it.each(['before', 'after'])(
    'pays nobody of it again when people resume (%s it is given up)',
    async (when) => {
      await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
      const id = await payroll.paid(payFile(payRows(4)));
      const refused = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
      await eventually(async () => (await verified(id)) !== undefined, 15_000);
      const { bankInstructionId } = (await verified(id))!;
      const paid = await select<{ id: string }>(
        payroll.database.superuserUrl,
        `SELECT 'pay_' || replace(payment_id::text, '-', '') AS id FROM bank_payment b
       JOIN instruction i ON i.id = b.instruction_id WHERE i.bank_instruction_id = $1`,
        [bankInstructionId],
      );
      if (when === 'before') await moved(bankInstructionId);
      await act(refused, 'EXCLUDE_PAYMENT');
      await payroll.until(id, ['READY'], 20_000);
      if (when === 'after') {
        await nobodyFollows();
        await moved(bankInstructionId);
      }
      await approved(id);
      await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      expect(await timesPaid()).toEqual([1, 1]);

      const resume = () => payroll.resume(payroll.path(`/pay-runs/${id}`), 'operator', reason);
      expect((await resume()).data.code).toBe('WAS_SUBMITTED');
      const excludePaymentIds = paid.map((one) => one.id);
      const amended = await payroll
        .as('preparer')
        .post(payroll.path(`/pay-runs/${id}/amendments`), { excludePaymentIds, reason });
      expect(amended.status).toBeLessThan(300);
      await payroll.until(id, ['READY'], 20_000);
      await approved(id);
      await payroll.until(id, ['SETTLED'], 20_000);
      expect(await timesPaid()).toEqual([1, 1, 1]);
      const again = await payroll.upload(payFile(payRows(4).reverse()));
      expect(JSON.stringify(again.data)).toContain('EMPLOYEE_NOT_REPAYABLE');
      await soundly();
    },
  );

  /** An instruction whose rows the bank has, as a process leaves it that dies before it records their adds. */
  const addsUnrecorded = async (stop: () => Promise<{ status: number }>): Promise<string> => {
    let bankId: string | undefined;
    await eventually(async () => {
      const [built] = await select<{ id: string }>(
        payroll.database.superuserUrl,
        `SELECT i.bank_instruction_id AS id FROM instruction i JOIN bank_payment b ON b.instruction_id = i.id
         WHERE i.status = 'BUILDING' GROUP BY i.bank_instruction_id HAVING count(*) FILTER (WHERE add_outcome = 'ADDED') = 2`,
      );
      bankId = built?.id;
      return bankId !== undefined;
    }, 15_000);
    expect((await stop()).status).toBe(200);
    // What was begun before it is done by then.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       WITH of AS (SELECT id FROM instruction WHERE bank_instruction_id = '${bankId}'),
       intent AS (UPDATE add_intent SET finished_at = NULL WHERE instruction_id IN (SELECT id FROM of))
       DELETE FROM bank_payment WHERE instruction_id IN (SELECT id FROM of)`,
    );
    return bankId!;
  };
  const followNow = () =>
    execute(payroll.database.superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
  const paymentsAt = (bankId: string) =>
    select<{ id: string }>(
      payroll.database.superuserUrl,
      `SELECT 'pay_' || replace(payment_id::text, '-', '') AS id FROM bank_payment b
       JOIN instruction i ON i.id = b.instruction_id WHERE i.bank_instruction_id = $1`,
      [bankId],
    );
  /** The payments of another run to those whom an instruction may have paid. */
  const paidBy = (bankId: string) =>
    select<{ id: string }>(
      payroll.database.superuserUrl,
      `SELECT 'pay_' || replace(p.id::text, '-', '') AS id FROM payment p
       JOIN payment o ON o.employee_id = p.employee_id AND o.pay_run_id <> p.pay_run_id
       JOIN bank_payment b ON b.payment_id = o.id JOIN instruction i ON i.id = b.instruction_id
       WHERE i.bank_instruction_id = $1`,
      [bankId],
    );
  const amend = async (id: string, paymentIds: readonly { id: string }[]) => {
    const excludePaymentIds = paymentIds.map((one) => one.id);
    const path = payroll.path(`/pay-runs/${id}/amendments`);
    const amended = await payroll.as('preparer').post(path, { excludePaymentIds, reason });
    expect(amended.status).toBeLessThan(300);
    await payroll.until(id, ['READY'], 20_000);
  };

  it('pays nobody of it again whose add was sent and not recorded', async () => {
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    const refused = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    const stop = () => payroll.as('second').post(payroll.path(`/pay-runs/${id}/stop`), { reason });
    const bankId = await addsUnrecorded(stop);
    await payroll.clearFaults();
    await act(refused, 'EXCLUDE_PAYMENT');
    await payroll.until(id, ['READY'], 20_000);
    await moved(bankId);
    await followNow();
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await approved(id);
    const resumed = await payroll.resume(payroll.path(`/pay-runs/${id}`), 'operator', reason);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(await timesPaid()).toEqual([1, 1]);
    expect(resumed.data.code).toBe('WAS_SUBMITTED');
  });

  /** Cancels a run of four, one instruction of which was verified. @returns the run, and the bank's id of that one */
  const cancelledOnceVerified = async () => {
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    await eventually(async () => (await verified(id)) !== undefined, 15_000);
    const { bankInstructionId } = (await verified(id))!;
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), { reason });
    await payroll.until(id, ['CANCELLED'], 20_000);
    await nobodyFollows();
    return { id, bankInstructionId };
  };

  it('asks about another run that pays them, which goes on once it leaves them out', async () => {
    const { id, bankInstructionId } = await cancelledOnceVerified();
    const again = await payroll.uploaded(payFile(payRows(4)));
    await moved(bankInstructionId);
    await followNow();
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    const asked = await payroll.askedAbout(again.id, 'POSSIBLE_DUPLICATE_PAY');
    expect((await payroll.as('finance').get(asked)).data).toMatchObject({ payments: 2 });
    expect((await payroll.run(again.id)).stopped).toMatchObject({ reason: 'POSSIBLE_DUPLICATE_PAY' });
    await amend(again.id, await paidBy(bankInstructionId));
    expect((await payroll.run(again.id)).stopped).toBeNull();
    expect(await kinds()).toEqual([]);
    await approved(again.id);
    await payroll.until(again.id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    await soundly();
  });

  it('lets another run go on that leaves them out, though a difference of one given up is still asked about', async () => {
    const { id, bankInstructionId } = await cancelledOnceVerified();
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const operation = 'listInstructionPaymentTransactions';
    await payroll.fault({ operation, kind: 'list-wrong', what: 'changed', field: 'iban', nth: 1 });
    const again = await payroll.paid(payFile(payRows(4)));
    await payroll.askedAbout(again, 'ROW_REFUSED_BY_BANK');
    await payroll.askedAbout(again, 'ECHO_MISMATCH');
    await moved(bankInstructionId);
    await followNow();
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await payroll.askedAbout(again, 'POSSIBLE_DUPLICATE_PAY');
    expect((await payroll.run(again)).stopped).toMatchObject({ reason: 'POSSIBLE_DUPLICATE_PAY' });
    await amend(again, await paidBy(bankInstructionId));
    expect((await payroll.run(again)).stopped).toBeNull();
    expect(await kinds()).toEqual(['ECHO_MISMATCH']);
    await approved(again);
    await payroll.until(again, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    expect(await kinds()).toEqual(['ECHO_MISMATCH']);
    await soundly();
  });

  it('asks people about its own run, which goes on once it leaves them out after two have resumed', async () => {
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    const refused = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    await eventually(async () => (await verified(id)) !== undefined, 15_000);
    const { bankInstructionId } = (await verified(id))!;
    await act(refused, 'EXCLUDE_PAYMENT');
    await payroll.until(id, ['READY'], 20_000);
    await nobodyFollows();
    await moved(bankInstructionId);
    await followNow();
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await payroll.askedAbout(id, 'POSSIBLE_DUPLICATE_PAY');
    await amend(id, await paymentsAt(bankInstructionId));
    expect((await payroll.run(id)).stopped).toBeNull();
    await approved(id);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it('submits nothing that the database refuses, and asks people, be it that nobody can be named', async () => {
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await execute(
      payroll.database.superuserUrl,
      `CREATE OR REPLACE FUNCTION repays_forgotten(employer uuid, run uuid) RETURNS boolean LANGUAGE sql STABLE
         AS 'SELECT true'`,
    );
    await payroll.letRunsGoOn();
    const asked = await payroll.askedAbout(id, 'POSSIBLE_DUPLICATE_PAY');
    expect((await payroll.as('finance').get(asked)).data).toMatchObject({ payments: 0 });
    expect((await payroll.ledger()).payees).toEqual([]);
  });

  it('asks people about them at the gate of what would pay them again, should nothing stop it', async () => {
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    const refused = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    await eventually(async () => (await verified(id)) !== undefined, 15_000);
    await moved((await verified(id))!.bankInstructionId);
    await act(refused, 'EXCLUDE_PAYMENT');
    await payroll.until(id, ['READY'], 20_000);
    await approved(id);
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await payroll.letRunsGoOn();
    await execute(payroll.database.superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'RUN'`);
    const asked = await payroll.askedAbout(id, 'POSSIBLE_DUPLICATE_PAY');
    expect((await payroll.as('finance').get(asked)).data).toMatchObject({ payments: 2 });
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('holds them in another run where its own is cancelled', async () => {
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    await eventually(async () => (await verified(id)) !== undefined, 15_000);
    await moved((await verified(id))!.bankInstructionId);
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), { reason });
    await payroll.until(id, ['CANCELLED'], 20_000);
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    const again = await payroll.upload(payFile(payRows(4)));
    expect(again.data).toMatchObject({ payments: 0, held: { holds: { EMPLOYEE_MAY_BE_PAID: 4 } } });
    expect(await timesPaid()).toEqual([1, 1]);
    await soundly();
  });
});

describe('an instruction that somebody else submits before it is verified', () => {
  beforeAll(async () => {
    payroll = await Payroll.start({
      settings: { BANK_LAG_BOUND_MS: '6000', RECONCILE_MS: '2000' },
      // Nothing goes on before the bank's clock does.
      sandbox: { stepMs: 600_000, variants: { instructionEnds: 'with-its-payments' } },
    });
  });
  afterAll(() => payroll.close());

  const asksNothing = async () => {
    expect(await kinds()).toEqual([]);
    expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(false);
  };

  it('is asked about once two people have resumed, since nothing takes its run on, and not when that is cancelled, nor when the bank goes on', async () => {
    const id = await payroll.paid(payFile(payRows(2)));
    const isFull = async () => {
      const [built] = await select<{ bankId: string }>(
        payroll.database.superuserUrl,
        `SELECT i.bank_instruction_id AS "bankId" FROM instruction i JOIN bank_payment b ON b.instruction_id = i.id
         WHERE b.bank_payment_id IS NOT NULL GROUP BY 1 HAVING count(*) = 2`,
      );
      return built?.bankId;
    };
    await eventually(async () => (await isFull()) !== undefined, 15_000);
    await payroll.submitAtBank((await isFull())!);
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    const asked = await payroll.askedAbout(id, 'ROW_UNSEEN');
    const { data } = await payroll.as('operator').get(asked);
    expect(data.certain).toContain('amended to leave its payments out, or is cancelled');
    expect((await decided(asked, 'TRY_AGAIN')).data.code).toBe('ACTION_NOT_OFFERED');
    expect((await payroll.run(id)).status).toBe('BUILDING');
    const reported = () => payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect((await reported()).data).toMatchObject({
      openDoubts: ['INVARIANT_BREACH'],
      explained: false,
      difference: '0.00',
    });
    const cancelled = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${id}/cancellation`), { reason: 'somebody was too quick in the portal' });
    expect(cancelled.status).toBeLessThan(300);
    await payroll.until(id, ['CANCELLED'], 20_000);
    await asksNothing();
    await payroll.bankClock(new Date(Date.now() + 10 * 86_400_000));
    await payroll.aDayLater();
    await asksNothing();
    expect(await timesPaid()).toEqual([1, 1]);
    const report = await reported();
    expect(report.data).toMatchObject({
      openDoubts: ['INVARIANT_BREACH'],
      difference: report.data.table.approved.amount,
      acknowledged: [{ kind: 'INVARIANT_BREACH', payments: 2, amount: report.data.table.approved.amount }],
    });
    const moved = report.data.equations.find(({ name }: { name: string }) => name === 'ABANDONED');
    expect(moved).toMatchObject({ expected: { payments: 0 }, actual: { payments: 2 } });
    await soundly();
  });
});

describe('two people who are asked about a submit by somebody else', () => {
  const start = async (variants: Partial<Variants> = {}) => {
    payroll = await Payroll.start({
      rowsPerInstruction: 2,
      sandbox: { variants },
      settings: { RECONCILE_MS: '2000' },
    });
  };
  afterEach(() => payroll.close());

  it('have it taken over as it was approved: the run is followed to its end, and nobody is paid again', async () => {
    await start();
    const { id, moved, asked } = await movedByOthers();
    const alone = { action: 'EXECUTED', reason: 'somebody was too quick in the portal' };
    await payroll.as('operator').post(`${asked}/actions`, alone);
    const same = await payroll.confirm(asked, 'operator');
    expect(same.data.code).toBe('SECOND_PERSON_REQUIRED');
    expect((await payroll.confirm(asked)).status).toBe(200);
    await eventually(async () => (await kinds()).join() === 'INVARIANT_BREACH', 20_000);
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    expect(await submitsAtBank(moved)).toBe(1);
    expect(await kinds()).toEqual([]);
    await explained(id);
    await soundly();
  });

  it('are not told that it was submitted with the approved date where the bank shows another one of it', async () => {
    await start({ linkReads: 'allowed' });
    const { id, asked } = await movedByOthers(undefined, 2);
    const executionDate = addDays(payroll.executionDate(), -4);
    showsInstructions(payroll.services[0]!.app.get(BankReads), () => ({ executionDate }));
    expect((await decided(asked, 'EXECUTED', 'letter of the bank, 4711')).status).toBe(200);
    const path = await payroll.askedAbout(id, 'DATE_DIFFERS');
    const { certain, askBank } = (await payroll.as('operator').get(path)).data;
    expect(certain).not.toContain('with the date that was approved');
    expect(certain).toContain('Its submit was not in the record');
    expect(askBank).toMatch(/^With which execution date was customer instruction \d+ submitted/);
  });

  it('have nothing taken over that is more than was approved, unless the bank says so in writing', async () => {
    // More than an instruction says can be submitted in the bank's portal, and is shown.
    await start({ enforceControlTotals: false, linkReads: 'allowed' });
    const { id, moved, asked } = await movedByOthers((bankId) => payroll.addAtBank(bankId));
    const refused = await decided(asked, 'EXECUTED');
    expect(refused.data).toMatchObject({ status: 409, code: 'NOT_AS_APPROVED' });
    expect(refused.data.detail).toContain(`${moved}: `);
    expect(refused.data.detail).toContain('the record does not have');
    expect((await verified(id))?.bankInstructionId).toBe(moved);
    await payroll.as('operator').delete(`${asked}/actions`);
    expect((await decided(asked, 'EXECUTED', 'letter of the bank, 4711')).status).toBe(200);
    await payroll.askedAbout(id, 'TOTAL_MISMATCH_AFTER_SUBMIT');
    for (;;) {
      const [open] = await payroll.attention();
      if (open === undefined && (await payroll.run(id)).status === 'SETTLED') break;
      if (open === undefined) await new Promise((resolve) => setTimeout(resolve, 100));
      else await decided(payroll.path(`/attention/${open.id}`), 'RESUME');
    }
    expect(await timesPaid()).toEqual([1, 1, 1, 1, 1]);
    expect(await submitsAtBank(moved)).toBe(1);
  });
});

describe('an instruction that was seen submitted by somebody else, which the bank does not show any more', () => {
  beforeAll(async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 2, sandbox: { variants: { linkReads: 'allowed' } } });
  });
  afterAll(() => payroll.close());

  it('is not built again', async () => {
    const { id, moved, asked } = await movedByOthers(undefined, 2);
    const { initiate } = await payroll.calls();
    await payroll.fault({ operation: 'getInstruction', kind: '404', every: 1 });
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    const reads = (await payroll.calls()).getInstruction ?? 0;
    await eventually(async () => {
      await payroll.wakeAll();
      return ((await payroll.calls()).getInstruction ?? 0) > reads + 4;
    }, 20_000);
    expect((await payroll.calls()).initiate).toBe(initiate);
    expect((await verified(id))?.bankInstructionId).toBe(moved);
    for (const operation of [
      'listInstructionPaymentTransactions',
      'listPaymentTransactions',
      'getPaymentTransaction',
    ])
      await payroll.fault({ operation, kind: '404', every: 1 });
    expect((await decided(asked, 'EXECUTED')).data.detail).toContain('the bank does not show it');
    // The instruction is gone, and its payments are shown again.
    await payroll.clearFaults();
    await payroll.fault({ operation: 'getInstruction', kind: '404', every: 1 });
    await payroll.as('operator').delete(`${asked}/actions`);
    await act(asked, 'EXECUTED');
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1]);
  });
});

describe('an instruction that is released at the cut-off before its adds are recorded', () => {
  beforeAll(async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 2, sandbox: { variants: { linkReads: 'allowed' } } });
  });
  afterAll(() => payroll.close());

  it('is read before a successor pays its rows, which somebody else has submitted since', async () => {
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    const { bankInstructionId } = (await verified(id))!;
    await execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET status = 'BUILDING', verified_at = NULL;
       UPDATE add_intent SET finished_at = NULL;
       DELETE FROM bank_payment`,
    );
    payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
    await payroll.until(id, ['FAILED'], 30_000);
    await payroll.submitAtBank(bankInstructionId);
    // A bank that shows it late is waited for.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const dates = { executionDate: payroll.executionDate() };
    const successor = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), dates);
    // Whoever follows it may have seen it first.
    expect(['REPLACED_PAYMENT_MOVED', 'NOTHING_TO_REPLACE']).toContain(successor.data.code);
    expect(await timesPaid()).toEqual([1, 1]);
  });
});

describe('two people who say on the written word of the bank that a submit by somebody else was executed', () => {
  beforeEach(async () => {
    const variants = { linkReads: 'allowed', enforceControlTotals: false } as const;
    payroll = await Payroll.start({ rowsPerInstruction: 2, sandbox: { variants } });
  });
  afterEach(() => payroll.close());

  /** People say it, are not asked again, and the run ends at its cut-off and is paid by no other. */
  const endsAtTheCutOff = async (id: string, asked: string, why: string) => {
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    const refused = await decided(asked, 'EXECUTED');
    expect(refused.data.code).toBe('NOT_AS_APPROVED');
    expect(refused.data.detail).toContain(why);
    await payroll.as('operator').delete(`${asked}/actions`);
    expect((await decided(asked, 'EXECUTED', 'letter of the bank, 4711')).status).toBe(200);
    await workNow(3);
    expect(await kinds()).not.toContain('UNRECORDED_SUBMIT');
    expect((await payroll.run(id)).status).toBe('SUBMITTING');
    payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
    await payroll.until(id, ['FAILED'], 30_000);
    await payroll.clearFaults();
    await workNow(3);
    expect(await kinds()).not.toContain('INVARIANT_BREACH');
    const [stale] = (await payroll.attention()).filter(({ kind }) => kind === 'STALE_DATE');
    expect(stale!.happened).toContain('no successor pays them');
    const executionDate = payroll.executionDate();
    const successor = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${id}/successor`), { executionDate });
    expect([successor.status, successor.data.payments[0].code]).toEqual([409, 'PAYMENT_STATUS_UNCLEAR']);
    expect((await timesPaid()).every((count) => count === 1)).toBe(true);
    const { data } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    const { approved } = data.table;
    const evidence = 'letter of the bank, 4711';
    expect(data).toMatchObject({
      explained: false,
      openDoubts: ['UNRECORDED_SUBMIT'],
      acknowledged: [{ kind: 'UNRECORDED_SUBMIT', payments: 2, amount: approved.amount, evidence }],
    });
  };
  /** The bank shows nothing of it any more. */
  const hidden = async (kind: string) => {
    const lists = ['listInstructionPaymentTransactions', 'listPaymentTransactions'];
    for (const operation of ['getInstruction', ...lists, 'getPaymentTransaction'])
      await payroll.fault({ operation, kind, every: 1 });
  };
  /** Has everything that waits be done at once, several times. */
  const workNow = async (times: number) => {
    for (let n = 0; n < times; n += 1) {
      await payroll.wakeAll();
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  };

  it.each([
    { kind: '404', why: 'the bank does not show it' },
    { kind: '403', why: 'the bank does not let it be read' },
    { kind: '409', why: 'the bank does not let it be read' },
  ])('end the run where the bank answers its read with $kind', async ({ kind, why }) => {
    const { id, asked } = await movedByOthers(undefined, 2);
    await hidden(kind);
    await endsAtTheCutOff(id, asked, why);
  });

  it('are waited for by whoever reads at that moment that it moved, and are not asked again', async () => {
    const { id, asked } = await movedByOthers(undefined, 2);
    await hidden('404');
    await payroll.as('operator').post(`${asked}/actions`, {
      action: 'EXECUTED',
      reason: 'the bank and we have looked into it',
      evidence: 'letter of the bank, 4711',
    });
    const reader = new Client({ connectionString: payroll.database.superuserUrl });
    await reader.connect();
    await reader.query(`BEGIN; SELECT FROM instruction WHERE status = 'VERIFIED' FOR NO KEY UPDATE`);
    const confirmed = payroll.confirm(asked);
    const pause = new Promise<string>((resolve) => setTimeout(resolve, 1_500, 'waits'));
    const first = await Promise.race([confirmed.then(() => 'decided'), pause]);
    await reader.query('ROLLBACK');
    await reader.end();
    expect([first, (await confirmed).status]).toEqual(['waits', 200]);
    await workNow(3);
    expect(await kinds()).not.toContain('UNRECORDED_SUBMIT');
    expect((await payroll.run(id)).status).toBe('SUBMITTING');
  });

  it('end the run where what was submitted had not been verified', async () => {
    const { id, asked } = await movedByOthers(async (bankId) => {
      await payroll.addAtBank(bankId);
      await execute(
        payroll.database.superuserUrl,
        `ALTER TABLE instruction DISABLE TRIGGER USER;
         UPDATE instruction SET status = 'BUILDING', verified_at = NULL;
         ALTER TABLE instruction ENABLE TRIGGER USER`,
      );
    }, 2);
    await endsAtTheCutOff(id, asked, 'the record does not have');
  });
});
