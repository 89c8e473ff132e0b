import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from '../../src/config/crash-point';
import { payFile, type Row } from '../../test/support/pay-rows';
import { eventually } from '../../test/support/payroll';
import type { Stand } from './stand';
import { ANSWERS, type Trial } from './trial';

/** Each crash point, and the call before it, which is in flight or has just been answered. */
const CRASH_POINTS: Readonly<Record<CrashPoint, string | undefined>> = {
  'upload.stored': undefined,
  'approval.recorded': undefined,
  'build.initiate-intended': 'initiate',
  'build.initiated': 'initiate',
  'build.adds-intended': 'add',
  'build.adds-sent': 'add',
  'build.adds-recorded': 'add',
  'build.verified': 'getInstruction',
  'gate.passed': 'getInstruction',
  'submit.intended': 'submit',
  'submit.sent': 'submit',
  'submit.recorded': 'submit',
  'follow.read': 'listInstructionPaymentTransactions',
  'follow.recorded': 'listInstructionPaymentTransactions',
};
/** Two instructions pass most points twice. */
const HITS = [1, 2];

/** kill -9 at the k-th pass of each crash point, times the answers the call in flight can have. */
export function crashTrials(): Trial[] {
  const points = Object.entries(CRASH_POINTS) as [CrashPoint, string | undefined][];
  return [
    ...points.flatMap(([point, operation]) =>
      HITS.flatMap((hit) => [
        crash(point, hit),
        ...(operation === undefined ? [] : ANSWERS.map((kind) => crash(point, hit, { operation, kind }))),
      ]),
    ),
    ...[...new Set(Object.values(CRASH_POINTS))].flatMap((operation) =>
      operation === undefined
        ? []
        : (['hang', 'hang-before'] as const).map((kind) => inFlight(operation, kind)),
    ),
  ];
}

function crash(point: CrashPoint, hit: number, answer?: { operation: string; kind: string }): Trial {
  return {
    fault: `kill -9 at ${point}, hit ${hit}${answer === undefined ? '' : `, ${answer.kind}`}`,
    assumptions: 'inside',
    short: hit === 1 && (answer === undefined || (point === 'submit.sent' && answer.kind === 'late-commit')),
    stand: 'plain',
    meet: (stand, rows) =>
      resumed(stand, rows, async (begin) => {
        if (answer !== undefined) await stand.payroll.fault({ ...answer, nth: hit, delayMs: 700 });
        const dying = await stand.spawn({ PAYRUN_CRASH_AT: `${point}:${hit}` });
        await begin();
        // A point that is not passed so often is survived.
        await Promise.race([dying.ended, sleep(3_000)]);
      }),
  };
}

/** kill -9 while the bank has the call and does not answer. */
function inFlight(operation: string, kind: 'hang' | 'hang-before'): Trial {
  const executed = kind === 'hang' ? 'executed' : 'not executed';
  return {
    fault: `kill -9 while ${operation} is in flight, ${executed}`,
    assumptions: 'inside',
    short: operation === 'submit',
    stand: 'plain',
    meet: (stand, rows) =>
      resumed(stand, rows, async (begin) => {
        const { payroll } = stand;
        const dying = await stand.spawn();
        const callsOf = async () => (await payroll.calls())[operation] ?? 0;
        const before = await callsOf();
        await payroll.fault({ operation, kind, nth: 1 });
        await begin();
        await eventually(async () => (await callsOf()) > before, 10_000);
        dying.process.kill('SIGKILL');
        await dying.ended;
      }),
  };
}

/** A run that is begun by a process that dies, and ended by another: whoever had no answer asks again. */
async function resumed(
  stand: Stand,
  rows: readonly Row[],
  dieDuring: (begin: () => Promise<void>) => Promise<void>,
): Promise<string> {
  const { payroll } = stand;
  await payroll.endProcesses();
  const file = payFile(rows);
  const terms = { submitAt: new Date().toISOString() };
  await dieDuring(async () => {
    const uploaded = await payroll.upload(file, terms).catch(() => undefined);
    if (uploaded?.status === 201) await payroll.approve(uploaded.data).catch(() => undefined);
  });
  await stand.restart();
  const run = (await payroll.upload(file, terms)).data as { id: string; rootHash: string; total: string };
  if ((await payroll.run(run.id)).status === 'READY') await payroll.approve(run);
  return run.id;
}
