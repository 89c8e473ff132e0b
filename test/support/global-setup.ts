import { defaultSources } from '../../src/database/embedded-binaries';
import { runMigrations } from '../../src/database/migrate';
import { startTemporaryServer, TemporaryServer } from '../../src/database/temporary-server';
import { SERVER_ENV } from './database';

declare global {
  var payrunTestServer: TemporaryServer | undefined;
}

/**
 * Starts one throw-away server for the whole run and migrates the database that spec files copy. With
 * `TEST_POSTGRES=system` it is the machine's PostgreSQL, to see that an older one will do.
 */
export default async function globalSetup(): Promise<void> {
  const sources = await defaultSources(process.env);
  const system = process.env.TEST_POSTGRES === 'system';
  const server = await startTemporaryServer({
    sources: system ? { ...sources, embedded: undefined } : sources,
  });
  globalThis.payrunTestServer = server;
  try {
    await runMigrations(server.databaseAdminUrl);
  } catch (error) {
    await server.stop();
    throw error;
  }
  process.env[SERVER_ENV.superuserUrl] = server.superuserUrl;
  process.env[SERVER_ENV.appUrl] = server.databaseUrl;
  process.env[SERVER_ENV.ownerUrl] = server.databaseAdminUrl;
}
