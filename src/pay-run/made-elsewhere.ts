import { Injectable } from '@nestjs/common';
import {
  type BankClientError,
  BankError,
  isBankError,
  isHidden,
  isNotOffered,
  isRequestRefused,
  isTooLong,
} from '../bank/errors';
import { BankGateway, type BankPaymentFilter } from '../bank/gateway';
import { isIncoming, type PaymentMarks } from '../bank/payment-marks';
import { type BankPayment, isOwnEntry } from '../bank/records';
import { Clock } from '../config/clock';
import { isPastSubmit } from '../domain/bank-status';
import { DAY_MS, HOUR_MS } from '../domain/durations';
import { INSTRUCTION_FOLLOWED } from '../domain/instruction';
import { lookAgain } from '../domain/replacement';
import { EmployerAccount } from '../employer/employer.entity';
import { FaultsInARow } from '../employer/faults-in-a-row';
import { CLOCK_MARGIN_MS, generalFor, hasBothLists } from '../employer/payment-lists';
import { messageIdOf } from './message-id';
import type { EndedInstruction, EndedPayment } from './replaced.store';
import type { SecondReading } from './second-reading';
import { isSightLeft, movedBy, statusesOf } from './shown-again';

/** Instructions of one account of which payments are replaced, and for which its general list is searched in one read. */
export interface Search {
  searched: readonly EndedInstruction[];
  /** Whether that list was seen to show payments: a 404 may say else that there is no such list. */
  isServed?: boolean;
}

/** How far back the list is read at most: what was made before that, those who follow were asked about. */
const REACH_MS = 60 * DAY_MS;

/** So long what a gate was shown does for the submits behind it, which would all read the same list again. */
const LASTS_MS = HOUR_MS;

/** What a search showed of the payments it was made for, by their message ids. */
interface Found {
  lasts: () => boolean;
  by: ReadonlyMap<string, readonly BankPayment[]>;
}

/** The same of a search whose list may have failed behind what it shows, in a way that may pass. */
interface Searched {
  by: Found['by'];
  failure?: BankClientError;
}

/**
 * Payments that a bank made once more under a message id of ours, in an instruction of its own: no list of one of ours shows
 * them, and the general one does (Endpoints).
 */
@Injectable()
export class MadeElsewhere {
  private kept: Found[] = [];
  /** Whether the list was read to its end by a search. */
  private wasServed = false;

  constructor(
    private readonly gateway: BankGateway,
    private readonly faults: FaultsInARow,
    private readonly clock: Clock,
  ) {}

  /** What of an account is to be searched for: nothing where no general list may be read, or where each read reads it anyway. */
  searchFor(account: EmployerAccount, instructions: readonly EndedInstruction[]): Search[] {
    const searched = instructions.filter(({ accountId }) => accountId === account.id);
    const isServed = typeof account.pageBase === 'number';
    return hasBothLists(account) && searched.length > 0 ? [{ searched, isServed }] : [];
  }

  /**
   * What was made elsewhere and moved, or may, and what a look before has shown so and this one not as ended. A list that
   * fails or is refused for good, or is too long to be read, tells of no more than it showed before, and so does one whose
   * end no count confirms: presence alone proves.
   * @param isRecentEnough whether a search of the last hour will do
   * @throws BankClientError while the list cannot be read, that may pass, and it shows none that moved
   */
  async read({ searched, isServed = false }: Search, isRecentEnough: boolean): Promise<SecondReading> {
    const marks = searched.flatMap((instruction) =>
      instruction.payments.map((payment) => ({
        instruction,
        payment,
        messageId: messageIdOf(instruction.instructionId, payment.rowNo),
      })),
    );
    const wanted = new Set(marks.map(({ messageId }) => messageId));
    const kept = isRecentEnough ? this.keptOf(wanted) : undefined;
    const { by: found, failure }: Searched = kept
      ? { by: kept }
      : await this.search(searched, wanted, isServed);
    const reading: SecondReading = { moved: [], unseen: [] };
    for (const { instruction, payment, messageId } of marks) {
      const { instructionId, bankInstructionId } = instruction;
      const it = { paymentId: payment.paymentId, instructionId, bankInstructionId };
      const records = (found.get(messageId) ?? []).filter((one) => isElsewhere(instruction, payment, one));
      const statuses = statusesOf(records);
      const by = movedBy(
        payment,
        records,
        statuses.filter((status) => hasMoved(instruction, payment, status)),
      );
      if (by) reading.moved.push({ ...it, ...by, isElsewhere: true });
      else if (isSightLeft(payment, payment.hasMovedElsewhere, statuses) && !payment.byWord)
        reading.unseen.push({ ...it, ...(payment.hasMovedInPart && { isInPart: true }) });
    }
    if (failure && reading.moved.length === 0) throw failure;
    return reading;
  }

  private keptOf(wanted: ReadonlySet<string>): Found['by'] | undefined {
    this.kept = this.kept.filter(({ lasts }) => lasts());
    return this.kept.findLast(({ by }) => [...wanted].every((messageId) => by.has(messageId)))?.by;
  }

  private async search(
    searched: readonly EndedInstruction[],
    wanted: ReadonlySet<string>,
    isServed: boolean,
  ): Promise<Searched> {
    const lasts = this.clock.within(LASTS_MS);
    const by = new Map<string, BankPayment[]>([...wanted].map((messageId) => [messageId, []]));
    const [oldest] = searched.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    if (oldest === undefined) return { by };
    const oldestMs = oldest.createdAt.getTime();
    const fromMs = Math.max(oldestMs - CLOCK_MARGIN_MS, this.clock.now().getTime() - REACH_MS);
    const from = new Date(fromMs).toISOString();
    const isWanted = ({ messageId }: PaymentMarks) => wanted.has(messageId ?? '');
    const read: Read = async (bounds) => {
      for await (const one of this.gateway.listPayments(bounds, isWanted))
        by.get(one.messageId ?? '')?.push(one);
    };
    const readInParts: Read = (bounds) => inParts(read, bounds, this.clock.now());
    // For the oldest of them it may have been read for long, since its own list shows none.
    const isLasting = this.faults.isLasting(generalFor(oldest));
    const name = `general list for what ${oldest.bankInstructionId} held`;
    let refusal: BankError | undefined;
    try {
      refusal = await this.faults.counting(name, () => refusalOf(readInParts, from));
      await this.faults.counting(REFUSED, () => (refusal ? Promise.reject(refusal) : Promise.resolve()));
      this.wasServed = true;
    } catch (error) {
      if (!isBankError(error)) throw error;
      if (refusal?.status === NOT_FOUND && !isServed && !this.wasServed) return { by };
      if (!isLasting && !error.isForGood && !isTooLong(error)) return { by, failure: error };
    }
    // One that was refused may be served a moment later: who rests on it reads it again.
    if (!refusal) this.kept.push({ lasts, by });
    return { by };
  }
}

type Bounds = Pick<BankPaymentFilter, 'from' | 'to'>;
type Read = (bounds: Bounds) => Promise<void>;

/**
 * Reads the list within bounds; one from a moment on that is longer than is read of any in parts of a day, which are lists of
 * their own (`toDate`), but for the last, which is open.
 */
async function inParts(read: Read, bounds: Bounds, now: Date): Promise<void> {
  try {
    await read(bounds);
  } catch (error) {
    if (!isTooLong(error) || bounds.from === undefined) throw error;
    let fromMs = Date.parse(bounds.from);
    // A bound may or may not belong to either part: a payment that both show is read twice, which changes nothing.
    for (; fromMs + DAY_MS < now.getTime(); fromMs += DAY_MS)
      await read({ from: new Date(fromMs).toISOString(), to: new Date(fromMs + DAY_MS).toISOString() });
    await read({ from: new Date(fromMs).toISOString() });
  }
}

const NOT_FOUND = 404;

/** By which refusals of the general list are counted: what it is read for makes no difference to them. */
const REFUSED = 'general list, refused';

/**
 * Reads the list from a moment on: once more where that is refused, since a bank may answer oddly once, and then whole, since it
 * may take no such bound.
 * @returns how that is refused, too, as a fault of this read alone: it says nothing of our access
 */
async function refusalOf(read: Read, from: string): Promise<BankError | undefined> {
  let refusal: BankError | undefined;
  for (const bounds of [{ from }, { from }, {}]) {
    try {
      await read(bounds);
      return undefined;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { status, code, words, raw, call } = error;
      refusal = Object.assign(new BankError(status, { code, words, raw }), { call });
    }
  }
  return refusal;
}

/** Whether the list is refused, lacking or not offered. The bank was found to serve it, and may do so again. */
function isRefusal(error: unknown): error is BankError {
  return isHidden(error) || isRequestRefused(error) || isNotOffered(error);
}

/** Whether a record is none of our instruction, whose own list tells of those; nor what came in, or the bank books by itself. */
function isElsewhere(
  { bankInstructionId }: EndedInstruction,
  { bankIds }: EndedPayment,
  one: BankPayment,
): boolean {
  const isKnown = (id: string) => bankIds.some((known) => known === id);
  if (isKnown(one.bankPaymentId) || isIncoming(one, isKnown) || isOwnEntry(one)) return false;
  return one.bankInstructionId !== bankInstructionId;
}

/** As its own list is judged: what was never submitted may be there twice as before its submit. */
function hasMoved(
  { status: ofInstruction }: EndedInstruction,
  payment: EndedPayment,
  status: string,
): boolean {
  return INSTRUCTION_FOLLOWED.includes(ofInstruction)
    ? lookAgain(payment, status) === 'moved'
    : isPastSubmit(status);
}
