import { Variants } from '../../src/bank-sandbox/variants';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

interface Shown {
  status: string;
  bankInstructionId: string;
}

let payroll: Payroll;
const decided = async (path: string, action: string, evidence?: string) => {
  const reason = 'the bank and we have looked into it';
  await payroll.as('operator').post(`${path}/actions`, { action, reason, evidence });
  return payroll.as('second').post(`${path}/actions/confirmation`);
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
/** No invariant is found broken, by passes of the reconciler that began after what was done. */
const soundly = async () => {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(await select(payroll.database.superuserUrl, 'SELECT invariant FROM invariant_breach')).toEqual([]);
};
const explained = async (runId: string) => {
  const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${runId}/reconciliation`));
  expect(report.data).toMatchObject({ explained: true, difference: '0.00' });
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

describe('two people who are asked about a submit by somebody else', () => {
  const start = async (variants: Partial<Variants> = {}) => {
    payroll = await Payroll.start({
      rowsPerInstruction: 2,
      sandbox: { variants },
      settings: { RECONCILE_MS: '100' },
    });
  };
  afterEach(() => payroll.close());

  it('have it taken over as it was approved: the run is followed to its end, and nobody is paid again', async () => {
    await start();
    const { id, moved, asked } = await movedByOthers();
    const alone = { action: 'EXECUTED', reason: 'somebody was too quick in the portal' };
    await payroll.as('operator').post(`${asked}/actions`, alone);
    const same = await payroll.as('operator').post(`${asked}/actions/confirmation`);
    expect(same.data.code).toBe('SAME_PERSON');
    expect((await payroll.as('second').post(`${asked}/actions/confirmation`)).status).toBe(200);
    await eventually(async () => (await kinds()).join() === 'INVARIANT_BREACH', 20_000);
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    expect(await submitsAtBank(moved)).toBe(1);
    expect(await kinds()).toEqual([]);
    await explained(id);
    await soundly();
  });

  it('have nothing taken over that is more than was approved, unless the bank says so in writing', async () => {
    // More than an instruction says can be submitted in the bank's portal, and is shown.
    await start({ enforceControlTotals: false, linkReads: 'allowed' });
    const { id, moved, asked } = await movedByOthers((bankId) => payroll.addAtBank(bankId));
    const refused = await decided(asked, 'EXECUTED');
    expect(refused.data).toMatchObject({ status: 409, code: 'NOT_AS_APPROVED' });
    expect(refused.data.detail).toContain(`${moved}: `);
    expect(refused.data.detail).toContain('was never sent');
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
      const now = 'UPDATE lease SET wake_at = clock_timestamp() WHERE holder IS NULL';
      await execute(payroll.database.superuserUrl, now);
      return ((await payroll.calls()).getInstruction ?? 0) > reads + 4;
    }, 20_000);
    expect((await payroll.calls()).initiate).toBe(initiate);
    expect((await verified(id))?.bankInstructionId).toBe(moved);
    expect((await decided(asked, 'EXECUTED')).data.detail).toContain('the bank does not show it');
  });
});
