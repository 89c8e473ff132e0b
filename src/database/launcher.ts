import { join } from 'node:path';
import { createCluster, majorOf, readCredentials, SUPERUSER } from './cluster';
import {
  BinarySources,
  defaultSources,
  findBinaries,
  NoPostgres,
  PostgresBinaries,
} from './embedded-binaries';
import { startServer, stopServer } from './postmaster';
import { APP_ROLE, initRoles, OWNER_ROLE } from './roles';
import { findServer, placeServer, ServerDirectory, sharedDirectories } from './server-directory';

/** Name of the database on a server of ours. */
const DATABASE = 'payrun';

/** The options of `resolveDatabase` and `stopDatabase`. */
export interface LaunchOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Where to keep a server of our own; see `defaultDataDirectory`. */
  readonly dataDirectory: string;
  /** Receives lines for the person at the terminal; no password is in them. */
  readonly log: (line: string) => void;
  /** Where to look for PostgreSQL; the default looks at the embedded package, the PATH and the usual places. */
  readonly sources?: BinarySources;
  /** False gives up crash safety for speed (tests only); default true. */
  readonly durable?: boolean;
}

/** The database to use. */
export interface ResolvedDatabase {
  /** Connection of the application's role. */
  readonly databaseUrl: string;
  /** Connection of the owner, for migrations; undefined when only DATABASE_URL is given. */
  readonly databaseAdminUrl: string | undefined;
  readonly origin: 'DATABASE_URL' | 'embedded' | 'system';
  /** One line for people: which database this is; without a password. */
  readonly describe: string;
  /** Whether this call started the server. */
  readonly started: boolean;
  /** Stops the server if this call started it, and nothing else; may be called again. */
  stop(): Promise<void>;
}

/** A server of our own is kept in `.payrun/postgres` of the checkout. */
export function defaultDataDirectory(checkout: string): string {
  return join(checkout, '.payrun', 'postgres');
}

/**
 * Finds the database: the one of DATABASE_URL (with DATABASE_ADMIN_URL for migrations), else a server of our own,
 * run by the embedded PostgreSQL or the system's, started here unless it runs already, with its roles and database.
 * @throws Error telling what to do when there is no PostgreSQL, no place for its data, or it does not start.
 */
export async function resolveDatabase(options: LaunchOptions): Promise<ResolvedDatabase> {
  const given = options.env['DATABASE_URL'];
  return given === undefined || given === '' ? launch(options) : givenDatabase(given, options.env);
}

/**
 * Stops whatever server of ours runs for this data directory, whoever started it.
 * @returns false when none was running.
 */
export async function stopDatabase(
  options: Pick<LaunchOptions, 'dataDirectory' | 'sources'>,
): Promise<boolean> {
  const server = await findServer(
    options.dataDirectory,
    options.sources?.sharedDirectories ?? sharedDirectories(),
  );
  return server !== undefined && (await stopServer(server));
}

/** A server of our own that runs, with its roles and database made. */
export interface OwnServer {
  readonly binaries: PostgresBinaries;
  readonly port: number;
  readonly started: boolean;
  /** Connections to the database as the bootstrap superuser, the owner and the application. */
  readonly superuserUrl: string;
  readonly databaseAdminUrl: string;
  readonly databaseUrl: string;
}

/** Makes the cluster if there is none, starts its server unless it runs, and sets up roles and database. */
export async function launchServer(
  server: ServerDirectory,
  sources: BinarySources,
  durable: boolean,
): Promise<OwnServer> {
  const major = await majorOf(server);
  const binaries = await binariesFor(server, sources, major);
  if (major === undefined) await createCluster(server, binaries, durable);
  const secrets = await readCredentials(server);
  const { port, started } = await startServer(server, binaries, secrets.superuserPassword, durable);
  const superuserUrl = urlOf(port, SUPERUSER, secrets.superuserPassword, 'postgres');
  try {
    const { ownerPassword, appPassword } = secrets;
    await initRoles(superuserUrl, { database: DATABASE, ownerPassword, appPassword });
  } catch (error) {
    if (started) await stopServer(server);
    throw error;
  }
  return {
    binaries,
    port,
    started,
    superuserUrl,
    databaseAdminUrl: urlOf(port, OWNER_ROLE, secrets.ownerPassword, DATABASE),
    databaseUrl: urlOf(port, APP_ROLE, secrets.appPassword, DATABASE),
  };
}

async function launch(options: LaunchOptions): Promise<ResolvedDatabase> {
  const sources = options.sources ?? (await defaultSources(options.env));
  const server = await placeServer(options.dataDirectory, sources.sharedDirectories);
  const { binaries, port, started, databaseUrl, databaseAdminUrl } = await launchServer(
    server,
    sources,
    options.durable ?? true,
  );
  const describe = `PostgreSQL ${binaries.version} (${binaries.origin}) on 127.0.0.1:${port}, data in ${server.path}`;
  options.log(`${started ? 'Started' : 'Using the running'} ${describe}`);
  let toStop = started;
  return {
    databaseUrl,
    databaseAdminUrl,
    origin: binaries.origin,
    describe,
    started,
    stop: async () => {
      if (toStop) await stopServer(server);
      toStop = false;
    },
  };
}

async function binariesFor(
  server: ServerDirectory,
  sources: BinarySources,
  major: number | undefined,
): Promise<PostgresBinaries> {
  try {
    return await findBinaries(sources, server.account, major);
  } catch (error) {
    if (major === undefined || !(error instanceof NoPostgres)) throw error;
    throw new NoPostgres(
      `The data in ${server.path} was made by PostgreSQL ${major}, which only that version can read. ` +
        `${error.message} To begin with an empty database instead, move that directory away.`,
    );
  }
}

function givenDatabase(databaseUrl: string, env: NodeJS.ProcessEnv): ResolvedDatabase {
  const admin = env['DATABASE_ADMIN_URL'];
  return {
    databaseUrl,
    databaseAdminUrl: admin === '' ? undefined : admin,
    origin: 'DATABASE_URL',
    describe: `the database of DATABASE_URL (${placeOf(databaseUrl)})`,
    started: false,
    stop: () => Promise.resolve(),
  };
}

/** Host, port and database of a URL: what may be shown of it. */
function placeOf(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host || 'local socket'}${pathname}`;
  } catch {
    return 'not a URL';
  }
}

function urlOf(port: number, role: string, password: string, database: string): string {
  return `postgresql://${role}:${password}@127.0.0.1:${port}/${database}`;
}
