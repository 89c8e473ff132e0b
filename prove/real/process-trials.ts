import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from '../../src/config/crash-point';
import { payFile, type Row } from '../../test/support/pay-rows';
import { cut } from './mix';
import { LEASE_MS, type Stand } from './stand';
import type { Trial } from './trial';

const HOUR_MS = 3_600_000;
const CRASH_POINTS: readonly CrashPoint[] = [
  'upload.stored',
  'approval.recorded',
  'build.initiate-intended',
  'build.initiated',
  'build.adds-intended',
  'build.adds-sent',
  'build.adds-recorded',
  'build.verified',
  'gate.passed',
  'submit.intended',
  'submit.sent',
  'submit.recorded',
  'follow.read',
  'follow.recorded',
];
/** What the call in flight comes to while the process dies. */
const ANSWERS: Readonly<Partial<Record<CrashPoint, readonly string[]>>> = {
  'build.initiated': ['answer-lost', 'request-lost', 'late-commit'],
  'build.adds-sent': ['answer-lost', 'request-lost', 'late-commit'],
  'submit.sent': ['answer-lost', 'request-lost', 'late-commit'],
};
const OPERATION_AT: Readonly<Partial<Record<CrashPoint, string>>> = {
  'build.initiated': 'initiate',
  'build.adds-sent': 'add',
  'submit.sent': 'submit',
};

/** What befalls the processes of the service, their clocks and connections, and hasty people. */
export function processTrials(): Trial[] {
  const base = { assumptions: 'inside', stand: 'plain' } as const;
  return [
    {
      ...base,
      fault: 'four replicas on one run',
      short: true,
      meet: async (stand, rows) => {
        for (let n = 0; n < 3; n += 1) await stand.spawn({ PORT: '0' });
        const id = await stand.pay(rows);
        await stand.payroll.until(id, ['SETTLED'], 20_000).catch(() => undefined);
        await stand.restart();
        return id;
      },
    },
    ...[30, 150, 400].map((afterMs) => ({
      ...base,
      fault: `a replica stopped for twice its lease, ${afterMs} ms after the approval`,
      short: afterMs === 150,
      meet: async (stand: Stand, rows: readonly Row[]) => {
        const paused = await stand.restart();
        const other = await stand.spawn({ PORT: '0' });
        const id = await stand.pay(rows);
        await sleep(afterMs);
        paused.process.kill('SIGSTOP');
        await sleep(2 * LEASE_MS);
        paused.process.kill('SIGCONT');
        await stand.payroll.until(id, ['SETTLED'], 20_000).catch(() => undefined);
        stand.payroll.url = other.url;
        return id;
      },
    })),
    {
      ...base,
      fault: 'every button pressed five times at once',
      short: true,
      meet: async (stand, rows) => {
        const { payroll } = stand;
        const file = payFile(rows);
        const terms = { submitAt: new Date().toISOString() };
        const uploads = await five(() => payroll.upload(file, terms));
        const made = uploads.find(({ status }) => status === 201 || status === 200);
        const run = made?.data as { id: string; rootHash: string; total: string };
        await five(() => payroll.approve(run));
        await five(() =>
          payroll.as('operator').post(payroll.path(`/pay-runs/${run.id}/stop`), { reason: 'twice' }),
        );
        await five(() =>
          payroll.as('approver').post(payroll.path(`/pay-runs/${run.id}/resume`), { reason: 'twice' }),
        );
        return run.id;
      },
    },
    ...[-1, 1].map((hours) => ({
      ...base,
      fault: `the clock an hour ${hours < 0 ? 'slow' : 'fast'}`,
      short: hours > 0,
      meet: async (stand: Stand, rows: readonly Row[]) => {
        await stand.restart({ NODE_OPTIONS: clockShiftedBy(hours * HOUR_MS) });
        const submitAt = new Date(Date.now() + hours * HOUR_MS).toISOString();
        const id = await stand.pay(rows, { submitAt });
        await stand.payroll.until(id, ['SETTLED'], 20_000).catch(() => undefined);
        await stand.restart();
        return id;
      },
    })),
    {
      ...base,
      fault: 'every connection to PostgreSQL cut, again and again',
      short: true,
      meet: async (stand, rows) => {
        const id = await stand.pay(rows);
        for (let n = 0; n < 8; n += 1) {
          await sleep(60);
          await cut(stand);
        }
        return id;
      },
    },
  ];
}

/** Shows a process another time from outside, before its first line. */
function clockShiftedBy(shiftMs: number): string {
  const code = `const Real = Date;
    globalThis.Date = class Date extends Real {
      constructor(...given) { given.length > 0 ? super(...given) : super(Real.now() + ${shiftMs}); }
      static now() { return Real.now() + ${shiftMs}; }
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

function five<T>(press: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: 5 }, press));
}

/** kill -9 at each crash point, with each answer the call in flight can have. */
export function crashTrials(): Trial[] {
  return CRASH_POINTS.flatMap((point) => [
    ...[1, 2].map((hit) => crash(point, hit, undefined, hit === 1)),
    ...(ANSWERS[point] ?? []).map((answer) => crash(point, 1, answer, false)),
  ]);
}

/** kill -9 at the k-th pass of a crash point, and another process after it. */
function crash(point: CrashPoint, hit: number, answer: string | undefined, short: boolean): Trial {
  return {
    fault: `kill -9 at ${point}, hit ${hit}${answer === undefined ? '' : `, ${answer}`}`,
    assumptions: 'inside',
    short,
    stand: 'plain',
    meet: async (stand, rows) => {
      const { payroll } = stand;
      await payroll.endProcesses();
      if (answer !== undefined) {
        await payroll.fault({ operation: OPERATION_AT[point], kind: answer, nth: 1, delayMs: 700 });
      }
      const dying = await stand.spawn({ PAYRUN_CRASH_AT: `${point}:${hit}` });
      const file = payFile(rows);
      const terms = { submitAt: new Date().toISOString() };
      const uploaded = await payroll.upload(file, terms).catch(() => undefined);
      if (uploaded?.status === 201) await payroll.approve(uploaded.data).catch(() => undefined);
      // A point that is not passed so often is survived.
      await Promise.race([dying.ended, sleep(3_000)]);
      await stand.restart();
      const run = (await payroll.upload(file, terms)).data as { id: string; rootHash: string; total: string };
      if ((await payroll.run(run.id)).status === 'READY') await payroll.approve(run);
      return run.id;
    },
  };
}
