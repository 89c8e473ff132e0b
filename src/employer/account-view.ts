import { z } from 'zod';
import { Config } from '../config/env';
import { PersonalData } from '../database/personal-data';
import { maskIban } from '../domain/iban';
import { showId } from '../http/prefixed-id';
import { BankRead, EmployerAccount } from './employer.entity';
import { notReady } from './readiness';

/** The reads a probe looks for, as the outside sees them. */
export const BANK_READS = [
  'INSTRUCTION',
  'INSTRUCTION_PAYMENTS',
  'PAYMENT_LIST',
  'PAYMENT',
  'BALANCE',
] as const satisfies readonly BankRead[];

/** An account as the outside sees it. `iban` is its country and last four characters. */
export const accountBody = z.object({
  id: z.string(),
  bankAccountId: z.string(),
  iban: z.string(),
  debtorName: z.string(),
  status: z.string(),
  reads: z.array(z.enum(BANK_READS)),
  pageBase: z.union([z.literal(0), z.literal(1)]).nullable(),
  probedAt: z.iso.datetime().nullable(),
  unitConfirmed: z.enum(['minor', 'major']).nullable(),
  unitConfirmedAt: z.iso.datetime().nullable(),
  ready: z.boolean(),
  notReady: z.array(z.object({ code: z.string(), detail: z.string() })),
});
export type AccountItem = z.infer<typeof accountBody>;

/** An account as the API shows it, with what keeps it from paying; its IBAN is masked. */
export function showAccount(account: EmployerAccount, personal: PersonalData, config: Config): AccountItem {
  const { bankAccountId, debtorName, reads, pageBase, unitConfirmed } = account;
  const reasons = notReady(account, config);
  return {
    id: showId('acc', account.id),
    bankAccountId,
    iban: maskIban(personal.open(account.ibanSealed)),
    debtorName,
    status: account.bankStatus,
    reads,
    pageBase,
    probedAt: account.probedAt?.toISOString() ?? null,
    unitConfirmed,
    unitConfirmedAt: account.unitConfirmedAt?.toISOString() ?? null,
    ready: reasons.length === 0 && account.detachedAt === null,
    notReady: reasons,
  };
}
