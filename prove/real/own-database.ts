import { DatabaseProxy } from '../../test/support/database-proxy';
import { type OwnServer, startOwnServer } from '../../test/support/own-server';

/** A PostgreSQL of one stand alone, which can be restarted, and the network on the way to it. */
export interface OwnDatabase {
  server: OwnServer;
  proxy: DatabaseProxy;
}

export async function startOwnDatabase(): Promise<OwnDatabase> {
  const server = await startOwnServer();
  return { server, proxy: await DatabaseProxy.start(server.url) };
}
