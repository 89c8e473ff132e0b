import { BankClient } from '../../src/bank/client';
import { Clock } from '../../src/config/clock';
import { Config } from '../../src/config/env';
import { Database } from '../../src/database/database';
import { HookService } from '../../src/employer/hook.service';

it('a check of the hook that hangs holds the shutdown up for ten seconds at most', async () => {
  jest.useFakeTimers();
  const hanging = { exclusively: () => new Promise(() => undefined) } as unknown as Database;
  const settings = { PUBLIC_URL: 'https://payrun.example' } as Config;
  const hooks = new HookService(hanging, {} as BankClient, new Clock(), settings);
  void hooks.ensureHook();
  let over = false;
  void hooks.beforeApplicationShutdown().then(() => (over = true));
  await jest.advanceTimersByTimeAsync(9_000);
  expect(over).toBe(false);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(over).toBe(true);
  jest.useRealTimers();
});
