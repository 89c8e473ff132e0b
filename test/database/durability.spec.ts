import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { tellUnlessDurable } from '../../src/database/durability';
import { settleSession } from '../../src/database/session';
import { execute, TestDatabase, testDatabase } from '../support/database';
import { DatabaseProxy } from '../support/database-proxy';

let server: TestDatabase;

beforeAll(async () => {
  server = await testDatabase();
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => server.drop());

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** What a transaction of the service has for a setting, where the service's role is set to `chosen`. */
async function hasWhereRoleHas(setting: string, chosen: string): Promise<string | undefined> {
  const name = new URL(server.url).pathname.slice(1);
  await execute(server.superuserUrl, `ALTER ROLE payrun_app IN DATABASE ${name} SET ${setting} = ${chosen}`);
  const source = await openDataSource(dataSourceOptions(server.url, [], 2));
  try {
    const [row] = await new Database(source).asWorker((tx) =>
      tx.query<{ now: string }>(`SELECT current_setting('${setting}') AS now`),
    );
    return row?.now;
  } finally {
    await source.destroy();
  }
}

describe('a transaction of the service', () => {
  it.each([
    ['off', 'on'],
    ['local', 'on'],
    ['on', 'on'],
    ['remote_write', 'remote_write'],
    ['remote_apply', 'remote_apply'],
  ])('whose role was set to commit with "%s" commits with "%s"', async (chosen, used) => {
    expect(await hasWhereRoleHas('synchronous_commit', chosen)).toBe(used);
  });

  it.each([
    ['jit', 'on', 'off'],
    ['default_transaction_isolation', 'serializable', 'read committed'],
    ['TimeZone', 'America/St_Johns', 'UTC'],
    ['DateStyle', 'SQL, DMY', 'ISO, YMD'],
    ['IntervalStyle', 'iso_8601', 'postgres'],
    ['bytea_output', 'escape', 'hex'],
    ['client_min_messages', 'error', 'warning'],
  ])('whose role was set to %s "%s" has "%s"', async (setting, chosen, used) => {
    expect(await hasWhereRoleHas(setting, `'${chosen}'`)).toBe(used);
  });
});

it('a server that falls silent behind the connect is not waited for for ever', async () => {
  const proxy = await DatabaseProxy.start(server.url);
  const client = await connected(proxy.through(server.url));
  proxy.hush();
  await expect(settleSession(client, 200)).rejects.toThrow('no answer in 200 ms');
  await proxy.restore();
  await proxy.stop();
});

describe('at the start', () => {
  const warningsWith = async (fsync: string) => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const query = async () => ({ rows: [{ fsync }] });
    await tellUnlessDurable({ query } as unknown as Client);
    return warned.mock.calls.length;
  };

  it('it is told that the server does not wait for its disk, and only then', async () => {
    expect([await warningsWith('on')]).toEqual([0]);
    expect([await warningsWith('off')]).toEqual([1]);
  });

  it('the server of these tests is such a one', async () => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const client = await connected(server.url);
    await tellUnlessDurable(client);
    await client.end();
    expect(warned.mock.calls).toEqual([[expect.stringContaining('fsync = off')]]);
  });
});
