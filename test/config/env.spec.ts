import { readFileSync } from 'node:fs';
import { ConfigurationError, readConfig, settingsTable } from '../../src/config/env';

const REQUIRED = {
  DATABASE_URL: 'postgres://payrun_app:pass-of-the-database@127.0.0.1/payrun',
  PAYRUN_HASH_KEY: 'a-hash-key-of-thirty-two-characters-or-more',
  BANK_BASE_URL: 'https://bank.example',
  BANK_AMOUNT_UNIT: 'minor',
  BANK_ACCESS_TOKEN: 'token-of-the-bank',
};
const OPTIONAL = {
  PUBLIC_URL: 'https://payrun.example',
  RESTORE_WITNESS_FILE: '/var/lib/payrun/witness.json',
  BANK_TOKEN_URL: 'https://bank.example/token',
  BANK_CLIENT_ID: 'client',
  BANK_CLIENT_SECRET: 'secret-of-the-client',
  BANK_SCOPE: 'a b',
  BANK_REQUESTS_PER_MINUTE: '600',
  BANK_WEBHOOK_SECRETS: 'signing-one, signing-two',
};

/** What is told of an environment, by setting; nothing where it can be read. */
function faultsOf(env: Record<string, string | undefined>): Record<string, string> {
  try {
    readConfig(env);
    return {};
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const lines = error.message.split('\n').slice(1);
    return Object.fromEntries(
      lines.map((line) => {
        const [, name, fault] = /^ {2}([A-Z_]+): (.+)$/.exec(line)!;
        return [name, fault];
      }),
    );
  }
}

describe('the configuration', () => {
  it('needs no more than what has no default, and is frozen', () => {
    const config = readConfig(REQUIRED);
    expect(config).toMatchObject({ PORT: 3000, BANK_AMOUNT_UNIT: 'minor', BANK_CUT_OFF: '16:00' });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('reads lists, flags and numbers', () => {
    const config = readConfig({
      ...REQUIRED,
      ...OPTIONAL,
      FOLLOW_DELAYS_MS: '10, 20',
      BANK_REJECTS_BEFORE_EXECUTING: 'true',
    });
    expect(config).toMatchObject({
      BANK_WEBHOOK_SECRETS: ['signing-one', 'signing-two'],
      BANK_REQUESTS_PER_MINUTE: 600,
      FOLLOW_DELAYS_MS: [10, 20],
      BANK_REJECTS_BEFORE_EXECUTING: true,
    });
  });

  it('of an empty environment tells everything that is required, at once', () => {
    expect(faultsOf({})).toEqual({
      DATABASE_URL: 'is required',
      PAYRUN_HASH_KEY: 'is required',
      BANK_BASE_URL: 'is required',
      BANK_AMOUNT_UNIT: 'is required',
      BANK_ACCESS_TOKEN: expect.stringMatching(/^set BANK_ACCESS_TOKEN, or BANK_TOKEN_URL with/),
    });
  });

  it('takes what is set to nothing for missing', () => {
    const empty = Object.fromEntries(Object.keys(REQUIRED).map((name) => [name, '']));
    expect(faultsOf({ ...empty, PORT: '', PUBLIC_URL: '' })).toEqual(faultsOf({}));
  });

  it('tells what is wrong by itself together with what is missing beside another', () => {
    const faults = faultsOf({
      ...REQUIRED,
      BANK_ACCESS_TOKEN: undefined,
      BANK_TOKEN_URL: 'https://bank.example/token',
      PUBLIC_URL: 'https://payrun.example',
      BANK_AMOUNT_UNIT: 'cents',
      PORT: 'eighty',
      BANK_CUT_OFF: '25:00',
      BANK_TIME_ZONE: 'Nowhere',
      FOLLOW_DELAYS_MS: 'soon',
      PAYRUN_HASH_KEY: 'short',
    });
    expect(Object.keys(faults).sort()).toEqual([
      'BANK_ACCESS_TOKEN',
      'BANK_AMOUNT_UNIT',
      'BANK_CUT_OFF',
      'BANK_TIME_ZONE',
      'BANK_WEBHOOK_SECRETS',
      'FOLLOW_DELAYS_MS',
      'PAYRUN_HASH_KEY',
      'PORT',
    ]);
    expect(faults).toMatchObject({
      BANK_CUT_OFF: 'must be a time such as 15:30',
      PAYRUN_HASH_KEY: 'must be at least 32 characters',
    });
  });

  it.each(['+02:00', '-05:00', '+0100'])('takes no offset for a time zone: %s', (zone) => {
    expect(faultsOf({ ...REQUIRED, BANK_TIME_ZONE: zone })).toEqual({
      BANK_TIME_ZONE: 'must be an IANA time zone such as Europe/Paris',
    });
  });

  it.each(['31.12.2026', '2026-12-31, 2026-02-30', '2026-12-31;2027-01-04'])(
    'takes no closed days that are no dates: %s',
    (days) => {
      const faults = faultsOf({ ...REQUIRED, BANK_CLOSED_DAYS: days, PORT: 'eighty' });
      expect(Object.keys(faults).sort()).toEqual(['BANK_CLOSED_DAYS', 'PORT']);
      expect(faults.BANK_CLOSED_DAYS).toBe('must be comma separated dates such as 2026-12-31');
      expect(readConfig({ ...REQUIRED, BANK_CLOSED_DAYS: '2026-12-31, 2027-01-04' })).toMatchObject({
        BANK_CLOSED_DAYS: ['2026-12-31', '2027-01-04'],
      });
    },
  );

  it('takes no duration of nothing where nothing can be done in it', () => {
    const durations = settingsTable().filter(({ name }) => name.endsWith('_MS') && !name.includes('DELAYS'));
    const nothing = Object.fromEntries(durations.map(({ name }) => [name, '0']));
    const taken = durations.filter(({ name }) => faultsOf({ ...REQUIRED, ...nothing })[name] === undefined);
    expect(taken.map(({ name }) => name)).toEqual([
      'BANK_LAG_BOUND_MS',
      'SUBMIT_DOUBT_MS',
      'BANK_PATIENCE_MS',
      'FOLLOW_STEP_MS',
    ]);
  });

  it('is not complete by the example: who starts with a copy is told what only they know', () => {
    const lines = readFileSync(`${__dirname}/../../.env.example`, 'utf8').split('\n');
    const settings = lines.filter((line) => /^[A-Z]/.test(line)).map((line) => line.split('=', 2));
    expect(Object.keys(faultsOf(Object.fromEntries(settings))).sort()).toEqual([
      'BANK_ACCESS_TOKEN',
      'BANK_AMOUNT_UNIT',
      'BANK_WEBHOOK_SECRETS',
      'PAYRUN_HASH_KEY',
    ]);
  });

  it.each([
    ['a token of its own', { BANK_ACCESS_TOKEN: 'token' }],
    ['client credentials', { BANK_TOKEN_URL: 'https://b/t', BANK_CLIENT_ID: 'c', BANK_CLIENT_SECRET: 's' }],
  ])('is content with %s', (_what, access) => {
    expect(faultsOf({ ...REQUIRED, BANK_ACCESS_TOKEN: undefined, ...access })).toEqual({});
  });

  it.each(['BANK_TOKEN_URL', 'BANK_CLIENT_ID', 'BANK_CLIENT_SECRET'])(
    'is not content with client credentials that lack %s',
    (missing) => {
      const env = { ...REQUIRED, ...OPTIONAL, BANK_ACCESS_TOKEN: undefined, [missing]: undefined };
      expect(Object.keys(faultsOf(env))).toEqual(['BANK_ACCESS_TOKEN']);
    },
  );

  it('never tells the value of anything', () => {
    const told = Object.entries({ ...REQUIRED, ...OPTIONAL }).flatMap(([name]) => {
      const value = `§ value-of-${name} §`;
      return [JSON.stringify(faultsOf({ ...REQUIRED, [name]: value }))];
    });
    const everything = Object.fromEntries(settingsTable().map(({ name }) => [name, `§ value-of-${name} §`]));
    told.push(JSON.stringify(faultsOf(everything)));
    expect(told.filter((text) => text.includes('value-of-'))).toEqual([]);
    expect(Object.keys(faultsOf(everything)).length).toBeGreaterThan(15);
  });
});

describe('the table of settings', () => {
  it('has a line for every setting there is, each with its meaning', () => {
    const all = Object.keys(readConfig({ ...REQUIRED, ...OPTIONAL })).sort();
    expect(
      settingsTable()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(all);
    expect(settingsTable().filter(({ meaning }) => meaning.length < 5)).toEqual([]);
  });

  it('calls required what is told as such, and nothing else', () => {
    const required = settingsTable().filter((line) => line.default === 'required');
    const told = Object.entries(faultsOf({})).filter(([, fault]) => fault === 'is required');
    expect(required.map(({ name }) => name).sort()).toEqual(told.map(([name]) => name).sort());
  });

  it('gives defaults that mean the same when they are written out', () => {
    const written = settingsTable().filter((line) => line.default !== 'required');
    const env = Object.fromEntries(written.map((line) => [line.name, line.default]));
    expect(readConfig({ ...env, ...REQUIRED })).toEqual(readConfig(REQUIRED));
  });
});
