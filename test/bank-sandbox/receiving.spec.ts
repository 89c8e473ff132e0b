import { PATHS } from '../../src/bank/types';
import { paymentIdOf, paymentStatusOf, Tester } from './client';
import { Receiver } from './receiver';

let bank: Tester;
beforeEach(async () => {
  bank = await Tester.start();
});
afterEach(() => bank.close());

describe('money for an account that takes none', () => {
  const newcomer = { userId: 611, identityId: 9611, holderName: 'Newcomer SARL', kyc: 'VERIFIED' };
  let iban: string;
  let accountId: string;
  beforeEach(async () => {
    await bank.post('/sandbox/users', newcomer);
    const { body } = await bank.post(PATHS.userAccounts('611'), { productId: 11 });
    accountId = body.id;
    ({ iban } = await bank.account(accountId));
  });
  const incoming = (amountMinor = '100') => bank.post('/sandbox/incoming-payments', { iban, amountMinor });

  it.each([
    ['closed', () => bank.delete(PATHS.account(accountId))],
    ['suspended', () => bank.post(`/sandbox/accounts/${accountId}/block`)],
    ['suspended with its holder', () => bank.post('/sandbox/identities/9611/block')],
  ])('is refused when the account is %s', async (_how, change) => {
    expect((await change()).status).toBe(200);
    const { status, body } = await incoming();
    expect([status, body.code]).toEqual([422, 'CREDITOR_ACCOUNT_NOT_OPENED']);
    expect((await bank.account(accountId)).balance.value).toBe(0);
    expect((await bank.get(PATHS.paymentTransactions())).body.count).toBe(0);
  });

  it('is taken when the account is open again, and is more than nothing', async () => {
    await bank.post(`/sandbox/accounts/${accountId}/block`);
    await bank.post(`/sandbox/accounts/${accountId}/unblock`);
    expect((await incoming('0')).status).toBe(422);
    expect((await incoming('00')).status).toBe(422);
    expect((await incoming('1')).status).toBe(201);
    expect((await bank.account(accountId)).balance.value).toBe(1);
  });

  it.each([
    ['its account', () => `/sandbox/accounts/${accountId}/block`],
    ['its holder', () => '/sandbox/identities/9611/block'],
  ])('from this bank fails when %s is blocked at the settlement', async (_what, path) => {
    const slow = await Tester.start({ stepMs: 1_000, variants: { secondSubmit: 'executed' } });
    await slow.post('/sandbox/users', newcomer);
    const opened = (await slow.post(PATHS.userAccounts('611'), { productId: 11 })).body;
    const payee = (await slow.account(opened.id)).iban;
    const { id, added } = await slow.pay([{ value: 100, iban: payee }]);
    await slow.advance(6_000);
    await slow.post(path());
    await slow.advance(2_000);
    expect(paymentStatusOf(await slow.payment(paymentIdOf(added[0])))).toBe('PRO_SETTLEMENT_FAILED');
    await slow.submit(id);
    await slow.advance(2_000);
    expect((await slow.ledger()).payees).toEqual([]);
    expect(await slow.account('1001')).toMatchObject({
      balance: { value: 25_000_000 },
      availableBalance: { value: 25_000_000 },
    });
    expect((await slow.account(opened.id)).balance.value).toBe(0);
    await slow.close();
  });
});

it('closes a user once, and tells of it once', async () => {
  const receiver = await Receiver.start();
  const { body: hook } = await bank.post(PATHS.hooks(), {
    name: 'hook',
    url: receiver.url,
    events: ['identity.closed'],
  });
  await bank.post('/sandbox/users', {
    userId: 612,
    identityId: 9612,
    holderName: 'Once SA',
    kyc: 'VERIFIED',
  });
  await bank.post(PATHS.hookIdentity(String(hook.id), '9612'));
  expect((await bank.delete(PATHS.user('612'))).status).toBe(200);
  await receiver.until(1);
  const { status, body } = await bank.delete(PATHS.user('612'));
  expect([status, body.code]).toEqual([409, 'USER_CLOSED']);
  expect(await receiver.settled()).toHaveLength(1);
});

it('says of a user that is none what one is', async () => {
  const { status, body } = await bank.post('/sandbox/users', {
    userId: 1,
    identityId: 2,
    holderName: 'A',
    kyc: 'DONE',
  });
  expect(status).toBe(422);
  expect(body.message).toContain('not valid: kyc; ');
  expect(body.message).toContain('kyc is VERIFIED or PENDING');
});
