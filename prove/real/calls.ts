export const POSTS = ['initiate', 'add', 'submit'] as const;
/** Every call of a run, by what the network can tell of it. */
export const CALLS = [...POSTS, 'list', 'get'] as const;
export type Call = (typeof CALLS)[number] | 'account';

const INSTRUCTION = /customer-instructions(\/credit-transfers)?\/\d+$/;
const ACCOUNT = /distributor\/v1\/accounts\/\w+$/;

/** The bank's id of the instruction that a path names. */
export function instructionIn(path: string): string | undefined {
  return /\/customer-instructions\/(?:credit-transfers\/)?(\d+)/.exec(path)?.[1];
}

export function callOf(method: string, path: string): Call | undefined {
  const [address = ''] = path.split('?');
  const listed = address.endsWith('/payment-transactions');
  if (method === 'GET') {
    if (listed) return 'list';
    return INSTRUCTION.test(address) ? 'get' : ACCOUNT.test(address) ? 'account' : undefined;
  }
  if (method !== 'POST') return undefined;
  if (listed) return 'add';
  if (address.endsWith('/submit')) return 'submit';
  return address.endsWith('/credit-transfers') ? 'initiate' : undefined;
}
