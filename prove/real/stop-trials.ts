import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from '../../src/config/crash-point';
import { select } from '../../test/support/database';
import { type Row } from '../../test/support/pay-rows';
import { eventually } from '../../test/support/eventually';
import { type ServiceProcess } from '../../test/support/payroll';
import { declaredWhileHeld } from './late-submit-trials';
import { DID_NOT_STRIKE, LEASE_MS, type Stand } from './stand';
import type { Trial } from './trial';

/** What a replica holds where it is stopped. */
type Kind = 'RUN' | 'INSTRUCTION' | 'FOLLOW';

/** Where a replica is stopped, and what it holds there. */
const STOPS: readonly { point: CrashPoint; holds: Kind }[] = [
  { point: 'build.initiated', holds: 'INSTRUCTION' },
  { point: 'build.adds-intended', holds: 'INSTRUCTION' },
  { point: 'build.adds-sent', holds: 'INSTRUCTION' },
  { point: 'gate.passed', holds: 'RUN' },
  { point: 'submit.intended', holds: 'INSTRUCTION' },
  { point: 'submit.sent', holds: 'INSTRUCTION' },
  { point: 'follow.read', holds: 'FOLLOW' },
  { point: 'follow.recorded', holds: 'FOLLOW' },
];
/** A replica passes any of these points soon after the approval. */
const STOPS_WITHIN_MS = 15_000;
/** A transaction that it was stopped in is ended by the server after so long, and what that had locked is free. */
const TRANSACTION_MS = 4_000;
const TAKEN_OVER_WITHIN_MS = TRANSACTION_MS + 8 * LEASE_MS;
/** A submit leaves within five seconds of its intent, or not at all. */
const TOO_LATE_MS = 5_000;

interface Held {
  subject: string;
  epoch: number;
}

/** A replica is stopped while it holds a lease, and goes on when another has taken that over. */
export function stopTrials(): Trial[] {
  return [
    ...STOPS.map(({ point, holds }): Trial => ({
      fault: `a replica stopped for twice its lease at ${point}`,
      assumptions: 'inside',
      short: point === 'submit.intended',
      stand: 'plain',
      meet: async (stand, rows) => {
        const { id, stopped } = await stoppedAt(stand, rows, point, holds);
        await sleep(LEASE_MS);
        await wakeUp(stopped);
        return id;
      },
    })),
    {
      fault: 'a replica stopped at submit.intended until its submit was declared not executed',
      assumptions: 'inside',
      short: true,
      stand: 'plain',
      instructions: 1,
      expects: ['SUBMIT_UNKNOWN'],
      meet: async (stand, rows) => {
        const { payroll } = stand;
        const { id, stopped } = await stoppedAt(stand, rows, 'submit.intended', 'INSTRUCTION');
        if (!(await declaredWhileHeld(stand, id))) throw new Error('it could not be declared');
        const calls = (await payroll.calls()).submit ?? 0;
        await sleep(TOO_LATE_MS);
        await wakeUp(stopped);
        await eventually(
          () => saidUnsent(stand),
          TAKEN_OVER_WITHIN_MS,
          () => 'it did not say that it sent nothing',
        );
        if (((await payroll.calls()).submit ?? 0) > calls) throw new Error('the submit was sent late');
        return id;
      },
    },
  ];
}

/** Pays with two replicas, of which one stops at the point; answers when the other has taken over what it held. */
async function stoppedAt(
  stand: Stand,
  rows: readonly Row[],
  point: CrashPoint,
  holds: Kind,
): Promise<{ id: string; stopped: ServiceProcess }> {
  const { payroll } = stand;
  await payroll.endProcesses();
  const stopped = await stand.spawn({
    PAYRUN_CRASH_AT: `${point}:1:SIGSTOP`,
    DATABASE_STATEMENT_MS: String(TRANSACTION_MS),
  });
  const run = await stand.uploaded(rows);
  // The answer may be among what is stopped.
  const approved = stand.approve(run, rows).catch(() => undefined);
  await eventually(
    () => Promise.resolve(isStopped(stopped)),
    STOPS_WITHIN_MS,
    () => `${DID_NOT_STRIKE}: it was not stopped`,
  );
  const held = await heldBy(stand, stopped, holds);
  await stand.spawn({ PORT: '0' });
  await eventually(
    async () => (await epochOf(stand, held.subject)) > held.epoch,
    TAKEN_OVER_WITHIN_MS,
    () => 'nobody took over',
  );
  void approved;
  return { id: run.id, stopped };
}

/** Has it go on. */
async function wakeUp(stopped: ServiceProcess): Promise<void> {
  if (!isStopped(stopped)) throw new Error('it was not stopped any more');
  stopped.process.kill('SIGCONT');
  // What it was about to do, it does now.
  await sleep(LEASE_MS);
}

function isStopped({ process: { pid } }: ServiceProcess): boolean {
  return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .startsWith('T');
}

/** What it holds, run out or not: nobody else is there yet who takes it over. @throws where it is no lease of the kind */
async function heldBy({ payroll }: Stand, { process: { pid } }: ServiceProcess, kind: Kind): Promise<Held> {
  const [held] = await select<{ subject: string; epoch: string }>(
    payroll.database.superuserUrl,
    `SELECT subject_id AS subject, epoch FROM lease
     WHERE kind = $1 AND split_part(holder, ':', 2) = $2
     ORDER BY leased_until LIMIT 1`,
    [kind, String(pid)],
  );
  if (!held) throw new Error(`it was stopped without a lease of kind ${kind}`);
  return { subject: held.subject, epoch: Number(held.epoch) };
}

/** Whether the last submit that was intended is known not to have left. */
async function saidUnsent({ payroll }: Stand): Promise<boolean> {
  const [last] = await select<{ outcome: string | null }>(
    payroll.database.superuserUrl,
    `SELECT outcome FROM bank_call WHERE operation = 'submit' ORDER BY id DESC LIMIT 1`,
  );
  return last?.outcome === 'NO';
}

async function epochOf({ payroll }: Stand, subject: string): Promise<number> {
  const [lease] = await select<{ epoch: string }>(
    payroll.database.superuserUrl,
    'SELECT epoch FROM lease WHERE subject_id = $1',
    [subject],
  );
  return Number(lease?.epoch ?? 0);
}
