import { PATHS, SCOPES, type Scope } from '../../src/bank/types';
import { DEFAULT_CLIENT } from '../../src/bank-sandbox/sandbox';
import { TOKEN_PATH } from '../../src/bank-sandbox/routes/token';
import { Tester } from './client';

/** The document's endpoints with their scopes; the paths shown only as links follow this sandbox's choice. */
const ENDPOINTS: [method: string, path: string, scopes: Scope[]][] = [
  ['GET', PATHS.products(), ['account_view']],
  ['POST', PATHS.userAccounts('501'), ['account_creation']],
  ['GET', PATHS.account('1001'), ['account_view']],
  ['GET', PATHS.accounts(), ['account_view']],
  ['DELETE', PATHS.account('1001'), ['account_close']],
  ['DELETE', PATHS.user('501'), ['user_deactivate']],
  ['GET', PATHS.transaction('7000001'), ['transaction_view']],
  ['GET', PATHS.paymentTransactions(), ['customer-instruction_view', 'payment-instruction_view']],
  ['POST', PATHS.initiate(), ['customer-instruction_initiation']],
  ['POST', PATHS.addPaymentTransaction('1'), ['customer-instruction_initiation']],
  ['POST', PATHS.submit('1'), ['customer-instruction_submission']],
  ['POST', PATHS.submitDirectly(), ['customer-instruction_submit']],
  ['POST', PATHS.hooks(), ['event_management']],
  ['GET', PATHS.hooks(), ['event_management']],
  ['DELETE', PATHS.hook('1'), ['event_management']],
  ['POST', PATHS.hookIdentity('1', '2'), ['event_management']],
  ['GET', PATHS.customerInstruction('1'), ['customer-instruction_view']],
  ['GET', PATHS.instructionPaymentTransactions('1'), ['customer-instruction_view']],
  ['GET', PATHS.paymentTransaction('1'), ['customer-instruction_view', 'payment-instruction_view']],
  ['GET', PATHS.paymentInstruction('1'), ['payment-instruction_view']],
  ['POST', PATHS.exchange('1'), ['customer-instruction_submission']],
  ['POST', PATHS.refuse('1'), ['customer-instruction_submission']],
  ['PATCH', PATHS.creditTransfer('1'), ['customer-instruction_initiation']],
  ['DELETE', PATHS.creditTransfer('1'), ['customer-instruction_initiation']],
  ['PATCH', PATHS.creditTransferPaymentTransaction('1'), ['customer-instruction_initiation']],
  ['DELETE', PATHS.creditTransferPaymentTransaction('1'), ['customer-instruction_initiation']],
];

describe('who may call', () => {
  let bank: Tester;
  beforeAll(async () => {
    const without = SCOPES.map((scope) => ({
      token: `without-${scope}`,
      scopes: SCOPES.filter((other) => other !== scope),
    }));
    const only = SCOPES.map((scope) => ({ token: `only-${scope}`, scopes: [scope] }));
    bank = await Tester.start({ tokens: [...without, ...only] });
  });
  afterAll(() => bank.close());

  it.each(ENDPOINTS)('%s %s answers 401 without a known token', async (method, path) => {
    expect((await fetch(bank.url + path, { method })).status).toBe(401);
    expect((await bank.as('unknown').call(method, path)).status).toBe(401);
  });

  it.each(ENDPOINTS)('%s %s answers 403 when any of its scopes is missing', async (method, path, scopes) => {
    for (const scope of scopes)
      expect((await bank.as(`without-${scope}`).call(method, path)).status).toBe(403);
  });

  it.each(ENDPOINTS.filter(([, , scopes]) => scopes.length === 1))(
    '%s %s needs no other scope',
    async (method, path, [scope]) => {
      expect([401, 403]).not.toContain((await bank.as(`only-${scope}`).call(method, path)).status);
    },
  );

  it('does not take the submission scope for the direct submission, nor the other way round', async () => {
    const submission = bank.as('only-customer-instruction_submission');
    const submit = bank.as('only-customer-instruction_submit');
    expect((await submission.post(PATHS.submitDirectly(), {})).status).toBe(403);
    expect((await submit.post(PATHS.submit('1'))).status).toBe(403);
  });
});

describe('the token endpoint', () => {
  let bank: Tester;
  beforeAll(async () => {
    bank = await Tester.start({ variants: { tokenLifetimeS: 60 } });
  });
  afterAll(() => bank.close());
  const grant = {
    grant_type: 'client_credentials',
    client_id: DEFAULT_CLIENT.id,
    client_secret: DEFAULT_CLIENT.secret,
  };

  it('issues a token that works until it expires', async () => {
    const { status, body } = await bank.post(TOKEN_PATH, grant);
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 60 });
    const client = bank.as(body.access_token);
    expect((await client.get(PATHS.products())).status).toBe(200);
    await bank.advance(60_001);
    expect((await client.get(PATHS.products())).status).toBe(401);
  });

  it('grants no more than the scopes asked for', async () => {
    const { body } = await bank.post(TOKEN_PATH, { ...grant, scope: 'account_view' });
    const client = bank.as(body.access_token);
    expect((await client.get(PATHS.accounts())).status).toBe(200);
    expect((await client.get(PATHS.hooks())).status).toBe(403);
  });

  it('refuses a wrong secret', async () => {
    expect((await bank.post(TOKEN_PATH, { ...grant, client_secret: 'wrong' })).status).toBe(401);
  });
});
