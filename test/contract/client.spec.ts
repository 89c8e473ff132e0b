import { isLosslessNumber } from 'lossless-json';
import { AmountCodec } from '../../src/bank/amount-codec';
import { BankClient } from '../../src/bank/client';
import { ContractDrift } from '../../src/bank/errors';
import { prepareAdd, prepareInitiate, SALARY_MARKS } from '../../src/bank/prepared';
import { answer, ScriptedBank, type SeenRequest } from '../bank/scripted-bank';
import { OTHER_CALLS, CLIENT_CALLS, FILTER, IDS } from './client-calls';
import type { Field } from './fields';
import { type Operation, type OperationName, OPERATIONS, pathOf } from './operations';
import { changedAt, example, faultsIn, type Json, type Place, placesIn, treeOf } from './shapes';
import { GROUP_STATUSES, STATUSES, UNEXPLAINED_EVENT } from './statuses';

type Named = Operation & { name: OperationName };
const ANSWERING = OPERATIONS.filter(({ response }) => response !== 'unshown');
const named = (operations: readonly Named[]) => operations.map((one) => [one.name, one] as const);

let bank: ScriptedBank;
let client: BankClient;
beforeAll(async () => {
  bank = await new ScriptedBank().listen();
  client = new BankClient({ baseUrl: bank.url, amountUnit: 'minor', token: 'T' });
});
afterAll(async () => {
  client.close();
  await bank.close();
});

/** The answer of an operation around one record of it. */
function around({ response }: Operation, one: Json): Json {
  if (response === 'unshown') return {};
  if (response.shape === 'record') return one;
  if (response.shape === 'array') return [one];
  return { items: [one], count: 1, limit: 20, offset: 0, sort: response.sort };
}

/** Performs an operation at a bank that answers with this body; gives the record the client made of it. */
async function answered(operation: Named, body: Json): Promise<Json> {
  bank.handler = (_request, response) => answer(response, operation.status ?? 200, body);
  const result = (await CLIENT_CALLS[operation.name](client)) as Json;
  if (operation.method !== 'GET') {
    if (result.kind === 'in-doubt') throw new Error(result.why);
    return result.value;
  }
  return Array.isArray(result) ? result[0] : result;
}

/** The fields a refused answer is refused for, whichever way the operation tells it; undefined when accepted. */
async function driftOf(operation: Named, body: Json): Promise<string | undefined> {
  bank.handler = (_request, response) => answer(response, operation.status ?? 200, body);
  try {
    const result = (await CLIENT_CALLS[operation.name](client)) as Json;
    if (operation.method === 'GET' || result.kind === 'yes') return undefined;
    expect(result.kind).toBe('in-doubt');
    return result.why as string;
  } catch (error) {
    expect(error).toBeInstanceOf(ContractDrift);
    return (error as Error).message;
  }
}

/** Ids and amounts are handed out as the text received: for comparing, every number is its text. */
function asText(value: Json): Json {
  if (isLosslessNumber(value)) return value.value;
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map(asText);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asText(inner)]));
}

function fullRecord({ response, name }: Named): { full: Json; places: Place[]; essential: Json } {
  if (response === 'unshown') return { full: {}, places: [], essential: {} };
  const tree = treeOf(response.of, name);
  return { full: example(tree, 'full'), places: placesIn(tree), essential: example(tree, 'essential') };
}

/** A record with a field nobody documented in each of its objects. */
function withExtras(value: Json): Json {
  if (Array.isArray(value)) return value.map(withExtras);
  if (value === null || typeof value !== 'object') return value;
  const inner = Object.entries(value).map(([key, one]) => [key, withExtras(one)]);
  return { ...Object.fromEntries(inner), addedLater: { cents: 1.5, codes: ['NEW'] } };
}

/** Any JSON will do. */
const isFree = ({ type, path }: Field): boolean =>
  type === 'null' || (type === 'object' && path === 'externalData');

describe('the client sends', () => {
  async function requestOf(name: OperationName, call = CLIENT_CALLS[name]): Promise<SeenRequest> {
    const operation = OPERATIONS.find((one) => one.name === name)!;
    const { full } = fullRecord(operation);
    bank.handler = (_request, response) => answer(response, 200, around(operation, full));
    bank.requests.length = 0;
    await call(client);
    return bank.requests[0]!;
  }

  function expectBody(operation: Operation, { body, headers }: SeenRequest): void {
    if (operation.request) {
      const sent = JSON.parse(body);
      expect(faultsIn(treeOf(operation.request), sent)).toEqual([]);
      const unsent = placesIn(treeOf(operation.request)).filter(
        ({ at }) => at.reduce((inner: Json, name) => inner?.[name], sent) === undefined,
      );
      expect(unsent.map(({ at }) => at.join('.'))).toEqual([]);
    } else if (operation.method !== 'PATCH') expect(body).toBe('');
    expect(headers['content-type']).toBe(body === '' ? undefined : 'application/json');
  }

  it.each(named(OPERATIONS))(
    '%s: its method, path and exactly the fields of its table',
    async (name, operation) => {
      const request = await requestOf(name);
      const url = new URL(request.url, bank.url);
      expect(`${request.method} ${url.pathname}`).toBe(`${operation.method} ${pathOf(operation, ...IDS)}`);
      expect(request.headers.authorization).toBe('Bearer T');
      expectBody(operation, request);
      const parameters = [...url.searchParams.keys()];
      if (operation.query) expect(parameters.sort()).toEqual([...operation.query].sort());
      else if (operation.response === 'unshown' || operation.response.shape !== 'list')
        expect(parameters).toEqual([]);
    },
  );

  it.each(OTHER_CALLS)('%s, as a pay run asks for it, as otherwise', async (name, call) => {
    const written = await requestOf(name, call);
    const built = await requestOf(name);
    expect([written.method, written.url, written.body]).toEqual([built.method, built.url, built.body]);
  });

  it('every filter of the payment-transaction list as it was given', async () => {
    const { url } = await requestOf('list payment transactions');
    expect(Object.fromEntries(new URL(url, bank.url).searchParams)).toMatchObject(FILTER);
  });

  it('the total as an array of Amount in steps of its own, amounts as numbers, and a string directly', async () => {
    const initiated = JSON.parse((await requestOf('initiate instruction')).body);
    const total = initiated.customerInstructionInformation.requestedTotalAmount;
    expect(total).toEqual([{ value: 1050, currency: 'EUR' }]);
    const direct = JSON.parse((await requestOf('submit directly')).body);
    expect(direct.paymentTransaction.paymentTransactionAmountInformation.instructedAmount).toEqual({
      value: '1050',
      currency: 'EUR',
    });
  });

  it('of a pay run nothing that the document does not name', () => {
    const codec = new AmountCodec('minor');
    const party = { name: 'Alder', iban: 'DE70999900000000001001', bic: 'SBOXDEFFXXX' };
    const initiate = prepareInitiate(
      {
        reference: 'REF',
        count: 2,
        totalMinor: 300n,
        currency: 'EUR',
        executionDate: '2026-03-10',
        debtor: { ...party, identityId: '9501' },
        externalData: { run: 'r' },
      },
      SALARY_MARKS,
      codec,
    );
    const add = prepareAdd(
      '7',
      {
        messageId: 'm',
        amountMinor: 5n,
        currency: 'EUR',
        creditor: party,
        remittance: 'Pay',
        externalData: {},
      },
      codec,
    );
    expect(faultsIn(treeOf('InitiateRequest'), JSON.parse(initiate.body))).toEqual([]);
    expect(faultsIn(treeOf('AddPaymentTransactionRequest'), JSON.parse(add.body))).toEqual([]);
  });
});

describe('the client accepts', () => {
  it.each(named(ANSWERING))(
    '%s with every documented field, and hands all of them out',
    async (_name, operation) => {
      const { full } = fullRecord(operation);
      expect(asText(await answered(operation, around(operation, full)))).toEqual(asText(full));
    },
  );

  it.each(named(ANSWERING))('%s with no more than what it cannot do without', async (_name, operation) => {
    const { essential } = fullRecord(operation);
    expect(asText(await answered(operation, around(operation, essential)))).toEqual(asText(essential));
  });

  it.each(named(ANSWERING))(
    '%s with fields and codes nobody documented, and keeps them',
    async (_name, operation) => {
      const { full, places } = fullRecord(operation);
      const coded = places.filter(({ field }) => field.observed && field.type === 'string');
      const recoded = coded.reduce((one, { at }) => changedAt(one, at, 'UNHEARD_OF'), full);
      const extended = withExtras(recoded);
      expect(asText(await answered(operation, around(operation, extended)))).toEqual(asText(extended));
    },
  );

  it.each(named(OPERATIONS.filter(({ response }) => response === 'unshown')))(
    '%s whatever its body holds',
    async (_name, operation) => {
      await expect(answered(operation, { anything: [1] })).resolves.not.toThrow();
    },
  );

  it.each([...STATUSES.map(({ value }) => value), 'UNHEARD_OF'])('the status %s', async (value) => {
    for (const name of ['get instruction', 'get payment transaction'] as const) {
      const operation = OPERATIONS.find((one) => one.name === name)!;
      const at = name === 'get instruction' ? [] : ['paymentTransactionInternalInformation'];
      const { full } = fullRecord(operation);
      const record = await answered(operation, changedAt(full, [...at, 'status'], { value, label: '' }));
      expect(at.reduce((inner, key) => inner[key], record).status.value).toBe(value);
    }
  });

  it.each([...GROUP_STATUSES, 'UNHEARD_OF'])('the group status %s', async (value) => {
    const operation = OPERATIONS.find(({ name }) => name === 'submit instruction')!;
    const { full } = fullRecord(operation);
    const grouped = changedAt(full, ['paymentTransactionsStatus', '0', 'groupStatus'], value);
    const record = await answered(operation, changedAt(grouped, ['groupStatus', 'value'], value));
    expect([record.groupStatus.value, record.paymentTransactionsStatus[0].groupStatus]).toEqual([
      value,
      value,
    ]);
  });

  it('a subscription that lists the event nobody explains', async () => {
    const operation = OPERATIONS.find(({ name }) => name === 'subscribe hook')!;
    const { full } = fullRecord(operation);
    const { events } = await answered(operation, { ...full, events: [UNEXPLAINED_EVENT] });
    expect(events).toEqual([UNEXPLAINED_EVENT]);
  });
});

/** No payment's status waits for a charge that cannot be read. */
const isCharge = (at: readonly string[]) => at.includes('chargesAmount');

/** A sum over nothing, or what an account does not show, may have no value, and the total of a group be missing. */
const SUMS = ['balance', 'availableBalance', 'calculatedAmount', 'totalAmount'];
const isNoSum = (at: readonly string[]) =>
  !at.includes('accountingEntries') &&
  (at.at(-1) === 'totalAmount' || (at.at(-1) === 'value' && SUMS.includes(at.at(-2) ?? '')));

/** One without a value is none. */
const isNoGroupStatus = (at: readonly string[]) => at.at(-1) === 'value' && at.at(-2) === 'groupStatus';

/** Nothing rests on them. */
const isLink = (at: readonly string[]) => at.includes('links');

describe('the client refuses', () => {
  it.each(named(ANSWERING))(
    '%s without a field it needs, and does without every other',
    async (_name, operation) => {
      const { full, places } = fullRecord(operation);
      const unexpected: string[] = [];
      for (const { at, field } of places) {
        const drift = await driftOf(operation, around(operation, changedAt(full, at, undefined)));
        const isNeeded =
          (field.essential ?? false) &&
          ![isCharge, isNoSum, isNoGroupStatus, isLink].some((isLeft) => isLeft(at));
        if ((drift !== undefined) !== isNeeded) unexpected.push(at.join('.'));
        // A field that may come in two shapes is named as a whole.
        if (drift) expect(drift).toContain(at.slice(0, -1).join('.'));
      }
      expect(unexpected).toEqual([]);
    },
  );

  it.each(named(ANSWERING))('%s with a field of another type', async (_name, operation) => {
    const { full, places } = fullRecord(operation);
    const accepted: string[] = [];
    for (const { at, field } of places) {
      if (isFree(field)) continue;
      const drift = await driftOf(operation, around(operation, changedAt(full, at, [['no such type']])));
      if (isCharge(at) || isLink(at)) {
        expect(drift).toBeUndefined();
        continue;
      }
      if (drift === undefined) accepted.push(at.join('.'));
    }
    expect(accepted).toEqual([]);
  });

  it.each(named(ANSWERING))('%s with a body that is no record', async (_name, operation) => {
    for (const body of ['[', '"text"', '{"items":{}}', '[[]]'])
      if (!(body === '{"items":{}}' && (operation.response as { of: string }).of.startsWith('Hook')))
        expect(await driftOf(operation, body)).toBeDefined();
  });
});
