import axios from 'axios';
import { BankError, BankUnreachable, ListUnreadable } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import type { Variants } from '../../src/bank-sandbox/variants';
import { nextBankingDay } from '../../src/domain/business-day';
import { RestoreAdoption } from '../../src/restore/restore-adoption';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711';
const UNSETTLED = ['neverSettles', 'exchangeError'].map(
  (wanted) => MAGIC_CREDITORS.find(({ effect }) => effect === wanted)!.iban,
);

let payroll: Payroll;
let restoring: Restoring;

async function start(variants: Partial<Variants> = {}): Promise<void> {
  restoring = await Restoring.start({ SUBMIT_DOUBT_MS: '4000', RECONCILE_MS: '2000' }, variants);
  payroll = restoring.payroll;
}
afterEach(() => restoring.close());

const lasting = (operation: string, kind: string) => payroll.fault({ operation, kind, every: 1 });
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const asked = async (kind: string) => (await payroll.attention()).filter((one) => one.kind === kind);
const submits = async () => (await payroll.calls()).submit;

/** A run of four that the database knows as verified, and the bank as paid, or as something else since. */
async function forgotten(since = 'SETTLED'): Promise<string> {
  await lasting('getAccount', '500-before');
  const id = await payroll.paid(payFile(payRows(4)));
  await payroll.until(id, ['VERIFIED'], 20_000);
  await restoring.backUp();
  await payroll.clearFaults();
  await payroll.until(id, [since], 20_000);
  return id;
}

const stopOrResume = (id: string, who: 'operator' | 'approver', what: 'stop' | 'resume') => {
  const [path, reason] = [payroll.path(`/pay-runs/${id}`), 'a look at it first'];
  return what === 'stop'
    ? payroll.as(who).post(`${path}/stop`, { reason })
    : payroll.resume(path, who, reason);
};

/** A run of four of which the database knows nothing at the bank yet, and the bank that it was submitted. */
async function uninitiated(
  since: string,
  { isStopped = false, query = {} }: { isStopped?: boolean; query?: Record<string, string> } = {},
): Promise<string> {
  await lasting('initiate', '500-before');
  const id = await payroll.paid(payFile(payRows(4)), query);
  await payroll.until(id, ['BUILDING'], 20_000);
  if (isStopped) expect((await stopOrResume(id, 'operator', 'stop')).status).toBe(200);
  await restoring.backUp();
  if (isStopped) expect((await stopOrResume(id, 'approver', 'resume')).status).toBe(200);
  await payroll.clearFaults();
  await payroll.until(id, [since], 20_000);
  return id;
}

/** Two people go on by the word of the bank, and no otherwise. */
async function goOn(): Promise<void> {
  expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
  const [asked] = (await payroll.attention()).filter(({ kind }) => kind === 'RESTORED');
  await payroll.as('operator').delete(payroll.path(`/attention/${asked!.id}/actions`));
  expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
  expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(false);
}

describe('a restored database, at a bank that always answers one read otherwise than it should', () => {
  beforeEach(() => start());

  it.each(['409', 'garbage'])(
    'goes on by its word where that is one of a payment of somebody else (%s)',
    async (kind) => {
      const id = await forgotten();
      const other = await payroll.initiateAtBank();
      await payroll.addAtBank(other);
      await lasting('getPaymentTransaction', kind);
      await restoring.restore();
      const told = await restoring.answered();
      expect(told).toContain('taken back into the record, to be followed: 2 with 4 payments');
      expect(told).toContain(other);
      await goOn();
      await payroll.until(id, ['SETTLED'], 20_000);
      expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    },
  );

  it('goes on by its word of a payment of somebody else that its list shows no more once what was forgotten is deleted', async () => {
    const run = await payroll.uploaded(payFile(payRows(2)));
    await restoring.backUp();
    await lasting('getAccount', '500-before');
    await payroll.approve(run);
    await payroll.until(run.id, ['VERIFIED'], 20_000);
    const other = await payroll.initiateAtBank();
    await payroll.addAtBank(other);
    await lasting('getPaymentTransaction', '409');
    const { listStatuses, deleteInstruction } = BankGateway.prototype;
    const deleting = jest.spyOn(BankGateway.prototype, 'deleteInstruction');
    const listed = jest.spyOn(BankGateway.prototype, 'listStatuses');
    deleting.mockImplementation(async function (this: BankGateway, ...asked) {
      listed.mockImplementation(async function* (this: BankGateway, ...wanted) {
        for await (const one of listStatuses.apply(this, wanted))
          if (one.bankInstructionId !== other) yield one;
      });
      return deleteInstruction.apply(this, asked);
    });
    await restoring.restore();
    const told = await restoring.answered();
    for (const mock of [deleting, listed]) mock.mockRestore();
    expect(told).toContain('deleted there by now, or ended: nobody submits it any more: 1 with 2 payments');
    expect(told).toContain(`nobody knows for which employer (${other})`);
    await goOn();
  });

  it.each(['409', 'garbage'])('goes on by its word where that is its list of payments (%s)', async (kind) => {
    const id = await forgotten();
    await lasting('listPaymentTransactions', kind);
    await restoring.restore();
    expect(await restoring.answered()).toContain("takes the bank's written word");
    await goOn();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it.each([
    ['504', () => new BankError(504, { raw: '' })],
    ['no answer in time', () => new BankUnreachable('total-timeout', true)],
  ])(
    'goes on by its word where that is its list without a date, also once what was forgotten is deleted (%s)',
    async (_answer, failure) => {
      const run = await payroll.uploaded(payFile(payRows(2)));
      await restoring.backUp();
      await lasting('getAccount', '500-before');
      await payroll.approve(run);
      await payroll.until(run.id, ['VERIFIED'], 20_000);
      const { listStatuses } = BankGateway.prototype;
      const listed = jest.spyOn(BankGateway.prototype, 'listStatuses');
      listed.mockImplementation(function (this: BankGateway, bounds, ...wanted) {
        if (bounds.from === undefined) throw failure();
        return listStatuses.call(this, bounds, ...wanted);
      });
      await restoring.restore();
      const told = await restoring.answered();
      listed.mockRestore();
      expect(told).toContain('deleted there by now, or ended: nobody submits it any more: 1 with 2 payments');
      expect(told).toContain('The bank does not let its list of payments be read, or not whole');
      await goOn();
      await payroll.approve(await payroll.run(run.id));
      expect((await payroll.run(run.id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
    },
  );

  it.each(['409', 'garbage'])(
    'goes on by its word where that is one of what was forgotten, and pays nobody of it again (%s)',
    async (kind) => {
      const id = await forgotten();
      const before = await submits();
      await lasting('getInstruction', kind);
      await restoring.restore();
      expect(await restoring.answered()).toContain('the bank does not let it be read');
      await goOn();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect([await submits(), await timesPaid()]).toEqual([before, [1, 1, 1, 1]]);
      // A service that starts asks at once.
      await payroll.clearFaults();
      await payroll.stopServices();
      payroll.url = (await payroll.addReplica()).url;
      await payroll.until(id, ['SETTLED'], 20_000);
      expect([await submits(), await timesPaid()]).toEqual([before, [1, 1, 1, 1]]);
    },
  );

  it('names all that was taken back, also where the bank stopped answering in between', async () => {
    const id = await forgotten();
    const { adopt } = RestoreAdoption.prototype;
    const adopting = jest.spyOn(RestoreAdoption.prototype, 'adopt');
    adopting.mockImplementation(async function (this: RestoreAdoption, ...asked) {
      if (adopting.mock.calls.length === 2) throw new BankUnreachable('ECONNRESET', true);
      return adopt.apply(this, asked);
    });
    await restoring.restore();
    const told = await restoring.answered();
    adopting.mockRestore();
    expect(told).toContain('taken back into the record, to be followed: 2 with 4 payments');
    expect((await asked('RESTORED'))[0]).toMatchObject({ payments: 4 });
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('takes back what was forgotten where the answer was odd only for a moment', async () => {
    const id = await forgotten();
    await payroll.stopServices();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '409', nth: 1 });
    await restoring.restore();
    expect(await restoring.answered()).toContain(
      'taken back into the record, to be followed: 2 with 4 payments',
    );
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });
});

describe('a restored run that is being submitted, at a bank that shows the status of what was submitted and no payment of it', () => {
  /** It is settled since the backup, and its cut-off has passed when the bank is read. */
  const PAYMENT_READS = [
    'listInstructionPaymentTransactions',
    'listPaymentTransactions',
    'getPaymentTransaction',
  ];
  async function late(): Promise<string> {
    await payroll.stopPastTheGate();
    const date = payroll.executionDate();
    const id = await payroll.paid(payFile(payRows(2)), { executionDate: date });
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await restoring.backUp();
    await payroll.letRunsGoOn();
    await payroll.until(id, ['SETTLED'], 20_000);
    for (const read of PAYMENT_READS) await lasting(read, '403');
    await restoring.restore();
    expect(await restoring.answered()).toContain('the bank does not let it be read');
    payroll.clock.set(new Date(`${date}T23:59:30Z`));
    await restoring.change('UPDATE lease SET wake_at = now()');
    return id;
  }

  it('is asked about once when its cut-off passes before people decide, and stops nobody else', async () => {
    await start();
    const id = await late();
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    expect(await asked('INVARIANT_BREACH')).toEqual([]);
    expect(await asked('UNRECORDED_SUBMIT')).toHaveLength(1);
    await goOn();
    const { code, detail } = (await stopOrResume(id, 'approver', 'resume')).data;
    expect([code, detail]).toEqual(['WAS_SUBMITTED', expect.stringContaining('released at the cut-off')]);
    expect(detail).not.toContain('cancel it');
    const path = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    const said = { action: 'EXECUTED', reason: 'the bank and we have compared our lists' };
    expect((await payroll.decide(path, { ...said, evidence: EVIDENCE })).status).toBe(200);
    await payroll.until(id, ['FAILED'], 30_000);
    expect(await asked('UNRECORDED_SUBMIT')).toEqual([]);
    expect(await asked('INVARIANT_BREACH')).toEqual([]);
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('is asked about once when its run is cancelled, as people were told that it may be, and stops nobody else', async () => {
    await start();
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await restoring.backUp();
    await payroll.clearFaults();
    await payroll.until(id, ['SETTLED'], 20_000);
    for (const read of PAYMENT_READS) await lasting(read, '403');
    await restoring.restore();
    expect(await restoring.answered()).toContain('or is to be cancelled');
    await goOn();
    const cancelled = payroll.path(`/pay-runs/${id}/cancellation`);
    await payroll.as('preparer').post(cancelled, { reason: 'the bank has paid it' });
    await payroll.until(id, ['CANCELLED'], 30_000);
    await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    await restoring.change('UPDATE lease SET wake_at = now()');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await asked('INVARIANT_BREACH')).toEqual([]);
    expect(await asked('UNRECORDED_SUBMIT')).toHaveLength(1);
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it.each(['a restored database', 'somebody else'])(
    'is decided once where it was asked about before the backup too: what is said is said of %s',
    async (who) => {
      await start();
      const id = await late();
      await restoring.change(
        `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, instruction_id, happened, certain, ask_bank)
         SELECT employer_id, gen_random_uuid(), 'UNRECORDED_SUBMIT', id, pay_run_id, id, 'somebody else submitted it',
           'it is not paid again', 'was it you?' FROM instruction`,
      );
      await goOn();
      const both = await asked('UNRECORDED_SUBMIT');
      expect(both).toHaveLength(2);
      const { id: one } = both.find(({ happened }) => happened.toLowerCase().includes(who))!;
      const said = { action: 'EXECUTED', reason: 'the bank and we have compared our lists' };
      const path = payroll.path(`/attention/${one}`);
      expect((await payroll.decide(path, { ...said, evidence: EVIDENCE })).status).toBe(200);
      expect(await asked('UNRECORDED_SUBMIT')).toEqual([]);
      await payroll.until(id, ['FAILED'], 30_000);
      expect(await timesPaid()).toEqual([1, 1]);
    },
  );
});

describe('a restored database that knows of no instruction yet, at a bank whose pages count from 0', () => {
  it.each(['redirect', '404', '409'])(
    'takes back what was submitted though page 0 was answered with a %s once',
    async (kind) => {
      await start({ pageBase: 0 });
      const id = await uninitiated('SETTLED');
      const before = await submits();
      await payroll.stopServices();
      await payroll.fault({ operation: 'listPaymentTransactions', kind, nth: 1 });
      await restoring.restore();
      expect(await restoring.answered()).toContain(
        'taken back into the record, to be followed: 2 with 4 payments',
      );
      expect(await restoring.resume()).toBe('RESUMED');
      await payroll.until(id, ['SETTLED'], 20_000);
      expect([await submits(), await timesPaid()]).toEqual([before, [1, 1, 1, 1]]);
    },
  );
});

describe('a restored database, at a bank that lists only payments that have not settled', () => {
  it('takes its word, and pays nobody again by the rest of a run of which it shows a part', async () => {
    await start({ generalList: 'unsettled' });
    const rows = payRows(4).map((row, n) => ({ ...row, iban: UNSETTLED[n - 2] ?? row.iban }));
    await lasting('initiate', '500-before');
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['BUILDING'], 20_000);
    await restoring.backUp();
    await payroll.clearFaults();
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await eventually(async () => (await timesPaid()).length === 2, 20_000);
    const before = await submits();
    await restoring.restore();
    expect(await restoring.answered()).toContain('was not seen to show what has settled before');
    await goOn();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
    expect([await submits(), await timesPaid()]).toEqual([before, [1, 1]]);
  });

  it('has the file of a run that was forgotten whole released by a person before it pays', async () => {
    await start({ generalList: 'unsettled' });
    await restoring.backUp();
    const file = payFile(payRows(2));
    await payroll.until(await payroll.paid(file), ['SETTLED'], 20_000);
    await restoring.restore();
    await restoring.answered();
    await goOn();
    const { data } = await payroll.upload(file);
    expect(data.held.holds).toMatchObject({ RUN_MAY_BE_FORGOTTEN: 1 });
    expect(await timesPaid()).toEqual([1, 1]);
  });
});

describe('a restored database, at a bank that lists no payments from a date on', () => {
  it('takes back what was forgotten by all it lists', async () => {
    await start({ fromDates: 'none' });
    const id = await forgotten();
    await restoring.restore();
    const told = await restoring.answered();
    expect(told).toContain('taken back into the record, to be followed: 2 with 4 payments');
    expect(told).not.toContain('written word');
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });
});

describe('a restored database, at a bank that lists from a date on only what has settled since', () => {
  it('takes back what was submitted for a later day, and pays nobody again', async () => {
    await start({ fromDates: 'of-settlement' });
    const executionDate = nextBankingDay(payroll.executionDate());
    const id = await uninitiated('FOLLOWING', {
      query: { executionDate, period: executionDate.slice(0, 7) },
    });
    await restoring.restore();
    expect(await restoring.answered()).toContain(
      'taken back into the record, to be followed: 2 with 4 payments',
    );
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { date: executionDate });
    await restoring.change('UPDATE lease SET wake_at = now()');
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('takes the word of the bank where no more of its list is read', async () => {
    await start({ fromDates: 'of-settlement' });
    const executionDate = nextBankingDay(payroll.executionDate());
    const id = await uninitiated('FOLLOWING', {
      query: { executionDate, period: executionDate.slice(0, 7) },
    });
    const { listStatuses } = BankGateway.prototype;
    const listed = jest.spyOn(BankGateway.prototype, 'listStatuses');
    listed.mockImplementation(function (this: BankGateway, bounds, ...wanted) {
      if (bounds.from === undefined) throw new ListUnreadable('too-many-items');
      return listStatuses.call(this, bounds, ...wanted);
    });
    await restoring.restore();
    expect(await restoring.answered()).toContain('it may show only what has settled since');
    listed.mockRestore();
    await goOn();
    await payroll.until(id, ['READY'], 20_000);
    expect((await payroll.approve(await payroll.run(id))).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { date: executionDate });
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });
});

describe('a restored database, at a bank where submitted payments rest as they were until they are approved there', () => {
  it.each(['gone', 'gone-with-its-list'] as const)(
    'takes the word of the bank, and pays nobody again: the instructions are %s',
    async (onceSubmitted) => {
      await start({ onceSubmitted, submitWaitsFor: 'approval' });
      const id = await forgotten('FOLLOWING');
      const waiting = (await payroll.ledger()).instructions.filter(({ submits }) => submits > 0);
      await restoring.restore();
      expect(await restoring.answered()).toContain("takes the bank's written word");
      await goOn();
      // Its older approvals lapse; it is given up once the bank shows what became of it.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect((await payroll.run(id)).status).toBe('VERIFIED');
      for (const { id: one } of waiting)
        await axios.post(`${payroll.bank.url}/sandbox/instructions/${one}/release`);
      await restoring.change('UPDATE lease SET wake_at = now()');
      await payroll.until(id, ['READY'], 20_000);
      for (const { id: breach } of await asked('INVARIANT_BREACH'))
        await payroll.decide(payroll.path(`/attention/${breach}`), { action: 'RESUME', reason: EVIDENCE });
      expect((await payroll.approve(await payroll.run(id))).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect((await asked('POSSIBLE_DUPLICATE_PAY')).map(({ payRunId }) => payRunId)).toEqual([id]);
      expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'POSSIBLE_DUPLICATE_PAY' });
      expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    },
  );

  it('takes the word of the bank where no instruction may be read', async () => {
    await start({ linkReads: 'refused', submitWaitsFor: 'approval' });
    await forgotten('FOLLOWING');
    await restoring.restore();
    expect(await restoring.answered()).toContain('The bank does not let 2 instructions be read');
    expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
  });
});

describe('a restored database that knows of no instruction yet, at a bank that submitted them', () => {
  it('pays nobody again where no payment says which instruction it is of', async () => {
    await start({ optionalFields: 'left-out', omitFromLists: ['customerInstructionId'] });
    const id = await uninitiated('SETTLED');
    await restoring.listIsKnown();
    const before = await submits();
    await restoring.restore();
    expect(await restoring.answered()).toContain('the bank does not name it');
    expect(await restoring.resume()).toBe('RESUMED');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED' });
    expect([await submits(), await timesPaid()]).toEqual([before, [1, 1, 1, 1]]);
  });

  it('stops everything where none says it, in a status that no document names, and it moves once its run is cancelled', async () => {
    await start({ optionalFields: 'left-out', omitFromLists: ['customerInstructionId'] });
    await lasting('initiate', '500-before');
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['BUILDING'], 20_000);
    await restoring.backUp();
    await payroll.clearFaults();
    await lasting('getAccount', '500-before');
    await payroll.until(id, ['VERIFIED'], 20_000);
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    const { listStatuses } = BankGateway.prototype;
    const listed = jest.spyOn(BankGateway.prototype, 'listStatuses');
    listed.mockImplementation(async function* (this: BankGateway, ...wanted) {
      for await (const one of listStatuses.apply(this, wanted)) yield { ...one, status: 'INI_SOMETHING' };
    });
    await restoring.restore();
    expect(await restoring.answered()).toContain('in a status that no document names');
    listed.mockRestore();
    await goOn();
    const cancelled = payroll.path(`/pay-runs/${id}/cancellation`);
    await payroll.as('preparer').post(cancelled, { reason: 'the bank wrote that nobody submitted it' });
    await payroll.until(id, ['CANCELLED'], 20_000);
    await payroll.submitAtBank(bankInstructionId);
    await payroll.stopServices();
    payroll.url = (await payroll.addReplica()).url;
    await payroll.askedAbout(id, 'INVARIANT_BREACH');
    expect(await asked('INVARIANT_BREACH')).toHaveLength(1);
  });

  it.each([
    ['as it may do once an instruction is submitted', { onceSubmitted: 'gone' }, false],
    [
      'as it may do with every instruction, and the run was stopped in the backup',
      { linkReads: 'refused' },
      true,
    ],
  ] as const)(
    'takes the word of the bank where that shows the payments without their instruction, %s',
    async (_as, variants, isStopped) => {
      await start({ ...variants, submitWaitsFor: 'approval' });
      const id = await uninitiated('FOLLOWING', { isStopped });
      const before = await submits();
      await restoring.restore();
      expect(await restoring.answered()).toContain('not shown to be unsubmitted');
      await goOn();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      // By nobody alone, whoever stopped it before.
      if (isStopped) expect((await stopOrResume(id, 'approver', 'resume')).status).toBe(200);
      expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
      expect((await stopOrResume(id, 'approver', 'resume')).data.code).toBe('ATTENTION_DECIDES');
      const change = { executionDate: payroll.executionDate(), reason: 'the cut-off passed' };
      expect(
        (await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), change)).status,
      ).toBe(200);
      await payroll.until(id, ['READY']);
      expect((await payroll.approve(await payroll.run(id))).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
      expect(await submits()).toEqual(before);
      const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect(report.data).toMatchObject({ explained: false, openDoubts: ['UNRECORDED_SUBMIT'] });
      // Whoever stops it does so beside the restore; also once it has ended.
      const cancelled = payroll.path(`/pay-runs/${id}/cancellation`);
      await payroll.as('preparer').post(cancelled, { reason: 'paid by hand' });
      await payroll.until(id, ['CANCELLED'], 15_000);
      const stop = { reason: 'the bank is asked' };
      expect((await payroll.as('operator').post(payroll.path(`/pay-runs/${id}/stop`), stop)).status).toBe(
        200,
      );
      expect((await payroll.run(id)).stopped).toMatchObject({ reason: `RESTORED_UNCLEAR; ${stop.reason}` });
      expect((await stopOrResume(id, 'approver', 'resume')).status).toBe(200);
      const after = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect(after.data.openDoubts).toEqual([]);
    },
  );
});

describe('a restored database that knows of no instruction yet, of a run that was cancelled since', () => {
  it('pays nobody of it once it is resumed on the word of the bank before it is approved again', async () => {
    await start({ linkReads: 'refused' });
    await lasting('initiate', '500-before');
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['BUILDING'], 20_000);
    await restoring.backUp();
    await payroll.clearFaults();
    await lasting('getAccount', '500-before');
    await lasting('deleteInstruction', '500-before');
    await payroll.until(id, ['VERIFIED'], 20_000);
    const cancellation = { reason: 'paid in the portal' };
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), cancellation);
    await restoring.restore();
    await payroll.clearFaults();
    expect(await restoring.answered()).toContain('or it was cancelled or amended since');
    await goOn();
    await stopOrResume(id, 'operator', 'stop');
    expect((await stopOrResume(id, 'approver', 'resume')).status).toBe(200);
    await payroll.until(id, ['READY'], 20_000);
    expect(await timesPaid()).toEqual([]);
    await payroll.approve(await payroll.run(id));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });
});

describe('a restored database, at a bank that lets nobody read its list of payments', () => {
  beforeEach(() => start());
  const restoredUnlisted = async () => {
    await lasting('listPaymentTransactions', '403');
    await restoring.restore();
    return restoring.answered();
  };
  const rested = async (id: string, times: number[]) => {
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(await timesPaid()).toEqual(times);
    expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
  };

  it('pays nobody again by a run that it has as approved, also once that is approved again', async () => {
    const id = await uninitiated('SETTLED');
    const told = await restoredUnlisted();
    expect(told).toContain('1 runs that the record has as not submitted have lapsed');
    expect(told).toContain(`may be of one of 1 runs that the record has as not submitted (${id})`);
    await goOn();
    await payroll.until(id, ['READY'], 20_000);
    const [lapsed] = await asked('APPROVAL_LAPSED');
    expect(lapsed).toMatchObject({ happened: expect.stringContaining('submitted, cancelled, amended') });
    const { data } = await payroll.as('operator').get(payroll.path(`/attention/${lapsed!.id}`));
    expect(data.certain).toContain('The restored record has no submit of this run.');
    expect((await payroll.approve(await payroll.run(id))).status).toBe(200);
    await rested(id, [1, 1, 1, 1]);
  });

  it('pays nobody again by the rest of a run, of which something else may have been submitted since', async () => {
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await restoring.backUp();
    await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
    const [built] = (await payroll.run(id)).instructions;
    await payroll.deleteAtBank(built.bankInstructionId);
    await payroll.letRunsGoOn();
    await payroll.until(id, ['SETTLED'], 20_000);
    await restoredUnlisted();
    await goOn();
    // It is built again once its instruction is seen to be gone.
    await payroll.clearFaults();
    await payroll.wakeAll();
    await rested(id, [1, 1]);
  });

  it('pays by the others once one person stopped each and another resumes it, and by those made since as ever', async () => {
    const { id } = await payroll.uploaded(payFile(payRows(2)));
    await restoring.backUp();
    await restoredUnlisted();
    await goOn();
    const { data: since } = await payroll.upload(payFile(payRows(2, 50)), { kindOfPay: 'BONUS' });
    const release = { code: 'RUN_MAY_BE_FORGOTTEN', reason: EVIDENCE };
    await payroll.as('approver').post(payroll.path(`/pay-runs/${since.id}/holds/release`), release);
    expect((await payroll.approve(since)).status).toBe(200);
    await payroll.until(since.id, ['SETTLED'], 20_000);
    expect((await stopOrResume(id, 'approver', 'resume')).data.code).toBe('ATTENTION_DECIDES');
    await stopOrResume(id, 'operator', 'stop');
    expect((await stopOrResume(id, 'approver', 'resume')).status).toBe(200);
    await payroll.approve(await payroll.run(id));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });
});
