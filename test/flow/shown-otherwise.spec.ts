import type { BankInstruction } from '../../src/bank/records';
import { isPastSubmit } from '../../src/domain/bank-status';
import { BankReads } from '../../src/employer/bank-reads';
import { execute } from '../support/database';
import { payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

/** What a bank may say of an instruction itself once it was submitted, while its payments say what became of them. */
const SAYS = ['403', 'PROCESSED', 'CANCELLED'];

let payroll: Payroll;
beforeEach(async () => {
  payroll = await Payroll.start({
    settings: { SUBMIT_DOUBT_MS: '400' },
    sandbox: { variants: { linkReads: 'allowed' } },
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

/** From now on the bank says so of every instruction that was submitted, and of what is to be gone at once. */
const says = async (what: string) => {
  if (what === '403') return payroll.fault({ operation: 'getInstruction', kind: '403', every: 1 });
  const reads = payroll.services[0]!.app.get(BankReads);
  const { instruction } = reads;
  jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
    const shown = await instruction.apply(reads, asked);
    return shown && isPastSubmit(shown.status)
      ? ({ ...shown, status: what } satisfies BankInstruction)
      : shown;
  });
};
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const written = { action: 'NOT_EXECUTED', reason: 'the bank said so', evidence: 'letter of today, B-9' };
const decided = async (path: string) => {
  return payroll.decide(path, written);
};
/** Has what is stored read again at once. */
const readNow = () =>
  execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
/** A run whose one submit was lost, parked. */
const parked = async () => {
  const { id, path } = await payroll.parked(payRows(3));
  const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
  return { id, path, bankInstructionId: String(bankInstructionId) };
};

describe('a submit without an answer, of which the instruction itself tells nothing any more', () => {
  it.each(SAYS)('is proven executed by the payments (%s)', async (what) => {
    const { id, bankInstructionId } = await parked();
    await says(what);
    await payroll.submitAtBank(bankInstructionId);
    await readNow();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await kinds()).not.toContain('SUBMIT_UNKNOWN');
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it.each(SAYS)(
    'is not declared not executed, also with a letter, where payments went on (%s)',
    async (what) => {
      const { id, path, bankInstructionId } = await parked();
      // Nothing else reads it between the submit and the decision.
      await payroll.letRest('INSTRUCTION');
      await says(what);
      await payroll.submitAtBank(bankInstructionId);
      const answer = await decided(path);
      expect([answer.status, answer.data.code]).toEqual([
        409,
        expect.stringMatching(/WAS_EXECUTED|RESOLVED/),
      ]);
      await readNow();
      await payroll.until(id, ['SETTLED'], 20_000);
      expect(await timesPaid()).toEqual([1, 1, 1]);
    },
  );

  it.each(SAYS)(
    'pays nobody again where it was executed after it was declared otherwise (%s)',
    async (what) => {
      const { id, path, bankInstructionId } = await parked();
      await payroll.fault({ operation: 'deleteInstruction', kind: '500-before', every: 1 });
      expect((await decided(path)).status).toBe(200);
      await payroll.clearFaults();
      await payroll.until(id, ['FAILED'], 20_000);
      const made = await payroll.successorOf(id);
      expect(made.status).toBe(201);
      await says(what);
      await payroll.submitAtBank(bankInstructionId);
      await payroll.approve(made.data);
      await eventually(async () => {
        await readNow();
        return (await kinds()).includes('INVARIANT_BREACH');
      }, 20_000);
      expect(await timesPaid()).toEqual([1, 1, 1]);
    },
  );
});
