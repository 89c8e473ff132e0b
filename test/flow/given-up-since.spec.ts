import { BankGateway } from '../../src/bank/gateway';
import { InstructionReader } from '../../src/submission/read-back';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { RUN_DECISIONS } from '../support/run-decisions';

/** Long enough for people to decide and approve before the bank shows what it has executed. */
const LAG_MS = 6_000;
const LAST_MOMENT_MS = LAG_MS - 500;

let payroll: Payroll;
beforeEach(async () => {
  payroll = await Payroll.start({
    rowsPerInstruction: 2,
    sandbox: { variants: { secondSubmit: 'executed', linkReads: 'allowed' } },
    // What was given up is read at once, and then not before all is over.
    settings: { BANK_LAG_BOUND_MS: String(LAG_MS), FOLLOW_DELAYS_MS: '120000' },
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  return payroll.close();
});

const rows = payRows(2);
const reason = 'the bank and we have looked into it';
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);

/** Somebody else submits it: every read of it is from before that, until the lag bound has almost passed. */
async function submittedByOthers(bankInstructionId: string): Promise<void> {
  const read = BankGateway.prototype.getInstruction;
  const gateway = payroll.services[0]!.app.get(BankGateway);
  const before = await gateway.getInstruction(bankInstructionId);
  await payroll.submitAtBank(bankInstructionId);
  const shownFrom = performance.now() + LAST_MOMENT_MS;
  jest.spyOn(BankGateway.prototype, 'getInstruction').mockImplementation(async function (
    this: BankGateway,
    ...asked
  ) {
    const isOld = asked[0] === bankInstructionId && performance.now() < shownFrom;
    return isOld ? before : read.apply(this, asked);
  });
}

const built = async (id: string): Promise<string> => {
  const { instructions } = await payroll.run(id);
  return instructions[0].bankInstructionId;
};

/** A run that waits at its gate for the balance. */
async function verified(): Promise<string> {
  await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
  const id = await payroll.paid(payFile(rows));
  await payroll.until(id, ['VERIFIED'], 40_000);
  return id;
}

/** Everything is stopped before what takes its place is submitted. */
async function nobodyIsPaidTwice(id: string): Promise<void> {
  await eventually(async () => {
    const { status } = await payroll.run(id);
    return (await kinds()).includes('INVARIANT_BREACH') || ['FOLLOWING', 'SETTLED'].includes(status);
  }, 40_000);
  expect((await kinds()).sort()).toEqual(['INVARIANT_BREACH', 'POSSIBLE_DUPLICATE_PAY']);
  expect(await timesPaid()).toEqual([1, 1]);
}

describe('an instruction that somebody else has submitted, which the bank does not show before it is given up,', () => {
  it('is read again before what takes its place is submitted, where its run was amended', async () => {
    const id = await verified();
    await submittedByOthers(await built(id));
    const submitAt = new Date(Date.now() - 1_000).toISOString();
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), { submitAt, reason });
    await payroll.until(id, ['READY'], 20_000);
    await payroll.clearFaults();
    await payroll.approve(await payroll.run(id));
    await nobodyIsPaidTwice(id);
  });

  it('is read again before another run pays the same people, where its own was cancelled', async () => {
    const id = await verified();
    await submittedByOthers(await built(id));
    await RUN_DECISIONS['is cancelled'](payroll, id);
    await payroll.clearFaults();
    await nobodyIsPaidTwice(await payroll.paid(payFile(rows)));
  });

  it('is read again before what takes its place is submitted, where it is built again in mid-run', async () => {
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SUBMITTING'], 40_000);
    const { readBack } = InstructionReader.prototype;
    let isUnread = true;
    jest.spyOn(InstructionReader.prototype, 'readBack').mockImplementation(async function (
      this: InstructionReader,
      ...asked
    ) {
      const reading = await readBack.apply(this, asked);
      if (!isUnread) return reading;
      isUnread = false;
      return { kind: 'unidentified', why: 'two rows cannot be told apart' };
    });
    await submittedByOthers(await built(id));
    await payroll.letRunsGoOn();
    await nobodyIsPaidTwice(id);
  });
});
