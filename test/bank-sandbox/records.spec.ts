import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { PATHS } from '../../src/bank/types';
import { DEFAULT_WEBHOOK_SECRET } from '../../src/bank-sandbox/sandbox';
import type { Variants } from '../../src/bank-sandbox/variants';
import { addition, ALDER, BIRCH, type Json, paymentIdOf, Tester } from './client';
import { Receiver } from './receiver';

let bank: Tester;
const start = async (variants: Partial<Variants>, stepMs = 0): Promise<Tester> =>
  (bank = await Tester.start({ variants, stepMs }));
afterEach(() => bank.close());

const listed = async (): Promise<Json[]> => (await bank.get(PATHS.paymentTransactions())).body.items;
const identification = (payment: Json) =>
  payment.paymentTransactionInformation.paymentTransactionIdentification;

/** Every place of a record as a dotted path; free-form data is one place. */
function placesIn(value: Json, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => placesIn(item, `${path}[]`));
  if (value === null || typeof value !== 'object' || path.endsWith('externalData')) return [path];
  return Object.entries(value).flatMap(([key, item]) => placesIn(item, path === '' ? key : `${path}.${key}`));
}

it('doubles the spaces in names, in capitals too', async () => {
  await start({ respaceNames: true });
  const { id, customerInstructionOrderingParties } = await bank.initiate();
  expect(customerInstructionOrderingParties.debtor.name).toBe('Alder  Logistics  GmbH');
  const { body } = await bank.add(id);
  expect(body.paymentTransactionParties.creditor.name).toBe('Élodie  Martin');
  await bank.close();
  await start({ respaceNames: true, upperCaseNames: true });
  const other = await bank.initiate();
  expect((await bank.add(other.id)).body.paymentTransactionParties.creditor.name).toBe('ÉLODIE  MARTIN');
});

it('leaves the instruction out of lists in both places, not out of single records', async () => {
  await start({ omitFromLists: ['customerInstructionId'] });
  const { id, added } = await bank.pay([{}]);
  const [shown] = await listed();
  expect(shown).not.toHaveProperty('customerInstructionId');
  expect(identification(shown)).not.toHaveProperty('customerInstructionId');
  expect(identification(shown)).toMatchObject({ id: paymentIdOf(added[0]), messageId: 'm-1' });
  const single = await bank.payment(paymentIdOf(added[0]));
  expect([single.customerInstructionId, identification(single).customerInstructionId]).toEqual([id, id]);
});

describe('fields the document calls optional', () => {
  const PAYMENT_FIELDS = [
    'paymentTransactionInternalInformation.groupStatus.value',
    'paymentTransactionDateInformation.settlementDate',
    'paymentTransactionAmountInformation.chargeBearer',
    'paymentTransactionInformation.transactionType',
    'paymentTransactionInformation.paymentTransactionIdentification.customerInstructionId',
    'paymentTransactionInformation.paymentTransactionIdentification.externalTransactionId',
    'customerInstructionId',
    'paymentInstructionId',
    'externalData',
  ];
  const OPTIONAL = [...PAYMENT_FIELDS, 'paymentTransactionInternalInformation.groupStatus.label'];

  /** Every answer that holds payment records: of an add, an update, a direct submission, reads and lists. */
  async function everyPayment(): Promise<Json[]> {
    const { id, added } = await bank.pay([{}]);
    await bank.post('/sandbox/incoming-payments', { iban: ALDER.account!.iban, amountMinor: '700' });
    const open = await bank.initiate();
    const { body: edited } = await bank.add(open.id);
    const { paymentTransactionInformation } = addition({ messageId: 'm-2' });
    const path = PATHS.creditTransferPaymentTransaction(String(paymentIdOf(edited)));
    const { body: updated } = await bank.patch(path, { paymentTransactionInformation });
    const { paymentTransactionParties } = addition({ iban: BIRCH.account!.iban });
    const { body: direct } = await bank.post(PATHS.submitDirectly(), {
      ...(await bank.initiation()),
      paymentTransaction: {
        paymentTransactionAmountInformation: { instructedAmount: { currency: 'EUR', value: '500' } },
        paymentTransactionParties,
      },
    });
    const single = await bank.payment(paymentIdOf(added[0]));
    const ofInstruction = await bank.get(PATHS.instructionPaymentTransactions(String(id)));
    return [
      ...[...added, edited, updated, single, direct.paymentTransaction],
      ...(await listed()),
      ...ofInstruction.body.items,
    ];
  }

  it('are there by default, each somewhere', async () => {
    await start({});
    const places = (await everyPayment()).flatMap((payment) => placesIn(payment));
    expect(OPTIONAL.filter((path) => !places.includes(path))).toEqual([]);
  });

  it('are in no answer where the bank leaves them out, and all others are as they were', async () => {
    await start({});
    const sent = (await everyPayment()).map((payment) => placesIn(payment).sort());
    await bank.close();
    await start({ optionalFields: 'left-out' });
    const left = (await everyPayment()).map((payment) => placesIn(payment).sort());
    expect(left).toEqual(sent.map((places) => places.filter((place) => !OPTIONAL.includes(place))));
  });
});

describe('fields no document names', () => {
  const EXTENSION = { version: 2, notes: ['not in the document'], since: null, on: true };

  /** Objects of an answer that lack the extension; free-form data a client sent is left as it was. */
  function lacking(value: Json, path = ''): string[] {
    if (Array.isArray(value)) return value.flatMap((item) => lacking(item, `${path}[]`));
    if (value === null || typeof value !== 'object') return [];
    const { sandboxExtension, ...rest } = value;
    const inner = Object.entries(rest).flatMap(([key, item]) =>
      key === 'externalData' ? [] : lacking(item, `${path}.${key}`),
    );
    return sandboxExtension ? inner : [path, ...inner];
  }

  it('are in every object of records and envelopes, never in what a client sent to be echoed', async () => {
    await start({ unknownFields: true });
    const { id, added, submitted } = await bank.pay([{}]);
    const answers = [
      ...[...added, submitted, await bank.payment(paymentIdOf(added[0])), await bank.account('1001')],
      (await bank.get(PATHS.paymentTransactions())).body,
      (await bank.get(PATHS.products())).body,
      (await bank.get(PATHS.transaction('7000001'))).body,
      (await bank.get(PATHS.customerInstruction(String(id)))).body,
    ];
    for (const answer of answers) {
      expect(answer.sandboxExtension).toEqual(EXTENSION);
      expect(lacking(answer)).toEqual([]);
    }
    expect(added[0].externalData).toEqual({ row: 1.5 });
    expect(added[0].paymentTransactionAmountInformation.instructedAmount).toEqual({
      value: 12_345,
      currency: 'EUR',
      sandboxExtension: EXTENSION,
    });
  });

  it('change nothing of what is executed, of errors and of answers without a body', async () => {
    await start({ unknownFields: true });
    await bank.pay([{ value: 100 }]);
    expect((await bank.ledger()).payees[0]).toMatchObject({ count: 1, movedMinor: '100' });
    expect((await bank.submit(1)).body).toEqual({ code: 'NOT_FOUND', message: expect.any(String) });
    const { id } = await bank.initiate();
    expect(await bank.delete(PATHS.creditTransfer(String(id)))).toMatchObject({
      status: 204,
      body: undefined,
    });
  });
});

describe('the signature of a webhook', () => {
  const signed = (text: string): string =>
    createHmac('sha256', DEFAULT_WEBHOOK_SECRET).update(text).digest('hex');

  let receiver: Receiver | undefined;
  afterEach(() => receiver?.close());

  async function delivered(variants: Partial<Variants>) {
    receiver = await Receiver.start();
    await start(variants);
    const hook = { name: 'hook', url: receiver.url, events: ['identity.blocked'] };
    const { body } = await bank.post(PATHS.hooks(), hook);
    await bank.post(PATHS.hookIdentity(String(body.id), String(ALDER.identityId)));
    await bank.post(`/sandbox/identities/${ALDER.identityId}/block`);
    const [first] = await receiver.until(1);
    return first!;
  }

  it('is over the bytes that are sent, by default', async () => {
    const { raw, signature } = await delivered({});
    expect(raw).toBe(JSON.stringify(JSON.parse(raw)));
    expect(signature).toBe(signed(raw));
  });

  it('is over the compact form of what is sent otherwise, where the bank does so', async () => {
    const { raw, body, signature } = await delivered({ signs: 'compact-json' });
    expect(raw).toContain('\n  "event": "identity.blocked"');
    expect(signature).toBe(signed(JSON.stringify(body)));
    expect(signature).not.toBe(signed(raw));
  });
});

it('writes names and IBANs of a transaction as of everything else', async () => {
  await start({ respaceIbans: true, respaceNames: true, upperCaseNames: true });
  await bank.pay([{ iban: BIRCH.account!.iban }]);
  const { transactionId } = (await bank.ledger()).instructions[0].rows[0];
  const { body } = await bank.get(PATHS.transaction(transactionId));
  expect(body.externalData).toMatchObject({
    debtor: { name: 'ALDER  LOGISTICS  GMBH', accountId: 'DE70 9999 0000 0000 0010 01' },
    creditor: { name: 'ÉLODIE  MARTIN', accountId: 'DE43 9999 0000 0000 0010 02' },
  });
  expect(body.accountingEntries.map(({ accountOwner }: Json) => accountOwner.name)).toEqual([
    'ALDER  LOGISTICS  GMBH',
    'BIRCH  FOODS  SARL',
  ]);
  expect(body.contributions.map(({ name }: Json) => name)).toEqual([
    'PAYRUN  DISTRIBUTOR',
    'ALDER  LOGISTICS  GMBH',
    'BIRCH  FOODS  SARL',
  ]);
});

it('lists account.credited in subscriptions where the bank does', async () => {
  await start({ creditedEvent: true });
  const hook = { name: 'hook', url: 'http://127.0.0.1:9/', events: ['transaction.new'] };
  const { body } = await bank.post(PATHS.hooks(), hook);
  expect(body.events).toEqual(['transaction.new', 'account.credited']);
  expect((await bank.get(PATHS.hooks())).body).toEqual([body]);
  const asked = { ...hook, events: ['account.credited'] };
  expect((await bank.post(PATHS.hooks(), asked)).status).toBe(422);
});

it('echoes free-form data with whatever keys it has', async () => {
  await start({});
  const text = '{"__proto__":{"a":1},"constructor":"b","n":[{"__proto__":2}]}';
  const initiation = { ...(await bank.initiation()), externalData: undefined };
  const answer = await fetch(bank.url + PATHS.initiate(), {
    method: 'POST',
    headers: { authorization: 'Bearer sandbox-token', 'content-type': 'application/json' },
    body: JSON.stringify(initiation).replace(/}$/, `,"externalData":${text}}`),
  });
  expect(answer.status).toBe(201);
  expect(await answer.text()).toContain(`"externalData":${text}`);
});

it.each(['//', 'http://[', '//:x/'])('answers 400 to the request target %s', async (target) => {
  await start({});
  const { port } = new URL(bank.url);
  const status = await new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path: target }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    call.on('error', reject).end();
  });
  expect(status).toBe(400);
});

describe('a change of the debtor', () => {
  const patch = (id: number, value: string, name = 'Birch Foods') =>
    bank.patch(PATHS.creditTransfer(String(id)), {
      customerInstructionOrderingParties: { debtor: { name, accountId: { type: 'IBAN', value } } },
    });

  it('is applied to the instruction and its payments', async () => {
    await start({});
    const { id } = await bank.initiate();
    const { body: added } = await bank.add(id, { value: 100 });
    const { status, body } = await patch(id, BIRCH.account!.iban);
    expect(status).toBe(200);
    expect(body.customerInstructionOrderingParties.debtor).toMatchObject({
      name: 'Birch Foods',
      accountId: { value: BIRCH.account!.iban },
    });
    const { debtor } = (await bank.payment(paymentIdOf(added))).paymentTransactionParties;
    expect(debtor).toEqual(body.customerInstructionOrderingParties.debtor);
    await bank.submit(id);
    await bank.advance(0);
    expect((await bank.account('1001')).balance.value).toBe(25_000_000);
    expect((await bank.account('1002')).balance.value).toBe(100_000_000_000 - 100);
  });

  it('is refused for an account that is not held, not open, or paid by the instruction', async () => {
    await start({});
    const { id } = await bank.initiate();
    await bank.add(id, { iban: BIRCH.account!.iban });
    await bank.post('/sandbox/accounts/1003/block');
    const codes = ['FR1420041010050500013M02606', 'DE16999900000000001003', BIRCH.account!.iban].map(
      async (iban) => {
        const { status, body } = await patch(id, iban);
        return [status, body.code];
      },
    );
    expect(await Promise.all(codes)).toEqual([
      [422, 'DEBTOR_ACCOUNT_UNKNOWN'],
      [422, 'DEBTOR_ACCOUNT_NOT_OPENED'],
      [422, 'SAME_ACCOUNT'],
    ]);
    expect((await patch(id, ALDER.account!.iban, '')).body.code).toBe('FIELD_INVALID');
    const { body } = await bank.get(PATHS.customerInstruction(String(id)));
    expect(body.customerInstructionOrderingParties.debtor.name).toBe(ALDER.holderName);
    await bank.submit(id);
    expect((await patch(id, BIRCH.account!.iban)).status).toBe(409);
  });
});
