import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { isPathId, MAX_ID } from '../bank/link';
import { checkName } from '../domain/latin';
import { MAX_NAME } from '../domain/pay-file';
import { accountBody, AccountItem } from './account-view';
import { Findings } from './onboarding';
import { HookState } from './hook.service';

/** Ids of the bank are opaque; they only have to fit into an address. */
export const bankId = z.string().trim().min(1).max(MAX_ID).refine(isPathId, 'must not be . or ..');

/** Sent with every instruction, so it must hold what every SEPA bank takes; nothing is converted silently. */
export const debtorName = z
  .string()
  .max(MAX_NAME)
  .regex(/[A-Za-z]/, 'must hold a letter')
  .refine((text) => {
    const checked = checkName(text);
    return checked.ok && !checked.changed;
  }, "must hold only A to Z, 0 to 9, spaces and / - ? : ( ) . , ' +, without spaces around or doubled");

const finding = z.enum(['allowed', 'refused', 'unknown', 'empty']);
const findings = z.object({
  INSTRUCTION: finding,
  INSTRUCTION_PAYMENTS: finding,
  PAYMENT_LIST: finding,
  PAYMENT: finding,
  BALANCE: finding,
});

/** An account. */
export class AccountBody extends createZodDto(accountBody) {}

/** An account with what a probe just found out of it. */
export class ProbedBody extends createZodDto(
  z.object({
    ...accountBody.shape,
    findings,
    notInitiated: z
      .string()
      .nullable()
      .describe('What came of the empty instruction of a probe where none is known to exist at the bank.'),
    hook: z.enum(['ON', 'OFF', 'FAILED']),
  }),
) {}
export type ProbedItem = AccountItem & { findings: Findings; notInitiated: string | null; hook: HookState };

const liveAccount = z.object({
  status: z.string(),
  balance: z.string().nullable(),
  availableBalance: z.string().nullable(),
});
/** What the bank says of an account at this moment; amounts are decimals such as `12345.67`. */
export type LiveAccount = z.infer<typeof liveAccount>;

/**
 * An account with what the bank says of it now; `atBank` is null while the bank cannot be asked, and once it was detached:
 * the rest is as it was then.
 */
export class AccountDetailBody extends createZodDto(
  z.object({
    ...accountBody.shape,
    detachedAt: z.iso.datetime().nullable(),
    atBank: liveAccount.nullable(),
  }),
) {}
export type AccountDetail = AccountItem & { detachedAt: string | null; atBank: LiveAccount | null };
