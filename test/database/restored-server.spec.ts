import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { defaultSources } from '../../src/database/embedded-binaries';
import { launchServer, OwnServer } from '../../src/database/launcher';
import { runMigrations } from '../../src/database/migrate';
import { stopServer } from '../../src/database/postmaster';
import { RestoreGuard } from '../../src/database/restore-guard';
import { RestoreWitness } from '../../src/database/restore-witness';
import { ServerDirectory } from '../../src/database/server-directory';
import { runAs, serverAccount } from '../../src/database/server-account';
import { select } from '../support/database';

Logger.overrideLogger(false);

/** A server of the test's own, whose files are copied, put back and recovered. */
describe('a PostgreSQL server that is stopped and started', () => {
  let root: string;
  let server: ServerDirectory;
  let running: OwnServer;

  const launch = async () => {
    const sources = await defaultSources(process.env);
    running = await launchServer(server, sources, false);
  };
  const stop = () => stopServer(server);
  const clusterIn = (name: string) => join(server.path, name);
  const copied = async (from: string, to: string) => {
    const { ok, output } = await runAs(server.account, '/bin/cp', ['-a', clusterIn(from), clusterIn(to)], {
      cwd: server.path,
      timeoutMs: 60_000,
    });
    if (!ok) throw new Error(output);
  };
  const serviceStarts = async (): Promise<string[]> => {
    const source = await openDataSource(dataSourceOptions(running.databaseUrl, [], 2));
    try {
      const witness = new RestoreWitness({ RESTORE_WITNESS_FILE: join(root, 'witness.json') });
      const guard = new RestoreGuard(new Database(source), witness);
      await guard.check();
      await guard.keep(await new Database(source).outsideEmployers((tx) => guard.markWithin(tx)));
    } finally {
      await source.destroy();
    }
    const found = await select<{ what: string }>(running.databaseUrl, 'SELECT what FROM database_restore');
    return found.map(({ what }) => what);
  };

  /** Long enough in recovery for a launcher that does not wait for its end to be seen. */
  const recovered = async ({ hotStandby }: { hotStandby: 'on' | 'off' }) => {
    await stop();
    await writeFile(join(clusterIn('cluster'), 'recovery.signal'), '');
    const settings = `restore_command = 'sleep 0.5; false'\nhot_standby = ${hotStandby}\n`;
    await writeFile(join(clusterIn('cluster'), 'postgresql.auto.conf'), settings);
    await ownedBy(server);
    await launch();
  };

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'payrun-restored-'));
    const path = await mkdtemp(join(tmpdir(), 'payrun-restored-server-'));
    const account = await serverAccount(path);
    server = { path, account };
    await ownedBy(server);
    await launch();
    await runMigrations(running.databaseAdminUrl);
  });
  afterAll(async () => {
    await stop();
    for (const path of [root, server.path]) await rm(path, { recursive: true, force: true });
  });

  it('is the same one, and one whose files were put back or recovered is not', async () => {
    expect(await serviceStarts()).toEqual([]);
    await stop();
    await copied('cluster', 'backup');
    await launch();
    expect(await serviceStarts()).toEqual([]);

    await stop();
    await rm(clusterIn('cluster'), { recursive: true });
    await copied('backup', 'cluster');
    await launch();
    expect(await serviceStarts()).toEqual([
      expect.stringContaining('an older state (mark 2 where 3 was remembered)'),
    ]);

    await recovered({ hotStandby: 'off' });
    expect((await serviceStarts()).join()).toContain('another timeline (2 instead of 1)');
    await recovered({ hotStandby: 'on' });
    expect((await serviceStarts()).join()).toContain('another timeline (3 instead of 2)');
  });
});

/** What the test wrote belongs to the server's account. */
async function ownedBy({ path, account }: ServerDirectory): Promise<void> {
  if (account === undefined) return;
  await runAs(undefined, '/bin/chown', ['-R', `${account.uid}:${account.gid}`, path], {
    cwd: '/',
    timeoutMs: 60_000,
  });
}
