import { SCOPES } from '../../src/bank/types';
import { verifySignature } from '../../src/bank/webhook-signature';
import { DEFAULT_TOKEN, DEFAULT_WEBHOOK_SECRET } from '../../src/bank-sandbox/sandbox';
import { ALDER, BIRCH, historyOf, PAYEE, statusesOf, Tester } from '../bank-sandbox/client';
import { pause, Receiver } from '../bank-sandbox/receiver';
import { ANSWERED } from './fields';
import { isLinkOnly, OPERATIONS, pathOf } from './operations';
import { type Answered, SandboxWalk, STEP_MS } from './sandbox-walk';
import { changedAt, faultsIn, type Json, linesSeenIn, RESOURCES, treeOf } from './shapes';
import {
  ACCOUNT_STATUSES,
  EVENTS,
  GROUP_STATUSES,
  LINK_RELS,
  SEQUENCES,
  STATUSES,
  TRANSACTION_TYPES,
} from './statuses';

let bank: Tester;
let receiver: Receiver;
let walk: SandboxWalk;
beforeAll(async () => {
  const without = (scope: string) => SCOPES.filter((other) => other !== scope);
  const tokens = SCOPES.map((scope) => ({ token: `without-${scope}`, scopes: without(scope) }));
  bank = await Tester.start({
    stepMs: STEP_MS,
    tokens: [{ token: DEFAULT_TOKEN, scopes: SCOPES }, { token: 'no-scope', scopes: [] }, ...tokens],
  });
  receiver = await Receiver.start();
  walk = new SandboxWalk(bank, receiver);
  await walk.all();
});
afterAll(async () => {
  await bank.close();
  await receiver.close();
});

const named = OPERATIONS.map((operation) => [operation.name, operation] as const);
const answering = named.filter(([, { response }]) => response !== 'unshown');

/** The records an answer holds. */
function recordsIn({ name, reply }: Answered): Json[] {
  const { response } = OPERATIONS.find((one) => one.name === name)!;
  if (response === 'unshown') return [];
  if (response.shape === 'record') return [reply.body];
  return response.shape === 'list' ? reply.body.items : reply.body;
}

const recordsOf = (resource: string): Json[] =>
  walk.answers
    .filter(({ name }) => {
      const { response } = OPERATIONS.find((one) => one.name === name)!;
      return response !== 'unshown' && response.of === resource;
    })
    .flatMap(recordsIn);

const instructions = (): Json[] => recordsOf('CustomerInstruction');
const payments = (): Json[] => [
  ...recordsOf('PaymentTransaction'),
  ...instructions().flatMap(({ paymentTransaction }) => paymentTransaction ?? []),
];
const histories = (): Json[][] => [
  ...instructions().map(({ history }) => history),
  ...payments().map(historyOf),
];

describe('the sandbox answers', () => {
  it.each(named)('%s with a success, and the one that is documented', (name, { status }) => {
    const statuses = walk.of(name).map(({ reply }) => reply.status);
    expect(statuses.length).toBeGreaterThan(0);
    expect(statuses.every((one) => one >= 200 && one <= 299)).toBe(true);
    if (status !== undefined) expect(new Set(statuses)).toEqual(new Set([status]));
  });

  it.each(answering)('%s with every field of its table and no other', (name, { response }) => {
    if (response === 'unshown') return;
    const tree = treeOf(response.of, name);
    for (const answer of walk.of(name)) {
      const records = recordsIn(answer);
      expect(records.length).toBeGreaterThan(0);
      expect(records.flatMap((record) => faultsIn(tree, record))).toEqual([]);
    }
  });

  it.each(answering.filter(([, { response }]) => response !== 'unshown' && response.shape === 'list'))(
    '%s in an envelope that begins at 0 with the documented size and sort',
    (name, { response }) => {
      const { items: _items, ...envelope } = walk.of(name)[0]!.reply.body;
      expect(faultsIn(treeOf('ListEnvelope'), envelope)).toEqual([]);
      const sort = response === 'unshown' ? '' : response.sort;
      expect(envelope).toMatchObject({ limit: 20, offset: 0, sort });
    },
  );

  it('every field of every table at least once', () => {
    const shown = Object.keys(ANSWERED).filter(
      (name) => name !== 'ListEnvelope' && name !== 'WebhookDelivery',
    );
    const seen = new Set(
      walk.answers.flatMap((answer) => {
        const { response } = OPERATIONS.find(({ name }) => name === answer.name)!;
        return response === 'unshown'
          ? []
          : recordsIn(answer).flatMap((record) => linesSeenIn(response.of, record));
      }),
    );
    const lines = Object.entries(RESOURCES)
      .filter(([name]) => shown.includes(name))
      .flatMap(([name, fields]) => fields.map(({ path }) => `${name}.${path}`));
    expect(lines.filter((line) => !seen.has(line))).toEqual([]);
  });

  it('what it was sent: an instruction with all its fields, the total as a single Amount', () => {
    const { request, reply } = walk.of('initiate instruction')[0]!;
    const { requestedTotalAmount, ...information } = request.customerInstructionInformation;
    expect(reply.body).toMatchObject({
      customerInstructionInformation: { ...information, requestedTotalAmount: requestedTotalAmount[0] },
      customerInstructionOrderingParties: request.customerInstructionOrderingParties,
      externalData: request.externalData,
    });
    expect(Object.keys(reply.body.customerInstructionOrderingParties.initiatingParty).sort()).toEqual([
      'id',
      'name',
    ]);
  });

  it('what it was sent: a payment with all its fields, and who pays it', () => {
    const { request, reply } = walk.of('add payment transaction')[1]!;
    expect(reply.body).toMatchObject(request);
    const { debtor } = walk.of('initiate instruction')[1]!.request.customerInstructionOrderingParties;
    expect(reply.body.paymentTransactionParties.debtor).toEqual(debtor);
    expect(reply.body.paymentTransactionParties.initiatingParty).toBeDefined();
  });

  it('what it was sent: a direct submission, its address given to the creditor', () => {
    const { request, reply } = walk.of('submit directly')[0]!;
    const { creditor, postalAddress } = request.paymentTransaction.paymentTransactionParties;
    const { paymentTransaction } = reply.body;
    expect(paymentTransaction.paymentTransactionParties.creditor).toEqual({ ...creditor, postalAddress });
    expect(paymentTransaction.paymentTransactionAmountInformation.instructedAmount).toEqual({
      value: 1050,
      currency: 'EUR',
    });
    expect(paymentTransaction.paymentTransactionInformation).toMatchObject({
      paymentTransactionIdentification: { clearingChannel: 'BOOK', messageId: 'NOTPROVIDED' },
      paymentTransactionTypeInformation: { serviceLevel: 'ON_US' },
    });
  });

  it('who paid and who was paid in a transaction, each with the BIC of their own bank', () => {
    const told = recordsOf('Transaction').map(({ externalData: { debtor, creditor } }) => [
      debtor && [debtor.id, debtor.accountId, debtor.bic],
      creditor && [creditor.accountId, creditor.bic],
    ]);
    const alder = [String(ALDER.userId), ALDER.account!.iban, 'SBOXDEFFXXX'];
    expect(told).toContainEqual([alder, [PAYEE, 'PSSTFRPPXXX']]);
    expect(told).toContainEqual([alder, [BIRCH.account!.iban, 'SBOXDEFFXXX']]);
    expect(told).toContainEqual([
      ['NOTPROVIDED', PAYEE, 'NOTPROVIDED'],
      [ALDER.account!.iban, 'SBOXDEFFXXX'],
    ]);
  });

  it('a subscription with its address as body', () => {
    const { request, reply } = walk.of('subscribe hook')[0]!;
    expect(reply.body).toMatchObject({ name: request.name, body: request.url, events: request.events });
  });

  it('every link rel with the address of its operation, below /api', () => {
    const found = new Map<string, string>();
    for (const record of [...instructions(), ...payments()])
      for (const { rel, href } of record.links) found.set(rel, href);
    expect([...found.keys()].sort()).toEqual(Object.keys(LINK_RELS).sort());
    for (const [rel, name] of Object.entries(LINK_RELS)) {
      const operation = OPERATIONS.find((one) => one.name === name)!;
      const id = /\d+/.exec(found.get(rel)!.slice(bank.url.length).replace('/v1/', '//'))![0];
      expect(found.get(rel)).toBe(bank.url + pathOf(operation, id));
      expect(operation.path.startsWith('/api/')).toBe(true);
    }
  });

  it('the payment-transaction list without /api, and not with it', async () => {
    const { path } = OPERATIONS.find(({ name }) => name === 'list payment transactions')!;
    expect((await bank.get(path)).status).toBe(200);
    expect((await bank.get(`/api${path}`)).status).toBe(404);
  });

  it('an update with every field that was changed', () => {
    for (const name of ['update payment transaction', 'update instruction'] as const) {
      const { request, reply } = walk.of(name)[0]!;
      expect(reply.body).toMatchObject(request);
    }
  });
});

describe('the sandbox delivers', () => {
  beforeAll(async () => {
    for (let pending = 1; pending > 0; pending = (await bank.get('/sandbox/webhooks')).body.pending)
      await pause(10);
  });

  it.each(EVENTS)('%s with the documented fields and a signature the client accepts', (event) => {
    const { body, raw, signature } = receiver.received.find((one) => one.body.event === event)!;
    const { data, ...shown } = body;
    const opened = { accountNumber: '2001', ownerIdentityId: 9501 };
    const tree = treeOf('WebhookDelivery');
    const isOpened = event === 'account.status.opened';
    expect(faultsIn(tree, { ...shown, data: isOpened ? data : opened })).toEqual([]);
    expect(typeof data).toBe('object');
    expect(body.type).toBe(event.split('.')[0]);
    expect(verifySignature(Buffer.from(raw), signature, [DEFAULT_WEBHOOK_SECRET])).toBe(true);
  });
});

describe('the sandbox refuses', () => {
  it.each(named)('%s without a token, and with one that lacks a scope', async (_name, operation) => {
    const path = pathOf(operation, 1, 1);
    expect((await fetch(bank.url + path, { method: operation.method })).status).toBe(401);
    expect((await bank.as('unknown').call(operation.method, path)).status).toBe(401);
    const lacking = operation.scopes.map((scope) => `without-${scope}`);
    for (const token of isLinkOnly(operation) ? ['no-scope'] : lacking)
      expect((await bank.as(token).call(operation.method, path)).status).toBe(403);
  });

  it.each(named.filter(([, { request }]) => request))('%s without its body', async (name, operation) => {
    const ids = name === 'create account' ? [501] : [1];
    const { status } = await bank.call(operation.method, pathOf(operation, ...ids), {});
    expect([400, 422]).toContain(status);
  });
});

describe('the sandbox takes', () => {
  const statusOf = async (path: string, body: Json): Promise<number> => (await bank.post(path, body)).status;
  const paths = Object.fromEntries(OPERATIONS.map(({ name, path }) => [name, path]));

  it('the requested total as an array of Amount only', async () => {
    const { request } = walk.of('initiate instruction')[0]!;
    const { requestedTotalAmount } = request.customerInstructionInformation;
    const at = ['customerInstructionInformation', 'requestedTotalAmount'];
    const { date } = (await bank.get('/sandbox/clock')).body;
    const today = changedAt(request, ['customerInstructionInformation', 'requestedExecutionDate'], date);
    expect(await statusOf(paths['initiate instruction']!, today)).toBe(201);
    expect(
      await statusOf(paths['initiate instruction']!, changedAt(today, at, requestedTotalAmount[0])),
    ).toBe(422);
  });

  it('the value of a direct submission as a string only', async () => {
    const { request } = walk.of('submit directly')[0]!;
    const at = 'paymentTransaction.paymentTransactionAmountInformation.instructedAmount.value'.split('.');
    expect(await statusOf(paths['submit directly']!, changedAt(request, at, 1050))).toBe(422);
  });
});

describe('the sandbox moves', () => {
  const histories_: Readonly<Record<keyof typeof SEQUENCES, () => Json>> = {
    'initiated instruction': () => walk.of('initiate instruction')[0]!.reply.body,
    'added payment': () => walk.of('add payment transaction')[0]!.reply.body,
    'submitted instruction': () => walk.of('submit instruction')[0]!.reply.body,
    'directly submitted instruction': () => walk.of('submit directly')[0]!.reply.body,
    'directly submitted payment': () => walk.of('submit directly')[0]!.reply.body.paymentTransaction,
    'settled outward payment': () =>
      payments().find((payment) => historyOf(payment).at(-1).status.value === 'SETTLED'),
    'inward payment': () =>
      payments().find((payment) => payment.paymentTransactionInformation.direction === 'INWARD'),
  };

  it.each(Object.entries(SEQUENCES))('%s as the document shows it', (name, { after, statuses, group }) => {
    const record = histories_[name as keyof typeof SEQUENCES]();
    const internal = record.paymentTransactionInternalInformation ?? record;
    expect(statusesOf(internal.history)).toEqual([...after, ...statuses]);
    expect(internal.status.value).toBe(statuses.at(-1));
    if (group !== undefined) expect(internal.groupStatus.value).toBe(group);
  });

  it('every history one transition at a time, from the first entry on', () => {
    for (const history of histories()) {
      expect(history[0]).not.toHaveProperty('previousTransitionId');
      for (const entry of history.slice(1)) expect(Number.isInteger(entry.previousTransitionId)).toBe(true);
    }
  });

  it('something into every documented status and group status', () => {
    const seen = new Set(histories().flatMap(statusesOf));
    expect(STATUSES.map(({ value }) => value).filter((value) => !seen.has(value))).toEqual([]);
    const groups = new Set(
      instructions().flatMap(({ groupStatus, paymentTransactionsStatus = [] }) => [
        groupStatus.value,
        ...paymentTransactionsStatus.map((group: Json) => group.groupStatus),
      ]),
    );
    expect(GROUP_STATUSES.filter((value) => !groups.has(value))).toEqual([]);
  });

  it('an account into every status a move is shown for', () => {
    const seen = new Set(recordsOf('Account').map(({ status }) => status));
    const expected = ACCOUNT_STATUSES.filter(({ moveShown }) => moveShown).map(({ value }) => value);
    expect([...seen].sort()).toEqual(expected.sort());
  });

  it('money in transactions of documented types only', () => {
    const types = recordsOf('Transaction').map(({ type }) => type);
    expect(types.filter((type) => !TRANSACTION_TYPES.includes(type))).toEqual([]);
  });
});
