import { Inject, Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { AmountCodec, AmountText } from '../bank/amount-codec';
import { BankClient } from '../bank/client';
import { ContractDrift } from '../bank/errors';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { findAccount } from './account.store';
import { askBank } from './bank-problem';
import { EmployerAccount } from './employer.entity';

type Verdict = 'EQUAL' | 'BALANCE_IS_ZERO' | 'BALANCE_DIFFERS' | 'UNIT_LOOKS_WRONG' | 'BALANCE_NOT_SHOWN';

/** What a person is told; never the bank's value, which would only be typed in. */
const REFUSALS: Readonly<Record<Exclude<Verdict, 'EQUAL'>, string>> = {
  BALANCE_IS_ZERO: 'Zero is zero in every unit: check again when there is money on the account.',
  BALANCE_DIFFERS:
    "This is not the balance the bank gives for the account; type the one of the bank's portal, to the cent, and check that it is this account's.",
  UNIT_LOOKS_WRONG:
    'This is the balance the bank gives, counted in the other unit: the setting BANK_AMOUNT_UNIT seems wrong. Nothing may be paid until it is right.',
  BALANCE_NOT_SHOWN: 'The bank does not show the balance of this account, so the unit cannot be checked.',
};

/**
 * The check that the bank's amounts are counted in the unit that is configured: a person types the balance as the
 * bank's own portal shows it, and the configured codec must make the same cents of the bank's answer.
 */
@Injectable()
export class UnitCheck {
  constructor(
    private readonly database: Database,
    private readonly client: BankClient,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * @param typedMinor the balance in cents, as a person read it at the bank.
   * @throws Problem 422 `BALANCE_IS_ZERO`, `BALANCE_DIFFERS`, `UNIT_LOOKS_WRONG`, 409 `BALANCE_NOT_SHOWN`; 502, 503
   */
  async confirm(account: EmployerAccount, personId: string, typedMinor: bigint): Promise<EmployerAccount> {
    const { balance } = await askBank(() => this.client.accounts.get(account.bankAccountId));
    const verdict = this.compare(balance ?? undefined, typedMinor);
    const checked = await this.record(account, personId, verdict);
    if (verdict === 'BALANCE_NOT_SHOWN') throw new Problem(409, verdict, REFUSALS[verdict]);
    if (verdict !== 'EQUAL') throw new Problem(422, verdict, REFUSALS[verdict]);
    return checked;
  }

  private compare(balance: AmountText | undefined, typedMinor: bigint): Verdict {
    if (balance === undefined) return 'BALANCE_NOT_SHOWN';
    if (typedMinor === 0n) return 'BALANCE_IS_ZERO';
    const other = this.config.BANK_AMOUNT_UNIT === 'minor' ? 'major' : 'minor';
    if (minorIn(this.client.amounts, balance) === typedMinor) return 'EQUAL';
    return minorIn(new AmountCodec(other), balance) === typedMinor ? 'UNIT_LOOKS_WRONG' : 'BALANCE_DIFFERS';
  }

  /** A failed check is kept too: somebody who guesses balances leaves a trace. */
  private record(
    { employerId, id }: EmployerAccount,
    personId: string,
    verdict: Verdict,
  ): Promise<EmployerAccount> {
    const unit = this.config.BANK_AMOUNT_UNIT;
    return this.database.inEmployer(employerId, async (tx) => {
      if (verdict === 'EQUAL') {
        const confirmed = {
          unitConfirmed: unit,
          unitConfirmedAt: this.clock.now(),
          unitConfirmedBy: personId,
        };
        await tx.manager.update(EmployerAccount, { employerId, id }, confirmed);
      }
      const subject = showId('acc', id);
      await append(tx, { personId, action: 'account.unit-checked', subject, detail: { verdict, unit } });
      return findAccount(tx, id);
    });
  }
}

/** Undefined where the unit does not fit: cents with decimals are no cents. */
function minorIn(codec: AmountCodec, balance: AmountText): bigint | undefined {
  try {
    return codec.decodeSum(balance, 'balance');
  } catch (error) {
    if (error instanceof ContractDrift) return undefined;
    throw error;
  }
}
