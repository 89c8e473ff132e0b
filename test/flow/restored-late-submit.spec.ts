import { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import { monthsAfter } from '../../src/schedule/period-dates';
import { emptyList } from '../support/empty-list';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711: no submit of it was received, and none is queued';

let payroll: Payroll;
let restoring: Restoring;
const start = async (
  variants: Parameters<typeof Restoring.start>[1] = {},
  settings: Record<string, string> = {},
) => {
  restoring = await Restoring.start(
    { RECONCILE_MS: '2000', BANK_LAG_BOUND_MS: '500', ...settings },
    { secondSubmit: 'executed', ...variants },
  );
  payroll = restoring.payroll;
};
afterEach(() => {
  jest.restoreAllMocks();
  return restoring.close();
});

const ledger = () => payroll.ledger();
const timesPaid = async () => (await ledger()).payees.map(({ count }) => count);
const submits = async () => (await ledger()).instructions.map((one) => one.submits);
const asked = async () => (await payroll.attention()).map(({ kind }) => kind);
const built = async (id: string) =>
  (await payroll.run(id)).instructions.map((one: { bankInstructionId: string }) => one.bankInstructionId);

/** A run past its gate whose only submit is on its way to the bank, which a backup knows nothing of. */
async function submitQueued(delayMs: number): Promise<string> {
  await payroll.stopPastTheGate();
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SUBMITTING'], 20_000);
  await restoring.backUp();
  await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
  await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs });
  await payroll.letRunsGoOn();
  await eventually(async () => ((await payroll.calls()).submit ?? 0) === 1, 20_000);
  return id;
}

/** A run that waits for its approval in the backup; it was approved since, and its only submit is on its way to the bank. */
async function submitForgotten(delayMs: number) {
  const run = await payroll.uploaded(payFile(payRows(2)));
  await restoring.backUp();
  await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs });
  await payroll.approve(run);
  await eventually(async () => ((await payroll.calls()).submit ?? 0) === 1, 20_000);
  return run;
}

/** Of an upload for so many months after that of the execution date. */
async function holdsOf(monthsLater: number) {
  const period = monthsAfter(payroll.executionDate().slice(0, 7), monthsLater);
  return (await payroll.upload(payFile(payRows(3)), { period })).data.held.holds;
}

/** Every delete reaches the bank once it has executed what was queued, and is confirmed all the same where that is said. */
function deleteAfterSubmit(isConfirmed = false): void {
  const remove = BankGateway.prototype.deleteInstruction;
  jest.spyOn(BankGateway.prototype, 'deleteInstruction').mockImplementation(async function (
    this: BankGateway,
    ...asked
  ) {
    await eventually(async () => (await submits()).includes(1), 20_000);
    return isConfirmed ? { kind: 'yes', value: undefined, status: 204 } : remove.apply(this, asked);
  });
}

/** Waits until what was queued has been executed, or would have been. */
const afterLateSubmit = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs + 500));

describe('a database restored to before a submit that the bank has queued and not executed', () => {
  const DELAY_MS = 8_000;

  it('pays nobody twice in a run that is being submitted, and asks nobody more than to let it go on', async () => {
    await start();
    const id = await submitQueued(DELAY_MS);
    const late = afterLateSubmit(DELAY_MS);
    const [before] = await built(id);
    await restoring.restore();
    const told = await restoring.answered();
    expect(told).toContain('no submitted instruction of this employer that was forgotten');
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.until(id, ['SETTLED'], 30_000);
    await late;
    expect(await timesPaid()).toEqual([1, 1]);
    expect(Math.max(...(await submits()))).toBe(1);
    expect(await built(id)).not.toContain(before);
    await payroll.reconcile();
    expect(await asked()).toEqual([]);
  });

  it('pays nobody twice in a run before its gate, which is approved again', async () => {
    await start();
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await restoring.backUp();
    await payroll.clearFaults();
    await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs: DELAY_MS });
    await eventually(async () => ((await payroll.calls()).submit ?? 0) === 1, 20_000);
    const late = afterLateSubmit(DELAY_MS);
    await restoring.restore();
    await restoring.answered();
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.until(id, ['READY'], 20_000);
    await payroll.approve(await payroll.run(id));
    await payroll.until(id, ['SETTLED'], 30_000);
    await late;
    expect(await timesPaid()).toEqual([1, 1]);
    await payroll.reconcile();
    expect(await asked()).toEqual([]);
  });

  it('pays nobody twice of an instruction that was forgotten too', async () => {
    await start();
    const run = await submitForgotten(DELAY_MS);
    const late = afterLateSubmit(DELAY_MS);
    await restoring.restore();
    expect(await restoring.answered()).toContain(
      'deleted there by now, or ended: nobody submits it any more: 1 with 2 payments',
    );
    expect(await restoring.resume()).toBe('RESUMED');
    expect((await payroll.approve(await payroll.run(run.id))).status).toBe(200);
    await payroll.until(run.id, ['SETTLED'], 30_000);
    await late;
    expect(await timesPaid()).toEqual([1, 1]);
    await payroll.reconcile();
    expect(await asked()).toEqual([]);
  });

  it('pays nobody twice of one that was forgotten too and executed while it was to be deleted, at a bank that then shows only its payments', async () => {
    await start({ onceSubmitted: 'gone-with-its-list' });
    const run = await submitForgotten(DELAY_MS);
    deleteAfterSubmit();
    await restoring.restore();
    const told = await restoring.answered();
    expect(told).not.toContain('deleted there by now');
    expect(told).toContain('submitted at the bank and not taken back');
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.approve(await payroll.run(run.id));
    await payroll.until(run.id, ['SETTLED'], 30_000);
    expect(await timesPaid()).toEqual([1, 1]);
    expect(await submits()).toEqual(expect.not.arrayContaining([2]));
  });

  it('pays nobody twice of one that the bank does not list before its submit: it takes its word, and older runs stay stopped', async () => {
    await start({ listsShow: 'submitted' });
    const run = await submitForgotten(DELAY_MS);
    const late = afterLateSubmit(DELAY_MS);
    await restoring.restore();
    const told = await restoring.answered();
    expect(told).toContain('was not seen to show any of this service that is not submitted yet');
    expect(told).not.toContain('does not let its list of payments be read');
    expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
    await restoring.withdraw();
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
    await payroll.approve(await payroll.run(run.id));
    await late;
    expect((await payroll.run(run.id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
    expect([await timesPaid(), (await payroll.calls()).submit]).toEqual([[1, 1], 1]);
    expect(await holdsOf(1)).toHaveProperty('RUN_MAY_BE_FORGOTTEN');
  });

  it.each([
    ['added', 'RESUMED', undefined],
    ['submitted', 'EVIDENCE_REQUIRED', 'RESTORED_UNCLEAR'],
  ] as const)(
    'goes by what was seen while runs were built where nothing is unsubmitted: of a list that shows what is %s it is %s',
    async (listsShow, resumed, stopped) => {
      await start({ listsShow, listingLagMs: 0 });
      const paid = await payroll.paid(payFile(payRows(2)));
      await payroll.until(paid, ['SETTLED'], 20_000);
      const older = await payroll.uploaded(payFile(payRows(2)), { kindOfPay: 'BONUS' });
      await restoring.backUp();
      await restoring.restore();
      const told = await restoring.answered();
      expect(told.includes('no submitted instruction of this employer that was forgotten')).toBe(!stopped);
      expect(await restoring.resume()).toBe(resumed);
      expect((await payroll.run(older.id)).stopped?.reason).toBe(stopped);
    },
  );

  it.each([
    ['refuses the delete', false],
    ['confirms it', true],
  ])(
    'takes back one that was forgotten too and executed while it was to be deleted, at a bank that shows it and %s',
    async (_does, isConfirmed) => {
      await start();
      const run = await payroll.uploaded(payFile(payRows(2)));
      await restoring.backUp();
      await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs: DELAY_MS });
      await payroll.approve(run);
      await eventually(async () => ((await payroll.calls()).submit ?? 0) === 1, 20_000);
      deleteAfterSubmit(isConfirmed);
      await restoring.restore();
      expect(await restoring.answered()).toContain('submitted at the bank and not taken back');
      expect(await restoring.resume()).toBe('RESUMED');
      await payroll.approve(await payroll.run(run.id));
      await payroll.until(run.id, ['SETTLED'], 30_000);
      expect([await timesPaid(), await submits()]).toEqual([[1, 1], expect.not.arrayContaining([2])]);
    },
  );

  it('takes back what was executed while it was to be deleted, at a bank that confirms that, and shows it a while later in its list alone', async () => {
    await start({ onceSubmitted: 'gone-with-its-list' }, { BANK_LAG_BOUND_MS: '3000' });
    const id = await submitQueued(DELAY_MS);
    const [before] = await built(id);
    deleteAfterSubmit();
    await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
    let goneSince = Infinity;
    for (const list of ['listStatuses', 'listPayments'] as const) {
      const read = BankGateway.prototype[list] as (...asked: unknown[]) => AsyncGenerator<BankPayment>;
      jest.spyOn(BankGateway.prototype, list).mockImplementation(async function* (
        this: BankGateway,
        ...asked: unknown[]
      ) {
        if ((await submits()).includes(1)) goneSince = Math.min(goneSince, performance.now());
        const isListed = performance.now() > goneSince + 2_000;
        for await (const one of read.apply(this, asked))
          if (isListed || one.bankInstructionId !== before) yield one;
      });
    }
    await restoring.restore();
    expect(await restoring.answered()).toContain('taken back into the record, to be followed: 1 with 2');
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.until(id, ['SETTLED'], 30_000);
    expect([await timesPaid(), await built(id)]).toEqual([[1, 1], [before]]);
  });

  it.each(['403', '404', '409'] as const)(
    'keeps the run stopped by its own word where the bank deletes none (%s)',
    async (kind) => {
      await start();
      const id = await submitQueued(DELAY_MS);
      const late = afterLateSubmit(DELAY_MS);
      await payroll.fault({ operation: 'deleteInstruction', kind, every: 1 });
      const [before] = await built(id);
      await restoring.restore();
      const told = await restoring.answered();
      expect(told).toContain('was a submit of it received, or is one queued?');
      expect(told).toContain(before);
      expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
      await restoring.withdraw();
      expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
      await late;
      expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
      expect(await timesPaid()).toEqual([1, 1]);
      expect((await payroll.calls()).submit).toBe(1);
      expect(await holdsOf(0)).toHaveProperty('RUN_MAY_BE_FORGOTTEN');
      expect(await holdsOf(1)).not.toHaveProperty('RUN_MAY_BE_FORGOTTEN');
    },
  );
});

it('what was asked before a restore says that it does not count what was done since the backup', async () => {
  await start();
  const { path } = await payroll.parked(payRows(2));
  const certain = async () => (await payroll.as('finance').get(path)).data.certain as string;
  expect(await certain()).not.toContain('restored');
  await restoring.backUp();
  await restoring.restore();
  await restoring.answered();
  expect(await certain()).toContain('this was asked before the database was restored');
  const listed = await payroll.attention();
  expect(listed.map(({ kind, certain: words }) => [kind, words.includes('since the backup')])).toEqual([
    ['SUBMIT_UNKNOWN', true],
    ['RESTORED', false],
  ]);
});

describe('a database restored, at a bank that has archived what was submitted since', () => {
  it('pays nobody without its word, be it that it finds nothing of what was built', async () => {
    await start({ onceSubmitted: 'gone-with-its-list' });
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await restoring.backUp();
    await payroll.clearFaults();
    await payroll.until(id, ['SETTLED'], 20_000);
    const [archived] = await built(id);
    for (const list of ['listStatuses', 'listPayments'] as const)
      jest.spyOn(BankGateway.prototype, list).mockImplementation(emptyList);
    await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
    await restoring.restore();
    expect(await restoring.answered()).toContain(`or does not find them (${archived})`);
    expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
    expect((await payroll.run(id)).status).toBe('VERIFIED');
    const reason = 'the bank says that it was paid';
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), { reason });
    await restoring.withdraw();
    expect(await restoring.resume('letter of the bank, 4711: it was executed')).toBe('RESUMED');
    await payroll.until(id, ['CANCELLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1]);
  });
});

describe('a check after a restore asks nobody', () => {
  /** A run of two instructions that is verified, in the backup too. */
  const verified = async (settings: Record<string, string> = {}) => {
    await start({}, settings);
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await restoring.backUp();
    deletedBefore = await allDeletes();
    return id;
  };
  // The account was probed with an instruction that was deleted.
  let deletedBefore = 0;
  const allDeletes = async () => (await payroll.calls()).deleteInstruction ?? 0;
  const deletes = async () => (await allDeletes()) - deletedBefore;
  const paidOnce = async (id: string) => {
    expect(await restoring.answered()).toContain('no submitted instruction');
    await payroll.clearFaults();
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.until(id, ['READY'], 20_000);
    await payroll.approve(await payroll.run(id));
    await payroll.until(id, ['SETTLED'], 30_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  };

  it('where it is cut short once the bank has deleted what was built', async () => {
    const id = await verified();
    const remove = BankGateway.prototype.deleteInstruction;
    const deleting = jest.spyOn(BankGateway.prototype, 'deleteInstruction');
    deleting.mockImplementationOnce(async function (this: BankGateway, ...asked) {
      const outcome = await remove.apply(this, asked);
      await payroll.fault({ operation: 'getInstruction', kind: '500-before', nth: 1 });
      return outcome;
    });
    await restoring.restore();
    await paidOnce(id);
    // Each once more, which the bank refuses.
    expect(await deletes()).toBe(4);
  });

  it('where the bank fails for a moment to delete what was built', async () => {
    const id = await verified();
    await payroll.fault({ operation: 'deleteInstruction', kind: '500-before', nth: 1 });
    await restoring.restore();
    await paidOnce(id);
    expect(await deletes()).toBe(5);
  });

  it('where a read is older than the delete', async () => {
    const id = await verified();
    const read = BankGateway.prototype.getInstruction;
    const shown = new Map<string, Awaited<ReturnType<typeof read>>>();
    let stale = 0;
    jest.spyOn(BankGateway.prototype, 'getInstruction').mockImplementation(async function (
      this: BankGateway,
      ...asked
    ) {
      const before = shown.get(asked[0]);
      shown.delete(asked[0]);
      if (before !== undefined && (await deletes()) > 0) {
        stale += 1;
        return before;
      }
      const instruction = await read.apply(this, asked);
      if (stale === 0) shown.set(asked[0], instruction);
      return instruction;
    });
    await restoring.restore();
    await paidOnce(id);
    expect(stale).toBeGreaterThan(0);
  });

  it('where the bank carries a delete out a while after it has confirmed it', async () => {
    const id = await verified({ SUBMIT_DOUBT_MS: '60000' });
    const read = BankGateway.prototype.getInstruction;
    const shown = new Map<string, Awaited<ReturnType<typeof read>>>();
    let deletedMs = Infinity;
    jest.spyOn(BankGateway.prototype, 'getInstruction').mockImplementation(async function (
      this: BankGateway,
      ...asked
    ) {
      const before = shown.get(asked[0]);
      if ((await deletes()) > 0) deletedMs = Math.min(deletedMs, performance.now());
      if (before !== undefined && performance.now() < deletedMs + 3_000) return before;
      const instruction = await read.apply(this, asked);
      shown.set(asked[0], instruction);
      return instruction;
    });
    await restoring.restore();
    await paidOnce(id);
    expect(await deletes()).toBe(4);
  });

  it('where another replica would read the list of the bank that one deletes from', async () => {
    const id = await verified();
    const { listStatuses, deleteInstruction } = BankGateway.prototype;
    const readBy = new Set<BankGateway>();
    jest.spyOn(BankGateway.prototype, 'listStatuses').mockImplementation(function (
      this: BankGateway,
      ...asked
    ) {
      readBy.add(this);
      return listStatuses.apply(this, asked);
    });
    jest.spyOn(BankGateway.prototype, 'deleteInstruction').mockImplementation(async function (
      this: BankGateway,
      ...asked
    ) {
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return deleteInstruction.apply(this, asked);
    });
    await restoring.restore();
    await payroll.addReplica();
    await restoring.answered();
    expect(readBy.size).toBe(1);
    await paidOnce(id);
  });
});

it('after a restore only what was deleted is built again, and not what people are asked about after many attempts', async () => {
  await start();
  await payroll.stopPastTheGate();
  const id = await payroll.paid(payFile(payRows(4)));
  await payroll.until(id, ['SUBMITTING'], 20_000);
  await restoring.backUp();
  const [givenUp] = (await payroll.run(id)).instructions;
  await restoring.inBackup(`SET session_replication_role = replica;
    UPDATE instruction SET status = 'ABANDONED' WHERE bank_instruction_id = '${givenUp.bankInstructionId}'`);
  await restoring.restore();
  await restoring.answered();
  const attempts = await restoring.stored<{ status: string; attempt: number }>(
    `SELECT i.status, i.attempt FROM instruction i JOIN planned_instruction p ON p.id = i.planned_instruction_id
     WHERE i.pay_run_id = (SELECT id FROM pay_run WHERE status = 'SUBMITTING') ORDER BY p.ordinal, i.attempt`,
  );
  expect(attempts).toMatchObject([
    { status: 'ABANDONED', attempt: 1 },
    { status: 'ABANDONED', attempt: 1 },
    { attempt: 2 },
  ]);
});
