import { Registry } from 'prom-client';
import { BankUnreachable } from '../../src/bank/errors';
import { Config } from '../../src/config/env';
import { BankLists } from '../../src/database/bank-lists';
import { Database } from '../../src/database/database';
import { RestoreGuard, untoldRestores } from '../../src/database/restore-guard';
import { Metrics } from '../../src/http/metrics';
import { RestoreCheck } from '../../src/submission/restore-check';
import { RestoreFence } from '../../src/submission/restore-fence';
import { RestoreOwners } from '../../src/submission/restore-owners';
import { RestoreSweep } from '../../src/submission/restore-sweep';
import { Restores } from '../../src/submission/restores';
import { WHOLE_SWEEP } from './whole-sweep';

afterEach(() => jest.restoreAllMocks());

const NOW = '2026-03-10T10:00:00Z';

/** Restores at a database and a guard of which a tick asks so much, and nothing else. */
function restoresOf(
  database: Record<string, unknown>,
  check: () => Promise<boolean | null>,
  {
    sweep = {},
    lists = {},
    owners = {},
    check: ofEmployer = {},
  }: Record<string, Record<string, unknown>> = {},
): Restores {
  const exclusivelyIfFree = (_name: string, work: () => Promise<void>) => work();
  const fence = {
    fence: (_employer: string, _restore: string, _sweep: unknown, findings: unknown) =>
      Promise.resolve({ findings, isOpen: false, gone: [], givenUp: [] }),
    endGone: () => Promise.resolve([]),
    allPassed: () => undefined,
  };
  return new Restores(
    { exclusivelyIfFree, ...database } as unknown as Database,
    { check } as unknown as RestoreGuard,
    sweep as unknown as RestoreSweep,
    { showsUnsubmitted: () => Promise.resolve(false), ...lists } as unknown as BankLists,
    owners as unknown as RestoreOwners,
    fence as unknown as RestoreFence,
    ofEmployer as unknown as RestoreCheck,
    { registry: new Registry() } as unknown as Metrics,
    { SUBMIT_DOUBT_MS: 120_000 } as Config,
  );
}

it('tries a bank again that could not be read after a restore', async () => {
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
  const restores = restoresOf(fake, () => Promise.resolve(true), { sweep: { since } });
  await restores.tick();
  passed.mockReturnValue(1_004_999);
  await restores.tick();
  expect(reads).toBe(1);
  passed.mockReturnValue(1_005_000);
  await restores.tick();
  expect(reads).toBe(2);
});

it('believes that a list cannot be read once it could not for two minutes, however long one reading takes', async () => {
  const pending = { id: '1', dataUntil: new Date(NOW), noticedAt: new Date(0), employerIds: ['7'] };
  const fake = {
    outsideEmployers: (work: unknown) => Promise.resolve(work === untoldRestores ? [] : [pending]),
    inEmployer: () => Promise.resolve(false),
  };
  let nowMs = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const told: boolean[] = [];
  const since = (_from: Date, lasted: boolean) => {
    told.push(lasted);
    nowMs += 180_000;
    return Promise.reject(new BankUnreachable('a test', true));
  };
  const restores = restoresOf(fake, () => Promise.resolve(true), { sweep: { since } });
  for (let n = 0; n < 3; n += 1) {
    await restores.tick();
    nowMs += 5_000;
  }
  expect(told).toEqual([false, false, true]);
});

it('fails with the first error where why it failed cannot be kept either', async () => {
  const pending = { id: '1', dataUntil: new Date(NOW), noticedAt: new Date(NOW), employerIds: ['7'] };
  const inEmployer = jest
    .fn()
    .mockResolvedValueOnce(false)
    .mockResolvedValueOnce(false)
    .mockRejectedValue(new Error('the second'));
  const fake = {
    outsideEmployers: (work: unknown) => Promise.resolve(work === untoldRestores ? [] : [pending]),
    inEmployer,
  };
  const since = () => Promise.reject(new Error('the first'));
  const restores = restoresOf(fake, () => Promise.resolve(true), { sweep: { since } });
  await expect(restores.tick()).rejects.toThrow('the first');
  expect(inEmployer).toHaveBeenCalledTimes(3);
});

it('takes over of one employer what waits for that, though the bank cannot be read for another', async () => {
  const pending = { id: '1', dataUntil: new Date(NOW), noticedAt: new Date(NOW), employerIds: ['7'] };
  const fake = {
    outsideEmployers: (work: unknown) => Promise.resolve(work === untoldRestores ? [] : [pending]),
    inEmployer: () => Promise.resolve(false),
    asWorker: () => Promise.resolve([{ id: '8' }]),
  };
  const adoptWaiting = jest.fn().mockResolvedValue(undefined);
  const reconcile = jest.fn().mockRejectedValue(new BankUnreachable('a test', false));
  const restores = restoresOf(fake, () => Promise.resolve(true), {
    sweep: { since: () => Promise.resolve(WHOLE_SWEEP) },
    owners: {
      of: () => Promise.resolve({ byEmployer: new Map(), ownerless: [] }),
      keepForgotten: () => Promise.resolve(),
    },
    check: { reconcile, adoptWaiting },
  });
  await restores.tick();
  expect([reconcile.mock.calls.length, adoptWaiting.mock.calls]).toEqual([1, [['8']]]);
});

it.each([
  ['at an earlier reading, of which the check has deleted what showed it', true, []],
  ['while runs were built, for a hundred days', false, [100]],
])('goes by what was seen %s: that the list shows what is not submitted', async (_when, isKept, days) => {
  const noticedAt = new Date(NOW);
  const pending = { id: '1', dataUntil: noticedAt, noticedAt, employerIds: ['7'], showsUnsubmitted: isKept };
  const fake = {
    outsideEmployers: (work: unknown) => Promise.resolve(work === untoldRestores ? [] : [pending]),
    inEmployer: () => Promise.resolve(false),
    asWorker: () => Promise.resolve([]),
  };
  const asked: number[] = [];
  const showsUnsubmitted = (within: number) => Promise.resolve(asked.push(within) > 0);
  const since = jest.fn().mockResolvedValue(WHOLE_SWEEP);
  const restores = restoresOf(fake, () => Promise.resolve(true), {
    sweep: { since },
    lists: { showsUnsubmitted },
    owners: {
      of: () => Promise.resolve({ byEmployer: new Map(), ownerless: [] }),
      keepForgotten: () => Promise.resolve(),
    },
    check: { reconcile: () => Promise.resolve() },
  });
  await restores.tick();
  expect(asked).toEqual(days);
  const before = { unknown: [], unidentified: [], showsUnsubmitted: true };
  expect(since.mock.calls).toEqual([[expect.any(Date), false, ['7'], before]]);
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
