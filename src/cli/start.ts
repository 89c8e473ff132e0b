import { join } from 'node:path';
import { Client } from 'pg';
import { Config, readConfig } from '../config/env';
import { runMigrations } from '../database/migrate';
import { CommandContext, CommandRefused } from './database';
import { guardedDatabase } from './guarded-database';
import { KeptFiles } from './kept-files';
import { portFor } from './ports';
import { Portal } from './portal';
import { COMPANY, ensureEmployer, ensureStaff } from './seed';
import { sandboxSettings, serviceSettings } from './start-settings';
import { announce, announceService } from './start-words';
import { Interrupted, onStage, Stage, startBank, startServiceProcess, Started } from './stage';

const SERVICE_PORT = 3000;
const BANK_PORT = 3001;
/** Any number, the same for every start of a checkout. */
const START_LOCK = 7_294_610_003;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Runs the service until a signal: with a database of its own unless DATABASE_URL names one, and with the sandbox
 * bank, an employer there and people with keys unless BANK_BASE_URL names a bank. What it started it stops.
 * @throws CommandRefused when this checkout runs already; ConfigurationError; Error when something ends unasked
 */
export async function start(context: CommandContext): Promise<void> {
  try {
    await onStage(async (stage) => {
      await run(stage, context);
      await stage.closing;
    });
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    context.print('Stopped.');
  }
}

async function run(stage: Stage, context: CommandContext): Promise<void> {
  const kept = new KeptFiles(join(context.checkout, '.payrun'));
  const database = await stage.own(guardedDatabase(context));
  const isOurs = database.origin !== 'DATABASE_URL';
  if (isOurs && database.databaseAdminUrl !== undefined) await runMigrations(database.databaseAdminUrl);
  const secrets = await kept.secrets();
  const base: NodeJS.ProcessEnv = {
    ...(isOurs ? { PAYRUN_HASH_KEY: secrets.hashKey } : {}),
    ...present(context.env),
    DATABASE_URL: database.databaseUrl,
  };
  if (base['BANK_BASE_URL'] !== undefined) {
    const config = readConfig(base);
    const { url } = await startIt(stage, base, config);
    return announceService(context.print, url, database.describe);
  }
  await stage.own(holdCheckout(database.databaseUrl));
  const ports = await choosePorts(kept, base);
  const sandbox = { ...secrets, stateFile: kept.bankState, port: ports.bank };
  const bank = await stage.own(startBank(sandboxSettings(base, sandbox)));
  const settings = serviceSettings(base, { ...secrets, port: ports.service, bankUrl: bank.url });
  const config = readConfig(settings);
  const { url } = await startIt(stage, settings, config);
  const keys = await ensureStaff(database.databaseUrl, url, await kept.keys());
  await kept.keepKeys(keys);
  const employer = await ensureEmployer(url, keys, await new Portal(bank.url).accountOf(COMPANY));
  announce(context.print, { url, config, bankUrl: bank.url, database: database.describe, keys, employer });
}

/** An empty setting is an absent one. */
function present(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

function startIt(stage: Stage, settings: NodeJS.ProcessEnv, config: Config) {
  // The log goes where errors go: what this command has to say stays readable, and can be told apart.
  const log = (line: string) => void process.stderr.write(`${line}\n`);
  const quiet = settings['LOG_LEVEL'] ? config.LOG_LEVEL : 'warn';
  return stage.own(startServiceProcess({ ...settings, LOG_LEVEL: quiet }, log));
}

/** Those asked for, else those of the last start, so that addresses written down stay good. */
async function choosePorts(
  kept: KeptFiles,
  env: NodeJS.ProcessEnv,
): Promise<{ service: number; bank: number }> {
  const last = await kept.ports();
  const ports = {
    service: await portFor('PORT', env, [last.service, SERVICE_PORT]),
    bank: await portFor('SANDBOX_PORT', env, [last.bank, BANK_PORT]),
  };
  await kept.keepPorts(ports);
  return ports;
}

/** Two sandboxes must not write into one state file: the database, which is one as well, tells who is first. */
async function holdCheckout(databaseUrl: string): Promise<Started> {
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [
    START_LOCK,
  ]);
  if (rows[0]?.held) return { stop: () => client.end() };
  await client.end();
  throw new CommandRefused('Payrun runs already with this database and a sandbox bank.');
}
