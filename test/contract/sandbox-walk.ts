import { EVENTS } from '../../src/bank/types';
import { MAGIC_CREDITORS, type MagicCreditor } from '../../src/bank-sandbox/magic';
import { ALDER, BIRCH, paymentIdOf, PAYEE, type Reply, Tester } from '../bank-sandbox/client';
import type { Receiver } from '../bank-sandbox/receiver';
import { type OperationName, OPERATIONS, pathOf } from './operations';
import * as requests from './requests';
import { asSent } from './requests';
import type { Json } from './shapes';

/** Long enough that nothing moves unless the walk says so. */
export const STEP_MS = 3_600_000;
/** From the submit to READY_FOR_EXCHANGE. */
const STEPS_TO_EXCHANGE = 7;
const STEPS_TO_END = 20;
/** A user without an account, so that it can be closed. */
const LEAVER = { userId: 777, identityId: 9777, holderName: 'Dune Bakery', kyc: 'VERIFIED' };

/** One answer of the sandbox to one operation. */
export interface Answered {
  name: OperationName;
  request?: Json;
  reply: Reply;
}

/** Performs every operation of the document at a sandbox whose clock only this walk moves. */
export class SandboxWalk {
  readonly answers: Answered[] = [];
  private hookId = 0;
  private readonly facts: requests.Facts = { debtorIban: ALDER.account!.iban, creditorIban: PAYEE, date: '' };

  constructor(
    readonly bank: Tester,
    private readonly receiver: Receiver,
  ) {}

  of(name: OperationName): Answered[] {
    return this.answers.filter((answer) => answer.name === name);
  }

  async all(): Promise<void> {
    for (const part of [
      this.hooks,
      this.products,
      this.preparing,
      this.paying,
      this.failing,
      this.directly,
    ]) {
      this.facts.date = (await this.bank.get('/sandbox/clock')).body.date;
      await part.call(this);
    }
    await this.closing();
  }

  private async call(name: OperationName, ids: (string | number)[] = [], request?: Json): Promise<Json> {
    const operation = OPERATIONS.find((one) => one.name === name)!;
    const reply = await this.bank.call(operation.method, pathOf(operation, ...ids), request);
    this.answers.push({ name, request, reply });
    return reply.body;
  }

  private async hooks(): Promise<void> {
    const { id } = await this.call('subscribe hook', [], {
      ...requests.subscription(this.receiver.url),
      events: [...EVENTS],
    });
    this.hookId = id;
    await this.call('associate identity', [id, ALDER.identityId]);
    await this.call('list hooks');
    const other = await this.call('subscribe hook', [], requests.subscription(this.receiver.url));
    await this.call('delete hook', [other.id]);
  }

  private async products(): Promise<void> {
    const products = await this.call('list products');
    const productId = Number(products.items[0].id);
    const { id } = await this.call('create account', [ALDER.userId], { productId });
    await this.call('get account', [id]);
    await this.bank.post(`/sandbox/accounts/${id}/block`);
    await this.call('get account', [id]);
    await this.bank.post(`/sandbox/accounts/${id}/unblock`);
    await this.call('close account', [id]);
    await this.call('get account', [id]);
    await this.call('list accounts');
  }

  /** What can be done to an instruction before its submit. */
  private async preparing(): Promise<void> {
    const { id } = await this.call('initiate instruction', [], asSent(requests.initiation(this.facts)));
    const { name, iban } = { name: 'Grace Hopper', iban: BIRCH.account!.iban };
    const request = asSent(requests.addition(this.facts));
    const shorter = {
      paymentTransactionAmountInformation: { instructedAmount: { value: 1, currency: 'EUR' } },
      paymentTransactionParties: { creditor: { name, accountId: { type: 'IBAN', value: iban } } },
    };
    const payment = paymentIdOf(await this.call('add payment transaction', [id], shorter));
    await this.call('update payment transaction', [payment], request);
    await this.call('update instruction', [id], {
      customerInstructionInformation: { customerInstructionReference: 'REF-2', batchBooking: true },
      externalData: { run: 'r-2' },
    });
    await this.call('get instruction', [id]);
    await this.call('delete payment transaction', [payment]);
    await this.call('delete instruction', [id]);
  }

  private async paying(): Promise<void> {
    const shortest = asSent(requests.shortestInitiation(this.facts));
    const { id } = await this.call('initiate instruction', [], shortest);
    const payments = [];
    for (let payment = 0; payment < 3; payment += 1) payments.push(paymentIdOf(await this.add(id)));
    await this.call('submit instruction', [id]);
    await this.call('get instruction', [id]);
    await this.bank.advance(STEPS_TO_EXCHANGE * STEP_MS);
    const ready = [];
    for (const payment of payments) ready.push(await this.call('get payment transaction', [payment]));
    const [exchanged, refused] = ready.map((payment) => payment.paymentInstructionId);
    await this.call('get payment instruction', [exchanged]);
    await this.call('exchange payment instruction', [exchanged]);
    await this.call('refuse payment instruction', [refused]);
    await this.bank.advance(STEPS_TO_END * STEP_MS);
    for (const payment of payments) await this.call('get payment transaction', [payment]);
    await this.call('list payment transactions of an instruction', [id]);
    const { instructions } = await this.bank.ledger();
    const booked = instructions.flatMap(({ rows }: Json) => rows).find((row: Json) => row.transactionId);
    await this.call('get transaction', [booked.transactionId]);
  }

  /** Payments that end otherwise than settled. */
  private async failing(): Promise<void> {
    const { id } = await this.call('initiate instruction', [], asSent(requests.initiation(this.facts)));
    const effects: MagicCreditor['effect'][] = ['fails', 'rejected', 'cancelled', 'returnedTwoDaysLater'];
    const payments = [];
    for (const effect of effects) {
      const { iban } = MAGIC_CREDITORS.find((one) => one.effect === effect)!;
      payments.push(paymentIdOf(await this.add(id, iban)));
    }
    await this.call('submit instruction', [id]);
    await this.bank.advance(STEPS_TO_END * STEP_MS + 2 * 86_400_000);
    for (const payment of payments) await this.call('get payment transaction', [payment]);
  }

  private async directly(): Promise<void> {
    const within = requests.directSubmission({ ...this.facts, creditorIban: BIRCH.account!.iban });
    await this.call('submit directly', [], asSent(within));
    const iban = ALDER.account!.iban;
    const { body } = await this.bank.post('/sandbox/incoming-payments', { iban, amountMinor: '700' });
    await this.call('get payment transaction', [body.id]);
    await this.bank.advance(STEPS_TO_END * STEP_MS);
    await this.call('list payment transactions');
    for (
      let id = 7_000_001;
      (await this.bank.get(`/api/distributor/v1/transactions/${id}`)).status === 200;
      id += 1
    )
      await this.call('get transaction', [id]);
  }

  private async closing(): Promise<void> {
    await this.bank.post('/sandbox/users', LEAVER);
    await this.call('associate identity', [this.hookId, LEAVER.identityId]);
    await this.call('create account', [LEAVER.userId], { productId: 11 });
    await this.call('close user', [LEAVER.userId]);
    for (const verb of ['block', 'unblock'])
      await this.bank.post(`/sandbox/identities/${ALDER.identityId}/${verb}`);
    for (const event of EVENTS.filter((one) => one.startsWith('iban_structure.')))
      await this.bank.post('/sandbox/iban-structures', { event });
  }

  private add(instructionId: number, creditorIban = PAYEE): Promise<Json> {
    const request = asSent(requests.addition({ ...this.facts, creditorIban }));
    return this.call('add payment transaction', [instructionId], request);
  }
}
