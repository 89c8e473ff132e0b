import { setTimeout as sleep } from 'node:timers/promises';
import { earliestExecutionDate } from '../../src/domain/business-day';
import { cut } from './record';
import { replicasTrial } from './replicas-trial';
import { stopTrials } from './stop-trials';
import type { Trial } from './trial';

const HOUR_MS = 3_600_000;

/** What befalls the processes of the service, their clocks and connections, and hasty people. */
export function processTrials(): Trial[] {
  const base = { assumptions: 'inside', stand: 'plain' } as const;
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
      ...base,
      fault: 'every connection to PostgreSQL cut, again and again',
      short: true,
      meet: async (stand, rows) => {
        const id = await stand.pay(rows);
        for (let n = 0; n < 8; n += 1) {
          await sleep(60);
          await cut(stand.payroll);
        }
        return id;
      },
    },
  ];
}

/** Shows a process another time from outside, before its first line. */
export function clockShiftedBy(shiftMs: number): string {
  const code = `const Real = Date;
    globalThis.Date = class Date extends Real {
      constructor(...given) { given.length > 0 ? super(...given) : super(Real.now() + ${shiftMs}); }
      static now() { return Real.now() + ${shiftMs}; }
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}
