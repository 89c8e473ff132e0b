import { SCOPES } from '../bank/types';
import { requireTimeZone } from './clock';
import { type SandboxOptions, startSandbox } from './sandbox';
import { completeVariants } from './variants';

export { type Sandbox, type SandboxOptions, startSandbox } from './sandbox';

/** How often a sandbox looks whether its parent still lives. */
const PARENT_POLL_MS = 500;

/** Visible ASCII: what follows `Bearer ` in a header. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Options from `SANDBOX_*` variables; an empty one is none. Throws one line for a number, a yes or no, JSON, a token or a
 * time zone that is none.
 */
export function optionsFromEnvironment(environment: NodeJS.ProcessEnv): SandboxOptions {
  const token = text(environment, 'SANDBOX_TOKEN');
  if (token !== undefined && !TOKEN.test(token))
    throw new Error('SANDBOX_TOKEN must be visible ASCII characters, without spaces: a header carries it');
  const timeZone = text(environment, 'SANDBOX_TIME_ZONE');
  if (timeZone !== undefined) requireTimeZone(timeZone, 'SANDBOX_TIME_ZONE');
  const variants = text(environment, 'SANDBOX_VARIANTS');
  return {
    port: wholeNumber(environment, 'SANDBOX_PORT'),
    host: text(environment, 'SANDBOX_HOST'),
    tokens: token === undefined ? undefined : [{ token, scopes: SCOPES }],
    webhookSecret: text(environment, 'SANDBOX_WEBHOOK_SECRET'),
    variants: variants === undefined ? undefined : completeVariants(json('SANDBOX_VARIANTS', variants)),
    stepMs: wholeNumber(environment, 'SANDBOX_STEP_MS'),
    stateFile: text(environment, 'SANDBOX_STATE_FILE'),
    fresh: flag(environment, 'SANDBOX_FRESH'),
    timeZone,
  };
}

async function run(): Promise<void> {
  const sandbox = await startSandbox(optionsFromEnvironment(process.env));
  const stop = (): void => void sandbox.close().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  const parentPid = wholeNumber(process.env, 'SANDBOX_PARENT_PID');
  if (parentPid !== undefined) setInterval(() => !isAlive(parentPid) && stop(), PARENT_POLL_MS).unref();
  process.stdout.write(`${JSON.stringify({ url: sandbox.url })}\n`);
}

function text(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  return environment[name] || undefined;
}

function wholeNumber(environment: NodeJS.ProcessEnv, name: string): number | undefined {
  const digits = text(environment, name);
  if (digits === undefined) return undefined;
  if (!/^\d{1,9}$/.test(digits)) throw new Error(`${name} must be a whole number`);
  return Number(digits);
}

function flag(environment: NodeJS.ProcessEnv, name: string): boolean | undefined {
  const word = text(environment, name);
  if (word === undefined) return undefined;
  if (word !== 'true' && word !== 'false') throw new Error(`${name} must be true or false`);
  return word === 'true';
}

function json(name: string, given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    throw new Error(`${name} must be JSON, such as {"amountUnit":"major"}`);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

if (require.main === module)
  run().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
