import type { AttentionKind } from '../../src/pay-run/attention-words';
import { type Call, POSTS } from './calls';
import { refusedAfterAll, type Trial } from './trial';

const REFUSALS = [401, 403, 422, 429] as const;
type Refusal = (typeof REFUSALS)[number];

/** Of a refusal, whatever became of the call. */
const ASKED: Readonly<Partial<Record<`${Call} ${Refusal}`, readonly AttentionKind[]>>> = {
  'initiate 401': [],
  'initiate 403': ['CREDENTIALS'],
  'initiate 422': ['INITIATE_REFUSED'],
  'initiate 429': [],
  'submit 403': ['CREDENTIALS', 'SUBMIT_REFUSED'],
  'submit 422': ['SUBMIT_REFUSED'],
};
const SHORT: readonly string[] = ['submit 403'];
const PAID_WITHIN_MS = 20_000;

/** A POST that the bank refuses and has executed all the same; an add with a 422 is with the refused rows. */
export function refusalTrials(): Trial[] {
  return POSTS.flatMap((call) =>
    REFUSALS.flatMap((refusal) => (call === 'add' && refusal === 422 ? [] : trialOf(call, refusal))),
  );
}

/** What is submitted is known to be by a read, whatever people do. */
function trialOf(call: (typeof POSTS)[number], refusal: Refusal): Trial {
  const isSubmit = call === 'submit';
  return {
    fault: `${call} ${refusal} that was executed after all`,
    assumptions: 'inside',
    short: SHORT.includes(`${call} ${refusal}`),
    stand: refusal === 401 ? 'credentials' : 'patient',
    ...(isSubmit && { instructions: 1 }),
    expects: ASKED[`${call} ${refusal}`],
    meet: async (stand, rows) => {
      stand.proxy.meddle = refusedAfterAll(call, refusal, isSubmit ? 1 : 2);
      const id = await stand.pay(rows);
      if (isSubmit) await stand.payroll.until(id, ['SETTLED'], PAID_WITHIN_MS);
      return id;
    },
  };
}
