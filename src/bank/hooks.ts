import { segment } from './link';
import type { Outcome } from './outcome';
import {
  hookMessage,
  type HookMessage,
  webhookSubscription,
  type WebhookSubscription,
  webhookSubscriptions,
} from './schema';
import type { BankSession } from './session';
import { PATHS, type SubscribeRequest } from './types';

/** Nothing rests on what a success says in words. */
const NO_MESSAGE = '{}';

/** Webhook management. All operations need scope `event_management`. */
export class Hooks {
  constructor(private readonly session: BankSession) {}

  /** Subscribes an address to events. Scope `event_management` (Webhook management). */
  subscribe(request: SubscribeRequest): Promise<Outcome<WebhookSubscription>> {
    const body = JSON.stringify(request);
    return this.session.change({ method: 'POST', path: PATHS.hooks(), body, answer: webhookSubscription });
  }

  /** All subscriptions; the answer has no envelope. Scope `event_management` (Webhook management). */
  list(): Promise<WebhookSubscription[]> {
    return this.session.read(PATHS.hooks(), webhookSubscriptions, undefined, '[]');
  }

  /** Ends a subscription. Scope `event_management` (Webhook management). */
  delete(hookId: string): Promise<Outcome<HookMessage>> {
    const path = PATHS.hook(segment(hookId));
    return this.session.change({ method: 'DELETE', path, answer: hookMessage, noContent: NO_MESSAGE });
  }

  /** Links a subscription to one identity's events. Scope `event_management` (Webhook management). */
  associateIdentity(hookId: string, identityId: string): Promise<Outcome<HookMessage>> {
    const path = PATHS.hookIdentity(segment(hookId), segment(identityId));
    return this.session.change({ method: 'POST', path, answer: hookMessage, noContent: NO_MESSAGE });
  }
}
