import { type EventName, EVENTS, PATHS } from '../../src/bank/types';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { ALDER, paymentIdOf, Tester, type Json } from './client';
import { Receiver } from './receiver';

const { userId, identityId, account } = ALDER;
const accountId = account!.accountId;
/** A user without accounts, who can be closed. */
const NEWCOMER = { userId: 611, identityId: 9611, holderName: 'Newcomer SARL', kyc: 'VERIFIED' };
const refused = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAfterExchange')!;

let bank: Tester;
let receiver: Receiver;
beforeEach(async () => {
  bank = await Tester.start();
  receiver = await Receiver.start();
  await bank.post('/sandbox/users', NEWCOMER);
});
afterEach(() => bank.close());

const post = (path: string, body?: unknown) => bank.post(path, body);
const paid = async (iban?: string) => {
  const { id, added } = await bank.pay([{ iban }]);
  return { paymentTransactionId: paymentIdOf(added[0]), customerInstructionId: id };
};
const changed = async (event: EventName) => {
  await post('/sandbox/iban-structures', { event });
  return {};
};

/** One line per event of the document: makes it happen and answers the data it carries. */
const LINES: Record<EventName, () => Promise<Json>> = {
  'account.status.opened': async () => {
    const { body } = await post(PATHS.userAccounts(String(userId)), { productId: 11 });
    return { accountNumber: body.id, ownerIdentityId: identityId };
  },
  'account.status.blocked': async () => {
    await post(`/sandbox/accounts/${accountId}/block`);
    return { accountNumber: accountId, ownerIdentityId: identityId };
  },
  'account.status.unblocked': async () => {
    await post(`/sandbox/accounts/${accountId}/block`);
    await post(`/sandbox/accounts/${accountId}/unblock`);
    return { accountNumber: accountId, ownerIdentityId: identityId };
  },
  'identity.blocked': async () => {
    await post(`/sandbox/identities/${identityId}/block`);
    return { identityId };
  },
  'identity.unblocked': async () => {
    await post(`/sandbox/identities/${identityId}/block`);
    await post(`/sandbox/identities/${identityId}/unblock`);
    return { identityId };
  },
  'identity.closed': async () => {
    await bank.delete(PATHS.user(String(NEWCOMER.userId)));
    return { identityId: NEWCOMER.identityId };
  },
  'payment_transaction.external_refused': () => paid(refused.iban),
  'payment_transaction.settled': () => paid(),
  'transaction.new': async () => {
    const { paymentTransactionId } = await paid();
    const { instructions } = await bank.ledger();
    expect(instructions[0].rows[0].id).toBe(paymentTransactionId);
    return { transactionId: instructions[0].rows[0].transactionId };
  },
  'iban_structure.created': () => changed('iban_structure.created'),
  'iban_structure.field_updated': () => changed('iban_structure.field_updated'),
  'iban_structure.file_imported': () => changed('iban_structure.file_imported'),
};

it('has a line for every event of the document', () => {
  expect(Object.keys(LINES).sort()).toEqual([...EVENTS].sort());
});

it.each(EVENTS)('delivers %s once to a hook that asked for it, and to no other', async (event) => {
  const others = EVENTS.filter((other) => other !== event);
  const asking = await subscribe([event], receiver);
  const deaf = await Receiver.start();
  await subscribe(others, deaf);
  const data = await LINES[event]();
  await receiver.until(1);
  const received = await receiver.settled();
  expect(received.map(({ body }) => body)).toEqual([
    { id: expect.any(String), webhookId: String(asking), type: event.split('.')[0], event, data },
  ]);
  expect(deaf.received.map(({ body }) => body.event)).not.toContain(event);
});

async function subscribe(events: string[], { url }: Receiver): Promise<number> {
  const { id } = (await post(PATHS.hooks(), { name: 'hook', url, events })).body;
  for (const identity of [identityId, NEWCOMER.identityId])
    await post(PATHS.hookIdentity(String(id), String(identity)));
  return id;
}

it('tells of a payment from outside that it settled, and of its transaction', async () => {
  await subscribe(['payment_transaction.settled', 'transaction.new'], receiver);
  const { body } = await post('/sandbox/incoming-payments', { iban: account!.iban, amountMinor: '100' });
  const received = await receiver.until(2);
  expect(received.map((one) => one.body.event).sort()).toEqual([
    'payment_transaction.settled',
    'transaction.new',
  ]);
  const settled = received.find((one) => one.body.event === 'payment_transaction.settled');
  expect(settled?.body.data).toEqual({ paymentTransactionId: body.id });
});
