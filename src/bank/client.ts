import type { ConnectionOptions } from 'node:tls';
import { Accounts } from './accounts';
import { AmountCodec, type AmountUnit } from './amount-codec';
import { CustomerInstructions } from './customer-instructions';
import { Hooks } from './hooks';
import { BankHttp, DEFAULT_HTTP_LIMITS, type HttpLimits } from './http';
import type { ListHabits } from './paging';
import { PaymentInstructions } from './payment-instructions';
import { PaymentTransactions } from './payment-transactions';
import { Products } from './products';
import { type BankClock, MinuteBudget, type RateBudget, SYSTEM_CLOCK } from './rate-budget';
import { BankSession, type Turn } from './session';
import { type ClientCredentials, ClientCredentialsToken, StaticToken, type TokenSource } from './token';
import { Transactions } from './transactions';
import { Users } from './users';

/** What each list was seen to do; empty at first, filled while reading, worth persisting. */
export interface BankHabits {
  products: ListHabits;
  accounts: ListHabits;
  paymentTransactions: ListHabits;
  instructionPaymentTransactions: ListHabits;
}

export interface BankClientOptions {
  /** `{base_url}` of the interface document. */
  baseUrl: string;
  /** A static access token, or where to get one. */
  token: string | ClientCredentials;
  /** What `Amount.value` counts: cents or euro. Not shown by the document, so there is no default. */
  amountUnit: AmountUnit;
  /** Time-outs, body cap and sockets, where they differ from {@link DEFAULT_HTTP_LIMITS}. */
  limits?: Partial<HttpLimits>;
  tls?: ConnectionOptions;
  requestsPerMinute?: number;
  /** Replaces the in-process budget of `requestsPerMinute` by one that all replicas share. */
  budget?: RateBudget;
  habits?: Partial<BankHabits>;
  clock?: BankClock;
}

/**
 * The bank's interface, typed: ids are strings, amounts the decimal text received. Reads throw
 * `BankClientError`s; calls that change something answer with an `Outcome` and are sent once.
 */
export class BankClient {
  /** Turns the bank's amounts into minor units and back. */
  readonly amounts: AmountCodec;
  readonly products: Products;
  readonly accounts: Accounts;
  readonly users: Users;
  readonly transactions: Transactions;
  readonly paymentTransactions: PaymentTransactions;
  readonly customerInstructions: CustomerInstructions;
  readonly paymentInstructions: PaymentInstructions;
  readonly hooks: Hooks;
  readonly habits: Readonly<BankHabits>;
  private readonly http: BankHttp;
  private readonly session: BankSession;

  constructor(options: BankClientOptions) {
    const clock = options.clock ?? SYSTEM_CLOCK;
    this.http = new BankHttp({ ...DEFAULT_HTTP_LIMITS, ...options.limits }, options.tls);
    this.amounts = new AmountCodec(options.amountUnit);
    const budget = options.budget ?? new MinuteBudget(options.requestsPerMinute, clock);
    const token = tokenSourceOf(options, this.http, clock, budget);
    const session = new BankSession({ baseUrl: options.baseUrl, http: this.http, token, budget, clock });
    this.session = session;
    this.habits = {
      products: {},
      accounts: {},
      paymentTransactions: {},
      instructionPaymentTransactions: {},
      ...options.habits,
    };
    this.products = new Products(session, this.habits.products);
    this.accounts = new Accounts(session, this.habits.accounts);
    this.users = new Users(session);
    this.transactions = new Transactions(session);
    this.paymentTransactions = new PaymentTransactions(session, this.habits.paymentTransactions);
    this.customerInstructions = new CustomerInstructions(session, this.habits.instructionPaymentTransactions);
    this.paymentInstructions = new PaymentInstructions(session);
    this.hooks = new Hooks(session);
  }

  /**
   * Waits for the turn of a call that may not wait once it is written down, two minutes at most; it is good for a second.
   * @throws RateLimited, TokenUnavailable
   */
  turn(): Promise<Turn> {
    return this.session.turn();
  }

  /**
   * As `turn`, for a call that rests on a read right before it, which leaves by the turn it is given. None of the call where
   * the read took longer than it is kept.
   * @throws RateLimited, TokenUnavailable, and whatever the read throws
   */
  turnAfter<T>(read: (turn: Turn) => Promise<T>): Promise<{ turn?: Turn; answer: T }> {
    return this.session.turnAfter(read);
  }

  /** Closes idle connections. */
  close(): void {
    this.http.close();
  }
}

/** Requests for a token at the bank's own address count like any other; another host has limits of its own. */
function tokenSourceOf(
  { token, baseUrl }: BankClientOptions,
  http: BankHttp,
  clock: BankClock,
  budget: RateBudget,
): TokenSource {
  if (typeof token === 'string') return new StaticToken(token);
  const isTheBanks = new URL(token.tokenUrl).origin === new URL(baseUrl).origin;
  return new ClientCredentialsToken(http, token, clock, isTheBanks ? budget : undefined);
}
