import { runMigrations } from '../../src/database/migrate';
import { startTemporaryServer } from '../../src/database/temporary-server';
import { buildWithCrashPoints } from '../../test/support/crash-build';
import { SERVER_ENV } from '../../test/support/database';

/** Starts the one PostgreSQL of a proof and makes the build that keeps its crash points. */
export async function startServer(): Promise<{ stop(): Promise<void> }> {
  buildWithCrashPoints();
  const server = await startTemporaryServer();
  await runMigrations(server.databaseAdminUrl);
  process.env[SERVER_ENV.superuserUrl] = server.superuserUrl;
  process.env[SERVER_ENV.appUrl] = server.databaseUrl;
  process.env[SERVER_ENV.ownerUrl] = server.databaseAdminUrl;
  return server;
}
