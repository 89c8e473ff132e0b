import { rmSync } from 'node:fs';
import { SCOPES } from '../bank/types';
import { AmountCodec } from './amounts';
import { BankClock, requireTimeZone } from './clock';
import { Faults } from './faults';
import type { Route } from './http/exchange';
import { Links } from './http/links';
import { RateLimit } from './http/rate-limit';
import { Requests } from './http/requests';
import { BankServer } from './http/server';
import { type Client, type StaticToken, Tokens } from './http/tokens';
import { withUnknownFields } from './http/unknown-fields';
import { Views } from './http/views';
import { creditTransferRoutes } from './routes/credit-transfers';
import { linkedRoutes } from './routes/linked-paths';
import { productAndAccountRoutes } from './routes/products-and-accounts';
import { sandboxRoutes } from './routes/sandbox-controls';
import { tokenRoutes } from './routes/token';
import { transactionRoutes } from './routes/transactions';
import { webhookRoutes } from './routes/webhook-management';
import { DEFAULT_SEED, type Seed } from './seed';
import { Bank } from './state/bank';
import { Journal } from './state/journal';
import { StateFileLock } from './state/state-file-lock';
import { Ticker } from './ticker';
import { completeVariants, type Variants } from './variants';
import { Deliveries } from './webhooks/delivery';

/** How a sandbox bank is started; everything has a default. */
export interface SandboxOptions {
  /** 0, the default, takes a free port. */
  port?: number;
  /** Loopback unless said otherwise: the controls need no token. */
  host?: string;
  tokens?: readonly StaticToken[];
  clients?: readonly Client[];
  webhookSecret?: string;
  variants?: Partial<Variants>;
  /** Time between two statuses of a payment, on the bank's clock; 0 takes all steps at once. */
  stepMs?: number;
  /** Where the state survives a stop or a kill. */
  stateFile?: string;
  /** Throws away what the state file holds, and begins from the seed. */
  fresh?: boolean;
  /** The bank's time at the start of a fresh state; the machine's by default. */
  nowMs?: number;
  /** The zone of the bank's calendar dates. */
  timeZone?: string;
  seed?: Seed;
}

export interface Sandbox {
  /** `{base_url}` of the interface document. */
  url: string;
  close(): Promise<void>;
}

export const DEFAULT_TOKEN = 'sandbox-token';
export const DEFAULT_CLIENT = { id: 'sandbox-client', secret: 'sandbox-client-secret' } as const;
export const DEFAULT_WEBHOOK_SECRET = 'sandbox-signing-secret';
const DEFAULT_STEP_MS = 200;
const DEFAULT_TIME_ZONE = 'UTC';

/**
 * Starts a bank in this process. Rejects when a variant is not lawful, the time zone is none, the port is taken, or the
 * state file is in use or cannot be read.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  requireTimeZone(options.timeZone ?? DEFAULT_TIME_ZONE, 'timeZone');
  const lock = options.stateFile ? StateFileLock.take(options.stateFile) : undefined;
  try {
    const sandbox = await startUnlocked(options);
    return { url: sandbox.url, close: () => sandbox.close().finally(() => lock?.release()) };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

async function startUnlocked(options: SandboxOptions): Promise<Sandbox> {
  const bank = new Bank(new BankClock(() => Date.now()));
  const { variants, clock } = bank;
  const journal = remember(bank, options);

  const faults = new Faults();
  const tokens = new Tokens(
    options.tokens ?? [{ token: DEFAULT_TOKEN, scopes: SCOPES }],
    options.clients ?? [{ ...DEFAULT_CLIENT, scopes: SCOPES }],
    clock,
    variants,
  );
  const deliveries = new Deliveries(bank, options.webhookSecret ?? DEFAULT_WEBHOOK_SECRET, faults);
  const ticker = new Ticker(bank, () => deliveries.wake());
  const wake = (): void => {
    ticker.wake();
    deliveries.wake();
  };

  const links = new Links();
  const routes: Route[] = [];
  const server = new BankServer(
    routes,
    { tokens, faults, variants, rateLimit: new RateLimit(variants, clock) },
    wake,
  );
  const sandbox = { faults, ticker, calls: () => callsOf(server, routes) };
  routes.push(...allRoutes(bank, links, variants, tokens, sandbox));

  const url = await server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  links.baseUrl = url;
  wake();
  return {
    url,
    close: async () => {
      ticker.stop();
      deliveries.stop();
      await server.close();
      journal?.close();
    },
  };
}

/** How often each operation was called, those that never were included. */
function callsOf({ calls }: BankServer, routes: readonly Route[]): Record<string, number> {
  const names = routes.map(({ operation }) => operation).filter((operation) => operation !== 'sandbox');
  return Object.fromEntries(names.map((name) => [name, calls[name] ?? 0]));
}

/** Brings back what the state file holds, or plants the seed. */
function remember(bank: Bank, options: SandboxOptions): Journal | undefined {
  const configuration = {
    variants: completeVariants(options.variants),
    stepMs: options.stepMs ?? DEFAULT_STEP_MS,
    timeZone: options.timeZone ?? DEFAULT_TIME_ZONE,
  };
  if (options.fresh && options.stateFile) rmSync(options.stateFile, { force: true });
  let isFresh = true;
  const journal = options.stateFile
    ? Journal.open(options.stateFile, (line) => {
        isFresh = false;
        bank.replay(line);
      })
    : undefined;
  if (journal) bank.recordIn(journal);
  if (isFresh && options.nowMs !== undefined) {
    const offsetMs = bank.clock.offsetTo(options.nowMs);
    // Before its first look at the clock: a bank that has seen today cannot start yesterday.
    bank.clock.setOffset(offsetMs);
    bank.execute('moveClock', { offsetMs });
  }
  bank.execute('configure', configuration);
  if (isFresh) bank.execute('seed', options.seed ?? DEFAULT_SEED);
  return journal;
}

/** Routes in the document's order, the sandbox's own last. */
function allRoutes(
  bank: Bank,
  links: Links,
  variants: Variants,
  tokens: Tokens,
  sandbox: Parameters<typeof sandboxRoutes>[1],
): Route[] {
  const codec = new AmountCodec(variants);
  const requests = new Requests(codec);
  const views = new Views(bank.accounts, codec, links, variants);
  const context = { bank, requests, views, codec, variants };
  const documented = [
    ...productAndAccountRoutes(context),
    ...transactionRoutes(context),
    ...creditTransferRoutes(context),
    ...linkedRoutes(context),
    ...webhookRoutes(context),
  ];
  return [
    ...(variants.unknownFields ? documented.map(withUnknownFields) : documented),
    ...tokenRoutes(tokens, variants),
    ...sandboxRoutes(context, sandbox),
  ];
}
