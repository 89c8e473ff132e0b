import { Injectable } from '@nestjs/common';
import {
  type BankClientError,
  isBankError,
  isHiddenForGood,
  isNotOffered,
  isRequestRefused,
  isTooLong,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
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

  constructor(
    private readonly gateway: BankGateway,
    private readonly faults: FaultsInARow,
    private readonly clock: Clock,
  ) {}

  /** What of an account is to be searched for: nothing where no general list may be read, or where each read reads it anyway. */
  searchFor(account: EmployerAccount, instructions: readonly EndedInstruction[]): Search[] {
    const searched = instructions.filter(({ accountId }) => accountId === account.id);
    return hasBothLists(account) && searched.length > 0 ? [{ searched }] : [];
  }

  /**
   * What was made elsewhere and moved, or may, and what a look before has shown so and this one not as ended. A list that
   * is refused, or too long to be read, tells of no more than it showed before, and so does one whose end no count confirms:
   * presence alone proves.
   * @param isRecentEnough whether a search of the last hour will do
   * @throws BankClientError while the list cannot be read, that may pass, and it shows none that moved
   */
  async read({ searched }: Search, isRecentEnough: boolean): Promise<SecondReading> {
    const marks = searched.flatMap((instruction) =>
      instruction.payments.map((payment) => ({
        instruction,
        payment,
        messageId: messageIdOf(instruction.instructionId, payment.rowNo),
      })),
    );
    const wanted = new Set(marks.map(({ messageId }) => messageId));
    const kept = isRecentEnough ? this.keptOf(wanted) : undefined;
    const { by: found, failure }: Searched = kept ? { by: kept } : await this.search(searched, wanted);
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
  ): Promise<Searched> {
    const lasts = this.clock.within(LASTS_MS);
    const by = new Map<string, BankPayment[]>([...wanted].map((messageId) => [messageId, []]));
    const [oldest] = searched.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    if (oldest === undefined) return { by };
    const oldestMs = oldest.createdAt.getTime();
    const fromMs = Math.max(oldestMs - CLOCK_MARGIN_MS, this.clock.now().getTime() - REACH_MS);
    const isWanted = ({ messageId }: PaymentMarks) => wanted.has(messageId ?? '');
    // For the oldest of them it may have been read for long, since its own list shows none.
    const isLasting = this.faults.isLasting(generalFor(oldest));
    try {
      await this.faults.counting(`general list for what ${oldest.bankInstructionId} held`, async () => {
        const from = new Date(fromMs).toISOString();
        for await (const one of this.gateway.listPayments({ from }, isWanted))
          by.get(one.messageId ?? '')?.push(one);
      });
    } catch (error) {
      if (!isBankError(error)) throw error;
      if (!isLasting && !tellsOfNoMore(error)) return { by, failure: error };
    }
    this.kept.push({ lasts, by });
    return { by };
  }
}

function tellsOfNoMore(error: BankClientError): boolean {
  const isForGood = error.isForGood === true;
  return (
    isForGood || isHiddenForGood(error) || isRequestRefused(error) || isNotOffered(error) || isTooLong(error)
  );
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
