import { DEFAULT_SEED, Seed } from '../../src/bank-sandbox/seed';
import { Body, Company, Desk } from './desk';

type Unit = 'minor' | 'major';

let desk: Desk | undefined;
afterEach(async () => {
  await desk?.close();
  desk = undefined;
});

/** A check of the balance of 250,000.00 euro that Alder's account has. */
async function onboarded(config: Unit, bank: Unit, seed: Seed = DEFAULT_SEED) {
  desk = await Desk.open({ BANK_AMOUNT_UNIT: config }, { variants: { amountUnit: bank }, seed });
  const company = await desk.employer('Alder Logistics GmbH');
  const attached = await company.attach();
  expect(attached.status).toBe(201);
  const check = (balance: unknown, role: Parameters<Company['as']>[0] = 'finance') =>
    company.as(role, 'POST', `/accounts/${attached.body.id}/balance-check`, { balance });
  return { company, check };
}

it.each<Unit>(['minor', 'major'])(
  'confirms the unit %s when the balance is equal to the cent',
  async (unit) => {
    const { company, check } = await onboarded(unit, unit);
    expect(await check('250000.01')).toMatchObject({ status: 422, body: { code: 'BALANCE_DIFFERS' } });
    const checked = await check('250000.00');
    expect(checked).toMatchObject({ status: 200, body: { unitConfirmed: unit, ready: true, notReady: [] } });
    const [row] = await company.query<Body>('SELECT unit_confirmed_by AS by FROM employer_account');
    expect(row.by).toBe(company.people.finance.personId);
    const audited = (await company.audited()).filter(({ action }) => action === 'account.unit-checked');
    expect(audited.map(({ detail }) => detail.verdict)).toEqual(['BALANCE_DIFFERS', 'EQUAL']);
  },
);

it.each<[Unit, Unit]>([
  ['minor', 'major'],
  ['major', 'minor'],
])('sees that the setting says %s where the bank counts in %s units', async (config, bank) => {
  const { company, check } = await onboarded(config, bank);
  expect(await check('250000.00')).toMatchObject({ status: 422, body: { code: 'UNIT_LOOKS_WRONG' } });
  const { body } = await company.as('operator', 'GET', '/accounts');
  expect(body.items).toMatchObject([{ unitConfirmed: null, ready: false }]);
});

it('proves nothing with a balance of zero', async () => {
  const [user, ...others] = DEFAULT_SEED.users;
  const empty = { ...user!, account: { ...user!.account!, balanceMinor: '0' } };
  const { check } = await onboarded('minor', 'minor', { ...DEFAULT_SEED, users: [empty, ...others] });
  expect(await check('0.00')).toMatchObject({ status: 422, body: { code: 'BALANCE_IS_ZERO' } });
  expect(await check('12.00')).toMatchObject({ status: 422, body: { code: 'BALANCE_DIFFERS' } });
});

it('does not tell the balance to somebody who guesses, and takes only amounts, from those who may', async () => {
  const { check } = await onboarded('minor', 'minor');
  const guessed = await check('1.00');
  expect(guessed.body.code).toBe('BALANCE_DIFFERS');
  expect(guessed.text).not.toMatch(/250000|25000000/);
  for (const balance of ['250,000.00', '-1.00', '1e3', '', ' 1', '1.001', 250000]) {
    const { status, body } = await check(balance);
    expect([balance, status, body.errors?.[0]?.pointer]).toEqual([balance, 422, '#/balance']);
  }
  expect((await check('250000.00', 'preparer')).status).toBe(403);
});

it('is void under another setting until somebody checks again', async () => {
  const { company, check } = await onboarded('minor', 'minor');
  await check('250000.00');
  const other = await desk!.addApp({ BANK_AMOUNT_UNIT: 'major' });
  const { body } = await company.as('operator', 'GET', '/accounts', undefined, other);
  expect(body.items[0].notReady.map(({ code }: Body) => code)).toEqual([
    'UNIT_CONFIRMED_FOR_ANOTHER_SETTING',
  ]);
});
