import axios from 'axios';
import { BankGateway } from '../../src/bank/gateway';
import { RestoreCheck } from '../../src/restore/restore-check';
import { TombstoneWatch } from '../../src/settlement/tombstone-watch';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import type { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711';
const UNNAMED = 'INI_SOMETHING';
const PAYMENT_READS = [
  'listInstructionPaymentTransactions',
  'listPaymentTransactions',
  'getPaymentTransaction',
];

let payroll: Payroll;
let restoring: Restoring;

beforeEach(async () => {
  restoring = await Restoring.start({ RECONCILE_MS: '2000' }, { submitWaitsFor: 'approval' });
  payroll = restoring.payroll;
});
afterEach(() => {
  jest.restoreAllMocks();
  return restoring.close();
});

const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const asked = async (kind: string) => (await payroll.attention()).filter((one) => one.kind === kind);
const submits = async () => (await payroll.calls()).submit;
const builtOf = async (id: string): Promise<string[]> =>
  (await payroll.run(id)).instructions.map(
    ({ bankInstructionId }: { bankInstructionId: string }) => bankInstructionId,
  );

/** From here on the bank shows these in a status that no document names; their payments rest until they are released. */
function showUnnamed(ids: readonly string[], status = UNNAMED): void {
  const { getInstruction } = BankGateway.prototype;
  const shown = jest.spyOn(BankGateway.prototype, 'getInstruction');
  shown.mockImplementation(async function (this: BankGateway, id, ...read) {
    const instruction = await getInstruction.call(this, id, ...read);
    return ids.includes(id) ? { ...instruction, status } : instruction;
  });
}

/** A service that starts asks at once. */
async function startedAnew(): Promise<void> {
  await payroll.stopServices();
  payroll.url = (await payroll.addReplica()).url;
}

/** Somebody submits it at the bank after all, which shows it so. */
async function movedAtBank(bankInstructionId: string): Promise<void> {
  jest.restoreAllMocks();
  await payroll.submitAtBank(bankInstructionId);
  await startedAnew();
}

/** What waits for its approval at the bank is approved there, and what it shows is documented again. */
async function released(ids: readonly string[]): Promise<void> {
  jest.restoreAllMocks();
  for (const id of ids) await axios.post(`${payroll.bank.url}/sandbox/instructions/${id}/release`);
}

/** What is submitted waits there to be released, unless it is. */
async function settled(id: string, before: readonly string[] = []): Promise<void> {
  await payroll.until(id, ['FOLLOWING'], 30_000);
  await released((await builtOf(id)).filter((one) => !before.includes(one)));
  await restoring.change('UPDATE lease SET wake_at = now()');
  await payroll.until(id, ['SETTLED'], 30_000);
}

/** A run of two that is being submitted in the copy, and of which nothing is. */
async function inMidRun(): Promise<string> {
  await payroll.stopPastTheGate();
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SUBMITTING'], 20_000);
  await restoring.backUp();
  await restoring.inBackup(
    `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL; DROP TRIGGER as_soon_as_submitting ON pay_run`,
  );
  return id;
}

/** A run that is verified in the copy. */
async function verified(rows = 2): Promise<string> {
  await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
  const id = await payroll.paid(payFile(payRows(rows)));
  await payroll.until(id, ['VERIFIED'], 20_000);
  await restoring.backUp();
  return id;
}

/** A run that waits to be built in the copy, and is verified since. */
async function unbuilt(rows = 2): Promise<string> {
  await payroll.fault({ operation: 'initiate', kind: '500-before', every: 1 });
  const id = await payroll.paid(payFile(payRows(rows)));
  await payroll.until(id, ['BUILDING'], 20_000);
  await restoring.backUp();
  await payroll.clearFaults();
  await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
  await payroll.until(id, ['VERIFIED'], 20_000);
  return id;
}

/** A run that is not approved in the copy, and is verified since. */
async function unapproved(): Promise<string> {
  const { id } = await payroll.uploaded(payFile(payRows(2)));
  await restoring.backUp();
  await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
  await payroll.approve(await payroll.run(id));
  await payroll.until(id, ['VERIFIED'], 20_000);
  return id;
}

/** People pay its rows by another run, each of them released, as they were told to where nobody submitted it. */
async function paidByAnother(id: string): Promise<void> {
  const other = await payroll.uploaded(payFile(payRows(2).reverse()), { supplementOf: id });
  const holds = payroll.path(`/pay-runs/${other.id}/holds`);
  const { data: held } = await payroll.as('approver').get(holds);
  const reason = 'the bank wrote that nobody submitted it';
  for (const { code, payment } of held.items)
    await payroll.as('approver').post(`${holds}/release`, { code, paymentId: payment?.id, reason });
  expect((await payroll.approve(await payroll.run(other.id))).status).toBe(200);
  await payroll.until(other.id, ['FOLLOWING'], 30_000);
}

/** Two people let everything go on, which takes the word of the bank; what is unclear stays where it is. */
async function resumed(id: string): Promise<void> {
  const told = await restoring.answered();
  expect(told).toContain('in a status that no document names');
  expect(told).toContain(UNNAMED);
  expect(told).not.toContain('submitted at the bank and not taken back');
  expect(told).not.toContain('does not show it as submitted');
  expect(await restoring.resume()).toBe('EVIDENCE_REQUIRED');
  const [open] = await asked('RESTORED');
  await payroll.as('operator').delete(payroll.path(`/attention/${open!.id}/actions`));
  expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
  await payroll.clearFaults();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED' });
}

/**
 * Restores the copy, after which the bank shows its first instruction in a status that no document names; two people let
 * everything go on. @returns what the bank calls that instruction
 */
async function leftUnclear(id: string): Promise<string> {
  const [before] = await builtOf(id);
  showUnnamed([before!]);
  await restoring.restore();
  await resumed(id);
  return before!;
}

/** What people are asked about an instruction, which names no other. */
async function askedOf(bankInstructionId: string): Promise<string> {
  const questions = (await asked('UNRECORDED_SUBMIT')).filter(({ happened }) =>
    happened.includes(`"${bankInstructionId}" as ${UNNAMED}, which no document names`),
  );
  expect(questions).toEqual([
    expect.objectContaining({
      askBank: expect.stringContaining(`${bankInstructionId} submitted by anybody`),
    }),
  ]);
  return payroll.path(`/attention/${questions[0]!.id}`);
}

/** Two people say that the bank said in writing that it was submitted, and cannot say it without that. */
async function saidOf(bankInstructionId: string): Promise<void> {
  const path = await askedOf(bankInstructionId);
  const said = { action: 'EXECUTED', reason: 'as the bank wrote' };
  expect((await payroll.decide(path, said)).data.code).toBe('NOT_AS_APPROVED');
  await payroll.as('operator').delete(`${path}/actions`);
  expect((await payroll.decide(path, { ...said, evidence: EVIDENCE })).status).toBe(200);
}

/** People are told what to do where the bank's word is that nobody submitted it: that is not to be said here. */
async function unsubmitted(bankInstructionId: string): Promise<void> {
  const path = await askedOf(bankInstructionId);
  const said = { action: 'NOT_EXECUTED', reason: 'as the bank wrote', evidence: EVIDENCE };
  expect((await payroll.propose(path, said)).data.code).toBe('ACTION_NOT_OFFERED');
  expect((await payroll.as('finance').get(path)).data.certain).toContain('cancel the run');
}

const cancel = (id: string) =>
  payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), {
    reason: 'the bank wrote that nobody submitted it',
  });

async function cancelled(id: string): Promise<void> {
  jest.restoreAllMocks();
  await cancel(id);
  await payroll.until(id, ['CANCELLED'], 20_000);
  expect([await timesPaid(), await submits()]).toEqual([[], 0]);
}

const submitsOff = async () => (await payroll.as('administrator').get('/v1/service')).data.submitsOff;

/** Waits until people are told anew, of this and nothing else, that it was submitted. */
async function toldAnew(bankInstructionId: string): Promise<void> {
  const questions = () => asked('UNRECORDED_SUBMIT');
  await eventually(
    async () => (await questions()).some(({ happened }) => happened.includes('as submitted')),
    20_000,
  );
  const about: unknown = expect.stringContaining(`The bank shows "${bankInstructionId}" as submitted`);
  expect(await questions()).toEqual([expect.objectContaining({ happened: about })]);
}

async function refusePayments(): Promise<void> {
  for (const operation of PAYMENT_READS) await payroll.fault({ operation, kind: '403', every: 1 });
}

async function soundly(id: string): Promise<void> {
  await payroll.reconcile();
  expect((await payroll.attention()).map(({ kind }) => kind)).toEqual([]);
  const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
  expect(report.data).toMatchObject({ explained: true, openDoubts: [] });
}

describe('a run of which the bank shows an instruction, after a restore, in an undocumented status', () => {
  it.each([
    ['is being submitted', inMidRun],
    ['is verified', () => verified()],
    ['is not built', () => unbuilt()],
  ])('and that %s in the copy, is followed and not sent again by its word', async (_is, made) => {
    const id = await made();
    const before = await builtOf(id);
    showUnnamed(before);
    for (const one of before) await payroll.submitAtBank(one);
    await restoring.restore();
    await resumed(id);
    await saidOf(before[0]!);
    await settled(id);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    await soundly(id);
  });

  it.each([
    ['is verified', () => verified()],
    ['is not built', () => unbuilt()],
  ])('and that %s in the copy, is not said to be unsubmitted, and is cancelled', async (_is, made) => {
    const id = await made();
    const before = await leftUnclear(id);
    await unsubmitted(before);
    await cancelled(id);
  });
});

describe('a run in mid-submit of which the bank shows an instruction, after a restore, in an undocumented status', () => {
  it('is followed without a word once the bank shows that it was submitted', async () => {
    const id = await inMidRun();
    const before = await builtOf(id);
    showUnnamed(before);
    for (const one of before) await payroll.submitAtBank(one);
    await restoring.restore();
    await resumed(id);
    await released(before);
    await startedAnew();
    await payroll.until(id, ['SETTLED'], 30_000);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    await soundly(id);
  });

  it.each([
    ['it is taken back', movedAtBank],
    ['it is not taken back', (one: string) => refusePayments().then(() => movedAtBank(one))],
    ['two people say that it was executed', saidOf],
  ])('stops everything where people were paid by another meanwhile, and %s', async (_what, learnt) => {
    const id = await inMidRun();
    const before = await leftUnclear(id);
    await paidByAnother(id);
    expect([await submits(), await asked('INVARIANT_BREACH')]).toEqual([1, []]);
    await learnt(before);
    await payroll.askedAbout(id, 'INVARIANT_BREACH');
    expect(await asked('INVARIANT_BREACH')).toHaveLength(1);
    expect(await submitsOff()).toBe(true);
  });
});

describe('a run that was approved after the backup, and of which the bank shows an instruction in an undocumented status', () => {
  it('is told anew once that was submitted, stops nobody else, and is taken back once it is approved again', async () => {
    const id = await unapproved();
    const before = await leftUnclear(id);
    expect((await payroll.run(id)).status).toBe('READY');
    await movedAtBank(before);
    await toldAnew(before);
    expect([await asked('INVARIANT_BREACH'), await submitsOff()]).toEqual([[], false]);
    await payroll.approve(await payroll.run(id));
    await settled(id);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    await soundly(id);
  });
});

describe('a run that was made after the backup, and of which the bank shows an instruction in an undocumented status', () => {
  it('stops everything once that was submitted: nobody knows whom it pays', async () => {
    await restoring.backUp();
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['VERIFIED'], 20_000);
    const [before] = await builtOf(id);
    showUnnamed([before!]);
    await restoring.restore();
    expect(await restoring.answered()).toContain('opened at the bank for a run that was forgotten too');
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
    await movedAtBank(before!);
    await eventually(async () => (await asked('INVARIANT_BREACH')).length > 0, 20_000);
    expect(await asked('INVARIANT_BREACH')).toEqual([
      expect.objectContaining({
        payRunId: null,
        askBank: expect.stringContaining(`customer instruction ${before} `),
      }),
    ]);
    expect(await submitsOff()).toBe(true);
  });
});

describe('a verified run of which the bank shows an instruction, after a restore, in an undocumented status', () => {
  it('is sent once where one of its instructions was submitted and the other was not, each as the bank shows', async () => {
    const id = await verified(4);
    const [submitted, unsubmitted] = (await builtOf(id)) as [string, string];
    showUnnamed([submitted]);
    await payroll.submitAtBank(submitted);
    await restoring.restore();
    await resumed(id);
    await saidOf(submitted);
    await settled(id);
    // A submit of it might be queued: it is built again.
    const anew = await builtOf(id);
    expect([await timesPaid(), anew]).toEqual([
      [1, 1, 1, 1],
      [submitted, expect.any(String)],
    ]);
    expect(anew).not.toContain(unsubmitted);
    await soundly(id);
  });

  it.each([
    ['', () => verified()],
    [' and was not built in the copy', () => unbuilt()],
  ])('stops everything where it was cancelled%s and the bank goes on with it after all', async (_, made) => {
    const id = await made();
    const before = await leftUnclear(id);
    await cancelled(id);
    await payroll.submitAtBank(before);
    await restoring.change('UPDATE lease SET wake_at = now()');
    await startedAnew();
    await payroll.askedAbout(id, 'INVARIANT_BREACH');
    expect(await asked('INVARIANT_BREACH')).toHaveLength(1);
    expect(await submitsOff()).toBe(true);
  });

  it('stops everything where it is cancelled that was not built in the copy, after people were told that it was submitted', async () => {
    const id = await unbuilt();
    const before = await leftUnclear(id);
    await refusePayments();
    await movedAtBank(before);
    await toldAnew(before);
    expect(await asked('INVARIANT_BREACH')).toEqual([]);
    await cancel(id);
    await payroll.askedAbout(id, 'INVARIANT_BREACH');
    expect(await asked('INVARIANT_BREACH')).toHaveLength(1);
  });

  it('stops nobody where it is cancelled after people said that it was executed', async () => {
    const id = await verified();
    const before = await leftUnclear(id);
    await refusePayments();
    await saidOf(before);
    jest.restoreAllMocks();
    await payroll.submitAtBank(before);
    await cancel(id);
    await payroll.until(id, ['CANCELLED'], 20_000);
    expect(await asked('INVARIANT_BREACH')).toEqual([]);
  });

  it('stops everything once where it was given up, and people were paid by another meanwhile', async () => {
    const id = await verified();
    const before = await leftUnclear(id);
    await paidByAnother(id);
    await restoring.change(
      `UPDATE instruction SET status = 'ABANDONED' WHERE bank_instruction_id = '${before}';
       DELETE FROM lease WHERE subject_id = (SELECT id FROM instruction WHERE bank_instruction_id = '${before}');
       INSERT INTO lease (subject_id, employer_id, kind, wake_at)
         SELECT id, employer_id, 'FOLLOW', now() FROM instruction WHERE bank_instruction_id = '${before}'`,
    );
    jest.restoreAllMocks();
    await payroll.submitAtBank(before);
    const looks = jest.spyOn(RestoreCheck.prototype, 'adoptWaiting');
    await startedAnew();
    const moved = async () =>
      (await asked('INVARIANT_BREACH')).filter(({ happened }) => happened.includes('has moved at the bank'));
    await eventually(async () => (await moved()).length > 0, 30_000);
    await eventually(() => Promise.resolve(looks.mock.results.length > 0), 20_000);
    await looks.mock.results[0]!.value;
    expect(await moved()).toHaveLength(1);
  });

  it('stops everything for each instruction of it that the bank goes on with', async () => {
    const id = await unbuilt(4);
    const built = await builtOf(id);
    expect(built).toHaveLength(2);
    showUnnamed(built);
    await restoring.restore();
    await resumed(id);
    await cancelled(id);
    for (const one of built) await payroll.submitAtBank(one);
    await startedAnew();
    await eventually(async () => (await asked('INVARIANT_BREACH')).length === 2, 20_000);
  });

  it('is looked for, where it was cancelled and not built in the copy, for as long as what ended is watched', async () => {
    const id = await unbuilt();
    const before = await leftUnclear(id);
    await cancelled(id);
    await restoring.change(
      `UPDATE forgotten_instruction SET found_at = now() - interval '100 days', execution_date = current_date - 100;
       UPDATE pay_run SET execution_date = current_date - 100`,
    );
    await payroll.submitAtBank(before);
    const looks = jest.spyOn(RestoreCheck.prototype, 'adoptWaiting');
    await startedAnew();
    await eventually(() => Promise.resolve(looks.mock.results.length > 0), 20_000);
    await looks.mock.results[0]!.value;
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual(['UNRECORDED_SUBMIT']);
  });

  it.each([
    ['of its run', `UPDATE pay_run SET execution_date = current_date + 60`],
    ['that the bank shows of it', `UPDATE forgotten_instruction SET execution_date = current_date + 60`],
  ])('is looked for until some time after the date %s', async (_what, dated) => {
    const id = await unbuilt();
    const before = await leftUnclear(id);
    await cancelled(id);
    await restoring.change(
      `UPDATE forgotten_instruction SET found_at = now() - interval '40 days'; ${dated}`,
    );
    await movedAtBank(before);
    await payroll.askedAbout(id, 'INVARIANT_BREACH');
  });

  it.each([
    ['and it is not taken over', () => verified(), false],
    ['and it is not taken over, nor was built', () => unbuilt(), false],
    ['and its run is cancelled', () => verified(), true],
    ['and its run is cancelled that was not built', () => unbuilt(), true],
  ])('is told anew once the bank shows that it was submitted, %s', async (_what, made, isCancelled) => {
    const id = await made();
    const before = await leftUnclear(id);
    await askedOf(before);
    if (isCancelled) await cancelled(id);
    await refusePayments();
    await movedAtBank(before);
    await toldAnew(before);
    if (!isCancelled) expect(await asked('INVARIANT_BREACH')).toEqual([]);
  });

  it('is asked about once more until it is cancelled, and no more after that', async () => {
    const id = await verified();
    const before = await leftUnclear(id);
    const path = await askedOf(before);
    const { certain } = (await payroll.as('finance').get(path)).data;
    expect([certain, certain]).toEqual([
      expect.stringContaining('ROW_UNSEEN'),
      expect.stringContaining('This stays open all the same'),
    ]);
    await cancel(id);
    const missing = () => restoring.stored("SELECT FROM lease WHERE missing = 'ROWS'");
    await eventually(async () => (await missing()).length > 0, 20_000);
    await restoring.change(
      `UPDATE lease SET missing_since = now() - interval '11 min', wake_at = now() WHERE missing = 'ROWS'`,
    );
    const unseen = await payroll.askedAbout(id, 'ROW_UNSEEN');
    const said = { action: 'ACKNOWLEDGE', reason: 'as the bank wrote', evidence: EVIDENCE };
    expect((await payroll.decide(unseen, said)).status).toBe(200);
    await restoring.change('UPDATE lease SET wake_at = now()');
    await payroll.until(id, ['CANCELLED'], 20_000);
    const read = jest.spyOn(TombstoneWatch.prototype, 'step');
    await restoring.change('UPDATE lease SET wake_at = now()');
    await eventually(() => Promise.resolve(read.mock.results.length > 0), 20_000);
    await read.mock.results[0]!.value;
    const kinds = async () => (await payroll.attention()).map(({ kind }) => kind).sort();
    expect(await kinds()).toEqual(['UNRECORDED_SUBMIT']);
    // Another than the restore found says something else.
    jest.restoreAllMocks();
    showUnnamed([before], 'INI_SOMETHING_ELSE');
    await restoring.change('UPDATE lease SET wake_at = now()');
    await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect(await kinds()).toEqual(['UNKNOWN_STATUS', 'UNRECORDED_SUBMIT']);
  });
});
