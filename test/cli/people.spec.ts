import { randomUUID } from 'node:crypto';
import { Register, withRegister } from '../../src/cli/people';
import { INSTALLATION_CHAIN } from '../../src/audit/audit';
import { hashOfKey } from '../../src/identity/api-key';
import { execute, select, type TestDatabase, testDatabase } from '../support/database';

describe('the register of the command line', () => {
  let database: TestDatabase;
  const employerId = randomUUID();
  const shown = `emp_${employerId.replaceAll('-', '')}`;

  beforeAll(async () => {
    database = await testDatabase();
    await execute(
      database.superuserUrl,
      `INSERT INTO employer (id, name, time_zone) VALUES ($1, 'Birch', 'Europe/Paris')`,
      [employerId],
    );
  });
  afterAll(() => database.drop());

  const register = <T>(work: (register: Register) => Promise<T>) => withRegister(database.url, work);
  const audited = (chainId: string) =>
    select<{ action: string; subject: string; person_id: string | null }>(
      database.superuserUrl,
      'SELECT action, subject, person_id FROM audit_entry WHERE chain_id = $1 ORDER BY seq',
      [chainId],
    );

  it('makes a person and a key that is stored as its hash only, and audits both', async () => {
    const personId = await register((one) => one.createPerson('  Ada Administrator ', true));
    const { key, keyId } = await register((one) => one.issueKey(personId, 'laptop', 30));
    const [row] = await select<{ name: string; administrator: boolean; label: string; days: number }>(
      database.superuserUrl,
      `SELECT p.name, p.administrator, k.label,
         round(extract(epoch FROM k.expires_at - k.created_at) / 86400)::int AS days
       FROM api_key k JOIN person p ON p.id = k.person_id WHERE k.key_hash = $1`,
      [hashOfKey(key)],
    );
    expect(row).toEqual({ name: 'Ada Administrator', administrator: true, label: 'laptop', days: 30 });
    expect(await audited(INSTALLATION_CHAIN)).toEqual([
      { action: 'person.created', subject: personId, person_id: null },
      { action: 'key.issued', subject: keyId, person_id: null },
    ]);
  });

  it('revokes a key by its id', async () => {
    const personId = await register((one) => one.createPerson('Paul', false));
    const { key, keyId } = await register((one) => one.issueKey(personId, 'laptop', 30));
    await register((one) => one.revokeKey(keyId));
    const rows = await select(
      database.superuserUrl,
      'SELECT FROM api_key WHERE key_hash = $1 AND revoked_at IS NOT NULL',
      [hashOfKey(key)],
    );
    expect(rows).toHaveLength(1);
  });

  it('grants a role once and takes it back once, with an entry for what changed', async () => {
    const personId = await register((one) => one.createPerson('Alma', false));
    const answers = await register(async (one) => [
      await one.grantRole(personId, shown, 'approver'),
      await one.grantRole(personId, shown, 'approver'),
      await one.revokeRole(personId, shown, 'approver'),
      await one.revokeRole(personId, shown, 'approver'),
    ]);
    expect(answers).toEqual([true, false, true, false]);
    expect((await audited(employerId)).map(({ action }) => action)).toEqual(['role.granted', 'role.revoked']);
  });

  it.each([
    ['a person that is not there', 'per_'],
    ['an id of another kind', 'emp_'],
  ])('refuses a key for %s', async (_, prefix) => {
    const id = prefix + randomUUID().replaceAll('-', '');
    await expect(register((one) => one.issueKey(id, 'laptop', 30))).rejects.toMatchObject({
      code: 'PERSON_NOT_FOUND',
    });
  });
});
