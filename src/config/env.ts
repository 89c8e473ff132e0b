import { z } from 'zod';
import { isIsoDate, isTimeZone } from '../domain/business-day';

const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const atMostADayMs = z.coerce.number().int().max(86_400_000);
const durationMs = atMostADayMs.min(0);
/** Less would be over before its work was begun. */
const patienceMs = atMostADayMs.min(100);
/** Less would take a busy server for a dead one. */
const databaseMs = z.coerce.number().int().min(100).max(3_600_000);
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 15:30');
/** An offset is read with the other sign by the database. */
const timeZone = z
  .string()
  .refine(
    (zone) => isTimeZone(zone) && !/^[+-]/.test(zone),
    'must be an IANA time zone such as Europe/Paris',
  );

/** One line of the configuration: its default, its check and what the README's table says of it. */
const SETTINGS = {
  DATABASE_URL: z.string().startsWith('postgres').describe('The application role; owns nothing.'),
  DATABASE_POOL_SIZE: z.coerce
    .number()
    .int()
    .min(2)
    .max(200)
    .default(10)
    .describe('Connections per process.'),
  DATABASE_CONNECT_MS: databaseMs
    .default(5_000)
    .describe('How long a connection, and the first answer on it, is waited for; then a request gets 503.'),
  DATABASE_STATEMENT_MS: databaseMs
    .default(120_000)
    .describe('Longest statement: the server cancels it, and a silent server is hung up on soon after.'),
  DATABASE_COMMIT_MS: databaseMs
    .default(10_000)
    .describe(
      'Longest COMMIT: then it counts as not durable, and nothing is sent to the bank on its strength.',
    ),
  HOST: z.string().default('127.0.0.1').describe('Address the API listens on.'),
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(3000)
    .describe(
      'Port the API listens on; 0 picks one. Unless it is set, `npm start` with the sandbox takes a free one when 3000 is taken.',
    ),
  PUBLIC_URL: z
    .url()
    .optional()
    .describe(
      'Where the bank reaches this service; without it no webhook is subscribed and polling does all.',
    ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('JSON log level: `fatal`, `error`, `warn`, `info`, `debug` or `silent`.'),
  RESTORE_WITNESS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A file, kept apart from the database, by which an older copy of its files is noticed when it is put back. One for each process or host.',
    ),
  PAYRUN_HASH_KEY: z
    .string()
    .min(32, 'must be at least 32 characters')
    .describe('Secret key of the hashes by which names and IBANs are compared.'),
  BANK_BASE_URL: z.url().describe('The bank: {base_url} of its document.'),
  BANK_AMOUNT_UNIT: z
    .enum(['minor', 'major'])
    .describe(
      'Whether Amount.value counts cents (`minor`) or euros (`major`). No default: a guess would pay a hundred times too much.',
    ),
  BANK_ACCESS_TOKEN: z.string().min(1).optional().describe('A static access token, or the next five.'),
  BANK_TOKEN_URL: z.url().optional().describe('Client-credentials endpoint.'),
  BANK_CLIENT_ID: z.string().min(1).optional().describe('Client id.'),
  BANK_CLIENT_SECRET: z.string().min(1).optional().describe('Client secret.'),
  BANK_SCOPE: z.string().optional().describe('Scopes to ask for, space separated.'),
  BANK_TOKEN_FORM: z
    .enum(['json', 'form', 'basic'])
    .default('json')
    .describe(
      'What the endpoint takes: all in JSON (`json`), or in a form (`form`), or id and secret in HTTP Basic beside a form (`basic`).',
    ),
  BANK_TIMEOUT_MS: patienceMs.default(30_000).describe('Total time of one request to the bank.'),
  BANK_LAG_BOUND_MS: durationMs.default(30_000).describe('How old a read at the bank can be.'),
  BANK_TIME_ZONE: timeZone.default('Europe/Paris').describe('Zone of the cut-off and of bank dates.'),
  BANK_CUT_OFF: timeOfDay.default('16:00').describe('Latest time to submit for the same day.'),
  BANK_CLOSED_DAYS: list
    .refine((days) => days.every(isIsoDate), 'must be comma separated dates such as 2026-12-31')
    .default([])
    .describe('Dates closed besides the TARGET ones, comma separated.'),
  BANK_REJECTS_BEFORE_EXECUTING: flag
    .default(false)
    .describe(
      'With `true` a submit answered 401 or 429 that is still shown INITIATED is sent again, at most REBUILD_LIMIT times. Set only if the bank confirms in writing that neither ever executes it.',
    ),
  BANK_REQUESTS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Requests to the bank in any 60 seconds, of all replicas together.'),
  BANK_ADDS_IN_FLIGHT: z.coerce
    .number()
    .int()
    .min(1)
    .max(64)
    .default(32)
    .describe('Adds to the bank under way at once in one process.'),
  BANK_WEBHOOK_SECRETS: list
    .default([])
    .describe(
      'Signing secrets, comma separated, so that none may hold a comma; two are valid while one is replaced.',
    ),
  BANK_WEBHOOK_FORM: z
    .enum(['raw', 'reserialised'])
    .default('raw')
    .describe('What is signed: the bytes as received (`raw`), or their JSON written again (`reserialised`).'),
  REBUILD_LIMIT: z.coerce
    .number()
    .int()
    .min(1)
    .max(20)
    .default(5)
    .describe('Rebuilds of an instruction, and submits sent again, before a person is asked.'),
  SUBMIT_DOUBT_MS: durationMs
    .default(120_000)
    .describe('How long an unanswered submit is polled before it is parked.'),
  BANK_PATIENCE_MS: durationMs
    .default(600_000)
    .describe(
      'How long a due run (DUE_BUT_WAITING), or what was submitted from its cut-off on, may not get on before people are told, and a read may fail before it counts as failing for good.',
    ),
  LEASE_MS: patienceMs.default(30_000).describe('Length of a work lease.'),
  TICK_MS: atMostADayMs.min(10).default(1_000).describe('How often the service looks for work.'),
  FOLLOW_DELAYS_MS: list
    .transform((items, context) => {
      const delays = items.map(Number);
      if (delays.length === 0 || delays.some((delay) => !Number.isInteger(delay) || delay < 1)) {
        context.addIssue('must be comma separated milliseconds');
      }
      return delays;
    })
    .default([15_000, 60_000, 300_000, 900_000])
    .describe(
      'Delays before reads of an open instruction, each for FOLLOW_STEP_MS, the last for good. Totals a submit left open are read at once.',
    ),
  FOLLOW_STEP_MS: durationMs.default(300_000).describe('How long each of FOLLOW_DELAYS_MS is used.'),
  ACCOUNT_READ_MS: z.coerce
    .number()
    .int()
    .min(50)
    .max(86_400_000)
    .default(300_000)
    .describe('Delay between reads of an account on which a run is open.'),
  HOOK_CHECK_MS: z.coerce
    .number()
    .int()
    .min(50)
    .max(86_400_000)
    .default(600_000)
    .describe('Delay between checks that the bank has exactly one hook of this service, with its links.'),
  RECONCILE_MS: z.coerce
    .number()
    .int()
    .min(50)
    .max(86_400_000)
    .default(300_000)
    .describe('How often what must always hold is asserted over the stored data of each employer.'),
  WATCH_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(90)
    .default(30)
    .describe('Days that what ended, settled or abandoned, stays watched after its end and execution date.'),
  MAX_PAY_FILE_BYTES: z.coerce.number().int().min(1024).default(268_435_456).describe('Largest pay file.'),
  MAX_PAY_FILE_ROWS: z.coerce.number().int().min(1).default(1_000_000).describe('Most rows in a pay file.'),
} as const;

const schema = z.object(SETTINGS).superRefine(
  (env, context) => {
    const grant = [env.BANK_TOKEN_URL, env.BANK_CLIENT_ID, env.BANK_CLIENT_SECRET];
    const complete = grant.every((part) => part !== undefined);
    if (env.BANK_ACCESS_TOKEN === undefined && !complete) {
      context.addIssue({
        code: 'custom',
        path: ['BANK_ACCESS_TOKEN'],
        message: 'set BANK_ACCESS_TOKEN, or BANK_TOKEN_URL with BANK_CLIENT_ID and BANK_CLIENT_SECRET',
      });
    }
    if (env.PUBLIC_URL !== undefined && env.BANK_WEBHOOK_SECRETS.length === 0) {
      context.addIssue({
        code: 'custom',
        path: ['BANK_WEBHOOK_SECRETS'],
        message: 'webhooks cannot be verified without a signing secret; set it, or leave PUBLIC_URL out',
      });
    }
  },
  // Also beside a setting that is at fault by itself: every fault is told at once.
  { when: () => true },
);

/** The environment, read once and frozen. Durations in milliseconds unless the name says otherwise. */
export type Config = Readonly<z.infer<typeof schema>>;

/** Injection token of the `Config`. */
export const CONFIG = Symbol('Config');

/** The settings are not such that anything can start with them; the message names all faults. */
export class ConfigurationError extends Error {}

/**
 * Reads the configuration.
 * @throws ConfigurationError naming every setting at fault at once; a secret's value is never in it.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(present, {
    error: ({ input }) => (input === undefined ? 'is required' : undefined),
  });
  if (parsed.success) return Object.freeze(parsed.data);
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigurationError(`The configuration is not complete:\n${faults.join('\n')}`);
}

/** Name, default and meaning of every setting, for the README's table. */
export function settingsTable(): { name: string; default: string; meaning: string }[] {
  return Object.entries(SETTINGS).map(([name, setting]) => {
    const fallback = setting.safeParse(undefined);
    const value = fallback.success ? fallback.data : undefined;
    return {
      name,
      default: value === undefined ? (fallback.success ? '' : 'required') : String(value),
      meaning: setting.description ?? '',
    };
  });
}
