import { BankUnreachable, ContractDrift, ListUnreadable } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import type { BankReads } from '../../src/employer/bank-reads';
import type { BankRead, EmployerAccount } from '../../src/employer/employer.entity';
import { PaymentSource } from '../../src/settlement/payment-source';

const READS: BankRead[] = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'];
/** So many are read one by one whatever their size. */
const FEW = 5;

/** Instructions of a size, read all at once from a bank that counts its calls. */
async function readAll(instructions: number, rows: number, reads = READS, unreadable?: Error) {
  const bank = { ownLists: 0, atOnce: 0, mostAtOnce: 0, sweeps: 0 };
  const payment = (n: number) => ({ bankInstructionId: `bank-${n}`, ids: [], status: 'SETTLED' });
  const own = {
    payments: async (_: EmployerAccount, { bankInstructionId }: { bankInstructionId: string }) => {
      bank.ownLists += 1;
      bank.atOnce += 1;
      bank.mostAtOnce = Math.max(bank.mostAtOnce, bank.atOnce);
      await new Promise((resolve) => setTimeout(resolve, 5));
      bank.atOnce -= 1;
      if (bankInstructionId === 'bank-7' && rows === FAILING_ROWS) throw new Error('away');
      return [payment(Number(bankInstructionId.slice(5)))];
    },
  };
  const gateway = {
    listPayments: async function* () {
      bank.sweeps += 1;
      if (unreadable) throw unreadable;
      for (let n = 0; n < instructions; n += 1) yield await Promise.resolve(payment(n));
    },
  };
  const source = new PaymentSource(own as unknown as BankReads, gateway as unknown as BankGateway);
  const account = { reads } as EmployerAccount;
  const found = await Promise.allSettled(
    Array.from({ length: instructions }, (_, n) => {
      const at = {
        bankInstructionId: `bank-${n}`,
        createdAt: new Date(0),
        bankIds: [],
        isNamedBy: () => false,
      };
      return source.paymentsOf(account, { id: `ours-${n}`, rows }, at);
    }),
  );
  const seen = found.map((one) => (one.status === 'fulfilled' ? idsOf(one.value) : 'failed'));
  return { bank, seen };
}

const FAILING_ROWS = 101;
const idsOf = (payments: readonly BankPayment[]) => payments.map((one) => one.bankInstructionId).join();
const each = (count: number) => Array.from({ length: count }, (_, n) => `bank-${n}`);

it('reads many small instructions by one sweep of the general list', async () => {
  const { bank, seen } = await readAll(40, 99);
  expect(bank).toMatchObject({ ownLists: FEW, sweeps: 1 });
  expect(seen).toEqual(each(40));
});

it('reads instructions that fill pages of their own by their own lists, eight at once, and sweeps nothing', async () => {
  const { bank, seen } = await readAll(40, 100);
  expect(bank).toMatchObject({ ownLists: 40, sweeps: 0, mostAtOnce: FEW + 8 });
  expect(seen).toEqual(each(40));
});

it('goes on with the others when the list of one cannot be read', async () => {
  const { seen } = await readAll(40, FAILING_ROWS);
  expect(seen).toEqual(each(40).map((id, n) => (n === 7 ? 'failed' : id)));
});

it.each([new ListUnreadable('repeats'), new ContractDrift(['items.7'])])(
  'reads each by its own list where the general one cannot be read to its end (%s)',
  async (unreadable) => {
    const { bank, seen } = await readAll(40, 99, READS, unreadable);
    expect(bank.ownLists).toBe(40);
    expect(bank.mostAtOnce).toBeLessThanOrEqual(FEW + 8);
    expect(seen).toEqual(each(40));
    expect((await readAll(2, 99, ['PAYMENT_LIST'], unreadable)).seen).toEqual(['failed', 'failed']);
  },
);

it('does not read by own lists where the bank is away', async () => {
  const { bank } = await readAll(40, 99, READS, new BankUnreachable('ECONNREFUSED', false));
  expect(bank.ownLists).toBe(FEW);
});

it('sweeps for large instructions as well where the bank links no list', async () => {
  const { bank, seen } = await readAll(40, 100, ['PAYMENT_LIST']);
  expect(bank).toMatchObject({ ownLists: 0, sweeps: 1 });
  expect(seen).toEqual(each(40));
});
