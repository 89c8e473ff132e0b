import { Injectable } from '@nestjs/common';
import { BankClient } from '../bank/client';
import { ListUnreadable, NotFound } from '../bank/errors';
import type { Account } from '../bank/schema';
import { append } from '../audit/audit';
import { Clock } from '../config/clock';
import { Database } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { validateBic } from '../domain/bic';
import { ibanCountryOf, maskIban, validateIban } from '../domain/iban';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { ownersOf } from './account.store';
import { askBank } from './bank-problem';
import { EmployerAccount } from './employer.entity';

/** A distributor with more accounts attaches them by id; a list for a person ends somewhere. */
const MAX_LISTED = 1_000;

/** An account the bank lists. `iban` is masked. */
export interface ListedAccount {
  readonly bankAccountId: string;
  readonly iban: string | null;
  readonly status: string;
  readonly label: string | null;
  readonly attached: boolean;
}

/** What a person says of the account to attach; `bankIdentityId` where it is not the owner's user id. */
export interface NewAccount {
  readonly bankAccountId: string;
  readonly debtorName: string;
  readonly bankIdentityId?: string;
}

/**
 * Connects accounts at the bank with the employer they belong to. Records are read without their amounts: the unit
 * of these may still be wrong.
 */
@Injectable()
export class Attachment {
  constructor(
    private readonly database: Database,
    private readonly client: BankClient,
    private readonly personal: PersonalData,
    private readonly clock: Clock,
  ) {}

  /**
   * Accounts the bank lists, without those of other employers, which are nobody's business here. `complete` is false
   * when the bank has more than 1,000, or shows some and not all. @throws Problem 502, 503
   */
  async listed(employerId: string): Promise<{ items: ListedAccount[]; complete: boolean }> {
    const { records, complete } = await askBank(() => this.read());
    const ids = records.map(({ id }) => id);
    const owners = await this.database.asWorker((tx) => ownersOf(tx, ids));
    const visible = records.filter(({ id }) => (owners.get(id) ?? employerId) === employerId);
    return { items: visible.map((record) => listedAccount(record, owners.has(record.id))), complete };
  }

  /**
   * Attaches an account with what the bank says of it.
   * @throws Problem 409 `ACCOUNT_ALREADY_CONNECTED`, 422 `BANK_ACCOUNT_UNKNOWN`, `BANK_ACCOUNT_UNUSABLE`, 502, 503
   */
  async attach(employerId: string, personId: string, wanted: NewAccount): Promise<EmployerAccount> {
    const record = await this.readAccount(wanted.bankAccountId);
    const now = this.clock.now();
    const account: EmployerAccount = {
      ...this.factsOf(record, wanted.bankIdentityId),
      employerId,
      id: newId(now.getTime()),
      debtorName: wanted.debtorName,
      bankStatusAt: null,
      reads: [],
      pageBase: null,
      probedAt: null,
      unitConfirmed: null,
      unitConfirmedAt: null,
      unitConfirmedBy: null,
      detachedAt: null,
      createdAt: now,
    };
    await this.database.inEmployer(employerId, async (tx) => {
      await tx.manager.insert(EmployerAccount, account);
      await append(tx, {
        personId,
        action: 'account.attached',
        subject: showId('acc', account.id),
        detail: { bankAccountId: account.bankAccountId, bankIdentityId: account.bankUserId },
      });
    });
    return account;
  }

  private async read(): Promise<{ records: Account[]; complete: boolean }> {
    const records: Account[] = [];
    try {
      for await (const record of this.client.accounts.list()) {
        if (records.length === MAX_LISTED) return { records, complete: false };
        records.push(record);
      }
    } catch (error) {
      if (!(error instanceof ListUnreadable) || records.length === 0) throw error;
      return { records, complete: false };
    }
    return { records, complete: true };
  }

  private readAccount(bankAccountId: string): Promise<Account> {
    return askBank(async () => {
      try {
        return await this.client.accounts.get(bankAccountId);
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
        throw new Problem(422, 'BANK_ACCOUNT_UNKNOWN', 'The bank has no such account.');
      }
    });
  }

  /** Answers are checked like user input: a damaged IBAN here would be the debtor of every salary. */
  private factsOf(record: Account, bankIdentityId: string | undefined) {
    const checked = validateIban(record.iban ?? '');
    if (!checked.ok) throw unusable(`its IBAN cannot be used: ${checked.message}`);
    const currency = record.balance?.currency ?? 'EUR';
    if (currency !== 'EUR') throw unusable('only accounts in EUR can be used.');
    if (record.status === 'CLOSED') throw unusable('it is closed.');
    const bankUserId = bankIdentityId ?? record.userId;
    if (bankUserId == null || bankUserId === '')
      throw unusable('the bank does not say whose it is; name its identity.');
    const bic = validateBic(record.bic ?? '', ibanCountryOf(checked.iban));
    return {
      bankAccountId: record.id,
      bankUserId,
      ibanSealed: this.personal.seal(checked.iban),
      ibanHash: this.personal.hash(checked.iban),
      // A BIC is optional beside an IBAN: better none than one that contradicts it.
      bic: bic.ok ? bic.bic : null,
      currency: 'EUR' as const,
      bankStatus: record.status,
    };
  }
}

function listedAccount(record: Account, attached: boolean): ListedAccount {
  const checked = validateIban(record.iban ?? '');
  return {
    bankAccountId: record.id,
    iban: checked.ok ? maskIban(checked.iban) : null,
    status: record.status,
    label: record.label ?? null,
    attached,
  };
}

function unusable(why: string): Problem {
  return new Problem(422, 'BANK_ACCOUNT_UNUSABLE', `The account cannot be attached: ${why}`);
}
