import { Injectable } from '@nestjs/common';
import {
  answerOf,
  BankClientError,
  ContractDrift,
  isBankError,
  isHidden,
  isHiddenForGood,
  isNotOffered,
  isNotShown,
  isPerhapsNone,
  isRefusedRead,
  isServersFault,
  ListUnreadable,
  NoReadAllowed,
  NotAllowed,
  NotFound,
  ReadFails,
  unless,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { BankInstruction, BankPayment } from '../bank/records';
import type { Turn } from '../bank/session';
import { isBeforeSubmit, isPastSubmit } from '../domain/bank-status';
import { EmployerAccount } from './employer.entity';
import { FaultsInARow } from './faults-in-a-row';
import {
  type InstructionAtBank,
  isDecided,
  lackingIn,
  type PaymentsRead,
  sightedBy,
} from './instruction-at-bank';
import { generalFor, listOf, may, PaymentLists } from './payment-lists';
import { MOST_ALONE, PaymentsAlone } from './payments-alone';
import { type Standing, standingOf, statusesIn } from './standing';

/** Why lists were not read: the last two by themselves, a fault that may pass, and one that lasts. */
interface Kept {
  /** The one to be told where nothing is read otherwise. */
  failure?: BankClientError;
  passing?: BankClientError;
  untold?: BankClientError;
}

/** Reads of instructions by whichever way the bank was found to allow for an account. */
@Injectable()
export class BankReads {
  constructor(
    private readonly gateway: BankGateway,
    private readonly alone: PaymentsAlone,
    private readonly lists: PaymentLists,
    private readonly faults: FaultsInARow,
  ) {}

  /**
   * The instruction itself; undefined where the bank does not let it be read, or fails to show it for good: what it holds is
   * known by its payments then, and in the latter case not whether it was submitted.
   * @param turn waited for before
   * @throws NotFound, BankClientError
   */
  async instruction(
    account: EmployerAccount,
    bankInstructionId: string,
    turn?: Turn,
  ): Promise<BankInstruction | undefined> {
    if (!may(account, 'INSTRUCTION')) return undefined;
    const read = `instruction ${bankInstructionId}`;
    try {
      return await this.faults.counting(read, () => this.gateway.getInstruction(bankInstructionId, turn));
    } catch (error) {
      if (isServersFault(error) && error.isForGood) return undefined;
      throw error;
    }
  }

  /**
   * As `instruction`; undefined also where the bank says that there is none, which tells nothing of its payments: one that
   * was submitted may be shown no more. @throws BankClientError
   */
  async instructionIfShown(
    account: EmployerAccount,
    bankInstructionId: string,
  ): Promise<BankInstruction | undefined> {
    return unless((error) => error instanceof NotFound, this.instruction(account, bankInstructionId));
  }

  /**
   * The statuses by which the bank tells whether an instruction was submitted: its own, and where that does not say so, or
   * it is not shown, those of its payments as `read` reads them (its own way unless said). No payments where the bank
   * knows of none, or shows the instruction and not them. @throws BankClientError where the instruction cannot be read, or its
   * payments cannot, unless either is for good, or one of them is shown past its submit
   */
  async standing(
    account: EmployerAccount,
    at: InstructionAtBank,
    payments = (asked: InstructionAtBank) => this.read(account, { ...asked, byAnyList: true, fewTell: true }),
  ): Promise<Standing> {
    const { shown, failure } = await this.unlessRefused(account, at.bankInstructionId);
    if (shown && (isPastSubmit(shown.status) || isBeforeSubmit(shown.status)))
      return { shown, isGone: false, statuses: [shown.status], isUnclear: false };
    const isNone = failure instanceof NotFound;
    const { asked, sights } = sightedBy(at);
    const pastSubmit = () => sights.filter((one) => statusesIn([one], at.bankIds).some(isPastSubmit));
    const { found, untold } = await payments(asked).catch((error: unknown): PaymentsRead => {
      if (isBankError(error) && pastSubmit().length > 0) return { found: [] };
      const isTold = isDecided(at) ? isHiddenForGood(error) : isNotShown(error);
      if (error instanceof NotFound || (shown && isTold)) return { found: [] };
      // That there is no instruction says nothing of payments that are not shown for another reason.
      throw failure && !isNone && isTold ? failure : error;
    });
    const isFailing = !shown && !failure && may(account, 'INSTRUCTION');
    const seen = [...found, ...pastSubmit().filter((one) => !found.includes(one))];
    const standing = standingOf({ shown, isNone, isFailing }, { found: seen, untold }, at.bankIds);
    if (failure && !isNone && !standing.statuses.some(isPastSubmit)) throw failure;
    return standing;
  }

  /** The instruction, or why the bank did not show it: an answer to this read, which says nothing of others. */
  private async unlessRefused(
    account: EmployerAccount,
    bankInstructionId: string,
  ): Promise<{ shown?: BankInstruction; failure?: BankClientError }> {
    try {
      return { shown: await this.instruction(account, bankInstructionId) };
    } catch (error) {
      if (isRefusedRead(error)) return { failure: error };
      throw error;
    }
  }

  /**
   * As `read`, for who follows or watches: what is untold is thrown where none is found. Absence of one proves nothing.
   * @throws BankClientError, ReadFails
   */
  async payments(account: EmployerAccount, asked: InstructionAtBank): Promise<BankPayment[]> {
    const { found, untold } = await this.read(account, asked);
    if (untold && found.length === 0) throw new ReadFails('the payments of this instruction', untold);
    return found;
  }

  /**
   * Every payment of the instruction the bank shows now, by the first way that can be read to its end (Endpoints: the list
   * of an instruction, the general one, each by itself); what is looked for by any list, by the first that shows one, and each
   * by itself what that lacks; what is sought, by every way.
   * @throws BankClientError where no way can: NotFound where every way says so; where a decision rests on what is not found,
   * also what any way failed with that may pass
   */
  async read(account: EmployerAccount, asked: InstructionAtBank): Promise<PaymentsRead> {
    const isShownAlone = may(account, 'PAYMENT');
    const kept: Kept = {};
    const listed = await this.listed(account, asked, kept);
    if (listed && listed.found.length > 0) return concluded(asked, listed, kept);
    // Of what is only followed, a list that cannot be read shows no less than one that shows none.
    if (listed && asked.isOnlyFollowed) kept.passing = kept.untold = undefined;
    const isEachAsked = isShownAlone && !listed;
    let each: PaymentsRead = { found: [] };
    try {
      if (isEachAsked) each = await this.alone.oneByOne(asked);
      else if (listed || kept.untold || isPerhapsNone(kept.failure))
        each = await this.unlisted(account, asked, isShownAlone);
    } catch (error) {
      if (listed || mayPass(asked, error) || !this.mayBeReadOtherwise(error, asked)) throw error;
      if (!kept.untold && !kept.passing) throw moreTelling(kept.failure, error);
    }
    const read = concluded(asked, each, kept);
    if (read.untold || read.found.length > 0) return read;
    // That others show none says nothing of what one refuses to show.
    const isRefused = isDecided(asked)
      ? kept.failure instanceof NotAllowed
      : !asked.isOnlyFollowed && isNotOffered(kept.failure);
    if ((listed || isEachAsked) && !isRefused) return read;
    throw kept.failure ?? new NoReadAllowed();
  }

  /**
   * What the first list shows that shows any, with what of that is sought it lacks; nothing where no list could be read.
   * @param kept told what others failed with
   */
  private async listed(
    account: EmployerAccount,
    asked: InstructionAtBank,
    kept: Kept,
  ): Promise<PaymentsRead | undefined> {
    const { byAnyList = false, isOnlyFollowed = false } = asked;
    const isShownAlone = may(account, 'PAYMENT');
    const lists = this.lists.of(account, asked, () => this.countOf(account, asked));
    let none: PaymentsRead | undefined;
    for (const [n, { list, name, read }] of lists.entries()) {
      const next = lists[n + 1];
      let found: BankPayment[];
      try {
        found = await read();
      } catch (error) {
        const isPassing = mayPass(asked, error);
        const isWaitedFor = isPassing && !next && isDecided(asked);
        if (isWaitedFor || !this.mayBeReadOtherwise(error, asked, none !== undefined, name)) {
          const instead =
            next && error instanceof ContractDrift && (await this.instead(account, asked, next));
          if (instead) return this.withSought(asked, instead, undefined, isShownAlone);
          throw isPassing ? (kept.passing ?? error) : error;
        }
        if (isPassing) kept.passing ??= error;
        else if (isDecided(asked) ? !isHidden(error) : isServersFault(error)) kept.untold ??= error;
        if (none) asked.onUnread?.(error);
        kept.failure = moreTelling(kept.failure, error);
        continue;
      }
      if (found.length > 0) {
        const isLess = none !== undefined || (isOnlyFollowed && kept.failure instanceof NotFound);
        if (isLess) return this.alone.completed(asked, found, isShownAlone);
        const all = await this.withSought(asked, found, next?.read, isShownAlone);
        // What was not submitted may be too new for a list that lags: all of an instruction is read back before its submit.
        if (!isOnlyFollowed && all.found.slice(found.length).some(({ status }) => !isBeforeSubmit(status)))
          await this.lists.rememberLacking(list);
        return all;
      }
      none = { found };
      if (!byAnyList) break;
    }
    return none;
  }

  /**
   * What the general list shows, where no record of the own one can be read and each of them is there by its id: what is in
   * the instruction and is not shown by the other would be missed else. @throws BankClientError
   */
  private async instead(
    account: EmployerAccount,
    asked: InstructionAtBank,
    general: { read: () => Promise<BankPayment[]> },
  ): Promise<BankPayment[] | undefined> {
    const unreadable = await answerOf(this.lists.unreadableOwn(asked, () => this.countOf(account, asked)));
    if (!('shown' in unreadable) || unreadable.shown === undefined) return undefined;
    const listed = await answerOf(general.read());
    if (!('shown' in listed)) return undefined;
    const shown = new Set(listed.shown.map(({ bankPaymentId }) => bankPaymentId));
    return unreadable.shown.every((id) => shown.has(id)) ? listed.shown : undefined;
  }

  /**
   * What no list that may be read shows, each by itself, where that is asked for or known to be allowed; and where it is asked
   * for of what may not be submitted, by the list of the instruction first, also where none of an empty one was shown to a
   * probe: a bank may list there what the general list shows only later. @throws BankClientError
   */
  private async unlisted(
    account: EmployerAccount,
    asked: InstructionAtBank,
    isShownAlone: boolean,
  ): Promise<PaymentsRead> {
    const { byAnyList = false, evenUnlisted = byAnyList && isShownAlone, isOnlyFollowed = false } = asked;
    if (asked.evenUnlisted && !isOnlyFollowed && !may(account, 'INSTRUCTION_PAYMENTS')) {
      const own = (await unless(isBankError, this.ownPayments(account, asked))) ?? [];
      if (own.length > 0) return this.alone.completed(asked, own, isShownAlone);
    }
    return this.alone.read({ ...asked, evenUnlisted }, { isShownAlone });
  }

  /**
   * What a list shows, and by every other read what of that is sought it lacks: where a decision rests on it, and not too many
   * are, each by itself first, since the other list may be that of all payments of a month.
   * @param other list, where one may be read
   * @param isShownAlone whether payments are known to be shown each by itself
   * @throws BankClientError what a read fails with that may pass, where some are shown nowhere and a decision may rest on them
   */
  async withSought(
    instruction: InstructionAtBank,
    listed: BankPayment[],
    other?: () => Promise<BankPayment[]>,
    isShownAlone = false,
  ): Promise<PaymentsRead> {
    const { length: lacking } = lackingIn(instruction, listed);
    const found = [...listed];
    const alone = async (): Promise<PaymentsRead> => {
      const bankIds = lackingIn(instruction, found);
      return this.alone.read({ ...instruction, bankIds }, { isShown: true, isShownAlone });
    };
    const ofOther = () => this.ofOther(instruction, found, other);
    const isAloneFirst = !instruction.isOnlyFollowed && lacking <= MOST_ALONE;
    let [passing, untold]: (BankClientError | undefined)[] = [];
    for (const read of isAloneFirst ? [alone, ofOther] : [ofOther, alone]) {
      if (lackingIn(instruction, found).length === 0) return { found };
      try {
        const more = await read();
        found.push(...more.found);
        untold ??= more.untold;
      } catch (error) {
        if (!mayPass(instruction, error)) throw error;
        passing = error;
      }
    }
    if (lackingIn(instruction, found).length === 0) return { found };
    return concluded(instruction, { found, untold }, { passing });
  }

  /** What the other list shows more. @throws BankClientError what it fails with, unless it shows no less for that */
  private async ofOther(
    instruction: InstructionAtBank,
    listed: readonly BankPayment[],
    other?: () => Promise<BankPayment[]>,
  ): Promise<PaymentsRead> {
    try {
      const shown = new Set(listed.map(({ bankPaymentId }) => bankPaymentId));
      const found = ((await other?.()) ?? []).filter(({ bankPaymentId }) => !shown.has(bankPaymentId));
      if (found.length > 0) instruction.onShown?.(undefined);
      return { found };
    } catch (error) {
      const name = generalFor(instruction);
      const isWaitedFor = isDecided(instruction) && mayPass(instruction, error);
      if (isWaitedFor || !this.mayBeReadOtherwise(error, instruction, true, name)) throw error;
      instruction.onUnread?.(error);
      return { found: [], untold: error.isForGood ? error : undefined };
    }
  }

  /** As `payments`, by the list of the instruction itself and no other. @throws BankClientError */
  ownPayments(account: EmployerAccount, asked: InstructionAtBank): Promise<BankPayment[]> {
    return this.lists.own(asked, () => this.countOf(account, asked));
  }

  /** How many payments the instruction says that it has; why it is not shown says nothing of its list. */
  private async countOf(
    account: EmployerAccount,
    { bankInstructionId }: InstructionAtBank,
  ): Promise<number | undefined> {
    return (await unless(isNotShown, this.instruction(account, bankInstructionId)))?.calculatedCount;
  }

  /**
   * Whether another list may show what the one of an instruction does not. A server's fault of a moment passes by itself;
   * one that was met twice may be of this list alone.
   * @param isNone whether another was read and shows none: of what is only followed, one that fails shows no less
   * @param read which failed, by the name its faults are counted by
   */
  mayBeReadOtherwise(
    error: unknown,
    instruction: InstructionAtBank,
    isNone = false,
    read = listOf(instruction.bankInstructionId),
  ): error is BankClientError {
    const { byAnyList = false, isOnlyFollowed = false } = instruction;
    if (isNone && isOnlyFollowed) return isBankError(error);
    if (error instanceof ListUnreadable || error instanceof NotFound || isNotOffered(error)) return true;
    if (isServersFault(error)) return this.faults.of(read) > 1;
    return byAnyList && isNotShown(error) && (isDecided(instruction) || !(error instanceof ContractDrift));
  }
}

/** Whether what failed may show a moment later what it is read for: a decision waits for all but what is hidden. */
function mayPass(asked: InstructionAtBank, error: unknown): error is BankClientError {
  const isUnshown = isServersFault(error) || (isDecided(asked) && isNotShown(error) && !isHidden(error));
  return isUnshown && !error.isForGood;
}

/** What was read: where it lacks some, no decision rests on it while a list may show these a moment later. */
function concluded(asked: InstructionAtBank, { found, untold }: PaymentsRead, kept: Kept): PaymentsRead {
  // One whose id the bank has not told may be among those, or not.
  const isEachKnown = !isDecided(asked) || asked.bankIds.every(([id]) => id !== undefined);
  if (found.length > 0 && isEachKnown && lackingIn(asked, found).length === 0) return { found };
  if (kept.passing && (isDecided(asked) || found.length === 0)) throw kept.passing;
  return { found, untold: kept.untold ?? untold };
}

/** Of two failures of lists the one to be told: that there is none says less. */
function moreTelling(before: BankClientError | undefined, failure: BankClientError): BankClientError {
  const isLess = before === undefined || before instanceof NotFound || failure instanceof ListUnreadable;
  return isLess ? failure : before;
}
