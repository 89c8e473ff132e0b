import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from '../../src/config/crash-point';
import { type Row } from '../../test/support/pay-rows';
import { eventually, PATIENCE } from '../../test/support/eventually';
import { type ServiceProcess } from '../../test/support/payroll';
import { aim, type Moment } from './moment';
import { saidAgain } from './said-again';
import { DID_NOT_STRIKE, type Stand } from './stand';
import { ANSWERS, type Trial } from './trial';

/** A crash point that is passed on the way of every run. */
interface OnTheWay {
  point: CrashPoint;
  /** The passes at which it is tried: two instructions pass most points twice. */
  hits: readonly number[];
  /** The call before it, which is in flight or has just been answered; a read at its moment. */
  call?: { operation: string; at?: Moment };
}

const LIST = 'listInstructionPaymentTransactions';
const BOTH = [1, 2];
const ON_THE_WAY: readonly OnTheWay[] = [
  { point: 'upload.stored', hits: [1] },
  { point: 'approval.recorded', hits: [1] },
  { point: 'build.initiate-intended', hits: BOTH, call: { operation: 'initiate' } },
  { point: 'build.initiated', hits: BOTH, call: { operation: 'initiate' } },
  { point: 'build.adds-intended', hits: BOTH, call: { operation: 'add' } },
  { point: 'build.adds-sent', hits: BOTH, call: { operation: 'add' } },
  { point: 'build.adds-recorded', hits: BOTH, call: { operation: 'add' } },
  { point: 'build.verified', hits: BOTH, call: { operation: 'getInstruction', at: 'check' } },
  { point: 'gate.passed', hits: [1], call: { operation: 'getAccount', at: 'gate' } },
  { point: 'submit.intended', hits: BOTH, call: { operation: 'submit' } },
  { point: 'submit.sent', hits: BOTH, call: { operation: 'submit' } },
  { point: 'submit.recorded', hits: BOTH, call: { operation: 'submit' } },
  { point: 'follow.read', hits: BOTH, call: { operation: LIST, at: 'following' } },
  { point: 'follow.recorded', hits: BOTH, call: { operation: LIST, at: 'following' } },
];
/** Those that only a fault leads to. */
const OFF_THE_WAY: readonly { point: CrashPoint; hits: readonly number[]; operation: string }[] = [
  { point: 'build.abandoned', hits: [1], operation: 'add' },
  { point: 'recovery.recorded', hits: BOTH, operation: 'submit' },
];
/** Those of the second person's word that a submit was not executed; from the second on, its deletion was answered. */
const AT_THE_DESK: readonly CrashPoint[] = [
  'burial.delete-intended',
  'burial.deleted',
  'burial.delete-recorded',
  'desk.confirmed',
];
/** The short proof leaves these out: it dies at those beside them, and the suites of killed adds and submits die here. */
const LONG_ONLY: readonly CrashPoint[] = [
  'build.adds-intended',
  'build.adds-sent',
  'build.adds-recorded',
  'gate.passed',
  'submit.intended',
  'submit.recorded',
  'upload.stored',
  'approval.recorded',
  'build.initiated',
  'build.verified',
  'follow.read',
  'follow.recorded',
  'burial.delete-intended',
  'burial.delete-recorded',
];
/** The answers of a call that changes something at the bank: besides those of every call, refusals and one that is none. */
const ANSWERS_TO_CHANGES = [...ANSWERS, 'garbage', '403', '422', '429'] as const;
/** After them nobody gets so far: without our access nothing is submitted. */
const NEVER_PASSED: readonly string[] = ['submit.intended:2 403'];
/** Here it is the first call that is answered so: the second is never sent, or needs no recovery. */
const FIRST_CALL: readonly CrashPoint[] = ['submit.intended', 'recovery.recorded'];
/** With the longest of the service's own pauses, on a quick machine. */
const DIES_WITHIN_MS = 30_000;
/** A commit so late finds the process that sent it dead. */
const LATE_MS = 700;

/** kill -9 at the k-th pass of each crash point, times the answers the call in flight can have. */
export function crashTrials(): Trial[] {
  const flights = ON_THE_WAY.flatMap(({ call }) => call ?? []);
  return [
    ...ON_THE_WAY.flatMap(crashes),
    ...OFF_THE_WAY.flatMap(({ point, hits, operation }) =>
      hits.map((hit) => crash({ point, hit }, { operation, kind: 'request-lost' })),
    ),
    ...AT_THE_DESK.map((point) => atTheDesk(point)),
    ...AT_THE_DESK.slice(1).flatMap((point) => ANSWERS_TO_CHANGES.map((kind) => atTheDesk(point, kind))),
    ...[...new Map(flights.map((call) => [call.operation, call])).values()].flatMap((call) =>
      (['hang', 'hang-before'] as const).map((kind) => inFlight(call, kind)),
    ),
  ];
}

/** A read that failed is made again, so only the first pass follows its answer. */
function crashes({ point, hits, call }: OnTheWay): Trial[] {
  const isRead = call?.at !== undefined;
  const answered = isRead ? [1] : hits;
  const kinds: readonly string[] = isRead ? ANSWERS : ANSWERS_TO_CHANGES;
  return [
    ...hits.map((hit) => crash({ point, hit })),
    ...answered.flatMap((hit) =>
      kinds.flatMap((kind) =>
        call === undefined || NEVER_PASSED.includes(`${point}:${hit} ${kind}`)
          ? []
          : crash({ point, hit }, { ...call, kind }),
      ),
    ),
  ];
}

/** @param answer the call that is answered so: its nth, or as many as the passes */
export function crash(
  { point, hit }: { point: CrashPoint; hit: number },
  answer?: { operation: string; at?: Moment; kind: string; nth?: number },
): Trial {
  const lost = point === 'submit.sent' && answer?.kind === 'late-commit';
  return {
    fault: `kill -9 at ${point}, hit ${hit}${answer === undefined ? '' : `, ${answer.kind}`}`,
    assumptions: 'inside',
    short:
      hit === 1 &&
      !LONG_ONLY.includes(point) &&
      (answer === undefined || lost || point === 'build.abandoned'),
    stand: 'plain',
    ...(answer?.at !== undefined && { instructions: 1 }),
    // Nobody knows of the refusal any more.
    ...(point === 'submit.sent' && isRefusal(answer?.kind) && { expects: ['SUBMIT_UNKNOWN'] as const }),
    meet: (stand, rows) =>
      resumed(stand, rows, async (begin) => {
        if (answer?.at !== undefined) aim(stand, answer.operation, answer.kind, answer.at);
        else if (answer !== undefined)
          await stand.payroll.fault({
            operation: answer.operation,
            kind: answer.kind,
            nth: answer.nth ?? (FIRST_CALL.includes(point) ? 1 : hit),
            delayMs: LATE_MS,
            retryAfterS: 1,
          });
        const dying = await stand.spawn({ PAYRUN_CRASH_AT: `${point}:${hit}` });
        await begin();
        await killed(dying);
      }),
  };
}

function isRefusal(kind = ''): boolean {
  return ['403', '422', '429'].includes(kind);
}

/** kill -9 while a submit that never left is declared not executed, times the answers to its deletion. */
function atTheDesk(point: CrashPoint, kind?: string): Trial {
  return {
    fault: `kill -9 at ${point}${kind === undefined ? '' : `, ${kind}`}`,
    assumptions: 'inside',
    short: kind === undefined && !LONG_ONLY.includes(point),
    stand: 'plain',
    expects: ['SUBMIT_UNKNOWN'],
    meet: async (stand, rows) => {
      const { payroll } = stand;
      await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
      const id = await stand.pay(rows);
      await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
      await payroll.endProcesses();
      const dying = await stand.spawn({ PAYRUN_CRASH_AT: `${point}:1` });
      if (kind !== undefined)
        await payroll.fault({
          operation: 'deleteInstruction',
          kind,
          nth: 1,
          delayMs: LATE_MS,
          retryAfterS: 1,
        });
      const asked = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
      const word = {
        action: 'NOT_EXECUTED',
        reason: 'decided in the proof',
        evidence: 'the word of the bank',
      };
      await saidAgain(() => payroll.as('operator').post(`${asked}/actions`, word));
      await saidAgain(() => payroll.confirm(asked)).catch(() => undefined);
      await killed(dying);
      await stand.restart();
      return id;
    },
  };
}

/** kill -9 while the bank has the call and does not answer. */
function inFlight(
  { operation, at }: { operation: string; at?: Moment },
  kind: 'hang' | 'hang-before',
): Trial {
  const executed = kind === 'hang' ? 'executed' : 'not executed';
  return {
    fault: `kill -9 while ${operation} is in flight, ${executed}`,
    assumptions: 'inside',
    short: operation === 'submit' && kind === 'hang-before',
    stand: 'plain',
    ...(at !== undefined && { instructions: 1 }),
    meet: (stand, rows) =>
      resumed(stand, rows, async (begin) => {
        const dying = await stand.spawn({ BANK_TIMEOUT_MS: String(2 * PATIENCE * DIES_WITHIN_MS) });
        if (at === undefined) await stand.payroll.fault({ operation, kind, nth: 1 });
        else aim(stand, operation, kind, at);
        await begin();
        await eventually(
          async () => (await stand.missed()).length === 0,
          DIES_WITHIN_MS,
          () => `${DID_NOT_STRIKE}: the call is not in flight`,
        );
        dying.process.kill('SIGKILL');
        await killed(dying);
      }),
  };
}

/** Waits for the end of a process. @throws where it is not by kill -9, or not in time */
async function killed({ ended }: ServiceProcess): Promise<void> {
  const how = await Promise.race([ended, sleep(PATIENCE * DIES_WITHIN_MS, 'alive', { ref: false })]);
  if (how === 'alive') throw new Error(`${DID_NOT_STRIKE}: nothing was killed`);
  if (how !== 'SIGKILL') throw new Error(`it was to be killed with -9: ${how}`);
}

/** A run that is begun by a process that dies, and ended by another: whoever had no answer asks again. */
async function resumed(
  stand: Stand,
  rows: readonly Row[],
  dieDuring: (begin: () => Promise<void>) => Promise<void>,
): Promise<string> {
  const { payroll } = stand;
  await payroll.endProcesses();
  const terms = { submitAt: new Date().toISOString() };
  await dieDuring(async () => {
    const uploaded = await stand.uploaded(rows, terms).catch(() => undefined);
    if (uploaded) await stand.approve(uploaded, rows).catch(() => undefined);
  });
  await stand.restart();
  const run = await stand.uploaded(rows, terms);
  if ((await payroll.run(run.id)).status === 'READY') await stand.approve(run, rows);
  return run.id;
}
