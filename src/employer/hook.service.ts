import {
  BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  OnApplicationBootstrap,
} from '@nestjs/common';
import { append } from '../audit/audit';
import { BankClient } from '../bank/client';
import type { WebhookSubscription } from '../bank/schema';
import { EVENTS } from '../bank/types';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { describeError } from '../http/describe-error';
import { showId } from '../http/prefixed-id';
import {
  employersWithAccounts,
  giveUpAssociations,
  isHookUsed,
  keepAssociation,
  unreachedIdentities,
} from './hook.store';

const HOOK_NAME = 'Payrun';

/**
 * Whether the bank's events of an employer reach this service. `OFF`: no PUBLIC_URL. `FAILED`: the bank could not
 * be asked or refused; polling does the work meanwhile.
 */
export type HookState = 'ON' | 'OFF' | 'FAILED';

/**
 * Keeps one subscription at the bank for the whole service, linked to the identities of every employer's accounts.
 * Changes happen under a lock, so that replicas that start together do not subscribe twice.
 */
@Injectable()
export class HookService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Hook');
  /** Within one process turns are taken here: whoever waits for the lock holds a connection of the pool. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly client: BankClient,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Does not keep the service from starting: the bank may be slow or down. */
  onApplicationBootstrap(): void {
    void this.ensureHook();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.turn;
  }

  /** Restores the hook and its links to every employer that did not give its events up. Failures are only logged. */
  ensureHook(): Promise<HookState> {
    return this.ensure(() => employersWithAccounts(this.database), false);
  }

  /** The same for one employer; `again` also links what was given up before. */
  ensureHookOf(employerId: string, again = false): Promise<HookState> {
    return this.ensure(async () => [employerId], again);
  }

  /**
   * Gives an employer's events up, and ends the subscription when no other employer uses it. The bank has no call
   * that ends a single link, so until then it may go on to deliver; polling does the employer's work.
   * @returns whether the subscription was ended.
   */
  async remove(employerId: string, personId: string): Promise<boolean> {
    return this.exclusively(async () => {
      const hookIds = await this.database.inEmployer(employerId, async (tx) => {
        const givenUp = await giveUpAssociations(tx, this.clock.now());
        const subject = showId('emp', employerId);
        await append(tx, { personId, action: 'hook.given-up', subject, detail: { hookIds: givenUp } });
        return givenUp;
      });
      let ended = false;
      for (const hookId of hookIds) {
        if (await isHookUsed(this.database, hookId)) continue;
        ended = (await this.client.hooks.delete(hookId)).kind === 'yes' || ended;
      }
      return ended;
    });
  }

  private async ensure(employers: () => Promise<string[]>, again: boolean): Promise<HookState> {
    const { PUBLIC_URL } = this.config;
    if (PUBLIC_URL === undefined) return 'OFF';
    try {
      return await this.exclusively(async () => {
        const employerIds = await employers();
        if (employerIds.length === 0) return 'ON';
        const hookId = await this.subscription(`${PUBLIC_URL.replace(/\/+$/, '')}/webhooks/bank`);
        let state: HookState = 'ON';
        for (const id of employerIds) if (!(await this.link(id, hookId, again))) state = 'FAILED';
        return state;
      });
    } catch (error) {
      this.logger.warn({ message: 'the hook could not be ensured', error: describeError(error) });
      return 'FAILED';
    }
  }

  /** The id of the one subscription of our address: found, or made. */
  private async subscription(url: string): Promise<string> {
    const found = await this.ours(url);
    const [kept, ...superfluous] = found.length > 0 ? found : await this.subscribe(url);
    for (const { id } of superfluous) await this.client.hooks.delete(id);
    if (kept === undefined) throw new Error('the bank did not take the subscription');
    return kept.id;
  }

  private async ours(url: string): Promise<WebhookSubscription[]> {
    const hooks = await this.client.hooks.list();
    return hooks.filter(({ body }) => body === url);
  }

  /** A subscribe that stayed unanswered may have been done: the list says so. */
  private async subscribe(url: string): Promise<WebhookSubscription[]> {
    const outcome = await this.client.hooks.subscribe({ name: HOOK_NAME, url, events: [...EVENTS] });
    return outcome.kind === 'yes' ? [outcome.value] : this.ours(url);
  }

  private async link(employerId: string, hookId: string, again: boolean): Promise<boolean> {
    const identities = await this.database.inEmployer(employerId, (tx) =>
      unreachedIdentities(tx, hookId, again),
    );
    let all = true;
    for (const identity of identities) {
      const outcome = await this.client.hooks.associateIdentity(hookId, identity);
      if (outcome.kind === 'yes') {
        await this.database.inEmployer(employerId, (tx) => keepAssociation(tx, hookId, identity));
      } else {
        all = false;
        this.logger.warn({
          message: 'an identity was not linked to the hook',
          outcome: outcome.kind,
          status: outcome.status,
        });
      }
    }
    return all;
  }

  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.turn.then(() => this.database.exclusively('bank-hook', work));
    this.turn = mine.catch(() => undefined);
    return mine;
  }
}
