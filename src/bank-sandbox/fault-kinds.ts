/** What can go wrong with a call: first without the request being processed, then after it was. */
export const FAULTS_BEFORE = [
  'request-lost',
  'late-commit',
  'hang-before',
  '500-before',
  '401',
  '403',
  '404',
  '409',
  '410',
  '422',
  '429',
  'redirect',
] as const;
export const FAULTS_AFTER = [
  'answer-lost',
  '500-after',
  'garbage',
  'truncated',
  'slow-drip',
  'hang',
  'echo-corrupted',
  'doubled',
] as const;
export const FAULTS_OF_LISTS = ['list-wrong', 'list-moving'] as const;
export const FAULTS_OF_WEBHOOKS = [
  'doubled',
  'dropped',
  'reordered',
  'late',
  'replayed',
  'flooded',
  'forged',
] as const;

/** The operations that answer with a list envelope. */
export const LIST_OPERATIONS = [
  'listProducts',
  'listAccounts',
  'listPaymentTransactions',
  'listInstructionPaymentTransactions',
] as const;

export type FaultBefore = (typeof FAULTS_BEFORE)[number];
export type FaultAfter = (typeof FAULTS_AFTER)[number];
export type FaultOfList = (typeof FAULTS_OF_LISTS)[number];
export type FaultOfWebhook = (typeof FAULTS_OF_WEBHOOKS)[number];

/** What a fault of a call does, in the words of the README. */
export const FAULT_MEANINGS: Readonly<Record<FaultBefore | FaultAfter | FaultOfList, string>> = {
  'request-lost': 'the connection breaks; nothing is executed',
  'late-commit': 'the connection breaks; the call is executed `delayMs` later (1000)',
  'hang-before': 'never answered, nothing is executed',
  '500-before': '500, nothing is executed',
  '401': '401, nothing is executed',
  '403': '403, nothing is executed',
  '404': '404, nothing is executed',
  '409': '409, nothing is executed',
  '410': '410, nothing is executed',
  '422': '422, nothing is executed',
  '429': '429, with a `Retry-After` where `retryAfterS` is given; nothing is executed',
  redirect: '307 to the same address; nothing is executed',
  'answer-lost': 'executed; the connection breaks',
  '500-after': 'executed; 500',
  garbage: 'executed; a page of HTML instead of the body',
  truncated: 'executed; half of the body',
  'slow-drip': 'executed; the body comes byte by byte, one each `delayMs` (20)',
  hang: 'executed, never answered',
  'echo-corrupted':
    'executed; `field` of the answer differs: `amount` (as without it), `currency`, `iban`, `messageId`, `name`, `id`, `status`, `charges` (in another currency) or `chargeBearer` (`DEBT`)',
  doubled: 'executed twice, answered once; the second time `delayMs` later where that is given',
  'list-wrong':
    "the middle record of the page is, by `what`, `missing` (as without it), there `twice` (the second time with another `field`, where that is given), followed by a `foreign` one of nobody, or by a `fee` of the bank's own, or `changed` in `field`",
  'list-moving':
    'the page starts `by` records later (1): one is skipped; earlier with a negative `by`: one is repeated',
};

/** What a fault of a webhook delivery does, in the words of the README. */
export const WEBHOOK_FAULT_MEANINGS: Readonly<Record<FaultOfWebhook, string>> = {
  doubled: 'sent twice, one after the other',
  dropped: 'never sent, and taken for delivered',
  reordered: 'sent `delayMs` later (300), so that others overtake it',
  late: 'sent `delayMs` later (3000), long after the events that follow',
  replayed: 'the same bytes once more, `delayMs` (300) after the 200',
  flooded: '`copies` of it at once (200), whatever the limit of a minute',
  forged: 'first with other data and a wrong signature, then as it is',
};

/** Whether it befalls a call before it is executed, if it ever is. */
export function isBefore(kind: string): kind is FaultBefore {
  return (FAULTS_BEFORE as readonly string[]).includes(kind);
}

/** Whether the call is executed, and what suffers is its answer. */
export function isAfter(kind: string): kind is FaultAfter {
  return (FAULTS_AFTER as readonly string[]).includes(kind);
}

/** Whether a list shows something else than there is. */
export function isOfList(kind: string): kind is FaultOfList {
  return (FAULTS_OF_LISTS as readonly string[]).includes(kind);
}

/** Whether it befalls deliveries to the service, not its calls. */
export function isOfWebhook(kind: string): kind is FaultOfWebhook {
  return (FAULTS_OF_WEBHOOKS as readonly string[]).includes(kind);
}

/** Whether a call answers with a list of payments. */
export function isListOperation(operation: string): boolean {
  return (LIST_OPERATIONS as readonly string[]).includes(operation);
}
