import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually';
import { DID_NOT_STRIKE, type Stand, SUBMIT_DOUBT_MS } from './stand';
import { instructionIn, POSTS } from './calls';
import { meddled, meddleWith, type Trial } from './trial';

/** It is delivered until the bank takes it. */
const ACCEPTED_WITHIN_MS = 10_000;

/** What comes to the bank that the service did not send, or not twice. */
export function networkTrials(): Trial[] {
  const twice = POSTS.flatMap((operation) =>
    [0, 250, 900].map((afterMs) =>
      meddled(
        `${operation} doubled by the network ${afterMs} ms later`,
        afterMs === 250,
        () => meddleWith(operation, { again: { afterMs } }),
        'outside',
      ),
    ),
  );
  return [
    ...twice,
    lateEffect('add doubled, bank accepts it after the submit', 'add'),
    {
      ...lateEffect('submit doubled, bank executes it again', 'submit'),
      stand: 'second-submit',
    },
    meddled('a payment in our instruction that is not ours', true, () =>
      meddleWith('add', { again: { afterMs: 0, change: strangers } }, 2),
    ),
    lateEffect('a payment that is not ours, accepted after the submit', 'add', strangers),
  ];
}

/** The same call again, or somebody else's, once the instruction was submitted: more moves than was approved. */
function lateEffect(fault: string, call: 'add' | 'submit', change?: (body: string) => string): Trial {
  return {
    fault,
    assumptions: 'outside',
    short: true,
    stand: 'add-after-submit',
    meet: async (stand, rows) => {
      const before = await moved(stand);
      const meddle = meddleWith(call, { again: { afterMs: 200, afterSubmit: true, change } });
      let struck: string | undefined;
      stand.proxy.meddle = async (exchange) => {
        const effect = await meddle(exchange);
        if (effect !== undefined) struck = instructionIn(exchange.path);
        return effect;
      };
      const id = await stand.pay(rows);
      await stand.payroll.until(id, ['SETTLED'], 20_000).catch(() => undefined);
      if (!wasSubmitted(stand, struck)) throw new Error(DID_NOT_STRIKE);
      await eventually(
        async () => (await moved(stand)) > before + rows.length,
        ACCEPTED_WITHIN_MS,
        () => `${DID_NOT_STRIKE}: the bank accepted nothing after the submit`,
      );
      // The service looks once more when it has doubted for so long.
      await sleep(SUBMIT_DOUBT_MS + 1_000);
      return id;
    },
  };
}

/** Whether the instruction was submitted: one that was given up, as where an add was not answered, never is. */
function wasSubmitted({ proxy }: Stand, instruction: string | undefined): boolean {
  return proxy.posts.some(
    ({ path, status = 0 }) =>
      path.endsWith('/submit') && status > 0 && status < 300 && instructionIn(path) === instruction,
  );
}

/** How often the bank has moved money. */
async function moved({ payroll }: Stand): Promise<number> {
  return (await payroll.ledger()).payees.reduce((sum, { count }) => sum + count, 0);
}

/** An add that nobody approved. */
function strangers(body: string): string {
  return body
    .replace(/"messageId":"[^"]*"/, '"messageId":"of-nobody"')
    .replace(/DE\d{20}/, 'NL91ABNA0417164300');
}
