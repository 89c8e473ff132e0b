import axios from 'axios';
import { NotFound } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { MAGIC_CREDITORS, type MagicCreditor } from '../../src/bank-sandbox/magic';
import type { Variants } from '../../src/bank-sandbox/variants';
import { formatMinor } from '../../src/domain/money';
import { eventually } from '../support/eventually';
import { payFile, payRows, totalMinor } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711';
const rows = payFile(payRows(2));

let payroll: Payroll;
let restoring: Restoring;
const start = async (variants: Partial<Variants> = {}, stepMs = 0) => {
  restoring = await Restoring.start({ SUBMIT_DOUBT_MS: '4000' }, variants, stepMs);
  payroll = restoring.payroll;
};
afterEach(() => {
  jest.restoreAllMocks();
  return restoring.close();
});

/**
 * It was sent after a backup in which it was not approved, unless it was and waited for its time, and was cancelled before the
 * bank could be read.
 */
async function cancelled(file = rows, status = 'SETTLED', isApproved = false): Promise<string> {
  const run = await payroll.uploaded(file, isApproved ? payroll.later() : {});
  if (isApproved) await payroll.approve(run);
  await restoring.backUp();
  if (isApproved) payroll.clock.offsetMs += 15 * 60_000;
  else await payroll.approve(run);
  await payroll.wakeAll();
  await payroll.until(run.id, [status], 30_000);
  await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
  await restoring.restore();
  await payroll
    .as('preparer')
    .post(payroll.path(`/pay-runs/${run.id}/cancellation`), { reason: 'it is late' });
  await payroll.until(run.id, ['CANCELLED'], 20_000);
  await payroll.clearFaults();
  return run.id;
}

/** It was paid after a backup that has an older instruction of it, as released at the cut-off. */
async function released(inBackup = '', afterBackup = deleted): Promise<string> {
  await payroll.stopPastTheGate();
  const id = await payroll.paid(rows);
  await payroll.until(id, ['SUBMITTING'], 20_000);
  await restoring.backUp();
  await restoring.inBackup(
    `SET session_replication_role = replica;
     UPDATE instruction SET status = 'RELEASED';
     UPDATE payment SET status = 'VOID', live = false;
     UPDATE lease SET kind = 'FOLLOW', wake_at = now() WHERE kind = 'INSTRUCTION';
     UPDATE pay_run SET status = 'FAILED', stopped_at = NULL, stopped_reason = NULL;
     INSERT INTO state_change (employer_id, seq, subject, subject_id, pay_run_id, from_status, to_status, actor)
     SELECT employer_id, 1000001, 'instruction', id, pay_run_id, 'VERIFIED', 'RELEASED', 'service' FROM instruction
     UNION ALL SELECT employer_id, 1000002, 'pay_run', id, id, 'SUBMITTING', 'FOLLOWING', 'service' FROM pay_run
     UNION ALL SELECT employer_id, 1000003, 'pay_run', id, id, 'FOLLOWING', 'FAILED', 'service' FROM pay_run; ${inBackup}`,
  );
  await afterBackup(id);
  await payroll.letRunsGoOn();
  await payroll.until(id, ['SETTLED'], 30_000);
  await restoring.restore();
  return id;
}

/** What is submitted then is another instruction. */
async function deleted(id: string): Promise<void> {
  const [built] = (await payroll.run(id)).instructions;
  await payroll.deleteAtBank(built.bankInstructionId);
}

const executed = {
  kind: 'UNRECORDED_SUBMIT',
  payments: 2,
  amount: formatMinor(totalMinor(payRows(2))),
  evidence: EVIDENCE,
};
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const report = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;
const decide = (path: string, evidence?: string) =>
  payroll.decide(path, { action: 'EXECUTED', reason: 'the bank and we have compared our lists', evidence });
/** Two payments, of which the second goes to a payee of whom the bank makes something else. */
const withPayee = (effect: MagicCreditor['effect']) => {
  const [paid, other] = payRows(2);
  return payFile([paid!, { ...other!, iban: MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban }]);
};
/** People resume after the restore, and two decide what it had forgotten of the run. */
const decideOnEvidence = async (id: string) => {
  await restoring.answered();
  expect(await restoring.resume()).toBe('RESUMED');
  const { status, data } = await decide(await payroll.askedAbout(id, 'UNRECORDED_SUBMIT'), EVIDENCE);
  expect([status, data.code]).toEqual([200, undefined]);
};

describe('a submit that a restored database has forgotten, of a run that is over', () => {
  it.each([
    ['was cancelled', () => cancelled()],
    ['was released at the cut-off', () => released()],
  ])(
    'is decided by two people on the word of the bank, and counted in its report: it %s',
    async (_how, over) => {
      await start();
      const id = await over();
      const told = await restoring.answered();
      expect(told).toContain('decided by its UNRECORDED_SUBMIT');
      expect(told).not.toMatch(/approved as they were|is to be cancelled/);
      expect(await restoring.resume()).toBe('RESUMED');
      const asked = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
      expect((await payroll.as('operator').get(asked)).data.happened).toContain('goes on no more');
      expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['UNRECORDED_SUBMIT'] });

      expect((await decide(asked)).data.code).toBe('NOT_AS_APPROVED');
      await payroll.as('operator').delete(`${asked}/actions`);
      expect((await decide(asked, EVIDENCE)).status).toBe(200);
      expect(await report(id)).toMatchObject({ explained: true, openDoubts: [], acknowledged: [executed] });
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect((await payroll.attention()).map(({ kind }) => kind)).not.toContain('UNRECORDED_SUBMIT');

      // Whom it paid is paid by no other run, unless a person releases that.
      const again = await payroll.upload(payFile(payRows(1)));
      expect(JSON.stringify(again.data)).toMatch(/EMPLOYEE_MAY_BE_PAID|EMPLOYEE_NOT_REPAYABLE/);
      expect(await timesPaid()).toEqual([1, 1]);
    },
  );

  it('is counted where the bank leaves a payment as not processable at the step it had passed', async () => {
    await start({ failedChecks: 'leave-it' });
    const id = await cancelled(withPayee('notProcessable'), 'PARTLY_SETTLED');
    await decideOnEvidence(id);
    const amount = formatMinor(totalMinor(payRows(1)));
    expect(await report(id)).toMatchObject({
      explained: true,
      openDoubts: [],
      acknowledged: [{ ...executed, payments: 1, amount }],
    });
  });

  it('is decided on the word of the bank alone where that never ends a payment, and stays a doubt', async () => {
    await start();
    const id = await cancelled(withPayee('neverSettles'), 'FOLLOWING');
    await decideOnEvidence(id);
    const { explained, openDoubts, acknowledged } = await report(id);
    expect([explained, openDoubts]).toEqual([false, ['UNRECORDED_SUBMIT']]);
    expect(acknowledged).toMatchObject([{ ...executed, payments: 0, amount: '0.00' }]);
    expect(acknowledged[0].happened).toContain(
      'it stays a doubt of its report, and only the bank is waited for',
    );
    expect(acknowledged[0].meaning).toContain('nothing is counted of one');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await payroll.attention()).map(({ kind }) => kind)).not.toContain('UNRECORDED_SUBMIT');
  });

  it('is counted once the bank shows how each payment ended, where people decided it before', async () => {
    await start({}, 600_000);
    const id = await cancelled(rows, 'FOLLOWING');
    await decideOnEvidence(id);
    expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['UNRECORDED_SUBMIT'] });
    expect((await report(id)).acknowledged[0].happened).toContain(
      'it stays a doubt of its report, and only the bank is waited for',
    );
    await payroll.bankClock(new Date(Date.now() + 10 * 86_400_000));
    await eventually(async () => (await timesPaid()).length === 2, 10_000);
    await restoring.serveAgain();
    await eventually(async () => (await report(id)).explained === true, 20_000);
    expect(await report(id)).toMatchObject({ openDoubts: [], acknowledged: [executed] });
    const again = await payroll.upload(payFile(payRows(1)));
    expect(JSON.stringify(again.data)).toMatch(/EMPLOYEE_MAY_BE_PAID|EMPLOYEE_NOT_REPAYABLE/);
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('is decided, and counted, alike where the run was approved in the backup', async () => {
    await start();
    const id = await cancelled(rows, 'SETTLED', true);
    await decideOnEvidence(id);
    expect(await report(id)).toMatchObject({ explained: true, openDoubts: [], acknowledged: [executed] });
    await payroll.wakeAll();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await payroll.run(id)).status).toBe('CANCELLED');
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('is counted once the bank shows how each payment ended also where the run was approved in the backup', async () => {
    await start({}, 600_000);
    const id = await cancelled(rows, 'FOLLOWING', true);
    await decideOnEvidence(id);
    expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['UNRECORDED_SUBMIT'] });
    await payroll.bankClock(new Date(Date.now() + 10 * 86_400_000));
    await restoring.serveAgain();
    await eventually(async () => (await report(id)).explained === true, 20_000);
    expect(await report(id)).toMatchObject({ openDoubts: [], acknowledged: [executed] });
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('is counted once where the record has it under another id at the bank, as what was given up and moved', async () => {
    await start();
    const id = await released(
      `UPDATE instruction SET bank_instruction_id = 'older-' || bank_instruction_id;
       UPDATE bank_payment SET bank_payment_id = 'older-' || bank_payment_id, bank_transaction_id = NULL`,
      async () => undefined,
    );
    expect(await restoring.answered()).toContain('the database has another id of it');
    expect(await restoring.resume()).toBe('RESUMED');
    const reason = 'the bank and we have compared our lists';
    const breach = await payroll.askedAbout(id, 'INVARIANT_BREACH');
    expect((await payroll.as('operator').get(breach)).data.happened).toContain('has moved at the bank');
    expect((await payroll.decide(breach, { action: 'RESUME', reason })).status).toBe(200);
    const asked = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    expect((await decide(asked, EVIDENCE)).status).toBe(200);
    const { openDoubts, acknowledged } = await report(id);
    expect(openDoubts).toEqual(['INVARIANT_BREACH']);
    expect(acknowledged).toMatchObject([executed]);
    expect(await timesPaid()).toEqual([1, 1]);
  });
});

describe('a run of which the bank shows one instruction as submitted after a restore, and of another only payments that rest', () => {
  /** It was not approved in the backup, and is stopped as unclear. */
  async function unclear(): Promise<string> {
    await start({ submitWaitsFor: 'approval' });
    const run = await payroll.uploaded(payFile(payRows(4)));
    await restoring.backUp();
    await payroll.approve(run);
    await payroll.until(run.id, ['FOLLOWING'], 20_000);
    const [paid, resting] = (await payroll.run(run.id)).instructions;
    await axios.post(`${payroll.bank.url}/sandbox/instructions/${paid.bankInstructionId}/release`);
    await eventually(async () => (await timesPaid()).length === 2, 20_000);
    const { getInstruction } = BankGateway.prototype;
    jest.spyOn(BankGateway.prototype, 'getInstruction').mockImplementation(async function (
      this: BankGateway,
      id,
      ...read
    ) {
      if (id === resting.bankInstructionId) throw new NotFound(404, { raw: '' });
      return getInstruction.call(this, id, ...read);
    });
    await restoring.restore();
    expect(await restoring.answered()).toContain("takes the bank's written word");
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
    expect((await payroll.run(run.id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
    return run.id;
  }
  const stop = (id: string) =>
    payroll.as('operator').post(payroll.path(`/pay-runs/${id}/stop`), { reason: 'the bank is asked' });
  const resume = (id: string) => payroll.resume(payroll.path(`/pay-runs/${id}`), 'approver', 'letter 4711');

  it('is resumed once it is cancelled and the one is decided, which ends the doubt, and pays nobody again', async () => {
    const id = await unclear();
    const cancellation = { reason: 'the bank paid the others by hand' };
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), cancellation);
    await payroll.until(id, ['CANCELLED'], 20_000);
    const asked = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    expect((await stop(id)).status).toBe(200);
    expect((await resume(id)).data.code).toBe('WAS_SUBMITTED');
    expect((await decide(asked, EVIDENCE)).status).toBe(200);
    expect((await report(id)).openDoubts).toEqual(['UNRECORDED_SUBMIT']);
    expect((await resume(id)).status).toBe(200);
    expect(await report(id)).toMatchObject({ explained: true, openDoubts: [], acknowledged: [executed] });
    const again = await payroll.upload(payFile(payRows(1)));
    expect(JSON.stringify(again.data)).toMatch(/EMPLOYEE_MAY_BE_PAID|EMPLOYEE_NOT_REPAYABLE/);
    expect(await timesPaid()).toEqual([1, 1]);
  });
});
