import { ConfigurationError } from '../../src/config/env';
import { testConfig } from '../http/test-app';
import { TestDatabase, testDatabase } from '../support/database';
import { started } from '../support/started';

describe('a service that starts with a time zone of its bank', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  const starts = (timeZone: string) =>
    started({ ...testConfig({ DATABASE_URL: database.url }), BANK_TIME_ZONE: timeZone });

  it.each(['UTC', 'Europe/Paris', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Etc/GMT+2'])(
    'starts where the database reckons with it as the service does: %s',
    async (timeZone) => {
      expect(await starts(timeZone)).toBe('started');
    },
  );

  it.each([
    ['takes it for another', 'BST', 'is another time zone to the database'],
    ['does not know it', 'VST', 'is no time zone to the database'],
  ])('is refused where the database %s, and told so', async (_what, timeZone, why) => {
    const refusal = await starts(timeZone);
    expect(refusal).toBeInstanceOf(ConfigurationError);
    expect((refusal as Error).message).toContain(`BANK_TIME_ZONE: ${timeZone} ${why}`);
  });
});
