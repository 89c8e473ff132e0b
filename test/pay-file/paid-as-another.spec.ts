import { readId } from '../../src/http/prefixed-id';
import { paidAsAnother } from '../../src/pay-run/paid-as-another';
import { germanIban } from '../support/pay-rows';
import { csv, Desk, PayDesk, row } from './pay-desk';

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

/** A run of one row that the bank refused to pay. */
async function unpaid(line: string): Promise<string> {
  const id = readId('run', (await desk.upload(employer, csv(line))).answer.id);
  await desk.asSuperuser(
    `SET session_replication_role = replica;
     UPDATE payment SET status = 'FAILED', live = false WHERE pay_run_id = '${id}';
     UPDATE pay_run SET status = 'FAILED' WHERE id = '${id}'`,
  );
  return id;
}

/** Whether its payment would not be paid again by a successor. */
async function isPaidAsAnother(run: string): Promise<boolean> {
  const payment = await desk.paymentIn(employer, run, 2);
  return (await desk.inRun(employer, run, (tx, one) => paidAsAnother(tx, one, [payment]))).has(payment);
}

describe('what was not paid', () => {
  const old = row('0017', '10.00', 'Ann Smith', germanIban(1));

  it('is not paid again beside a row of the same name and id, written otherwise, to another account', async () => {
    const run = await unpaid(old);
    expect(await isPaidAsAnother(run)).toBe(false);
    await desk.upload(employer, csv(row('17', '11.00', 'ANN Smith', germanIban(2))));
    expect(await isPaidAsAnother(run)).toBe(true);
  });

  it.each([
    ['somebody of another name', row('17', '11.00', 'Bo Smith', germanIban(2)), {}],
    ['somebody of the same name under another id', row('18', '11.00', 'Ann Smith', germanIban(2)), {}],
    [
      'another kind of pay to another account',
      row('17', '10.00', 'Ann Smith', germanIban(2)),
      { kindOfPay: 'BONUS' },
    ],
  ])('is paid again beside %s', async (_who, line, fields) => {
    const run = await unpaid(old);
    await desk.upload(employer, csv(line), fields);
    expect(await isPaidAsAnother(run)).toBe(false);
  });
});
