import { createServer } from 'node:net';

/** The first of `wanted` that nothing listens on, else any free port of the loopback address. */
export async function choosePort(wanted: readonly (number | undefined)[]): Promise<number> {
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
