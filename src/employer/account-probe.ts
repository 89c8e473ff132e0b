import { Inject, Injectable } from '@nestjs/common';
import { BankClient } from '../bank/client';
import { BankClientError } from '../bank/errors';
import type { Account } from '../bank/schema';
import { CONFIG, Config } from '../config/env';
import { PersonalData } from '../database/personal-data';
import { formatMinor } from '../domain/money';
import { LiveAccount, ProbedItem } from './account-bodies';
import { showAccount } from './account-view';
import { EmployerAccount } from './employer.entity';
import { HookService } from './hook.service';
import { Onboarding } from './onboarding';

/** Asks the bank about an account while a person waits. */
@Injectable()
export class AccountProbe {
  constructor(
    private readonly client: BankClient,
    private readonly onboarding: Onboarding,
    private readonly hooks: HookService,
    private readonly personal: PersonalData,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Finds out which reads the bank allows, and has the account's events delivered. */
  async probed(account: EmployerAccount, personId: string): Promise<ProbedItem> {
    const { account: probed, findings, notInitiated } = await this.onboarding.probe(account, personId);
    const hook = await this.hooks.ensureHookOf(account.employerId);
    return { ...showAccount(probed, this.personal, this.config), findings, notInitiated, hook };
  }

  /**
   * Status and balance at the bank now; null while the bank cannot be asked. The balance is shown only once its unit
   * was checked: before, it would be typed in for that check, or be a hundred times too much.
   */
  async live(account: EmployerAccount, withBalance: boolean): Promise<LiveAccount | null> {
    try {
      const record = await this.client.accounts.get(account.bankAccountId);
      const shown = withBalance && account.unitConfirmed === this.config.BANK_AMOUNT_UNIT;
      return {
        status: record.status,
        balance: shown ? this.text(record, 'balance') : null,
        availableBalance: shown ? this.text(record, 'availableBalance') : null,
      };
    } catch (error) {
      if (error instanceof BankClientError) return null;
      throw error;
    }
  }

  private text(record: Account, field: 'balance' | 'availableBalance'): string | null {
    const amount = record[field];
    return amount ? formatMinor(this.client.amounts.decodeSum(amount, field)) : null;
  }
}
