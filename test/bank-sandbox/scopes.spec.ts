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

it('ends a token with the next one of its client where the bank does', async () => {
  const bank = await Tester.start({ variants: { tokensLive: 'until-the-next' } });
  const issued = async (): Promise<string> =>
    (
      await bank.post(TOKEN_PATH, {
        grant_type: 'client_credentials',
        client_id: DEFAULT_CLIENT.id,
        client_secret: DEFAULT_CLIENT.secret,
      })
    ).body.access_token;
  const [first, second] = [await issued(), await issued()];
  const status = async (token: string) => (await bank.as(token).get(PATHS.products())).status;
  expect([await status(first), await status(second)]).toEqual([401, 200]);
  await bank.close();
});

describe('the form in which a token is asked for', () => {
  const { id, secret } = { id: 'one:two', secret: 's3crét %+&' };
  const client = { id, secret, scopes: SCOPES };
  const grant = { grant_type: 'client_credentials', scope: 'account_view' };
  const withSecret = { ...grant, client_id: id, client_secret: secret };
  const JSON_BODY = { 'content-type': 'application/json' };
  const FORM = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' };
  const halves = [id, secret].map((half) => new URLSearchParams({ half }).toString().slice('half='.length));
  const authorization = `Basic ${Buffer.from(halves.join(':')).toString('base64')}`;
  const requests = {
    json: { headers: JSON_BODY, body: JSON.stringify(withSecret) },
    form: { headers: FORM, body: new URLSearchParams(withSecret).toString() },
    basic: { headers: { ...FORM, authorization }, body: new URLSearchParams(grant).toString() },
  };

  it.each(['json', 'form', 'basic'] as const)('is %s, and neither of the others', async (tokenForm) => {
    const bank = await Tester.start({ clients: [client], variants: { tokenForm } });
    for (const [form, request] of Object.entries(requests)) {
      const { ok, status } = await fetch(bank.url + TOKEN_PATH, { method: 'POST', ...request });
      expect([form, ok, status < 500]).toEqual([form, form === tokenForm, true]);
    }
  });

  it('is not HTTP Basic with a wrong secret, with one that is not encoded, or with another in the form', async () => {
    const bank = await Tester.start({ clients: [client], variants: { tokenForm: 'basic' } });
    const { headers, body } = requests.basic;
    const raw = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
    const refused = [
      { headers: { ...headers, authorization: raw('one%3Atwo:wrong') }, body },
      { headers: { ...headers, authorization: raw(`${id}:${secret}`) }, body },
      { headers, body: requests.form.body },
      { headers: FORM, body },
    ];
    const answers = refused.map((request) => fetch(bank.url + TOKEN_PATH, { method: 'POST', ...request }));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 401, 422, 401]);
  });
});
