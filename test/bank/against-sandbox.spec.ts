import { BankClient } from '../../src/bank/client';
import { BankGateway } from '../../src/bank/gateway';
import { type Sandbox, startSandbox } from '../../src/bank-sandbox/main';
import { DEFAULT_CLIENT } from '../../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import type { Variants } from '../../src/bank-sandbox/variants';

const DEBTOR = DEFAULT_SEED.users[0]!;
const PAYEE = 'FR1420041010050500013M02606';

const VARIANTS: [string, Partial<Variants>][] = [
  ['as the document shows it', {}],
  ['counting in euro, as strings', { amountUnit: 'major', amountType: 'string', countMeans: 'page' }],
  ['with small pages from 0', { pageBase: 0, maxPageSize: 7, errorShape: 'nested', submitStatus: 202 }],
  ['ignoring page', { ignorePageParams: true, maxPageSize: 20, countMeans: 'page' }],
  [
    'leaving out and rewriting',
    { omitFromLists: ['parties', 'messageId'], respaceIbans: true, upperCaseNames: true },
  ],
  ['giving tokens for a form', { tokenForm: 'form' }],
  ['giving tokens for a form under HTTP Basic', { tokenForm: 'basic' }],
];

describe('a payroll through the gateway at a bank', () => {
  it.each(VARIANTS)('%s: initiates, adds, lists every payment once, submits', async (_name, variants) => {
    const bank: Sandbox = await startSandbox({ stepMs: 0, variants });
    const client = new BankClient({
      baseUrl: bank.url,
      amountUnit: variants.amountUnit ?? 'minor',
      token: {
        tokenUrl: `${bank.url}/api/distributor/v1/oauth2/token`,
        clientId: DEFAULT_CLIENT.id,
        clientSecret: DEFAULT_CLIENT.secret,
        form: variants.tokenForm,
      },
    });
    const gateway = new BankGateway(client);
    const rows = Array.from({ length: 45 }, (_none, index) => ({
      messageId: `m-${index}`,
      amountMinor: 100n + BigInt(index),
    }));
    const totalMinor = rows.reduce((sum, row) => sum + row.amountMinor, 0n);
    const account = { name: DEBTOR.holderName, iban: DEBTOR.account!.iban };
    const initiated = await gateway.initiate({
      reference: 'run-1-1-1',
      count: rows.length,
      totalMinor,
      currency: 'EUR',
      executionDate: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
      debtor: account,
      externalData: { run: 'r' },
    });
    expect(initiated).toMatchObject({ kind: 'yes', value: { status: 'INITIATED', calculatedCount: 0 } });
    const id = initiated.kind === 'yes' ? initiated.value.bankInstructionId : '';
    const added = await Promise.all(
      rows.map((row) =>
        gateway.add(id, {
          ...row,
          currency: 'EUR',
          creditor: { name: 'Ada', iban: PAYEE },
          externalData: {},
        }),
      ),
    );
    const ids = added.map((outcome) => (outcome.kind === 'yes' ? outcome.value.bankPaymentId : outcome.kind));
    const listed = [];
    for await (const payment of gateway.listInstructionPayments(id)) listed.push(payment);
    expect(listed.map((payment) => payment.bankPaymentId).sort()).toEqual([...ids].sort());
    expect(listed.reduce((sum, payment) => sum + (payment.amountMinor ?? 0n), 0n)).toBe(totalMinor);
    expect(await gateway.submit(id)).toMatchObject({ kind: 'yes' });
    expect(await gateway.getInstruction(id)).toMatchObject({
      calculatedCount: rows.length,
      calculatedTotalMinor: totalMinor,
      groups: [{ group: 'PROCESSABLE', count: rows.length, totalMinor }],
    });
    const accounts = [];
    for await (const one of gateway.listAccounts()) accounts.push(one.iban?.replaceAll(' ', ''));
    expect(accounts).toContain(account.iban);
    expect(await gateway.getPayment([ids[0] ?? ''])).toMatchObject({
      bankPaymentId: ids[0],
      amountMinor: 100n,
    });
    client.close();
    await bank.close();
  });
});
