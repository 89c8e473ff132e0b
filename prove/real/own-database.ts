import type { Begun } from '../../test/support/begun';
import { DatabaseProxy } from '../../test/support/database-proxy';
import { type OwnServer, startOwnServer } from '../../test/support/own-server';

/** A PostgreSQL of one stand alone, which can be restarted, and the network on the way to it. */
export interface OwnDatabase {
  server: OwnServer;
  proxy: DatabaseProxy;
}

export async function startOwnDatabase(begun: Begun): Promise<OwnDatabase> {
  const server = await startOwnServer();
  begun(server.drop);
  const proxy = await DatabaseProxy.start(server.url);
  begun(() => proxy.stop());
  return { server, proxy };
}
