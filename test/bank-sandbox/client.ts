import { PATHS } from '../../src/bank/types';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/bank-sandbox/main';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';

export const ALDER = DEFAULT_SEED.users[0]!;
export const BIRCH = DEFAULT_SEED.users[1]!;
export const CEDAR = DEFAULT_SEED.users[2]!;
/** A payee at a real-looking bank elsewhere: the registry's own example. */
export const PAYEE = 'FR1420041010050500013M02606';

/** Whatever an answer holds; what a test expects of it is the check. */
export type Json = ReturnType<typeof JSON.parse>;

export interface Reply {
  status: number;
  body: Json;
  headers: Headers;
}

const open = new Set<Tester>();
afterAll(async () => {
  for (const tester of open) await tester.close();
});

/** A sandbox and the shortest ways to talk to it. */
export class Tester {
  constructor(
    readonly url: string,
    private readonly sandbox?: Sandbox,
    private readonly token = DEFAULT_TOKEN,
  ) {}

  static async start(options: SandboxOptions = {}): Promise<Tester> {
    const sandbox = await startSandbox({ stepMs: 0, ...options });
    const tester = new Tester(sandbox.url, sandbox);
    open.add(tester);
    return tester;
  }

  as(token: string): Tester {
    return new Tester(this.url, undefined, token);
  }

  close(): Promise<void> {
    open.delete(this);
    return this.sandbox ? this.sandbox.close() : Promise.resolve();
  }

  async call(method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await fetch(path.startsWith('http') ? path : this.url + path, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  get = (path: string) => this.call('GET', path);
  post = (path: string, body?: unknown) => this.call('POST', path, body);
  patch = (path: string, body?: unknown) => this.call('PATCH', path, body);
  delete = (path: string) => this.call('DELETE', path);

  async initiate(changes: Record<string, unknown> = {}, debtor = ALDER): Promise<Json> {
    return (await this.post(PATHS.initiate(), await this.initiation(changes, debtor))).body;
  }

  async initiation(changes: Record<string, unknown> = {}, debtor = ALDER) {
    return {
      customerInstructionInformation: {
        paymentInstrument: 'CreditTransfer',
        batchBooking: false,
        requestedExecutionDate: (await this.get('/sandbox/clock')).body.date,
        customerInstructionTypeInformation: { serviceLevel: 'BACI' },
        ...changes,
      },
      customerInstructionOrderingParties: {
        debtor: { name: debtor.holderName, accountId: { type: 'IBAN', value: debtor.account!.iban } },
      },
      externalData: { run: 'r1' },
    };
  }

  add(instructionId: number, payment: AdditionChanges = {}): Promise<Reply> {
    return this.post(PATHS.addPaymentTransaction(String(instructionId)), addition(payment));
  }

  submit(instructionId: number): Promise<Reply> {
    return this.post(PATHS.submit(String(instructionId)));
  }

  /** An instruction with these payments, submitted and processed as far as the clock lets it. */
  async pay(payments: AdditionChanges[], changes: Record<string, unknown> = {}, debtor = ALDER) {
    const { id } = await this.initiate(changes, debtor);
    const added: Json[] = [];
    for (const payment of payments) added.push((await this.add(id, payment)).body);
    const submitted = (await this.submit(id)).body;
    await this.advance(0);
    return { id: id as number, added, submitted };
  }

  async advance(advanceMs: number): Promise<void> {
    const { status } = await this.post('/sandbox/clock', { advanceMs });
    expect(status).toBe(200);
  }

  async payment(id: number): Promise<Json> {
    return (await this.get(PATHS.paymentTransaction(String(id)))).body;
  }

  async ledger(): Promise<Json> {
    return (await this.get('/sandbox/ledger')).body;
  }

  async account(accountId: string): Promise<Json> {
    return (await this.get(PATHS.account(accountId))).body;
  }

  async fault(script: Record<string, unknown>): Promise<void> {
    expect((await this.post('/sandbox/faults', script)).status).toBe(201);
  }
}

/** A payment that is fine but for what a test changes. */
export interface AdditionChanges {
  value?: number | string;
  iban?: string;
  messageId?: string;
  name?: string;
}

export function addition({
  value = 12345,
  iban = PAYEE,
  messageId = 'm-1',
  name = 'Élodie Martin',
}: AdditionChanges = {}) {
  return {
    paymentTransactionAmountInformation: {
      instructedAmount: { value, currency: 'EUR' },
      chargeBearer: 'SLEV',
    },
    paymentTransactionParties: { creditor: { name, accountId: { type: 'IBAN', value: iban } } },
    paymentTransactionDedicatedInformations: {
      remittanceInformation: { value: 'Salary January', type: 'UNSTRUCTURED' },
    },
    paymentTransactionInformation: {
      paymentTransactionIdentification: { messageId },
      transactionType: 'ACCOUNT_TO_EXTERNAL',
    },
    externalData: { row: 1.5 },
  };
}

export const statusesOf = (history: Json[]): string[] => history.map(({ status }) => status.value);
export const paymentIdOf = (payment: Json): number =>
  payment.paymentTransactionInformation.paymentTransactionIdentification.id;
export const paymentStatusOf = (payment: Json): string =>
  payment.paymentTransactionInternalInformation.status.value;
export const historyOf = (payment: Json): Json[] => payment.paymentTransactionInternalInformation.history;
