import type { BankClock } from '../clock';
import { conflict } from '../refusal';
import type { Outbox } from '../webhooks/outbox';
import type { Accounts } from './accounts';
import type { Ledger } from './ledger';
import type { InstructionRecord, PaymentRecord } from './records';
import { FAILURES, pathAfterSubmit } from './status-sequences';

/** Payments that go through the same statuses at the same moments. */
interface Cohort {
  payments: PaymentRecord[];
  path: readonly string[];
  /** Index in `path` of the status taken at `dueAtMs`. */
  index: number;
  dueAtMs: number;
  executionDate: string;
  /** A second execution of the same instruction: money moves, statuses do not. */
  again: boolean;
}

/** A cohort is one uninterrupted piece of work, so it stays below a few milliseconds. */
const COHORT_SIZE = 1_000;
const TWO_DAYS_MS = 2 * 24 * 60 * 60 * 1_000;

/** Moves submitted payments from status to status as the bank's time passes, in bulk. */
export class Processing {
  /** Ordered by due time, first come first served. */
  private readonly queue: Cohort[] = [];
  /** Time between two statuses. */
  stepMs = 0;

  constructor(
    private readonly ledger: Ledger,
    private readonly accounts: Accounts,
    private readonly outbox: Outbox,
    private readonly clock: BankClock,
  ) {}

  /** Starts the processing of payments that were just submitted. */
  start(instruction: InstructionRecord, payments: readonly PaymentRecord[], atMs: number): void {
    const executionDate = instruction.information.requestedExecutionDate;
    const warehoused = executionDate > this.clock.dateOf(atMs);
    const byPath = new Map<string, PaymentRecord[]>();
    for (const payment of payments) {
      const key = `${payment.outcome} ${payment.channel}`;
      const alike = byPath.get(key);
      if (alike) alike.push(payment);
      else byPath.set(key, [payment]);
    }
    for (const alike of byPath.values()) {
      const [first] = alike;
      if (!first) continue;
      const { outcome, channel } = first;
      const path = pathAfterSubmit({ outcome, channel, direct: instruction.direct, warehoused });
      this.enqueueAll(alike, { path, index: 0, dueAtMs: atMs + this.stepMs, executionDate, again: false });
    }
  }

  /** Executes an instruction once more, for a bank that lets a second submit through. */
  startAgain(instruction: InstructionRecord, atMs: number): void {
    const settling = instruction.payments.filter(({ outcome }) => outcome === 'settles');
    const path = ['SETTLED'];
    const executionDate = instruction.information.requestedExecutionDate;
    this.enqueueAll(settling, { path, index: 0, dueAtMs: atMs + this.stepMs, executionDate, again: true });
  }

  /** Takes the steps that are due, about `maxPayments` of them; returns how many payments were moved. */
  advance(atMs: number, maxPayments: number): number {
    let moved = 0;
    while (moved < maxPayments) {
      const cohort = this.queue[0];
      if (!cohort || cohort.dueAtMs > atMs) break;
      this.queue.shift();
      moved += cohort.payments.length;
      this.step(cohort);
    }
    return moved;
  }

  nextDueMs(): number | undefined {
    return this.queue[0]?.dueAtMs;
  }

  hasPending(accountId: string): boolean {
    return this.queue.some(({ payments }) => payments.some(({ account }) => account.id === accountId));
  }

  /** The other bank takes the payment before its turn. */
  exchange(payment: PaymentRecord, atMs: number): void {
    requireReady(payment);
    this.move(payment, 'EXCHANGED', atMs, '');
  }

  refuse(payment: PaymentRecord, atMs: number): void {
    requireReady(payment);
    this.move(payment, 'EXT_REFUSED', atMs, '');
  }

  private enqueueAll(payments: readonly PaymentRecord[], cohort: Omit<Cohort, 'payments'>): void {
    for (let from = 0; from < payments.length; from += COHORT_SIZE)
      this.enqueue({ ...cohort, payments: payments.slice(from, from + COHORT_SIZE) });
  }

  private enqueue(cohort: Cohort): void {
    let low = 0;
    let high = this.queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.queue[middle]?.dueAtMs ?? 0) <= cohort.dueAtMs) low = middle + 1;
      else high = middle;
    }
    this.queue.splice(low, 0, cohort);
  }

  private step(cohort: Cohort): void {
    const { path, index, dueAtMs, again } = cohort;
    const status = path[index] ?? '';
    const today = this.clock.dateOf(dueAtMs);
    if (again) for (const payment of cohort.payments) this.ledger.payAgain(payment, dueAtMs);
    else cohort.payments = cohort.payments.filter((payment) => this.move(payment, status, dueAtMs, today));
    const next = path[index + 1];
    if (next === undefined || cohort.payments.length === 0) return;
    this.enqueue({ ...cohort, index: index + 1, dueAtMs: this.dueAfter(cohort, status, next) });
  }

  private dueAfter(cohort: Cohort, status: string, next: string): number {
    if (next === 'RETURNED') return cohort.dueAtMs + TWO_DAYS_MS;
    const soonest = cohort.dueAtMs + this.stepMs;
    if (status !== 'WAREHOUSED') return soonest;
    return Math.max(soonest, this.clock.startOf(cohort.executionDate) ?? soonest);
  }

  /** False when the payment goes no further. */
  private move(payment: PaymentRecord, status: string, atMs: number, today: string): boolean {
    if (FAILURES.has(payment.history.current)) return false;
    if (payment.history.has(status)) return true;
    if (status === 'PRO_DEBIT_HOLD' && !this.ledger.hold(payment)) {
      payment.history.record('PRO_DEBIT_HOLD_FAILED', atMs);
      return false;
    }
    const payeeGone = payment.channel === 'BOOK' && !this.accounts.payee(payment.creditorIban);
    if (status === 'SETTLED' && payeeGone) return this.move(payment, 'PRO_SETTLEMENT_FAILED', atMs, today);
    payment.history.record(status, atMs);
    if (status === 'SETTLED') {
      payment.settlementDate = today;
      this.ledger.settle(payment, atMs);
      this.announce(payment, 'payment_transaction.settled', atMs);
    } else if (status === 'RETURNED') {
      this.ledger.refund(payment, atMs);
      payment.returned = true;
    } else if (FAILURES.has(status)) {
      this.ledger.undo(payment, atMs);
      if (status === 'EXT_REFUSED') this.announce(payment, 'payment_transaction.external_refused', atMs);
    }
    return true;
  }

  private announce(
    payment: PaymentRecord,
    event: 'payment_transaction.settled' | 'payment_transaction.external_refused',
    atMs: number,
  ): void {
    const { identityId } = this.accounts.user(payment.account.userId);
    const data = { paymentTransactionId: payment.id, customerInstructionId: payment.instruction?.id };
    this.outbox.emit(event, { identityId, entityId: String(payment.id) }, data, atMs);
  }
}

function requireReady(payment: PaymentRecord): void {
  if (payment.history.current !== 'READY_FOR_EXCHANGE')
    throw conflict('NOT_READY_FOR_EXCHANGE', 'the payment instruction is not ready for exchange');
}
