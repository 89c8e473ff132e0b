import { Inject, Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { BankClient } from '../bank/client';
import { BankClientError, NotAllowed, NotFound, RateLimited } from '../bank/errors';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence, LeaseKind, Leases } from '../database/leases';
import { leaseHolder, LeaseWorker, WakeIn } from '../database/lease-worker';
import { keepBankStatus } from '../employer/account.store';
import { EmployerAccount } from '../employer/employer.entity';
import { notReady } from '../employer/readiness';
import { showId } from '../http/prefixed-id';
import { clearUnusable, raiseNotReady } from '../pay-run/waits-for-account';
import { lockRunsHeldBy, reasonsToRead, wakeRunsOf } from './account-watch.store';

/** Accounts read at once by one process; a read takes a round trip. */
const READ_AT_ONCE = 20;
/** A read that failed is soon tried again: an event may wait for it. */
const AFTER_FAILURE_MS = 15_000;
/** Events may come faster than reads tell anything new: within the lag a read may be as old as the one before. */
const MOST_REST_MS = 15_000;

/**
 * Keeps the status of accounts as the bank gives it: read whenever an event that may be about it names the account or
 * its holder, and every `ACCOUNT_READ_MS` while a run on it is open. No event is believed. While an account is not OPENED
 * its runs wait; once it is again they go on by themselves.
 */
@Injectable()
export class AccountWatch {
  private readonly worker: LeaseWorker;

  constructor(
    private readonly database: Database,
    leases: Leases,
    private readonly client: BankClient,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.worker = new LeaseWorker(leases, {
      kind: 'ACCOUNT',
      holder: leaseHolder(),
      leaseMs: config.LEASE_MS,
      atOnce: READ_AT_ONCE,
      step: (claim) => this.step(claim),
      restMs: Math.min(config.BANK_LAG_BOUND_MS, MOST_REST_MS),
    });
  }

  /** Claims what is due, where anything of its kind is, and starts on it; does not wait for it. */
  async tick(due: ReadonlySet<LeaseKind>): Promise<void> {
    await this.worker.tick(due);
  }

  /** Takes no more work and waits for what is under way. */
  drain(): Promise<void> {
    return this.worker.drain();
  }

  private async step(claim: Claim): Promise<WakeIn> {
    const { employerId, subjectId: id } = claim;
    const account = await this.database.inEmployer(employerId, (tx) =>
      tx.manager.findOneBy(EmployerAccount, { employerId, id }),
    );
    if (account === null) return 'never';
    let status: string;
    try {
      status = (await this.client.accounts.get(account.bankAccountId)).status;
    } catch (error) {
      return this.afterFailure(error);
    }
    const wakeIn = await this.database.inEmployer(employerId, async (tx) => {
      await fence(tx, claim);
      await this.record(tx, account, status);
      return this.nextReadMs(tx, account, status);
    });
    if (status !== 'OPENED') await this.alarm(claim, { ...account, bankStatus: status });
    return wakeIn;
  }

  /** A failed read proves nothing; the status stays as it was. */
  private afterFailure(error: unknown): WakeIn {
    if (!(error instanceof BankClientError)) throw error;
    if (error instanceof RateLimited) return error.retryAfterMs;
    const { ACCOUNT_READ_MS } = this.config;
    const refused = error instanceof NotAllowed || error instanceof NotFound;
    return refused ? ACCOUNT_READ_MS : Math.min(AFTER_FAILURE_MS, ACCOUNT_READ_MS);
  }

  private async record(tx: EmployerTransaction, account: EmployerAccount, status: string): Promise<void> {
    const changed = await keepBankStatus(tx, account.id, status);
    if (status === 'OPENED') await this.allow(tx, account, changed);
    const detail = { from: account.bankStatus, to: status };
    if (changed)
      await append(tx, { action: 'account.status-changed', subject: showId('acc', account.id), detail });
  }

  /**
   * After the status is kept, which stops every submit and so waits for no run; of what people give up meanwhile nothing is
   * asked.
   */
  private async alarm(claim: Claim, account: EmployerAccount): Promise<void> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      const held = await lockRunsHeldBy(tx, account.id);
      await fence(tx, claim);
      for (const run of held) await raiseNotReady(tx, run, account, this.config);
    });
  }

  private async allow(tx: EmployerTransaction, account: EmployerAccount, changed: boolean): Promise<void> {
    if (changed) await wakeRunsOf(tx, account.id);
    if (notReady({ ...account, bankStatus: 'OPENED' }, this.config).length > 0) return;
    await clearUnusable(tx, account.id, 'the bank says the account is open');
  }

  /** Right after an event a read may still be older than it, so it is repeated when the lag bound has passed. */
  private async nextReadMs(
    tx: EmployerTransaction,
    account: EmployerAccount,
    status: string,
  ): Promise<WakeIn> {
    const { ACCOUNT_READ_MS, BANK_LAG_BOUND_MS } = this.config;
    const { newsMs, openRun } = await reasonsToRead(tx, account.id);
    if (newsMs !== undefined && newsMs < BANK_LAG_BOUND_MS) return BANK_LAG_BOUND_MS;
    return openRun && status !== 'CLOSED' ? ACCOUNT_READ_MS : 'never';
  }
}
