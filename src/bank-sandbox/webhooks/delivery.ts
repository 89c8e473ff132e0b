import { createHmac, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { SIGNATURE_HEADER, type WebhookDelivery } from '../../bank/types';
import { type Faults, type FaultScript, isOfWebhook } from '../faults';
import type { Bank } from '../state/bank';
import type { Delivery, HookRecord } from './outbox';

/** "Promptly". */
const ANSWER_TIMEOUT_MS = 5_000;
/** Deliveries of one hook under way at once. */
const MAX_UNDER_WAY = 10;
const MINUTE_MS = 60_000;
/** A timer sleeps at most this long, so that a moved clock is noticed in any case. */
const LONGEST_SLEEP_MS = 1_000;
const REORDER_DELAY_MS = 300;

/** The lower-case hexadecimal HMAC-SHA-256 of a delivery's exact bytes. */
export function signatureOf(body: string, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** Carries deliveries to the subscribers; nothing in the bank ever waits for one. */
export class Deliveries {
  private readonly underWay = new Set<number>();
  /** When each address was called within the last minute of the bank's clock. */
  private readonly sentAtMs = new Map<string, number[]>();
  private timer?: NodeJS.Timeout;
  private stopped = false;

  constructor(
    private readonly bank: Bank,
    private readonly secret: string,
    private readonly faults: Faults,
  ) {}

  /** Sends what is due, and looks again when more will be. */
  wake(): void {
    clearTimeout(this.timer);
    if (this.stopped) return;
    let nextMs = Infinity;
    for (const hook of this.bank.outbox.hooks.values()) nextMs = Math.min(nextMs, this.pump(hook));
    if (nextMs === Infinity) return;
    const waitMs = Math.max(0, nextMs - this.bank.clock.now());
    this.timer = setTimeout(() => this.wake(), Math.min(waitMs, LONGEST_SLEEP_MS));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** Starts a hook's due deliveries; returns when to look again. */
  private pump(hook: HookRecord): number {
    const nowMs = this.bank.clock.now();
    const sent = (this.sentAtMs.get(hook.url) ?? []).filter((atMs) => atMs > nowMs - MINUTE_MS);
    this.sentAtMs.set(hook.url, sent);
    let free = MAX_UNDER_WAY - this.underWay.size;
    for (; free > 0 && sent.length < this.bank.variants.webhooksPerMinute; free -= 1) {
      const delivery = this.bank.outbox.next(hook.id, nowMs, this.underWay);
      if (!delivery) break;
      sent.push(nowMs);
      void this.deliver(delivery);
    }
    // A finished delivery wakes the pump, so a full set needs no timer.
    if (free === 0) return Infinity;
    const dueMs = this.bank.outbox.nextDueMs(hook.id, this.underWay) ?? Infinity;
    const [oldest] = sent;
    const limited = sent.length >= this.bank.variants.webhooksPerMinute && oldest !== undefined;
    return limited ? Math.max(dueMs, oldest + MINUTE_MS) : dueMs;
  }

  private async deliver(delivery: Delivery): Promise<void> {
    this.underWay.add(delivery.id);
    const ok = await this.attempt(delivery, this.faults.next('webhook'));
    this.underWay.delete(delivery.id);
    if (this.stopped) return;
    this.bank.execute('recordAttempt', { hookId: delivery.hook.id, deliveryId: delivery.id, ok });
    this.wake();
  }

  private async attempt(delivery: Delivery, fault: FaultScript | undefined): Promise<boolean> {
    const { url } = delivery.hook;
    const body = JSON.stringify(this.payloadOf(delivery));
    const signature = signatureOf(body, this.secret);
    if (!fault || !isOfWebhook(fault.kind)) return post(url, body, signature);
    switch (fault.kind) {
      case 'dropped':
        return true;
      case 'forged':
        await post(url, body.replace('"data":{', '"data":{"forged":true,'), randomBytes(32).toString('hex'));
        return post(url, body, signature);
      case 'doubled':
        await post(url, body, signature);
        return post(url, body, signature);
      case 'reordered':
        await sleep(fault.delayMs ?? REORDER_DELAY_MS, undefined, { ref: false });
        return post(url, body, signature);
    }
  }

  private payloadOf({ id, hook, event, entityId, data }: Delivery): WebhookDelivery {
    const type = event.slice(0, event.indexOf('.'));
    const named = this.bank.variants.webhookId === 'event' ? `evt-${id}` : entityId;
    return { id: named, webhookId: String(hook.id), type, event, data };
  }
}

/** True only for a 200; the answer's body is not read. */
function post(url: string, body: string, signature: string): Promise<boolean> {
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      [SIGNATURE_HEADER]: signature,
    };
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const request = send(url, { method: 'POST', headers, agent: false, signal }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
    request.end(body);
  });
}
