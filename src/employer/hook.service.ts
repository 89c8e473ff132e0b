import { BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { append } from '../audit/audit';
import { BankClient } from '../bank/client';
import { isBankError, unless } from '../bank/errors';
import type { WebhookSubscription } from '../bank/schema';
import { EVENTS } from '../bank/types';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { Shutdown } from '../config/shutdown';
import { Database } from '../database/database';
import { afterCommit, DatabaseAway } from '../database/outage';
import { describeError } from '../config/describe-error';
import { showId } from '../http/prefixed-id';
import { DELIVERY_PATH, hookToKeep, oursAmong, shownAddress } from './hook-choice';
import {
  declareAddress,
  giveUpAssociations,
  HookMemory,
  HookWish,
  hookWishes,
  keepAssociation,
  recallHooks,
  rememberEnding,
  rememberHook,
  wantAgain,
} from './hook.store';

const HOOK_NAME = 'Payrun';
const NOT_FOUND = 404;
/** How an identity that is linked already may be refused: a link whose answer was lost is asked for again. */
const CONFLICT = 409;

/**
 * Whether the bank's events of an employer reach this service. `OFF`: no PUBLIC_URL. `FAILED`: the bank could not
 * be asked or refused; polling does the work meanwhile.
 */
export type HookState = 'ON' | 'OFF' | 'FAILED';

/**
 * Keeps exactly one subscription at the bank for the whole service, linked to the identities of every employer's
 * accounts, and none when no employer wants its events. Each check compares what the bank lists with what is wanted,
 * so whatever went wrong before ends with it. Checks happen under a lock, so that replicas do not subscribe twice.
 */
@Injectable()
export class HookService implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Hook');
  /** Within one process turns are taken here: whoever waits for the lock holds a connection of the pool. */
  private turn: Promise<unknown> = Promise.resolve();
  private declared = false;

  constructor(
    private readonly database: Database,
    private readonly client: BankClient,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    private readonly shutdown: Shutdown,
  ) {}

  /** A check links every employer's identity, which may take minutes at a slow bank; the next start goes on with it. */
  async beforeApplicationShutdown(): Promise<void> {
    const { leftMs } = this.shutdown;
    await Promise.race([this.turn, new Promise((resolve) => setTimeout(resolve, leftMs).unref())]);
  }

  /**
   * Checks the hook and its links to every employer that did not give its events up, and ends those that are too
   * many or of former addresses. Failures are only logged: the next check meets them again.
   */
  ensureHook(): Promise<HookState> {
    return this.ensure(undefined);
  }

  /** The same for the links of one employer; `again` also wants what was given up before. */
  ensureHookOf(employerId: string, again = false): Promise<HookState> {
    return this.ensure(employerId, again);
  }

  /**
   * Gives an employer's events up, and ends the subscription when no other employer wants any. The bank has no call
   * that ends a single link, so until then it may go on to deliver; polling does the employer's work. An end that
   * the bank did not confirm is asked for again by the next check.
   * @returns whether no subscription of this service is left.
   */
  async remove(employerId: string, personId: string): Promise<boolean> {
    return this.exclusively(async () => {
      await this.database.inEmployer(employerId, async (tx) => {
        const hookIds = await giveUpAssociations(tx, this.clock.now());
        const subject = showId('emp', employerId);
        await append(tx, { personId, action: 'hook.given-up', subject, detail: { hookIds } });
      });
      return afterCommit(() => this.endUnwanted());
    });
  }

  /** @returns whether no subscription is left, which is so only where no employer wants any. */
  private async endUnwanted(): Promise<boolean> {
    if ((await hookWishes(this.database)).some(({ wanted }) => wanted)) return false;
    try {
      return await this.end(await this.ours(await this.memory()));
    } catch (error) {
      if (!isBankError(error)) throw error;
      this.warn('the hook could not be ended', error);
      return false;
    }
  }

  private async ensure(employerId: string | undefined, again = false): Promise<HookState> {
    const { PUBLIC_URL } = this.config;
    if (PUBLIC_URL === undefined) return 'OFF';
    try {
      return await this.exclusively(async () => {
        await this.declare(`${PUBLIC_URL.replace(/\/+$/, '')}${DELIVERY_PATH}`);
        if (employerId !== undefined && again) await this.database.inEmployer(employerId, wantAgain);
        return (await this.check(employerId)) ? 'ON' : 'FAILED';
      });
    } catch (error) {
      // An outage is told once, for all work.
      if (!(error instanceof DatabaseAway)) this.warn('the hook could not be ensured', error);
      return 'FAILED';
    }
  }

  /** Once in a process: of replicas with different addresses that of the one started last is used by all. */
  private async declare(url: string): Promise<void> {
    if (this.declared) return;
    await declareAddress(this.database, url);
    this.declared = true;
  }

  /** Where one employer is named, the links of the others wait for the next check, unless their hook is new. */
  private async check(employerId: string | undefined): Promise<boolean> {
    const wishes = await hookWishes(this.database);
    if (wishes.length === 0) return true;
    const wanted = wishes.filter((wish) => wish.wanted);
    const memory = await this.memory();
    const ours = await this.ours(memory);
    const { kept, linked } = await this.keepOne(wanted, ours, memory, employerId);
    // Only now: what is replaced delivers until its successor does.
    const ended = await this.end(ours.filter(({ id }) => id !== kept));
    return linked && (ended || employerId !== undefined);
  }

  private async keepOne(
    wanted: readonly HookWish[],
    ours: readonly WebhookSubscription[],
    memory: HookMemory,
    employerId: string | undefined,
  ): Promise<{ kept?: string; linked: boolean }> {
    if (wanted.length === 0) return { linked: true };
    const found = hookToKeep(ours, memory);
    const kept = found ?? (await this.subscribe(memory));
    const isMeant = (wish: HookWish) => employerId === undefined || wish.employer_id === employerId;
    const isDue = (wish: HookWish) => isMeant(wish) && !wish.hook_ids.includes(kept);
    let linked = true;
    // A hook just made reaches nobody, whatever was linked to one of the same id before.
    for (const wish of found === undefined ? wanted : wanted.filter(isDue)) {
      if (!(await this.link(wish, kept)) && isMeant(wish)) linked = false;
    }
    return { kept, linked };
  }

  private memory(): Promise<HookMemory> {
    return recallHooks(this.database, this.config.BANK_LAG_BOUND_MS);
  }

  private async ours(memory: HookMemory): Promise<WebhookSubscription[]> {
    return oursAmong(await this.client.hooks.list(), memory);
  }

  /** A subscribe that stayed unanswered may have been done: the list says so, now or at the next check. */
  private async subscribe(memory: HookMemory): Promise<string> {
    const [url] = memory.addresses;
    if (url === undefined) throw new Error('no address was declared');
    const asked = { name: HOOK_NAME, url, events: [...EVENTS] };
    const outcome = await this.client.hooks.subscribe(asked);
    if (outcome.kind === 'yes') {
      const { id } = outcome.value;
      const shownAs = shownAddress(outcome.value);
      await rememberHook(this.database, { id, shownAs }, asked);
      const listedAs = await this.listedAs(id);
      if (listedAs !== undefined && listedAs !== shownAs)
        await rememberHook(this.database, { id, shownAs: listedAs }, asked);
      return id;
    }
    const found = hookToKeep(await this.ours(memory), memory);
    if (found === undefined) throw new Error('the bank did not take the subscription');
    return found;
  }

  /**
   * The address with which the bank lists a hook that it has just made, and by which it is known from then on: that may be
   * written otherwise than in the answer. Undefined where it is not listed yet.
   */
  private async listedAs(hookId: string): Promise<string | undefined> {
    const listed = await unless(isBankError, this.client.hooks.list());
    const hook = listed?.find(({ id }) => id === hookId);
    return hook && shownAddress(hook);
  }

  private async link({ employer_id, identity }: HookWish, hookId: string): Promise<boolean> {
    const outcome = await this.client.hooks.associateIdentity(hookId, identity);
    const { kind, status } = outcome;
    if (kind === 'yes' || status === CONFLICT) {
      await this.database.inEmployer(employer_id, (tx) => keepAssociation(tx, hookId, identity));
      return true;
    }
    this.logger.warn({ message: 'an identity was not linked to the hook', outcome: kind, status });
    return false;
  }

  /** @returns whether the bank has none of these any more, as far as it says. */
  private async end(hooks: readonly WebhookSubscription[]): Promise<boolean> {
    let gone = true;
    for (const hook of hooks) {
      await rememberEnding(this.database, { id: hook.id, shownAs: shownAddress(hook) });
      const { kind, status } = await this.client.hooks.delete(hook.id);
      if (kind === 'yes' || status === NOT_FOUND) continue;
      gone = false;
      this.logger.warn({ message: 'a hook was not ended', outcome: kind, status });
    }
    return gone;
  }

  private warn(message: string, error: unknown): void {
    this.logger.warn({ message, error: describeError(error) });
  }

  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.turn.then(() => this.database.exclusively('bank-hook', work));
    this.turn = mine.catch(() => undefined);
    return mine;
  }
}
