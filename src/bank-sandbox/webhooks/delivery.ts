import { createHmac, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { SIGNATURE_HEADER, type WebhookDelivery } from '../../bank/types';
import { isOfWebhook } from '../fault-kinds';
import type { Faults, FaultScript } from '../faults';
import type { Bank } from '../state/bank';
import { type Delivery, type HookRecord, MINUTE_MS } from './outbox';

/** "Promptly". */
const ANSWER_TIMEOUT_MS = 5_000;
/** Deliveries to one address under way at once. */
const MAX_UNDER_WAY = 10;
/** Deliveries under way or held back in all: those held back are passed over at every look. */
const MAX_BUSY = 1_000;
/** A timer sleeps at most this long, so that a moved clock is noticed in any case. */
const LONGEST_SLEEP_MS = 1_000;
const REORDER_DELAY_MS = 300;
const LATE_DELAY_MS = 3_000;
const REPLAY_DELAY_MS = 300;
/** Twice what the document allows in a minute. */
const FLOOD_COPIES = 200;

/** The lower-case hexadecimal HMAC-SHA-256 of a delivery's exact bytes. */
function signatureOf(body: string, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** Carries deliveries to the subscribers; nothing in the bank ever waits for one. */
export class Deliveries {
  /** Deliveries under way, by address. */
  private readonly underWay = new Map<string, number>();
  /** Deliveries under way or held back: not to be started. */
  private readonly busy = new Set<number>();
  /** Deliveries a fault held back: to be sent without another. */
  private readonly heldBack = new Set<number>();
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
    const { outbox, clock, variants } = this.bank;
    const nowMs = clock.now();
    // Those under way may take a minute's turns that were not journalled yet.
    const attemptsMs = outbox.attemptsWithinMinute(hook.url, nowMs);
    const underWay = (): number => this.underWay.get(hook.url) ?? 0;
    const isFull = (): boolean => underWay() >= MAX_UNDER_WAY || this.busy.size >= MAX_BUSY;
    const isLimited = (): boolean => attemptsMs.length + underWay() >= variants.webhooksPerMinute;
    while (!isFull() && !isLimited()) {
      const delivery = outbox.next(hook.id, nowMs, this.busy);
      if (!delivery) break;
      this.start(delivery);
    }
    // A finished delivery wakes the pump, so a full set needs no timer.
    if (isFull()) return Infinity;
    const dueMs = outbox.nextDueMs(hook.id, this.busy) ?? Infinity;
    if (!isLimited()) return dueMs;
    const [oldestMs] = attemptsMs;
    return oldestMs === undefined ? Infinity : Math.max(dueMs, oldestMs + MINUTE_MS);
  }

  private start(delivery: Delivery): void {
    this.busy.add(delivery.id);
    const fault = this.heldBack.delete(delivery.id) ? undefined : this.faults.next('webhook');
    if (fault?.kind === 'late') return void this.holdBack(delivery, fault.delayMs ?? LATE_DELAY_MS);
    if (fault?.kind === 'reordered') return void this.holdBack(delivery, fault.delayMs ?? REORDER_DELAY_MS);
    this.count(delivery.hook.url, 1);
    void this.deliver(delivery, fault);
  }

  /** Lets a delivery wait outside all limits; then it is due like any other. */
  private async holdBack(delivery: Delivery, delayMs: number): Promise<void> {
    await sleep(delayMs, undefined, { ref: false });
    this.busy.delete(delivery.id);
    this.heldBack.add(delivery.id);
    this.wake();
  }

  private count(url: string, more: 1 | -1): void {
    this.underWay.set(url, (this.underWay.get(url) ?? 0) + more);
  }

  private async deliver(delivery: Delivery, fault: FaultScript | undefined): Promise<void> {
    const ok = await this.attempt(delivery, fault);
    this.busy.delete(delivery.id);
    this.count(delivery.hook.url, -1);
    if (this.stopped) return;
    this.bank.execute('recordAttempt', { hookId: delivery.hook.id, deliveryId: delivery.id, ok });
    this.wake();
  }

  private async attempt(delivery: Delivery, fault: FaultScript | undefined): Promise<boolean> {
    const { url } = delivery.hook;
    const payload = this.payloadOf(delivery);
    const compact = JSON.stringify(payload);
    const body = this.bank.variants.signs === 'compact-json' ? JSON.stringify(payload, null, 2) : compact;
    const signature = signatureOf(compact, this.secret);
    if (!fault || !isOfWebhook(fault.kind)) return post(url, body, signature);
    switch (fault.kind) {
      case 'dropped':
        return true;
      case 'forged':
        await post(url, forgeryOf(payload), randomBytes(32).toString('hex'));
        return post(url, body, signature);
      case 'doubled':
        await post(url, body, signature);
        return post(url, body, signature);
      case 'replayed': {
        const answered = await post(url, body, signature);
        if (answered) void this.replay(fault.delayMs ?? REPLAY_DELAY_MS, () => post(url, body, signature));
        return answered;
      }
      case 'flooded': {
        const copies = Array.from({ length: fault.copies ?? FLOOD_COPIES }, () => post(url, body, signature));
        return (await Promise.all(copies)).includes(true);
      }
      case 'late':
      case 'reordered':
        return post(url, body, signature);
    }
  }

  private async replay(delayMs: number, send: () => Promise<boolean>): Promise<void> {
    await sleep(delayMs, undefined, { ref: false });
    if (!this.stopped) await send();
  }

  private payloadOf({ id, hook, event, entityId, data }: Delivery): WebhookDelivery {
    const type = event.slice(0, event.indexOf('.'));
    const named = this.bank.variants.webhookId === 'event' ? `evt-${id}` : entityId;
    return { id: named, webhookId: String(hook.id), type, event, data };
  }
}

function forgeryOf(payload: WebhookDelivery): string {
  return JSON.stringify({ ...payload, data: { ...payload.data, forged: true } });
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
