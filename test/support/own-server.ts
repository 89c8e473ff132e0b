import { stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultSources } from '../../src/database/embedded-binaries';
import { launchServer } from '../../src/database/launcher';
import { runMigrations } from '../../src/database/migrate';
import { stopServer } from '../../src/database/postmaster';
import { urlOfDatabase } from '../../src/database/roles';
import { ownUser } from '../../src/database/server-account';
import { ServerDirectory } from '../../src/database/server-directory';
import { startTemporaryServer } from '../../src/database/temporary-server';
import { select, TestDatabase } from './database';
import { freePort } from './payroll';

/** A migrated database on a server of its own, which can be restarted: nothing it committed is lost by that. */
export interface OwnServer extends TestDatabase {
  /** Stops the server as an administrator does, and starts it on the same data. */
  restart(): Promise<void>;
}

export async function startOwnServer(): Promise<OwnServer> {
  const temporary = await startTemporaryServer({ durable: true });
  const directory = await directoryOf(temporary.superuserUrl);
  const sources = await defaultSources(process.env);
  // While it is away nobody is given its port.
  await stopServer(directory);
  await writeFile(join(directory.path, 'port'), String(await freePort()));
  const server = await launchServer(directory, sources, true);
  await runMigrations(server.databaseAdminUrl);
  return {
    url: server.databaseUrl,
    adminUrl: server.databaseAdminUrl,
    superuserUrl: urlOfDatabase(server.superuserUrl, new URL(server.databaseUrl).pathname.slice(1)),
    drop: () => temporary.stop(),
    restart: async () => {
      if (!(await stopServer(directory))) throw new Error('no server was running');
      await sleep(200);
      const { databaseUrl } = await launchServer(directory, sources, true);
      if (databaseUrl !== server.databaseUrl) throw new Error('the server is somewhere else now');
    },
  };
}

async function directoryOf(superuserUrl: string): Promise<ServerDirectory> {
  const [row] = await select<{ data_directory: string }>(superuserUrl, 'SHOW data_directory');
  const cluster = row!.data_directory;
  const { uid, gid } = await stat(cluster);
  return { path: dirname(cluster), account: uid === ownUser().uid ? undefined : { uid, gid } };
}
