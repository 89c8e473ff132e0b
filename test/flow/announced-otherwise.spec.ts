import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { BankGateway } from '../../src/bank/gateway';
import type { BankInstruction } from '../../src/bank/records';
import { addDays } from '../../src/domain/calendar';
import { BankReads } from '../../src/employer/bank-reads';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
beforeEach(async () => {
  payroll = await Payroll.start({ sandbox: { variants: { linkReads: 'allowed' } } });
  const gateway = payroll.services[0]!.app.get(BankGateway);
  const { sendInitiate } = gateway;
  // As a bank may: its answer names the instruction and says no more.
  jest.spyOn(gateway, 'sendInitiate').mockImplementation(async (prepared) => {
    const outcome = await sendInitiate.call(gateway, prepared);
    if (outcome.kind !== 'yes') return outcome;
    const { bankInstructionId, status } = outcome.value;
    return { ...outcome, value: { bankInstructionId, status } };
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

/** From now on the bank shows instructions so. */
function shows(change: (shown: BankInstruction) => Partial<BankInstruction>): void {
  const reads = payroll.services[0]!.app.get(BankReads);
  const { instruction } = reads;
  jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
    const shown = await instruction.apply(reads, asked);
    return shown && { ...shown, ...change(shown) };
  });
}
const mismatches = async () =>
  (await payroll.attention()).filter(({ kind }) => kind === 'ECHO_MISMATCH').map(({ happened }) => happened);
const submits = async () => (await payroll.calls()).submit ?? 0;

describe('an instruction whose initiation was answered with its id alone', () => {
  it.each<[string, (shown: BankInstruction) => Partial<BankInstruction>]>([
    ['debtorIban', () => ({ debtorIban: 'BE68539007547034' })],
    ['executionDate', () => ({ executionDate: addDays(payroll.executionDate(), -1) })],
    ['reference', () => ({ reference: 'of somebody else' })],
  ])('is not submitted where a read shows another %s', async (field, change) => {
    shows(change);
    const id = await payroll.paid(payFile(payRows(2)));
    await eventually(async () => (await mismatches()).length > 0, 20_000);
    expect(await mismatches()).toContainEqual(expect.stringContaining(`it differs in ${field}`));
    await payroll.askedAbout(id, 'REBUILD_LIMIT');
    expect(await submits()).toBe(0);
  });

  it('is submitted where a read shows it as it was sent, its date moved to a later day', async () => {
    shows(({ executionDate = '' }) => ({ executionDate: addDays(executionDate, 3) }));
    await payroll.until(await payroll.paid(payFile(payRows(2))), ['SETTLED']);
    expect(await submits()).toBe(1);
  });
});

describe('an instruction of somebody else whose id an initiation was answered with', () => {
  it('is never submitted', async () => {
    const other = await payroll.initiateAtBank(DEFAULT_SEED.users[0]);
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { sendInitiate } = gateway;
    jest.spyOn(gateway, 'sendInitiate').mockImplementationOnce(async (prepared) => {
      const outcome = await sendInitiate.call(gateway, prepared);
      return outcome.kind === 'yes'
        ? { ...outcome, value: { ...outcome.value, bankInstructionId: other } }
        : outcome;
    });
    await payroll.until(await payroll.paid(payFile(payRows(2))), ['SETTLED']);
    const { instructions, payees } = await payroll.ledger();
    expect(instructions.find(({ id }) => String(id) === other)?.submits).toBe(0);
    expect(payees.map(({ count }) => count)).toEqual([1, 1]);
  });
});
