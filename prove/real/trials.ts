import { setTimeout as sleep } from 'node:timers/promises';
import { execute, select } from '../../test/support/database';
import { networkTrials } from './network-trials';
import { crashTrials, processTrials } from './process-trials';
import type { Meddling } from './proxy';
import { meddled, POSTS, scripted, type Trial } from './trial';

const READS = ['listInstructionPaymentTransactions', 'getInstruction'] as const;
const KINDS_OF_POSTS = [
  'answer-lost',
  'request-lost',
  'late-commit',
  '500-before',
  '500-after',
  'truncated',
  'hang',
  'hang-before',
  'garbage',
  'redirect',
] as const;
const KINDS_OF_READS = [
  'request-lost',
  '500-before',
  'truncated',
  'hang',
  'garbage',
  'redirect',
  '404',
] as const;
const READ_BY: Readonly<Record<number, string>> = { 1: 'check', 2: 'gate' };
/** In the short proof each kind meets one call. */
const SHORT_PAIRS = [
  'add late-commit',
  'submit answer-lost',
  'submit request-lost',
  'initiate 500-after',
  'add hang',
];
const SHORT_READS = ['getInstruction 404', 'listInstructionPaymentTransactions garbage'];

/** Every trial there is, in the order of the table. */
export function allTrials(): Trial[] {
  return [
    ...callTrials(),
    ...accessTrials(),
    ...echoTrials(),
    ...readTrials(),
    ...statusTrials(),
    ...networkTrials(),
    ...webhookTrials(),
    ...processTrials(),
    ...crashTrials(),
  ];
}

function callTrials(): Trial[] {
  const posts = POSTS.flatMap((operation) =>
    KINDS_OF_POSTS.map((kind) => {
      const name = `${operation} ${kind}`;
      return scripted(name, SHORT_PAIRS.includes(name), { operation, kind, nth: 2, delayMs: 400 });
    }),
  );
  // With one instruction the first read verifies it, and the second is the gate's.
  const reads = READS.flatMap((operation) =>
    KINDS_OF_READS.flatMap((kind) =>
      [1, 2].map((nth) => {
        const name = `${operation} ${kind}`;
        const short = nth === 2 && SHORT_READS.includes(name);
        return {
          ...scripted(`${name} at the ${READ_BY[nth]}`, short, { operation, kind, nth }),
          instructions: 1,
        };
      }),
    ),
  );
  return [...posts, ...reads];
}

function accessTrials(): Trial[] {
  return [
    scripted('401 at every 5th call', true, { operation: '*', kind: '401', every: 5, times: 3 }),
    {
      ...scripted('token endpoint down', false, { operation: 'token', kind: '500-before', times: 3 }),
      stand: 'credentials',
    },
    scripted('403 on submit only', true, { operation: 'submit', kind: '403', nth: 1 }),
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
  return ['amount', 'iban', 'messageId', 'currency'].map((field) =>
    scripted(`echo of an add with another ${field}`, field === 'iban', {
      operation: 'add',
      kind: 'echo-corrupted',
      field,
      nth: 2,
    }),
  );
}

function readTrials(): Trial[] {
  const operation = 'listInstructionPaymentTransactions';
  const wrong = (what: string, nth: number) => ({ operation, kind: 'list-wrong', what, nth });
  return [
    meddled('calculated totals one less', true, changeCount(-1, 2)),
    meddled('calculated totals one more', true, changeCount(1, 1)),
    ...['missing', 'twice', 'foreign', 'changed'].flatMap((what) =>
      [1, 2].map((nth) => {
        const name = `list with a record ${what} at the ${READ_BY[nth]}`;
        return { ...scripted(name, what === 'foreign', wrong(what, nth)), instructions: 1 };
      }),
    ),
    scripted('a row moving between pages', false, {
      operation,
      kind: 'list-moving',
      by: 1,
      every: 2,
      times: 3,
    }),
    { ...scripted('listing behind by the lag bound', true), stand: 'lagging' },
    { ...scripted('page ignored', false), stand: 'ignores-pages' },
  ];
}

const INSTRUCTION = /^\/[^?]*credit-transfers\/\d+$|customer-instructions\/\d+$/;

function changeCount(by: number, times: number): () => Meddling {
  return () => {
    let left = times;
    return ({ method, path, body }) => {
      if (method !== 'GET' || !INSTRUCTION.test(path) || left === 0) return undefined;
      left -= 1;
      const changed = body.replace(
        /("calculatedNbPaymentTransactions":)(\d+)/,
        (_all, name: string, count: string) => {
          return `${name}${Number(count) + by}`;
        },
      );
      return { body: changed };
    };
  };
}

function statusTrials(): Trial[] {
  return [
    meddled('a status nobody documents', true, () => {
      let left = 4;
      return ({ method, body }) => {
        if (method !== 'GET' || left === 0 || !body.includes('"SETTLED"')) return undefined;
        left -= 1;
        return { body: body.replaceAll('"value":"SETTLED"', '"value":"HALF_SETTLED"') };
      };
    }),
    { ...meddled('SETTLED, then FAILED', true, settledThenFailed), instructions: 1 },
    {
      fault: 'an abandoned instruction that moves',
      assumptions: 'outside',
      short: true,
      stand: 'plain',
      meet: async (stand, rows) => {
        await stand.payroll.fault({ operation: 'add', kind: 'request-lost', nth: 1 });
        const id = await stand.pay(rows);
        await stand.payroll.until(id, ['SETTLED'], 20_000);
        const { superuserUrl } = stand.payroll.database;
        const [abandoned] = await select<{ id: string }>(
          superuserUrl,
          `SELECT bank_instruction_id AS id FROM instruction WHERE status = 'ABANDONED' ORDER BY created_at DESC LIMIT 1`,
        );
        await stand.payroll.submitAtBank(abandoned?.id ?? '');
        await execute(superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
        await sleep(1_000);
        return id;
      },
    },
  ];
}

const SETTLED = '"value":"SETTLED"';

/** The last payment is kept open by the first answer, so that the others are read again. */
function settledThenFailed(): Meddling {
  let seen = 0;
  return ({ method, body }) => {
    if (method !== 'GET' || !body.includes(SETTLED)) return undefined;
    seen += 1;
    if (seen > 1) return { body: body.replaceAll(SETTLED, '"value":"FAILED"') };
    const last = body.lastIndexOf('"paymentTransactionInternalInformation"');
    const open = body.slice(last).replaceAll(SETTLED, '"value":"READY_FOR_PROCESSING"');
    return { body: body.slice(0, last) + open };
  };
}

function webhookTrials(): Trial[] {
  const kinds = ['doubled', 'reordered', 'late', 'replayed', 'forged', 'flooded', 'dropped'] as const;
  const scripts = kinds.map((kind): Trial => {
    const every = scripted(`webhooks ${kind}`, kind === 'forged' || kind === 'dropped', {
      operation: 'webhook',
      kind,
    });
    return { ...every, stand: 'hooked' };
  });
  return [
    ...scripts,
    {
      fault: 'a webhook that is signed and lies',
      assumptions: 'inside',
      short: true,
      stand: 'hooked',
      meet: async (stand, rows) => {
        await stand.payroll.fault({ operation: 'add', kind: 'late-commit', nth: 2, delayMs: 400 });
        const id = await stand.pay(rows);
        for (let n = 0; n < 20; n += 1) {
          const data = { status: 'SETTLED', customerInstructionId: n, paymentTransactionId: n };
          await stand.payroll.deliver(
            JSON.stringify({ id: String(n), event: 'payment_transaction.settled', data }),
          );
        }
        return id;
      },
    },
  ];
}
