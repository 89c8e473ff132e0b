import { DEFAULT_TOKEN } from '../bank-sandbox/sandbox';

const TIME_ZONE = 'Europe/Paris';

/** The settings of the sandbox bank; what the environment says of it goes first where a person may choose. */
export function sandboxSettings(
  env: NodeJS.ProcessEnv,
  sandbox: { port: number; stateFile: string; webhookSecret: string },
): NodeJS.ProcessEnv {
  return {
    SANDBOX_TIME_ZONE: env['BANK_TIME_ZONE'] ?? TIME_ZONE,
    ...env,
    SANDBOX_PORT: String(sandbox.port),
    SANDBOX_STATE_FILE: sandbox.stateFile,
    SANDBOX_WEBHOOK_SECRET: sandbox.webhookSecret,
    SANDBOX_TOKEN: DEFAULT_TOKEN,
  };
}

/** The settings of a service whose bank is the sandbox: that shows everything at once and says so by webhook. */
export function serviceSettings(
  base: NodeJS.ProcessEnv,
  sandbox: { port: number; bankUrl: string; webhookSecret: string },
): NodeJS.ProcessEnv {
  const publicUrl = `http://127.0.0.1:${sandbox.port}`;
  return {
    BANK_TIME_ZONE: TIME_ZONE,
    BANK_AMOUNT_UNIT: 'minor',
    BANK_LAG_BOUND_MS: '0',
    FOLLOW_DELAYS_MS: '1000,5000,60000',
    PUBLIC_URL: publicUrl,
    ...base,
    PORT: String(sandbox.port),
    BANK_BASE_URL: sandbox.bankUrl,
    BANK_ACCESS_TOKEN: DEFAULT_TOKEN,
    BANK_WEBHOOK_SECRETS: sandbox.webhookSecret,
  };
}
