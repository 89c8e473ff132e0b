import { setTimeout as sleep } from 'node:timers/promises';
import { SUBMIT_DOUBT_MS } from './stand';
import { meddled, meddleWith, POSTS, type Trial } from './trial';

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
    lateEffect('add doubled, bank accepts it after the submit', 'add', 900),
    {
      ...lateEffect('submit doubled, bank executes it again', 'submit', 300),
      stand: 'second-submit',
    },
    meddled('a payment in our instruction that is not ours', true, () =>
      meddleWith('add', { again: { afterMs: 0, change: strangers } }, 2),
    ),
    lateEffect('a payment that is not ours, accepted after the submit', 'add', 900, strangers),
  ];
}

/** The same call again, or somebody else's, once the instruction was submitted. */
function lateEffect(
  fault: string,
  call: 'add' | 'submit',
  afterMs: number,
  change?: (body: string) => string,
): Trial {
  return {
    fault,
    assumptions: 'outside',
    short: true,
    stand: 'add-after-submit',
    meet: async (stand, rows) => {
      stand.proxy.meddle = meddleWith(call, { again: { afterMs, change } });
      const id = await stand.pay(rows);
      await stand.payroll.until(id, ['SETTLED'], 20_000).catch(() => undefined);
      // The service looks once more when it has doubted for so long.
      await sleep(SUBMIT_DOUBT_MS + 1_000);
      return id;
    },
  };
}

/** An add that nobody approved. */
function strangers(body: string): string {
  return body
    .replace(/"messageId":"[^"]*"/, '"messageId":"of-nobody"')
    .replace(/DE\d{20}/, 'NL91ABNA0417164300');
}
