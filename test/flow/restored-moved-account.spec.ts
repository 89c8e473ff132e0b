import axios from 'axios';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { readId } from '../../src/http/prefixed-id';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const BIRCH = DEFAULT_SEED.users[1]!;

describe('an account that went from one employer to another, which pays from it after the backup', () => {
  let payroll: Payroll;
  let restoring: Restoring;
  afterEach(() => restoring.close());

  const as = (employer: string) => Object.assign(payroll, { employer });
  const attachToB = async (b: string) => {
    as(b);
    const attached = await payroll.as('operator').post(payroll.path('/accounts'), {
      bankAccountId: BIRCH.account!.accountId,
      debtorName: BIRCH.holderName,
      bankIdentityId: String(BIRCH.identityId),
    });
    expect(attached.status).toBe(201);
    const { data: portal } = await axios.get(`${payroll.bank.url}/sandbox/portal/accounts`);
    const { balance } = portal.find(
      (one: { accountId: string }) => one.accountId === BIRCH.account!.accountId,
    );
    const checked = await payroll
      .as('operator')
      .post(payroll.path(`/accounts/${attached.data.id}/balance-check`), { balance });
    expect(checked.status).toBeLessThan(300);
  };

  it('has its forgotten run held when its file comes again, and nobody paid twice', async () => {
    restoring = await Restoring.start();
    payroll = restoring.payroll;
    const a = payroll.employer;
    const { data } = await payroll
      .as('administrator')
      .post('/v1/employers', { name: 'Birch Holding', timeZone: 'Europe/Paris', tickIbans: false });
    const b = String(data.id);
    await restoring.stored(
      `INSERT INTO person_role (employer_id, person_id, role)
       SELECT $1, person_id, role FROM person_role WHERE employer_id = $2`,
      [readId('emp', b), readId('emp', a)],
    );
    const detached = await payroll
      .as('operator')
      .post(payroll.path(`/accounts/${payroll.account}/detachment`), { reason: 'it goes to the holding' });
    expect(detached.status).toBeLessThan(300);
    await restoring.backUp();
    await attachToB(b);
    await payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 30_000);

    as(a);
    await restoring.restore();
    for (const one of [a, b]) {
      as(one);
      await restoring.answered();
      expect(await restoring.resume()).toBe('RESUMED');
    }
    await attachToB(b);
    expect((await payroll.upload(payFile(payRows(4)))).data.held.holds).toEqual({ RUN_MAY_BE_FORGOTTEN: 1 });
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  }, 200_000);
});
