import { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import { TombstoneWatch } from '../../src/settlement/tombstone-watch';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711: no other submit of it was received, and none is queued';

let payroll: Payroll;
let restoring: Restoring;
afterEach(() => {
  jest.restoreAllMocks();
  return restoring.close();
});

const start = async (variants: Parameters<typeof Restoring.start>[1] = {}) => {
  restoring = await Restoring.start(
    { RECONCILE_MS: '2000', BANK_LAG_BOUND_MS: '500' },
    { secondSubmit: 'executed', ...variants },
  );
  payroll = restoring.payroll;
};

const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const noBalance = () => payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
const built = async (id: string) =>
  (await payroll.run(id)).instructions.map((one: { bankInstructionId: string }) => one.bankInstructionId);

/** A run that is verified in the backup, and was submitted since: its gate waits for the balance until then. */
async function submittedSince(): Promise<string> {
  await noBalance();
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['VERIFIED'], 20_000);
  await restoring.backUp();
  await payroll.clearFaults();
  return id;
}

/** As `submittedSince`, where the bank executes its submit so late. */
async function submitQueued(delayMs: number): Promise<string> {
  const id = await submittedSince();
  await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs });
  await eventually(async () => ((await payroll.calls()).submit ?? 0) === 1, 20_000);
  return id;
}

/** What was built is given up while nobody knows of the restore: its run is amended. @returns the bank's id of it */
async function givenUpUnnoticed(id: string): Promise<string> {
  const [before] = await built(id);
  await noBalance();
  await restoring.restoreUnnoticed();
  const amendment = { submitAt: new Date(Date.now() - 1_000).toISOString(), reason: 'at once' };
  const amended = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), amendment);
  expect([amended.status, amended.data.code]).toEqual([200, undefined]);
  await payroll.until(id, ['READY'], 20_000);
  return before;
}

/** The lists show nothing of it any more. */
function archive(bankInstructionId: string): void {
  for (const list of ['listStatuses', 'listPayments'] as const) {
    const read = BankGateway.prototype[list] as (...asked: unknown[]) => AsyncGenerator<BankPayment>;
    jest.spyOn(BankGateway.prototype, list).mockImplementation(async function* (
      this: BankGateway,
      ...asked: unknown[]
    ) {
      for await (const one of read.apply(this, asked))
        if (one.bankInstructionId !== bankInstructionId) yield one;
    });
  }
}

describe('an instruction that is given up between a restore and its notice, of which a submit was forgotten', () => {
  it('pays nobody twice where the bank has archived what was submitted: it takes its word', async () => {
    await start({ onceSubmitted: 'gone-with-its-list' });
    const id = await submittedSince();
    await payroll.until(id, ['SETTLED'], 20_000);
    const [archived] = await built(id);
    archive(archived);
    await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
    await givenUpUnnoticed(id);
    await restoring.say();
    expect(await restoring.answered()).toContain(`or does not find them (${archived})`);
    expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
    await restoring.withdraw();
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
  });

  it('pays nobody twice where the bank has queued the submit: it is deleted there', async () => {
    await start();
    const delayMs = 12_000;
    const id = await submitQueued(delayMs);
    const late = new Promise((resolve) => setTimeout(resolve, delayMs + 500));
    await givenUpUnnoticed(id);
    await restoring.say();
    await restoring.answered();
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.clearFaults();
    await payroll.approve(await payroll.run(id));
    await payroll.until(id, ['SETTLED'], 30_000);
    await late;
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('pays nobody twice where it is executed since, be it that nobody else reads it: everything stays stopped', async () => {
    jest.spyOn(TombstoneWatch.prototype, 'step').mockResolvedValue();
    await start();
    const id = await submitQueued(8_000);
    await givenUpUnnoticed(id);
    await eventually(async () => (await timesPaid()).length > 0, 20_000);
    await restoring.say();
    await restoring.answered();
    const asked = (await payroll.attention()).map(({ kind }) => kind);
    expect(asked).toEqual(expect.arrayContaining(['RESTORED', 'INVARIANT_BREACH']));
  });

  it.each(['403', '409'] as const)(
    'keeps its run stopped by its own word where the bank does not delete it (%s)',
    async (kind) => {
      await start();
      const id = await submitQueued(8_000);
      const late = new Promise((resolve) => setTimeout(resolve, 8_500));
      const before = await givenUpUnnoticed(id);
      await payroll.fault({ operation: 'deleteInstruction', kind, every: 1 });
      await restoring.say();
      const told = await restoring.answered();
      expect(told).toContain(before);
      expect(told).toContain('was a submit of it received, or is one queued?');
      expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
      expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
      await late;
      expect(await timesPaid()).toEqual([1, 1]);
    },
  );
});
