import { createHmac } from 'node:crypto';
import { EVENTS, PATHS } from '../../src/bank/types';
import type { SandboxOptions } from '../../src/bank-sandbox/main';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { ALDER, BIRCH, paymentIdOf, Tester, type Json } from './client';
import { Receiver } from './receiver';

const SECRET = 'a secret';
let bank: Tester;
let receiver: Receiver;

async function start(options: SandboxOptions = {}): Promise<void> {
  bank = await Tester.start({ webhookSecret: SECRET, ...options });
  receiver = await Receiver.start();
}

async function subscribe(events: string[] = [...EVENTS], identityId: number | null = ALDER.identityId) {
  const { body } = await bank.post(PATHS.hooks(), { name: 'hook', url: receiver.url, events });
  if (identityId !== null) await bank.post(PATHS.hookIdentity(String(body.id), String(identityId)));
  return body;
}
afterEach(async () => {
  await bank.close();
  await receiver.close();
});

describe('subscriptions', () => {
  beforeEach(() => start());

  it('are answered with the address as body, listed without an envelope, and deleted', async () => {
    const hook = await subscribe(['transaction.new']);
    expect(hook).toEqual({
      id: hook.id,
      name: 'hook',
      body: receiver.url,
      distributorId: 77,
      events: ['transaction.new'],
    });
    expect((await bank.get(PATHS.hooks())).body).toEqual([hook]);
    const { body } = await bank.delete(PATHS.hook(String(hook.id)));
    expect(body).toEqual({ message: expect.any(String), hookId: String(hook.id) });
    expect((await bank.get(PATHS.hooks())).body).toEqual([]);
    expect((await bank.delete(PATHS.hook(String(hook.id)))).status).toBe(404);
  });

  it('are linked to an identity that exists', async () => {
    const { id } = await subscribe(['transaction.new'], null);
    const { body } = await bank.post(PATHS.hookIdentity(String(id), '9501'));
    expect(body).toEqual({ message: expect.any(String), hookId: String(id), identityId: '9501' });
    expect((await bank.post(PATHS.hookIdentity(String(id), '1'))).status).toBe(404);
    expect((await bank.post(PATHS.hookIdentity('99', '9501'))).status).toBe(404);
  });

  it('to events or addresses that do not exist are refused', async () => {
    const hook = { name: 'hook', url: receiver.url, events: ['payment.paid'] };
    expect((await bank.post(PATHS.hooks(), hook)).status).toBe(422);
    expect(
      (await bank.post(PATHS.hooks(), { ...hook, url: 'nowhere', events: ['transaction.new'] })).status,
    ).toBe(422);
  });

  it('receive nothing about an identity they are not linked to, nor an event they did not ask for', async () => {
    await subscribe(['transaction.new'], BIRCH.identityId);
    await subscribe(['identity.blocked']);
    await bank.pay([{}]);
    expect(await receiver.settled()).toEqual([]);
  });
});

describe('deliveries', () => {
  it('are signed over the bytes that were sent', async () => {
    await start();
    await subscribe(['payment_transaction.settled']);
    await bank.pay([{}]);
    const [{ raw, signature }] = (await receiver.until(1)) as [Json];
    expect(signature).toBe(createHmac('sha256', SECRET).update(raw).digest('hex'));
  });

  it('of a payment carry ids only', async () => {
    await start();
    const hook = await subscribe(['payment_transaction.settled']);
    const { id, added } = await bank.pay([{}]);
    const [{ body }] = (await receiver.until(1)) as [Json];
    expect(body).toEqual({
      id: 'evt-1',
      webhookId: String(hook.id),
      type: 'payment_transaction',
      event: 'payment_transaction.settled',
      data: { paymentTransactionId: paymentIdOf(added[0]), customerInstructionId: id },
    });
  });

  it('name a transaction that can be retrieved', async () => {
    await start();
    await subscribe(['transaction.new']);
    await bank.pay([{ value: 77 }]);
    const [{ body }] = (await receiver.until(1)) as [Json];
    const transaction = await bank.get(PATHS.transaction(body.data.transactionId));
    expect(transaction.body.amount.value).toBe(77);
  });

  it('tell of refusals, openings, blockings and closings', async () => {
    await start();
    await subscribe(EVENTS.filter((event) => event !== 'transaction.new'));
    const refused = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAfterExchange')!;
    await bank.pay([{ iban: refused.iban }]);
    const { body: account } = await bank.post(PATHS.userAccounts('501'), { productId: 11 });
    await bank.post('/sandbox/accounts/1001/block');
    await bank.post('/sandbox/accounts/1001/unblock');
    await bank.post('/sandbox/identities/9501/block');
    await bank.post('/sandbox/identities/9501/unblock');
    const received = await receiver.until(6);
    expect(received.map(({ body }) => body.event).sort()).toEqual([
      'account.status.blocked',
      'account.status.opened',
      'account.status.unblocked',
      'identity.blocked',
      'identity.unblocked',
      'payment_transaction.external_refused',
    ]);
    const opened = received.find(({ body }) => body.event === 'account.status.opened');
    expect(opened?.body.data).toEqual({ accountNumber: account.id, ownerIdentityId: 9501 });
  });

  it('name the entity instead of the event where the bank does', async () => {
    await start({ variants: { webhookId: 'entity' } });
    await subscribe(['payment_transaction.settled']);
    const { added } = await bank.pay([{}]);
    const [{ body }] = (await receiver.until(1)) as [Json];
    expect(body.id).toBe(String(paymentIdOf(added[0])));
  });

  it('are repeated after 5 s, 30 s, 2 min, 10 min and 30 min, and then never', async () => {
    await start();
    await subscribe(['payment_transaction.settled']);
    receiver.answer = 201;
    await bank.pay([{}]);
    await receiver.until(1);
    let attempts = 1;
    for (const delayMs of [5_000, 30_000, 120_000, 600_000, 1_800_000]) {
      await receiver.settled();
      await bank.advance(delayMs - 2_000);
      expect(await receiver.settled()).toHaveLength(attempts);
      await bank.advance(2_000);
      attempts += 1;
      await receiver.until(attempts);
    }
    await receiver.settled();
    await bank.advance(86_400_000);
    expect(await receiver.settled()).toHaveLength(6);
    expect(new Set(receiver.received.map(({ raw }) => raw)).size).toBe(1);
  });

  it('end with the first 200', async () => {
    await start();
    await subscribe(['payment_transaction.settled']);
    receiver.answer = 500;
    await bank.pay([{}]);
    await receiver.until(1);
    receiver.answer = 200;
    await receiver.settled();
    await bank.advance(5_000);
    await receiver.until(2);
    await receiver.settled();
    expect((await bank.get('/sandbox/webhooks')).body).toEqual({ pending: 0 });
  });

  it('are limited per minute and address; the rest comes later', async () => {
    await start({ variants: { webhooksPerMinute: 5 } });
    await subscribe(['payment_transaction.settled']);
    await bank.pay(Array.from({ length: 8 }, () => ({ value: 1 })));
    await receiver.until(5);
    expect(await receiver.settled()).toHaveLength(5);
    await bank.advance(60_000);
    expect(await receiver.until(8)).toHaveLength(8);
  });

  it('do not hold up the bank when nobody listens', async () => {
    await start();
    await subscribe(['payment_transaction.settled']);
    await receiver.close();
    const { added } = await bank.pay([{}]);
    expect(
      (await bank.payment(paymentIdOf(added[0]))).paymentTransactionInternalInformation.status.value,
    ).toBe('SETTLED');
    receiver = await Receiver.start();
  });
});

describe('scripted faults of deliveries', () => {
  beforeEach(async () => {
    await start();
    await subscribe(['payment_transaction.settled']);
  });

  it('doubles one', async () => {
    await bank.fault({ operation: 'webhook', kind: 'doubled', nth: 1 });
    await bank.pay([{}]);
    const [first, second] = await receiver.until(2);
    expect(first).toEqual(second);
  });

  it('drops one for good', async () => {
    await bank.fault({ operation: 'webhook', kind: 'dropped', nth: 1 });
    const { added } = await bank.pay([{}, {}]);
    await receiver.until(1);
    await bank.advance(86_400_000);
    const received = await receiver.settled();
    expect(received.map(({ body }) => body.data.paymentTransactionId)).toEqual([paymentIdOf(added[1])]);
  });

  it('lets a later one overtake', async () => {
    await bank.fault({ operation: 'webhook', kind: 'reordered', nth: 1 });
    const { added } = await bank.pay([{}, {}]);
    const received = await receiver.until(2);
    const ids = added.map(paymentIdOf).reverse();
    expect(received.map(({ body }) => body.data.paymentTransactionId)).toEqual(ids);
  });

  it('forges one beside the real one', async () => {
    await bank.fault({ operation: 'webhook', kind: 'forged', nth: 1 });
    await bank.pay([{}]);
    const received = await receiver.until(2);
    const genuine = received.map(
      ({ raw, signature }) => signature === createHmac('sha256', SECRET).update(raw).digest('hex'),
    );
    expect(genuine).toEqual([false, true]);
  });
});
