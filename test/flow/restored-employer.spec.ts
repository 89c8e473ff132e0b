import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { readId } from '../../src/http/prefixed-id';
import { monthsAfter } from '../../src/schedule/period-dates';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const [ANOTHER, BIRCH] = DEFAULT_SEED.users;

describe('an employer that is made again after a restore, whose backup forgot it with its runs', () => {
  let payroll: Payroll;
  let restoring: Restoring;
  beforeEach(async () => {
    restoring = await Restoring.start();
    payroll = restoring.payroll;
    await restoring.backUp();
    // Of the employer nothing is left to go by.
    await restoring.inBackup(
      'SET session_replication_role = replica; DELETE FROM employer_account; DELETE FROM lease',
    );
  });
  afterEach(() => restoring.close());

  const paid = async () => payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 20_000);
  const madeWith = async ({ account, holderName, identityId }: NonNullable<typeof BIRCH>): Promise<void> => {
    const employer = { name: `${holderName}, made again`, timeZone: 'Europe/Paris', tickIbans: false };
    const { data } = await payroll.as('administrator').post('/v1/employers', employer);
    await restoring.stored(
      `INSERT INTO person_role (employer_id, person_id, role)
       SELECT $1, person_id, role FROM person_role WHERE employer_id = $2`,
      [readId('emp', data.id), readId('emp', payroll.employer)],
    );
    Object.assign(payroll, { employer: data.id });
    const attached = await payroll.as('operator').post(payroll.path('/accounts'), {
      bankAccountId: account!.accountId,
      debtorName: holderName,
      bankIdentityId: String(identityId),
    });
    expect(attached.status).toBe(201);
  };
  const holds = async (query: Record<string, string> = {}) =>
    (await payroll.upload(payFile(payRows(4)), query)).data.held.holds;

  it('has its file released by a person before it pays, and nobody else has', async () => {
    await paid();
    await restoring.restore();
    await restoring.answered();
    await madeWith(BIRCH!);
    expect(await holds()).toEqual({ RUN_MAY_BE_FORGOTTEN: 1 });
    const inFiveMonths = monthsAfter(payroll.executionDate().slice(0, 7), 5);
    expect(await holds({ period: inFiveMonths })).not.toHaveProperty('RUN_MAY_BE_FORGOTTEN');
    await madeWith(ANOTHER!);
    expect(await holds()).toEqual({});
  });

  it('has it released so, too, of as late a month as the bank may execute in what it shows without a date', async () => {
    await paid();
    await restoring.restore();
    await restoring.answered();
    await restoring.change('UPDATE forgotten_debit SET execution_date = NULL');
    await madeWith(BIRCH!);
    const ahead = (months: number) => ({ period: monthsAfter(payroll.executionDate().slice(0, 7), months) });
    expect(await holds(ahead(15))).toMatchObject({ RUN_MAY_BE_FORGOTTEN: 1 });
    expect(await holds(ahead(18))).not.toHaveProperty('RUN_MAY_BE_FORGOTTEN');
  });

  it('has it released so, too, where the bank has queued its submit and shows it as before that', async () => {
    await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs: 15_000 });
    await payroll.paid(payFile(payRows(2)));
    await eventually(async () => ((await payroll.calls()).submit ?? 0) === 1, 20_000);
    await restoring.restore();
    await restoring.answered();
    await madeWith(BIRCH!);
    expect(await holds()).toEqual({ RUN_MAY_BE_FORGOTTEN: 1 });
    await madeWith(ANOTHER!);
    expect(await holds()).toEqual({});
    expect((await payroll.ledger()).payees).toEqual([]);
  });

  it('has it released so, too, whoever it is, while the bank was not read', async () => {
    await paid();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restoring.restore();
    await madeWith(ANOTHER!);
    expect(await holds()).toEqual({ RUN_MAY_BE_FORGOTTEN: 1 });
    await payroll.clearFaults();
    await eventually(async () => {
      const [restore] = await restoring.stored<{ read: boolean }>(
        'SELECT bank_read_at IS NOT NULL AS read FROM database_restore',
      );
      return restore?.read === true;
    }, 20_000);
    expect(await holds({ kindOfPay: 'BONUS' })).not.toHaveProperty('RUN_MAY_BE_FORGOTTEN');
  });
});
