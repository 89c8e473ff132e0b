import { concernsOf, targetsIn } from '../../src/settlement/webhook-targets';

const targets = {
  accounts: [{ employerId: 'of the account', id: 'a' }],
  instructions: [{ employerId: 'of the payment', id: 'i' }],
};

describe('an id that is an account of one employer and a payment of another', () => {
  it.each([
    ['account.status.blocked', ['of the account']],
    ['account.credited', ['of the account']],
    ['identity.closed', ['of the account']],
    ['payment_transaction.settled', ['of the payment']],
    ['transaction.new', ['of the account', 'of the payment']],
    ['constructor.name', ['of the account', 'of the payment']],
    ['unnamed', ['of the account', 'of the payment']],
  ])('shows %s to the employer it is about', (event, employers) => {
    expect([...concernsOf(event, targets)]).toEqual(employers);
  });

  it('shows nothing to anybody where nothing is named', () => {
    expect(concernsOf('transaction.new', { accounts: [], instructions: [] }).size).toBe(0);
  });
});

describe('the own id of a delivery, which may be that of the event', () => {
  const things = {
    accounts: [
      { employerId: 'A', id: 'account of A' },
      { employerId: 'B', id: 'account of B' },
    ],
    instructions: [
      { employerId: 'A', id: 'payment of A' },
      { employerId: 'B', id: 'payment of B' },
    ],
  };
  const named = (ids: ReadonlySet<string>) => ({
    accounts: things.accounts.filter(({ id }) => ids.has(id)),
    instructions: things.instructions.filter(({ id }) => ids.has(id)),
  });
  it.each([
    ['payment_transaction.settled', 'payment of B', ['payment of A'], ['payment of A']],
    ['payment_transaction.settled', 'payment of B', ['account of A'], ['account of A']],
    ['payment_transaction.settled', 'payment of A', ['account of A'], ['account of A', 'payment of A']],
    ['payment_transaction.settled', 'payment of B', ['SETTLED'], ['payment of B']],
    ['transaction.new', 'payment of B', ['account of A'], ['account of A']],
    ['transaction.new', 'payment of A', ['account of A'], ['account of A', 'payment of A']],
    ['transaction.new', 'payment of A', ['account of A', 'payment of A'], ['account of A', 'payment of A']],
    ['account.status.blocked', 'payment of A', ['account of A'], ['account of A']],
    ['account.status.blocked', 'account of B', ['account of A'], ['account of A']],
    ['unnamed', 'account of B', [], ['account of B']],
  ])('of %s, %s beside %j in its data, names %j', (event, ownId, references, targets) => {
    const { accounts, instructions } = targetsIn({ event, ownId, references }, named);
    expect([...accounts, ...instructions].map(({ id }) => id)).toEqual(targets);
  });
});
