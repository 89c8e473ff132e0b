import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { LosslessNumber, parse } from 'lossless-json';
import type { AmountUnit } from '../../src/bank/amount-codec';
import { BankClient } from '../../src/bank/client';
import { BankError, ContractDrift, NotAllowed, NotFound } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import type { PaymentMarks } from '../../src/bank/payment-marks';
import type { AddPayment, InitiateInstruction } from '../../src/bank/prepared';
import { answer, INSTRUCTION_BODY, PAYMENT_BODY, ScriptedBank } from './scripted-bank';

const INITIATE: InitiateInstruction = {
  reference: 'run-1-1-1',
  count: 2,
  totalMinor: 300_050n,
  currency: 'EUR',
  executionDate: '2026-03-10',
  debtor: { name: 'ACME "Paris"', iban: 'FR7630006000011234567890189', bic: 'AGRIFRPP', identityId: '77' },
  externalData: { run: 'run_1' },
};
const ADD: AddPayment = {
  messageId: 'm-1',
  amountMinor: 150_025n,
  currency: 'EUR',
  creditor: { name: 'Ada Lovelace', iban: 'FR7630006000011234567890189' },
  remittance: 'Salary March',
  externalData: { row: 'pay_1' },
};

describe('the gateway', () => {
  let bank: ScriptedBank;
  let client: BankClient;
  let gateway: BankGateway;

  const open = (amountUnit: AmountUnit): void => {
    client = new BankClient({ baseUrl: bank.url, amountUnit, token: 'static' });
    gateway = new BankGateway(client);
  };
  const answering = (body: unknown, status = 201): void => {
    bank.handler = (_request, response) => answer(response, status, body);
  };

  beforeEach(async () => {
    bank = await new ScriptedBank().listen();
    open('minor');
  });
  afterEach(async () => {
    client.close();
    await bank.close();
  });

  it('initiates a salary instruction with control totals, the total as an array', async () => {
    answering(INSTRUCTION_BODY);
    expect(await gateway.initiate(INITIATE)).toMatchObject({
      kind: 'yes',
      value: { bankInstructionId: '4711', status: 'INITIATED', calculatedCount: 0, calculatedTotalMinor: 0n },
    });
    expect(bank.requests[0]).toMatchObject({
      method: 'POST',
      url: '/api/service-domain/v1/customer-instructions/credit-transfers',
    });
    expect(bank.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer static',
      'content-type': 'application/json',
    });
    expect(JSON.parse(bank.requests[0]?.body ?? '')).toEqual({
      customerInstructionInformation: {
        paymentInstrument: 'CreditTransfer',
        paymentService: 'PAYMENTS',
        batchBooking: true,
        customerInstructionReference: 'run-1-1-1',
        requestedNbPaymentTransactions: 2,
        requestedTotalAmount: [{ value: 300050, currency: 'EUR' }],
        requestedExecutionDate: '2026-03-10',
        customerInstructionTypeInformation: { categoryPurpose: 'SALA', serviceLevel: 'BACI' },
      },
      customerInstructionOrderingParties: {
        debtor: {
          name: 'ACME "Paris"',
          id: { type: 'identityId', value: '77' },
          accountId: {
            type: 'IBAN',
            value: INITIATE.debtor.iban,
            bankId: { type: 'BIC', value: 'AGRIFRPP' },
          },
        },
      },
      externalData: { run: 'run_1' },
    });
  });

  it('adds a payment and reads it back in minor units', async () => {
    answering(PAYMENT_BODY);
    expect(await gateway.add('4711', ADD)).toMatchObject({
      kind: 'yes',
      value: {
        bankPaymentId: '901',
        ids: ['901', '900'],
        bankInstructionId: '4711',
        messageId: 'm-1',
        amountMinor: 150_025n,
        status: 'INITIATED',
        wasSettled: false,
        chargesMinor: 0n,
      },
    });
    expect(JSON.parse(bank.requests[0]?.body ?? '')).toEqual({
      paymentTransactionAmountInformation: {
        instructedAmount: { value: 150025, currency: 'EUR' },
        chargeBearer: 'SLEV',
      },
      paymentTransactionParties: {
        creditor: { name: 'Ada Lovelace', accountId: { type: 'IBAN', value: ADD.creditor.iban } },
      },
      paymentTransactionDedicatedInformations: {
        remittanceInformation: { value: 'Salary March', type: 'UNSTRUCTURED' },
      },
      paymentTransactionInformation: { paymentTransactionIdentification: { messageId: 'm-1' } },
      externalData: { row: 'pay_1' },
    });
  });

  it('posts exactly the bytes whose hash was recorded, whatever the text', async () => {
    answering(PAYMENT_BODY);
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary' }),
        fc.bigInt({ min: 1n, max: 10n ** 18n }),
        async (name, amountMinor) => {
          const prepared = gateway.prepareAdd('4711', {
            ...ADD,
            amountMinor,
            creditor: { ...ADD.creditor, name },
          });
          bank.requests.length = 0;
          await gateway.sendAdd(prepared);
          const sent = bank.requests[0]?.body ?? '';
          expect(createHash('sha256').update(sent, 'utf8').digest()).toEqual(prepared.bodyHash);
          expect(parse(sent)).toMatchObject({
            paymentTransactionAmountInformation: {
              instructedAmount: { value: new LosslessNumber(amountMinor.toString()) },
            },
            paymentTransactionParties: { creditor: { name } },
          });
        },
      ),
      { numRuns: 50 },
    );
  });

  it('speaks whole units to a bank that counts in euro', async () => {
    open('major');
    answering(JSON.stringify(PAYMENT_BODY).replace('150025', '1500.25'));
    expect(await gateway.add('4711', ADD)).toMatchObject({ kind: 'yes', value: { amountMinor: 150_025n } });
    expect(bank.requests[0]?.body).toContain('"instructedAmount":{"value":1500.25,"currency":"EUR"}');
  });

  const change = (from: string, to: string): string => JSON.stringify(PAYMENT_BODY).replace(from, to);

  it.each([
    ['amount', change('150025', '150026')],
    ['currency', change('"currency":"EUR"', '"currency":"USD"')],
    ['iban', change('7890 189', '7890 188')],
    ['messageId', change('m-1', 'm-2')],
    ['customerInstructionId', change('4711', '4712')],
  ])('calls an add in doubt when the answer echoes another %s', async (field, body) => {
    answering(body);
    expect(await gateway.add('4711', ADD)).toMatchObject({ kind: 'in-doubt', why: `echo-differs: ${field}` });
  });

  it('does not take an absent echo, a spaced IBAN or NOTPROVIDED for a difference', async () => {
    const { paymentTransactionInternalInformation } = PAYMENT_BODY;
    for (const body of [{ paymentTransactionInternalInformation }, change('m-1', 'NOTPROVIDED')]) {
      answering(body);
      const outcome = await gateway.add('4711', ADD);
      expect(outcome).toMatchObject({ kind: 'yes', value: { bankPaymentId: '901' } });
      expect(outcome.kind === 'yes' && outcome.value.messageId).toBeUndefined();
    }
  });

  it('calls an add in doubt when the answer holds part of a cent, and a read contract drift', async () => {
    answering(change('150025', '1500.25'));
    expect(await gateway.add('4711', ADD)).toMatchObject({ kind: 'in-doubt', status: 201 });
    await expect(gateway.getPayment(['901'])).rejects.toThrow(ContractDrift);
  });

  it.each([
    ['', undefined, undefined],
    ['05/11/2026', undefined, undefined],
    ['2026-02-30', undefined, undefined],
    ['2026-11-05', '2026-11-05', '2026-11-05'],
    ['2026-11-05T00:00:00+01:00', '2026-11-05', undefined],
  ])('reads a settlement date written as "%s", and loses no status for it', async (written, read, alone) => {
    answering({ ...PAYMENT_BODY, paymentTransactionDateInformation: { settlementDate: written } });
    const shown = { status: 'INITIATED', settlementDate: read, bareSettlementDate: alone };
    expect(await gateway.getPayment(['901'])).toMatchObject(shown);
  });

  const showing = async (amounts: Record<string, unknown>) => {
    const instructedAmount = { value: 1500, currency: 'EUR' };
    answering({ ...PAYMENT_BODY, paymentTransactionAmountInformation: { instructedAmount, ...amounts } });
    return gateway.getPayment(['901']);
  };

  it.each<[unit: AmountUnit, charged: unknown, read: bigint]>([
    ['major', { value: 0.15, currency: 'EUR' }, 15n],
    ['minor', { value: 15, currency: 'EUR' }, 15n],
    ['minor', { value: -15, currency: 'EUR' }, 15n],
    ['major', { value: '-0.15', currency: 'EUR' }, 15n],
    ['minor', { value: '0', currency: 'EUR' }, 0n],
    ['major', { value: 0.0, currency: 'CHF' }, 0n],
  ])('reads charges, counted in %s units, of %j as %s cents', async (unit, chargesAmount, read) => {
    open(unit);
    const { chargesMinor, chargesUnread } = await showing({ chargesAmount });
    expect([chargesMinor, chargesUnread]).toEqual([read, undefined]);
  });

  it.each<[unit: AmountUnit, charged: unknown]>([
    ['major', { value: 0.125, currency: 'EUR' }],
    ['major', { value: 0.12, currency: 'CHF' }],
    ['minor', { value: 12.5, currency: 'EUR' }],
    ['minor', { value: 12, currency: 'CHF' }],
    ['minor', { value: 100_000_000_000, currency: 'EUR' }],
    ['minor', { value: 1e25, currency: 'EUR' }],
    ['minor', { value: 'none', currency: 'EUR' }],
    ['minor', { value: 12 }],
    ['minor', 12],
    ['minor', '0.12 EUR'],
    ['minor', [{ value: 12, currency: 'EUR' }]],
  ])(
    'marks charges that cannot be read, counted in %s units, of %j, and loses no status for them',
    async (unit, chargesAmount) => {
      open(unit);
      const { status, chargesMinor, chargesUnread } = await showing({ chargesAmount });
      expect([status, chargesMinor, chargesUnread]).toEqual(['INITIATED', undefined, true]);
    },
  );

  it.each([undefined, null, {}, { value: null, currency: 'EUR' }, { value: '' }, { value: 0 }])(
    'takes charges of %j for none that are shown',
    async (chargesAmount) => {
      const { chargesMinor, chargesUnread } = await showing({ chargesAmount });
      expect([chargesMinor, chargesUnread]).toEqual([undefined, undefined]);
    },
  );

  it.each([
    ['SLEV', 'SLEV'],
    [' slev', 'SLEV'],
    ['DEBT', 'DEBT'],
    ['', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('reads a charge bearer of %j as %s', async (chargeBearer, read) => {
    expect((await showing({ chargeBearer })).chargeBearer).toBe(read);
  });

  it('takes an empty text for an absent one', async () => {
    const { paymentTransactionInternalInformation: internal } = PAYMENT_BODY;
    answering({
      paymentTransactionInternalInformation: { ...internal, groupStatus: { value: '', label: '' } },
      paymentTransactionInformation: {
        paymentTransactionIdentification: { messageId: '', id: '', customerInstructionId: '' },
        direction: '',
      },
      paymentTransactionParties: { creditor: { name: '', accountId: { value: '' } } },
      customerInstructionId: '',
      paymentInstructionId: '',
    });
    const payment = await gateway.getPayment(['901']);
    expect(payment).toEqual({
      bankPaymentId: '901',
      ids: ['901'],
      status: 'INITIATED',
      wasSettled: false,
    });
    answering({
      id: 4711,
      status: { value: 'INITIATED' },
      customerInstructionInformation: { customerInstructionReference: '' },
    });
    expect((await gateway.getInstruction('4711')).reference).toBeUndefined();
  });

  it.each([
    ['IBAN', 'DE00', 'DE00'],
    ['', 'DE00', 'DE00'],
    ['iban', '4711', '4711'],
    ['ACCOUNT_ID', '4711', undefined],
    ['ACCOUNT_ID', 'fr76 3000 6000 0112 3456 7890 189', 'fr76 3000 6000 0112 3456 7890 189'],
  ])('reads an account of type "%s" shown as "%s" as the IBAN %s', async (type, value, iban) => {
    const party = { accountId: { type, value } };
    answering({ ...PAYMENT_BODY, paymentTransactionParties: { creditor: party } });
    expect((await gateway.getPayment(['901'])).iban).toBe(iban);
    answering({ ...INSTRUCTION_BODY, customerInstructionOrderingParties: { debtor: party } });
    expect((await gateway.getInstruction('4711')).debtorIban).toBe(iban);
  });

  it('reads a group of no payments without a total, and no other', async () => {
    const groups = (nbTransactions: number) => ({
      ...INSTRUCTION_BODY,
      paymentTransactionsStatus: [{ groupStatus: 'NOTPROCESSABLE', nbTransactions, totalAmount: null }],
    });
    answering(groups(0));
    expect((await gateway.getInstruction('4711')).groups).toEqual([
      { group: 'NOTPROCESSABLE', count: 0, totalMinor: 0n },
    ]);
    answering(groups(1));
    await expect(gateway.getInstruction('4711')).rejects.toThrow(ContractDrift);
  });

  it('reads sums and balances of a bank that adds up in floats', async () => {
    open('major');
    const noisy = { value: 0.1 + 0.2, currency: 'EUR' };
    const groups = [{ groupStatus: 'PROCESSABLE', nbTransactions: 2, totalAmount: noisy }];
    answering({ ...INSTRUCTION_BODY, calculatedAmount: noisy, paymentTransactionsStatus: groups });
    expect(await gateway.getInstruction('4711')).toMatchObject({
      calculatedTotalMinor: 30n,
      groups: [{ totalMinor: 30n }],
    });
    answering({ id: '99', status: 'OPENED', balance: noisy, availableBalance: noisy });
    expect(await gateway.getAccount('99')).toMatchObject({ balanceMinor: 30n, availableMinor: 30n });
  });

  it.each([
    ['calculatedAmount', 'calculatedAmount.value'],
    ['requestedTotalAmount', 'requestedTotalAmount.value'],
    ['totalAmount', 'paymentTransactionsStatus.totalAmount.value'],
  ])('names an unreadable %s without its value', async (field, named) => {
    const amount = (name: string) => ({ value: name === field ? 30.005 : 30, currency: 'EUR' });
    open('major');
    answering({
      ...INSTRUCTION_BODY,
      calculatedNbPaymentTransactions: 2,
      calculatedAmount: amount('calculatedAmount'),
      customerInstructionInformation: { requestedTotalAmount: amount('requestedTotalAmount') },
      paymentTransactionsStatus: [
        { groupStatus: 'PROCESSABLE', nbTransactions: 2, totalAmount: amount('totalAmount') },
      ],
    });
    await expect(gateway.getInstruction('4711')).rejects.toThrow(new ContractDrift([named]));
  });

  it('names an unreadable amount of a payment, or a balance, without its value', async () => {
    answering(change('150025', '1500.25'));
    await expect(gateway.getPayment(['901'])).rejects.toThrow(new ContractDrift(['instructedAmount.value']));
    answering({ id: '99', status: 'OPENED', balance: { value: 30.5, currency: 'EUR' } });
    await expect(gateway.getAccount('99')).rejects.toThrow(new ContractDrift(['balance.value']));
  });

  it('takes a payment for the one asked for by its own id alone, and asks by the other one where that shows another', async () => {
    const foreign = change('"id":901', '"id":951').replace('"id":900', '"id":901');
    bank.handler = (request, response) =>
      answer(response, 200, request.url.endsWith('/901') ? foreign : PAYMENT_BODY);
    expect(await gateway.getPayment(['901', '900'])).toMatchObject({ bankPaymentId: '901' });
    await expect(gateway.getPayment(['901'])).rejects.toThrow(ContractDrift);
  });

  it.each([
    [404, 403, NotFound],
    [403, 404, NotFound],
    [400, 404, NotFound],
    [400, 403, NotAllowed],
    [403, 400, NotAllowed],
    [404, 500, BankError],
  ])(
    'tells of two refusals of a payment that it is not found, or else not allowed, whatever the other is (%i, %i)',
    async (first, other, expected) => {
      bank.handler = (request, response) =>
        answer(response, request.url.endsWith('/901') ? first : other, {});
      const failure: unknown = await gateway.getPayment(['901', '900']).catch((error: unknown) => error);
      expect((failure as Error).constructor).toBe(expected);
    },
  );

  it.each([400, 403, 404, 422])(
    'asks for a payment by its other id where the first is answered %i',
    async (status) => {
      bank.handler = (request, response) =>
        request.url.endsWith('/901') ? answer(response, status, {}) : answer(response, 200, PAYMENT_BODY);
      expect(await gateway.getPayment(['901', '900'])).toMatchObject({ bankPaymentId: '901' });
    },
  );

  it('calls an initiation in doubt when control totals come back different', async () => {
    answering(JSON.stringify(INSTRUCTION_BODY).replace('300050', '300051'));
    expect(await gateway.initiate(INITIATE)).toMatchObject({ kind: 'in-doubt', why: 'echo-differs: total' });
  });

  it('submits and reads the groups of the answer', async () => {
    answering({
      ...INSTRUCTION_BODY,
      status: { value: 'SUB_REQUIRED' },
      paymentTransactionsStatus: [
        { groupStatus: 'PROCESSABLE', nbTransactions: 2, totalAmount: { value: 300050, currency: 'EUR' } },
      ],
    });
    expect(await gateway.submit('4711')).toMatchObject({
      kind: 'yes',
      value: { status: 'SUB_REQUIRED', groups: [{ group: 'PROCESSABLE', count: 2, totalMinor: 300_050n }] },
    });
    expect(gateway.prepareSubmit('4711').bodyHash).toEqual(createHash('sha256').digest());
    expect(await gateway.submit('4712')).toMatchObject({
      kind: 'in-doubt',
      why: 'echo-differs: id',
    });
  });

  it('lists the payments that can be read, where it is told of those that cannot', async () => {
    const internal = PAYMENT_BODY.paymentTransactionInternalInformation;
    const numbered = (id: number) => ({
      ...PAYMENT_BODY,
      paymentTransactionInternalInformation: { ...internal, id },
    });
    const lacking = {
      ...numbered(902),
      paymentTransactionInternalInformation: { id: 902, status: { value: 7 } },
    };
    const instructedAmount = { value: '1.234', currency: 'EUR' };
    const odd = { ...numbered(903), paymentTransactionAmountInformation: { instructedAmount } };
    answering({ items: [numbered(901), lacking, odd, numbered(904)], count: 4, limit: 100, offset: 0 }, 200);
    const [listed, told]: [string[], unknown[]] = [[], []];
    const onUnreadable = (...[{ bankPaymentId }, why]: [PaymentMarks, Error]) =>
      void told.push([bankPaymentId, why.message]);
    const payments = gateway.listPayments({}, () => true, undefined, onUnreadable);
    for await (const { bankPaymentId } of payments) listed.push(bankPaymentId);
    expect(listed).toEqual(['901', '904']);
    expect(told).toEqual([
      ['902', expect.stringContaining('paymentTransactionInternalInformation.status.value')],
      ['903', expect.any(String)],
    ]);
    const strictly = async () => {
      for await (const one of gateway.listPayments()) void one;
    };
    await expect(strictly()).rejects.toThrow(ContractDrift);
  });

  it('tells of listed payments when they were made, or are to be executed where that is not shown', async () => {
    const internal = PAYMENT_BODY.paymentTransactionInternalInformation;
    const dates = [{ creationDate: '2026-03-02T10:00:01+00:00' }, { instructedDate: '2026-03-10' }, {}, null];
    const items = dates.map((paymentTransactionDateInformation, index) => ({
      ...PAYMENT_BODY,
      paymentTransactionInternalInformation: { ...internal, id: 901 + index },
      paymentTransactionDateInformation,
    }));
    answering({ items, count: 4, limit: 100, offset: 0 }, 200);
    const made: (number | undefined)[] = [];
    for await (const { datedMs } of gateway.listStatuses({}, () => true)) made.push(datedMs);
    expect(made).toEqual([Date.UTC(2026, 2, 2, 10, 0, 1), Date.UTC(2026, 2, 10), undefined, undefined]);
  });

  it('lists payments by filter, in the bank’s unit, and accounts with balances', async () => {
    answering({ items: [PAYMENT_BODY], count: 1, limit: 100, offset: 0 }, 200);
    const payments = [];
    const filter = { status: 'SETTLED', from: '2026-03-01T00:00:00+01:00', minAmountMinor: 100n };
    for await (const payment of gateway.listPayments(filter)) payments.push(payment.bankPaymentId);
    expect(payments).toEqual(['901']);
    const query = new URL(bank.requests[0]?.url ?? '', bank.url);
    expect(query.pathname).toBe('/service-domain/v1/payment-transactions');
    expect(Object.fromEntries(query.searchParams)).toEqual({
      status: 'SETTLED',
      fromDate: '2026-03-01T00:00:00+01:00',
      minAmount: '100',
      page: '0',
      pageSize: '100',
    });
    answering({ id: '5', status: 'OPENED', balance: { value: -12, currency: 'EUR' }, userId: 9 }, 200);
    expect(await gateway.getAccount('5')).toMatchObject({
      bankAccountId: '5',
      balanceMinor: -12n,
      userId: '9',
    });
  });
});
