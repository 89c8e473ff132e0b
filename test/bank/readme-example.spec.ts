import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import axios from 'axios';
import { DEFAULT_TOKEN, Sandbox, startSandbox } from '../../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { CHECKOUT } from '../support/readme-tables';

type PayOne = (url: string, token: string, debtor: string, iban: string, date: string) => Promise<string>;

/** The example of the client's README, as a module of the checkout. */
async function example(): Promise<PayOne> {
  const readme = readFileSync(join(CHECKOUT, 'src/bank/README.md'), 'utf8');
  const source = /```ts\n([^]*?)```/.exec(readme)?.[1] ?? '';
  mkdirSync(join(CHECKOUT, '.build'), { recursive: true });
  const folder = mkdtempSync(join(CHECKOUT, '.build/example-'));
  try {
    const path = join(folder, 'pay-one.ts');
    writeFileSync(path, source.replaceAll("'./src/", "'../../src/"));
    return ((await import(path)) as { payOne: PayOne }).payOne;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the example in the README of the bank client', () => {
  let bank: Sandbox;
  let logged: jest.SpyInstance;
  beforeAll(async () => {
    bank = await startSandbox({ stepMs: 0 });
    logged = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  });
  afterAll(async () => {
    logged.mockRestore();
    await bank.close();
  });

  it('lists the accounts and pays one person', async () => {
    const date = (await axios.get(`${bank.url}/sandbox/clock`)).data.date as string;
    const debtor = DEFAULT_SEED.users[1]!.account!.iban;
    const payOne = await example();
    const paid = await payOne(bank.url, DEFAULT_TOKEN, debtor, 'FR1420041010050500013M02606', date);
    expect(paid).toBe('SUB_REQUIRED');
    expect(logged.mock.calls).toEqual([
      ['1001', 'OPENED'],
      ['1002', 'OPENED'],
      ['1003', 'OPENED'],
    ]);
    const { payees } = (await axios.get(`${bank.url}/sandbox/ledger`)).data;
    expect(payees).toMatchObject([{ iban: 'FR1420041010050500013M02606', count: 1, movedMinor: '12500' }]);
  });
});
