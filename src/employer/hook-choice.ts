import type { WebhookSubscription } from '../bank/schema';
import { EVENTS } from '../bank/types';
import { HookMemory, RememberedHook } from './hook.store';

/** Where the bank delivers to, below the public address of the service. */
export const DELIVERY_PATH = '/webhooks/bank';

/**
 * The listed hooks that this service made: those of an address it ever had, and those whose id it remembers with the
 * address it shows. All others are somebody else's.
 */
export function oursAmong(listed: readonly WebhookSubscription[], memory: HookMemory): WebhookSubscription[] {
  return listed.filter((hook) => memory.addresses.includes(shownAddress(hook)) || isRemembered(hook, memory));
}

/**
 * The id of the hook to be kept: of the current address, with every event, and none whose end was asked for. One
 * that this service remembers comes first, also while the list need not show it yet.
 * @returns undefined where one has to be made.
 */
export function hookToKeep(ours: readonly WebhookSubscription[], memory: HookMemory): string | undefined {
  const [current] = memory.addresses;
  const fit = ours.filter((hook) => {
    const remembered = isRemembered(hook, memory) ? memory.hooks.get(hook.id) : undefined;
    const here = shownAddress(hook) === current || (current !== undefined && remembered?.url === current);
    return here && remembered?.ended !== true && isComplete(hook, remembered);
  });
  const known = fit.find((hook) => memory.hooks.has(hook.id));
  return known?.id ?? unlisted(memory)?.id ?? fit[0]?.id;
}

/** The address as the bank gives it; empty where it gives none. */
export function shownAddress({ body }: WebhookSubscription): string {
  return body ?? '';
}

function unlisted({ addresses: [current], hooks }: HookMemory): RememberedHook | undefined {
  return [...hooks.values()].find(
    (hook) =>
      hook.young && !hook.ended && current !== undefined && hook.url === current && hasEvery(hook.events),
  );
}

/** An id alone proves little: another bank, or one that begins anew, gives the same ids to others. */
function isRemembered(hook: WebhookSubscription, { hooks }: HookMemory): boolean {
  const remembered = hooks.get(hook.id);
  if (remembered === undefined) return false;
  const shown = shownAddress(hook);
  return remembered.shown_as === null ? shown.endsWith(DELIVERY_PATH) : shown === remembered.shown_as;
}

/** A bank that does not show an event it was asked for would be asked for ever. */
function isComplete({ events }: WebhookSubscription, remembered: RememberedHook | undefined): boolean {
  return events == null || hasEvery(events) || hasEvery(remembered?.events ?? []);
}

function hasEvery(events: readonly string[]): boolean {
  return EVENTS.every((event) => events.includes(event));
}
