import { tmpdir } from 'node:os';
import { hashOfKey } from '../../src/identity/api-key';
import { execute, select, type TestDatabase, testDatabase } from '../support/database';
import { commandLine } from './compiled';
import { launch } from './processes';

describe('payrun', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    commandLine();
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  async function payrun(...args: string[]): Promise<{ code: number | null; output: string }> {
    const env = { DATABASE_URL: database.url };
    const command = launch([commandLine(), ...args], { cwd: tmpdir(), env });
    const code = await command.ended;
    return { code, output: command.output() };
  }

  it('makes a person and issues a key that is printed once', async () => {
    const person = await payrun('person', 'create', 'Ada Administrator', '--administrator');
    expect(person).toEqual({ code: 0, output: expect.stringMatching(/^per_[0-9a-f]{32}\n$/) });
    const issued = await payrun('key', 'issue', person.output.trim(), '--label', 'laptop', '--days', '7');
    const [keyId = '', key = ''] = issued.output.split('\n');
    expect(keyId).toMatch(/^key_[0-9a-f]{32}$/);
    const stored = await select(database.superuserUrl, 'SELECT label FROM api_key WHERE key_hash = $1', [
      hashOfKey(key),
    ]);
    expect(stored).toEqual([{ label: 'laptop' }]);
    expect(await payrun('key', 'revoke', keyId)).toEqual({ code: 0, output: 'Revoked.\n' });
  });

  it('says what to do first where the database has no tables yet', async () => {
    const empty = await testDatabase('template0');
    try {
      const env = { DATABASE_URL: empty.url };
      const command = launch([commandLine(), 'person', 'list'], { cwd: tmpdir(), env });
      expect(await command.ended).toBe(1);
      expect(command.output()).toContain('The database has no tables yet: `npm run migrate`');
    } finally {
      await empty.drop();
    }
  });

  it('lists people and keys, and locks a leaver out, but not the last administrator', async () => {
    const made = async (...args: string[]) => (await payrun('person', 'create', ...args)).output.trim();
    const [boss, leaver] = [await made('Bo', '--administrator'), await made('Lea Leaver')];
    const issued = await payrun('key', 'issue', leaver, '--label', 'laptop');
    const [keyId = '', key = ''] = issued.output.split('\n');
    const keys = await payrun('key', 'list', leaver);
    expect(keys.output).toMatch(
      new RegExp(`^  Key +Made +Expires +Revoked +Label\n  ${keyId} .* -  +laptop\n$`),
    );
    expect(keys.output).not.toContain(key.slice(3));

    expect(await payrun('person', 'disable', leaver)).toEqual({ code: 0, output: 'Disabled.\n' });
    const again = await payrun('person', 'disable', leaver);
    expect(again).toEqual({ code: 0, output: 'The person was disabled already.\n' });
    const everybody = (await payrun('person', 'list')).output.split('\n');
    expect(everybody[0]).toMatch(/^ {2}Person +Name +Administrator +Disabled$/);
    expect(everybody).toContainEqual(expect.stringMatching(new RegExp(`^  ${boss}  Bo +yes +-$`)));
    expect(everybody.at(-2)).toMatch(new RegExp(`^  ${leaver}  Lea Leaver +no +20\\d\\d-`));
    expect((await payrun('key', 'issue', leaver)).output).toContain('The person is disabled.');

    await execute(database.superuserUrl, `UPDATE person SET disabled_at = now() WHERE name <> 'Bo'`);
    const last = await payrun('person', 'disable', boss);
    expect(last).toEqual({ code: 1, output: expect.stringContaining('make another one first') });
  });

  it('says that the database was restored, from which moment on nothing is submitted', async () => {
    expect((await payrun('restored', 'the disk was rolled back')).code).toBe(0);
    const known = await select(database.url, 'SELECT database_is_known() AS known');
    expect(known).toEqual([{ known: false }]);
    const audited = await select(
      database.superuserUrl,
      `SELECT detail ->> 'reason' AS reason FROM audit_entry WHERE action = 'service.restored'`,
    );
    expect(audited).toEqual([{ reason: 'the disk was rolled back' }]);
  });

  it.each([
    [['key', 'issue', 'per_0'], 'There is no such person.'],
    [['key', 'list', 'per_0'], 'There is no such person.'],
    [['person', 'disable', 'per_0'], 'There is no such person.'],
    [['key', 'issue', 'per_0', '--days', '0'], 'whole number from 1 to 3650'],
    [
      ['role', 'grant', 'per_0', 'emp_0', 'king'],
      'Allowed choices are preparer, approver, finance, operator',
    ],
    [['migrate'], 'set DATABASE_ADMIN_URL'],
    [['db:init'], 'db:init needs DATABASE_ADMIN_URL and DATABASE_SUPERUSER_URL'],
    [['pay'], "unknown command 'pay'"],
  ])('refuses %j with a sentence and exit code 1', async (args, sentence) => {
    const { code, output } = await payrun(...args);
    expect(code).toBe(1);
    expect(output).toContain(sentence);
    expect(output).not.toContain('    at ');
  });

  it('runs the sandbox bank until it is told to stop', async () => {
    const env = { SANDBOX_PORT: '0', SANDBOX_TOKEN: 'a-token' };
    const bank = launch([commandLine(), 'bank'], { cwd: tmpdir(), env });
    await new Promise((resolve) => bank.process.stdout?.once('data', resolve));
    const url = /is at (http:\S+)\. /.exec(bank.output())?.[1];
    const headers = { Authorization: 'Bearer a-token' };
    const answer = await fetch(`${url}/api/distributor/v1/accounts`, { headers });
    expect(answer.status).toBe(200);
    bank.process.kill('SIGTERM');
    expect(await bank.ended).toBe(0);
  });
});
