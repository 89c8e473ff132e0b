import { runMigrations } from '../../src/database/migrate';
import { startTemporaryServer, TemporaryServer } from '../../src/database/temporary-server';
import { SERVER_ENV } from './database';

declare global {
  var payrunTestServer: TemporaryServer | undefined;
}

/** Starts one throw-away server for the whole run and migrates the database that spec files copy. */
export default async function globalSetup(): Promise<void> {
  const server = await startTemporaryServer();
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
