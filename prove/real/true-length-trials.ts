import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '../../src/domain/durations';
import type { Row } from '../../test/support/pay-rows';
import { COMMITS, refuseFor, struck } from './database-trials';
import type { Stand } from './stand';
import type { Trial } from './trial';

const AWAY_MS = 10 * MINUTE_MS;
const WITHOUT_WEBHOOKS_MS = 60 * MINUTE_MS;
/** The longest of the service's own pauses is 15 minutes, and an answer that is lost is looked for that long again. */
const SETTLED_WITHIN_MS = 10 * MINUTE_MS;
const STRUCK_WITHIN_MS = MINUTE_MS;
/** Its payments settle when most of the hour is over, in ten steps. */
const STEP_MS = 5 * MINUTE_MS;

/** The settings of the other stands that a stand takes back: what is empty is as an operator finds it. */
const AS_DELIVERED = Object.fromEntries(
  [
    'TICK_MS',
    'BANK_TIMEOUT_MS',
    'SUBMIT_DOUBT_MS',
    'BANK_LAG_BOUND_MS',
    'LEASE_MS',
    'FOLLOW_DELAYS_MS',
    'FOLLOW_STEP_MS',
  ].map((name) => [name, '']),
);
export const TRUE_LENGTH = {
  database: { ownDatabase: true, settings: AS_DELIVERED, waitsMs: SETTLED_WITHIN_MS },
  hooked: { hooked: true, sandbox: { stepMs: STEP_MS }, settings: AS_DELIVERED, waitsMs: SETTLED_WITHIN_MS },
} as const;

/** What lasts long, as long as it lasts, met by a service with the settings it is delivered with. */
export function trueLengthTrials(): Trial[] {
  const long = { assumptions: 'inside', short: false } as const;
  return [
    {
      ...long,
      stand: 'true-length-hooked',
      fault: 'no webhooks for an hour',
      meet: async (stand, rows) => {
        await stand.payroll.fault({ operation: 'webhook', kind: 'dropped' });
        const begunMs = Date.now();
        const id = await stand.pay(rows);
        await stand.payroll.until(id, ['FOLLOWING'], SETTLED_WITHIN_MS);
        await sleep(begunMs + WITHOUT_WEBHOOKS_MS - Date.now());
        await stand.payroll.until(id, ['SETTLED'], SETTLED_WITHIN_MS);
        return id;
      },
    },
    ...Object.entries(COMMITS).map(([when, commit]): Trial => ({
      ...long,
      stand: 'true-length',
      fault: `PostgreSQL ten minutes away while ${when}`,
      meet: (stand, rows) => awayFor(stand, rows, commit),
    })),
  ];
}

async function awayFor(stand: Stand, rows: readonly Row[], commit: RegExp): Promise<string> {
  const { proxy } = stand.ownDatabase;
  let backMs = NaN;
  const over = proxy.atCommit(commit, 'passes').then(async () => {
    await refuseFor(proxy, AWAY_MS);
    backMs = Date.now();
  });
  const id = await struck(stand, rows, over, {
    overMs: STRUCK_WITHIN_MS + AWAY_MS,
    settledMs: SETTLED_WITHIN_MS,
  });
  stand.remark(`settled ${minutesSince(backMs)} minutes after the database came back`);
  return id;
}

function minutesSince(thenMs: number): string {
  return ((Date.now() - thenMs) / MINUTE_MS).toFixed(1);
}
