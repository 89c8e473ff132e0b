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

  it('disables a person once, with an entry, and never the last administrator', async () => {
    const leaver = await register((one) => one.createPerson('Lea', true));
    const before = (await audited(INSTALLATION_CHAIN)).length;
    const disable = () => register((one) => one.disablePerson(leaver));
    expect([await disable(), await disable()]).toEqual([true, false]);
    expect((await audited(INSTALLATION_CHAIN)).slice(before)).toEqual([
      { action: 'person.disabled', subject: leaver, person_id: null },
    ]);
    const everybody = await register((one) => one.everybody());
    expect(everybody.at(-1)).toMatchObject({ id: leaver, disabledAt: expect.any(Date) });
    const last = everybody.filter(({ administrator, disabledAt }) => administrator && disabledAt === null);
    expect(last).toHaveLength(1);
    await expect(register((one) => one.disablePerson(last[0]!.id))).rejects.toMatchObject({
      code: 'LAST_ADMINISTRATOR',
    });
    expect(await audited(INSTALLATION_CHAIN)).toHaveLength(before + 1);
  });

  it('lists the keys of a person, revoked ones last, and never what opens anything', async () => {
    const personId = await register((one) => one.createPerson('Kay', false));
    const [old, lost, now] = await register(async (one) => [
      await one.issueKey(personId, 'old', 30),
      await one.issueKey(personId, 'lost', 30),
      await one.issueKey(personId, 'now', 30),
    ]);
    await register((one) => one.revokeKey(lost.keyId));
    await execute(
      database.superuserUrl,
      `UPDATE api_key SET created_at = created_at - interval '1 day' WHERE label = 'old'`,
    );
    const keys = await register((one) => one.keysOf(personId));
    expect(keys.map(({ id, label, revokedAt }) => [id, label, revokedAt !== null])).toEqual([
      [now.keyId, 'now', false],
      [old.keyId, 'old', false],
      [lost.keyId, 'lost', true],
    ]);
    expect(Object.keys(keys[0]!).sort()).toEqual(['createdAt', 'expiresAt', 'id', 'label', 'revokedAt']);
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
