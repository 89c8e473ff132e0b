import { Client } from 'pg';
import { CommandRefused, dbInit } from '../../src/cli/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import {
  APP_ROLE,
  assertSafeRole,
  initRoles,
  OWNER_ROLE,
  RoleSetup,
  UnsafeRole,
  urlOfDatabase,
  WORKER_ROLE,
} from '../../src/database/roles';
import { defaultSources } from '../../src/database/embedded-binaries';
import { startTemporaryServer, TemporaryServer } from '../../src/database/temporary-server';

let servers: TemporaryServer[] = [];

beforeAll(async () => {
  const sources = await defaultSources(process.env);
  const embedded = await startTemporaryServer({ sources });
  servers = [embedded];
  if (sources.system.length > 0)
    servers.push(await startTemporaryServer({ sources: { ...sources, embedded: undefined } }));
});

afterAll(() => Promise.all(servers.map((server) => server.stop())));

const setup = (database: string, password = 'first'): RoleSetup => ({
  database,
  ownerPassword: `owner-${password}`,
  appPassword: `app-${password}`,
});

/** The behaviours below hold on the embedded version and on the system's, which may be older. */
async function everywhere(work: (server: TemporaryServer) => Promise<void>): Promise<void> {
  for (const server of servers) await work(server);
}

async function as<T>(
  server: TemporaryServer,
  role: string,
  password: string,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const url = new URL(urlOfDatabase(server.superuserUrl, database));
  url.username = role;
  url.password = password;
  return withClient(url.href, work);
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

describe('initRoles', () => {
  it('makes roles without powers', () =>
    everywhere(async (server) => {
      await initRoles(server.superuserUrl, setup('powers'));
      await withClient(server.superuserUrl, async (client) => {
        const { rows } = await client.query(
          `SELECT rolname, rolcanlogin, rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication AS powerful
             FROM pg_roles WHERE rolname LIKE 'payrun%' ORDER BY rolname`,
        );
        expect(rows).toEqual([
          { rolname: APP_ROLE, rolcanlogin: true, powerful: false },
          { rolname: OWNER_ROLE, rolcanlogin: true, powerful: false },
          { rolname: WORKER_ROLE, rolcanlogin: false, powerful: false },
        ]);
      });
    }));

  it('takes back powers that somebody gave', () =>
    everywhere(async (server) => {
      await initRoles(server.superuserUrl, setup('corrected'));
      await withClient(server.superuserUrl, async (client) => {
        await client.query(`ALTER ROLE ${APP_ROLE} SUPERUSER BYPASSRLS INHERIT`);
        await initRoles(server.superuserUrl, setup('corrected'));
        const { rows } = await client.query(
          `SELECT rolsuper, rolbypassrls, rolinherit FROM pg_roles WHERE rolname = '${APP_ROLE}'`,
        );
        expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false, rolinherit: false }]);
      });
    }));

  it('may be repeated, at once and for several databases, and sets the passwords given last', () =>
    everywhere(async (server) => {
      const names = ['at_once', 'at_once', 'other_at_once', 'at_once'];
      await Promise.all(names.map((name) => initRoles(server.superuserUrl, setup(name))));
      await initRoles(server.superuserUrl, setup('at_once', 'second'));
      await as(server, APP_ROLE, 'app-second', 'other_at_once', (client) => client.query('SELECT 1'));
      await expect(
        as(server, APP_ROLE, 'app-first', 'at_once', (client) => client.query('SELECT 1')),
      ).rejects.toThrow('password authentication failed');
    }));

  it('refuses a database in which not every name can be kept, and changes no password', () =>
    everywhere(async (server) => {
      await initRoles(server.superuserUrl, setup('before'));
      await withClient(server.superuserUrl, (client) =>
        client.query(`CREATE DATABASE old_office TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`),
      );
      await expect(initRoles(server.superuserUrl, setup('old_office', 'second'))).rejects.toThrow(
        'has the encoding LATIN1',
      );
      await as(server, APP_ROLE, 'app-first', 'before', (client) => client.query('SELECT 1'));
    }));

  it('lets the owner make tables, and the application only use what it was granted', () =>
    everywhere(async (server) => {
      await initRoles(server.superuserUrl, setup('tables'));
      await as(server, OWNER_ROLE, 'owner-first', 'tables', async (owner) => {
        await owner.query('CREATE TABLE granted (a int); CREATE TABLE kept (a int)');
        await owner.query(`GRANT SELECT ON granted TO ${APP_ROLE}`);
      });
      await as(server, APP_ROLE, 'app-first', 'tables', async (app) => {
        await app.query('SELECT a FROM granted');
        await app.query('CREATE TEMPORARY TABLE incoming (a int)');
        await expect(app.query('SELECT a FROM kept')).rejects.toThrow('permission denied');
        await expect(app.query('CREATE TABLE mine (a int)')).rejects.toThrow('permission denied');
        await expect(app.query(`SET ROLE ${OWNER_ROLE}`)).rejects.toThrow('permission denied');
      });
    }));

  it('lets the application take on the worker role for a transaction, and not inherit it', () =>
    everywhere(async (server) => {
      await initRoles(server.superuserUrl, setup('worker'));
      await as(server, OWNER_ROLE, 'owner-first', 'worker', async (owner) => {
        await owner.query('CREATE TABLE claimable (a int)');
        await owner.query(`GRANT SELECT ON claimable TO ${WORKER_ROLE}`);
      });
      await as(server, APP_ROLE, 'app-first', 'worker', async (app) => {
        await expect(app.query('SELECT a FROM claimable')).rejects.toThrow('permission denied');
        await app.query('BEGIN');
        await app.query(`SET LOCAL ROLE ${WORKER_ROLE}`);
        await app.query('SELECT a FROM claimable');
        await app.query('COMMIT');
        await expect(app.query('SELECT a FROM claimable')).rejects.toThrow('permission denied');
      });
    }));

  it('takes back an inherited grant of the worker role', () =>
    everywhere(async (server) => {
      await initRoles(server.superuserUrl, setup('inherited'));
      await withClient(server.superuserUrl, async (client) => {
        await client.query(`ALTER ROLE ${APP_ROLE} INHERIT; GRANT ${WORKER_ROLE} TO ${APP_ROLE}`);
        await initRoles(server.superuserUrl, setup('inherited'));
        const { rows } = await client.query(
          `SELECT pg_has_role('${APP_ROLE}', '${WORKER_ROLE}', 'USAGE') AS inherits,
                  pg_has_role('${APP_ROLE}', '${WORKER_ROLE}', 'MEMBER') AS member`,
        );
        expect(rows).toEqual([{ inherits: false, member: true }]);
      });
    }));

  it('copies a template, tables and all', () =>
    everywhere(async (server) => {
      await initRoles(server.superuserUrl, setup('pattern'));
      await as(server, OWNER_ROLE, 'owner-first', 'pattern', (owner) =>
        owner.query('CREATE TABLE copied AS SELECT 42 AS a'),
      );
      await initRoles(server.superuserUrl, { ...setup('copy'), template: 'pattern' });
      const { rows } = await as(server, OWNER_ROLE, 'owner-first', 'copy', (owner) =>
        owner.query('SELECT a FROM copied'),
      );
      expect(rows).toEqual([{ a: 42 }]);
    }));

  it('sends verifiers, never passwords, to the server', async () => {
    const [server] = servers as [TemporaryServer];
    await initRoles(server.superuserUrl, setup('verifier'));
    await withClient(server.superuserUrl, async (client) => {
      const { rows } = await client.query(`SELECT rolpassword FROM pg_authid WHERE rolname = '${APP_ROLE}'`);
      expect(rows[0].rolpassword).toMatch(/^SCRAM-SHA-256\$4096:/);
    });
  });
});

describe('db:init', () => {
  const urls = ({ superuserUrl }: TemporaryServer, name: string) => {
    const of = (role: string, password: string) =>
      superuserUrl.replace(/\/\/.*@/, `//${role}:${password}@`).replace(/[^/]*$/, name);
    return { url: of(APP_ROLE, 'app-first'), adminUrl: of(OWNER_ROLE, 'owner-first'), superuserUrl };
  };
  const init = (server: TemporaryServer, name: string) => {
    const { url, adminUrl, superuserUrl } = urls(server, name);
    const env = { DATABASE_URL: url, DATABASE_ADMIN_URL: adminUrl, DATABASE_SUPERUSER_URL: superuserUrl };
    return dbInit({ env, checkout: '', print: () => undefined });
  };

  it.each([
    ['pay+roll', 'pay+roll'],
    ['a;b:c@d&e=f$g,h', 'a;b:c@d&e=f$g,h'],
    ['100%25%20sure', '100% sure'],
    ['it%27s%20%22Quoted%22', `it's "Quoted"`],
    ['UpperCase', 'UpperCase'],
    ['%C3%BCber', 'über'],
  ])('makes the database that a URL with %s reaches', (written, name) =>
    everywhere(async (server) => {
      await init(server, written);
      const { url, adminUrl } = urls(server, written);
      for (const reached of [url, adminUrl]) {
        const source = await openDataSource(dataSourceOptions(reached, [], 1));
        expect(await source.query('SELECT current_database() AS name')).toEqual([{ name }]);
        await source.destroy();
      }
    }),
  );

  it.each(['pay%2Broll', 'pay%3Froll', 'pay%23roll', '100%'])(
    'refuses a URL with %s, which the driver would read otherwise, and says how it is written',
    async (written) => {
      const [server] = servers as [TemporaryServer];
      const refused: unknown = await init(server, written).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(CommandRefused);
      expect(String(refused)).toMatch(/^Error: DATABASE_URL: .* written /);
    },
  );
});

describe('assertSafeRole', () => {
  const database = 'safe';

  beforeAll(() =>
    everywhere(async (server) => {
      await initRoles(server.superuserUrl, setup(database));
      await as(server, OWNER_ROLE, 'owner-first', database, (owner) =>
        owner.query('CREATE TABLE IF NOT EXISTS pay (a int)'),
      );
    }),
  );

  it('accepts the application, also with a temporary table of its own', () =>
    everywhere((server) =>
      as(server, APP_ROLE, 'app-first', database, async (app) => {
        await app.query('CREATE TEMPORARY TABLE incoming (a int)');
        await expect(assertSafeRole(app)).resolves.toBeUndefined();
      }),
    ));

  it('refuses the owner of a table', () =>
    everywhere((server) =>
      as(server, OWNER_ROLE, 'owner-first', database, async (owner) => {
        await expect(assertSafeRole(owner)).rejects.toThrow(/owns the table/);
      }),
    ));

  it('refuses a superuser, also one that took on the role of the application', () =>
    everywhere((server) =>
      withClient(urlOfDatabase(server.superuserUrl, database), async (superuser) => {
        await expect(assertSafeRole(superuser)).rejects.toThrow(UnsafeRole);
        await superuser.query(`SET ROLE ${APP_ROLE}`);
        await expect(assertSafeRole(superuser)).rejects.toThrow(UnsafeRole);
      }),
    ));

  it.each([
    ['bypasses row-level security', 'bypasser', 'ALTER ROLE bypasser BYPASSRLS'],
    ['makes roles', 'maker', 'ALTER ROLE maker CREATEROLE'],
    ['is a member of the owner', 'member', `GRANT ${OWNER_ROLE} TO member`],
  ])('refuses a role that %s', (_what, role, power) =>
    everywhere(async (server) => {
      await withClient(server.superuserUrl, (superuser) =>
        superuser.query(
          `CREATE ROLE ${role} LOGIN PASSWORD 'known'; ${power}; GRANT CONNECT ON DATABASE ${database} TO ${role}`,
        ),
      );
      await as(server, role, 'known', database, (client) =>
        expect(assertSafeRole(client)).rejects.toThrow(UnsafeRole),
      );
    }),
  );
});
