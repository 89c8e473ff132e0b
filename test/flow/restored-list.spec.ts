import axios from 'axios';
import { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { FRANK, Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711: no submit of it was received, and none is queued';
/** A bank may list payments from their submit on, and leave them as they were until it takes the submit up. */
const LISTS_SUBMITTED = { secondSubmit: 'executed', listsShow: 'submitted' } as const;

let payroll: Payroll;
let restoring: Restoring;
const start = async (variants: Parameters<typeof Restoring.start>[1], stepMs?: number, lagMs = 500) => {
  payroll = await Payroll.start({
    rowsPerInstruction: 2,
    paidBefore: true,
    sandbox: { stepMs, variants: { ...FRANK, ...variants } },
    settings: {
      BANK_TIMEOUT_MS: '1000',
      RECONCILE_MS: '2000',
      BANK_LAG_BOUND_MS: String(Math.max(lagMs, 500)),
    },
  });
  restoring = new Restoring(payroll);
};
afterEach(() => {
  jest.restoreAllMocks();
  return restoring.close();
});

const submits = async () => (await payroll.calls()).submit ?? 0;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Has the general list, and that of an instruction, show these. */
function list(shown: (one: BankPayment) => BankPayment | undefined): void {
  for (const name of ['listStatuses', 'listPayments'] as const) {
    const read = BankGateway.prototype[name] as (...asked: unknown[]) => AsyncGenerator<BankPayment>;
    jest.spyOn(BankGateway.prototype, name).mockImplementation(async function* (
      this: BankGateway,
      ...asked: unknown[]
    ) {
      for await (const one of read.apply(this, asked)) {
        const listed = shown(one);
        if (listed) yield listed;
      }
    });
  }
}

/** A run that is verified and cannot read its account. */
async function verified(rows = 2): Promise<string> {
  await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
  const id = await payroll.paid(payFile(payRows(rows)));
  await payroll.until(id, ['VERIFIED'], 20_000);
  return id;
}

describe('the list of a bank after a restore, which shows payments from their submit on', () => {
  const DELAY_MS = 12_000;

  /** The bank takes up the submits that it has kept. */
  const anHourPasses = () => axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 3_600_000 });
  async function allAreApproved(): Promise<void> {
    const { instructions } = await payroll.ledger();
    for (const { id } of instructions.filter((one) => one.status === 'C_INST_WAITING_FOR_APPROVAL'))
      await axios.post(`${payroll.bank.url}/sandbox/instructions/${id}/release`);
  }

  it.each([
    ['at SUB_STARTED', { submitRuns: 'later' }, 60_000, anHourPasses],
    ['waiting for an approval', { submitWaitsFor: 'approval' }, undefined, allAreApproved],
  ] as const)(
    'pays nobody twice whose submit is queued, though it shows as before their submit what is %s since',
    async (_status, variants, stepMs, takesUp) => {
      await start({ ...LISTS_SUBMITTED, ...variants }, stepMs);
      list((one) => (one.status === 'C_INST_WAITING_FOR_APPROVAL' ? { ...one, status: 'INITIATED' } : one));
      const shown = await verified();
      const queued = await payroll.uploaded(payFile(payRows(2, 3)), { supplementOf: shown });
      await restoring.backUp();
      await payroll.clearFaults();
      await payroll.until(shown, ['FOLLOWING'], 30_000);
      const before = await submits();
      await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs: DELAY_MS });
      expect((await payroll.approve(await payroll.run(queued.id))).status).toBe(200);
      await eventually(async () => (await submits()) === before + 1, 20_000);
      const late = pause(DELAY_MS + 500);
      await restoring.restore();
      expect(await restoring.answered()).toContain(
        'was not seen to show any of this service that is not submitted yet',
      );
      expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
      await restoring.withdraw();
      expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
      await payroll.approve(await payroll.run(queued.id));
      await late;
      await pause(3_000);
      expect((await payroll.run(queued.id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
      expect(await submits()).toBe(before + 1);
      await takesUp();
      await eventually(async () => {
        const { payees } = await payroll.ledger();
        return payees.length === 4 && payees.every(({ count }) => count === 1);
      }, 10_000);
    },
  );

  it.each([
    ['shows that at once', 0],
    ['shows that no sooner than the lag bound allows', 8_000],
  ])(
    'is not learned to show what is not submitted from what somebody else submits once it was read back, where a read %s',
    async (_when, lagMs) => {
      await start({ ...LISTS_SUBMITTED, submitRuns: 'later' }, 600_000, lagMs);
      const id = await verified();
      const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
      const before = await payroll.services[0]!.app.get(BankGateway).getInstruction(bankInstructionId);
      await payroll.stopServices();
      await payroll.submitAtBank(bankInstructionId);
      const shownFromMs = performance.now() + lagMs;
      const read = BankGateway.prototype.getInstruction;
      jest.spyOn(BankGateway.prototype, 'getInstruction').mockImplementation(async function (
        this: BankGateway,
        ...asked
      ) {
        return performance.now() < shownFromMs ? before : read.apply(this, asked);
      });
      payroll.url = (await payroll.addReplica()).url;
      const learning = jest.spyOn(BankGateway.prototype, 'listStatuses');
      await eventually(() => learning.mock.calls.length > 0, 20_000);
      await pause(2_000 + lagMs);
      expect(await restoring.stored('SELECT FROM bank_list WHERE unsubmitted_shown_at IS NOT NULL')).toEqual(
        [],
      );
    },
  );
});

it('a check after a restore asks nobody where the service restarts once the bank has deleted what was built, and lists it no more', async () => {
  await start({ secondSubmit: 'executed' });
  const id = await verified(4);
  const { instructions } = await payroll.run(id);
  const built = new Set(
    instructions.map(({ bankInstructionId }: { bankInstructionId: string }) => bankInstructionId),
  );
  await restoring.backUp();
  await restoring.inBackup('UPDATE bank_list SET unsubmitted_shown_at = NULL');
  // A read back fails: the check is tried again.
  const remove = BankGateway.prototype.deleteInstruction;
  const deleted = new Set<string>();
  jest.spyOn(BankGateway.prototype, 'deleteInstruction').mockImplementation(async function (
    this: BankGateway,
    ...asked
  ) {
    const outcome = await remove.apply(this, asked);
    // Once alone: what is gone is deleted once more.
    if (!deleted.has(asked[0]) && deleted.add(asked[0]).size === built.size)
      await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
    return outcome;
  });
  const isListed = ({ status, bankInstructionId = '' }: BankPayment) =>
    status !== 'INITIATED' || (built.has(bankInstructionId) && !deleted.has(bankInstructionId));
  list((one) => (isListed(one) ? one : undefined));
  await restoring.restore();
  await eventually(() => Promise.resolve(deleted.size === built.size), 20_000);
  await pause(1_000);
  await payroll.stopServices();
  payroll.url = (await payroll.addReplica()).url;
  await payroll.clearFaults();
  expect(await restoring.answered()).toContain(
    'no submitted instruction of this employer that was forgotten',
  );
  expect(await restoring.resume()).toBe('RESUMED');
});
