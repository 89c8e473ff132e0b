import { defaultDataDirectory, resolveDatabase, ResolvedDatabase, stopDatabase } from '../database/launcher';
import * as migrations from '../database/migrate';
import { APP_ROLE, databaseOf, initRoles, OWNER_ROLE } from '../database/roles';

/** Where a command runs: environment, checkout and terminal. */
export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly checkout: string;
  readonly print: (line: string) => void;
}

/** A command cannot be carried out as things are; its message is for the person at the terminal. */
export class CommandRefused extends Error {}

/**
 * `db:init`: makes roles and database. On a server of our own there is nothing to give; elsewhere they are made as
 * DATABASE_SUPERUSER_URL, with the database and passwords of DATABASE_URL and DATABASE_ADMIN_URL.
 */
export async function dbInit(context: CommandContext): Promise<void> {
  const {
    DATABASE_URL: url,
    DATABASE_ADMIN_URL: adminUrl,
    DATABASE_SUPERUSER_URL: superuserUrl,
  } = context.env;
  if (!url) return onDatabase(context, () => Promise.resolve(context.print('Roles and database are there.')));
  if (!adminUrl || !superuserUrl) {
    throw new CommandRefused(
      'With DATABASE_URL, db:init needs DATABASE_ADMIN_URL and DATABASE_SUPERUSER_URL as well.',
    );
  }
  const app = credentialsOf('DATABASE_URL', url, APP_ROLE);
  const owner = credentialsOf('DATABASE_ADMIN_URL', adminUrl, OWNER_ROLE);
  if (app.database !== owner.database) {
    throw new CommandRefused('DATABASE_URL and DATABASE_ADMIN_URL name different databases.');
  }
  await initRoles(superuserUrl, {
    database: app.database,
    appPassword: app.password,
    ownerPassword: owner.password,
  });
  context.print(`Roles and database ${app.database} are there.`);
}

/** `db:stop`: stops the server of our own that runs for this checkout, whoever started it. */
export async function dbStop(context: CommandContext): Promise<void> {
  const stopped = await stopDatabase({ dataDirectory: defaultDataDirectory(context.checkout) });
  context.print(stopped ? 'The database has stopped.' : 'No database of this checkout is running.');
}

/** `migrate`: runs the pending migrations. */
export function runMigrations(context: CommandContext): Promise<void> {
  return onDatabase(context, async (database) => {
    const names = await migrations.runMigrations(adminUrlOf(database));
    context.print(names.length === 0 ? 'No migration is pending.' : `Ran ${names.join(', ')}.`);
  });
}

/** `migrate --revert`: undoes the migration that ran last. */
export function revertMigration(context: CommandContext): Promise<void> {
  return onDatabase(context, async (database) => {
    const name = await migrations.revertMigration(adminUrlOf(database));
    context.print(name === undefined ? 'No migration has run.' : `Reverted ${name}.`);
  });
}

/** Runs `work` on the database of this checkout or of DATABASE_URL, and stops a server started for it. */
export async function onDatabase(
  context: CommandContext,
  work: (database: ResolvedDatabase) => Promise<void>,
): Promise<void> {
  const database = await resolveDatabase({
    env: context.env,
    dataDirectory: defaultDataDirectory(context.checkout),
    log: context.print,
  });
  try {
    await work(database);
  } finally {
    await database.stop();
  }
}

function adminUrlOf(database: ResolvedDatabase): string {
  if (database.databaseAdminUrl !== undefined) return database.databaseAdminUrl;
  throw new CommandRefused(
    `Migrations run as the owner: set DATABASE_ADMIN_URL (role ${OWNER_ROLE}) as well.`,
  );
}

function credentialsOf(setting: string, text: string, role: string): { database: string; password: string } {
  if (!URL.canParse(text)) throw new CommandRefused(`${setting} is not a URL.`);
  const url = new URL(text);
  if (!isDecodable(url.pathname) || !isDecodable(url.password))
    throw new CommandRefused(`${setting}: a % of a database's name or a password is written %25.`);
  const database = databaseOf(url);
  if (database !== decodeURIComponent(url.pathname.slice(1))) {
    throw new CommandRefused(
      `${setting}: a database's name has no ? or #, and its / ; : @ & = + $ , are written as they are, without a %.`,
    );
  }
  const password = decodeURIComponent(url.password);
  if (url.username !== role) throw new CommandRefused(`${setting} must name the role ${role}.`);
  if (database === '' || password === '')
    throw new CommandRefused(`${setting} needs a database and a password.`);
  return { database, password };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
