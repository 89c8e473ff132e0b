import { BankHours } from '../domain/business-day';
import { DEFAULT_TOKEN } from '../bank-sandbox/sandbox';

/** When the demo's bank takes payments: as the service has it by default. */
export const DEMO_BANK: BankHours = { cutOff: '16:00', timeZone: 'Europe/Paris' };

/** Ten statuses lie between submit and settlement: in all two seconds to watch. */
const STEP_MS = 200;
/** Of the caller's environment only what a process needs to run: its settings of a service or bank are not meant. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'TZ'] as const;

/** The settings of the demo's bank: all it knows is in memory. */
export function demoBankSettings(fast: boolean): NodeJS.ProcessEnv {
  return {
    ...passedOn(),
    SANDBOX_STEP_MS: fast ? '0' : String(STEP_MS),
    SANDBOX_TIME_ZONE: DEMO_BANK.timeZone,
  };
}

/** The settings of the demo's service: a bank on the same machine answers at once and hides nothing. */
export function demoServiceSettings(databaseUrl: string, bankUrl: string): NodeJS.ProcessEnv {
  return {
    ...passedOn(),
    DATABASE_URL: databaseUrl,
    PORT: '0',
    LOG_LEVEL: 'warn',
    PAYRUN_HASH_KEY: 'of a demo whose data are thrown away',
    BANK_BASE_URL: bankUrl,
    BANK_ACCESS_TOKEN: DEFAULT_TOKEN,
    BANK_AMOUNT_UNIT: 'minor',
    BANK_TIME_ZONE: DEMO_BANK.timeZone,
    BANK_CUT_OFF: DEMO_BANK.cutOff,
    BANK_LAG_BOUND_MS: '0',
    TICK_MS: '100',
    FOLLOW_DELAYS_MS: '200',
    LEASE_MS: '2000',
    SUBMIT_DOUBT_MS: '5000',
  };
}

function passedOn(): NodeJS.ProcessEnv {
  return Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]]));
}
