import { createServer } from 'node:net';
import { ConfigurationError } from '../config/env';

const MAX_PORT = 65_535;

/**
 * The port that a setting names; else, and where it is 0, one that is free, of those wanted where it is not set.
 * @throws ConfigurationError where it names none
 */
export async function portFor(
  name: string,
  env: NodeJS.ProcessEnv,
  wanted: readonly (number | undefined)[],
): Promise<number> {
  const value = env[name] ?? '';
  if (value === '') return choosePort(wanted);
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > MAX_PORT)
    throw new ConfigurationError(`${name}: must be a whole number from 0 to ${MAX_PORT}`);
  return port === 0 ? choosePort([]) : port;
}

/** The first of `wanted` that nothing listens on, else any free port of the loopback address. */
async function choosePort(wanted: readonly (number | undefined)[]): Promise<number> {
  for (const port of wanted) {
    if (port !== undefined && (await tryPort(port)) !== undefined) return port;
  }
  const free = await tryPort(0);
  if (free === undefined) throw new Error('No port is free on 127.0.0.1.');
  return free;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}
