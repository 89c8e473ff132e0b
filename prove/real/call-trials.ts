import { aim, MOMENTS } from './moment';
import { Elsewhere } from './proxy';
import { type Call, CALLS, POSTS } from './calls';
import { ANSWERS, meddled, meddleWith, scripted, type Trial } from './trial';

const READS = ['listInstructionPaymentTransactions', 'getInstruction'] as const;
export const KINDS = [...ANSWERS, 'hang', 'hang-before', 'garbage', 'redirect'] as const;
/** Of these a submit is never seen, so people are asked. */
const NEVER_EXECUTED: readonly string[] = ['request-lost', '500-before', 'hang-before', 'redirect'];
/** In the short proof each call meets some kinds, and each kind some call; a read and a POST stand for the others. */
const SHORT = [
  'add late-commit',
  'add hang-before',
  'submit answer-lost',
  'submit request-lost',
  'submit late-commit',
  'initiate 500-after',
  'initiate truncated',
  'getInstruction 404 at the gate',
  'getInstruction answer-lost at the following',
  'listInstructionPaymentTransactions garbage at the gate',
  'listInstructionPaymentTransactions hang at the check',
  'add reset in the middle of its answer, time 1',
  'submit reset in the middle of its answer, time 1',
  'submit redirected to another host; the token stays',
  'get redirected to another host; the token stays',
];

/** What befalls each call, and each right to make it. */
export function callTrials(): Trial[] {
  const posts = POSTS.flatMap((operation) =>
    KINDS.map((kind) => {
      const name = `${operation} ${kind}`;
      const trial = scripted(name, SHORT.includes(name), { operation, kind, nth: 2, delayMs: 400 });
      const unknown = operation === 'submit' && NEVER_EXECUTED.includes(kind);
      return unknown ? { ...trial, expects: ['SUBMIT_UNKNOWN'] as const } : trial;
    }),
  );
  return [
    ...posts,
    ...READS.flatMap((operation) => readFaults(operation, 'plain')),
    ...readFaults('listPaymentTransactions', 'no-links'),
    ...CALLS.flatMap(resets),
    ...CALLS.map(redirected),
    ...accessTrials(),
    ...echoTrials(),
  ];
}

function readFaults(operation: string, stand: Trial['stand']): Trial[] {
  return [...KINDS, '404' as const].flatMap((kind) =>
    MOMENTS.map((moment): Trial => {
      const fault = `${operation} ${kind} at the ${moment}`;
      return {
        fault,
        assumptions: 'inside',
        short: SHORT.includes(fault),
        stand,
        instructions: 1,
        meet: async (met, rows) => {
          aim(met, operation, kind, moment);
          const id = await met.pay(rows);
          // What ended is read once more a little later.
          if (moment === 'following') await met.untilStruck();
          return id;
        },
      };
    }),
  );
}

function resets(call: Call): Trial[] {
  return [1, 2].map((nth) => {
    const fault = `${call} reset in the middle of its answer, time ${nth}`;
    return meddled(fault, SHORT.includes(fault), () => meddleWith(call, { reset: true }, nth));
  });
}

/** A redirect to another host, which must never see the token. */
function redirected(call: Call): Trial {
  const fault = `${call} redirected to another host; the token stays`;
  return {
    fault,
    assumptions: 'inside',
    short: SHORT.includes(fault),
    stand: 'plain',
    meet: async (stand, rows) => {
      const elsewhere = await Elsewhere.start();
      try {
        stand.proxy.meddle = meddleWith(call, { redirectTo: `${elsewhere.url}/elsewhere` });
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

function accessTrials(): Trial[] {
  const everyNth = ([1, 2, 3, 5, 7] as const).flatMap((every) => {
    const name = `401 at every call${every === 1 ? '' : `, ${every} apart`}`;
    const trial = scripted(name, every === 5, { operation: '*', kind: '401', every });
    const renewed = `${name}, with tokens that are renewed`;
    return [trial, { ...trial, fault: renewed, short: every === 3, stand: 'credentials' as const }];
  });
  const nth = Array.from({ length: 14 }, (_, index) => ({
    ...scripted(`401 at call ${index + 1} alone`, false, { operation: '*', kind: '401', nth: index + 1 }),
    stand: 'credentials' as const,
  }));
  const down = (['500-before', 'hang-before', 'garbage', 'request-lost', '401'] as const).map((kind) => ({
    ...scripted(`token endpoint down: ${kind}`, kind === '500-before', {
      operation: 'token',
      kind,
      every: 1,
      times: 4,
    }),
    stand: 'credentials' as const,
  }));
  return [
    ...everyNth,
    ...nth,
    ...down,
    {
      ...scripted('401 on the submit only, with tokens that are renewed', true, {
        operation: 'submit',
        kind: '401',
        nth: 1,
      }),
      stand: 'credentials',
      expects: ['SUBMIT_UNKNOWN'],
    },
    {
      ...scripted('403 on submit only', true, { operation: 'submit', kind: '403', every: 1 }),
      stand: 'patient',
      expects: ['CREDENTIALS', 'SUBMIT_REFUSED'],
    },
    scripted('429 in bursts', true, { operation: '*', kind: '429', every: 3, times: 6, retryAfterS: 1 }),
    scripted('500 to everything for a while', false, {
      operation: '*',
      kind: '500-before',
      every: 1,
      times: 12,
    }),
  ];
}

function echoTrials(): Trial[] {
  return ['amount', 'iban', 'messageId', 'currency'].map((field) => ({
    ...scripted(`echo of an add with another ${field}`, ['iban', 'amount'].includes(field), {
      operation: 'add',
      kind: 'echo-corrupted',
      field,
      nth: 2,
    }),
    stand: 'patient' as const,
    expects: ['ECHO_MISMATCH'] as const,
  }));
}
