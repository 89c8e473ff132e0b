import { BankClient } from '../../src/bank/client';
import { NotFound } from '../../src/bank/errors';
import { SCOPES } from '../../src/bank/types';
import { DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { addBankingDays, localDate } from '../../src/domain/business-day';
import { answer, ScriptedBank } from '../bank/scripted-bank';
import { makePerson } from '../http/test-app';
import { Answer, Body, Company, Desk } from './desk';

const IBANS = DEFAULT_SEED.users.map((user) => user.account!.iban);
const codes = (answer: Answer) => answer.body.notReady.map(({ code }: Body) => code);

describe('attaching an account', () => {
  let desk: Desk;
  let alder: Company;
  let birch: Company;
  beforeAll(async () => {
    desk = await Desk.open();
    alder = await desk.employer('Alder Logistics GmbH');
    birch = await desk.employer('Birch Foods SARL');
  });
  afterAll(() => desk.close());

  it('finds the accounts by listing them and shows no IBAN whole', async () => {
    const { status, body } = await alder.as('operator', 'GET', '/bank-accounts');
    expect(status).toBe(200);
    expect(body).toEqual({
      complete: true,
      items: expect.arrayContaining([
        {
          bankAccountId: '1001',
          iban: 'DE…1001',
          status: 'OPENED',
          label: expect.any(String),
          attached: false,
        },
      ]),
    });
    expect((await alder.as('finance', 'GET', '/bank-accounts')).status).toBe(403);
  });

  it.each([
    ['shows the first twenty of more and takes no parameters', 20, 200, { complete: false }],
    ['counts some and shows none', 0, 502, { code: 'BANK_ANSWER_UNUSABLE' }],
  ])('lists what was read of a list that %s', async (_what, shown, status, said) => {
    const bank = await new ScriptedBank().listen();
    const items = Array.from({ length: shown }, (_, n) => ({ id: n + 1, status: 'OPENED' }));
    bank.handler = ({ url }, response) =>
      url.includes('?') ? answer(response, 400, {}) : answer(response, 200, { items, count: 49, limit: 20 });
    const app = await desk.addApp({ BANK_BASE_URL: bank.url });
    const listed = await alder.as('operator', 'GET', '/bank-accounts', undefined, app);
    await bank.close();
    expect(listed).toMatchObject({ status, body: said });
    expect(listed.body.items ?? []).toHaveLength(shown);
  });

  it('refuses one the bank does not have, and a name the bank could not take', async () => {
    for (const id of ['4711', 'GR:17/ab ?é', 'x'.repeat(128)])
      expect((await alder.attach(id)).body.code).toBe('BANK_ACCOUNT_UNKNOWN');
    for (const id of ['..', 'x'.repeat(129)])
      expect((await alder.attach(id)).body.errors[0]).toMatchObject({ pointer: '#/bankAccountId' });
    for (const debtorName of ['Cedar Crèches SAS', 'x'.repeat(71), ' Alder', 'A  B', '12', 'Алдер']) {
      const { status, body } = await alder.attach('1001', { debtorName });
      expect([debtorName, status, body.errors?.[0]?.pointer]).toEqual([debtorName, 422, '#/debtorName']);
    }
    expect((await alder.as('preparer', 'POST', '/accounts', {})).status).toBe(403);
    expect(await alder.query('SELECT 1 FROM employer_account')).toEqual([]);
  });

  it('says that the bank cannot be reached, and attaches nothing', async () => {
    await desk.sandbox('POST', '/sandbox/faults', { operation: 'getAccount', kind: 'request-lost' });
    expect(await alder.attach()).toMatchObject({ status: 503, body: { code: 'BANK_UNAVAILABLE' } });
    await desk.sandbox('DELETE', '/sandbox/faults');
    await desk.sandbox('POST', '/sandbox/faults', { operation: 'getAccount', kind: '401' });
    expect((await alder.attach()).body.code).toBe('BANK_REFUSES_CREDENTIALS');
    await desk.sandbox('DELETE', '/sandbox/faults');
    expect(await alder.query('SELECT 1 FROM employer_account')).toEqual([]);
  });

  it('takes IBAN and BIC from the bank, keeps the IBAN sealed, and says what is still missing', async () => {
    const attached = await alder.attach();
    expect(attached).toMatchObject({
      status: 201,
      body: {
        id: expect.stringMatching(/^acc_/),
        iban: 'DE…1001',
        debtorName: 'Alder Logistics GmbH',
        status: 'OPENED',
        ready: false,
        unitConfirmed: null,
        hook: 'OFF',
      },
    });
    expect(codes(attached)).toEqual(['UNIT_NOT_CONFIRMED']);
    const [row] = await alder.query<Body>('SELECT iban_sealed, bic, bank_user_id FROM employer_account');
    expect(row).toEqual({ iban_sealed: `0:${IBANS[0]}`, bic: 'SBOXDEFFXXX', bank_user_id: '501' });
    for (const role of ['operator', 'finance', 'preparer', 'approver'] as const) {
      const listed = await alder.as(role, 'GET', '/accounts');
      expect(listed.body.items).toMatchObject([{ id: attached.body.id, iban: 'DE…1001', ready: false }]);
    }
    const one = await alder.as('preparer', 'GET', `/accounts/${attached.body.id}`);
    expect(one.body.id).toBe(attached.body.id);
    expect((await birch.as('operator', 'GET', `/accounts/${attached.body.id}`)).status).toBe(404);
    const actions = (await alder.audited()).map(({ action }) => action);
    expect(actions).toEqual(['employer.created', 'account.attached', 'account.probed']);
  });

  it('gives one account to one employer, and hides it from the others', async () => {
    expect(await birch.attach()).toMatchObject({
      status: 409,
      body: { code: 'ACCOUNT_ALREADY_CONNECTED' },
    });
    const listedBy = async (company: Company) =>
      (await company.as('operator', 'GET', '/bank-accounts')).body.items.map(
        ({ bankAccountId, attached }: Body) => `${bankAccountId} ${attached}`,
      );
    expect(await listedBy(alder)).toEqual(['1001 true', '1002 false', '1003 false']);
    expect(await listedBy(birch)).toEqual(['1002 false', '1003 false']);
  });

  it('carries a request under the same idempotency key out once', async () => {
    const { authorization } = await makePerson(desk.database, 'Retrier', { [birch.uuid]: ['operator'] });
    const url = `${await desk.app.getUrl()}/v1/employers/${birch.id}/accounts`;
    const post = async () => {
      const headers = { authorization, 'idempotency-key': 'k1', 'content-type': 'application/json' };
      const body = JSON.stringify({ bankAccountId: '1002', debtorName: 'Birch Foods SARL' });
      const answer = await fetch(url, { method: 'POST', headers, body });
      return { status: answer.status, body: (await answer.json()) as { id: string } };
    };
    const first = await post();
    expect(first.status).toBe(201);
    expect(await post()).toEqual(first);
  });

  it('never answered with a whole IBAN', () => {
    const everything = desk.said.join('\n');
    expect(everything).toContain('DE…1001');
    for (const iban of IBANS) expect(everything.replaceAll(' ', '')).not.toContain(iban.slice(4));
  });
});

describe('the probe', () => {
  let desk: Desk | undefined;
  afterEach(async () => {
    jest.restoreAllMocks();
    await desk?.close();
    desk = undefined;
  });

  async function attached(...options: Parameters<typeof Desk.open>) {
    desk = await Desk.open(...options);
    const company = await desk.employer('Alder Logistics GmbH');
    return { desk, company, answer: await company.attach() };
  }

  it('finds every read that the bank allows, moves no money and tidies up', async () => {
    const { desk, company, answer } = await attached();
    expect(answer.body.reads).toEqual(['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST', 'BALANCE']);
    expect(answer.body.findings.PAYMENT).toBe('unknown');
    const calls = await desk.sandbox('GET', '/sandbox/calls');
    expect(calls).toMatchObject({ initiate: 1, deleteInstruction: 1 });
    expect(Object.keys(calls).filter((name) => /^(add|submit)/.test(name) && calls[name] > 0)).toEqual([]);
    const ledger = await desk.sandbox('GET', '/sandbox/ledger');
    expect(ledger.payees).toEqual([]);
    const intents = await company.query(
      `SELECT operation, outcome, octet_length(body_hash) AS hashed FROM bank_call ORDER BY intended_at`,
    );
    expect(intents).toEqual([
      { operation: 'initiate', outcome: 'YES', hashed: 32 },
      { operation: 'delete', outcome: 'YES', hashed: 32 },
    ]);
  });

  it('reads one payment where there is one, and learns from which number pages count', async () => {
    const { desk, company, answer } = await attached();
    for (let n = 0; n < 101; n += 1) {
      await desk.sandbox('POST', '/sandbox/incoming-payments', { iban: IBANS[0], amountMinor: '1' });
    }
    const again = await company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
    expect(again.body).toMatchObject({ pageBase: 1, findings: { PAYMENT: 'allowed' } });
    expect(again.body.reads).toContain('PAYMENT');
  });

  it.each(['404', '422'])(
    'reads one payment by its other id where the first is answered %s',
    async (kind) => {
      const { desk, company, answer } = await attached({}, { variants: { paymentIds: 'two-sequences' } });
      for (let n = 0; n < 52; n += 1)
        await desk.sandbox('POST', '/sandbox/incoming-payments', { iban: IBANS[0], amountMinor: '1' });
      await desk.sandbox('POST', '/sandbox/faults', { operation: 'getPaymentTransaction', kind, nth: 1 });
      const again = await company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
      expect(again.body).toMatchObject({ findings: { PAYMENT: 'allowed' } });
      expect((await desk.sandbox('GET', '/sandbox/calls')).getPaymentTransaction).toBe(2);
    },
  );

  it('asks for no payment by an id that no path can hold', async () => {
    const { desk, company, answer } = await attached();
    const listed = jest.spyOn(desk.app.get(BankClient).paymentTransactions, 'listed');
    const probe = async (bankTransactionId?: string) => {
      const marks = { bankPaymentId: 'x'.repeat(129), bankTransactionId };
      listed.mockImplementation(async function* () {
        yield await Promise.resolve({ id: '1', marks });
      });
      const again = await company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
      return [again.status, again.body.findings?.PAYMENT];
    };
    expect(await probe()).toEqual([200, 'unknown']);
    expect(await probe('900')).toEqual([200, 'refused']);
  });

  it('marks what the bank answers with 403 as not allowed', async () => {
    const { answer } = await attached({}, { variants: { linkReads: 'refused' } });
    expect(answer.body.findings).toEqual({
      INSTRUCTION: 'refused',
      INSTRUCTION_PAYMENTS: 'refused',
      PAYMENT_LIST: 'allowed',
      PAYMENT: 'unknown',
      BALANCE: 'allowed',
    });
    expect(answer.body.reads).toEqual(['PAYMENT_LIST', 'BALANCE']);
    expect(codes(answer)).not.toContain('NO_READ_OF_PAYMENTS');
  });

  it('makes ready where the reads that are only links are answered with 401, and the token serves otherwise', async () => {
    const { answer } = await attached({}, { variants: { linkReads: 'unauthorised' } });
    expect(answer.body.findings).toMatchObject({ INSTRUCTION: 'refused', INSTRUCTION_PAYMENTS: 'refused' });
    expect(answer.body.reads).toEqual(['PAYMENT_LIST', 'BALANCE']);
    expect(codes(answer)).toEqual(['UNIT_NOT_CONFIRMED']);
  });

  it('finds nothing out of a 401 while the token serves nothing else either, and takes no read away for one', async () => {
    desk = await Desk.open();
    const company = await desk.employer('Alder Logistics GmbH');
    const answers = (operation: string) =>
      desk!.sandbox('POST', '/sandbox/faults', { operation, kind: '401', every: 1 });
    const { body } = await company.attach();
    const probe = () => company.as('operator', 'POST', `/accounts/${body.id}/probe`);
    await answers('getInstruction');
    const again = await probe();
    expect(again.body.findings).toMatchObject({ INSTRUCTION: 'unknown', INSTRUCTION_PAYMENTS: 'allowed' });
    expect(again.body.reads).toEqual(body.reads);
    await company.query(`UPDATE employer_account SET reads = '{BALANCE}', probed_at = NULL`);
    await answers('getAccount');
    expect(await probe()).toMatchObject({
      body: { findings: { INSTRUCTION: 'unknown' }, reads: expect.not.arrayContaining(['INSTRUCTION']) },
    });
  });

  it.each([
    ['404', 'empty'],
    ['204', 'allowed'],
    ['without-items', 'allowed'],
  ] as const)('makes ready where a list of nothing is answered with %s', async (emptyLists, found) => {
    const { answer } = await attached({}, { variants: { emptyLists } });
    expect(answer.body.findings).toMatchObject({
      INSTRUCTION: 'allowed',
      INSTRUCTION_PAYMENTS: found,
      PAYMENT_LIST: found,
    });
    expect(answer.body.reads).toEqual(['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST', 'BALANCE']);
    expect(codes(answer)).toEqual(['UNIT_NOT_CONFIRMED']);
  });

  it.each([
    ['fails at page 0, of one that counts from 1', { pageBase: 1, pageZero: 'fails' }, 'empty', 'empty'],
    [
      'counts what others hold, and the general one is refused',
      { pageBase: 1, countMeans: 'everything' },
      'empty',
      'refused',
    ],
  ] as const)('makes ready where a list of nothing %s', async (_what, variants, own, general) => {
    desk = await Desk.open({}, { variants });
    const company = await desk.employer('Alder Logistics GmbH');
    if (general === 'refused') {
      await desk.sandbox('POST', '/sandbox/faults', { operation: 'listPaymentTransactions', kind: '403' });
      await desk.sandbox('POST', '/sandbox/incoming-payments', { iban: IBANS[0], amountMinor: '1' });
    }
    const answer = await company.attach();
    expect(answer.body.findings).toMatchObject({ INSTRUCTION_PAYMENTS: own, PAYMENT_LIST: general });
    expect(answer.body.reads).toContain('INSTRUCTION_PAYMENTS');
    expect(codes(answer)).toEqual(['UNIT_NOT_CONFIRMED']);
  });

  it('tries the list of an instruction that is answered with 404 also where the instruction is not shown', async () => {
    const { answer } = await attached({}, { variants: { linkReads: 'list-alone', emptyLists: '404' } });
    expect(answer.body.findings).toMatchObject({
      INSTRUCTION: 'refused',
      INSTRUCTION_PAYMENTS: 'empty',
      PAYMENT_LIST: 'empty',
    });
    expect(answer.body.reads).toEqual(['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST', 'BALANCE']);
    expect(codes(answer)).toEqual(['UNIT_NOT_CONFIRMED']);
  });

  it('does not try a list that is answered with 404 where another is known to answer', async () => {
    desk = await Desk.open();
    const company = await desk.employer('Alder Logistics GmbH');
    await desk.sandbox('POST', '/sandbox/faults', {
      operation: 'listInstructionPaymentTransactions',
      kind: '404',
    });
    const { body } = await company.attach();
    expect(body.findings).toMatchObject({ INSTRUCTION_PAYMENTS: 'empty', PAYMENT_LIST: 'allowed' });
    expect(body.reads).toEqual(['INSTRUCTION', 'PAYMENT_LIST', 'BALANCE']);
  });

  it('says that submits will be refused where no read of payments is allowed', async () => {
    const scopes = SCOPES.filter((scope) => !/^(customer|payment)-instruction_view$/.test(scope));
    const { answer, company } = await attached({}, { tokens: [{ token: DEFAULT_TOKEN, scopes }] });
    expect(answer.status).toBe(201);
    expect(answer.body.reads).toEqual(['BALANCE']);
    expect(codes(answer)).toContain('NO_READ_OF_PAYMENTS');
    const checked = await company.as('finance', 'POST', `/accounts/${answer.body.id}/balance-check`, {
      balance: '250000.00',
    });
    expect(checked.body).toMatchObject({ ready: false, unitConfirmed: 'minor' });
    expect(codes(checked)).toEqual(['NO_READ_OF_PAYMENTS']);
  });

  it('says that the bank must also answer by its interface where no answer to a read of payments can be used', async () => {
    const { desk, company, answer } = await attached();
    for (const operation of ['listInstructionPaymentTransactions', 'listPaymentTransactions'])
      await desk.sandbox('POST', '/sandbox/faults', { operation, kind: 'garbage' });
    await company.query(`UPDATE employer_account SET reads = '{BALANCE}'`);
    const probed = await company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
    expect(probed.body.reads).toEqual(['INSTRUCTION', 'BALANCE']);
    const told = probed.body.notReady.find(({ code }: { code: string }) => code === 'NO_READ_OF_PAYMENTS');
    expect(told.detail).toContain('was found that is allowed and answered by its interface, so nothing');
    expect(told.detail).toContain(
      'payment-instruction_view), and answer it by its interface; then probe again',
    );
  });

  it('says which reads the bank must allow where a single payment is all it shows', async () => {
    const { desk, company, answer } = await attached({}, { variants: { linkReads: 'refused' } });
    await desk.sandbox('POST', '/sandbox/faults', { operation: 'listPaymentTransactions', kind: '403' });
    const probed = await company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
    expect(probed.body.findings).toMatchObject({ PAYMENT_LIST: 'refused', PAYMENT: 'unknown' });
    const told = probed.body.notReady.find(({ code }: { code: string }) => code === 'NO_READ_OF_PAYMENTS');
    for (const words of [
      'GET customer-instructions/{id}/payment-transactions or GET payment-transactions',
      'scopes customer-instruction_view and payment-instruction_view',
      'a single payment be read can only be found out with one that a list has shown',
    ])
      expect(told.detail).toContain(words);
  });

  it.each([
    ['initiates no instruction', { operation: 'initiate', kind: '500-after', nth: 1 }],
    ['fails in the read of one', { operation: 'getInstruction', kind: '500-before', nth: 1 }],
    ['fails in its list', { operation: 'listInstructionPaymentTransactions', kind: '500-before' }],
  ])('does not make ready while the bank %s, until a probe finds out', async (_what, fault) => {
    desk = await Desk.open();
    const company = await desk.employer('Alder Logistics GmbH');
    await desk.sandbox('POST', '/sandbox/faults', fault);
    const { id } = (await company.attach()).body;
    const checked = await company.as('finance', 'POST', `/accounts/${id}/balance-check`, {
      balance: '250000.00',
    });
    expect(checked.body).toMatchObject({ ready: false, probedAt: null });
    expect(checked.body.notReady).toMatchObject([
      { code: 'NOT_PROBED', detail: expect.stringContaining('probe again') },
    ]);
    await desk.sandbox('DELETE', '/sandbox/faults');
    const again = await company.as('operator', 'POST', `/accounts/${id}/probe`);
    expect(again.body).toMatchObject({ ready: true, probedAt: expect.any(String) });
    expect(again.body.reads).toEqual(expect.arrayContaining(['INSTRUCTION', 'INSTRUCTION_PAYMENTS']));
  });

  const inThreeBankingDays = () => addBankingDays(localDate(new Date(), 'Europe/Paris'), 3);
  it.each([
    ['of a cent', ({ requestedTotalAmount: [{ value }] }: Body) => value >= 100, 1],
    ['so soon', ({ requestedExecutionDate }: Body) => requestedExecutionDate >= inThreeBankingDays(), 2],
    [
      'of a cent, and none far ahead',
      ({ requestedTotalAmount: [{ value }], requestedExecutionDate }: Body) =>
        value >= 100 && requestedExecutionDate < inThreeBankingDays(),
      1,
    ],
  ])('makes ready where the bank initiates no instruction %s', async (_what, isTaken, refused) => {
    desk = await Desk.open();
    const { customerInstructions } = desk.app.get(BankClient);
    const initiate = customerInstructions.initiateBytes.bind(customerInstructions);
    jest.spyOn(customerInstructions, 'initiateBytes').mockImplementation((body) => {
      const { customerInstructionInformation } = JSON.parse(body);
      if (isTaken(customerInstructionInformation)) return initiate(body);
      return Promise.resolve({ kind: 'no', reason: 'invalid', status: 422 });
    });
    const company = await desk.employer('Alder Logistics GmbH');
    const { body } = await company.attach();
    expect(body).toMatchObject({ probedAt: expect.any(String), notInitiated: null });
    expect(body.reads).toEqual(expect.arrayContaining(['INSTRUCTION', 'INSTRUCTION_PAYMENTS']));
    const intents = await company.query<Body>(
      'SELECT operation, outcome FROM bank_call ORDER BY intended_at',
    );
    const told = intents.map(({ operation, outcome }) => `${operation} ${outcome}`);
    expect(told).toEqual([...Array<string>(refused).fill('initiate NO'), 'initiate YES', 'delete YES']);
  });

  it.each([
    ['422', 'answered 422'],
    ['500-before', 'status 500'],
    ['garbage', 'does not follow its interface'],
  ])('says what came of an instruction that the bank did not initiate: %s', async (kind, words) => {
    const { desk, company, answer } = await attached();
    expect(answer.body.notInitiated).toBeNull();
    await desk.sandbox('POST', '/sandbox/faults', { operation: 'initiate', kind, every: 1 });
    const probed = await company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
    expect(probed.body.findings.INSTRUCTION).toBe('unknown');
    expect(probed.body.notInitiated).toContain(words);
  });

  it('takes nothing from an account while the bank is down, and a read that is refused later', async () => {
    const { desk, company, answer } = await attached();
    await desk.sandbox('POST', '/sandbox/faults', { operation: '*', kind: '500-before' });
    const down = await company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
    expect(down.status).toBe(200);
    expect(new Set(Object.values(down.body.findings))).toEqual(new Set(['unknown']));
    expect(down.body.reads).toEqual(answer.body.reads);
    expect(down.body.probedAt).toBe(answer.body.probedAt);
    await desk.sandbox('DELETE', '/sandbox/faults');
    await desk.sandbox('POST', '/sandbox/faults', { operation: 'listPaymentTransactions', kind: '403' });
    const refused = await company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
    expect(refused.body.reads).toEqual(['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'BALANCE']);
  });

  it('sees that an account was blocked, and that it is open again', async () => {
    const { desk, company, answer } = await attached();
    const probe = () => company.as('operator', 'POST', `/accounts/${answer.body.id}/probe`);
    await desk.sandbox('POST', '/sandbox/accounts/1001/block');
    expect(codes(await probe())).toContain('ACCOUNT_NOT_OPENED');
    await desk.sandbox('POST', '/sandbox/accounts/1001/unblock');
    expect(codes(await probe())).not.toContain('ACCOUNT_NOT_OPENED');
  });

  it('looks again for an instruction that is not shown yet, as long as a read may be old', async () => {
    desk = await Desk.open({ BANK_LAG_BOUND_MS: '1000' });
    const { customerInstructions } = desk.app.get(BankClient);
    const get = jest.spyOn(customerInstructions, 'get');
    const company = await desk.employer('Alder Logistics GmbH');
    get.mockRejectedValueOnce(new NotFound(404, { raw: '' }));
    const { body } = await company.attach();
    expect(body.findings.INSTRUCTION).toBe('allowed');
    get.mockRejectedValue(new NotFound(404, { raw: '' }));
    const again = await company.as('operator', 'POST', `/accounts/${body.id}/probe`);
    expect(again.body.findings).toMatchObject({ INSTRUCTION: 'refused', INSTRUCTION_PAYMENTS: 'allowed' });
    expect(again.body.reads).not.toContain('INSTRUCTION');
  });

  it.each(['500-before', 'request-lost'])(
    'asks again where a read of an instruction meets a fault that passes: %s',
    async (kind) => {
      desk = await Desk.open({ BANK_LAG_BOUND_MS: '2000' });
      const company = await desk.employer('Alder Logistics GmbH');
      for (const operation of ['getInstruction', 'listInstructionPaymentTransactions'])
        await desk.sandbox('POST', '/sandbox/faults', { operation, kind, times: 1 });
      const { body } = await company.attach();
      expect(body.findings).toMatchObject({ INSTRUCTION: 'allowed', INSTRUCTION_PAYMENTS: 'allowed' });
      expect(body.probedAt).not.toBeNull();
    },
  );

  it('asks no longer than a read may be old, however slowly a fault is answered', async () => {
    desk = await Desk.open({ BANK_LAG_BOUND_MS: '2000', BANK_TIMEOUT_MS: '1000' });
    const company = await desk.employer('Alder Logistics GmbH');
    for (const operation of ['getInstruction', 'listInstructionPaymentTransactions'])
      await desk.sandbox('POST', '/sandbox/faults', { operation, kind: 'hang-before', every: 1 });
    const { body } = await company.attach();
    expect(body.findings).toMatchObject({ INSTRUCTION: 'unknown', INSTRUCTION_PAYMENTS: 'unknown' });
    const { getInstruction } = await desk.sandbox('GET', '/sandbox/calls');
    expect([2, 3]).toContain(getInstruction);
  });

  it.each(['409', '422'])(
    'makes ready where the list of an instruction is answered with %s, and takes it away from nobody who had it',
    async (kind) => {
      desk = await Desk.open({ BANK_LAG_BOUND_MS: '1000' });
      const company = await desk.employer('Alder Logistics GmbH');
      const answers = (times: object) =>
        desk!.sandbox('POST', '/sandbox/faults', {
          operation: 'listInstructionPaymentTransactions',
          kind,
          ...times,
        });
      await answers({ every: 1 });
      const { body } = await company.attach();
      expect(body.findings).toMatchObject({ INSTRUCTION_PAYMENTS: 'refused', PAYMENT_LIST: 'allowed' });
      expect(body.reads).toEqual(['INSTRUCTION', 'PAYMENT_LIST', 'BALANCE']);
      await desk.sandbox('DELETE', '/sandbox/faults');
      await answers({ times: 1 });
      const probe = () => company.as('operator', 'POST', `/accounts/${body.id}/probe`);
      expect((await probe()).body.findings).toMatchObject({ INSTRUCTION_PAYMENTS: 'allowed' });
      await answers({ every: 1 });
      const again = await probe();
      expect(again.body.findings).toMatchObject({ INSTRUCTION_PAYMENTS: 'unknown' });
      expect(again.body.reads).toContain('INSTRUCTION_PAYMENTS');
    },
  );
});
