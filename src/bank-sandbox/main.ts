import { SCOPES } from '../bank/types';
import { type SandboxOptions, startSandbox } from './sandbox';
import { completeVariants } from './variants';

export { type Sandbox, type SandboxOptions, startSandbox } from './sandbox';

/** How often a sandbox looks whether its parent still lives. */
const PARENT_POLL_MS = 500;

/** Options from `SANDBOX_*` variables. Throws for a number, a yes or no, or JSON that cannot be read. */
export function optionsFromEnvironment(environment: NodeJS.ProcessEnv): SandboxOptions {
  const { SANDBOX_TOKEN: token, SANDBOX_VARIANTS: variants } = environment;
  return {
    port: wholeNumber(environment, 'SANDBOX_PORT'),
    host: environment.SANDBOX_HOST,
    tokens: token ? [{ token, scopes: SCOPES }] : undefined,
    webhookSecret: environment.SANDBOX_WEBHOOK_SECRET,
    variants: variants ? completeVariants(json('SANDBOX_VARIANTS', variants)) : undefined,
    stepMs: wholeNumber(environment, 'SANDBOX_STEP_MS'),
    stateFile: environment.SANDBOX_STATE_FILE,
    fresh: flag(environment, 'SANDBOX_FRESH'),
    timeZone: environment.SANDBOX_TIME_ZONE,
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

function wholeNumber(environment: NodeJS.ProcessEnv, name: string): number | undefined {
  const text = environment[name];
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} must be a whole number`);
  return Number(text);
}

function flag(environment: NodeJS.ProcessEnv, name: string): boolean | undefined {
  const text = environment[name];
  if (text === undefined || text === '') return undefined;
  if (text !== 'true' && text !== 'false') throw new Error(`${name} must be true or false`);
  return text === 'true';
}

function json(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
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
