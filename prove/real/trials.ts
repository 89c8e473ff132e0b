import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from '../../src/config/crash-point';
import { execute, select } from '../../test/support/database';
import { payFile, type Row } from '../../test/support/pay-rows';
import type { Line } from '../table';
import { cut } from './mix';
import { Elsewhere, type Meddling } from './proxy';
import { LEASE_MS, type Stand } from './stand';

/** One fault, made and met: `meet` arranges it, pays the rows meanwhile, and answers the run. */
export interface Trial {
  fault: string;
  assumptions: Line['assumptions'];
  /** Part of the short proof. */
  short: boolean;
  /** Which stand it needs: its bank's choices, webhooks, or credentials that end. */
  stand: StandKind;
  /** Of the run; 2 unless said otherwise. */
  instructions?: number;
  meet(stand: Stand, rows: readonly Row[]): Promise<string>;
}
export type StandKind =
  'plain' | 'hooked' | 'credentials' | 'lagging' | 'add-after-submit' | 'second-submit' | 'ignores-pages';

type Script = Record<string, unknown>;

const POSTS = ['initiate', 'add', 'submit'] as const;
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

const CRASH_POINTS: readonly CrashPoint[] = [
  'upload.stored',
  'approval.recorded',
  'build.initiate-intended',
  'build.initiated',
  'build.adds-intended',
  'build.adds-sent',
  'build.adds-recorded',
  'build.verified',
  'gate.passed',
  'submit.intended',
  'submit.sent',
  'submit.recorded',
  'follow.read',
  'follow.recorded',
];
/** What the call in flight comes to while the process dies. */
const ANSWERS: Readonly<Partial<Record<CrashPoint, readonly string[]>>> = {
  'build.initiated': ['answer-lost', 'request-lost', 'late-commit'],
  'build.adds-sent': ['answer-lost', 'request-lost', 'late-commit'],
  'submit.sent': ['answer-lost', 'request-lost', 'late-commit'],
};
const OPERATION_AT: Readonly<Partial<Record<CrashPoint, string>>> = {
  'build.initiated': 'initiate',
  'build.adds-sent': 'add',
  'submit.sent': 'submit',
};

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

/** A trial of scripted faults of the bank. */
function scripted(fault: string, short: boolean, ...scripts: Script[]): Trial {
  return {
    fault,
    assumptions: 'inside',
    short,
    stand: 'plain',
    meet: async (stand, rows) => {
      for (const script of scripts) await stand.payroll.fault(script);
      return stand.pay(rows);
    },
  };
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

/** A trial of what the network does. */
function meddled(
  fault: string,
  short: boolean,
  make: () => Meddling,
  assumptions: Line['assumptions'] = 'inside',
): Trial {
  return {
    fault,
    assumptions,
    short,
    stand: 'plain',
    meet: (stand, rows) => {
      stand.proxy.meddle = make();
      return stand.pay(rows);
    },
  };
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

function networkTrials(): Trial[] {
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

function processTrials(): Trial[] {
  const base = { assumptions: 'inside', stand: 'plain' } as const;
  return [
    {
      ...base,
      fault: 'four replicas on one run',
      short: true,
      meet: async (stand, rows) => {
        for (let n = 0; n < 3; n += 1) await stand.spawn({ PORT: '0' });
        const id = await stand.pay(rows);
        await stand.payroll.until(id, ['SETTLED'], 20_000).catch(() => undefined);
        await stand.restart();
        return id;
      },
    },
    ...[30, 150, 400].map((afterMs) => ({
      ...base,
      fault: `a replica stopped for twice its lease, ${afterMs} ms after the approval`,
      short: afterMs === 150,
      meet: async (stand: Stand, rows: readonly Row[]) => {
        const paused = await stand.restart();
        const other = await stand.spawn({ PORT: '0' });
        const id = await stand.pay(rows);
        await sleep(afterMs);
        paused.process.kill('SIGSTOP');
        await sleep(2 * LEASE_MS);
        paused.process.kill('SIGCONT');
        await stand.payroll.until(id, ['SETTLED'], 20_000).catch(() => undefined);
        stand.payroll.url = other.url;
        return id;
      },
    })),
    {
      ...base,
      fault: 'every button pressed five times at once',
      short: true,
      meet: async (stand, rows) => {
        const { payroll } = stand;
        const file = payFile(rows);
        const terms = { submitAt: new Date().toISOString() };
        const uploads = await five(() => payroll.upload(file, terms));
        const made = uploads.find(({ status }) => status === 201 || status === 200);
        const run = made?.data as { id: string; rootHash: string; total: string };
        await five(() => payroll.approve(run));
        await five(() =>
          payroll.as('operator').post(payroll.path(`/pay-runs/${run.id}/stop`), { reason: 'twice' }),
        );
        await five(() =>
          payroll.as('approver').post(payroll.path(`/pay-runs/${run.id}/resume`), { reason: 'twice' }),
        );
        return run.id;
      },
    },
    {
      ...base,
      fault: 'every connection to PostgreSQL cut, again and again',
      short: true,
      meet: async (stand, rows) => {
        const id = await stand.pay(rows);
        for (let n = 0; n < 8; n += 1) {
          await sleep(60);
          await cut(stand);
        }
        return id;
      },
    },
  ];
}

function five<T>(press: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: 5 }, press));
}

function crashTrials(): Trial[] {
  return CRASH_POINTS.flatMap((point) => [
    ...[1, 2].map((hit) => crash(point, hit, undefined, hit === 1)),
    ...(ANSWERS[point] ?? []).map((answer) => crash(point, 1, answer, false)),
  ]);
}

/** kill -9 at the k-th pass of a crash point, and another process after it. */
function crash(point: CrashPoint, hit: number, answer: string | undefined, short: boolean): Trial {
  return {
    fault: `kill -9 at ${point}, hit ${hit}${answer === undefined ? '' : `, ${answer}`}`,
    assumptions: 'inside',
    short,
    stand: 'plain',
    meet: async (stand, rows) => {
      const { payroll } = stand;
      await payroll.endProcesses();
      if (answer !== undefined) {
        await payroll.fault({ operation: OPERATION_AT[point], kind: answer, nth: 1, delayMs: 700 });
      }
      const dying = await stand.spawn({ PAYRUN_CRASH_AT: `${point}:${hit}` });
      const file = payFile(rows);
      const terms = { submitAt: new Date().toISOString() };
      const uploaded = await payroll.upload(file, terms).catch(() => undefined);
      if (uploaded?.status === 201) await payroll.approve(uploaded.data).catch(() => undefined);
      // A point that is not passed so often is survived.
      await Promise.race([dying.ended, sleep(3_000)]);
      await stand.restart();
      const run = (await payroll.upload(file, terms)).data as { id: string; rootHash: string; total: string };
      if ((await payroll.run(run.id)).status === 'READY') await payroll.approve(run);
      return run.id;
    },
  };
}
