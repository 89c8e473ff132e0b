import type { ContractDrift } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { isIncoming, isUnmarked, namesIn, type PaymentMarks } from '../bank/payment-marks';
import type { BankPayment } from '../bank/records';
import { CLOCK_MARGIN_MS } from '../employer/payment-lists';
import { type InstructionAtBank, notAmong } from '../employer/instruction-at-bank';
import { readMessageId } from '../pay-run/message-id';

/** How long a sweep waits for others to join it. */
const GATHER_MS = 50;

interface Joiner {
  instructionId: string;
  at: InstructionAtBank;
  found: BankPayment[];
  /** Why a payment of it cannot be read, which is no reason to show nobody his. */
  unreadable?: ContractDrift;
  done: (payments: BankPayment[]) => void;
  failed: (error: unknown) => void;
}

/** Sweeps of the general listing, one after the other; each serves all who asked before it began. */
export class Sweeps {
  private waiting: Joiner[] = [];
  private sweeping = false;
  private failures = 0;

  /** @param reach back to the oldest instruction that is asked for, or to whatever the list begins with */
  constructor(
    private readonly gateway: BankGateway,
    private readonly reach: 'recent' | 'all',
  ) {}

  /** Whether no sweep succeeded since at least two of them failed: it is not only a moment's fault. */
  get failLastingly(): boolean {
    return this.failures > 1;
  }

  /**
   * The payments of an instruction that the next sweep shows.
   * @param found is given them as they are shown, also by a sweep that fails then
   * @throws BankClientError
   */
  join(instructionId: string, at: InstructionAtBank, found: BankPayment[] = []): Promise<BankPayment[]> {
    return new Promise((done, failed) => {
      this.waiting.push({ instructionId, at, found, done, failed });
      if (!this.sweeping) void this.sweepWhileAsked();
    });
  }

  private async sweepWhileAsked(): Promise<void> {
    this.sweeping = true;
    while (this.waiting.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const joiners = this.waiting;
      this.waiting = [];
      try {
        await this.sweep(joiners);
        this.failures = 0;
        for (const { found, unreadable, done, failed } of joiners)
          if (unreadable) failed(unreadable);
          else done(found);
      } catch (error) {
        this.failures += 1;
        for (const joiner of joiners) joiner.failed(error);
      }
    }
    this.sweeping = false;
  }

  private async sweep(joiners: readonly Joiner[]): Promise<void> {
    const byInstruction = new Map(joiners.map((joiner) => [joiner.instructionId, joiner]));
    const byBankInstruction = new Map(joiners.map((joiner) => [joiner.at.bankInstructionId, joiner]));
    const byBankId = new Map(
      joiners.flatMap((joiner) => joiner.at.bankIds.map(([id]) => [id, joiner] as const)),
    );
    const named = (marks: PaymentMarks): Joiner | undefined => {
      for (const name of namesIn(marks)) {
        const joiner = byInstruction.get(readMessageId(name)?.instructionId ?? '');
        if (joiner) return joiner;
      }
      return undefined;
    };
    const namedBy = (marks: PaymentMarks): Joiner | undefined =>
      byBankInstruction.get(marks.bankInstructionId ?? '') ?? named(marks);
    const joinerOf = (marks: PaymentMarks): Joiner | undefined => {
      if (isIncoming(marks, (id) => byBankId.has(id))) {
        namedBy(marks)?.at.onIncoming?.(marks);
        return undefined;
      }
      const { bankInstructionId, bankPaymentId } = marks;
      return (
        namedBy(marks) ?? (bankInstructionId === undefined ? byBankId.get(bankPaymentId ?? '') : undefined)
      );
    };
    const mayBeOurs = (marks: PaymentMarks) => isUnmarked(marks) || joinerOf(marks) !== undefined;
    const onUnreadable = (marks: PaymentMarks, why: ContractDrift): void => {
      const joiner = joinerOf(marks);
      // What does not say whose it is may be anybody's.
      if (joiner === undefined) throw why;
      joiner.unreadable ??= why;
    };
    const isEnough = () => joiners.every(({ at, found }) => notAmong(found, at.bankIds).length === 0);
    const bounds = this.bounds(joiners);
    const listed = this.gateway.listPayments(bounds, mayBeOurs, undefined, onUnreadable, isEnough);
    for await (const payment of listed) {
      const joiner = joinerOf(payment);
      joiner?.found.push(payment);
      joiner?.at.onSeen?.(payment);
    }
  }

  private bounds(joiners: readonly Joiner[]): { from?: string } {
    if (this.reach === 'all') return {};
    const oldest = Math.min(...joiners.map((joiner) => joiner.at.createdAt.getTime()));
    return { from: new Date(oldest - CLOCK_MARGIN_MS).toISOString() };
  }
}
