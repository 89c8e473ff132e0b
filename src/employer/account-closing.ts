import { Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { BankClient } from '../bank/client';
import { BankClientError, NotFound } from '../bank/errors';
import type { Account } from '../bank/schema';
import { PATHS } from '../bank/types';
import { Database, EmployerTransaction } from '../database/database';
import { parseScaled } from '../domain/money';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { assertNoOpenRun, findAccount, keepBankStatus } from './account.store';
import { BankCalls } from './bank-calls';
import { askBank, asRefusal, refusalProblem, saidInDoubt } from './bank-problem';
import { EmployerAccount } from './employer.entity';

/** A state of the account that forbids it. That there is none may mean that it is closed. */
const REFUSALS = [409, 412];

/** Closes accounts at the bank, for good. What they paid stays; the row of a closed account is kept. */
@Injectable()
export class AccountClosing {
  constructor(
    private readonly database: Database,
    private readonly client: BankClient,
    private readonly calls: BankCalls,
  ) {}

  /**
   * Closes an account that is empty and on which no run is open. An answer in doubt is settled by a read: one that was shown
   * before and is not any more is closed.
   * @throws Problem 409 `ACCOUNT_HAS_OPEN_RUNS`, `BALANCE_NOT_ZERO`, `BALANCE_NOT_SHOWN`, `ACCOUNT_IS_CLOSED`,
   * `CLOSING_IN_DOUBT`, 422 `BANK_REFUSED` with the bank's own words, 502, 503
   */
  async close(employerId: string, personId: string, accountId: string): Promise<EmployerAccount> {
    const account = await this.database.inEmployer(employerId, (tx) => findAccount(tx, accountId));
    const atBank = await askBank(() => this.unlessGone(account));
    if (atBank && atBank.status !== 'CLOSED') {
      assertEmpty(atBank);
      await this.send(account);
    }
    return this.database.inEmployer(employerId, async (tx) => {
      if (!(await keepBankStatus(tx, accountId, 'CLOSED')))
        throw new Problem(409, 'ACCOUNT_IS_CLOSED', 'The account is closed.');
      const subject = showId('acc', accountId);
      const detail = { bankAccountId: account.bankAccountId };
      await append(tx, { personId, action: 'account.closed', subject, detail });
      return findAccount(tx, accountId);
    });
  }

  private async send(account: EmployerAccount): Promise<void> {
    const { employerId, id, bankAccountId } = account;
    const target = PATHS.account(encodeURIComponent(bankAccountId));
    const call = { employerId, subjectId: id, operation: 'close_account', target, body: '' } as const;
    const outcome = await this.calls.recorded(
      call,
      async () => asRefusal(await this.client.accounts.close(bankAccountId), REFUSALS),
      (tx) => assertNoOpenRun(tx, id),
    );
    if (outcome.kind === 'no') throw refusalProblem(outcome, 'The bank did not close the account');
    if (outcome.kind === 'yes' || (await this.isClosed(account))) return;
    const detail = 'The bank did not answer clearly. Look at the status of the account before trying again.';
    throw new Problem(409, 'CLOSING_IN_DOUBT', `${detail} What came of it: ${saidInDoubt(outcome)}.`);
  }

  /** Undefined where the bank shows it no more after a close of ours. */
  private async unlessGone({ employerId, id, bankAccountId }: EmployerAccount): Promise<Account | undefined> {
    try {
      return await this.client.accounts.get(bankAccountId);
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      if (await this.database.inEmployer(employerId, (tx) => mayBeClosedByUs(tx, id))) return undefined;
      throw error;
    }
  }

  private async isClosed(account: EmployerAccount): Promise<boolean> {
    try {
      const atBank = await this.unlessGone(account);
      return !atBank || atBank.status === 'CLOSED';
    } catch (error) {
      if (error instanceof BankClientError) return false;
      throw error;
    }
  }
}

/** Whether a close of ours was, or may have been, carried out. */
async function mayBeClosedByUs(tx: EmployerTransaction, accountId: string): Promise<boolean> {
  const calls = await tx.query(
    `SELECT 1 FROM bank_call WHERE employer_id = $1 AND instruction_id = $2 AND operation = 'close_account'
       AND outcome IS DISTINCT FROM 'NO' LIMIT 1`,
    [tx.employerId, accountId],
  );
  return calls.length > 0;
}

/** Zero is zero in every unit. */
function assertEmpty({ balance, availableBalance }: Account): void {
  if (!balance) {
    throw new Problem(409, 'BALANCE_NOT_SHOWN', 'The bank does not show the balance of this account.');
  }
  const isZero = (value: string) => parseScaled(value, 0) === 0n;
  if (isZero(balance.value) && isZero(availableBalance?.value ?? '0')) return;
  throw new Problem(409, 'BALANCE_NOT_ZERO', 'Only an account whose balance is zero can be closed.');
}
