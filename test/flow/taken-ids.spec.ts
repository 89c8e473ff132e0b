import { BankGateway } from '../../src/bank/gateway';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const ROWS = 3;

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

/** From now on another employer has the ids of the bank's answers to that many adds, before they are recorded here. */
function anotherHasTheIdsOf(adds: number, isAnswered: boolean): void {
  const gateway = payroll.services[0]!.app.get(BankGateway);
  const { sendAdd } = gateway;
  let left = adds;
  jest.spyOn(gateway, 'sendAdd').mockImplementation(async (add) => {
    const isTaken = left-- > 0;
    const outcome = await sendAdd.call(gateway, add);
    if (!isTaken || outcome.kind !== 'yes') return outcome;
    await execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO bank_payment (employer_id, instruction_id, row_no, payment_id, bank_payment_id, add_outcome)
       VALUES (gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid(), '${outcome.value.bankPaymentId}', 'ADDED')`,
    );
    return isAnswered ? outcome : { kind: 'in-doubt', why: 'ECONNRESET' };
  });
}

const attempts = async (id: string) =>
  ((await payroll.run(id)).instructions as { attempt: number }[]).map(({ attempt }) => attempt);
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);

describe('a payment that the bank gives an id which is in the record as that of another', () => {
  it('is paid once where the id is one that the bank wrongly answered to its own add before', async () => {
    payroll = await Payroll.start();
    await payroll.fault({ operation: 'add', kind: 'echo-corrupted', field: 'id', nth: 1 });
    const id = await payroll.paid(payFile(payRows(1)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1]);
  });

  it.each([
    ['answered', true],
    ['not answered', false],
  ])('is built again where its add was %s and another employer has the id', async (_, isAnswered) => {
    payroll = await Payroll.start();
    anotherHasTheIdsOf(1, isAnswered);
    const id = await payroll.paid(payFile(payRows(ROWS)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await attempts(id)).toEqual([2]);
    expect(await timesPaid()).toEqual(payRows(ROWS).map(() => 1));
    expect(await payroll.attention()).toEqual([]);
  });

  it('is asked about where the bank does so whenever it is built again, and nothing is submitted', async () => {
    payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '1' } });
    anotherHasTheIdsOf(Infinity, true);
    const id = await payroll.paid(payFile(payRows(1)));
    const path = await payroll.askedAbout(id, 'REBUILD_LIMIT', 20_000);
    const { happened } = (await payroll.as('operator').get(path)).data;
    expect(happened).toMatch(
      /the last because the bank gave a payment of it the id of another payment\. The bank answered row 1 [(]pay_\w+[)] with the id of another payment 2 times/,
    );
    expect((await payroll.calls()).submit ?? 0).toBe(0);
  });

  it('is one and the same record where the bank answers two adds of an instruction with one id', async () => {
    payroll = await Payroll.start();
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { sendAdd } = gateway;
    let first: string | undefined;
    jest.spyOn(gateway, 'sendAdd').mockImplementation(async (add) => {
      const outcome = await sendAdd.call(gateway, add);
      if (outcome.kind !== 'yes') return outcome;
      const bankPaymentId = (first ??= outcome.value.bankPaymentId);
      return { ...outcome, value: { ...outcome.value, bankPaymentId } };
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1]);
    const { data } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments?limit=100`));
    const ids = (data.items as { bankPaymentId: string }[]).map(({ bankPaymentId }) => bankPaymentId);
    expect(new Set(ids).size).toBe(2);
  });
});
