import { Config } from '../config/env';
import { BankRead, EmployerAccount } from './employer.entity';

/** Why nothing may be submitted from an account yet. `code` is for programs, `detail` for people. */
export interface NotReady {
  readonly code:
    | 'NOT_PROBED'
    | 'NO_READ_OF_PAYMENTS'
    | 'UNIT_NOT_CONFIRMED'
    | 'UNIT_CONFIRMED_FOR_ANOTHER_SETTING'
    | 'ACCOUNT_NOT_OPENED';
  readonly detail: string;
}

/** An instruction that was never read is one whose status and totals no gate would see. */
const PROBE_AGAIN =
  'which reads of an instruction the bank allows was not found out yet: probe again, once the account is open. If that ' +
  'finds out nothing either, the bank must say why it does not initiate an instruction (what came of it is in ' +
  '`notInitiated` of the probe), or fails in ' +
  'GET customer-instructions/{id} or GET customer-instructions/{id}/payment-transactions';

/** In the words of the bank's document, to be read out to it. */
const ALLOW_A_READ =
  'no read of its payments at the bank was found that is allowed and answered by its interface, so nothing could be ' +
  'checked before it is submitted: the bank must allow GET customer-instructions/{id}/payment-transactions or ' +
  'GET payment-transactions (scopes customer-instruction_view and payment-instruction_view), and answer it by its ' +
  'interface; then probe again. Whether it lets a single payment be read can only be found out with one that a list ' +
  'has shown';

/** What to ask the bank about some of the reasons, in the words of its document; `{ref}` is the account. */
export const ASK_BANK: Readonly<Partial<Record<NotReady['code'], string>>> = {
  NOT_PROBED:
    'If a further probe finds out nothing either: why do you not initiate an instruction for account {ref}, or fail in ' +
    'GET customer-instructions/{id} or GET customer-instructions/{id}/payment-transactions?',
  NO_READ_OF_PAYMENTS:
    'Will you allow us GET customer-instructions/{id}/payment-transactions or GET payment-transactions for account {ref} ' +
    '(scopes customer-instruction_view and payment-instruction_view), and answer it by your interface?',
};

/** Why nothing is read or written of an account in this process. */
export const OTHER_UNIT = 'the unit of amounts was checked under another BANK_AMOUNT_UNIT';

/** Reads that show the payments of an instruction; without any, no submit could be checked beforehand. */
export const READS_OF_PAYMENTS: readonly BankRead[] = ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST', 'PAYMENT'];

/** Whether the unit of amounts was checked under the setting that amounts are written by now. */
export function isUnitConfirmed(
  { unitConfirmed }: Pick<EmployerAccount, 'unitConfirmed'>,
  config: Pick<Config, 'BANK_AMOUNT_UNIT'>,
): boolean {
  return unitConfirmed === config.BANK_AMOUNT_UNIT;
}

/** Whether it was checked under another one; an account that nobody has checked anew is read as it was. */
export function isOfAnotherUnit(
  account: Pick<EmployerAccount, 'unitConfirmed'>,
  config: Pick<Config, 'BANK_AMOUNT_UNIT'>,
): boolean {
  return account.unitConfirmed !== null && !isUnitConfirmed(account, config);
}

/** Every reason why submits from the account are refused; empty when it is ready. */
export function notReady(account: EmployerAccount, config: Pick<Config, 'BANK_AMOUNT_UNIT'>): NotReady[] {
  const reasons: NotReady[] = [];
  const say = (code: NotReady['code'], detail: string) => reasons.push({ code, detail });
  if (account.probedAt === null) say('NOT_PROBED', PROBE_AGAIN);
  else if (!READS_OF_PAYMENTS.some((read) => account.reads.includes(read))) {
    say('NO_READ_OF_PAYMENTS', ALLOW_A_READ);
  }
  if (account.unitConfirmed === null) {
    say('UNIT_NOT_CONFIRMED', 'nobody has checked the unit of amounts against its balance');
  } else if (!isUnitConfirmed(account, config)) {
    say('UNIT_CONFIRMED_FOR_ANOTHER_SETTING', OTHER_UNIT);
  }
  if (account.bankStatus !== 'OPENED') {
    say('ACCOUNT_NOT_OPENED', `the bank says it is ${account.bankStatus}`);
  }
  return reasons;
}
