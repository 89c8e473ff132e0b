import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { Variants } from '../../src/bank-sandbox/variants';
import { nextBankingDay } from '../../src/domain/business-day';
import { BankReads } from '../../src/employer/bank-reads';
import { readId } from '../../src/http/prefixed-id';
import { monthsAfter } from '../../src/schedule/period-dates';
import { RestoreSweep } from '../../src/restore/restore-sweep';
import { Restores } from '../../src/restore/restores';
import { connected, dueAt, execute, select, TestDatabase, testDatabase } from '../support/database';
import { lateRepeat } from '../support/late-repeat';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, PayrollOptions } from '../support/payroll';
import { FRANK } from '../support/restoring';
import { passThrough } from '../support/payments-shown';

let payroll: Payroll;
let backup: TestDatabase | undefined;
const start = async (options: PayrollOptions = {}) => {
  payroll = await Payroll.start({
    rowsPerInstruction: 2,
    paidBefore: true,
    ...options,
    sandbox: { ...options.sandbox, variants: { ...FRANK, ...options.sandbox?.variants } },
    settings: { BANK_TIMEOUT_MS: '1000', ...options.settings },
  });
};
afterEach(async () => {
  await payroll.close();
  await backup?.drop();
  backup = undefined;
});

const NOT_PROCESSABLE = MAGIC_CREDITORS.find(({ effect }) => effect === 'notProcessable')!.iban;

const nameOf = (url: string) => new URL(url).pathname.slice(1);

/** Stops the service and copies its database as it is now; what happens from here on the copy does not know. */
async function backedUp(): Promise<void> {
  await payroll.stopServices();
  backup = await testDatabase(nameOf(payroll.database.url));
  await serve();
}

/** Starts, and pays a run of four rows of which the backup knows nothing. */
async function paidAfterBackup(): Promise<void> {
  await start();
  await backedUp();
  await payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 20_000);
}

async function serve(): Promise<void> {
  const { url } = await payroll.addReplica();
  payroll.url = url;
}

/** Stops the service and starts it on the backup. */
async function restored(): Promise<void> {
  await payroll.stopServices();
  const restoredUrl = backup!.url;
  Object.assign(payroll.database, { url: restoredUrl, superuserUrl: backup!.superuserUrl });
  Object.assign(payroll.settings, { DATABASE_URL: restoredUrl });
  await serve();
}

const stored = <R>(sql: string) => select<R>(payroll.database.superuserUrl, sql);
const submitsOff = async () =>
  (await payroll.as('administrator').get('/v1/service')).data as { submitsOff: boolean; reason: string };
const question = async () => {
  const [one] = (await payroll.as('operator').get(payroll.path('/attention'))).data.items.filter(
    ({ kind }: { kind: string }) => kind === 'RESTORED',
  );
  return one as { id: string; happened: string; payments: number } | undefined;
};
const told = () => eventually(async () => (await question()) !== undefined, 10_000);
/** Waits until the bank was read. */
const answered = async () => {
  await eventually(
    async () => !((await question())?.happened ?? 'is being read').includes('is being read'),
    20_000,
    () => 'the bank was never read after the restore',
  );
  return (await question())!;
};
const resume = async (evidence?: string) => {
  const path = payroll.path(`/attention/${(await question())!.id}`);
  const reason = 'the bank and we have compared our lists';
  const body = { action: 'RESUME', reason, ...(evidence === undefined ? {} : { evidence }) };
  return payroll.decide(path, body);
};
/** Opens a question about a run that two people decide by letting it go on. */
const askBeside = (run: string) =>
  stored(
    `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, happened, certain, ask_bank)
     SELECT employer_id, gen_random_uuid(), 'ECHO_MISMATCH', id, id, 'a name differs', 'it is paid', 'why?'
     FROM pay_run WHERE id = '${readId('run', run)}'`,
  );
const decideBeside = async (run: string) => {
  const path = await payroll.askedAbout(run, 'ECHO_MISMATCH');
  await payroll.as('operator').post(`${path}/actions`, { action: 'RESUME', reason: 'the name is right' });
  return (await payroll.confirm(path)).status;
};
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const soundly = async () => {
  await payroll.reconcile();
  const names = await stored<{ invariant: string }>('SELECT invariant FROM invariant_breach');
  const told = (await payroll.attention()).filter(({ kind }) => kind === 'INVARIANT_BREACH');
  expect(told.map(({ happened }) => happened)).toEqual([]);
  expect(names).toEqual([]);
  expect((await kinds()).filter((kind) => kind === 'INVARIANT_BREACH')).toEqual([]);
};

const RECONCILED = { settings: { RECONCILE_MS: '2000' } };

/** Moments of a backup: how a run is held there, and let go on after it. */
const MOMENTS = [
  {
    when: 'after the approval, before anything was built',
    status: 'APPROVED',
    hold: (id: string) =>
      payroll.as('finance').post(payroll.path(`/pay-runs/${id}/stop`), { reason: 'a pause' }),
    // The backup is of a run that nobody stopped.
    inBackup: 'UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL',
    goOn: (id: string) => payroll.resume(payroll.path(`/pay-runs/${id}`), 'operator', 'go on'),
  },
  {
    when: 'in the middle of building',
    status: 'BUILDING',
    hold: () => payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 }),
    inBackup: ['add_intent', 'bank_payment']
      .map(
        (table) =>
          `DELETE FROM ${table} WHERE instruction_id <> (SELECT max(id::text)::uuid FROM instruction)`,
      )
      .concat(
        `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, instruction_id, happened, certain, ask_bank)
         SELECT employer_id, gen_random_uuid(), 'ROW_REFUSED_BY_BANK', id, pay_run_id, id, 'a row', 'is refused', 'why?'
         FROM instruction`,
      )
      .join('; '),
    goOn: () => payroll.clearFaults(),
  },
  {
    when: 'with everything built and verified',
    status: 'VERIFIED',
    hold: () => payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 }),
    inBackup: 'SELECT 1',
    goOn: () => payroll.clearFaults(),
  },
];

describe('a database restored to a moment before the submit of a run that was paid since', () => {
  it.each(MOMENTS)('pays nobody twice and ends the run as the bank has it: $when', async (moment) => {
    await start(RECONCILED);
    const run = await payroll.uploaded(payFile(payRows(6)));
    await moment.hold(run.id);
    await payroll.approve(run);
    await payroll.until(run.id, [moment.status], 20_000);
    if (moment.status === 'BUILDING')
      await eventually(async () => ((await payroll.calls()).add ?? 0) === 6, 10_000);
    await backedUp();
    await execute(backup!.superuserUrl, moment.inBackup);
    expect((await payroll.run(run.id)).status).toBe(moment.status);
    await moment.goOn(run.id);
    await payroll.until(run.id, ['SETTLED'], 20_000);

    await restored();
    await told();
    expect(await submitsOff()).toMatchObject({ submitsOff: true, reason: 'RESTORED' });
    expect((await resume()).data.code).toBe('NOT_RECONCILED');
    const { happened, payments } = await answered();
    expect(happened).toContain('another database of the cluster');
    expect(happened).toContain('taken back into the record, to be followed: 3 with 6 payments');
    const paid = (await payroll.ledger()).instructions.filter(({ submits }) => submits > 0);
    for (const { id } of paid) expect(happened).toContain(String(id));
    expect(payments).toBe(6);
    // What the bank has is followed to its end while everything is still stopped.
    await payroll.until(run.id, ['SETTLED'], 20_000);
    // What is taken back unbuilt is as old as its run, or lists from a date on would begin after its payments.
    const young = `SELECT FROM instruction i JOIN pay_run r ON r.id = pay_run_id
       WHERE i.status = 'CLOSED' AND i.created_at > r.created_at`;
    if (moment.status === 'APPROVED') expect(await stored(young)).toEqual([]);
    expect((await resume()).status).toBe(200);
    expect((await submitsOff()).submitsOff).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await timesPaid()).toEqual([1, 1, 1, 1, 1, 1]);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${run.id}/reconciliation`));
    expect(report.data).toMatchObject({ difference: '0.00' });
    await soundly();
    const refused = `SELECT DISTINCT resolution FROM attention WHERE kind = 'ROW_REFUSED_BY_BANK'`;
    const resolution = 'the bank shows it as submitted, which is not in the record';
    expect(await stored(refused)).toEqual(moment.status === 'BUILDING' ? [{ resolution }] : []);
  });

  it('sends the rest of a run of which a part was submitted, once people resumed', async () => {
    await start(RECONCILED);
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await payroll.stopServices();
    backup = await testDatabase(nameOf(payroll.database.url));
    await payroll.clearFaults();
    const [first] = await stored<{ id: string }>('SELECT bank_instruction_id AS id FROM instruction LIMIT 1');
    await payroll.submitAtBank(first!.id);
    await restored();
    const { happened } = await answered();
    expect(happened).toContain('taken back into the record, to be followed: 1 with 2 payments');
    expect((await timesPaid()).filter((count) => count > 0)).toHaveLength(2);
    expect((await resume()).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1, 1, 1]);
    await soundly();
  });
});

describe('a database restored, at a bank that shows a submitted instruction otherwise than a verified one', () => {
  afterEach(() => jest.restoreAllMocks());
  const listsFee = () =>
    passThrough(BankReads.prototype, (listed) => {
      const fee = { ...listed[0]!, bankPaymentId: 'fee-1', ids: ['fee-1'] as const, messageId: undefined };
      return [...listed, { ...fee, direction: 'OUTWARD', transactionType: 'FEE' }];
    });

  it.each([
    { what: 'without what has settled in its groups', groupsLeaveOut: 'ended', meanwhile: () => undefined },
    { what: 'with a fee in its list', groupsLeaveOut: 'nothing', meanwhile: listsFee },
  ] as const)('takes it back and stops nobody for it: $what', async ({ groupsLeaveOut, meanwhile }) => {
    const { hold, goOn, status } = MOMENTS[2]!;
    await start({ ...RECONCILED, sandbox: { variants: { groupsLeaveOut } } });
    const run = await payroll.uploaded(
      payFile([...payRows(1), { ...payRows(1, 2)[0]!, iban: NOT_PROCESSABLE }]),
    );
    await hold(run.id);
    await payroll.approve(run);
    await payroll.until(run.id, [status], 20_000);
    await backedUp();
    await goOn(run.id);
    await payroll.until(run.id, ['PARTLY_SETTLED'], 20_000);
    meanwhile();
    await restored();
    const { happened } = await answered();
    expect(happened).toContain('taken back into the record, to be followed: 1 with 2 payments');
    await payroll.until(run.id, ['PARTLY_SETTLED'], 20_000);
    expect(await kinds()).not.toContain('TOTAL_MISMATCH_AFTER_SUBMIT');
    expect((await resume()).status).toBe(200);
    await soundly();
  });
});

describe('a restored run that is being submitted, of which the bank shows one instruction otherwise than approved', () => {
  it('follows that one too, asks about it, and comes to its end', async () => {
    await start({ sandbox: { variants: { addAfterSubmit: 'accepted' } } });
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const repeatAdd = lateRepeat();
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await backedUp();
    await payroll.clearFaults();
    await payroll.until(id, ['SETTLED'], 20_000);
    await repeatAdd();
    await eventually(async () => (await timesPaid()).includes(2), 30_000);
    await restored();
    await answered();
    await payroll.until(id, ['SETTLED'], 20_000);
    const asked = (await payroll.attention()).find(({ kind }) => kind === 'TOTAL_MISMATCH_AFTER_SUBMIT');
    const { data } = await payroll.as('finance').get(payroll.path(`/attention/${asked?.id}`));
    expect(data.beyond).toEqual({ payments: 1, amount: expect.stringMatching(/^[1-9]/) });
    expect(await submitsOff()).toMatchObject({ submitsOff: true });
    expect((await timesPaid()).sort()).toEqual([1, 1, 1, 2]);
  });

  it.each([
    { what: 'more', payments: 1, amount: '123.45', minor: 12_345n },
    { what: 'less', payments: -1, amount: '-0.01', minor: -1n },
  ])('says how much $what its totals are than the approved ones', async ({ payments, amount, minor }) => {
    await start();
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await backedUp();
    await payroll.clearFaults();
    await payroll.until(id, ['SETTLED'], 20_000);
    const [, second] = (await payroll.run(id)).instructions;
    const { instructionIfShown } = BankReads.prototype;
    jest.spyOn(BankReads.prototype, 'instructionIfShown').mockImplementation(async function (
      this: BankReads,
      ...asked
    ) {
      const shown = await instructionIfShown.apply(this, asked);
      if (shown === undefined || shown.bankInstructionId !== second!.bankInstructionId) return shown;
      const { calculatedCount: count = 0, calculatedTotalMinor: total = 0n } = shown;
      return { ...shown, calculatedCount: count + payments, calculatedTotalMinor: total + minor };
    });
    await restored();
    const path = await payroll.askedAbout(id, 'TOTAL_MISMATCH_AFTER_SUBMIT');
    const beyond = async (role: 'finance' | 'operator') => (await payroll.as(role).get(path)).data.beyond;
    expect(await beyond('finance')).toEqual({ payments, amount });
    expect(await beyond('operator')).toBeNull();
    jest.restoreAllMocks();
  });
});

describe('a database restored to a moment from which the record cannot be taken up', () => {
  /** A run that was approved and paid after the backup. */
  const restoredBeforeApproval = async () => {
    await start(RECONCILED);
    const run = await payroll.uploaded(payFile(payRows(4)));
    await backedUp();
    await payroll.approve(run);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    const built = (await payroll.calls()).initiate;
    await restored();
    const { happened } = await answered();
    expect(happened).toContain('the run is READY');
    expect(happened).toContain('or is to be cancelled: 2 with 4 payments');
    expect((await resume()).status).toBe(200);
    const go = await payroll.resume(payroll.path(`/pay-runs/${run.id}`), 'operator', 'go on');
    expect(go.data.code).toBe('WAS_SUBMITTED');
    return { run, built };
  };

  it('takes it up once people approve it as it was, and pays it no second time', async () => {
    const { run, built } = await restoredBeforeApproval();
    expect((await payroll.approve(run)).status).toBe(200);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    expect((await payroll.calls()).initiate).toBe(built);
    await soundly();
  });

  it('never pays it again while it cannot be taken up, be it that nobody stops it, and has it cancelled', async () => {
    const { run, built } = await restoredBeforeApproval();
    await execute(
      payroll.database.superuserUrl,
      `UPDATE forgotten_instruction SET instruction_id = NULL;
       UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL`,
    );
    expect((await payroll.approve(run)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    expect((await payroll.calls()).initiate).toBe(built);
    const cancelled = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${run.id}/cancellation`), { reason: 'it was paid before the restore' });
    expect(cancelled.data).toMatchObject({ status: 'CANCELLED' });
    const again = await payroll.upload(payFile(payRows(4)));
    expect(again.data).toMatchObject({
      payments: 0,
      held: { holds: { EMPLOYEE_MAY_BE_PAID: 4, ROWS_OF_ANOTHER_RUN: 1 } },
    });
    await soundly();
  });

  it('lets people pay again whom they release after asking the bank, and nobody else', async () => {
    const { run } = await restoredBeforeApproval();
    await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${run.id}/cancellation`), { reason: 'it is uploaded again' });
    const again = await payroll.uploaded(payFile(payRows(4)));
    const path = payroll.path(`/pay-runs/${again.id}/holds`);
    const reason = 'the bank says that it paid nothing of it';
    const { data } = await payroll.as('approver').get(path);
    const items = data.items as { code: string; payment: { id: string } | null }[];
    const [held, ...others] = items.flatMap(({ payment }) => payment?.id ?? []);
    expect(others).toHaveLength(3);
    for (const choice of [
      { code: 'ROWS_OF_ANOTHER_RUN' },
      { code: 'EMPLOYEE_MAY_BE_PAID', paymentId: held },
    ]) {
      const released = await payroll.as('approver').post(`${path}/release`, { ...choice, reason });
      expect(released.status).toBeLessThan(300);
    }
    const left = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${again.id}/amendments`), { excludePaymentIds: others, reason });
    expect((await payroll.approve(left.data)).status).toBe(200);
    await payroll.until(again.id, ['SETTLED'], 20_000);
    expect((await timesPaid()).sort()).toEqual([1, 1, 1, 2]);
  });

  it('stops a run of the same employees that was uploaded before anybody knew of the restore', async () => {
    await start(RECONCILED);
    const run = await payroll.uploaded(payFile(payRows(4)));
    await backedUp();
    await payroll.approve(run);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restored();
    await told();
    await execute(payroll.database.superuserUrl, 'UPDATE database_restore SET nth = 0, bank_read_at = now()');
    await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${run.id}/cancellation`), { reason: 'it is uploaded again' });
    const other = await payroll.paid(payFile(payRows(4)));
    await payroll.clearFaults();
    expect((await answered()).happened).toContain('the run is CANCELLED');
    await payroll.askedAbout(other, 'POSSIBLE_DUPLICATE_PAY');
    expect((await resume()).status).toBe(200);
    const go = await payroll.resume(payroll.path(`/pay-runs/${other}`), 'operator', 'go on');
    expect(go.data.code).toBe('WAS_SUBMITTED');
    // Nor does it go on by what people decide about something else of it.
    await askBeside(other);
    expect(await decideBeside(other)).toBe(200);
    expect((await payroll.run(other)).stopped).toMatchObject({ reason: 'RESTORED' });
    // Be it that nobody stops it.
    await execute(
      payroll.database.superuserUrl,
      'UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL',
    );
    await payroll.until(other, ['VERIFIED'], 20_000);
    await payroll.askedAbout(other, 'POSSIBLE_DUPLICATE_PAY');
    const { happened } = (await payroll.attention()).find((one) => one.payRunId === other)!;
    expect(happened).toContain('has 4 payments that may have been paid already');
    const [{ id: first }] = (await payroll.as('approver').get(payroll.path(`/pay-runs/${other}/payments`)))
      .data.items;
    expect(happened).toContain(first);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await payroll.run(other)).status).toBe('VERIFIED');
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    await soundly();
  });

  it('lets the others go on, and people resume, where the record of one run does not let it be taken up', async () => {
    const [{ hold, goOn, inBackup }] = MOMENTS as [(typeof MOMENTS)[number]];
    await start(RECONCILED);
    const run = await payroll.uploaded(payFile(payRows(4)));
    await hold(run.id);
    await payroll.approve(run);
    await backedUp();
    await execute(backup!.superuserUrl, `${inBackup}; UPDATE payment SET status = 'READY' WHERE row_no = 2`);
    await goOn(run.id);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    await restored();
    const { happened } = await answered();
    expect(happened).toContain('its payments are not in the state of approved ones');
    expect((await resume()).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('takes nothing for known because a payment that is known has the same number', async () => {
    await start();
    const before = await payroll.paid(payFile(payRows(1, 50)));
    await payroll.until(before, ['SETTLED'], 20_000);
    const run = await payroll.uploaded(payFile(payRows(2)), { kindOfPay: 'BONUS' });
    await backedUp();
    await payroll.approve(run);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    const [forgotten] = (await payroll.run(run.id)).instructions;
    await execute(backup!.superuserUrl, 'UPDATE bank_payment SET bank_transaction_id = $1', [
      forgotten.bankInstructionId,
    ]);
    await restored();
    expect((await answered()).happened).toContain(`not taken back`);
    expect((await question())!.happened).toContain(`(${forgotten.bankInstructionId} of ${run.id}`);
  });

  /** A run is cancelled and another paid in its stead, all of it after a backup in which the former is due. */
  const paidAnotherInstead = async () => {
    const rows = payRows(4);
    const older = await payroll.uploaded(payFile(rows), payroll.later());
    await payroll.approve(older);
    await backedUp();
    await dueAt(backup!.superuserUrl, 'now()');
    await execute(backup!.superuserUrl, 'UPDATE lease SET wake_at = now()');
    const reason = 'the file was corrected';
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${older.id}/cancellation`), { reason });
    await payroll.until(older.id, ['CANCELLED'], 15_000);
    const instead = await payroll.paid(payFile([...rows].reverse()));
    await payroll.until(instead, ['SETTLED'], 20_000);
    await restored();
    return older;
  };

  it('pays by no older run whose place one that was forgotten too may have taken, until it is resumed', async () => {
    await start();
    const older = await paidAnotherInstead();
    expect((await answered()).happened).toContain(
      `may be of one of 1 runs that the record has as not submitted (${older.id}), or of a run made in the stead of one: they stay stopped.`,
    );
    expect((await question())!.happened).toContain(
      `approvals of 1 runs that the record has as not submitted have lapsed`,
    );
    expect((await resume()).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await payroll.run(older.id)).toMatchObject({
      status: 'READY',
      stopped: { reason: 'RESTORED_UNCLEAR' },
    });
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('pays by no older run either where the bank does not show whose instruction it was that was forgotten', async () => {
    await start({ sandbox: { variants: { linkReads: 'refused', omitFromLists: ['parties'] } } });
    const older = await paidAnotherInstead();
    expect((await answered()).happened).toContain(
      `not submitted (${older.id}), or of a run made in the stead of one: they stay stopped.`,
    );
    expect((await resume('letter of the bank, 4711')).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await payroll.run(older.id)).toMatchObject({
      status: 'READY',
      stopped: { reason: 'RESTORED_UNCLEAR' },
    });
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('names what was paid of a run that was forgotten too', async () => {
    await paidAfterBackup();
    await restored();
    const { happened } = await answered();
    expect(happened).toContain(
      'for a run that was forgotten too: uploading its pay file again would pay twice; what older runs did not pay is held for a person: 2 with 4',
    );
    const month = async (period: string) => {
      const { data } = await payroll.as('finance').get(payroll.path(`/reconciliation?period=${period}`));
      return [data.explained, data.openDoubts];
    };
    const period = payroll.executionDate().slice(0, 7);
    expect(await month(period)).toEqual([false, ['RESTORED', 'UNRECORDED_SUBMIT']]);
    expect((await resume()).status).toBe(200);
    expect(await month(period)).toEqual([false, ['UNRECORDED_SUBMIT']]);
    expect(await month('2020-01')).toEqual([true, []]);
  });

  it('has the file of a run that was forgotten too, which comes again, released by a person before it pays', async () => {
    await paidAfterBackup();
    await restored();
    await answered();
    expect((await resume()).status).toBe(200);
    const again = await payroll.upload(payFile(payRows(4)));
    expect(again.data).toMatchObject({ payments: 4, held: { holds: { RUN_MAY_BE_FORGOTTEN: 1 } } });
    expect((await payroll.approve(again.data)).data).toMatchObject({ code: 'HOLDS_OPEN' });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('has it released so, too, where it pays in advance, whatever date it is given then', async () => {
    await start();
    await backedUp();
    const period = monthsAfter(payroll.executionDate().slice(0, 7), 2);
    await payroll.until(await payroll.paid(payFile(payRows(4)), { period }), ['SETTLED'], 20_000);
    await restored();
    await answered();
    expect((await resume()).status).toBe(200);
    for (const [kindOfPay, executionDate] of [
      ['SALARY', payroll.executionDate()],
      ['BONUS', nextBankingDay(`${period}-01`)],
    ] as const) {
      const again = await payroll.upload(payFile(payRows(4)), { period, executionDate, kindOfPay });
      expect(again.data.held.holds).toMatchObject({ RUN_MAY_BE_FORGOTTEN: 1 });
    }
    const inFiveMonths = monthsAfter(payroll.executionDate().slice(0, 7), 5);
    const later = await payroll.upload(payFile(payRows(4)), { period: inFiveMonths });
    expect(later.data.held.holds).not.toHaveProperty('RUN_MAY_BE_FORGOTTEN');
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('has it released so, too, where the bank executes it in half a year, and only what is of another month', async () => {
    await start();
    await backedUp();
    const period = monthsAfter(payroll.executionDate().slice(0, 7), 6);
    const executionDate = nextBankingDay(`${period}-20`);
    await payroll.until(
      await payroll.paid(payFile(payRows(4)), { period, executionDate }),
      ['FOLLOWING'],
      20_000,
    );
    await restored();
    await answered();
    expect((await resume()).status).toBe(200);
    const again = await payroll.upload(payFile(payRows(4)), { period, executionDate });
    expect(again.data.held.holds).toMatchObject({ RUN_MAY_BE_FORGOTTEN: 1 });
    const far = await payroll.upload(payFile(payRows(4)), { period: monthsAfter(period, 5), executionDate });
    expect(far.data.held.holds).not.toHaveProperty('RUN_MAY_BE_FORGOTTEN');
    await stored('UPDATE forgotten_instruction SET execution_date = NULL');
    const unknown = await payroll.upload(payFile(payRows(4)), {
      period: monthsAfter(period, 5),
      executionDate,
      kindOfPay: 'BONUS',
    });
    expect(unknown.data.held.holds).toMatchObject({ RUN_MAY_BE_FORGOTTEN: 1 });
  });

  it('has it released so, too, where it comes before the bank was read', async () => {
    await paidAfterBackup();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restored();
    await told();
    const again = await payroll.upload(payFile(payRows(4)));
    expect(again.data).toMatchObject({ payments: 4, held: { holds: { RUN_MAY_BE_FORGOTTEN: 1 } } });
  });

  it('holds no pay of later months than any can have been paid for, and none once the bank has shown that nothing was forgotten', async () => {
    await start();
    await backedUp();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restored();
    const holdsOf = async (months: number) => {
      const period = monthsAfter(payroll.executionDate().slice(0, 7), months);
      return (await payroll.upload(payFile(payRows(4)), { period })).data.held.holds;
    };
    expect(await holdsOf(15)).toMatchObject({ RUN_MAY_BE_FORGOTTEN: 1 });
    expect(await holdsOf(18)).not.toHaveProperty('RUN_MAY_BE_FORGOTTEN');
    await payroll.clearFaults();
    await answered();
    const other = await payroll.upload(payFile(payRows(4, 100)), { kindOfPay: 'BONUS' });
    expect(other.data.held.holds).toEqual({});
  });
});

describe('a database restored, at a bank whose lists leave the message ids out', () => {
  it('takes back what it had not built, by what each payment read alone shows', async () => {
    const [{ hold, goOn, inBackup }] = MOMENTS as [(typeof MOMENTS)[number]];
    await start({ ...RECONCILED, sandbox: { variants: { omitFromLists: ['messageId'] } } });
    const run = await payroll.uploaded(payFile(payRows(4)));
    await hold(run.id);
    await payroll.approve(run);
    await backedUp();
    await execute(backup!.superuserUrl, inBackup);
    await goOn(run.id);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    await restored();
    const { happened } = await answered();
    expect(happened).toContain('taken back into the record, to be followed: 2 with 4 payments');
    await payroll.until(run.id, ['SETTLED'], 20_000);
    // Nothing in such a list names what is ours and not submitted.
    expect((await resume('letter of the bank, 4712')).status).toBe(200);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    await soundly();
  });
});

describe('a restored run that is being submitted, of which a submit was forgotten that cannot be taken back', () => {
  it('ends at the cut-off once the bank says that it was executed, and nobody of it is paid again', async () => {
    await start({ ...RECONCILED, sandbox: { variants: { omitFromLists: ['messageId'] } } });
    await payroll.stopPastTheGate();
    const rows = payFile(payRows(2));
    const date = payroll.executionDate();
    const period = date.slice(0, 7);
    const id = await payroll.paid(rows);
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await backedUp();
    // Its instruction is gone: what was submitted is another one, which the backup knows nothing of.
    const [built] = (await payroll.run(id)).instructions;
    await payroll.deleteAtBank(built.bankInstructionId);
    await payroll.letRunsGoOn();
    await payroll.until(id, ['SETTLED'], 20_000);

    await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
    await restored();
    expect((await answered()).happened).toContain('do not say which of our instructions it is');
    // Nor does the bank say what became of the other one.
    expect((await resume('letter of the bank, 4710')).status).toBe(200);
    const asked = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    const decided = async (evidence?: string) => {
      const reason = 'the bank and we have compared our lists';
      return payroll.decide(asked, { action: 'EXECUTED', reason, evidence });
    };
    const refused = await decided();
    expect(refused.data.code).toBe('NOT_AS_APPROVED');
    expect(refused.data.detail).toContain('do not say which of our instructions it is');
    await payroll.as('operator').delete(`${asked}/actions`);
    payroll.clock.set(new Date(`${date}T23:59:30Z`));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await payroll.run(id)).status).toBe('SUBMITTING');
    expect((await decided('letter of the bank, 4711')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 30_000);

    const executionDate = payroll.executionDate();
    const successor = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${id}/successor`), { executionDate });
    expect([successor.status, successor.data.payments[0].code]).toEqual([409, 'PAYMENT_STATUS_UNCLEAR']);
    const again = await payroll.upload(rows, { period, executionDate });
    expect([again.status, JSON.stringify(again.data)]).toEqual([
      422,
      expect.stringContaining('EMPLOYEE_NOT_REPAYABLE'),
    ]);
    expect(await timesPaid()).toEqual([1, 1]);
    await soundly();
  });
});

describe('a database restored, at a bank that does not let links be read', () => {
  const UNMARKED: Partial<Variants> = { linkReads: 'refused', omitFromLists: ['parties', 'messageId'] };
  const MARKED: Partial<Variants> = { linkReads: 'refused', omitFromLists: [] };
  const restoredTo = async (
    { status, hold, inBackup, goOn }: (typeof MOMENTS)[number],
    variants: Partial<Variants>,
  ) => {
    await start({ ...RECONCILED, sandbox: { variants } });
    const run = await payroll.uploaded(payFile(payRows(4)));
    await hold(run.id);
    await payroll.approve(run);
    await payroll.until(run.id, [status], 20_000);
    await backedUp();
    await execute(backup!.superuserUrl, inBackup);
    await goOn(run.id);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    await restored();
    return { id: run.id, happened: (await answered()).happened };
  };

  it('takes back what it had built, by the ids of its payments where the list shows neither parties nor message ids', async () => {
    const { id, happened } = await restoredTo(MOMENTS[2]!, UNMARKED);
    expect(happened).toContain('taken back into the record, to be followed: 2 with 4 payments');
    await payroll.until(id, ['SETTLED'], 20_000);
    // Nothing in such a list names what is ours and not submitted.
    expect((await resume('letter of the bank, 4712')).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    await soundly();
  });

  it.each([
    { list: 'neither parties nor message ids', variants: UNMARKED },
    { list: 'everything', variants: MARKED },
  ])(
    'cannot tell whose that is which it had not built, and goes on by the word of the bank alone, where the list shows $list',
    async ({ variants }) => {
      const { id, happened } = await restoredTo(MOMENTS[0]!, variants);
      expect(happened).toContain("2 instructions that may be this service's or not");
      expect(happened).not.toContain('no submitted instruction');
      const shown = (await payroll.ledger()).instructions.filter(({ submits }) => submits > 0);
      if (variants === MARKED) for (const one of shown) expect(happened).toContain(String(one.id));
      expect((await resume()).data.code).toBe('EVIDENCE_REQUIRED');
      expect((await payroll.run(id)).status).toBe('READY');
      const cancelled = await payroll
        .as('preparer')
        .post(payroll.path(`/pay-runs/${id}/cancellation`), { reason: 'the bank says that it was paid' });
      expect(cancelled.data).toMatchObject({ status: 'CANCELLED' });
      await payroll.as('operator').delete(`${payroll.path(`/attention/${(await question())!.id}`)}/actions`);
      expect((await resume('letter of the bank, 4712')).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(await timesPaid()).toEqual([1, 1, 1, 1]);
      await soundly();
    },
  );
});

describe('a database restored, at a bank that shows no instruction any more once it was submitted', () => {
  it.each(['gone', 'gone-with-its-list'] as const)(
    'takes back what it had verified by the payments, which are listed, and pays nobody twice: %s',
    async (onceSubmitted) => {
      const { hold, goOn, status } = MOMENTS[2]!;
      await start({ ...RECONCILED, sandbox: { variants: { onceSubmitted } } });
      const run = await payroll.uploaded(payFile(payRows(4)));
      await hold(run.id);
      await payroll.approve(run);
      await payroll.until(run.id, [status], 20_000);
      await backedUp();
      await goOn(run.id);
      await payroll.until(run.id, ['SETTLED'], 20_000);

      await restored();
      const { happened } = await answered();
      expect((await resume()).status).toBe(200);
      await payroll.until(run.id, ['SETTLED'], 20_000);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(await timesPaid()).toEqual([1, 1, 1, 1]);
      expect(happened).toContain('taken back into the record, to be followed: 2 with 4 payments');
      await soundly();
    },
  );
});

describe('a database restored, at a bank that shows of what was submitted only a status that nobody documents', () => {
  const [undocumented] = MAGIC_CREDITORS.filter(({ effect }) => effect === 'undocumentedStatus');

  it('submits it no second time, takes nothing for granted, and asks', async () => {
    const variants = { linkReads: 'refused', omitFromLists: [], secondSubmit: 'executed' } as const;
    await start({ sandbox: { variants } });
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(1).map((row) => ({ ...row, iban: undocumented!.iban }))));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await backedUp();
    await payroll.clearFaults();
    await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    await restored();
    const { happened } = await answered();
    expect(happened).toContain('in a status that no document names');
    expect(happened).toContain('PRO_MANUAL_REVIEW, which no document names');
    expect((await resume()).data.code).toBe('EVIDENCE_REQUIRED');
    await payroll.as('operator').delete(`${payroll.path(`/attention/${(await question())!.id}`)}/actions`);
    const evidence = 'letter of the bank, 4711';
    expect((await resume(evidence)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await payroll.run(id)).status).toBe('VERIFIED');
    const said = { action: 'EXECUTED', reason: 'as the bank wrote', evidence };
    expect((await payroll.decide(await payroll.askedAbout(id, 'UNRECORDED_SUBMIT'), said)).status).toBe(200);
    const means = { action: 'PAID', reason: 'as the bank wrote', evidence };
    expect((await payroll.decide(await payroll.askedAbout(id, 'UNKNOWN_STATUS'), means)).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect((await payroll.calls()).submit).toBe(1);
  });
});

describe('after a restore', () => {
  it('who would resume is told that it is this service that fails, where it is', async () => {
    await start();
    await backedUp();
    jest.spyOn(RestoreSweep.prototype, 'since').mockRejectedValue(new TypeError('a defect of ours'));
    await restored();
    await told();
    await eventually(async () => {
      const { code, detail } = (await resume()).data;
      return code === 'NOT_RECONCILED' && /\(this service: an error that its log tells\)/.test(detail);
    }, 10_000);
    jest.restoreAllMocks();
  });

  it('he is told so too of a second one, while what was read after the first is not decided', async () => {
    await start();
    await backedUp();
    await restored();
    const first = await answered();
    jest.spyOn(RestoreSweep.prototype, 'since').mockRejectedValue(new TypeError('a defect of ours'));
    const said = { reason: 'another copy was put back' };
    expect((await payroll.as('administrator').post('/v1/service/restored', said)).status).toBeLessThan(300);
    await eventually(async () => (await kinds()).length === 2, 10_000);
    const open = (await payroll.attention()).find(({ id }) => id !== first.id);
    const path = payroll.path(`/attention/${open!.id}`);
    await eventually(async () => {
      const { detail } = (await payroll.decide(path, { action: 'RESUME', reason: 'compared' })).data;
      return /\(this service: an error that its log tells\)/.test(detail);
    }, 10_000);
    jest.restoreAllMocks();
  });

  it('nobody resumes before the bank was read, nor alone after it, be it that the desk is passed by', async () => {
    await start();
    await backedUp();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restored();
    await told();
    await eventually(async () => {
      const { code, detail } = (await resume()).data;
      return code === 'NOT_RECONCILED' && /GET \S+payment-transactions\S*: .*500/.test(detail);
    }, 10_000);
    await expect(stored(`UPDATE service_stop SET lifted_at = now()`)).rejects.toMatchObject({
      constraint: 'restore_is_reconciled',
    });
    const { data: now } = await payroll.as('administrator').get('/v1/service');
    const never = { reason: 'never mind', stoppedAt: now.changedAt };
    const alone = await payroll.as('administrator').post('/v1/service/resume', never);
    expect(alone.data.code).toBe('ATTENTION_DECIDES');
    await payroll.clearFaults();
    expect((await answered()).happened).toContain(
      'no submitted instruction of this employer that was forgotten',
    );
    await expect(stored(`UPDATE service_stop SET lifted_at = now()`)).rejects.toMatchObject({
      constraint: 'resume_needs_two_people',
    });
    expect((await resume()).status).toBe(200);
  });

  it("takes the bank's written word where it does not let its list be read", async () => {
    await start();
    await backedUp();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '403', every: 1 });
    await restored();
    expect((await answered()).happened).toContain("takes the bank's written word");
    expect((await resume()).data.code).toBe('EVIDENCE_REQUIRED');
    const path = payroll.path(`/attention/${(await question())!.id}`);
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await resume('letter of the bank, 4711')).status).toBe(200);
  });

  it('people go on by the word of the bank, and approve anew, where it lets one instruction that was built be read by nobody', async () => {
    await start();
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['VERIFIED']);
    await backedUp();
    for (const operation of ['getInstruction', 'listInstructionPaymentTransactions'])
      await payroll.fault({ operation, kind: '403', every: 1 });
    await restored();
    expect((await answered()).happened).toContain('does not let 1 instructions be read');
    expect((await resume()).data.code).toBe('EVIDENCE_REQUIRED');
    const path = payroll.path(`/attention/${(await question())!.id}`);
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await resume('letter of the bank, 4711')).status).toBe(200);
    await payroll.clearFaults();
    await payroll.until(id, ['READY'], 30_000);
    await payroll.approve(await payroll.run(id));
    await payroll.until(id, ['SETTLED'], 30_000);
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('everybody is stopped until the last employer has decided', async () => {
    await start();
    const other = await payroll.as('administrator').post('/v1/employers', {
      name: 'Aspen Mills SARL',
      timeZone: 'Europe/Paris',
    });
    expect(other.status).toBe(201);
    await backedUp();
    await restored();
    await answered();
    const told = await stored<{ n: string }>(
      `SELECT count(*) AS n FROM attention WHERE kind = 'RESTORED' AND resolved_at IS NULL`,
    );
    expect(told).toEqual([{ n: '2' }]);
    expect((await resume()).status).toBe(200);
    expect((await submitsOff()).submitsOff).toBe(true);
  });
});

describe('an administrator who knows of a restore that shows nowhere', () => {
  it('stops everybody with a word, and two people let it go on', async () => {
    await start();
    const said = await payroll
      .as('administrator')
      .post('/v1/service/restored', { reason: 'the disk was rolled back' });
    expect(said.status).toBe(200);
    expect((await payroll.as('operator').post('/v1/service/restored', { reason: 'me too' })).status).toBe(
      403,
    );
    await told();
    const run = await payroll.uploaded(payFile(payRows(2)));
    const { id } = run;
    const release = { code: 'RUN_MAY_BE_FORGOTTEN', reason: 'nobody of it was paid' };
    expect((await answered()).happened).toContain('the disk was rolled back');
    await payroll.as('approver').post(payroll.path(`/pay-runs/${id}/holds/release`), release);
    expect((await payroll.approve(run)).status).toBe(200);
    expect((await payroll.run(id)).status).toBe('APPROVED');
    expect((await resume()).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    const audited = await stored<{ action: string }>(
      `SELECT action FROM audit_entry WHERE action LIKE '%restore%'`,
    );
    expect(audited.map(({ action }) => action).sort()).toEqual([
      'employer.restore-told',
      'service.restore-told',
      'service.restored',
    ]);
  });
});

describe('an administrator who says it again because nobody was told yet', () => {
  it('says it once: everybody is asked once', async () => {
    await start();
    const telling = jest.spyOn(Restores.prototype as unknown as { tellAll: () => Promise<void> }, 'tellAll');
    telling.mockRejectedValue(new Error('the telling fails'));
    const reason = 'the disk was rolled back';
    const say = () => payroll.as('administrator').post('/v1/service/restored', { reason });
    // The second press comes before the first is written down.
    const pressed = await connected(payroll.database.superuserUrl, async (held) => {
      await held.query('BEGIN; LOCK TABLE database_restore IN SHARE MODE');
      const both = Promise.all([say(), say()]);
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      await eventually(async () => (await stored(waiting)).length >= 2, 10_000);
      await held.query('COMMIT');
      return both;
    });
    const answers = [...pressed, await say()];
    telling.mockRestore();
    await told();
    const [first] = answers;
    expect(answers.map(({ status, data }) => [status, data])).toEqual(answers.map(() => [200, first?.data]));
    // Written down once the last employer was told.
    const isTold = async () =>
      (await stored('SELECT FROM database_restore WHERE told_at IS NOT NULL')).length > 0;
    await eventually(isTold, 10_000);
    expect(await stored('SELECT told_at IS NOT NULL AS told FROM database_restore')).toEqual([
      { told: true },
    ]);
    expect(await kinds()).toEqual(['RESTORED']);
  });
});

describe('a service whose database fails over to a server that may have lost commits', () => {
  const failOver = () =>
    stored('UPDATE database_identity SET timeline = timeline + 1, written_by = pg_current_xact_id()');

  it('sends nothing more from that moment on, also before anybody noticed', async () => {
    await start({ rowsPerInstruction: 1 });
    await payroll.fault({ operation: 'add', kind: 'slow-drip', every: 1, delayMs: 1 });
    // Whoever notices it cannot write it down: what is refused is refused by each transaction on its own.
    const blind = new Client({ connectionString: payroll.database.superuserUrl });
    await blind.connect();
    await blind.query('BEGIN; LOCK TABLE database_restore IN SHARE MODE');
    const id = await payroll.paid(payFile(payRows(12)));
    await eventually(async () => ((await payroll.calls()).add ?? 0) > 1, 15_000);
    await failOver();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const sent = await payroll.calls();
    expect(sent.initiate).toBeLessThan(12);
    expect(sent.submit ?? 0).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await payroll.calls()).initiate).toBe(sent.initiate);
    expect(await kinds()).toEqual([]);
    await blind.end();
    expect((await answered()).happened).toContain('another timeline (1 instead of 2)');
    expect((await resume()).status).toBe(200);
    await payroll.until(id, ['READY'], 30_000);
    await payroll.approve(await payroll.run(id));
    await payroll.until(id, ['SETTLED'], 30_000);
    expect((await timesPaid()).every((count) => count === 1)).toBe(true);
  });

  it('submits nothing that no witness outside would remember', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'payrun-flow-witness-'));
    await start({ settings: { RESTORE_WITNESS_FILE: join(directory, 'witness.json') } });
    await rm(directory, { recursive: true });
    await writeFile(directory, 'in the way');
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SUBMITTING'], 15_000);
    await eventually(
      async () => (await stored(`SELECT FROM submit_attempt WHERE outcome = 'PROVEN_UNSENT'`)).length > 0,
      10_000,
    );
    expect((await payroll.calls()).submit ?? 0).toBe(0);
    const waitsFor = 'this service: RESTORE_WITNESS_FILE could not be written';
    await eventually(
      async () => (await stored(`SELECT FROM lease WHERE waits_for = '${waitsFor}'`)).length > 0,
      10_000,
    );
    const sees = (older: 0 | 1) =>
      eventually(async () => {
        const { data } = await payroll.as('operator').get<string>('/metrics');
        return data.includes(`payrun_restore_guard{sees="older_copy"} ${older}`);
      }, 10_000);
    await sees(0);
    await rm(directory);
    await payroll.until(id, ['SETTLED'], 20_000);
    await sees(1);
    expect(await timesPaid()).toEqual([1, 1]);
    await rm(directory, { recursive: true });
  });

  it('is no failover when the service, or another one, is only started again', async () => {
    await start({ replicas: 2 });
    const id = await payroll.paid(payFile(payRows(8)));
    await payroll.stopServices();
    await serve();
    await serve();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await kinds()).toEqual([]);
    expect(await stored('SELECT what FROM database_restore')).toEqual([]);
    const { data } = await payroll.as('operator').get<string>('/metrics');
    expect(data).toContain('payrun_restore_guard{sees="another_timeline"} 1');
    expect(data).toContain('payrun_restore_guard{sees="older_copy"} 0');
  });
});
