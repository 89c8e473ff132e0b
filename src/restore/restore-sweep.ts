import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  type BankClientError,
  isBankError,
  isFaultOfOneRead,
  isHidden,
  isNotShown,
  isRequestRefused,
  isTooLong,
  unless,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { ListSize } from '../bank/paging';
import type { PaymentMarks } from '../bank/payment-marks';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { isPastSubmit, mostSubmitted } from '../domain/bank-status';
import { readMessageId } from '../pay-run/message-id';
import { readReference } from '../submission/prepared-calls';
import { type ListedUnsubmitted, UnsubmittedProof } from '../submission/unsubmitted-proof';
import { type Group, type Held, isShownBefore, joined, RestoreList } from './restore-list';
import { heldBy, isRecorded, isUnsubmitted, type Recorded, recordOf } from './restore-record';

/** Instructions read one by one after a restore, the youngest: fifty runs of ten thousand payments; more are left to people. */
const MOST_READS = 1_000;

/** An instruction at the bank that this service made, by its marks, and that the database does not know. */
export interface Unknown {
  /** Where the bank does not name it, by one of its payments (`namelessId`). */
  bankInstructionId: string;
  /** Our id of it, where its payments bear message ids. */
  instructionId: string | undefined;
  reference: string | undefined;
  debtorIban: string | undefined;
  /** The date that the bank shows of it; undefined where it shows none. */
  executionDate?: string;
  status: string;
  /** Whether it was submitted, as its status says. */
  submitted: boolean;
  /**
   * Whether it may have been all the same: no document names its status, or its payments are shown without it, which may
   * rest until somebody approves it.
   */
  isUnclear: boolean;
  payments: number;
}

/** A status of a known instruction, under whichever of its ids the list names. */
export interface Moved {
  bankInstructionId: string | undefined;
  instructionId: string | undefined;
  status: string;
}

/** What the bank's general list shows beside what the database knows. */
export interface Sweep {
  /**
   * Whether the bank lets the list be read whole, to an end that its count confirms, and shows there what has settled: it may
   * show only what has not, or begin at a date of its own. From a date on it may leave out what has not settled.
   */
  readable: boolean;
  /**
   * Whether the list was seen to show a payment of ours whose instruction was not submitted. A bank may show none before the
   * submit, and then none of what it has queued.
   */
  showsUnsubmitted: boolean;
  unknown: Unknown[];
  /** What the database knows, and the list shows past the submit, or so that it may be. */
  moved: Moved[];
  /** Ids of instructions, or of payments of none, of which nobody can tell whether this service made them, or for whom. */
  unidentified: string[];
  /** How many of these were not read singly, since so many younger ones are. */
  unread: number;
  /** What kept it from being read, where that may pass: nothing is concluded from what it lacks, and what it shows holds. */
  failure?: BankClientError;
}

/** Whether the list is believed to lack nothing of ours. */
export function isListWhole({ readable, showsUnsubmitted }: Sweep): boolean {
  return readable && showsUnsubmitted;
}

/** What an earlier reading found, which the bank may show less of by now. */
export type Before = Pick<Sweep, 'unknown' | 'moved' | 'unidentified' | 'showsUnsubmitted'>;

type ShowsNothing = (error: unknown) => boolean;

/** Reads the bank's general list for instructions of this service that a restored database has forgotten. */
@Injectable()
export class RestoreSweep {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly proof: UnsubmittedProof,
    @Inject(CONFIG) private readonly config: Pick<Config, 'BANK_LAG_BOUND_MS'>,
  ) {}

  /**
   * Everything made since `from`, as far as dates are shown, by the whole list, and by that from `from` on, since the whole
   * one may begin at a date of its own, or end early. Of which date the bank's own bound is nobody says, so that it shows
   * no less only beside the whole list. What the bank refuses is not known; of any other answer that shows nothing the same
   * is believed once such answers have lasted, and so of a fault of one of the two lists.
   * @param employerIds whose record the list is held against
   */
  async since(from: Date, lasted: boolean, employerIds: readonly string[], before: Before): Promise<Sweep> {
    const sweep: Sweep = {
      readable: false,
      showsUnsubmitted: before.showsUnsubmitted,
      unknown: [],
      moved: [],
      unidentified: [],
      unread: 0,
    };
    const showsNothing = lasted ? isNotShown : isHidden;
    const isNotWhole: ShowsNothing = (error) =>
      showsNothing(error) || isRequestRefused(error) || isTooLong(error);
    const isNotThisOne: ShowsNothing = (error) => isNotWhole(error) || (lasted && isFaultOfOneRead(error));
    const held = await heldBy(this.database, employerIds);
    // The whole one last: what is made in between is no reason to take it for less.
    const both = async () => {
      const dated = await this.list(from, held, { from: from.toISOString() }, isNotThisOne);
      const isRead = dated.mayGoOn !== undefined;
      if (dated.failure) return { dated, whole: new RestoreList(from.getTime(), held) };
      return { dated, whole: await this.list(from, held, {}, isRead ? isNotThisOne : showsNothing) };
    };
    const first = await both();
    // Of what a bank counts, the whole one may have shown more.
    const isLearned = first.whole.mayGoOn === false && first.dated.mayGoOn === true;
    const { dated, whole } = isLearned ? await both() : first;
    sweep.failure = dated.failure ?? whole.failure;
    const listedMs = performance.now();
    const { groups, isLacking } = joined(whole, isLearned ? [dated, first.dated, first.whole] : [dated]);
    let isSettledShown = whole.isSettledShown;
    let unknown = 0;
    const old = whole.unsubmitted;
    const record = await recordOf(this.database, [...groups, ...old]);
    const unsubmitted: ListedUnsubmitted[] = [];
    const seenBefore = finderOf(before.unknown);
    const leftOpen = new Set(before.unidentified);
    let isAway = false;
    const identify = async (group: Group, named: Recorded | undefined) => {
      try {
        if (!isAway) return await this.identify(group, { named, before: seenBefore(group) }, showsNothing);
      } catch (error) {
        if (!isBankError(error)) throw error;
        sweep.failure ??= error;
        isAway = true;
      }
      return byMarks(group, named);
    };
    for (const group of groups) {
      const shownAs = group.bankInstructionId ?? group.one.ids[0];
      const isKnown = record.has(group);
      if (!isKnown) unknown += 1;
      const named = record.named.get(group.instructionId ?? '');
      const isLeft = !isKnown && unknown > MOST_READS;
      if (isLeft) sweep.unread += 1;
      const found = isKnown ? 'known' : isLeft ? undefined : await identify(group, named);
      leftOpen.delete(shownAs);
      if (typeof found === 'object') leftOpen.delete(found.bankInstructionId);
      if (found === undefined) sweep.unidentified.push(shownAs);
      else if (found === 'known') sweep.moved.push(...movedOf(group));
      else if (found !== 'foreign') sweep.unknown.push(found);
      unsubmitted.push(...listedUnsubmitted(group, found, held));
      if (found !== undefined && found !== 'foreign' && group.isSettled)
        isSettledShown ||= held.settled.size === 0;
    }
    sweep.unidentified.push(...leftOpen);
    const shown = new Set(sweep.moved.map(nameOfMoved));
    sweep.moved.push(...before.moved.filter((one) => !shown.has(nameOfMoved(one))));
    for (const { bankInstructionId, instructionId, one } of old)
      if (isUnsubmitted(record.named.get(instructionId ?? '')))
        unsubmitted.push({ bankInstructionId, bankPaymentId: one.ids[0] });
    try {
      if (!sweep.failure) sweep.showsUnsubmitted ||= await this.isProven(unsubmitted, listedMs, isNotThisOne);
    } catch (error) {
      if (!isBankError(error)) throw error;
      sweep.failure = error;
    }
    const isEnded = whole.mayGoOn === false && dated.mayGoOn !== true;
    sweep.readable = !sweep.failure && isEnded && !isLacking && isSettledShown;
    return sweep;
  }

  /** Not before the lag bound has passed since the list was read. */
  private async isProven(
    listed: readonly ListedUnsubmitted[],
    listedMs: number,
    showsNothing: ShowsNothing,
  ): Promise<boolean> {
    if (listed.length === 0) return false;
    await sleep(Math.max(Math.ceil(listedMs + this.config.BANK_LAG_BOUND_MS - performance.now()), 0));
    return this.proof.isGiven(listed, showsNothing);
  }

  /** What the list shows, up to where it fails: so that it `showsNoMore`, or as its `failure` says. */
  private async list(
    since: Date,
    held: Held,
    bounds: { from?: string },
    showsNoMore: ShowsNothing,
  ): Promise<RestoreList> {
    const list = new RestoreList(since.getTime(), held);
    const isWanted = (marks: PaymentMarks) => list.isWanted(marks);
    let mayGoOn: boolean | undefined;
    const onEnd = (size: ListSize) => (mayGoOn = size.mayGoOn === true);
    try {
      for await (const payment of this.gateway.listStatuses(bounds, isWanted, onEnd)) list.add(payment);
    } catch (error) {
      if (!isBankError(error)) throw error;
      if (!showsNoMore(error)) list.failure = error;
    }
    list.end(mayGoOn);
    return list;
  }

  /** Undefined where nobody can tell whose it is. */
  private async identify(
    group: Group,
    { named, before }: { named: Recorded | undefined; before: Unknown | undefined },
    showsNothing: ShowsNothing,
  ): Promise<Unknown | 'known' | 'foreign' | undefined> {
    const { payments, moved, one } = group;
    const completed = await this.completed(group, showsNothing);
    const { marked } = completed;
    const bankInstructionId = completed.bankInstructionId ?? before?.bankInstructionId;
    const instructionId = completed.instructionId ?? before?.instructionId;
    // One payment that was read alone may be a stranger's in an instruction of ours: the reference is asked first.
    const unnamed = marked && instructionId === undefined ? 'foreign' : undefined;
    if (bankInstructionId === undefined && instructionId === undefined) return unnamed;
    const shown =
      bankInstructionId === undefined
        ? undefined
        : await unless(showsNothing, this.gateway.getInstruction(bankInstructionId));
    if (named !== undefined && isRecorded(named, { bankInstructionId, shown, moved })) return 'known';
    const { reference, debtorIban, executionDate } = shown ?? before ?? {};
    if (instructionId === undefined) {
      if (reference === undefined) return unnamed;
      if (readReference(reference) === undefined) return 'foreign';
    }
    const most = mostSubmitted([shown?.status, moved].filter((status) => status !== undefined));
    const submitted = most !== undefined && isPastSubmit(most);
    return {
      bankInstructionId: bankInstructionId ?? namelessId(one.ids[0]),
      instructionId,
      reference,
      debtorIban,
      executionDate,
      status: most ?? shown?.status ?? one.status,
      submitted,
      isUnclear: most === undefined ? shown === undefined : !submitted,
      payments,
    };
  }

  /** With what the payment that stands for it, read singly, shows beyond the list. */
  private async completed(
    group: Group,
    showsNothing: ShowsNothing,
  ): Promise<Pick<Group, 'bankInstructionId' | 'instructionId'> & { marked: boolean }> {
    const { bankInstructionId, instructionId, one } = group;
    if (bankInstructionId !== undefined && instructionId !== undefined) return { ...group, marked: true };
    const alone = await unless(showsNothing, this.gateway.getPayment(one.ids));
    return {
      bankInstructionId: bankInstructionId ?? alone?.bankInstructionId,
      instructionId: instructionId ?? readMessageId(alone?.messageId ?? '')?.instructionId,
      marked: instructionId !== undefined || alone?.messageId !== undefined,
    };
  }
}

/** A payment of a group that is shown as before its submit, where the record has no submit of it. */
function listedUnsubmitted(
  group: Group,
  found: Unknown | 'known' | 'foreign' | undefined,
  { unsent }: Held,
): ListedUnsubmitted[] {
  if (!isShownBefore(group)) return [];
  const { bankInstructionId, instructionId, one } = group;
  const bankPaymentId = one.ids[0];
  if (typeof found === 'object') {
    const isToBeRead = !found.submitted && !found.isUnclear;
    return isToBeRead ? [{ bankInstructionId: found.bankInstructionId, bankPaymentId }] : [];
  }
  return unsent.has(bankInstructionId ?? instructionId ?? '') ? [{ bankInstructionId, bankPaymentId }] : [];
}

/**
 * What the list alone tells of a group while the bank fails to be read: forgotten is what bears a message id of ours that the
 * record does not have; of all else the next reading tells.
 */
function byMarks(group: Group, named: Recorded | undefined): Unknown | 'foreign' {
  const { bankInstructionId, instructionId, one, moved, payments } = group;
  if (instructionId === undefined || named !== undefined) return 'foreign';
  const submitted = moved !== undefined && isPastSubmit(moved);
  return {
    bankInstructionId: bankInstructionId ?? namelessId(one.ids[0]),
    instructionId,
    reference: undefined,
    debtorIban: undefined,
    status: moved ?? one.status,
    submitted,
    isUnclear: !submitted,
    payments,
  };
}

/** What stands for the id of an instruction that the bank does not name; no id of the bank's has a space. */
function namelessId(bankPaymentId: string): string {
  return `payment ${bankPaymentId}`;
}

/** Finds what an earlier reading showed of a group, under whichever of its ids. */
function finderOf(before: readonly Unknown[]): (group: Group) => Unknown | undefined {
  const byId = new Map<string | undefined, Unknown>();
  for (const one of before) byId.set(one.instructionId, one).set(one.bankInstructionId, one);
  byId.delete(undefined);
  return ({ bankInstructionId, instructionId }) => byId.get(bankInstructionId) ?? byId.get(instructionId);
}

/** Whether the bank does not name an instruction, so that nothing can be read of it. */
export function isNameless(bankInstructionId: string): boolean {
  return bankInstructionId.startsWith(namelessId(''));
}

function nameOfMoved({ bankInstructionId, instructionId, status }: Moved): string {
  return JSON.stringify([bankInstructionId, instructionId, status]);
}

function movedOf({ bankInstructionId, instructionId, moved }: Group): Moved[] {
  return moved === undefined ? [] : [{ bankInstructionId, instructionId, status: moved }];
}
