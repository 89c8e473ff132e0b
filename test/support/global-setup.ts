import { randomInt } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { defaultSources } from '../../src/database/embedded-binaries';
import { runMigrations } from '../../src/database/migrate';
import { startTemporaryServer, TemporaryServer } from '../../src/database/temporary-server';
import { SERVER_ENV } from './database';
import { FLOW_BANK, lawfulBank } from './lawful-banks';

/** A file system in memory: a thousand files are made and removed for each database, which costs a disk's directory dear. */
const MEMORY = '/dev/shm';
/** The log's gigabyte, and the largest databases that are open at the same time. */
const ENOUGH_BYTES = 4e9;

declare global {
  var payrunTestServer: TemporaryServer | undefined;
}

/**
 * Starts one throw-away server for the whole run and migrates the database that spec files copy. With
 * `TEST_POSTGRES=system` it is the machine's PostgreSQL, to see that an older one will do.
 */
export default async function globalSetup(): Promise<void> {
  announceBank();
  const sources = await defaultSources(process.env);
  const system = process.env.TEST_POSTGRES === 'system';
  const memory = (await freeBytesOf(MEMORY)) < ENOUGH_BYTES ? [] : [MEMORY];
  const server = await startTemporaryServer({
    sources: {
      ...sources,
      embedded: system ? undefined : sources.embedded,
      sharedDirectories: [...sources.sharedDirectories, ...memory],
    },
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

/** Bytes that are free where files are kept in memory; 0 where there is no such place. */
async function freeBytesOf(directory: string): Promise<number> {
  const found = await statfs(directory).catch(() => undefined);
  return found === undefined ? 0 : found.bavail * found.bsize;
}

/** `random` becomes a bank with a seed, printed so that the same one can be asked for again. */
function announceBank(): void {
  if (process.env[FLOW_BANK] === 'random') process.env[FLOW_BANK] = `random-${randomInt(1_000_000)}`;
  const name = process.env[FLOW_BANK];
  if (name !== undefined)
    process.stdout.write(`\n${FLOW_BANK}=${name} ${JSON.stringify(lawfulBank(name))}\n`);
}
