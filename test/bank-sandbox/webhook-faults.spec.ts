import { createHmac } from 'node:crypto';
import { PATHS } from '../../src/bank/types';
import { FAULTS_OF_WEBHOOKS, type FaultOfWebhook } from '../../src/bank-sandbox/fault-kinds';
import { DEFAULT_WEBHOOK_SECRET } from '../../src/bank-sandbox/sandbox';
import { ALDER, paymentIdOf, Tester, type Json } from './client';
import { pause, Receiver, type Received } from './receiver';

/** So few that a delivery outside the limit shows. */
const A_MINUTE = 20;
/** Longer than all that follow take on a busy machine. */
const LATE_MS = 10_000;
let bank: Tester;
let receiver: Receiver;
beforeEach(async () => {
  bank = await Tester.start({ variants: { webhooksPerMinute: A_MINUTE } });
  receiver = await Receiver.start();
  const hook = { name: 'hook', url: receiver.url, events: ['payment_transaction.settled'] };
  const { id } = (await bank.post(PATHS.hooks(), hook)).body;
  await bank.post(PATHS.hookIdentity(String(id), String(ALDER.identityId)));
});
afterEach(() => bank.close());

const pending = async (): Promise<number> => (await bank.get('/sandbox/webhooks')).body.pending;
const fault = (kind: FaultOfWebhook, when: Record<string, number> = { nth: 1 }) =>
  bank.fault({ operation: 'webhook', kind, ...when });
/** Pays so many payments and answers their ids. */
const pay = async (count: number): Promise<number[]> =>
  (await bank.pay(Array.from({ length: count }, () => ({ value: 1 })))).added.map(paymentIdOf);
const idsOf = (received: Received[]): number[] =>
  received.map(({ body }: Json) => body.data.paymentTransactionId);
const isGenuine = ({ raw, signature }: Received): boolean =>
  signature === createHmac('sha256', DEFAULT_WEBHOOK_SECRET).update(raw).digest('hex');

it('doubles one', async () => {
  await fault('doubled');
  await pay(1);
  const [first, second] = await receiver.until(2);
  expect(first).toEqual(second);
  expect(await receiver.settled()).toHaveLength(2);
});

it('drops one for good', async () => {
  await fault('dropped');
  const [, second] = await pay(2);
  await receiver.until(1);
  await bank.advance(86_400_000);
  expect(idsOf(await receiver.settled())).toEqual([second]);
});

it('lets a later one overtake', async () => {
  await fault('reordered');
  const ids = await pay(2);
  expect(idsOf(await receiver.until(2))).toEqual(ids.reverse());
});

it('forges one beside the real one', async () => {
  await fault('forged');
  await pay(1);
  expect((await receiver.until(2)).map(isGenuine)).toEqual([false, true]);
});

it('delivers one late, after all that follow, and takes note only when it is answered', async () => {
  await fault('late', { nth: 1, delayMs: LATE_MS });
  const [late, ...others] = await pay(15);
  expect(idsOf(await receiver.until(14))).toEqual(others);
  await bank.advance(30_000);
  expect(await receiver.settled()).toHaveLength(14);
  expect(await pending()).toBe(1);
  expect(idsOf(await receiver.until(15, 2 * LATE_MS))).toEqual([...others, late]);
  await receiver.settled();
  expect(await pending()).toBe(0);
});

it('keeps no delivery waiting for those that are late, however many, and they keep to the limit', async () => {
  await fault('late', { delayMs: LATE_MS, times: 14 });
  const ids = await pay(17);
  expect(idsOf(await receiver.until(3))).toEqual(ids.slice(14));
  await pay(8);
  await receiver.until(11);
  await pause(LATE_MS + 200);
  expect(await receiver.settled()).toHaveLength(A_MINUTE);
  await bank.advance(60_000);
  await receiver.until(25);
  await receiver.settled();
  expect(await pending()).toBe(0);
});

it('is late with each but once', async () => {
  await fault('late', { delayMs: 200 });
  const ids = await pay(3);
  expect(idsOf(await receiver.until(3)).sort()).toEqual(ids);
  expect((await bank.get('/sandbox/faults')).body).toEqual([expect.objectContaining({ calls: 3, hits: 3 })]);
});

it('tries a late one again like any other when it is not answered with 200', async () => {
  receiver.answer = 500;
  await fault('late', { nth: 1, delayMs: 200 });
  await pay(1);
  await receiver.until(1);
  await receiver.settled();
  receiver.answer = 200;
  await bank.advance(5_000);
  await receiver.until(2);
  await receiver.settled();
  expect(await pending()).toBe(0);
});

it('replays one after it was answered with 200', async () => {
  await fault('replayed', { nth: 1, delayMs: LATE_MS });
  await pay(1);
  await receiver.until(1);
  await receiver.settled();
  expect(await pending()).toBe(0);
  expect(receiver.received).toHaveLength(1);
  const [first, second] = await receiver.until(2, 2 * LATE_MS);
  expect(second).toEqual(first);
  expect(isGenuine(first!)).toBe(true);
  await pause(LATE_MS + 200);
  expect(receiver.received).toHaveLength(2);
});

it('replays nothing that was not taken', async () => {
  receiver.answer = 500;
  await fault('replayed', { nth: 1, delayMs: 100 });
  await pay(1);
  await receiver.until(1);
  await pause(300);
  expect(receiver.received).toHaveLength(1);
});

it('floods an address with one delivery, whatever the limit of a minute', async () => {
  await fault('flooded');
  await pay(A_MINUTE + 1);
  await receiver.until(200 + A_MINUTE - 1);
  const received = await receiver.settled();
  expect(received).toHaveLength(200 + A_MINUTE - 1);
  expect(new Set(received.map(({ raw }) => raw)).size).toBe(A_MINUTE);
  expect(received.every(isGenuine)).toBe(true);
  expect(await pending()).toBe(1);
});

it('floods with as many copies as it is told', async () => {
  await fault('flooded', { nth: 1, copies: 30 });
  await pay(1);
  await receiver.until(30);
  expect(await receiver.settled()).toHaveLength(30);
  expect(await pending()).toBe(0);
});

it.each(FAULTS_OF_WEBHOOKS)(
  '%s strikes the nth delivery, and says nothing that did not happen',
  async (kind) => {
    await fault(kind, { nth: 3, delayMs: 200, copies: 5 });
    const ids = await pay(5);
    const undropped = kind === 'dropped' ? ids.toSpliced(2, 1) : ids;
    const arrived = { doubled: 6, dropped: 4, reordered: 5, late: 5, replayed: 6, flooded: 9, forged: 6 }[
      kind
    ];
    await receiver.until(arrived);
    await receiver.settled();
    const genuine = receiver.received.filter(isGenuine);
    expect([...new Set(idsOf(genuine))].sort()).toEqual(undropped);
    expect(genuine).toHaveLength(kind === 'forged' ? 5 : arrived);
    expect(await pending()).toBe(0);
    expect((await bank.ledger()).payees).toMatchObject([{ count: 5 }]);
  },
);
