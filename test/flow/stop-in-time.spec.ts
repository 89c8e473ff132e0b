import { Client } from 'pg';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { Database } from '../../src/database/database';
import { DAY_MS } from '../../src/domain/durations';
import { readId } from '../../src/http/prefixed-id';
import { stopEmployer, stopEverything } from '../../src/pay-run/stop';
import { isWaitedFor, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const REASON = 'strange payees';

let payroll: Payroll;
let locking: Client;
beforeEach(async () => {
  payroll = await Payroll.start();
  locking = new Client({ connectionString: payroll.database.superuserUrl });
  await locking.connect();
});
afterEach(async () => {
  await locking.end();
  await payroll.close();
});

/** Begins work that writes to a table, or its rows, and gives what `meanwhile` gives while that work is held up there. */
async function heldUp<Answer>(
  table: string,
  begin: () => unknown,
  meanwhile: () => Promise<Answer>,
  lock = `LOCK TABLE ${table} IN SHARE MODE`,
): Promise<Answer> {
  await locking.query(`BEGIN; ${lock}`);
  begin();
  await eventually(
    () => isWaitedFor(locking),
    20_000,
    () => `nobody writes to ${table}`,
  );
  const answer = await meanwhile();
  expect(await isWaitedFor(locking)).toBe(true);
  await locking.query('COMMIT');
  return answer;
}

const stopped = async (): Promise<number> =>
  (await payroll.as('operator').post(payroll.path('/stop'), { reason: REASON })).status;

/** Everything of this employer, and of all, by a person and by the service. */
async function allStops(): Promise<unknown[]> {
  const database = payroll.services[0]!.app.get(Database);
  const employerId = readId('emp', payroll.employer);
  await database.inEmployer(employerId, (tx) => stopEmployer(tx, 'CREDENTIALS'));
  await database.inEmployer(employerId, (tx) =>
    stopEverything(tx, { kind: 'INVARIANT_BREACH', subjectId: employerId }),
  );
  const everybody = await payroll.as('administrator').post('/v1/service/stop', { reason: REASON });
  return [await stopped(), everybody.status];
}

describe('a stop does not wait', () => {
  it('for an upload of the employer', async () => {
    let uploaded: ReturnType<Payroll['upload']> | undefined;
    const upload = () => (uploaded = payroll.upload(payFile(payRows(3)), payroll.later()));
    expect(await heldUp('pay_file', upload, stopped)).toBe(200);
    expect((await uploaded)?.status).toBe(201);
    expect((await payroll.as('finance').get(payroll.path(''))).data.stopped.reason).toBe(REASON);
  });

  it('for the rows that an upload keeps back for their faults', async () => {
    await payroll.as('administrator').patch(payroll.path(''), { faultPolicy: { policy: 'hold' } });
    const [first, second] = payRows(2);
    const file = payFile([first!, { ...second!, amount: '1.234' }]);
    let uploaded: ReturnType<Payroll['upload']> | undefined;
    const upload = () => (uploaded = payroll.upload(file, payroll.later()));
    expect(await heldUp('faulty_row', upload, stopped)).toBe(200);
    expect(await uploaded).toMatchObject({ status: 201, data: { payments: 1 } });
  });

  it.each([
    ['the run', 'pay-run.corrected'],
    ['a supplement', 'pay-file.uploaded'],
  ])('for corrected rows that become part of %s', async (what, done) => {
    await payroll.as('administrator').patch(payroll.path(''), { faultPolicy: { policy: 'hold' } });
    const [first, second] = payRows(2);
    const { data: run } = await payroll.upload(
      payFile([first!, { ...second!, amount: '0.00' }]),
      payroll.later(),
    );
    const isOwn = what === 'the run';
    if (!isOwn) await payroll.approve(run);
    const params = isOwn ? {} : { executionDate: payroll.executionDate(), ...payroll.later() };
    const path = payroll.path(`/pay-runs/${run.id}/corrections`);
    const csv = (await payroll.as('preparer').get(`${path}.csv`)).data as string;
    const mended = csv.replace(',0.00,', `,${second!.amount},`);
    const headers = { 'content-type': 'text/csv' };
    let corrected: Promise<{ status: number }> | undefined;
    const correct = () => (corrected = payroll.as('preparer').post(path, mended, { headers, params }));
    const rows = 'SELECT FROM faulty_row FOR NO KEY UPDATE';
    expect(await heldUp('faulty_row', correct, stopped, rows)).toBe(200);
    expect(await corrected).toMatchObject({ data: { corrected: 1, keptBack: 0 } });
    expect((await actions()).slice(1)).toEqual(['employer.stopped', done]);
  });

  it('for an amendment of a run that was being built', async () => {
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    const { items } = (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data;
    const amendment = { excludePaymentIds: [items[0].id], reason: 'the bank refuses one' };
    const amend = () => payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), amendment);
    expect(await heldUp('planned_instruction', amend, allStops)).toEqual([200, 200]);
    await payroll.until(id, ['READY'], 20_000);
  });

  it('for the approvals of a run that lapse', async () => {
    const run = await payroll.uploaded(payFile(payRows(3)), payroll.later());
    await payroll.approve(run);
    const late = () => {
      payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
      return payroll.wakeAll();
    };
    expect(await heldUp('approval', late, allStops)).toEqual([200, 200]);
    await payroll.until(run.id, ['READY'], 20_000);
  });

  it('for a hold that is released', async () => {
    const [first] = payRows(1);
    const run = await payroll.uploaded(payFile([first!, { ...first!, amount: '12.34' }]), payroll.later());
    const path = payroll.path(`/pay-runs/${run.id}/holds`);
    const [{ code, payment }] = (await payroll.as('approver').get(path)).data.items;
    let released: Promise<{ status: number }> | undefined;
    const release = () =>
      (released = payroll
        .as('approver')
        .post(`${path}/release`, { code, paymentId: payment.id, reason: 'both are owed' }));
    expect(await heldUp('planned_instruction', release, stopped)).toBe(200);
    expect((await released)?.status).toBe(200);
    expect(await actions()).toEqual(['employer.stopped', 'pay.released', 'pay-run.hold-released']);
  });

  it('for a successor that pays once more what came back', async () => {
    const [first, second] = payRows(2);
    const { iban } = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!;
    const parent = await payroll.paid(payFile([{ ...first!, iban }, second!]));
    await payroll.until(parent, ['SETTLED'], 20_000);
    const later = new Date(payroll.clock.now().getTime() + 7 * DAY_MS);
    await payroll.bankClock(later);
    payroll.clock.set(later);
    await eventually(async () => {
      await payroll.wakeAll();
      return (await payroll.run(parent)).returned.payments === 1;
    }, 20_000);
    const { items } = (await payroll.as('finance').get(payroll.path(`/pay-runs/${parent}/payments`))).data;
    let made: Promise<{ status: number }> | undefined;
    const succeed = () =>
      (made = payroll.as('preparer').post(payroll.path(`/pay-runs/${parent}/successor`), {
        executionDate: payroll.executionDate(),
        ...payroll.later(),
        paymentIds: [items[0].id],
        reason: 'the account was closed, another is known',
      }));
    expect(await heldUp('planned_instruction', succeed, stopped)).toBe(200);
    expect((await made)?.status).toBe(201);
    expect(await actions()).toEqual(['employer.stopped', 'pay.released', 'pay-run.succeeded']);
  });
});

/** The last of the employer's audit chain. */
async function actions(): Promise<string[]> {
  const entries = await select<{ action: string }>(
    payroll.database.superuserUrl,
    `SELECT action FROM audit_entry WHERE chain_id = $1 ORDER BY seq DESC LIMIT 3`,
    [readId('emp', payroll.employer)],
  );
  return entries.map(({ action }) => action).reverse();
}
