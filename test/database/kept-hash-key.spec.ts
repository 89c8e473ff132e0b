import { Register, withRegister } from '../../src/cli/people';
import { ConfigurationError } from '../../src/config/env';
import { testConfig } from '../http/test-app';
import { select, TestDatabase, testDatabase } from '../support/database';
import { started } from '../support/started';

const KEY = 'the key that belongs to the data, of its letters';
const OTHER = 'the key of another installation, from its store';

describe('a service that starts on hashes of a key', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await testDatabase();
  });
  afterEach(() => database.drop());

  const starts = (key: string) => started(testConfig({ DATABASE_URL: database.url, PAYRUN_HASH_KEY: key }));
  const register = <T>(work: (register: Register) => Promise<T>) => withRegister(database.url, work);

  it('is refused under another one, and told what to do, before it serves anything', async () => {
    expect([await starts(KEY), await starts(KEY)]).toEqual(['started', 'started']);
    const refusal = await starts(OTHER);
    expect(refusal).toBeInstanceOf(ConfigurationError);
    expect(String(refusal)).toMatch(/PAYRUN_HASH_KEY.*hash-key-changed/s);
    expect(String(refusal)).not.toContain(OTHER);
    expect(await starts(KEY)).toBe('started');
  });

  it('keeps one of several that start at once under different ones', async () => {
    const outcomes = await Promise.all([KEY, OTHER].map(starts));
    expect(outcomes.filter((one) => one === 'started')).toHaveLength(1);
  });

  it('takes another one once it was said that the key was changed, which is audited', async () => {
    await starts(KEY);
    expect(await register((one) => one.sayHashKeyChanged('the old one leaked'))).toBe(true);
    expect([await starts(OTHER), await starts(OTHER)]).toEqual(['started', 'started']);
    expect(await starts(KEY)).toBeInstanceOf(ConfigurationError);
    expect(
      await select(database.superuserUrl, `SELECT action, detail->>'reason' AS reason FROM audit_entry`),
    ).toEqual([{ action: 'service.hash-key-changed', reason: 'the old one leaked' }]);
  });

  it('has nothing to change before its first start', async () => {
    expect(await register((one) => one.sayHashKeyChanged('a new installation'))).toBe(false);
    expect(await select(database.superuserUrl, 'SELECT FROM audit_entry')).toEqual([]);
  });
});
