import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually';
import type { Row } from '../../test/support/pay-rows';
import { callOf } from './calls';
import { saidAgain } from './said-again';
import { DID_NOT_STRIKE, type Stand } from './stand';
import type { Trial } from './trial';

const reason = 'taken back in the proof';
/** Sending opens so long after the approval, and the word against it comes before. */
const OPENS_MS = 15_000;
/** Were it not for that word, the money would have moved so long after. */
const WOULD_HAVE_MOVED_MS = 2_000;
const HELD_WITHIN_MS = 10_000;

/** What people take back before any money moves: none of it may move afterwards. */
export function peopleTrials(): Trial[] {
  const base = { assumptions: 'inside', short: true, stand: 'plain', expects: [] } as const;
  return [
    {
      ...base,
      fault: 'an approval that is withdrawn before sending opens',
      meet: async (stand, rows) => {
        await stand.payroll.leaveTheLastMinutes();
        const submitAt = new Date(Date.now() + OPENS_MS);
        const id = await stand.pay(rows, { submitAt: submitAt.toISOString() });
        if (Date.now() > submitAt.getTime()) throw new Error(`${DID_NOT_STRIKE}: sending had opened`);
        await takeBack(stand, rows, 'DELETE', `/pay-runs/${id}/approvals`);
        await sleep(submitAt.getTime() + WOULD_HAVE_MOVED_MS - Date.now());
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
        const { isHeld, release } = holdAdds(stand);
        try {
          const id = await stand.pay(rows);
          await eventually(isHeld, HELD_WITHIN_MS, () => `${DID_NOT_STRIKE}: no add was held`);
          const { status } = await stand.payroll.run(id);
          if (status !== 'BUILDING') throw new Error(`the run is ${status}, not being built`);
          await takeBack(stand, rows, 'POST', `/pay-runs/${id}/cancellation`);
          return id;
        } finally {
          release();
        }
      },
    },
  ];
}

/** Has the network hold every add but the first until it is told otherwise. */
function holdAdds({ proxy }: Stand): { isHeld: () => boolean; release: () => void } {
  let release = (): void => undefined;
  const held = new Promise<void>((go) => (release = go));
  let adds = 0;
  proxy.ahead = async ({ method, path }) => {
    if (callOf(method, path) !== 'add') return false;
    adds += 1;
    if (adds === 1) return false;
    await held;
    return true;
  };
  return { isHeld: () => adds > 1, release };
}

/** @throws where the service refuses it */
async function takeBack(
  stand: Stand,
  rows: readonly Row[],
  method: 'POST' | 'DELETE',
  rest: string,
): Promise<void> {
  const { payroll } = stand;
  const request = { method, url: payroll.path(rest), data: { reason } };
  const { status } = await saidAgain(() => payroll.as('approver').request(request));
  if (status !== 200) throw new Error(`it could not be taken back: ${status}`);
  stand.disapprove(rows);
}
