import axios from 'axios';
import { Client } from 'pg';
import { readId } from '../../src/http/prefixed-id';
import * as words from '../../src/pay-run/attention-words';
import { isWaitedFor } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { RUN_DECISION_NAMES, RUN_DECISIONS } from '../support/run-decisions';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
beforeEach(async () => {
  restoring = await Restoring.start({ RECONCILE_MS: '2000' });
  payroll = restoring.payroll;
});
afterEach(() => restoring.close());

type Run = Awaited<ReturnType<Payroll['uploaded']>>;

const runPath = (id: string) => payroll.path(`/pay-runs/${id}`);
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const lapses = async (id: string) =>
  (await payroll.attention()).filter(({ kind, payRunId }) => kind === 'APPROVAL_LAPSED' && payRunId === id);

const openDoubts = async (id: string) =>
  (await payroll.as('finance').get(`${runPath(id)}/reconciliation`)).data.openDoubts;

const stopped = (id: string) => payroll.as('finance').post(`${runPath(id)}/stop`, { reason: 'a pause' });

/** How far a run is at the moment of the backup, and how it is held there. */
const MOMENTS = [
  {
    status: 'APPROVED',
    hold: (id: string) => stopped(id),
  },
  {
    status: 'BUILDING',
    hold: () => payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 }),
  },
  {
    status: 'VERIFIED',
    hold: () => payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 }),
  },
] as const;

/** A run that was approved when the backup was made, and of which something was decided since; restored, and resumed. */
async function forgotten(
  { status, hold }: (typeof MOMENTS)[number],
  decide: (run: Run) => Promise<void>,
): Promise<Run> {
  const run = await payroll.uploaded(payFile(payRows(4)));
  await hold(run.id);
  await payroll.approve(run);
  await payroll.until(run.id, [status], 20_000);
  await restoring.backUp();
  await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
  await stopped(run.id);
  await payroll.clearFaults();
  await decide(run);
  await restoring.restore();
  const told = await restoring.answered();
  expect(told).toContain(
    `The approvals of 1 runs that the record has as not submitted have lapsed (${run.id})`,
  );
  expect(told).toContain('disable again whom');
  expect(await restoring.resume()).toBe('RESUMED');
  return run;
}

describe.each(MOMENTS)('a run that is $status in a restored backup, and', (moment) => {
  it.each(RUN_DECISION_NAMES)('%s since, pays nobody before it is approved again', async (decision) => {
    const run = await forgotten(moment, (made) => RUN_DECISIONS[decision](payroll, made.id));
    await payroll.until(run.id, ['READY'], 20_000);
    expect((await lapses(run.id)).map(({ happened }) => happened)).toEqual([
      expect.stringContaining('Cancel or amend the run again'),
    ]);
    expect(await timesPaid()).toEqual([]);
    await payroll.approve(await payroll.run(run.id));
    await payroll.until(run.id, ['SETTLED'], 30_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    expect(await lapses(run.id)).toEqual([]);
    await payroll.reconcile();
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual([]);
  });
});

it('says no more that nothing of a run was submitted, of which a part is taken back into the record', async () => {
  const accounts = await axios.get<{ accountId: string; balance: string }[]>(
    `${payroll.bank.url}/sandbox/portal/accounts`,
  );
  const { accountId, balance } = accounts.data.find((one) => one.accountId === '1002')!;
  const amountMinor = String(BigInt(balance.replace('.', '')) / 2n);
  const post = (direction: 'DEBIT' | 'CREDIT') =>
    axios.post(`${payroll.bank.url}/sandbox/postings`, {
      accountId,
      type: 'DISTRIBUTOR_POSTING',
      direction,
      amountMinor,
    });
  for (let n = 0; n < 2; n += 1) await post('DEBIT');
  const id = await payroll.paid(payFile(payRows(6)));
  await payroll.askedAbout(id, 'LOW_BALANCE');
  await restoring.backUp();
  const { NOT_OPENED } = words;
  await restoring.inBackup(
    `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, instruction_id, happened, certain, ask_bank)
     SELECT employer_id, gen_random_uuid(), kind, id, pay_run_id, id, 'it', '${NOT_OPENED}', 'why?'
     FROM instruction, unnest(ARRAY['ROW_REFUSED_BY_BANK', 'INITIATE_REFUSED']) AS kind;
     INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, instruction_id, happened, certain, ask_bank)
     SELECT employer_id, gen_random_uuid(), 'REBUILD_LIMIT', planned_instruction_id, pay_run_id, id, 'it', '${NOT_OPENED}', 'why?'
     FROM instruction;
     INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, happened, certain, ask_bank)
     SELECT employer_id, gen_random_uuid(), kind, id, id, 'it', 'nothing of it is submitted', 'why?'
     FROM pay_run, unnest(ARRAY['REPLACED_UNSEEN', 'CONTRACT_DRIFT']) AS kind`,
  );
  const [first] = (await payroll.run(id)).instructions;
  await post('CREDIT');
  // What is deleted is asked about no more: it is built again.
  await payroll.fault({ operation: 'deleteInstruction', kind: '403', every: 1 });
  await payroll.submitAtBank(first.bankInstructionId);
  await restoring.restore();
  expect(await restoring.answered()).toContain(
    'taken back into the record, to be followed: 1 with 2 payments',
  );
  const rest = ['INITIATE_REFUSED', 'REBUILD_LIMIT', 'ROW_REFUSED_IN_MID_RUN'].flatMap((kind) => [
    kind,
    kind,
  ]);
  const asked = `SELECT kind, certain, payments FROM attention WHERE resolved_at IS NULL AND kind <> 'RESTORED'
    AND instruction_id IS DISTINCT FROM $1 ORDER BY kind`;
  expect(await restoring.stored(asked, [readId('ins', first.id)])).toEqual(
    rest.map((kind) => ({ kind, certain: words.UNPAID_IN_MID_RUN, payments: 2 })),
  );
});

it('takes no approval for older than a restore that was given after it was noticed', async () => {
  const run = await payroll.uploaded(payFile(payRows(4)));
  await restoring.backUp();
  await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
  await restoring.restore();
  await payroll.approve(run);
  await payroll.clearFaults();
  expect(await restoring.answered()).not.toContain('have lapsed');
  expect(await restoring.resume()).toBe('RESUMED');
  await payroll.until(run.id, ['SETTLED'], 20_000);
  expect(await timesPaid()).toEqual([1, 1, 1, 1]);
});

it('pays nobody who was left out of a later version of which a part was submitted', async () => {
  const run = await payroll.uploaded(payFile(payRows(4)));
  await stopped(run.id);
  await payroll.approve(run);
  await restoring.backUp();
  const { items } = (await payroll.as('approver').get(`${runPath(run.id)}/payments`)).data;
  const left = items.find((one: { employeeId: string }) => one.employeeId === 'E000004');
  const amendment = { excludePaymentIds: [left.id], reason: 'has left' };
  await payroll.as('preparer').post(`${runPath(run.id)}/amendments`, amendment);
  await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
  await payroll.approve(await payroll.run(run.id));
  await payroll.resume(runPath(run.id), 'operator', 'go on');
  await payroll.until(run.id, ['VERIFIED'], 20_000);
  await payroll.submitAtBank((await payroll.run(run.id)).instructions[0].bankInstructionId);
  await payroll.stopServices();
  await payroll.clearFaults();
  await restoring.restore();
  const told = await restoring.answered();
  expect(told).toContain('taken back into the record, to be followed: 1 with 2 payments');
  expect(await restoring.resume()).toBe('RESUMED');
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  expect((await timesPaid()).filter((count) => count > 0)).toEqual([1, 1]);
  expect((await payroll.run(run.id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR; a pause' });
  expect(told).toContain(`1 runs of which a part was submitted (${run.id}) as they were before`);
  expect(await openDoubts(run.id)).toEqual([]);
  payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
  await payroll.until(run.id, ['PARTLY_SETTLED'], 30_000);
  const [stale] = (await payroll.attention()).filter(({ kind }) => kind === 'STALE_DATE');
  expect(stale!.happened).toContain('Make a successor of the run');
  expect(stale!.happened).toContain('leave out whom');
  const { items: rest } = (await payroll.as('approver').get(`${runPath(run.id)}/payments`)).data;
  const owed = rest.find((one: { employeeId: string }) => one.employeeId === 'E000003');
  const successor = { executionDate: payroll.executionDate(), paymentIds: [owed.id] };
  const made = await payroll.as('preparer').post(`${runPath(run.id)}/successor`, successor);
  expect(made.status).toBe(201);
  await payroll.approve(made.data);
  await payroll.until(made.data.id, ['FOLLOWING'], 20_000);
  await payroll.reconcile();
  expect(await openDoubts(run.id)).toEqual([]);
});

it('counts no approval that one of two gave before the backup and took back since', async () => {
  await restoring.change('UPDATE employer SET approvals_required = 2');
  const run = await payroll.uploaded(payFile(payRows(4)));
  await payroll.approve(run);
  await restoring.backUp();
  const taken = { data: { reason: 'to be compared first' } };
  expect((await payroll.as('approver').delete(`${runPath(run.id)}/approvals`, taken)).status).toBe(200);
  await restoring.restore();
  const told = await restoring.answered();
  expect(await restoring.resume()).toBe('RESUMED');
  const { rootHash, total } = run;
  const approval = await payroll.as('second').post(`${runPath(run.id)}/approvals`, { rootHash, total });
  expect(approval.data).toMatchObject({ status: 'READY' });
  expect(told).toContain(`approvals of 1 runs that the record has as not submitted have lapsed (${run.id})`);
  await payroll.approve(run);
  await payroll.until(run.id, ['SETTLED'], 20_000);
  expect(await timesPaid()).toEqual([1, 1, 1, 1]);
});

it('pays nobody once more by a release that was withdrawn since', async () => {
  const [row] = payRows(1);
  await payroll.uploaded(payFile([row!]));
  const release = {
    employeeId: row!.employeeId,
    period: payroll.executionDate().slice(0, 7),
    reason: 'a correction',
  };
  expect((await payroll.as('approver').post(payroll.path('/releases'), release)).status).toBe(201);
  await restoring.backUp();
  await payroll.as('approver').post(payroll.path('/releases/withdrawal'), release);
  await restoring.restore();
  const told = await restoring.answered();
  expect(await restoring.resume()).toBe('RESUMED');
  const further = payFile([{ ...row!, amount: '12.00' }]);
  expect((await payroll.upload(further)).data).toMatchObject({
    payments: 0,
    held: { holds: { EMPLOYEE_ALREADY_PAID: 1 } },
  });
  expect(told).toContain('1 releases of a further payment that nobody used are withdrawn');
  const audited = await restoring.stored(
    `SELECT person_id, detail->'releases'->0->>'employeeId' AS employee FROM audit_entry
     WHERE action = 'employer.releases-withdrawn'`,
  );
  expect(audited).toEqual([{ person_id: null, employee: row!.employeeId }]);
  expect((await payroll.as('approver').post(payroll.path('/releases'), release)).status).toBe(201);
});

it('withdraws releases only once it has locked the runs whose approvals lapse, as whoever releases a hold locks them', async () => {
  const [first, second] = payRows(2);
  const run = await payroll.uploaded(payFile([first!, second!]));
  await stopped(run.id);
  await payroll.approve(run);
  const period = payroll.executionDate().slice(0, 7);
  const release = { employeeId: first!.employeeId, period, reason: 'a correction' };
  expect((await payroll.as('approver').post(payroll.path('/releases'), release)).status).toBe(201);
  await restoring.backUp();
  await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
  await restoring.restore();
  const locking = new Client({ connectionString: payroll.database.superuserUrl });
  await locking.connect();
  try {
    await locking.query('BEGIN; SELECT FROM pay_run FOR NO KEY UPDATE');
    await payroll.clearFaults();
    await eventually(() => isWaitedFor(locking), 20_000);
    const key = JSON.stringify(['pay', readId('emp', payroll.employer), period]);
    const { rows } = await locking.query(
      'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS taken',
      [key],
    );
    expect(rows).toEqual([{ taken: true }]);
    await locking.query('COMMIT');
  } finally {
    await locking.end();
  }
  const told = await restoring.answered();
  expect(told).toContain('The approvals of 1 runs');
  expect(told).toContain('1 releases of a further payment that nobody used are withdrawn');
});

/** How a stop by the service ends. */
const WAYS = {
  'one person stops and another resumes': async ({ id }: Run) => {
    await stopped(id);
    const going = 'the bank paid only the further pay';
    expect((await payroll.resume(runPath(id), 'operator', going)).status).toBe(200);
  },
  'two people resume for something else': async ({ id }: Run) => {
    await restoring.change(
      `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, happened, certain, ask_bank)
       SELECT employer_id, gen_random_uuid(), 'ECHO_MISMATCH', id, id, 'a name differs', 'it is paid', 'why?'
       FROM pay_run WHERE id = '${readId('run', id)}'`,
    );
    const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
    expect((await payroll.decide(path, { action: 'RESUME', reason: 'the name is right' })).status).toBe(200);
  },
};

describe('a run that was cancelled since, and pays whom a forgotten submit of another may have paid,', () => {
  /** Further pay of one of a run, which is held, and released by an approver. */
  async function furtherPay(of: Run): Promise<string> {
    const file = payFile([{ ...payRows(1)[0]!, amount: '12.34' }]);
    const { data: more } = await payroll.upload(file, { supplementOf: of.id });
    const holds = `${runPath(more.id)}/holds`;
    const { items } = (await payroll.as('approver').get(holds)).data;
    for (const { code, payment } of items)
      await payroll
        .as('approver')
        .post(`${holds}/release`, { code, paymentId: payment?.id, reason: 'a bonus' });
    return more.id;
  }

  it.each(Object.keys(WAYS) as (keyof typeof WAYS)[])(
    'pays nobody by its old approval, once that is taken over and %s',
    async (way) => {
      const run = await payroll.uploaded(payFile(payRows(4)));
      await restoring.change(`UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a pause'`);
      await payroll.approve(run);
      const more = await furtherPay(run);
      await restoring.backUp();
      await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
      await payroll.approve(await payroll.run(more));
      await payroll.until(more, ['SETTLED'], 20_000);
      await RUN_DECISIONS['is cancelled'](payroll, run.id);
      await restoring.restore();
      const told = await restoring.answered();
      expect(await restoring.resume()).toBe('RESUMED');
      expect((await payroll.run(run.id)).stopped).toMatchObject({ reason: 'RESTORED' });
      await payroll.approve(await payroll.run(more));
      await payroll.until(more, ['SETTLED'], 20_000);
      await WAYS[way](run);
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      expect(await timesPaid()).toEqual([1]);
      expect((await payroll.run(run.id)).status).toBe('READY');
      expect(await lapses(run.id)).toHaveLength(1);
      expect(told).toContain(
        `The approvals of 1 runs that the record has as not submitted have lapsed (${run.id})`,
      );
      await payroll.approve(await payroll.run(run.id));
      await payroll.until(run.id, ['SETTLED'], 30_000);
      expect(await timesPaid()).toEqual([2, 1, 1, 1]);
      expect(await lapses(run.id)).toEqual([]);
    },
  );
});
