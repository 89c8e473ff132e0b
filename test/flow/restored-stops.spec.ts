import { readId } from '../../src/http/prefixed-id';
import { InstructionReader } from '../../src/submission/read-back';
import { RestoreCheck } from '../../src/restore/restore-check';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
const rows = payRows(6);

beforeEach(async () => {
  restoring = await Restoring.start({ RECONCILE_MS: '2000' });
  payroll = restoring.payroll;
});
afterEach(() => restoring.close());

const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const asked = async (run: string) =>
  (await payroll.attention()).find(
    ({ kind, payRunId }) => kind === 'POSSIBLE_DUPLICATE_PAY' && payRunId === run,
  )?.happened;
const stopped = async (run: string) => (await payroll.run(run)).stopped as { reason: string } | null;

describe('a run that is stopped after a restore because the bank has a forgotten submit', () => {
  it('of another run for the same employees: people are asked, and the rest is paid once these are taken out', async () => {
    const run = await payroll.uploaded(payFile(rows.slice(0, 4)));
    await restoring.backUp();
    await payroll.approve(run);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restoring.restore();
    // As if nobody knew of the restore yet: else its rows were held.
    await restoring.change('UPDATE database_restore SET nth = 0, bank_read_at = now()');
    await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${run.id}/cancellation`), { reason: 'it is uploaded again' });
    const other = await payroll.paid(payFile(rows.slice(3)));
    await payroll.clearFaults();
    await restoring.answered();
    const told = await asked(other);
    expect(told).toContain('has 1 payments that may have been paid already');
    expect(await stopped(other)).toMatchObject({ reason: 'RESTORED' });
    expect(await restoring.resume()).toBe('RESUMED');
    const path = payroll.path(`/pay-runs/${other}`);
    const [twice] = (await payroll.as('approver').get(`${path}/payments`)).data.items;
    expect(told).toContain(twice.id);
    const amendment = { excludePaymentIds: [twice.id], reason: 'the bank has paid it' };
    await payroll.as('preparer').post(`${path}/amendments`, amendment);
    await payroll.until(other, ['READY'], 20_000);
    expect([await asked(other), await stopped(other)]).toEqual([undefined, null]);
    await payroll.approve(await payroll.run(other));
    await payroll.until(other, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('of itself: what else was found meanwhile stops it until people decide that too', async () => {
    const run = await payroll.uploaded(payFile(rows));
    await restoring.backUp();
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    await payroll.approve(run);
    await payroll.until(run.id, ['VERIFIED'], 20_000);
    await payroll.submitAtBank((await payroll.run(run.id)).instructions[0].bankInstructionId);
    await restoring.restore();
    await payroll.clearFaults();
    expect(await restoring.answered()).toContain('the run is READY');
    expect(await restoring.resume()).toBe('RESUMED');
    await restoring.change(
      `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, happened, certain, ask_bank)
       SELECT employer_id, gen_random_uuid(), 'ECHO_MISMATCH', id, id, 'a name differs', 'it is paid', 'why?'
       FROM pay_run WHERE id = '${readId('run', run.id)}'`,
    );
    await payroll.approve(run);
    await payroll.until(run.id, ['SUBMITTING'], 20_000);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await stopped(run.id)).toMatchObject({ reason: 'RESTORED' });
    expect((await timesPaid()).filter((count) => count > 0)).toHaveLength(2);
    const path = await payroll.askedAbout(run.id, 'ECHO_MISMATCH');
    expect((await payroll.decide(path, { action: 'RESUME', reason: 'the name is right' })).status).toBe(200);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    await eventually(async () => (await timesPaid()).length === 6, 10_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1, 1, 1]);
  });
});

describe('a run that a person had stopped before a restore, which leaves it unclear', () => {
  const WHY = 'two payees are strange';
  const press = (id: string, who: 'operator' | 'approver' | 'finance', what: 'stop' | 'resume') => {
    const path = payroll.path(`/pay-runs/${id}`);
    return what === 'stop'
      ? payroll.as(who).post(`${path}/stop`, { reason: WHY })
      : payroll.resume(path, who, WHY);
  };

  const stoppedBefore = async (): Promise<string> => {
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(rows.slice(0, 4)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    expect((await press(id, 'finance', 'stop')).status).toBe(200);
    await restoring.backUp();
    return id;
  };

  it('says the reason of that stop too, and takes a resume of it before anybody lets the run go on', async () => {
    const id = await stoppedBefore();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '403', every: 1 });
    await restoring.restore();
    await restoring.answered();
    expect(await restoring.resume('letter of the bank, 4711')).toBe('RESUMED');
    await payroll.clearFaults();
    const both = { reason: `RESTORED_UNCLEAR; ${WHY}` };
    expect(await stopped(id)).toMatchObject(both);
    const { data } = await payroll.as('operator').get(payroll.path('/pay-runs'));
    expect(data.items.find((run: { id: string }) => run.id === id).stopped).toMatchObject(both);
    expect((await press(id, 'operator', 'stop')).data.code).toBe('ALREADY_STOPPED');
    expect((await press(id, 'approver', 'resume')).data.stopped).toMatchObject({
      reason: 'RESTORED_UNCLEAR',
    });
    expect((await press(id, 'approver', 'resume')).data.code).toBe('ATTENTION_DECIDES');
    expect((await press(id, 'operator', 'stop')).data.stopped).toMatchObject(both);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await timesPaid()).toEqual([]);
    expect((await press(id, 'approver', 'resume')).data.stopped).toBeNull();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });
});

describe('a replica that was paused while it held the record against the bank', () => {
  const letGo: (() => void)[] = [];
  const hold = () => new Promise<void>((resolve) => letGo.push(resolve));
  afterEach(() => {
    for (const one of letGo.splice(0)) one();
    jest.restoreAllMocks();
  });

  it('takes nothing that was submitted once people resumed for forgotten', async () => {
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await restoring.backUp();
    await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
    const { standing, readBack } = InstructionReader.prototype;
    const [asleep, rest] = [hold(), hold()];
    let reads = 0;
    jest.spyOn(InstructionReader.prototype, 'standing').mockImplementation(async function (
      this: InstructionReader,
      work,
    ) {
      reads += 1;
      if (reads === 1) await asleep;
      return standing.call(this, work);
    });
    jest.spyOn(InstructionReader.prototype, 'readBack').mockImplementation(async function (
      this: InstructionReader,
      ...args
    ) {
      if (args[0].planned.ordinal > 1) await rest;
      return readBack.apply(this, args);
    });
    const reconciled = jest.spyOn(RestoreCheck.prototype, 'reconcile');
    await restoring.restore();
    await eventually(() => Promise.resolve(reads > 0), 10_000);
    payroll.url = (await payroll.addReplica()).url;
    // As the server does once it has heard nothing of a process for a while.
    await restoring.stored(
      `SELECT pg_terminate_backend(pid) FROM pg_locks
       WHERE locktype = 'advisory' AND objid::bigint = hashtext('restores')::bigint & 4294967295`,
    );
    expect(await restoring.answered()).toContain('shows no submitted instruction');
    expect(await restoring.resume()).toBe('RESUMED');
    const following = `SELECT FROM instruction WHERE submitted_at IS NOT NULL`;
    await eventually(async () => (await restoring.stored(following)).length === 1, 10_000);
    letGo[0]!();
    await reconciled.mock.results[0]!.value;
    expect(await restoring.stored('SELECT bank_instruction_id FROM forgotten_instruction')).toEqual([]);
    expect(await stopped(id)).toBeNull();
    letGo[1]!();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1, 1, 1]);
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual([]);
  });
});
