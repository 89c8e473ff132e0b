import 'reflect-metadata';
import { ConfigurationError, readConfig } from './config/env';
import { startService } from './service';

/** The service alone, with the database and bank of its environment. */
async function main(): Promise<void> {
  // Who started this process over an IPC channel watches it; when that one dies, nobody does.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  const config = readConfig(process.env);
  const { url } = await startService(config);
  process.stdout.write(`${JSON.stringify({ url })}\n`);
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${message}\n`);
  process.exitCode = error instanceof ConfigurationError ? 78 : 1;
  setTimeout(() => process.exit(), 1_000).unref();
});
