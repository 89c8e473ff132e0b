import { setTimeout as sleep } from 'node:timers/promises';
import axios from 'axios';
import { earliestExecutionDate } from '../../src/domain/business-day';
import { select } from '../../test/support/database';
import { eventually } from '../../test/support/eventually';
import { cut } from './record';
import { replicasTrial } from './replicas-trial';
import { DID_NOT_STRIKE, type Stand } from './stand';
import { stopTrials } from './stop-trials';
import type { Trial } from './trial';

const HOUR_MS = 3_600_000;
/** The states in which a run is built, submitted and followed. */
const AT_WORK = ['BUILDING', 'SUBMITTING', 'FOLLOWING'] as const;
type AtWork = (typeof AT_WORK)[number];
/** Of every connection, in each of them. */
const CUTS = 3;
const CUT_WITHIN_MS = 20_000;
/** Of the bank whose payments take a minute from step to step. */
const SETTLES_WITHIN_MS = 15 * 60_000;

/** What befalls the processes of the service, their clocks and connections, and hasty people. */
export function processTrials(): Trial[] {
  return [
    replicasTrial(),
    ...stopTrials(),
    ...[-1, 1].map((hours): Trial => ({
      assumptions: 'inside',
      stand: 'shifted',
      fault: `the clock an hour ${hours < 0 ? 'slow' : 'fast'}`,
      short: hours > 0,
      meet: async (stand, rows) => {
        await stand.restart({ NODE_OPTIONS: clockShiftedBy(hours * HOUR_MS) });
        const shifted = new Date(Date.now() + hours * HOUR_MS);
        // An hour before midnight the other day may be the first that can be executed.
        const later = new Date(Math.max(Date.now(), shifted.getTime()));
        const executionDate = earliestExecutionDate(later, { cutOff: '23:59', timeZone: 'UTC' });
        const id = await stand.pay(rows, { executionDate });
        await sleep(2_000);
        const { status } = await stand.payroll.run(id);
        if (status !== 'APPROVED') throw new Error(`a replica with a wrong clock took up a run: ${status}`);
        if (executionDate > (await stand.payroll.bankDate()))
          await stand.payroll.bankClock(new Date(`${executionDate}T12:00:00Z`));
        await stand.restart();
        return id;
      },
    })),
    {
      assumptions: 'inside',
      // Nothing settles before its clock is moved on: a run that is read in doubt of its submits would end unfollowed.
      stand: 'settles-later',
      fault: 'every connection to PostgreSQL cut, again and again',
      short: true,
      meet: async (stand, rows) => {
        const connections = cutWhileAtWork(stand);
        const id = await stand.pay(rows);
        await eventually(
          () => AT_WORK.every((status) => connections[status] > 0),
          CUT_WITHIN_MS,
          () => `${DID_NOT_STRIKE}: so many connections were cut: ${JSON.stringify(connections)}`,
        );
        // On a closed day the bank is ahead of this machine.
        await axios.post(`${stand.payroll.bank.url}/sandbox/clock`, { advanceMs: SETTLES_WITHIN_MS });
        return id;
      },
    },
  ];
}

/**
 * Cuts every connection while the first requests to the bank of each state are on their way; answers how many there
 * were, once they are.
 */
function cutWhileAtWork({ payroll, proxy }: Stand): Record<AtWork, number> {
  const connections = { BUILDING: 0, SUBMITTING: 0, FOLLOWING: 0 };
  const left = { BUILDING: CUTS, SUBMITTING: CUTS, FOLLOWING: CUTS };
  proxy.ahead = async () => {
    const [run] = await select<{ status: string }>(
      payroll.database.superuserUrl,
      'SELECT status FROM pay_run ORDER BY created_at DESC LIMIT 1',
    );
    const status = AT_WORK.find((one) => one === run?.status);
    if (status === undefined || left[status] === 0) return false;
    left[status] -= 1;
    const cutNow = await cut(payroll);
    connections[status] += cutNow;
    return true;
  };
  return connections;
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
