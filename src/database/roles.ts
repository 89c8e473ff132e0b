import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Client, ClientBase, Pool } from 'pg';

const pbkdf2Async = promisify(pbkdf2);

/** Owns the database and every object of its schema; migrations run as it. */
export const OWNER_ROLE = 'payrun_owner';
/** The service connects as it; it owns nothing and row-level security applies to it. */
export const APP_ROLE = 'payrun_app';
/** A narrow role nobody connects as: the service takes it on for a transaction to claim work of every employer. */
export const WORKER_ROLE = 'payrun_worker';

/** Any number, the same in every replica: it makes the set-ups of one cluster take turns. */
const SETUP_LOCK = 7_294_610_001;
/** A set-up takes milliseconds, or seconds when it copies a template; then somebody must look. */
const LOCK_TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** PostgreSQL's own default (scram_iterations). */
const SCRAM_ITERATIONS = 4096;
/** Since this version a grant says for itself whether it is inherited. */
const GRANT_OPTIONS_VERSION = 160_000;

/** What `initRoles` sets up. */
export interface RoleSetup {
  readonly database: string;
  readonly ownerPassword: string;
  readonly appPassword: string;
  /** A database to copy, for tests that need many; nobody may be connected to it. */
  readonly template?: string;
}

/** The connected role could pass by the protections of the database. */
export class UnsafeRole extends Error {}

/** The database is one that cannot keep what the service is given. */
export class UnfitDatabase extends Error {}

/** The same server and user as in `url`, another database. */
export function urlOfDatabase(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${encodeURI(database)}`;
  return other.href;
}

/**
 * The database a connection's URL names, as the driver reads it: what stands for itself in a URL, such as a plus, it does
 * not decode. @throws URIError
 */
export function databaseOf(url: URL): string {
  return decodeURI(url.pathname.slice(1));
}

/**
 * Makes the three roles, the database and its grants, or corrects what is there. Roles belong to the cluster, so
 * set-ups of several databases at once take turns under an advisory lock. May be repeated; sets the passwords anew.
 * @param superuserUrl a superuser's connection to any existing database, the same one for all who set up.
 * @throws UnfitDatabase where the database exists in another encoding than UTF8
 */
export async function initRoles(superuserUrl: string, setup: RoleSetup): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query('SELECT pg_advisory_lock($1)', [SETUP_LOCK]);
    // First of all: what is refused changes no password of a service that runs.
    const exists = await isThereAndFit(client, setup);
    await ensureRoles(client, setup);
    await ensureDatabase(client, setup, exists);
    await withClient(urlOfDatabase(superuserUrl, setup.database), (inside) => grantSchema(inside));
  });
}

/**
 * Makes sure the connected role is held by the database's protections.
 * @throws UnsafeRole when it is, or may become, a superuser, a role that bypasses row-level security, one that makes
 * roles, or the owner of a table.
 */
export async function assertSafeRole(client: ClientBase | Pool): Promise<void> {
  const powers = await client.query<{ rolname: string }>(`
    SELECT rolname FROM pg_roles
     WHERE (rolsuper OR rolbypassrls OR rolcreaterole) AND pg_has_role(session_user, oid, 'MEMBER')`);
  if (powers.rows.length > 0)
    throw new UnsafeRole(refusal('is a superuser, bypasses row-level security or makes roles'));
  const owned = await client.query<{ name: string }>(`
    SELECT c.oid::regclass::text AS name
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relpersistence <> 't'
       AND n.nspname NOT IN ('pg_catalog', 'information_schema')
       AND pg_has_role(session_user, c.relowner, 'MEMBER')
     LIMIT 1`);
  const table = owned.rows[0]?.name;
  if (table !== undefined)
    throw new UnsafeRole(refusal(`owns the table ${table}, and so could lift its protection`));
}

function refusal(reason: string): string {
  return `The service does not start: the role in DATABASE_URL ${reason}. Use ${APP_ROLE}, made by db:init.`;
}

async function ensureRoles(client: Client, setup: RoleSetup): Promise<void> {
  await ensureRole(client, OWNER_ROLE, 'LOGIN', setup.ownerPassword);
  await ensureRole(client, APP_ROLE, 'LOGIN NOINHERIT', setup.appPassword);
  await ensureRole(client, WORKER_ROLE, 'NOLOGIN');
  const { rows } = await client.query<{ version: number }>(
    `SELECT current_setting('server_version_num')::int AS version`,
  );
  const options = (rows[0]?.version ?? 0) >= GRANT_OPTIONS_VERSION ? ' WITH INHERIT FALSE, SET TRUE' : '';
  await client.query(`GRANT ${WORKER_ROLE} TO ${APP_ROLE}${options}`);
}

async function ensureRole(client: Client, name: string, login: string, password?: string): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [name]);
  const verb = rowCount === 0 ? 'CREATE' : 'ALTER';
  // The verifier, never the password: a statement can end in a server's log.
  const secret = password === undefined ? '' : ` PASSWORD '${await scramVerifier(password)}'`;
  await client.query(
    `${verb} ROLE ${name} ${login} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS${secret}`,
  );
}

/** Whether the database exists. @throws UnfitDatabase */
async function isThereAndFit(client: Client, setup: RoleSetup): Promise<boolean> {
  const { rows } = await client.query<{ encoding: string }>(
    'SELECT pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE datname = $1',
    [setup.database],
  );
  const encoding = rows[0]?.encoding;
  if (encoding !== undefined && encoding !== 'UTF8')
    throw new UnfitDatabase(
      `The database ${setup.database} has the encoding ${encoding}, in which not every name can be kept. Create one with ENCODING 'UTF8', or name one that does not exist yet.`,
    );
  return encoding !== undefined;
}

async function ensureDatabase(client: Client, setup: RoleSetup, exists: boolean): Promise<void> {
  const name = client.escapeIdentifier(setup.database);
  if (!exists) {
    const source =
      setup.template === undefined ? `template0 ENCODING 'UTF8'` : client.escapeIdentifier(setup.template);
    await client.query(`CREATE DATABASE ${name} OWNER ${OWNER_ROLE} TEMPLATE ${source}`);
  }
  await client.query(`ALTER DATABASE ${name} OWNER TO ${OWNER_ROLE}`);
  await client.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`);
  // TEMPORARY: rows come in by COPY through a temporary table.
  await client.query(`GRANT CONNECT, TEMPORARY ON DATABASE ${name} TO ${APP_ROLE}`);
}

async function grantSchema(client: Client): Promise<void> {
  await client.query(`REVOKE ALL ON SCHEMA public FROM PUBLIC`);
  await client.query(`GRANT USAGE, CREATE ON SCHEMA public TO ${OWNER_ROLE}`);
  await client.query(`GRANT USAGE ON SCHEMA public TO ${APP_ROLE}, ${WORKER_ROLE}`);
}

/** What PostgreSQL stores for a SCRAM-SHA-256 password (RFC 5803). */
async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(16);
  const salted = await pbkdf2Async(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
