import { setTimeout as sleep } from 'node:timers/promises';
import { execute, select } from '../../test/support/database';
import type { Meddling } from './proxy';
import { callOf, meddled, scripted, type Trial } from './trial';

const READ_BY: Readonly<Record<number, string>> = { 1: 'check', 2: 'gate' };
const operation = 'listInstructionPaymentTransactions';

/** What the bank shows of a run, and what it does not. */
export function readTrials(): Trial[] {
  return [...totalTrials(), ...listTrials(), ...statusTrials()];
}

/** Where a total is shown, and what stands before its digits. */
const TOTALS = {
  count: { call: 'get', place: /("calculatedNbPaymentTransactions":)(\d+)/ },
  cents: { call: 'get', place: /("calculatedAmount":\{"value":)(\d+)/ },
  'count of the submit': { call: 'submit', place: /("nbTransactions":)(\d+)/ },
  'cents of the submit': { call: 'submit', place: /("totalAmount":\{"value":)(\d+)/ },
} as const;

function totalTrials(): Trial[] {
  return (Object.keys(TOTALS) as (keyof typeof TOTALS)[]).flatMap((total) =>
    [-1, 1].map((by) =>
      meddled(`calculated ${total} one ${by < 0 ? 'less' : 'more'}`, true, () => changed(total, by)),
    ),
  );
}

/** Less at two reads, as a lagging bank shows it; more at one. */
function changed(total: keyof typeof TOTALS, by: number): Meddling {
  const { call, place } = TOTALS[total];
  let left = by < 0 ? 2 : 1;
  return ({ method, path, body }) => {
    if (callOf(method, path) !== call || left === 0 || !place.test(body)) return undefined;
    left -= 1;
    return {
      body: body.replace(place, (_all, name: string, digits: string) => `${name}${Number(digits) + by}`),
    };
  };
}

function listTrials(): Trial[] {
  const wrong = [
    { what: 'missing' },
    { what: 'twice' },
    { what: 'foreign' },
    { what: 'changed', field: 'amount' },
    { what: 'changed', field: 'iban' },
  ].flatMap((script) =>
    [1, 2].map((nth) => {
      const name = `list with a record ${Object.values(script).join(' in ')} at the ${READ_BY[nth]}`;
      const trial = scripted(name, nth === 2, { operation, kind: 'list-wrong', nth, ...script });
      return { ...trial, instructions: 1 };
    }),
  );
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
    ...wrong,
    ...moving,
    { ...scripted('listing behind by the lag bound', true), stand: 'lagging' },
    {
      ...scripted('listing behind by twice the lag bound', true),
      stand: 'lagging-beyond',
      assumptions: 'outside',
    },
    { ...scripted('listing 60 s behind', false), stand: 'minute-behind', instructions: 1 },
    { ...scripted('page ignored', true), stand: 'ignores-pages' },
  ];
}

function statusTrials(): Trial[] {
  return [
    meddled('a status nobody documents', true, () => {
      let left = 4;
      return ({ method, body }) => {
        if (method !== 'GET' || left === 0 || !body.includes(SETTLED)) return undefined;
        left -= 1;
        return { body: body.replaceAll(SETTLED, '"value":"HALF_SETTLED"') };
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
