import { select } from '../../test/support/database';
import type { Stand } from './stand';
import { type Call, callOf, instructionIn } from './calls';

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

/**
 * The moment at which a request reads the youngest instruction, of a stand that pays by one; undefined where it names
 * another, such as one that was given up and is watched.
 */
export async function momentOf(stand: Stand, path: string): Promise<Moment | undefined> {
  return MOMENT_OF[(await statusOfRead(stand, path)) ?? ''];
}

/** The status of the youngest instruction; undefined where a request names another. */
export async function statusOfRead({ payroll }: Stand, path: string): Promise<string | undefined> {
  const [youngest] = await select<{ status: string; atBank: string | null }>(
    payroll.database.superuserUrl,
    `SELECT status, bank_instruction_id AS "atBank" FROM instruction ORDER BY created_at DESC, id DESC LIMIT 1`,
  );
  const named = instructionIn(path);
  return named === undefined || named === youngest?.atBank ? youngest?.status : undefined;
}

const CALL_OF: Readonly<Record<string, Call>> = {
  getAccount: 'account',
  getInstruction: 'get',
  listInstructionPaymentTransactions: 'list',
  listPaymentTransactions: 'list',
};

/** A read that a fault is aimed at. */
export interface Aimed {
  /** Whether it was made again, at the same moment, when the fault was over. */
  readonly wasReadSince: boolean;
}

/** Has so many requests of a read meet a fault of the bank: the first at that moment, whatever came before. */
export function aim(stand: Stand, operation: string, kind: string, at: Moment, times = 1): Aimed {
  let met = 0;
  stand.proxy.ahead = async ({ method, path }) => {
    if (callOf(method, path) !== CALL_OF[operation] || (await momentOf(stand, path)) !== at) return false;
    met += 1;
    if (met > times) return false;
    await stand.payroll.fault({ operation, kind, nth: 1, delayMs: 400, retryAfterS: 1 });
    return true;
  };
  return {
    get wasReadSince() {
      return met > times;
    },
  };
}
