import axios from 'axios';
import { NotAllowed } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import type { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711';
const UNNAMED = 'INI_SOMETHING';

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
function showUnnamed(ids: readonly string[], status = UNNAMED) {
  const { getInstruction } = BankGateway.prototype;
  const shown = jest.spyOn(BankGateway.prototype, 'getInstruction');
  return shown.mockImplementation(async function (this: BankGateway, id, ...read) {
    const instruction = await getInstruction.call(this, id, ...read);
    return ids.includes(id) ? { ...instruction, status } : instruction;
  });
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
  await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
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

/** A verified run of two instructions, shown in an undocumented status, of which the copy forgot that one was submitted. */
async function halfSubmitted(): Promise<{ id: string; submitted: string; unsubmitted: string }> {
  const id = await verified(4);
  const [submitted, unsubmitted] = (await builtOf(id)) as [string, string];
  showUnnamed([submitted, unsubmitted]);
  await payroll.submitAtBank(submitted);
  await restoring.restore();
  await resumed(id);
  return { id, submitted, unsubmitted };
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

/** What people are asked about an instruction, which names no other. */
async function askedOf(bankInstructionId: string, status = UNNAMED): Promise<string> {
  const questions = (await asked('UNRECORDED_SUBMIT')).filter(({ happened }) =>
    happened.includes(`"${bankInstructionId}" as ${status}, which no document names`),
  );
  expect(questions).toEqual([
    expect.objectContaining({
      askBank: expect.stringContaining(`${bankInstructionId} submitted by anybody`),
    }),
  ]);
  return payroll.path(`/attention/${questions[0]!.id}`);
}

/** Two people say what the bank said in writing, and cannot say it without that. */
async function saidOf(
  bankInstructionId: string,
  action: 'EXECUTED' | 'NOT_EXECUTED',
  status = UNNAMED,
): Promise<void> {
  const path = await askedOf(bankInstructionId, status);
  const said = { action, reason: 'as the bank wrote' };
  const code = action === 'EXECUTED' ? 'NOT_AS_APPROVED' : 'EVIDENCE_REQUIRED';
  expect((await payroll.decide(path, said)).data.code).toBe(code);
  await payroll.as('operator').delete(`${path}/actions`);
  expect((await payroll.decide(path, { ...said, evidence: EVIDENCE })).status).toBe(200);
}

async function soundly(id: string): Promise<void> {
  await payroll.reconcile();
  expect((await payroll.attention()).map(({ kind }) => kind)).toEqual([]);
  const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
  expect(report.data).toMatchObject({ explained: true, openDoubts: [] });
}

describe('a run in mid-submit of which the bank shows an instruction, after a restore, in an undocumented status', () => {
  it('waits for its word, and is built again and paid once where that is that nobody submitted it', async () => {
    const id = await inMidRun();
    const before = await builtOf(id);
    showUnnamed(before);
    await restoring.restore();
    await resumed(id);
    expect(await submits()).toBe(0);
    await saidOf(before[0]!, 'NOT_EXECUTED');
    await settled(id);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    expect(await builtOf(id)).not.toEqual(before);
    await soundly(id);
  });

  it('stops everything where its word was that nobody submitted it, and the bank executes it after all', async () => {
    const id = await inMidRun();
    const before = await builtOf(id);
    showUnnamed(before);
    await restoring.restore();
    await resumed(id);
    await saidOf(before[0]!, 'NOT_EXECUTED');
    await payroll.until(id, ['FOLLOWING'], 30_000);
    for (const one of before) await payroll.submitAtBank(one);
    await released(before);
    await restoring.change('UPDATE lease SET wake_at = now()');
    await payroll.askedAbout(id, 'INVARIANT_BREACH');
    expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(true);
  });

  it('waits for its word, and is followed and not sent again where that is that it was submitted', async () => {
    const id = await inMidRun();
    const before = await builtOf(id);
    showUnnamed(before);
    for (const one of before) await payroll.submitAtBank(one);
    await restoring.restore();
    await resumed(id);
    await saidOf(before[0]!, 'EXECUTED');
    await settled(id);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    await soundly(id);
  });

  it('is followed without a word once the bank shows that it was submitted, and nobody says otherwise', async () => {
    const id = await inMidRun();
    const before = await builtOf(id);
    showUnnamed(before);
    for (const one of before) await payroll.submitAtBank(one);
    await restoring.restore();
    await resumed(id);
    await released(before);
    const path = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    const said = { action: 'NOT_EXECUTED', reason: 'as the bank wrote', evidence: EVIDENCE };
    expect((await payroll.decide(path, said)).data.code).toBe('WAS_EXECUTED');
    // A service that starts asks at once.
    await payroll.stopServices();
    payroll.url = (await payroll.addReplica()).url;
    await payroll.until(id, ['SETTLED'], 30_000);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    await soundly(id);
  });
});

describe('a verified run of which the bank shows an instruction, after a restore, in an undocumented status', () => {
  it('is given up where its word is that nobody submitted it, and paid once when it is approved again', async () => {
    const id = await verified();
    const before = await builtOf(id);
    showUnnamed(before);
    await restoring.restore();
    await resumed(id);
    await saidOf(before[0]!, 'NOT_EXECUTED');
    await payroll.until(id, ['READY'], 20_000);
    expect([await timesPaid(), await submits()]).toEqual([[], 0]);
    await payroll.approve(await payroll.run(id));
    await settled(id);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    await soundly(id);
  });

  it('is followed and not sent again where its word is that it was submitted', async () => {
    const id = await verified();
    const before = await builtOf(id);
    showUnnamed(before);
    for (const one of before) await payroll.submitAtBank(one);
    await restoring.restore();
    await resumed(id);
    await saidOf(before[0]!, 'EXECUTED');
    await settled(id);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    await soundly(id);
  });

  it('keeps its approval while another instruction of it is open, which is followed where its word is that it was submitted', async () => {
    const { id, submitted, unsubmitted } = await halfSubmitted();
    await saidOf(unsubmitted, 'NOT_EXECUTED');
    expect((await payroll.run(id)).lapseReason).toBeNull();
    await saidOf(submitted, 'EXECUTED');
    await settled(id);
    expect([await timesPaid(), await asked('INVARIANT_BREACH')]).toEqual([[1, 1, 1, 1], []]);
    await soundly(id);
  });

  it('keeps its approval while another is open, which is followed without a word once the bank shows that it was submitted', async () => {
    const { id, submitted, unsubmitted } = await halfSubmitted();
    await saidOf(unsubmitted, 'NOT_EXECUTED');
    await released([submitted]);
    // A service that starts asks at once.
    await payroll.stopServices();
    payroll.url = (await payroll.addReplica()).url;
    await settled(id, [submitted]);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
    expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(false);
    await soundly(id);
  });

  it('is not given up while the bank does not let it be read, whatever its word is', async () => {
    const id = await verified();
    const [before] = await builtOf(id);
    const shown = showUnnamed([before!]);
    await restoring.restore();
    await resumed(id);
    const path = await askedOf(before!);
    shown.mockRejectedValue(new NotAllowed(403, { raw: '' }));
    const said = { action: 'NOT_EXECUTED', reason: 'as the bank wrote', evidence: EVIDENCE };
    expect((await payroll.decide(path, said)).data.code).toBe('MAY_BE_SUBMITTED');
    expect((await payroll.run(id)).lapseReason).toBeNull();
  });

  it('is asked about anew once the bank shows another such status, and not given up on its word about the former', async () => {
    const id = await verified();
    const [before] = await builtOf(id);
    showUnnamed([before!]);
    await restoring.restore();
    await resumed(id);
    const path = await askedOf(before!);
    jest.restoreAllMocks();
    showUnnamed([before!], 'INI_ANOTHER');
    const said = { action: 'NOT_EXECUTED', reason: 'as the bank wrote', evidence: EVIDENCE };
    expect((await payroll.decide(path, said)).data.code).toBe('MAY_BE_SUBMITTED');
    await payroll.stopServices();
    payroll.url = (await payroll.addReplica()).url;
    const isAskedAnew = async () =>
      (await asked('UNRECORDED_SUBMIT')).some(({ happened }) => happened.includes('as INI_ANOTHER, which'));
    await eventually(isAskedAnew, 20_000);
    await saidOf(before!, 'NOT_EXECUTED', 'INI_ANOTHER');
    await payroll.until(id, ['READY'], 20_000);
  });

  it('is told after another restore as given up, and asked about no more', async () => {
    const id = await verified();
    const before = await builtOf(id);
    showUnnamed(before);
    await restoring.restore();
    await resumed(id);
    await saidOf(before[0]!, 'NOT_EXECUTED');
    await payroll.until(id, ['READY'], 20_000);
    await restoring.backUp();
    await restoring.restore();
    expect(await restoring.answered()).toContain('shows no submitted instruction of this employer');
    expect(await restoring.resume()).toBe('RESUMED');
    expect(await asked('UNRECORDED_SUBMIT')).toEqual([]);
    await payroll.approve(await payroll.run(id));
    await settled(id);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
  });
});

describe('a run that is not built in the restored copy, and of which the bank shows an instruction in an undocumented status', () => {
  /** A run of two that waits to be built in the copy, and is verified since. */
  async function unbuilt(): Promise<string> {
    await payroll.fault({ operation: 'initiate', kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['BUILDING'], 20_000);
    await restoring.backUp();
    await payroll.clearFaults();
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    await payroll.until(id, ['VERIFIED'], 20_000);
    return id;
  }

  it('cannot be said to be unsubmitted, as nobody would see it executed later, and pays nobody unless it is cancelled', async () => {
    const id = await unbuilt();
    const [before] = await builtOf(id);
    showUnnamed([before!]);
    await restoring.restore();
    await resumed(id);
    const said = { action: 'NOT_EXECUTED', reason: 'as the bank wrote', evidence: EVIDENCE };
    const path = await askedOf(before!);
    expect((await payroll.propose(path, said)).data.code).toBe('ACTION_NOT_OFFERED');
    expect((await payroll.as('finance').get(path)).data.certain).toContain('cancel the run');
    const cancelled = payroll.path(`/pay-runs/${id}/cancellation`);
    await payroll.as('preparer').post(cancelled, { reason: 'the bank wrote that nobody submitted it' });
    await payroll.until(id, ['CANCELLED'], 20_000);
    expect([await timesPaid(), await submits()]).toEqual([[], 0]);
  });

  it('is followed and not sent again where its word is that it was submitted', async () => {
    const id = await unbuilt();
    const before = await builtOf(id);
    showUnnamed(before);
    for (const one of before) await payroll.submitAtBank(one);
    await restoring.restore();
    await resumed(id);
    await saidOf(before[0]!, 'EXECUTED');
    await settled(id);
    expect([await timesPaid(), await submits()]).toEqual([[1, 1], 1]);
    await soundly(id);
  });
});
