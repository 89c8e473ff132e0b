import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVENTS, PATHS } from '../../src/bank/types';
import type { SandboxOptions } from '../../src/bank-sandbox/main';
import { ALDER, BIRCH, paymentIdOf, Tester, type Json } from './client';
import { pause, Receiver } from './receiver';

const SECRET = 'a secret';
let bank: Tester;
let receiver: Receiver;

async function start(options: SandboxOptions = {}): Promise<void> {
  bank = await Tester.start({ webhookSecret: SECRET, ...options });
  receiver = await Receiver.start();
}

async function subscribe(
  events: string[] = [...EVENTS],
  identityId: number | null = ALDER.identityId,
  url = receiver.url,
) {
  const { body } = await bank.post(PATHS.hooks(), { name: 'hook', url, events });
  if (identityId !== null) await bank.post(PATHS.hookIdentity(String(body.id), String(identityId)));
  return body;
}
const pending = async (): Promise<number> => (await bank.get('/sandbox/webhooks')).body.pending;
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
    expect(await pending()).toBe(0);
  });

  it.each([201, 202, 204, 302, 404, 500])('are not delivered by an answer of %d', async (answer) => {
    await start();
    await subscribe(['payment_transaction.settled']);
    receiver.answer = answer;
    await bank.pay([{}]);
    await receiver.until(1);
    await receiver.settled();
    expect(await pending()).toBe(1);
    await bank.advance(5_000);
    expect(await receiver.until(2)).toHaveLength(2);
  });

  it('are not delivered by a receiver that takes them and does not answer promptly', async () => {
    await start();
    await subscribe(['payment_transaction.settled']);
    receiver.hangs = true;
    await bank.pay([{}]);
    await receiver.until(1);
    receiver.hangs = false;
    await pause(5_300);
    await bank.advance(5_000);
    await receiver.until(2);
    await receiver.settled();
    expect(await pending()).toBe(0);
  });

  it('to an address that does not answer keep those to another from waiting no moment', async () => {
    await start();
    const prompt = await Receiver.start();
    await subscribe(['payment_transaction.settled']);
    await subscribe(['payment_transaction.settled'], ALDER.identityId, prompt.url);
    receiver.hangs = true;
    await bank.pay(Array.from({ length: 25 }, () => ({ value: 1 })));
    await prompt.until(25, 2_000);
    await prompt.settled();
    expect(await pending()).toBe(25);
  });

  it('arrive in the order of their events', async () => {
    await start();
    await subscribe(['payment_transaction.settled', 'account.status.blocked', 'account.status.unblocked']);
    const { added } = await bank.pay(Array.from({ length: 40 }, () => ({ value: 1 })));
    for (let turn = 0; turn < 5; turn += 1) {
      await bank.post('/sandbox/accounts/1001/block');
      await bank.post('/sandbox/accounts/1001/unblock');
    }
    const received = await receiver.until(50);
    expect(received.map(({ body }) => body.data.paymentTransactionId ?? body.event)).toEqual([
      ...added.map(paymentIdOf),
      ...Array.from({ length: 5 }, () => ['account.status.blocked', 'account.status.unblocked']).flat(),
    ]);
  });

  it('are a hundred a minute; the rest comes later', async () => {
    await start();
    await subscribe(['payment_transaction.settled']);
    await bank.pay(Array.from({ length: 103 }, () => ({ value: 1 })));
    await receiver.until(100);
    expect(await receiver.settled()).toHaveLength(100);
    await bank.advance(50_000);
    expect(await receiver.settled()).toHaveLength(100);
    await bank.advance(10_000);
    expect(await receiver.until(103)).toHaveLength(103);
  });

  it('share the limit of their address, and of no other', async () => {
    await start({ variants: { webhooksPerMinute: 5 } });
    const other = await Receiver.start();
    await subscribe(['payment_transaction.settled']);
    await subscribe(['payment_transaction.settled']);
    await subscribe(['payment_transaction.settled'], ALDER.identityId, other.url);
    await bank.pay(Array.from({ length: 4 }, () => ({ value: 1 })));
    await receiver.until(5);
    expect(await receiver.settled()).toHaveLength(5);
    expect(await other.until(4)).toHaveLength(4);
    await bank.advance(60_000);
    expect(await receiver.until(8)).toHaveLength(8);
    expect(new Set(receiver.received.map(({ raw }) => raw)).size).toBe(8);
  });

  it('that are retried count in the limit too', async () => {
    await start({ variants: { webhooksPerMinute: 2 } });
    await subscribe(['payment_transaction.settled']);
    receiver.answer = 500;
    await bank.pay([{}, {}, {}]);
    await receiver.until(2);
    await receiver.settled();
    await bank.advance(30_000);
    expect(await receiver.settled()).toHaveLength(2);
    await bank.advance(30_000);
    expect(await receiver.until(4)).toHaveLength(4);
    expect(await receiver.settled()).toHaveLength(4);
  });

  it('go on after a restart in the middle of their retries, and end where they would have', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bank-hooks-'));
    const stateFile = join(folder, 'bank.journal');
    await start({ stateFile });
    await subscribe(['payment_transaction.settled']);
    receiver.answer = 500;
    await bank.pay([{}]);
    await receiver.until(1);
    await receiver.settled();
    await bank.advance(5_000);
    await receiver.until(2);
    await receiver.settled();
    await bank.close();
    bank = await Tester.start({ stateFile, webhookSecret: SECRET });
    expect(await receiver.settled()).toHaveLength(2);
    expect(await pending()).toBe(1);
    for (const delayMs of [30_000, 120_000, 600_000, 1_800_000]) {
      await bank.advance(delayMs);
      await receiver.settled();
    }
    await bank.advance(86_400_000);
    expect(await receiver.settled()).toHaveLength(6);
    expect(new Set(receiver.received.map(({ raw }) => raw)).size).toBe(1);
    expect(await pending()).toBe(0);
    rmSync(folder, { recursive: true });
  });

  it('have used up the turns of their minute after a restart too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bank-hooks-'));
    const options = { stateFile: join(folder, 'bank.journal'), variants: { webhooksPerMinute: 5 } };
    await start(options);
    const { id } = await subscribe(['payment_transaction.settled']);
    await bank.pay(Array.from({ length: 8 }, () => ({ value: 1 })));
    await receiver.until(5);
    await receiver.settled();
    await bank.close();
    bank = await Tester.start(options);
    expect(await receiver.settled()).toHaveLength(5);
    await bank.delete(PATHS.hook(String(id)));
    await subscribe(['payment_transaction.settled']);
    await bank.pay([{ value: 1 }]);
    expect(await receiver.settled()).toHaveLength(5);
    await bank.close();
    bank = await Tester.start(options);
    await bank.advance(60_000);
    expect(await receiver.until(6)).toHaveLength(6);
    await bank.close();
    rmSync(folder, { recursive: true });
    bank = await Tester.start();
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
