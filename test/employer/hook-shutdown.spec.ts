import { Logger } from '@nestjs/common';
import { BankClient } from '../../src/bank/client';
import { Clock } from '../../src/config/clock';
import { Config } from '../../src/config/env';
import { Shutdown } from '../../src/config/shutdown';
import { Database } from '../../src/database/database';
import { HookService } from '../../src/employer/hook.service';

it('a check of the hook that hangs holds the shutdown up for what is left of ten seconds', async () => {
  jest.useFakeTimers();
  jest.spyOn(Logger.prototype, 'log').mockImplementation();
  const hanging = { exclusively: () => new Promise(() => undefined) } as unknown as Database;
  const settings = { PUBLIC_URL: 'https://payrun.example' } as Config;
  const shutdown = new Shutdown();
  const hooks = new HookService(hanging, {} as BankClient, new Clock(), settings, shutdown);
  void hooks.ensureHook();
  let over = false;
  shutdown.onModuleDestroy();
  await jest.advanceTimersByTimeAsync(4_000);
  void hooks.beforeApplicationShutdown().then(() => (over = true));
  await jest.advanceTimersByTimeAsync(5_000);
  expect(over).toBe(false);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(over).toBe(true);
  jest.useRealTimers();
});
