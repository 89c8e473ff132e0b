import { PATHS, UNEXPLAINED_EVENT, type WebhookSubscription } from '../../bank/types';
import { type Answer, pathPattern, type Route } from '../http/exchange';
import type { HookRecord } from '../webhooks/outbox';
import { type BankRoutes, wholeNumberParam } from './routes';

/** Section "Webhook management". */
export function webhookRoutes({ bank, requests, variants }: BankRoutes): Route[] {
  const scopes = ['event_management'] as const;
  const view = ({ id, name, url, events }: HookRecord): WebhookSubscription => {
    const shown = variants.creditedEvent ? [...events, UNEXPLAINED_EVENT] : events;
    return { id, name, body: url, distributorId: bank.accounts.seed.distributor.id, events: shown };
  };
  const told = (message: Readonly<Record<string, string>>): Answer =>
    variants.hookAnswers === 'message' ? { status: 200, body: message } : { status: 204 };
  return [
    {
      operation: 'subscribe',
      method: 'POST',
      path: pathPattern(PATHS.hooks()),
      scopes,
      handle: ({ body }) => ({
        status: 201,
        body: view(bank.execute('subscribe', requests.subscription(body))),
      }),
    },
    {
      operation: 'listHooks',
      method: 'GET',
      path: pathPattern(PATHS.hooks()),
      scopes,
      handle: () => ({ status: 200, body: [...bank.outbox.hooks.values()].map(view) }),
    },
    {
      operation: 'deleteHook',
      method: 'DELETE',
      path: pathPattern(PATHS.hook(':id')),
      scopes,
      handle: ({ params }) => {
        const hookId = wholeNumberParam(params[0]);
        bank.execute('unsubscribe', { hookId });
        return told({ message: 'Webhook deleted', hookId: String(hookId) });
      },
    },
    {
      operation: 'associateIdentity',
      method: 'POST',
      path: pathPattern(PATHS.hookIdentity(':id', ':id')),
      scopes,
      handle: ({ params }) => {
        const [hookId, identityId] = [wholeNumberParam(params[0]), wholeNumberParam(params[1])];
        bank.execute('associate', { hookId, identityId });
        const message = 'Webhook associated with the identity';
        return told({ message, hookId: String(hookId), identityId: String(identityId) });
      },
    },
  ];
}
