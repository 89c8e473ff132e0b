import { PATHS } from '../../src/bank/types';
import { isIban } from '../../src/bank-sandbox/iban';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { ALDER, BIRCH, PAYEE, paymentIdOf, paymentStatusOf, Tester, type Json } from './client';

describe('products and accounts', () => {
  let bank: Tester;
  beforeEach(async () => {
    bank = await Tester.start();
  });
  afterEach(() => bank.close());

  it('lists products in an envelope sorted by id', async () => {
    const { body } = await bank.get(PATHS.products());
    expect(body).toMatchObject({ count: 2, limit: 20, offset: 0, sort: '+id' });
    expect(body.items[0]).toEqual(DEFAULT_SEED.products[0]);
  });

  it('lists the accounts of the distributor with IBAN and BIC', async () => {
    const { body } = await bank.get(PATHS.accounts());
    expect(body).toMatchObject({ count: 3, limit: 20, offset: 0, sort: '+ids' });
    expect(body.items.map((account: Json) => account.iban)).toEqual(
      DEFAULT_SEED.users.map((user) => user.account?.iban),
    );
    expect(body.items.every((account: Json) => isIban(account.iban) && account.bic === 'SBOXDEFFXXX')).toBe(
      true,
    );
  });

  it('opens an account at zero, without an IBAN in the answer and with one in the detail', async () => {
    const { status, body } = await bank.post(PATHS.userAccounts('501'), { productId: 11 });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      userId: 501,
      productId: 11,
      status: 'OPENED',
      label: `Business Current ${body.id}`,
      balance: { value: 0, currency: 'EUR' },
      availableBalance: { value: 0, currency: 'EUR' },
    });
    expect(body).not.toHaveProperty('iban');
    expect(isIban((await bank.account(body.id)).iban)).toBe(true);
  });

  it('opens none for a user with KYC issues, non-Latin letters, or unknown', async () => {
    const user = { userId: 601, identityId: 9601, holderName: 'Dorn SA', kyc: 'PENDING' };
    await bank.post('/sandbox/users', user);
    await bank.post('/sandbox/users', { ...user, userId: 602, holderName: 'Дорн', kyc: 'VERIFIED' });
    await bank.post('/sandbox/users', { ...user, userId: 603, holderName: 'Dœrn & Søn 3', kyc: 'VERIFIED' });
    const open = (userId: string, productId = 11) => bank.post(PATHS.userAccounts(userId), { productId });
    expect((await open('601')).status).toBe(422);
    expect((await open('602')).body.code).toBe('NON_LATIN_CHARACTERS');
    expect((await open('603')).status).toBe(201);
    expect((await open('699')).status).toBe(404);
    expect((await open('501', 99)).status).toBe(422);
  });

  it('closes an account only when it is empty, and for good', async () => {
    const { body } = await bank.post(PATHS.userAccounts('501'), { productId: 11 });
    expect((await bank.delete(PATHS.account('1001'))).status).toBe(422);
    expect((await bank.delete(PATHS.account(body.id))).status).toBe(200);
    expect((await bank.account(body.id)).status).toBe('CLOSED');
    expect((await bank.delete(PATHS.account(body.id))).status).toBe(409);
    expect((await bank.delete(PATHS.account('nothing'))).status).toBe(404);
  });

  it('closes a user with all accounts, or none of them', async () => {
    await bank.post('/sandbox/users', {
      userId: 601,
      identityId: 9601,
      holderName: 'Dorn SA',
      kyc: 'VERIFIED',
    });
    const { body: first } = await bank.post(PATHS.userAccounts('601'), { productId: 11 });
    const { body: second } = await bank.post(PATHS.userAccounts('601'), { productId: 12 });
    const { iban } = await bank.account(first.id);
    await bank.pay([{ iban, value: 100 }]);
    expect((await bank.delete(PATHS.user('601'))).status).toBe(422);
    expect((await bank.account(second.id)).status).toBe('OPENED');
    await bank.pay([{ value: 100 }], {}, { ...ALDER, account: { ...ALDER.account!, iban } });
    expect((await bank.delete(PATHS.user('601'))).status).toBe(200);
    expect((await bank.account(first.id)).status).toBe('CLOSED');
    expect((await bank.account(second.id)).status).toBe('CLOSED');
    expect((await bank.post(PATHS.userAccounts('601'), { productId: 11 })).status).toBe(422);
  });

  it('pays nothing from or to a suspended account from then on', async () => {
    const { id } = await bank.initiate();
    await bank.add(id);
    await bank.post('/sandbox/accounts/1001/block');
    expect((await bank.submit(id)).status).toBe(422);
    expect((await bank.post(PATHS.initiate(), await bank.initiation())).status).toBe(422);
    await bank.post('/sandbox/accounts/1001/unblock');
    expect((await bank.submit(id)).status).toBe(201);
  });

  it('shows the accounts of a blocked identity suspended, and each as it was when it is unblocked', async () => {
    const { body: second } = await bank.post(PATHS.userAccounts('501'), { productId: 11 });
    const { body: third } = await bank.post(PATHS.userAccounts('501'), { productId: 12 });
    await bank.post(`/sandbox/accounts/${second.id}/block`);
    await bank.delete(PATHS.account(third.id));
    const statuses = async () => {
      const { items } = (await bank.get(PATHS.accounts())).body;
      const single = (await bank.account('1001')).status;
      return [single, ...items.map(({ status }: Json) => status)];
    };
    const before = ['OPENED', 'OPENED', 'OPENED', 'OPENED', 'SUSPENDED', 'CLOSED'];
    expect(await statuses()).toEqual(before);
    await bank.post(`/sandbox/identities/${ALDER.identityId}/block`);
    expect(await statuses()).toEqual(['SUSPENDED', 'SUSPENDED', 'OPENED', 'OPENED', 'SUSPENDED', 'CLOSED']);
    expect((await bank.get('/sandbox/portal/accounts')).body[0].status).toBe('SUSPENDED');
    await bank.post(`/sandbox/identities/${ALDER.identityId}/unblock`);
    expect(await statuses()).toEqual(before);
  });

  it('pays nothing from an account of a blocked identity, and goes on when it is unblocked', async () => {
    const slow = await Tester.start({ stepMs: 5_000 });
    const identity = `/sandbox/identities/${ALDER.identityId}`;
    const { added } = await slow.pay([{ value: 100 }]);
    const { id } = await slow.initiate();
    await slow.add(id);
    await slow.post(`${identity}/block`);
    expect((await slow.post(PATHS.initiate(), await slow.initiation())).body.code).toBe(
      'DEBTOR_ACCOUNT_NOT_OPENED',
    );
    expect((await slow.submit(id)).body.code).toBe('DEBTOR_ACCOUNT_NOT_OPENED');
    await slow.advance(30_000);
    expect(paymentStatusOf(await slow.payment(paymentIdOf(added[0])))).toBe('PRO_DEBIT_HOLD_FAILED');
    await slow.post(`${identity}/unblock`);
    expect((await slow.submit(id)).status).toBe(201);
    await slow.advance(120_000);
    expect((await slow.ledger()).payees[0]).toMatchObject({ count: 1, movedMinor: '12345' });
    await slow.close();
  });

  it('keeps closed for good what is blocked and unblocked after it was closed', async () => {
    await bank.post('/sandbox/users', {
      userId: 601,
      identityId: 9601,
      holderName: 'Dorn SA',
      kyc: 'VERIFIED',
    });
    const { body } = await bank.post(PATHS.userAccounts('601'), { productId: 11 });
    await bank.delete(PATHS.user('601'));
    for (const verb of ['block', 'unblock']) {
      expect((await bank.post(`/sandbox/accounts/${body.id}/${verb}`)).status).toBe(409);
      expect((await bank.post(`/sandbox/identities/9601/${verb}`)).status).toBe(409);
    }
    expect((await bank.account(body.id)).status).toBe('CLOSED');
    expect((await bank.post(PATHS.userAccounts('601'), { productId: 11 })).status).toBe(422);
  });

  it('shows a person the balances in euros and cents, whatever the unit of the interface', async () => {
    const { body } = await bank.get('/sandbox/portal/accounts');
    expect(body[0]).toMatchObject({
      accountId: '1001',
      userId: ALDER.userId,
      identityId: ALDER.identityId,
      holderName: ALDER.holderName,
      balance: '250000.00',
    });
    await bank.pay([{ iban: PAYEE, value: 5 }]);
    expect((await bank.get('/sandbox/portal/accounts')).body[0].balance).toBe('249999.95');
  });

  it('sets money aside at the hold and books it at the settlement', async () => {
    const slow = await Tester.start({ stepMs: 1000 });
    await slow.pay([{ value: 10_000 }]);
    await slow.advance(6_000);
    expect(await slow.account('1001')).toMatchObject({
      balance: { value: 25_000_000 },
      availableBalance: { value: 24_990_000 },
    });
    expect((await slow.delete(PATHS.account('1001'))).status).toBe(422);
    await slow.advance(3_000);
    expect(await slow.account('1001')).toMatchObject({
      balance: { value: 24_990_000 },
      availableBalance: { value: 24_990_000 },
    });
    await slow.close();
  });

  it('credits a payee at this bank', async () => {
    await bank.pay([{ iban: BIRCH.account!.iban, value: 300 }]);
    expect((await bank.account('1002')).balance.value).toBe(100_000_000_300);
  });
});
