import { BankGateway } from '../../src/bank/gateway';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { emptyList } from '../support/empty-list';
import { BankReads } from '../../src/employer/bank-reads';
import type { BankRead } from '../../src/employer/employer.entity';
import { PaymentSource } from '../../src/settlement/payment-source';
import { select } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const DAY_MS = 86_400_000;
const neverSettles = MAGIC_CREDITORS.find(({ effect }) => effect === 'neverSettles')!.iban;
const word = { reason: 'the bank has answered', evidence: 'letter 4711 of the bank' };

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const settled = async () =>
  (await select(payroll.database.superuserUrl, `SELECT FROM payment WHERE status = 'SETTLED'`)).length;
const eventuallyRead = (holds: () => Promise<boolean>) =>
  eventually(async () => {
    await payroll.wakeAll();
    return holds();
  }, 20_000);

/** A run of three payments, of which one never settles, at a bank whose list of an instruction shows what is unfinished only. */
async function unfinishedOnly(reads: BankRead[], begin: (bank: BankGateway) => void = () => undefined) {
  payroll = await Payroll.start({ sandbox: { variants: { linkReads: 'allowed' } } });
  await payroll.letsRead(...reads);
  const bank = payroll.services[0]!.app.get(BankGateway);
  const { listInstructionPayments } = bank;
  jest.spyOn(bank, 'listInstructionPayments').mockImplementation(async function* (...asked) {
    for await (const one of listInstructionPayments.apply(bank, asked))
      if (one.status !== 'SETTLED') yield one;
  });
  begin(bank);
  const rows = payRows(3);
  rows[0]!.iban = neverSettles;
  const id = await payroll.paid(payFile(rows));
  await payroll.until(id, ['FOLLOWING'], 20_000);
  return id;
}

/** Follows by the list of the instruction alone, as if every other read failed. */
function seesItsListAlone() {
  const { app } = payroll.services[0]!;
  const reads = app.get(BankReads);
  jest
    .spyOn(app.get(PaymentSource), 'paymentsOf')
    .mockImplementation((account, _, at) => reads.ownPayments(account, at));
}

describe('at a bank whose list of an instruction shows what is unfinished only', () => {
  it.each<[string, BankRead[]]>([
    ['in the general list', ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST']],
    ['each by itself', ['INSTRUCTION', 'INSTRUCTION_PAYMENTS']],
  ])('the others are seen to settle %s', async (_, reads) => {
    await unfinishedOnly(reads);
    await eventuallyRead(async () => (await settled()) === 2);
  });

  it.each<[string, BankRead[], boolean]>([
    ['the general list', ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'], true],
    ['a read of it by itself', ['INSTRUCTION', 'INSTRUCTION_PAYMENTS'], true],
    [
      'a read of it by itself alone, of an account that is not known to allow it',
      ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'],
      false,
    ],
  ])('none is declared not paid that %s shows as settled', async (_, reads, isListed) => {
    const id = await unfinishedOnly(reads, seesItsListAlone);
    await payroll.bankClock(new Date(Date.now() + 9 * DAY_MS));
    payroll.clock.offsetMs = 9 * DAY_MS;
    await eventuallyRead(async () =>
      (await payroll.attention()).some(({ kind }) => kind === 'UNKNOWN_STATUS'),
    );
    if (!isListed) {
      const bank = payroll.services[0]!.app.get(BankGateway);
      jest.spyOn(bank, 'listPayments').mockImplementation(emptyList);
      jest.spyOn(bank, 'listInstructionPayments').mockImplementation(emptyList);
    }
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const { items } = (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data;
    const answer = await payroll.decide(path, { action: 'NOT_PAID', paymentIds: [items[2].id], ...word });
    expect([answer.status, answer.data.code]).toEqual([409, 'STATUS_IS_CLEAR']);
  });
});
