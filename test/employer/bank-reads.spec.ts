import { BankClient } from '../../src/bank/client';
import { ContractDrift } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { Clock } from '../../src/config/clock';
import type { BankLists } from '../../src/database/bank-lists';
import { BankReads } from '../../src/employer/bank-reads';
import type { EmployerAccount } from '../../src/employer/employer.entity';
import { messageIdOf, namesOf } from '../../src/pay-run/message-id';
import { answer, PAYMENT_BODY, ScriptedBank } from '../bank/scripted-bank';

const OURS = '018f0000-0000-7000-8000-000000000001';

let bank: ScriptedBank;
let client: BankClient;
beforeEach(async () => {
  bank = await new ScriptedBank().listen();
  client = new BankClient({ baseUrl: bank.url, token: 'token', amountUnit: 'major' });
});
afterEach(async () => {
  client.close();
  await bank.close();
});

/** What is read of our instruction 4711, whose payment is 901, in a list of everybody's payments. */
async function readIn(...items: unknown[]): Promise<string[]> {
  bank.handler = (_request, response) =>
    answer(response, 200, { items, count: items.length, limit: 100, offset: 0 });
  const lists = { remember: () => Promise.resolve() } as unknown as BankLists;
  const reads = new BankReads(new BankGateway(client), lists, new Clock());
  const account = { reads: ['PAYMENT_LIST'] } as unknown as EmployerAccount;
  const at = {
    bankInstructionId: '4711',
    createdAt: new Date(),
    bankIds: [['901', '900'] as const],
    isNamedBy: namesOf(OURS),
  };
  return (await reads.payments(account, at)).map(({ bankPaymentId }) => bankPaymentId);
}

interface Told {
  id?: number;
  other?: number;
  instruction?: number;
  messageId?: string;
  amount?: unknown;
  status?: unknown;
}
const record = ({ id, other, instruction, messageId, amount, status = { value: 'SETTLED' } }: Told) => ({
  customerInstructionId: instruction,
  paymentTransactionInformation: { paymentTransactionIdentification: { id: other, messageId } },
  paymentTransactionInternalInformation: { id, status },
  paymentTransactionAmountInformation: { instructedAmount: amount },
});
const DOLLARS = { value: 1, currency: 'USD' };

describe('a list of everybody’s payments', () => {
  it.each([
    ['in a currency whose decimals nobody here knows', { amount: DOLLARS }],
    ['of half a cent', { amount: { value: '0.005', currency: 'EUR' } }],
    ['without a currency', { amount: { value: 1 } }],
    ['without a status', { status: null }],
    ['without an id', { id: undefined }],
  ])('is read though it holds a payment of somebody else %s', async (_what, odd: Told) => {
    const ofAnother = record({ id: 77, instruction: 9, ...odd });
    const ofNone = record({ id: 79, ...odd });
    expect(await readIn(ofAnother, PAYMENT_BODY, ...('id' in odd ? [] : [ofNone]))).toEqual(['901']);
  });

  it.each([
    ['its instruction', { id: 78, instruction: 4711 }],
    ['its message id', { id: 78, messageId: messageIdOf(OURS, 1) }],
    ['its own id', { id: 901 }],
    ['nothing it says', {}],
  ])('is not, where one is as odd that by %s may be ours', async (_by, marks: Told) => {
    const odd = { ...marks, amount: DOLLARS, ...(marks.id === undefined && { status: null }) };
    await expect(readIn(record(odd))).rejects.toThrow(ContractDrift);
  });

  it('does not take a payment of somebody else for ours by either of its ids', async () => {
    const foreign = [record({ id: 901, instruction: 9 }), record({ id: 900 }), record({ id: 7, other: 901 })];
    expect(await readIn(...foreign)).toEqual([]);
  });
});
