import { Injectable } from '@nestjs/common';
import { AtMostEvery } from '../config/at-most-every';
import { Clock } from '../config/clock';
import { Lanes } from '../config/lanes';
import {
  ContractDrift,
  isBankError,
  isNotShown,
  isPerhapsNone,
  isRequestRefused,
  isServersFault,
  isTooLong,
  unless,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { type BankPayment, namesItsInstruction } from '../bank/records';
import { DAY_MS, HOUR_MS } from '../domain/durations';
import { BankReads } from '../employer/bank-reads';
import { EmployerAccount } from '../employer/employer.entity';
import { type InstructionAtBank, knownTo, lackingIn, sightedBy } from '../employer/instruction-at-bank';
import { hasBothLists, may } from '../employer/payment-lists';
import { PaymentsAlone } from '../employer/payments-alone';
import { Sweeps } from './sweeps';

/** With more instructions open than this, one pass over the general listing is cheaper than a read of each. */
const FEW = 5;

/**
 * The most this family of banks shows on a page. An instruction that fills one by itself costs no more pages by its own
 * list than it has in the general one, which holds those of others too.
 */
const FULL_PAGE_ROWS = 100;

/** More at once gain nothing: the connections of the client are needed for submits as well. */
const OWN_LISTS_AT_ONCE = 8;

/** How often all of the list is swept at most for an instruction of which that shows no more than from a date on. */
const TRY_WHOLE_MS = HOUR_MS;

/** How often what may have been made elsewhere is swept for at most: each read of what ended comes a day after the last. */
const SWEPT_FOR_MS = DAY_MS - HOUR_MS;

/** What is read: an instruction of ours, how many payments it has, and whether it has ended and is only watched. */
interface Asked {
  id: string;
  rows: number;
  ended: boolean;
}

/** What was found, and by which way: by every read nothing is left to be looked for. */
interface Swept {
  swept: BankPayment[];
  by: 'sweep' | 'own-list' | 'every-read';
}

/**
 * The payments of followed instructions: read one by one while they are few or fill pages of their own, and by one sweep
 * of the general listing that serves all who asked when they are many and small. The sweep has no status filter, since
 * records move between pages. What has ended, and reaches far back, does not widen the sweep of what is open.
 */
@Injectable()
export class PaymentSource {
  private open = 0;
  private readonly ownLists = new Lanes(OWN_LISTS_AT_ONCE);
  private readonly ofOpen: Sweeps;
  private readonly ofEnded: Sweeps;
  /** Of everything the bank holds, as far as the pager goes, where it refuses to begin anywhere, or may hide some by that. */
  private readonly ofAll: Sweeps;
  /** Of what may have been made once more, by our id and whether it has ended. */
  private readonly sweptFor: AtMostEvery<string>;
  /** Of an instruction of which that showed no more, by our id. */
  private readonly wholeTried: AtMostEvery<string>;

  constructor(
    private readonly reads: BankReads,
    private readonly alone: PaymentsAlone,
    gateway: BankGateway,
    private readonly clock: Clock,
  ) {
    this.ofOpen = new Sweeps(gateway, 'recent');
    this.ofEnded = new Sweeps(gateway, 'recent');
    this.ofAll = new Sweeps(gateway, 'all');
    this.sweptFor = new AtMostEvery(SWEPT_FOR_MS, clock);
    this.wholeTried = new AtMostEvery(TRY_WHOLE_MS, clock);
  }

  /**
   * Every payment of the instruction that the bank shows now, and once a day what it may have made once more elsewhere under
   * a message id of it; absence proves nothing. @throws BankClientError
   */
  async paymentsOf(account: EmployerAccount, asked: Asked, at: InstructionAtBank): Promise<BankPayment[]> {
    const { asked: sighted, sights } = sightedBy(at);
    const shown = await this.shownOf(account, asked, sighted);
    await this.lookElsewhere(account, asked, sighted);
    // Whatever the read came to that showed it.
    const known = new Set([...at.bankIds.map(([id]) => id), ...shown.map((one) => one.bankPaymentId)]);
    const elsewhere = sights.filter(({ bankPaymentId, messageId = '' }) => {
      return !known.has(bankPaymentId) && at.isNamedBy(messageId);
    });
    return [...shown, ...elsewhere];
  }

  /**
   * By a sweep of the general list, which serves all that is followed then: of what is open for a day, and of what ended from its
   * first read on; that the list cannot be read to its end is no worse than that there is no more of it.
   */
  private async lookElsewhere(account: EmployerAccount, asked: Asked, at: InstructionAtBank): Promise<void> {
    if (!hasBothLists(account)) return;
    const isYoung = !asked.ended && this.clock.now().getTime() - at.createdAt.getTime() < DAY_MS;
    if (isYoung || !this.sweptFor.isDue(keyOf(asked))) return;
    await unless(isBankError, this.sweptAnyhow(asked, { ...at, onIncoming: undefined }));
  }

  private async shownOf(
    account: EmployerAccount,
    asked: Asked,
    at: InstructionAtBank,
  ): Promise<BankPayment[]> {
    this.open += 1;
    try {
      if (!may(account, 'PAYMENT_LIST')) return await this.reads.payments(account, at);
      const isFew = this.open <= FEW;
      const isPassedOver = !may(account, 'INSTRUCTION_PAYMENTS') || (!isFew && asked.rows < FULL_PAGE_ROWS);
      if (isPassedOver) return await this.ofGeneralList(account, asked, at, 'not-read');
      const own = isFew ? await this.reads.payments(account, at) : await this.ownList(account, at);
      if (own === undefined) return await this.ofGeneralList(account, asked, at, 'unshown');
      if (isFew && (own.length > 0 || at.byAnyList)) return own;
      if (own.length > 0 && lackingIn(at, own).length === 0) return own;
      if (own.length > 0) return await this.withSwept(at, own, this.sweptAnyhow(asked, at));
      // What its own list shows none of the general one may show; of what is followed, that it cannot be read is no worse.
      const isNoWorse = (error: unknown): boolean => {
        if (!this.reads.mayBeReadOtherwise(error, at, true)) return false;
        at.onUnread?.(error);
        return true;
      };
      const listed = await unless(isNoWorse, this.ofGeneralList(account, asked, at, 'empty'));
      return listed ?? (await this.eachByItself(at));
    } finally {
      this.open -= 1;
    }
  }

  /** @param own what its own list showed: where none, each by itself what the general one lacks */
  private async ofGeneralList(
    account: EmployerAccount,
    asked: Asked,
    at: InstructionAtBank,
    own: 'not-read' | 'unshown' | 'empty',
  ): Promise<BankPayment[]> {
    const linked = own !== 'empty' && may(account, 'INSTRUCTION_PAYMENTS');
    const { swept, by } = await this.swept(account, asked, at, linked);
    if (by === 'every-read') return swept;
    if (swept.length === 0) return this.unswept(account, at, linked);
    if (own !== 'not-read')
      return this.ownLists.run(async () => (await this.alone.completed(at, swept)).found);
    if (lackingIn(at, swept).length === 0) return swept;
    if (by === 'own-list') return this.withSwept(at, swept, this.ofAll.join(asked.id, at));
    const ownList = () => this.reads.ownPayments(account, { ...at, onShown: undefined });
    return this.withSought(at, swept, linked ? ownList : undefined);
  }

  private async swept(
    account: EmployerAccount,
    asked: Asked,
    at: InstructionAtBank,
    linked: boolean,
  ): Promise<Swept> {
    const sweeps = this.sweepsOf(asked);
    try {
      const swept = await this.sweep(asked, at, sweeps);
      if (!linked) return { swept: await this.fromOrWhole(account, asked, at, swept), by: 'sweep' };
      const isUnnamed = !swept.every(namesItsInstruction);
      return { swept: isUnnamed ? await this.named(account, at, swept) : swept, by: 'sweep' };
    } catch (error) {
      if (isRequestRefused(error)) {
        const own = linked ? await this.ownList(account, at) : undefined;
        return own
          ? { swept: own, by: 'own-list' }
          : { swept: await this.ofAll.join(asked.id, at), by: 'sweep' };
      }
      // What is wrong with everybody's list need not be wrong with that of this instruction.
      const fails = isNotShown(error) || (isServersFault(error) && sweeps.failLastingly);
      if (linked && fails)
        return {
          swept: await this.ownLists.run(() => this.reads.payments(account, at)),
          by: 'every-read',
        };
      const alone = linked ? [] : await this.unsweepable(account, asked, at, error, fails);
      if (alone.length > 0) return { swept: alone, by: 'every-read' };
      throw error;
    }
  }

  /**
   * What a sweep shows, and by all the list holds what is sought it lacks, where no read of each by itself is allowed: which
   * date the one is that a sweep begins at nobody says, and where it is that of the settlement, what fails is never shown so.
   */
  private async fromOrWhole(
    account: EmployerAccount,
    asked: Asked,
    at: InstructionAtBank,
    swept: BankPayment[],
  ): Promise<BankPayment[]> {
    const lacking = lackingIn(at, swept);
    const isSought = lacking.length > 0 && !may(account, 'PAYMENT');
    if (!isSought || !this.wholeTried.isDue(asked.id)) return swept;
    const isNone = (error: unknown) => isPerhapsNone(error) || isTooLong(error);
    const whole: BankPayment[] = [];
    const reading = unless(isNone, this.ofAll.join(asked.id, at, whole)).then(() => true);
    const isTold = await unless(isBankError, reading);
    const isLacking = knownTo(lacking);
    const more = whole.filter(({ bankPaymentId }) => isLacking(bankPaymentId));
    // Why it failed may pass: the next read tries it again.
    if (isTold && more.length === 0) this.wholeTried.note(asked.id);
    return [...swept, ...more];
  }

  /** @param fails whether no sweep shows any for good: then each is asked for by itself, where that is the only other way */
  private async unsweepable(
    account: EmployerAccount,
    asked: Asked,
    at: InstructionAtBank,
    error: unknown,
    fails: boolean,
  ): Promise<BankPayment[]> {
    if (isPerhapsNone(error)) {
      const all = await this.fromOrWhole(account, asked, at, []);
      return all.length > 0 ? all : this.eachByItself(at);
    }
    if (!fails || may(account, 'INSTRUCTION_PAYMENTS') || !may(account, 'PAYMENT')) return [];
    return this.ownLists.run(async () => (await unless(isBankError, this.alone.oneByOne(at)))?.found ?? []);
  }

  /** What its own list shows, and what of that is sought it lacks. */
  private async withSwept(
    at: InstructionAtBank,
    own: BankPayment[],
    swept: Promise<BankPayment[]>,
  ): Promise<BankPayment[]> {
    // Others who are swept for would wait for a lane.
    await swept.catch(() => undefined);
    return this.withSought(at, own, () => swept);
  }

  private withSought(...asked: Parameters<BankReads['withSought']>): Promise<BankPayment[]> {
    return this.ownLists.run(async () => (await this.reads.withSought(...asked)).found);
  }

  private sweptAnyhow(asked: Asked, at: InstructionAtBank): Promise<BankPayment[]> {
    return this.sweep(asked, at).catch((error: unknown) => {
      if (isRequestRefused(error)) return this.sweep(asked, at, this.ofAll);
      throw error;
    });
  }

  /** What a failure of a moment kept from being shown is swept for again by the next read. @throws BankClientError */
  private async sweep(
    asked: Asked,
    at: InstructionAtBank,
    sweeps = this.sweepsOf(asked),
  ): Promise<BankPayment[]> {
    try {
      const swept = await sweeps.join(asked.id, at);
      this.sweptFor.note(keyOf(asked));
      return swept;
    } catch (error) {
      if (isTooLong(error) || sweeps.failLastingly) this.sweptFor.note(keyOf(asked));
      throw error;
    }
  }

  private sweepsOf({ ended }: Asked): Sweeps {
    return ended ? this.ofEnded : this.ofOpen;
  }

  /** What the general list shows none of may be shown by the list of the instruction, or each by itself. */
  private async unswept(
    account: EmployerAccount,
    at: InstructionAtBank,
    linked: boolean,
  ): Promise<BankPayment[]> {
    const own = linked ? await unless(isNotShown, this.ownList(account, at)) : undefined;
    return own && own.length > 0 ? this.withSought(at, own) : this.eachByItself(at);
  }

  private eachByItself(at: InstructionAtBank): Promise<BankPayment[]> {
    return this.ownLists.run(async () => (await this.alone.read(at)).found);
  }

  /** One too many is shown by the list of the instruction alone, where the general one does not say whose its payments are. */
  private async named(
    account: EmployerAccount,
    at: InstructionAtBank,
    swept: BankPayment[],
  ): Promise<BankPayment[]> {
    const own = await unless(isNotShown, this.ownList(account, { ...at, onShown: undefined }));
    if (own === undefined || own.length < swept.length) return swept;
    at.onShown?.('own-list');
    return own;
  }

  /**
   * Undefined where the sweep may show what the instruction's own list does not: one that the bank shows no more, or, of what
   * is only followed, so that it cannot be read, which is told.
   */
  private async ownList(account: EmployerAccount, at: InstructionAtBank): Promise<BankPayment[] | undefined> {
    try {
      return await this.ownLists.run(() => this.reads.ownPayments(account, at));
    } catch (error) {
      if (this.reads.mayBeReadOtherwise(error, at)) return undefined;
      if (!at.isOnlyFollowed || !(error instanceof ContractDrift)) throw error;
      at.onUnread?.(error);
      return undefined;
    }
  }
}

function keyOf({ id, ended }: Asked): string {
  return `${id} ${ended ? 'ended' : 'open'}`;
}
