import { setTimeout as sleep } from 'node:timers/promises';
import type { Row } from '../../test/support/pay-rows';
import type { Stand } from './stand';
import type { Trial } from './trial';

const reason = 'taken back in the proof';
/** Sending opens so long after the approval, and the word against it comes before. */
const OPENS_MS = 4_000;
/** Were it not for that word, the money would have moved by then. */
const WOULD_HAVE_MOVED_MS = OPENS_MS + 2_000;

/** What people take back before any money moves: none of it may move afterwards. */
export function peopleTrials(): Trial[] {
  const base = { assumptions: 'inside', short: true, stand: 'plain', expects: [] } as const;
  return [
    {
      ...base,
      fault: 'an approval that is withdrawn before sending opens',
      meet: async (stand, rows) => {
        const submitAt = new Date(Date.now() + OPENS_MS).toISOString();
        const id = await stand.pay(rows, { submitAt });
        await takeBack(stand, rows, 'DELETE', `/pay-runs/${id}/approvals`);
        await sleep(WOULD_HAVE_MOVED_MS);
        const { status } = await stand.payroll.run(id);
        if (status !== 'READY') throw new Error(`the run is ${status} without an approval`);
        await takeBack(stand, rows, 'POST', `/pay-runs/${id}/cancellation`);
        return id;
      },
    },
    {
      ...base,
      fault: 'a run that is cancelled while it is built',
      meet: async (stand, rows) => {
        await stand.payroll.fault({ operation: 'add', kind: 'hang', nth: 2 });
        const id = await stand.pay(rows);
        await stand.untilStruck();
        const { status } = await stand.payroll.run(id);
        if (status !== 'BUILDING') throw new Error(`the run is ${status}, not being built`);
        await takeBack(stand, rows, 'POST', `/pay-runs/${id}/cancellation`);
        return id;
      },
    },
  ];
}

/** @throws where the service refuses it */
async function takeBack(
  stand: Stand,
  rows: readonly Row[],
  method: 'POST' | 'DELETE',
  rest: string,
): Promise<void> {
  const { payroll } = stand;
  const { status } = await payroll
    .as('approver')
    .request({ method, url: payroll.path(rest), data: { reason } });
  if (status !== 200) throw new Error(`it could not be taken back: ${status}`);
  stand.disapprove(rows);
}
