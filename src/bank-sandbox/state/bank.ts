import type { BankClock } from '../clock';
import { conflict } from '../refusal';
import type { Seed, SeedUser } from '../seed';
import { DEFAULT_VARIANTS, type Variants } from '../variants';
import { Outbox } from '../webhooks/outbox';
import { Accounts, emptyAccount } from './accounts';
import { Agenda } from './agenda';
import type { CommandHandlers, CommandLine, CommandMap, CommandName } from './commands';
import { Instructions, isRunning } from './instructions';
import type { Journal } from './journal';
import { Ledger } from './ledger';
import { Processing } from './processing';
import type { AccountRecord, IncomingInput, PaymentRecord } from './records';
import { FAILURES } from './status-sequences';
import { Submissions } from './submissions';

/** The one structure the sandbox has: its own. */
const IBAN_STRUCTURE_ID = 'DE';

/** The whole state of the bank. Reads go to its parts; every change is a command, and is journalled. */
export class Bank {
  readonly variants: Variants = { ...DEFAULT_VARIANTS };
  readonly accounts = new Accounts();
  readonly outbox: Outbox;
  readonly ledger: Ledger;
  readonly instructions: Instructions;
  readonly agenda = new Agenda();
  private readonly processing: Processing;
  private readonly submissions: Submissions;
  private readonly handlers: CommandHandlers;
  private journal?: Journal;

  constructor(readonly clock: BankClock) {
    const { accounts, agenda, variants } = this;
    this.outbox = new Outbox(variants);
    this.ledger = new Ledger(accounts, this.outbox);
    this.instructions = new Instructions(accounts, clock, variants);
    this.processing = new Processing(
      agenda,
      this.ledger,
      accounts,
      this.outbox,
      clock,
      variants,
      (input, atMs) => this.receive(input, atMs),
    );
    this.submissions = new Submissions(agenda, this.instructions, this.processing, variants);
    this.handlers = { ...this.operatorCommands(), ...this.accountCommands(), ...this.paymentCommands() };
  }

  /** Executes a command now. Throws a Refusal and changes nothing, or changes the state and is journalled. */
  execute<K extends CommandName>(command: K, input: CommandMap[K]['input']): CommandMap[K]['result'] {
    const atMs = this.clock.now();
    const handler: CommandHandlers[K] = this.handlers[command];
    const result = handler(input, atMs);
    this.journal?.append({ command, atMs, input });
    return result;
  }

  /** Executes a line of the journal at the moment it happened. */
  replay<K extends CommandName>(line: CommandLine & { command: K }): void {
    this.clock.reach(line.atMs);
    const handler: CommandHandlers[K] = this.handlers[line.command];
    handler(line.input as CommandMap[K]['input'], line.atMs);
  }

  recordIn(journal: Journal): void {
    this.journal = journal;
  }

  private operatorCommands() {
    const { accounts, agenda, clock, instructions, ledger, outbox } = this;
    return {
      configure: ({ variants, stepMs, timeZone }) => {
        Object.assign(this.variants, variants);
        agenda.stepMs = stepMs;
        clock.timeZone = timeZone;
      },
      seed: (seed, atMs) => this.plant(seed, atMs),
      moveClock: ({ offsetMs }) => clock.setOffset(offsetMs),
      advance: ({ maxPayments }, atMs) => agenda.advance(atMs, maxPayments),
      addUser: (user) => this.addUser(user),
      blockAccount: ({ accountId, blocked }, atMs) => this.blockAccount(accountId, blocked, atMs),
      blockIdentity: ({ identityId, blocked }, atMs) => this.blockIdentity(identityId, blocked, atMs),
      changeIbanStructure: ({ event }, atMs) => outbox.emit(event, { entityId: IBAN_STRUCTURE_ID }, {}, atMs),
      receive: (input, atMs) => this.receive(input, atMs),
      post: ({ accountId, ...posting }, atMs) => {
        const { paymentId } = posting;
        const payment = paymentId === undefined ? undefined : instructions.payment(paymentId);
        return ledger.postTo(accounts.account(accountId), { ...posting, payment }, atMs);
      },
      recordAttempt: (input, atMs) => outbox.recordAttempt(input, atMs),
    } satisfies Partial<CommandHandlers>;
  }

  private accountCommands() {
    const { accounts, agenda, instructions, outbox } = this;
    const hasPending = (accountId: string): boolean =>
      agenda.concerns(accountId) || instructions.hasWaiting(accountId);
    return {
      openAccount: ({ userId, productId }, atMs) => {
        const account = accounts.open(userId, productId, atMs);
        const { identityId } = accounts.user(userId);
        const data = { accountNumber: account.id, ownerIdentityId: identityId };
        outbox.emit('account.status.opened', { identityId, entityId: account.id }, data, atMs);
        return account;
      },
      closeAccount: ({ accountId }) => {
        const account = accounts.account(accountId);
        accounts.requireClosable(account, hasPending(accountId));
        account.status = 'CLOSED';
        return account;
      },
      closeUser: ({ userId }, atMs) => {
        const user = accounts.user(userId);
        if (user.status === 'CLOSED') throw conflict('USER_CLOSED', 'the user is closed already');
        const open = accounts.ofUser(userId).filter(({ status }) => status !== 'CLOSED');
        for (const account of open) accounts.requireClosable(account, hasPending(account.id));
        for (const account of open) account.status = 'CLOSED';
        user.status = 'CLOSED';
        const { identityId } = user;
        outbox.emit('identity.closed', { identityId, entityId: String(identityId) }, { identityId }, atMs);
      },
      subscribe: (input) => outbox.subscribe(input),
      unsubscribe: ({ hookId }) => outbox.unsubscribe(hookId),
      associate: ({ hookId, identityId }) => {
        accounts.identity(identityId);
        outbox.associate(hookId, identityId);
      },
    } satisfies Partial<CommandHandlers>;
  }

  /** Where a payment counts as pending from its add on: sets aside what each takes as it stands. */
  private reserve(payments: readonly PaymentRecord[]): void {
    if (this.variants.reserves === 'at-debit') return;
    for (const payment of payments) {
      this.ledger.release(payment);
      if (!FAILURES.has(payment.history.current)) this.ledger.hold(payment);
    }
  }

  private paymentCommands() {
    const { instructions, processing, submissions } = this;
    return {
      initiate: (input, atMs) => instructions.initiate(input, false, atMs),
      updateInstruction: ({ id, changes }, atMs) => {
        const instruction = instructions.instruction(id);
        instructions.update(instruction, changes, atMs);
        this.reserve(instruction.payments);
        return instruction;
      },
      deleteInstruction: ({ id }, atMs) => {
        const instruction = instructions.instruction(id);
        instructions.delete(instruction, atMs);
        if (instruction.deleted) this.reserve(instruction.payments);
      },
      add: ({ id, payment: input }, atMs) => {
        const instruction = instructions.instruction(id);
        const payment = instructions.add(instruction, input, atMs);
        this.reserve([payment]);
        if (isRunning(instruction)) processing.start(instruction, [payment], atMs);
        return payment;
      },
      updatePayment: ({ id, changes }, atMs) => {
        const payment = instructions.payment(id);
        instructions.updatePayment(payment, changes, atMs);
        this.reserve([payment]);
        return payment;
      },
      deletePayment: ({ id }, atMs) => {
        const payment = instructions.payment(id);
        instructions.deletePayment(payment, atMs);
        this.reserve([payment]);
      },
      submit: ({ id }, atMs) => submissions.submit(instructions.instruction(id), atMs),
      releaseInstruction: ({ id }, atMs) => submissions.release(instructions.instruction(id), atMs),
      refuseInstruction: ({ id }, atMs) => submissions.refuse(instructions.instruction(id), atMs),
      submitDirectly: (input, atMs) => submissions.submitDirectly(input, atMs),
      exchange: ({ paymentInstructionId }, atMs) => {
        const payment = instructions.instructedPayment(paymentInstructionId);
        processing.exchange(payment, atMs);
        return payment;
      },
      refuse: ({ paymentInstructionId }, atMs) => {
        const payment = instructions.instructedPayment(paymentInstructionId);
        processing.refuse(payment, atMs);
        return payment;
      },
    } satisfies Partial<CommandHandlers>;
  }

  private receive(input: IncomingInput, atMs: number): PaymentRecord {
    const payment = this.instructions.receive(input, atMs);
    const [from, to] = [this.accounts.clearing, payment.account];
    const { amountMinor } = payment;
    const description = 'Incoming payment';
    const posting = { type: 'CREDIT_TRANSFER' as const, from, to, amountMinor, description, payment };
    payment.transactionId = this.ledger.post(posting, atMs).id;
    this.processing.announce(payment, 'payment_transaction.settled', atMs);
    return payment;
  }

  private blockAccount(accountId: string, blocked: boolean, atMs: number): AccountRecord {
    const account = this.accounts.account(accountId);
    if (account.status === 'CLOSED') throw conflict('ACCOUNT_CLOSED', 'the account is closed for good');
    account.status = blocked ? 'SUSPENDED' : 'OPENED';
    const { identityId } = this.accounts.user(account.userId);
    const event = blocked ? 'account.status.blocked' : 'account.status.unblocked';
    const data = { accountNumber: account.id, ownerIdentityId: identityId };
    this.outbox.emit(event, { identityId, entityId: account.id }, data, atMs);
    return account;
  }

  /** Its accounts keep their own status, and show it again when the identity is unblocked. */
  private blockIdentity(identityId: number, blocked: boolean, atMs: number): void {
    const user = this.accounts.identity(identityId);
    if (user.status === 'CLOSED') throw conflict('IDENTITY_CLOSED', 'the identity is closed for good');
    user.status = blocked ? 'BLOCKED' : 'OPENED';
    const event = blocked ? 'identity.blocked' : 'identity.unblocked';
    this.outbox.emit(event, { identityId, entityId: String(identityId) }, { identityId }, atMs);
  }

  private addUser(user: Omit<SeedUser, 'account'>): void {
    const { userId, identityId, holderName, kyc } = user;
    this.accounts.users.set(userId, { userId, identityId, holderName, kyc, status: 'OPENED' });
  }

  private plant(seed: Seed, atMs: number): void {
    this.accounts.seed = seed;
    const productId = Number(seed.products[0]?.id);
    for (const { account, ...user } of seed.users) {
      this.addUser(user);
      if (!account) continue;
      const from = this.accounts.clearing;
      const to = this.accounts.keep(
        emptyAccount(account.accountId, user.userId, productId, account.iban, atMs),
      );
      const amountMinor = BigInt(account.balanceMinor);
      const description = 'Opening balance';
      this.ledger.post({ type: 'DISTRIBUTOR_POSTING', from, to, amountMinor, description }, atMs);
    }
  }
}
