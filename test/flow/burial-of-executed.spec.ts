import { setTimeout as sleep } from 'node:timers/promises';
import { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import type { Variants } from '../../src/bank-sandbox/variants';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(() => {
  jest.restoreAllMocks();
  return payroll.close();
});

const LAG_MS = 2_000;
/** A little more than any read is old. */
const LAG_BOUND_MS = LAG_MS + 500;
const EVIDENCE = 'letter of the bank, 4711: it never received a submit of it';

/** At a bank that shows a submitted instruction no more, and confirms each delete of it. */
const start = async (variants: Partial<Variants> = {}, lagBoundMs = LAG_BOUND_MS) => {
  payroll = await Payroll.start({
    settings: { SUBMIT_DOUBT_MS: '400', BANK_LAG_BOUND_MS: String(lagBoundMs) },
    sandbox: {
      variants: {
        onceSubmitted: 'gone-with-its-list',
        linkReads: 'allowed',
        omitFromLists: [],
        listingLagMs: 0,
        ...variants,
      },
    },
  });
  // By no other way than the general list.
  await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
};

/** A run whose submit was lost, parked and not read by itself any more. */
const parked = async () => {
  await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
  const id = await payroll.paid(payFile(payRows(3)));
  const path = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
  await payroll.letRest('INSTRUCTION');
  const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
  return { id, path, bankInstructionId: String(bankInstructionId) };
};
const decided = async (path: string, evidence?: string) => {
  const { status, data } = await payroll.decide(path, {
    action: 'NOT_EXECUTED',
    reason: 'nothing was taken',
    evidence,
  });
  return [status, data.code];
};
const statusOf = async (id: string) => (await payroll.run(id)).instructions[0].status;
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);

/**
 * The lost submit is executed at last, after the read before the delete, which the bank confirms. For as long as it lags, the
 * general list shows it so.
 */
const executeBeforeDelete = (
  bankInstructionId: string,
  shownAtFirst: (one: BankPayment) => BankPayment[],
) => {
  let executedMs = Infinity;
  const { deleteInstruction: remove } = BankGateway.prototype;
  jest.spyOn(BankGateway.prototype, 'deleteInstruction').mockImplementationOnce(async function (
    this: BankGateway,
    ...asked
  ) {
    await payroll.submitAtBank(bankInstructionId);
    executedMs = performance.now();
    const outcome = await remove.apply(this, asked);
    expect(outcome).toMatchObject({ kind: 'yes' });
    return outcome;
  });
  const list = BankGateway.prototype.listPayments as (...asked: unknown[]) => AsyncGenerator<BankPayment>;
  jest.spyOn(BankGateway.prototype, 'listPayments').mockImplementation(async function* (
    this: BankGateway,
    ...asked: unknown[]
  ) {
    const isShown = performance.now() > executedMs + LAG_MS;
    for await (const one of list.apply(this, asked)) yield* isShown ? [one] : shownAtFirst(one);
  });
};

describe('a submit in doubt that the bank executes before people declare it not executed, and shows no more', () => {
  it('is not proven dead by the delete of what a read as old as the lag bound still shows', async () => {
    await start({ generalList: 'unsettled', listingLagMs: LAG_MS });
    const { id, path, bankInstructionId } = await parked();
    await payroll.submitAtBank(bankInstructionId);
    await sleep(500);
    expect(await decided(path)).toEqual([409, 'NOT_PROVEN_DEAD']);
    expect(await statusOf(id)).toBe('SUBMIT_UNKNOWN');
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it('is seen to have moved by a list that lags less than the lag bound', async () => {
    await start();
    const { id, path, bankInstructionId } = await parked();
    executeBeforeDelete(bankInstructionId, () => []);
    expect(await decided(path)).toEqual([409, 'WAS_EXECUTED']);
    expect(await statusOf(id)).toBe('SUBMITTED');
  });

  it('is seen so against the written word of the bank too, though at first only its payments are shown, as they were', async () => {
    await start();
    const { path, bankInstructionId } = await parked();
    executeBeforeDelete(bankInstructionId, (one) => [{ ...one, status: 'INITIATED', wasSettled: false }]);
    expect(await decided(path, EVIDENCE)).toEqual([409, 'WAS_EXECUTED']);
  });
});

describe('a submit in doubt that was not executed', () => {
  const deletes = async () => (await payroll.calls()).deleteInstruction ?? 0;

  it.each(['404', '409', '410', '422'] as const)(
    'is proven dead where the bank answers the second delete with %s',
    async (kind) => {
      await start({}, 0);
      const { id, path } = await parked();
      await payroll.fault({ operation: 'deleteInstruction', kind, nth: 2 });
      const before = await deletes();
      expect(await decided(path)).toEqual([200, undefined]);
      expect((await deletes()) - before).toBe(2);
      expect(await statusOf(id)).toBe('VOID');
    },
  );

  it.each(['500-before', '403'] as const)(
    'takes the word of the bank where the second delete says nothing (%s)',
    async (kind) => {
      await start({}, 0);
      const { path } = await parked();
      await payroll.fault({ operation: 'deleteInstruction', kind, nth: 2 });
      expect(await decided(path)).toEqual([409, 'NOT_PROVEN_DEAD']);
      await payroll.clearFaults();
      await payroll.as('operator').delete(`${path}/actions`);
      expect(await decided(path, EVIDENCE)).toEqual([200, undefined]);
    },
  );
});
