import { concernsOf } from '../../src/settlement/webhook-targets';

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
