import { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
beforeEach(async () => {
  restoring = await Restoring.start(
    { RECONCILE_MS: '2000', BANK_LAG_BOUND_MS: '500' },
    { onceSubmitted: 'gone-with-its-list' },
  );
  payroll = restoring.payroll;
});
afterEach(() => {
  jest.restoreAllMocks();
  return restoring.close();
});

const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const isSubmitted = async () => (await payroll.ledger()).instructions.some(({ submits }) => submits > 0);

/**
 * What the bank had queued it executes after the read that still shows it as before its submit, and just before it is to be
 * deleted, which it confirms; of what has settled it shows nothing by then.
 */
async function executeBeforeDelete(bankInstructionId: string): Promise<void> {
  await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
  const remove = BankGateway.prototype.deleteInstruction;
  jest.spyOn(BankGateway.prototype, 'deleteInstruction').mockImplementation(async function (
    this: BankGateway,
    ...asked
  ) {
    if (!(await isSubmitted())) await payroll.submitAtBank(bankInstructionId);
    const outcome = await remove.apply(this, asked);
    expect(outcome).toMatchObject({ kind: 'yes' });
    return outcome;
  });
  for (const list of ['listStatuses', 'listPayments'] as const) {
    const read = BankGateway.prototype[list] as (...asked: unknown[]) => AsyncGenerator<BankPayment>;
    jest.spyOn(BankGateway.prototype, list).mockImplementation(async function* (
      this: BankGateway,
      ...asked: unknown[]
    ) {
      const isGone = await isSubmitted();
      for await (const one of read.apply(this, asked))
        if (!isGone || one.bankInstructionId !== bankInstructionId) yield one;
    });
  }
}

describe('a database restored, at a bank that executes a forgotten submit before the delete, and confirms that', () => {
  it('does not build again what the record holds', async () => {
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    await restoring.backUp();
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    await executeBeforeDelete(String(bankInstructionId));
    await restoring.restore();
    const told = await restoring.answered();
    expect(await timesPaid()).toEqual([1, 1]);
    expect(told).toContain(`or does not find them (${bankInstructionId})`);
    expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
    expect((await payroll.run(id)).instructions).toMatchObject([{ bankInstructionId }]);
  });

  it('does not take what was forgotten too for deleted', async () => {
    const run = await payroll.uploaded(payFile(payRows(2)));
    await restoring.backUp();
    await payroll.stopPastTheGate();
    await payroll.approve(run);
    await payroll.until(run.id, ['SUBMITTING'], 20_000);
    const [{ bankInstructionId }] = (await payroll.run(run.id)).instructions;
    await executeBeforeDelete(String(bankInstructionId));
    await restoring.restore();
    const told = await restoring.answered();
    expect(await timesPaid()).toEqual([1, 1]);
    expect(told).not.toContain('deleted there by now');
    expect(told).toContain('was a submit of it received, or is one queued?');
    expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
  });
});
