import { setTimeout as sleep } from 'node:timers/promises';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import { eventually } from '../../test/support/eventually';
import { KINDS } from './call-trials';
import { aim } from './moment';
import type { Trial } from './trial';

const operation = 'getAccount';
const FAULTS = [...KINDS, '401', '403', '404', '429'] as const;
/** A read that such befalls is made again at once: only the second time it fails. */
const MADE_AGAIN = ['answer-lost', 'request-lost', 'garbage', 'truncated'] as const;
/** What people are asked where the gate could not read the balance; of all else it is read again. */
const ASKED: Readonly<Record<string, AttentionKind>> = {
  '401': 'CREDENTIALS',
  '403': 'CREDENTIALS',
  '404': 'ACCOUNT_UNUSABLE',
  'garbage twice': 'CONTRACT_DRIFT',
  'truncated twice': 'CONTRACT_DRIFT',
};
/** What hides the balance from us: it is compared a day later. */
const HIDDEN: readonly string[] = ['401', '403', '404'];
/** An answer that cannot be used is asked for again after half a minute. */
const PAID_WITHIN_MS = 45_000;
/** A gate that nobody held shut would have been tried again by then. */
const WOULD_HAVE_GONE_ON_MS = 1_000;
const LOOKED_AT_WITHIN_MS = 10_000;

/** What befalls the read of the balance: at the gate of a run, and when it is compared after the end. */
export function balanceTrials(): Trial[] {
  return [
    ...FAULTS.map((kind) => atTheGate(kind)),
    ...MADE_AGAIN.map((kind) => atTheGate(kind, 2)),
    ...FAULTS.map(afterTheEnd),
  ];
}

/** No run passes its gate before its balance is read well. */
function atTheGate(kind: string, times = 1): Trial {
  const what = times === 1 ? kind : `${kind} twice`;
  const asked = ASKED[what];
  return {
    ...trialOf(`${operation} ${what} at the gate`),
    expects: asked === undefined ? [] : [asked],
    meet: async (stand, rows) => {
      const aimed = aim(stand, operation, kind, 'gate', times);
      const id = await stand.pay(rows);
      await stand.untilStruck();
      if (asked === 'CREDENTIALS') {
        await stand.payroll.askedAbout(id, asked);
        await sleep(WOULD_HAVE_GONE_ON_MS);
        if (aimed.wasReadSince) throw new Error('it went on before people had decided');
        await stand.decide(id);
      }
      await stand.payroll.until(id, ['SETTLED'], PAID_WITHIN_MS);
      if (!aimed.wasReadSince) throw new Error('its gate was passed without the balance');
      return id;
    },
  };
}

/** Nobody is asked, and the run has ended: the balance is looked at again. */
function afterTheEnd(kind: string): Trial {
  return {
    ...trialOf(`${operation} ${kind} after the end`),
    expects: [],
    meet: async (stand, rows) => {
      const aimed = aim(stand, operation, kind, 'following');
      const id = await stand.pay(rows);
      await stand.untilStruck();
      if (HIDDEN.includes(kind)) return id;
      await eventually(
        () => aimed.wasReadSince,
        LOOKED_AT_WITHIN_MS,
        () => 'the balance was not looked at again',
      );
      return id;
    },
  };
}

function trialOf(fault: string): Omit<Trial, 'meet'> {
  return {
    fault,
    assumptions: 'inside',
    short: fault === `${operation} 500-before at the gate`,
    stand: fault.includes('hang') ? 'plain' : 'patient',
    instructions: 1,
  };
}
