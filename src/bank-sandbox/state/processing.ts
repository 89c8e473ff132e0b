import { nextTargetDay } from '../business-days';
import type { BankClock } from '../clock';
import { conflict } from '../refusal';
import type { Variants } from '../variants';
import type { Outbox } from '../webhooks/outbox';
import type { Accounts } from './accounts';
import type { Agenda } from './agenda';
import type { Ledger } from './ledger';
import type { IncomingInput, InstructionRecord, PaymentRecord } from './records';
import {
  FAILURES,
  isGoingToSettle,
  isNotProcessable,
  isWaiting,
  pathAfterSubmit,
  PAYEE_ACCOUNT_CLOSED,
} from './status-sequences';

/** Payments of one instruction that go through the same statuses at the same moments. */
interface Cohort {
  accountId: string;
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
  constructor(
    private readonly agenda: Agenda,
    private readonly ledger: Ledger,
    private readonly accounts: Accounts,
    private readonly outbox: Outbox,
    private readonly clock: BankClock,
    private readonly variants: Pick<
      Variants,
      'executionDays' | 'waitsAs' | 'failedChecks' | 'bookEnds' | 'instructionEnds' | 'returnChargeMinor'
    >,
    private readonly receive: (input: IncomingInput, atMs: number) => void,
  ) {}

  /** Starts the processing of payments that were just submitted. */
  start(instruction: InstructionRecord, payments: readonly PaymentRecord[], atMs: number): void {
    const executionDate = this.executionDateOf(instruction);
    const waitsAs = executionDate > this.clock.dateOf(atMs) ? this.variants.waitsAs : undefined;
    const { direct } = instruction;
    const { failedChecks, bookEnds } = this.variants;
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
      const path = pathAfterSubmit({ outcome, channel, direct, waitsAs, failedChecks, bookEnds });
      if (path.length === 0) continue;
      if (failedChecks === 'end-it' || !isNotProcessable(outcome)) instruction.openPayments += alike.length;
      if (this.awaitsBatch(first)) instruction.settlingPayments += alike.length;
      this.enqueueAll(instruction, alike, { path, dueAtMs: atMs + this.agenda.stepMs, executionDate });
    }
    this.endInstruction(instruction, atMs);
  }

  /** Executes an instruction once more, for a bank that lets a second submit through. */
  startAgain(instruction: InstructionRecord, atMs: number): void {
    const settling = instruction.payments.filter(({ outcome }) => outcome === 'settles');
    const dueAtMs = atMs + this.agenda.stepMs;
    const executionDate = this.executionDateOf(instruction);
    this.enqueueAll(instruction, settling, { path: ['SETTLED'], dueAtMs, executionDate, again: true });
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

  private executionDateOf({ information }: InstructionRecord): string {
    const { requestedExecutionDate: requested } = information;
    return this.variants.executionDays === 'next' ? nextTargetDay(requested) : requested;
  }

  private enqueueAll(
    { account }: InstructionRecord,
    payments: readonly PaymentRecord[],
    plan: Pick<Cohort, 'path' | 'dueAtMs' | 'executionDate'> & { again?: boolean },
  ): void {
    const cohort = { again: false, ...plan, accountId: account.id, index: 0 };
    for (let from = 0; from < payments.length; from += COHORT_SIZE)
      this.enqueue({ ...cohort, payments: payments.slice(from, from + COHORT_SIZE) });
  }

  private enqueue(cohort: Cohort): void {
    const { dueAtMs, accountId, payments } = cohort;
    this.agenda.add({ dueAtMs, accountId, size: payments.length, run: () => this.step(cohort) });
  }

  private step(cohort: Cohort): void {
    const { path, index, dueAtMs, again } = cohort;
    const status = path[index] ?? '';
    const today = this.clock.dateOf(dueAtMs);
    if (again) for (const payment of cohort.payments) this.ledger.payAgain(payment, dueAtMs);
    else if (status === 'SETTLED' && this.joinBatch(cohort)) return;
    else cohort.payments = cohort.payments.filter((payment) => this.move(payment, status, dueAtMs, today));
    const next = path[index + 1];
    if (next === undefined || cohort.payments.length === 0) return;
    this.enqueue({ ...cohort, index: index + 1, dueAtMs: this.dueAfter(cohort, status, next) });
  }

  /** False when payments that come to settle are booked one by one; those of a batch wait for the last of it. */
  private joinBatch({ payments, dueAtMs }: Cohort): boolean {
    const instruction = payments[0]?.instruction;
    if (!instruction?.information.batchBooking) return false;
    instruction.batch = instruction.batch.concat(payments);
    this.awaitBatch(instruction, payments.length, dueAtMs);
    return true;
  }

  /** So many payments fewer to wait for: after the last of them the batch is booked as one entry, and settles. */
  private awaitBatch(instruction: InstructionRecord, fewer: number, atMs: number): void {
    instruction.settlingPayments -= fewer;
    if (instruction.settlingPayments > 0) return;
    const { batch } = instruction;
    instruction.batch = [];
    const settling = batch.filter((payment) => !this.ledger.lacksPayee(payment));
    this.ledger.bookBatch(instruction, settling, atMs);
    const today = this.clock.dateOf(atMs);
    for (const payment of batch) this.move(payment, 'SETTLED', atMs, today);
    const returning = batch.filter(({ outcome }) => outcome === 'returnedTwoDaysLater');
    this.enqueueAll(instruction, returning, {
      path: ['RETURNED'],
      dueAtMs: atMs + TWO_DAYS_MS,
      executionDate: today,
    });
  }

  private dueAfter(cohort: Cohort, status: string, next: string): number {
    if (next === 'RETURNED') return cohort.dueAtMs + TWO_DAYS_MS;
    const soonest = cohort.dueAtMs + this.agenda.stepMs;
    if (!isWaiting(status)) return soonest;
    return Math.max(soonest, this.clock.startOf(cohort.executionDate) ?? soonest);
  }

  /** False when the payment goes no further. */
  private move(payment: PaymentRecord, status: string, atMs: number, today: string): boolean {
    if (FAILURES.has(payment.history.current)) return false;
    if (payment.history.has(status)) return true;
    const met = this.statusMet(payment, status);
    const label = payment.outcome === 'payeeAccountClosed' && met === 'EXT_REFUSED';
    payment.history.record(met, atMs, label ? PAYEE_ACCOUNT_CLOSED : undefined);
    this.book(payment, met, atMs, today);
    return met === status;
  }

  /** The status asked for, or the failure that meets the payment on its way there. */
  private statusMet(payment: PaymentRecord, status: string): string {
    const pays = this.isPaidAt(status, payment);
    if (pays && this.ledger.lacksPayee(payment)) return 'PRO_SETTLEMENT_FAILED';
    const holds = status === 'PRO_DEBIT_HOLD' || (pays && this.endsAtSubmitted(payment));
    return holds && !this.ledger.hold(payment) ? 'PRO_DEBIT_HOLD_FAILED' : status;
  }

  /** Whether a batch of its instruction waits for it. */
  private awaitsBatch(payment: PaymentRecord): boolean {
    return isGoingToSettle(payment.outcome) && !this.endsAtSubmitted(payment);
  }

  /** Whether it is a transfer within the bank that goes no further. */
  private endsAtSubmitted({ channel, instruction }: PaymentRecord): boolean {
    return channel === 'BOOK' && instruction?.direct === false && this.variants.bookEnds === 'SUBMITTED';
  }

  /** Whether a payment's money moves at a status. */
  private isPaidAt(status: string, payment: PaymentRecord): boolean {
    return status === (this.endsAtSubmitted(payment) ? 'SUBMITTED' : 'SETTLED');
  }

  private book(payment: PaymentRecord, status: string, atMs: number, today: string): void {
    const paid = this.isPaidAt(status, payment);
    if (paid && status !== 'SETTLED') {
      this.ledger.settle(payment, atMs);
    } else if (paid) {
      payment.settlementDate = today;
      this.ledger.settle(payment, atMs);
      this.announce(payment, 'payment_transaction.settled', atMs);
      if (payment.outcome === 'comesInTwoDaysLater') this.sendBack(payment, atMs + TWO_DAYS_MS);
    } else if (status === 'RETURNED') {
      this.ledger.refund(payment, BigInt(this.variants.returnChargeMinor), atMs);
    } else if (FAILURES.has(status)) {
      this.ledger.release(payment);
      if (status === 'EXT_REFUSED') this.announce(payment, 'payment_transaction.external_refused', atMs);
    }
    const { instruction } = payment;
    if (!instruction || !(paid || FAILURES.has(status))) return;
    // One that fails as it settles has been waited for.
    const awaited = this.awaitsBatch(payment) && !paid && status !== 'PRO_SETTLEMENT_FAILED';
    if (awaited) this.awaitBatch(instruction, 1, atMs);
    instruction.openPayments -= 1;
    this.endInstruction(instruction, atMs);
  }

  /** The payee's bank sends the money back as a payment of its own; where the account takes none, it keeps it. */
  private sendBack(payment: PaymentRecord, dueAtMs: number): void {
    const { account, amountMinor, messageId, creditor, debtor } = payment;
    const input = { iban: account.iban, amountMinor: String(amountMinor), messageId };
    const run = () => {
      if (this.accounts.statusOf(account) !== 'OPENED') return;
      this.receive({ ...input, debtor: creditor, creditor: debtor }, dueAtMs);
    };
    this.agenda.add({ dueAtMs, accountId: account.id, size: 1, run });
  }

  /** Where instructions end with their payments: once the last of them has. */
  private endInstruction(instruction: InstructionRecord, atMs: number): void {
    if (this.variants.instructionEnds === 'SUB_REQUIRED' || instruction.openPayments > 0) return;
    const settled = instruction.payments.some(({ moved }) => moved > 0);
    instruction.history.record(settled ? 'SETTLED' : 'FAILED', atMs);
  }

  /** Tells the subscribers of a payment's account what became of it. */
  announce(
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
