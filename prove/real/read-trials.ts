import { setTimeout as sleep } from 'node:timers/promises';
import { execute, select } from '../../test/support/database';
import { wrongList } from '../../src/bank-sandbox/http/wrong-list';
import type { FaultScript } from '../../src/bank-sandbox/faults';
import { parseJson, writeJson } from '../../src/bank-sandbox/json';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import { type Moment, momentOf, MOMENTS } from './moment';
import type { Meddling } from './proxy';
import type { Stand } from './stand';
import { callOf } from './calls';
import { meddled, scripted, type Trial } from './trial';

const operation = 'listInstructionPaymentTransactions';

/** What the bank shows of a run, and what it does not. */
export function readTrials(): Trial[] {
  return [...listTrials(), ...statusTrials()];
}

/** What a list shows, and what people are asked about that; what is only missing is read again. */
const WRONG_LISTS: readonly { script: Pick<FaultScript, 'what' | 'field'>; expects?: AttentionKind[] }[] = [
  { script: { what: 'missing' } },
  // A record that is shown twice with one id is one payment.
  { script: { what: 'twice' } },
  { script: { what: 'foreign' }, expects: ['FOREIGN_RECORD'] },
  { script: { what: 'changed', field: 'amount' }, expects: ['ECHO_MISMATCH'] },
  { script: { what: 'changed', field: 'iban' }, expects: ['ECHO_MISMATCH'] },
];

function wrongLists(): Trial[] {
  return WRONG_LISTS.flatMap(({ script, expects }) =>
    MOMENTS.map((moment) => ({
      fault: `list with a record ${Object.values(script).join(' in ')} at the ${moment}`,
      assumptions: 'inside' as const,
      short: moment === 'gate',
      stand: 'patient' as const,
      instructions: 1,
      expects,
      meet: (stand: Stand, rows: Parameters<Trial['meet']>[1]) => {
        stand.proxy.meddle = wrongAt(stand, moment, script);
        return stand.pay(rows);
      },
    })),
  );
}

/**
 * The first page with records that is read at the moment is a wrong one. A bank that refuses a page 0 is asked for it twice,
 * and what follows the first time is read again: it is not what is judged.
 */
function wrongAt(stand: Stand, moment: Moment, script: Pick<FaultScript, 'what' | 'field'>): Meddling {
  let struck = false;
  let refusals = 0;
  return async ({ method, path, status, body }) => {
    if (struck || callOf(method, path) !== 'list') return undefined;
    if (status === 400) refusals += 1;
    if (status !== 200 || refusals === 1 || (await momentOf(stand, path)) !== moment) return undefined;
    const shown = { status, body: parseJson(body) };
    const wrong = wrongList(shown, { operation, kind: 'list-wrong', ...script });
    if (wrong === shown) return undefined;
    struck = true;
    return { body: writeJson(wrong.body) };
  };
}

function listTrials(): Trial[] {
  const moving = [1, -1].map((by) => ({
    ...scripted(`a row moving between pages, ${by > 0 ? 'skipped' : 'repeated'}`, by > 0, {
      operation,
      kind: 'list-moving',
      by,
      every: 2,
      times: 6,
    }),
    stand: 'small-pages' as const,
  }));
  return [
    ...wrongLists(),
    ...moving,
    { ...scripted('listing behind by the lag bound', true), stand: 'lagging' },
    {
      ...scripted('listing behind by twice the lag bound', false),
      stand: 'lagging-beyond',
      assumptions: 'outside',
    },
    { ...scripted('listing 60 s behind', false), stand: 'minute-behind', instructions: 1 },
    { ...scripted('page ignored', true), stand: 'ignores-pages' },
  ];
}

function statusTrials(): Trial[] {
  return [
    {
      ...meddled('a status nobody documents, for a moment', true, undocumented),
      stand: 'patient',
      expects: ['UNKNOWN_STATUS'],
    },
    {
      // Until people have decided what it means: the bank never shows more by itself.
      fault: 'a status nobody documents',
      assumptions: 'inside',
      short: true,
      stand: 'patient',
      meet: async (stand, rows) => {
        stand.proxy.meddle = ({ method, body }) =>
          method === 'GET' && body.includes(SETTLED)
            ? { body: body.replaceAll(SETTLED, '"value":"HALF_SETTLED"') }
            : undefined;
        const id = await stand.pay(rows);
        await stand.payroll.askedAbout(id, 'UNKNOWN_STATUS');
        await stand.decide(id);
        await stand.payroll.until(id, ['SETTLED'], 20_000);
        return id;
      },
      expects: ['UNKNOWN_STATUS'],
    },
    {
      fault: 'SETTLED, then FAILED',
      assumptions: 'inside',
      short: true,
      stand: 'patient',
      instructions: 1,
      expects: ['CONTRADICTION'],
      meet: (stand, rows) => {
        stand.proxy.meddle = settledThenFailed(stand);
        return stand.pay(rows);
      },
    },
    {
      fault: 'an abandoned instruction that moves',
      assumptions: 'outside',
      short: true,
      stand: 'plain',
      expects: ['INVARIANT_BREACH'],
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

/** Shown by the first reads that would show the end. */
export function undocumented(): Meddling {
  let left = 4;
  return ({ method, body }) => {
    if (method !== 'GET' || left === 0 || !body.includes(SETTLED)) return undefined;
    left -= 1;
    return { body: body.replaceAll(SETTLED, '"value":"HALF_SETTLED"') };
  };
}

/** The last payment is kept open until another is known to have settled, so that they are read again. */
export function settledThenFailed({ payroll }: Stand): Meddling {
  return async ({ method, body }) => {
    if (method !== 'GET' || !body.includes(SETTLED)) return undefined;
    const settled = await select(
      payroll.database.superuserUrl,
      `SELECT FROM payment WHERE status = 'SETTLED'
         AND pay_run_id = (SELECT id FROM pay_run ORDER BY created_at DESC LIMIT 1) LIMIT 1`,
    );
    if (settled.length > 0) return { body: body.replaceAll(SETTLED, '"value":"FAILED"') };
    const last = body.lastIndexOf('"paymentTransactionInternalInformation"');
    // Else nothing would be seen to settle: that answer is shown as it is.
    if (last === -1 || !body.slice(0, last).includes(SETTLED)) return undefined;
    const open = body.slice(last).replaceAll(SETTLED, '"value":"READY_FOR_PROCESSING"');
    return { body: body.slice(0, last) + open };
  };
}
