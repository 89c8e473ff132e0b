import { select } from '../../test/support/database';
import type { Stand } from './stand';
import { type Call, callOf } from './trial';

/**
 * When an instruction is read: to verify what was built, at its gate, and while it is followed. Told by its state, as
 * requests cannot be counted: one read takes several of them.
 */
export type Moment = 'check' | 'gate' | 'following';
export const MOMENTS = ['check', 'gate', 'following'] as const;

const MOMENT_OF: Readonly<Record<string, Moment>> = {
  BUILDING: 'check',
  VERIFIED: 'gate',
  SUBMITTED: 'following',
  CLOSED: 'following',
};

/** The moment at which the youngest instruction is, of a stand that pays by one. */
export async function momentOf({ payroll }: Stand): Promise<Moment | undefined> {
  const [youngest] = await select<{ status: string }>(
    payroll.database.superuserUrl,
    'SELECT status FROM instruction ORDER BY created_at DESC, id DESC LIMIT 1',
  );
  return MOMENT_OF[youngest?.status ?? ''];
}

const CALL_OF: Readonly<Record<string, Call>> = {
  getAccount: 'account',
  getInstruction: 'get',
  listInstructionPaymentTransactions: 'list',
  listPaymentTransactions: 'list',
};

/** Has one request of a read meet a fault of the bank: the nth that is made at that moment, whatever came before. */
export function aim(stand: Stand, operation: string, kind: string, at: Moment, nth = 1): void {
  let seen = 0;
  stand.proxy.ahead = async ({ method, path }) => {
    if (seen >= nth || callOf(method, path) !== CALL_OF[operation]) return false;
    if ((await momentOf(stand)) !== at) return false;
    seen += 1;
    if (seen < nth) return false;
    await stand.payroll.fault({ operation, kind, nth: 1, delayMs: 400 });
    return true;
  };
}
