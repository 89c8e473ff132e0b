import { Registry } from 'prom-client';
import { BankUnreachable } from '../../src/bank/errors';
import { Config } from '../../src/config/env';
import { Database } from '../../src/database/database';
import { RestoreGuard, untoldRestores } from '../../src/database/restore-guard';
import { Metrics } from '../../src/http/metrics';
import { RestoreCheck } from '../../src/submission/restore-check';
import { RestoreOwners } from '../../src/submission/restore-owners';
import { RestoreSweep } from '../../src/submission/restore-sweep';
import { Restores } from '../../src/submission/restores';
import { SetClock } from '../schedule/schedules';

afterEach(() => jest.restoreAllMocks());

const NOW = '2026-03-10T10:00:00Z';

/** Restores at a database and a guard of which a tick asks so much, and nothing else. */
function restoresOf(
  database: Record<string, unknown>,
  check: () => Promise<boolean | null>,
  clock = new SetClock(NOW),
  { sweep = {}, owners = {}, check: ofEmployer = {} }: Record<string, Record<string, unknown>> = {},
): Restores {
  return new Restores(
    database as unknown as Database,
    { check } as unknown as RestoreGuard,
    sweep as unknown as RestoreSweep,
    owners as unknown as RestoreOwners,
    ofEmployer as unknown as RestoreCheck,
    clock,
    { registry: new Registry() } as unknown as Metrics,
    {} as Config,
  );
}

it('tries a bank again that could not be read after a restore, though the clock is set back meanwhile', async () => {
  let reads = 0;
  const since = () => {
    reads += 1;
    return Promise.reject(new BankUnreachable('a test', false));
  };
  const pending = { id: '1', dataUntil: new Date(NOW), noticedAt: new Date(NOW), employerIds: ['7'] };
  const fake = {
    outsideEmployers: (work: unknown) => Promise.resolve(work === untoldRestores ? [] : [pending]),
    inEmployer: () => Promise.resolve(false),
  };
  const passed = jest.spyOn(performance, 'now').mockReturnValue(1_000_000);
  const clock = new SetClock(NOW);
  const restores = restoresOf(fake, () => Promise.resolve(true), clock, { sweep: { since } });
  await restores.tick();
  clock.set('2026-03-10T09:00:00Z');
  passed.mockReturnValue(1_004_999);
  await restores.tick();
  expect(reads).toBe(1);
  passed.mockReturnValue(1_005_000);
  await restores.tick();
  expect(reads).toBe(2);
});

it('fails with the first error where why it failed cannot be kept either', async () => {
  const pending = { id: '1', dataUntil: new Date(NOW), noticedAt: new Date(NOW), employerIds: ['7'] };
  const inEmployer = jest.fn().mockResolvedValueOnce(false).mockRejectedValue(new Error('the second'));
  const fake = {
    outsideEmployers: (work: unknown) => Promise.resolve(work === untoldRestores ? [] : [pending]),
    inEmployer,
  };
  const since = () => Promise.reject(new Error('the first'));
  const restores = restoresOf(fake, () => Promise.resolve(true), new SetClock(NOW), { sweep: { since } });
  await expect(restores.tick()).rejects.toThrow('the first');
  expect(inEmployer).toHaveBeenCalledTimes(2);
});

it('takes over of one employer what waits for that, though the bank cannot be read for another', async () => {
  const pending = { id: '1', dataUntil: new Date(NOW), noticedAt: new Date(NOW), employerIds: ['7'] };
  const fake = {
    outsideEmployers: (work: unknown) => Promise.resolve(work === untoldRestores ? [] : [pending]),
    inEmployer: () => Promise.resolve(false),
    asWorker: () => Promise.resolve([{ id: '8' }]),
  };
  const nothing = { readable: true, unknown: [], moved: [], unidentified: [], unread: 0 };
  const adoptWaiting = jest.fn().mockResolvedValue(undefined);
  const reconcile = jest.fn().mockRejectedValue(new BankUnreachable('a test', false));
  const restores = restoresOf(fake, () => Promise.resolve(true), new SetClock(NOW), {
    sweep: { since: () => Promise.resolve(nothing) },
    owners: {
      of: () => Promise.resolve({ byEmployer: new Map(), ownerless: [] }),
      keepForgotten: () => Promise.resolve(),
    },
    check: { reconcile, adoptWaiting },
  });
  await restores.tick();
  expect([reconcile.mock.calls.length, adoptWaiting.mock.calls]).toEqual([1, [['8']]]);
});

it('tells what was noticed also where its witness cannot be written', async () => {
  const asked: unknown[] = [];
  const outsideEmployers = (work: unknown) => {
    asked.push(work);
    return Promise.resolve([]);
  };
  const restores = restoresOf({ outsideEmployers }, () => Promise.reject(new Error('ENOSPC')));
  await expect(restores.tick()).rejects.toThrow('ENOSPC');
  expect(asked).toEqual([untoldRestores]);
});

it('asks nothing more where there never was a restore', async () => {
  const transaction = jest.fn();
  const restores = restoresOf({ outsideEmployers: transaction, asWorker: transaction }, () =>
    Promise.resolve(null),
  );
  await restores.tick();
  expect(transaction).not.toHaveBeenCalled();
});
