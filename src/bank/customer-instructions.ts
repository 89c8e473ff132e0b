import { stringify } from 'lossless-json';
import { segment } from './link';
import { listAt } from './list';
import type { Outcome } from './outcome';
import type { ListHabits, ListSize } from './paging';
import { eachItem } from './pager';
import { idOfPayment, saysOfPayment } from './payment-transactions';
import { paymentOfInstruction, samePayment, sameRecord } from './same-record';
import {
  customerInstruction,
  type CustomerInstruction,
  type ListedPayment,
  pageOfPayments,
  paymentTransaction,
  type PaymentTransaction,
  paymentTransactionList,
} from './schema';
import type { BankSession, Leaving, Turn } from './session';
import {
  type AddPaymentTransactionRequest,
  type DirectSubmissionRequest,
  type InitiateRequest,
  PATHS,
} from './types';
import type { WithExactAmounts } from './wire';

/** A submit that waits in a queue would leave after the check that allowed it. */
const SUBMIT_QUEUE_MS = 1_000;

/** Credit transfers in three steps or in one call (Multi-step credit transfer, Direct submission). */
export class CustomerInstructions {
  constructor(
    private readonly session: BankSession,
    private readonly habits: ListHabits,
  ) {}

  /** Step 1: an instruction that moves nothing yet. Scope `customer-instruction_initiation` (Multi-step). */
  initiate(request: WithExactAmounts<InitiateRequest>): Promise<Outcome<CustomerInstruction>> {
    return this.initiateBytes(jsonOf(request));
  }

  /** {@link initiate} with a body already written; exactly these bytes are sent. */
  initiateBytes(body: string): Promise<Outcome<CustomerInstruction>> {
    const path = PATHS.initiate();
    return this.session.change({
      method: 'POST',
      path,
      body,
      answer: customerInstruction,
      renewsToken: true,
    });
  }

  /** Step 2: one payment into the instruction. Scope `customer-instruction_initiation` (Multi-step). */
  add(
    instructionId: string,
    request: WithExactAmounts<AddPaymentTransactionRequest>,
  ): Promise<Outcome<PaymentTransaction>> {
    return this.addBytes(instructionId, jsonOf(request));
  }

  /** {@link add} with a body already written; exactly these bytes are sent. */
  addBytes(instructionId: string, body: string, givenUp?: AbortSignal): Promise<Outcome<PaymentTransaction>> {
    return this.session.change({
      method: 'POST',
      path: PATHS.addPaymentTransaction(segment(instructionId)),
      body,
      answer: paymentTransaction,
      faultsOf: paymentOfInstruction(instructionId),
      renewsToken: true,
      givenUp,
    });
  }

  /**
   * Step 3: moves the money. Scope `customer-instruction_submission` (Multi-step). No body, one request on a
   * connection of its own, never a second one; no turn, or no token, within a second is "not sent", and so is one to
   * which `mayLeave` says no. Under a small limit no turn comes so soon: that is waited for before, by `BankClient.turn`.
   */
  submit(instructionId: string, { turn, mayLeave }: Leaving = {}): Promise<Outcome<CustomerInstruction>> {
    return this.session.change({
      method: 'POST',
      path: PATHS.submit(segment(instructionId)),
      answer: customerInstruction,
      faultsOf: sameRecord(instructionId),
      freshConnection: true,
      mayLeave,
      maxQueueMs: SUBMIT_QUEUE_MS,
      turn,
    });
  }

  /** Creates and pays in one call. Scope `customer-instruction_submit` (Direct submission). Not for payroll. */
  submitDirectly(request: DirectSubmissionRequest): Promise<Outcome<CustomerInstruction>> {
    return this.session.change({
      method: 'POST',
      path: PATHS.submitDirectly(),
      body: jsonOf(request),
      answer: customerInstruction,
      freshConnection: true,
      maxQueueMs: SUBMIT_QUEUE_MS,
    });
  }

  /** One instruction with its history. Scope not shown (Paths exposed only as links). */
  get(instructionId: string, turn?: Turn): Promise<CustomerInstruction> {
    const path = PATHS.customerInstruction(segment(instructionId));
    return this.session.read(path, customerInstruction, sameRecord(instructionId), '', turn);
  }

  /** The payments of one instruction. Scope not shown (Paths exposed only as links). */
  listPaymentTransactions(
    instructionId: string,
    onEnd?: (size: ListSize) => void,
    isAll?: (seen: number) => Promise<boolean>,
    isEnough?: () => boolean,
  ): AsyncIterable<PaymentTransaction> {
    const path = PATHS.instructionPaymentTransactions(segment(instructionId));
    const list = listAt(this.session, path, paymentTransactionList);
    return eachItem({
      ...list,
      idOf: idOfPayment,
      saysOf: saysOfPayment,
      habits: this.habits,
      onEnd,
      isAll,
      isEnough,
    });
  }

  /** As `listPaymentTransactions`, those too that do not follow the interface. */
  listedPaymentTransactions(
    instructionId: string,
    isAll?: (seen: number) => Promise<boolean>,
  ): AsyncIterable<ListedPayment> {
    const path = PATHS.instructionPaymentTransactions(segment(instructionId));
    const list = listAt(
      this.session,
      path,
      pageOfPayments(() => true, true),
    );
    return eachItem({ ...list, idOf: ({ id }) => id, habits: this.habits, isAll });
  }

  /** Changes an instruction before its submission. Body and scope not shown (Paths exposed only as links). */
  update(
    instructionId: string,
    change: WithExactAmounts<Partial<InitiateRequest>>,
  ): Promise<Outcome<CustomerInstruction>> {
    return this.session.change({
      method: 'PATCH',
      path: PATHS.creditTransfer(segment(instructionId)),
      body: jsonOf(change),
      answer: customerInstruction,
      faultsOf: sameRecord(instructionId),
    });
  }

  /** Deletes an instruction before its submission. Scope not shown (Paths exposed only as links). */
  delete(instructionId: string): Promise<Outcome<undefined>> {
    const path = PATHS.creditTransfer(segment(instructionId));
    return this.session.change({ method: 'DELETE', path, renewsToken: true });
  }

  /** Changes a payment before the submission. Body and scope not shown (Paths exposed only as links). */
  updatePaymentTransaction(
    paymentTransactionId: string,
    change: WithExactAmounts<Partial<AddPaymentTransactionRequest>>,
  ): Promise<Outcome<PaymentTransaction>> {
    return this.session.change({
      method: 'PATCH',
      path: PATHS.creditTransferPaymentTransaction(segment(paymentTransactionId)),
      body: jsonOf(change),
      answer: paymentTransaction,
      faultsOf: samePayment(paymentTransactionId),
    });
  }

  /** Deletes a payment before the submission. Scope not shown (Paths exposed only as links). */
  deletePaymentTransaction(paymentTransactionId: string): Promise<Outcome<undefined>> {
    const path = PATHS.creditTransferPaymentTransaction(segment(paymentTransactionId));
    return this.session.change({ method: 'DELETE', path, renewsToken: true });
  }
}

/** Writes a `LosslessNumber` as the number it holds. */
function jsonOf(request: unknown): string {
  return stringify(request) ?? '';
}
