import { Registry } from 'prom-client';
import { BankUnreachable, ReadFails } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { Outcome } from '../../src/bank/outcome';
import type { BankInstruction } from '../../src/bank/records';
import { Config } from '../../src/config/env';
import { BankLists } from '../../src/database/bank-lists';
import { Database } from '../../src/database/database';
import { RestoreGuard, untoldRestores } from '../../src/database/restore-guard';
import { isPastSubmit } from '../../src/domain/bank-status';
import { accountsOf } from '../../src/employer/account.store';
import type { BankCalls } from '../../src/employer/bank-calls';
import type { BankReads } from '../../src/employer/bank-reads';
import type { EmployerAccount } from '../../src/employer/employer.entity';
import type { Standing } from '../../src/employer/standing';
import { Metrics } from '../../src/http/metrics';
import type { InstructionReader } from '../../src/submission/read-back';
import { RestoreCheck } from '../../src/restore/restore-check';
import { heldWork, RestoreFence, seenAgain } from '../../src/restore/restore-fence';
import { RestoreOwners } from '../../src/restore/restore-owners';
import { RestoreSweep, type Sweep } from '../../src/restore/restore-sweep';
import type { Finding } from '../../src/restore/restore-words';
import { Restores } from '../../src/restore/restores';
import type { Work } from '../../src/submission/work';
import { WHOLE_SWEEP } from './whole-sweep';

afterEach(() => jest.restoreAllMocks());

const NOW = '2026-03-10T10:00:00Z';

const noneOwned = () => Promise.resolve({ byEmployer: new Map(), ownerless: [] });

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
    { of: noneOwned, keepForgotten: () => Promise.resolve(), ...owners } as unknown as RestoreOwners,
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
    return Promise.resolve({ ...WHOLE_SWEEP, failure: new BankUnreachable('a test', false) });
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
    return Promise.resolve({ ...WHOLE_SWEEP, failure: new BankUnreachable('a test', true) });
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
    check: { reconcile: () => Promise.resolve() },
  });
  await restores.tick();
  expect(asked).toEqual(days);
  const before = { unknown: [], moved: [], unidentified: [], showsUnsubmitted: true };
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

it.each([
  ['the list failed behind what it showed', new BankUnreachable('a test', true), undefined],
  ['its check was not brought to its end', undefined, new BankUnreachable('a test', true)],
])('knows what an earlier pass was shown, where %s', async (_how, failure, failed) => {
  const noticedAt = new Date(NOW);
  const pending = { id: '1', dataUntil: noticedAt, noticedAt, employerIds: ['7'], unpassed: ['7'] };
  const fake = {
    outsideEmployers: (work: unknown) => Promise.resolve(work === untoldRestores ? [] : [pending]),
    inEmployer: () => Promise.resolve(false),
    asWorker: () => Promise.resolve([]),
  };
  const shown = {
    unknown: [{ bankInstructionId: 'X' }],
    moved: [{ status: 'SETTLED' }],
    unidentified: ['9'],
  };
  const since = jest
    .fn()
    .mockResolvedValueOnce({ ...WHOLE_SWEEP, ...shown, failure })
    .mockResolvedValue(WHOLE_SWEEP);
  const reconcile = jest.fn().mockResolvedValue(undefined);
  if (failed) reconcile.mockRejectedValueOnce(failed);
  const keepForgotten = jest.fn().mockResolvedValue(undefined);
  const restores = restoresOf(fake, () => Promise.resolve(true), {
    sweep: { since },
    owners: { keepForgotten },
    check: { reconcile },
  });
  const passed = jest.spyOn(performance, 'now').mockReturnValue(1_000_000);
  await restores.tick();
  expect(keepForgotten).toHaveBeenCalledWith('1', expect.objectContaining(shown), expect.anything());
  expect(reconcile).toHaveBeenCalledTimes(failure ? 0 : 1);
  passed.mockReturnValue(1_010_000);
  await restores.tick();
  const before = expect.objectContaining({ ...shown, showsUnsubmitted: false }) as unknown;
  expect(since).toHaveBeenLastCalledWith(expect.anything(), false, ['7'], before);
  // Of what this one showed again, the one before it told more.
  passed.mockReturnValue(1_020_000);
  await restores.tick();
  const unknown = expect.objectContaining({ unknown: shown.unknown }) as unknown;
  expect(since).toHaveBeenLastCalledWith(expect.anything(), false, ['7'], unknown);
});

describe('what was fenced after a restore, by a later list of the bank', () => {
  const finding = (status: string, bankInstructionId = '4711', isUnclear = false) =>
    ({ bankInstructionId, status, submitted: isPastSubmit(status), isUnclear }) as Finding;
  const fenced = finding('INITIATED');
  const seen = (own: Finding[], unidentified: string[] = []) =>
    seenAgain([fenced], own, { ...WHOLE_SWEEP, unidentified });

  it('is as the delete left it where it is shown no more, or as ended unpaid', () => {
    expect(seen([])).toEqual([fenced]);
    expect(seen([finding('CANCELLED')])).toEqual([fenced]);
  });

  it('was submitted where it is shown so', () => {
    expect(seen([finding('SUB_STARTED')])).toEqual([finding('SUB_STARTED')]);
    const before = finding('SUB_STARTED');
    expect(seenAgain([before], [finding('SETTLED')], WHOLE_SWEEP)).toEqual([finding('SETTLED')]);
    expect(seenAgain([before], [], WHOLE_SWEEP)).toEqual([before]);
  });

  it('is unclear where it is shown as it was, in a status that nobody documents, or not so that it can be told whose it is', () => {
    for (const status of ['INITIATED', 'PRO_ODD'])
      expect(seen([finding(status)])).toEqual([finding(status, '4711', true)]);
    expect(seen([], ['4711'])).toEqual([finding('INITIATED', '4711', true)]);
    expect(seen([], ['4712'])).toEqual([fenced]);
  });

  it('is beside what only that list shows, which nobody has deleted: that is unclear before its submit', () => {
    const others = [finding('INITIATED', '4712'), finding('SETTLED', '4713')];
    expect(seen(others)).toEqual([fenced, finding('INITIATED', '4712', true), finding('SETTLED', '4713')]);
  });
});

describe('what a restored database has forgotten, and the bank shows as before its submit', () => {
  const GONE = { kind: 'in-doubt', status: 404, why: 'not found' } as const;
  const YES = { kind: 'yes', value: undefined, status: 204 } as const;
  const finding = (change: Partial<Finding> = {}) =>
    ({
      bankInstructionId: '4711',
      status: 'INITIATED',
      submitted: false,
      isUnclear: false,
      payRunId: null,
      ...change,
    }) as Finding;
  const shown = (status: string): Partial<Standing> => ({
    shown: { status } as BankInstruction,
    statuses: [status],
  });
  const notFound = { isGone: true, statuses: [] };

  /** At a bank that shows it so, one read after the other, and answers deletes so. */
  async function fenced(
    shows: readonly Partial<Standing>[],
    answers: readonly Outcome<undefined>[],
    own = finding(),
    reads = ['INSTRUCTION', 'PAYMENT_LIST'],
    config = { BANK_LAG_BOUND_MS: 0, SUBMIT_DOUBT_MS: 0, WATCH_DAYS: 14 },
  ) {
    const [standings, deletes] = [[...shows], [...answers]];
    const account = { employerId: '7', reads } as EmployerAccount;
    const tx = { query: (sql: string) => Promise.resolve(sql.includes('restore_check') ? [{}] : []) };
    const inEmployer = (_id: string, work: (tx: unknown) => unknown) =>
      Promise.resolve(work === heldWork ? [] : work === accountsOf ? [account] : work(tx));
    const recorded = async (_call: unknown, send: () => unknown, check: (tx: unknown) => Promise<void>) => {
      await check(tx);
      return send();
    };
    const readMs: number[] = [];
    const standing = () => {
      readMs.push(performance.now());
      return Promise.resolve({ isGone: false, isUnclear: false, ...standings.shift() });
    };
    const deleteInstruction = jest.fn(() => Promise.resolve(deletes.shift()));
    const fence = new RestoreFence(
      { inEmployer } as unknown as Database,
      { deleteInstruction } as unknown as BankGateway,
      { recorded } as unknown as BankCalls,
      {} as InstructionReader,
      { standing } as unknown as BankReads,
      config,
    );
    const found = await fence.fence('7', '1', WHOLE_SWEEP, [own]);
    const [one] = found.findings;
    const lastReadAfterMs = (readMs.at(-1) ?? 0) - (readMs.at(-2) ?? 0);
    const { calls } = deleteInstruction.mock;
    return { isUnclear: one?.isUnclear, isOpen: found.isOpen, deletes: calls.length, lastReadAfterMs };
  }

  const outcome = async (...of: Parameters<typeof fenced>) => {
    const { isUnclear, isOpen, deletes } = await fenced(...of);
    return { isUnclear, isOpen, deletes };
  };

  it('is dead where it is shown as cancelled once it was deleted', async () => {
    const dead = { isUnclear: false, isOpen: false, deletes: 1 };
    expect(await outcome([shown('INITIATED'), shown('CANCELLED')], [YES])).toEqual(dead);
  });

  it('is dead where it is not found once it was deleted, and is refused to be deleted again; a list may show more', async () => {
    const dead = { isUnclear: false, isOpen: true, deletes: 2 };
    expect(await outcome([shown('INITIATED'), notFound], [YES, GONE])).toEqual(dead);
  });

  it.each<[string, Partial<Standing>[], Outcome<undefined>[], number]>([
    ['is deleted once more', [shown('INITIATED'), notFound], [YES, YES], 2],
    ['is not found before anything deleted it', [notFound], [GONE, GONE], 0],
    ['is refused to be deleted', [shown('INITIATED')], [GONE], 1],
    ['is shown as submitted once it was deleted', [shown('INITIATED'), shown('SUB_STARTED')], [YES], 1],
    ['is shown in a status that no document names', [shown('PRO_ODD'), notFound], [YES, GONE], 0],
    ['is shown as submitted', [shown('SUB_STARTED')], [YES, GONE], 0],
    [
      'has payments that are shown without it',
      [
        shown('INITIATED'),
        { isGone: true, statuses: ['INITIATED'] },
        { isGone: true, statuses: ['INITIATED'] },
      ],
      [YES, GONE],
      1,
    ],
  ])('is unclear where it %s', async (_what, shows, answers, deletes) => {
    expect(await outcome(shows, answers)).toEqual({ isUnclear: true, isOpen: true, deletes });
  });

  it('is not deleted where nobody can tell whether it was submitted, nor where no instruction may be read', async () => {
    const shows = [shown('INITIATED'), notFound];
    const unclear = finding({ isUnclear: true });
    expect(await outcome(shows, [YES, GONE], unclear)).toEqual({
      isUnclear: true,
      isOpen: false,
      deletes: 0,
    });
    const unread = await outcome(shows, [YES, GONE], finding(), ['PAYMENT_LIST']);
    expect(unread).toEqual({ isUnclear: true, isOpen: true, deletes: 0 });
  });

  it('is read again a lag bound after its delete where it is shown all the same, and then until that has lasted', async () => {
    const lags = [shown('INITIATED'), shown('INITIATED')];
    const reads = ['INSTRUCTION', 'PAYMENT_LIST'];
    const config = { BANK_LAG_BOUND_MS: 200, SUBMIT_DOUBT_MS: 60_000, WATCH_DAYS: 14 };
    const dead = await fenced([...lags, shown('CANCELLED')], [YES], finding(), reads, config);
    expect(dead).toMatchObject({ isUnclear: false, deletes: 1 });
    expect(dead.lastReadAfterMs).toBeGreaterThanOrEqual(195);
    const late = fenced([...lags, ...lags], [YES, YES], finding(), reads, config);
    await expect(late).rejects.toBeInstanceOf(ReadFails);
  });
});

describe('what the record holds as built, and a check after a restore had the bank delete', () => {
  const GONE = { kind: 'in-doubt', status: 404, why: 'not found' } as const;
  const YES = { kind: 'yes', value: undefined, status: 204 } as const;
  const NOT_FOUND = { isGone: true, isUnclear: false, statuses: [] };
  const work = {
    account: { reads: ['INSTRUCTION', 'PAYMENT_LIST'] },
    instruction: { id: '018f', employerId: '7', bankInstructionId: '4711' },
    run: { id: '1' },
  } as unknown as Work;

  /** At a bank that shows it so by then, and answers one more delete so. */
  function checked(sweep: Sweep, shows: Standing = NOT_FOUND, answer: Outcome<undefined> = GONE) {
    const tx = { query: () => Promise.resolve([{}]) };
    const inEmployer = jest.fn((_id: string, find: (tx: unknown) => unknown) => Promise.resolve(find(tx)));
    const deleteInstruction = jest.fn(() => Promise.resolve(answer));
    const fence = new RestoreFence(
      { inEmployer } as unknown as Database,
      { deleteInstruction } as unknown as BankGateway,
      { recorded: (_call: unknown, send: () => unknown) => send() } as unknown as BankCalls,
      { standing: () => Promise.resolve(shows) } as unknown as InstructionReader,
      {} as BankReads,
      { BANK_LAG_BOUND_MS: 0, SUBMIT_DOUBT_MS: 0, WATCH_DAYS: 14 },
    );
    const abandoned = jest.fn(() => Promise.resolve());
    Object.assign(fence, { abandon: abandoned });
    const done = (gone: readonly Work[]) => ({
      gone: gone.length,
      abandoned: abandoned.mock.calls.length,
      deletes: deleteInstruction.mock.calls.length,
    });
    return {
      fenced: async () => {
        inEmployer.mockResolvedValueOnce([[work], []]);
        return done((await fence.fence('7', '1', sweep, [])).gone);
      },
      ended: async () => {
        await fence.endGone('1', { findings: [], isOpen: false, gone: [work], givenUp: [] }, sweep);
        return done([]);
      },
      /** What is not proven dead of it, given up before the restore was noticed: once it was deleted, and at the end. */
      givenUp: async () => {
        inEmployer.mockResolvedValueOnce([[], [work]]);
        const fenced = await fence.fence('7', '1', sweep, []);
        return [fenced.givenUp.length, (await fence.endGone('1', fenced, sweep)).length];
      },
    };
  }
  const listed = (change: Partial<Sweep['moved'][number]>): Sweep => ({
    ...WHOLE_SWEEP,
    moved: [
      { status: 'SETTLED', bankInstructionId: '4712', instructionId: undefined, ...change },
    ] as Sweep['moved'],
  });

  it('is abandoned once no read shows it, nor the list, and it is refused to be deleted again', async () => {
    expect(await checked(WHOLE_SWEEP).fenced()).toEqual({ gone: 1, abandoned: 0, deletes: 0 });
    expect(await checked(WHOLE_SWEEP).ended()).toEqual({ gone: 0, abandoned: 1, deletes: 1 });
    expect(await checked(listed({})).ended()).toEqual({ gone: 0, abandoned: 1, deletes: 1 });
  });

  it.each([{ bankInstructionId: '4711' }, { instructionId: '018f' }])(
    'is left alone where the list shows that it was submitted (%j)',
    async (one) => {
      expect(await checked(listed(one)).fenced()).toEqual({ gone: 0, abandoned: 0, deletes: 0 });
      expect(await checked(listed(one)).ended()).toEqual({ gone: 0, abandoned: 0, deletes: 0 });
    },
  );

  it('is not abandoned where it is shown again, or is deleted once more', async () => {
    const again = {
      isGone: false,
      isUnclear: false,
      shown: { status: 'INITIATED' },
      statuses: ['INITIATED'],
    };
    const shownAgain = await checked(WHOLE_SWEEP, again as Standing).ended();
    expect(shownAgain).toEqual({ gone: 0, abandoned: 0, deletes: 0 });
    expect(await checked(WHOLE_SWEEP, NOT_FOUND, YES).ended()).toEqual({ gone: 0, abandoned: 0, deletes: 1 });
  });

  it('is told as not proven dead where it was given up before, until it is', async () => {
    const cancelled = {
      isGone: false,
      isUnclear: false,
      shown: { status: 'CANCELLED' },
      statuses: ['CANCELLED'],
    };
    expect(await checked(WHOLE_SWEEP, cancelled as Standing).givenUp()).toEqual([0, 0]);
    expect(await checked(WHOLE_SWEEP).givenUp()).toEqual([1, 0]);
    expect(await checked(WHOLE_SWEEP, NOT_FOUND, YES).givenUp()).toEqual([1, 1]);
    expect(await checked(listed({ bankInstructionId: '4711' })).givenUp()).toEqual([1, 1]);
  });
});
