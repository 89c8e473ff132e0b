import { setTimeout as sleep } from 'node:timers/promises';
import { Elsewhere, type Meddling } from './proxy';
import { SUBMIT_DOUBT_MS } from './stand';
import { meddled, POSTS, type Trial } from './trial';

/** What a network does to a request: sends it twice, or elsewhere. */
export function networkTrials(): Trial[] {
  const doubled = (operation: (typeof POSTS)[number], againAfterMs: number): Meddling => {
    let left = 1;
    return ({ method, path }) => {
      const hits = method === 'POST' && operationOf(path) === operation && left > 0;
      if (!hits) return undefined;
      left -= 1;
      return { againAfterMs };
    };
  };
  const twice = POSTS.flatMap((operation) =>
    [0, 250, 900].map((ms) => {
      const name = `${operation} doubled by the network ${ms} ms later`;
      return meddled(name, ms === 250, () => doubled(operation, ms), 'outside');
    }),
  );
  return [
    redirected(),
    ...twice,
    {
      ...meddled('add doubled, bank accepts it after the submit', true, () => doubled('add', 900), 'outside'),
      stand: 'add-after-submit',
      meet: async (stand, rows) => {
        stand.proxy.meddle = doubled('add', 900);
        const id = await stand.pay(rows);
        await stand.payroll.until(id, ['SETTLED'], 20_000).catch(() => undefined);
        // The service looks once more when it has doubted for so long.
        await sleep(SUBMIT_DOUBT_MS + 1_000);
        return id;
      },
    },
    {
      ...meddled('submit doubled, bank executes it again', true, () => doubled('submit', 300), 'outside'),
      stand: 'second-submit',
    },
  ];
}

/** A redirect to another host, which must never see the token. */
function redirected(): Trial {
  return {
    fault: 'redirect to another host; the token stays',
    assumptions: 'inside',
    short: true,
    stand: 'plain',
    meet: async (stand, rows) => {
      const elsewhere = await Elsewhere.start();
      try {
        let left = 3;
        stand.proxy.meddle = () =>
          (left -= 1) >= 0 ? { redirectTo: `${elsewhere.url}/elsewhere` } : undefined;
        const id = await stand.pay(rows);
        await stand.payroll.until(id, ['SETTLED', 'FOLLOWING'], 20_000);
        if (elsewhere.tokens.length > 0) throw new Error('a redirect was followed to another host');
        return id;
      } finally {
        await elsewhere.stop();
      }
    },
  };
}

/** The operation of a POST by its path. */
function operationOf(path: string): string {
  if (path.endsWith('/submit')) return 'submit';
  return /payment-transactions/.test(path) ? 'add' : 'initiate';
}
