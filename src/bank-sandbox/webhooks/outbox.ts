import type { EventName } from '../../bank/types';
import { notFound } from '../refusal';
import type { Variants } from '../variants';

export interface HookRecord {
  id: number;
  name: string;
  url: string;
  events: string[];
  identityIds: Set<number>;
}

/** One event on its way to one hook. */
export interface Delivery {
  id: number;
  hook: HookRecord;
  event: EventName;
  entityId: string;
  data: Record<string, unknown>;
  /** Attempts that were not answered with 200. */
  failures: number;
  dueAtMs: number;
}

/** The document's back-off after a failed attempt; the last is the final attempt. */
const RETRY_DELAYS_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000] as const;

export const MINUTE_MS = 60_000;

/** Subscriptions, and what still has to be delivered to them. Part of the state: it survives a restart. */
export class Outbox {
  readonly hooks = new Map<number, HookRecord>();
  /** Never tried deliveries per hook, in the order of their events. */
  private readonly fresh = new Map<number, Map<number, Delivery>>();
  private readonly retries = new Map<number, Map<number, Delivery>>();
  /** When the last minute's attempts ended, by address; hooks with the same address share them. */
  private readonly attemptsMs = new Map<string, number[]>();
  /** Deleted hooks included: an attempt may end later. */
  private readonly urls = new Map<number, string>();
  private lastHookId = 0;
  private lastDeliveryId = 0;

  constructor(private readonly variants: Pick<Variants, 'hooksWithoutIdentity'>) {}

  subscribe(input: { name: string; url: string; events: string[] }): HookRecord {
    this.lastHookId += 1;
    const hook = { id: this.lastHookId, ...input, identityIds: new Set<number>() };
    this.hooks.set(hook.id, hook);
    this.urls.set(hook.id, hook.url);
    this.fresh.set(hook.id, new Map());
    this.retries.set(hook.id, new Map());
    return hook;
  }

  unsubscribe(hookId: number): void {
    if (!this.hooks.delete(hookId)) throw notFound('hook');
    this.fresh.delete(hookId);
    this.retries.delete(hookId);
  }

  associate(hookId: number, identityId: number): void {
    const hook = this.hooks.get(hookId);
    if (!hook) throw notFound('hook');
    hook.identityIds.add(identityId);
  }

  /** Queues an event for every hook that asked for it and, where it is about an identity, is linked to that. */
  emit(
    event: EventName,
    about: { identityId?: number; entityId: string },
    data: Record<string, unknown>,
    atMs: number,
  ): void {
    for (const hook of this.hooks.values()) {
      if (!hook.events.includes(event) || !this.concerns(hook, about.identityId)) continue;
      this.lastDeliveryId += 1;
      const id = this.lastDeliveryId;
      const { entityId } = about;
      this.fresh.get(hook.id)?.set(id, { id, hook, event, entityId, data, failures: 0, dueAtMs: atMs });
    }
  }

  /** Takes note of an attempt: done at 200, else due again later, until the last retry failed. */
  recordAttempt(input: { hookId: number; deliveryId: number; ok: boolean }, atMs: number): void {
    const { hookId, deliveryId } = input;
    this.countAttempt(this.urls.get(hookId) ?? '', atMs);
    const delivery = this.fresh.get(hookId)?.get(deliveryId) ?? this.retries.get(hookId)?.get(deliveryId);
    if (!delivery) return;
    this.fresh.get(hookId)?.delete(deliveryId);
    this.retries.get(hookId)?.delete(deliveryId);
    const delayMs = RETRY_DELAYS_MS[delivery.failures];
    if (input.ok || delayMs === undefined) return;
    delivery.failures += 1;
    delivery.dueAtMs = atMs + delayMs;
    this.retries.get(hookId)?.set(deliveryId, delivery);
  }

  /** When the attempts at an address of the minute before `atMs` ended, the first first. */
  attemptsWithinMinute(url: string, atMs: number): readonly number[] {
    return (this.attemptsMs.get(url) ?? []).filter((attemptMs) => attemptMs > atMs - MINUTE_MS);
  }

  /** The next delivery of a hook that is due and not under way. */
  next(hookId: number, atMs: number, underWay: ReadonlySet<number>): Delivery | undefined {
    for (const delivery of this.retries.get(hookId)?.values() ?? [])
      if (delivery.dueAtMs <= atMs && !underWay.has(delivery.id)) return delivery;
    for (const delivery of this.fresh.get(hookId)?.values() ?? [])
      if (!underWay.has(delivery.id)) return delivery;
    return undefined;
  }

  /** When a hook has something due next, or undefined when nothing waits. */
  nextDueMs(hookId: number, underWay: ReadonlySet<number>): number | undefined {
    let nextMs: number | undefined;
    for (const delivery of this.retries.get(hookId)?.values() ?? [])
      if (!underWay.has(delivery.id)) nextMs = Math.min(nextMs ?? Infinity, delivery.dueAtMs);
    for (const delivery of this.fresh.get(hookId)?.values() ?? [])
      if (!underWay.has(delivery.id)) return Math.min(nextMs ?? Infinity, delivery.dueAtMs);
    return nextMs;
  }

  get pending(): number {
    let pending = 0;
    for (const queue of [...this.fresh.values(), ...this.retries.values()]) pending += queue.size;
    return pending;
  }

  private countAttempt(url: string, atMs: number): void {
    const attemptsMs = this.attemptsMs.get(url) ?? [];
    this.attemptsMs.set(url, attemptsMs);
    attemptsMs.push(atMs);
    while ((attemptsMs[0] ?? atMs) <= atMs - MINUTE_MS) attemptsMs.shift();
  }

  private concerns(hook: HookRecord, identityId: number | undefined): boolean {
    if (identityId === undefined) return true;
    if (hook.identityIds.size === 0) return this.variants.hooksWithoutIdentity === 'everything';
    return hook.identityIds.has(identityId);
  }
}
