import { formatMinor } from '../../src/domain/money';
import { BankGateway } from '../../src/bank/gateway';
import { FaultsInARow } from '../../src/employer/faults-in-a-row';
import { BankReads } from '../../src/employer/bank-reads';
import type { EmployerAccount } from '../../src/employer/employer.entity';
import { execute, select } from '../support/database';
import { payFile, payRows, Row, totalMinor } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

describe('a submit whose outcome nobody knows', () => {
  let payroll: Payroll;
  let next = 1;
  beforeAll(async () => {
    payroll = await Payroll.start({
      settings: {
        SUBMIT_DOUBT_MS: '400',
        FOLLOW_DELAYS_MS: '200,1000',
        FOLLOW_STEP_MS: '5000',
      },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
  });
  afterAll(() => payroll.close());
  afterEach(() => {
    payroll.clock.offsetMs = 0;
    return payroll.clearFaults();
  });

  const parked = async (kind: string) => {
    const rows = payRows(4, next);
    next += 4;
    await payroll.fault({ operation: 'submit', kind, nth: 1 });
    const id = await payroll.paid(payFile(rows));
    return { id, rows, path: await payroll.askedAbout(id, 'SUBMIT_UNKNOWN') };
  };
  const act = (path: string, action: string, evidence?: string) =>
    payroll.decide(path, { action, reason: 'the bank said so on the telephone', evidence });
  const moved = async (rows: readonly Row[]) => {
    const payees = (await payroll.ledger()).payees.map((payee) => payee.iban);
    return rows.filter((row) => payees.includes(row.iban)).length;
  };

  it('says what happened, what is certain and what to ask the bank, without a name, IBAN or salary', async () => {
    const { path, rows } = await parked('request-lost');
    const { data } = await payroll.as('operator').get(path);
    expect(data).toMatchObject({
      kind: 'SUBMIT_UNKNOWN',
      payments: 4,
      actions: ['EXECUTED', 'NOT_EXECUTED'],
    });
    expect(data.askBank).toMatch(/customer instruction \d+/);
    const { data: listed } = await payroll.as('finance').get(payroll.path('/attention'));
    // How long it has waited, how many people wait for it, and for how much.
    expect(listed.items).toEqual([
      expect.objectContaining({ id: data.id, payments: 4, amount: formatMinor(totalMinor(rows)) }),
    ]);
    const waitedMs = payroll.clock.now().getTime() - Date.parse(listed.items[0].openedAt);
    expect(Math.abs(waitedMs)).toBeLessThan(60_000);
    const text = JSON.stringify(data);
    for (const row of rows) expect(text.includes(row.iban) || text.includes(row.name)).toBe(false);
    const metrics = String((await payroll.as('operator').get('/metrics')).data);
    expect(metrics).toMatch(/^payrun_attentions_open\{kind="SUBMIT_UNKNOWN"\} 1$/m);
    expect(metrics).toMatch(/^payrun_attentions_open\{kind="CREDENTIALS"\} 0$/m);
    expect(metrics).toMatch(/^payrun_attention_age_seconds\{kind="SUBMIT_UNKNOWN"\} [0-9.]+$/m);
    expect(metrics).toMatch(/^payrun_runs_open\{status="(SUBMITTING|FOLLOWING)"\} 1$/m);
    expect(metrics).toMatch(/^payrun_work\{kind="RUN"\} \d+$/m);
    expect(metrics).toMatch(/^payrun_work_waiting_seconds\{kind="RUN"\} [0-9.]+$/m);
  });

  it('is not listed by a filter that is mistyped', async () => {
    expect((await payroll.as('finance').get(payroll.path('/attention?sate=all'))).status).toBe(422);
  });

  it('declared not executed: the instruction is deleted at the bank and read back, and nobody is paid by it', async () => {
    const { id, rows, path } = await parked('request-lost');
    const answer = await act(path, 'NOT_EXECUTED');
    expect(answer.status).toBe(200);
    expect(answer.data.resolvedAt).not.toBeNull();
    await payroll.until(id, ['FAILED'], 15_000);
    expect(await moved(rows)).toBe(0);
    const again = await payroll.paid(payFile(rows), { submitAt: new Date().toISOString() });
    expect(again).not.toBe(id);
    await payroll.until(again, ['SETTLED'], 15_000);
    expect(await moved(rows)).toBe(4);
  });

  it('is declared not executed once, and nobody is told otherwise who confirms it several times', async () => {
    const { id, rows, path } = await parked('request-lost');
    const reason = 'the bank has no submit of it';
    const proposed = await payroll.as('operator').post(`${path}/actions`, { action: 'NOT_EXECUTED', reason });
    const deletes = async () => (await payroll.calls()).deleteInstruction ?? 0;
    const before = await deletes();
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map(() =>
        payroll.as('second').post(`${path}/actions/confirmation`, { actionId: proposed.data.id }),
      ),
    );
    const told = answers.map(({ status, data }) => `${status} ${data.code ?? data.resolution}`).sort();
    expect(told).toEqual([
      `200 NOT_EXECUTED: ${reason}`,
      ...Array<string>(4).fill('409 ATTENTION_IS_RESOLVED'),
    ]);
    // Once more to see that the bank does not confirm the delete of what is gone.
    expect((await deletes()) - before).toBe(2);
    await payroll.until(id, ['FAILED'], 15_000);
    expect(await moved(rows)).toBe(0);
  });

  it('is watched closely once it was declared not executed, however long nobody answered', async () => {
    const { id, path } = await parked('request-lost');
    const { superuserUrl } = payroll.database;
    const ofRun = `i.pay_run_id = split_part('${id}', '_', 2)::uuid AND i.status IN ('SUBMIT_UNKNOWN', 'VOID')`;
    await execute(
      superuserUrl,
      `UPDATE instruction i SET created_at = created_at - interval '1 day' WHERE ${ofRun}`,
    );
    expect((await act(path, 'NOT_EXECUTED')).status).toBe(200);
    const reads = `SELECT epoch::int AS epoch FROM lease JOIN instruction i ON i.id = subject_id
      WHERE kind = 'FOLLOW' AND ${ofRun}`;
    const epoch = async () => (await select<{ epoch: number }>(superuserUrl, reads))[0]?.epoch ?? 0;
    const atFirst = await epoch();
    await eventually(async () => (await epoch()) > atFirst + 2, 30_000);
  });

  it('is not declared not executed because a read does not find it: nothing is proven, and nobody is paid again', async () => {
    const { id, rows, path } = await parked('request-lost');
    await payroll.fault({ operation: 'deleteInstruction', kind: '500-before', every: 1 });
    await payroll.fault({ operation: 'getInstruction', kind: '404', every: 1 });
    const refused = await act(path, 'NOT_EXECUTED');
    expect(refused).toMatchObject({ status: 409, data: { code: 'NOT_PROVEN_DEAD' } });
    expect((await payroll.run(id)).instructions[0].status).toBe('SUBMIT_UNKNOWN');
    await payroll.clearFaults();
    expect(await moved(rows)).toBe(0);
    await payroll.as('operator').delete(`${path}/actions`);
  });

  it('is declared not executed where the bank, once it is deleted, answers that it is gone', async () => {
    const { id, rows, path } = await parked('request-lost');
    await payroll.letRest('INSTRUCTION', 'FOLLOW');
    // It is read before it is deleted, and after.
    await payroll.fault({ operation: 'getInstruction', kind: '410', nth: 2 });
    expect((await act(path, 'NOT_EXECUTED')).status).toBe(200);
    expect((await payroll.faults())[0]?.hits).toBe(1);
    await payroll.until(id, ['FAILED'], 15_000);
    expect(await moved(rows)).toBe(0);
  });

  it("is declared not executed by the bank's written reference where the bank answers no read of it for good", async () => {
    const { id, rows, path } = await parked('request-lost');
    await payroll.letRest('INSTRUCTION', 'FOLLOW');
    await payroll.fault({ operation: 'getInstruction', kind: '409', every: 1 });
    const { bankInstructionId } = (await payroll.run(id)).instructions[0];
    const answers = [];
    const details: string[] = [];
    // A service is patient for ten minutes before what fails does so for good.
    for (const evidence of [undefined, ...Array<string>(4).fill('letter of today, reference B-9')]) {
      const { data } = await act(path, 'NOT_EXECUTED', evidence);
      answers.push(data.code ?? 'done');
      details.push(data.detail);
      await payroll.as('operator').delete(`${path}/actions`);
      payroll.clock.offsetMs += 150_000;
    }
    expect(answers).toEqual([...Array<string>(4).fill('BANK_UNREADABLE'), 'done']);
    expect(details[1]).toContain(`This read (instruction ${bankInstructionId}) has failed 2 times in a row`);
    expect(details[3]).toContain('until it has failed at one more moment');
    await payroll.until(id, ['FAILED'], 15_000);
    expect(await moved(rows)).toBe(0);
  });

  it('is not declared not executed while the bank fails for a moment, whatever it wrote', async () => {
    const { id, path } = await parked('request-lost');
    await payroll.letRest('INSTRUCTION', 'FOLLOW');
    await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
    const said = () => act(path, 'NOT_EXECUTED', 'letter of today, reference B-9');
    expect(await said()).toMatchObject({ status: 503, data: { code: 'BANK_UNREADABLE' } });
    expect((await payroll.run(id)).instructions[0].status).toBe('SUBMIT_UNKNOWN');
    await payroll.clearFaults();
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await said()).status).toBe(200);
  });

  it("is declared executed against what the bank shows by the bank's written reference alone", async () => {
    const { id, path } = await parked('request-lost');
    expect(await act(path, 'EXECUTED')).toMatchObject({ status: 409, data: { code: 'SHOWN_UNSUBMITTED' } });
    expect((await payroll.run(id)).instructions[0].status).toBe('SUBMIT_UNKNOWN');
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await act(path, 'EXECUTED', 'letter of today, reference B-9')).status).toBe(200);
    expect((await payroll.run(id)).instructions[0].status).toBe('SUBMITTED');
  });

  it('is declared executed on the word of two people where the bank answers no read of it', async () => {
    const { id, path } = await parked('request-lost');
    await payroll.fault({ operation: 'getInstruction', kind: '409', every: 1 });
    expect((await act(path, 'EXECUTED')).status).toBe(200);
    expect((await payroll.run(id)).instructions[0].status).toBe('SUBMITTED');
  });

  it('is confirmed as it was read, and not as somebody proposed it since', async () => {
    const { id, rows, path } = await parked('request-lost');
    const word = { reason: 'the bank said so', evidence: 'letter of today, reference B-9' };
    const propose = (action: string) => payroll.as('operator').post(`${path}/actions`, { ...word, action });
    const confirm = (actionId: string) =>
      payroll.as('second').post(`${path}/actions/confirmation`, { actionId });
    const read = (await propose('EXECUTED')).data.id;
    await payroll.as('operator').delete(`${path}/actions`);
    const proposed = (await propose('NOT_EXECUTED')).data.id;
    expect(await confirm(read)).toMatchObject({ status: 409, data: { code: 'ACTION_CHANGED' } });
    expect((await confirm('the first')).status).toBe(422);
    expect((await payroll.as('second').post(`${path}/actions/confirmation`)).status).toBe(422);
    expect((await payroll.run(id)).instructions[0].status).toBe('SUBMIT_UNKNOWN');
    expect((await confirm(proposed)).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    expect(await moved(rows)).toBe(0);
  });

  it('answers that the bank cannot be read, instead of failing inside', async () => {
    const { path } = await parked('request-lost');
    await payroll.fault({ operation: 'getInstruction', kind: 'redirect', every: 1 });
    const answer = await act(path, 'NOT_EXECUTED');
    expect(answer).toMatchObject({ status: 503, data: { code: 'BANK_UNREADABLE' } });
    await payroll.clearFaults();
    await payroll.as('operator').delete(`${path}/actions`);
  });

  it('is not declared not executed by what a delete hides of a status that no document names, which is told', async () => {
    const deleted = async () => (await payroll.calls()).deleteInstruction ?? 0;
    const before = await deleted();
    const statuses = ['QUEUED_CORE'];
    const standing = jest.spyOn(BankReads.prototype, 'standing').mockImplementation(async () => {
      const isGone = (await deleted()) > before;
      return { isGone, statuses: isGone ? [] : statuses, isUnclear: false };
    });
    const { path } = await parked('request-lost');
    const { data } = await payroll.as('operator').get(path);
    expect(data.happened).toContain(' The bank shows QUEUED_CORE, which no document names.');
    const refused = await act(path, 'NOT_EXECUTED');
    expect(refused).toMatchObject({ status: 409, data: { code: 'NOT_PROVEN_DEAD' } });
    expect(await deleted()).toBe(before + 1);
    standing.mockRestore();
    await payroll.as('operator').delete(`${path}/actions`);
  });

  it('is not declared not executed by reads after the delete that the bank failed to answer', async () => {
    const { path } = await parked('request-lost');
    const { app } = payroll.services[0]!;
    const [gateway, reads] = [app.get(BankGateway), app.get(BankReads)];
    const account = { reads: ['INSTRUCTION'] } as EmployerAccount;
    const { deleteInstruction } = gateway;
    const deletion = jest.spyOn(gateway, 'deleteInstruction').mockImplementationOnce(async (id) => {
      const outcome = await deleteInstruction.call(gateway, id);
      await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
      await reads.instruction(account, id).catch(() => undefined);
      return outcome;
    });
    // As if the bank had failed for as long as the service is patient.
    const lasting = jest.spyOn(app.get(FaultsInARow), 'isLasting').mockReturnValue(true);
    const answer = await act(path, 'NOT_EXECUTED');
    lasting.mockRestore();
    expect(await deletion.mock.results[0]?.value).toMatchObject({ kind: 'yes' });
    expect(answer).toMatchObject({ status: 409, data: { code: 'NOT_PROVEN_DEAD' } });
    await payroll.clearFaults();
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await act(path, 'NOT_EXECUTED', 'letter of today, reference B-9')).status).toBe(200);
  });

  it.each([
    ['shown as cancelled', undefined],
    ['not found', '404'],
  ])(
    'is not declared not executed where it is %s after the delete, and its payments fail for good',
    async (_, instruction) => {
      const { path } = await parked('request-lost');
      await payroll.letRest('INSTRUCTION', 'FOLLOW');
      const { app } = payroll.services[0]!;
      const gateway = app.get(BankGateway);
      const { deleteInstruction } = gateway;
      jest.spyOn(gateway, 'deleteInstruction').mockImplementationOnce(async (id) => {
        const outcome = await deleteInstruction.call(gateway, id);
        if (instruction) await payroll.fault({ operation: 'getInstruction', kind: instruction, every: 1 });
        for (const list of ['listInstructionPaymentTransactions', 'listPaymentTransactions'])
          await payroll.fault({ operation: list, kind: '500-before', every: 1 });
        return outcome;
      });
      // As if the bank had failed for as long as the service is patient.
      const faults = app.get(FaultsInARow);
      const lasting = jest.spyOn(faults, 'isLasting').mockReturnValue(true);
      const often = jest.spyOn(faults, 'of').mockReturnValue(5);
      const answer = await act(path, 'NOT_EXECUTED');
      expect(answer).toMatchObject({ status: 409, data: { code: 'NOT_PROVEN_DEAD' } });
      await payroll.as('operator').delete(`${path}/actions`);
      expect((await act(path, 'NOT_EXECUTED', 'letter of today, reference B-9')).status).toBe(200);
      for (const mocked of [lasting, often]) mocked.mockRestore();
    },
  );

  it('cannot be declared not executed once the bank shows that it was', async () => {
    const { id, rows, path } = await parked('request-lost');
    const [instruction] = (await payroll.run(id)).instructions;
    await payroll.submitAtBank(instruction.bankInstructionId);
    const answer = await act(path, 'NOT_EXECUTED');
    expect(answer.status).toBe(409);
    // A read that lags behind shows the instruction as it was, which proves nothing either.
    const refusals = ['WAS_EXECUTED', 'ATTENTION_IS_RESOLVED', 'NOT_PROVEN_DEAD'];
    expect(refusals).toContain(answer.data.code);
    await payroll.until(id, ['SETTLED'], 15_000);
    expect(await moved(rows)).toBe(4);
    expect((await payroll.attention()).some((one) => one.payRunId === id)).toBe(false);
  });

  it('clears itself as soon as a read shows that it was executed', async () => {
    const { id, rows } = await parked('hang-before');
    const [instruction] = (await payroll.run(id)).instructions;
    await payroll.submitAtBank(instruction.bankInstructionId);
    await payroll.until(id, ['SETTLED'], 15_000);
    expect(await moved(rows)).toBe(4);
    expect((await payroll.attention()).some((one) => one.payRunId === id)).toBe(false);
  });

  it('is not decided on the word of somebody who holds no role any more', async () => {
    const { id, path } = await parked('request-lost');
    await payroll
      .as('operator')
      .post(`${path}/actions`, { action: 'EXECUTED', reason: 'seen in the portal', evidence: 'letter B-9' });
    const disabled = (at: string) =>
      execute(payroll.database.superuserUrl, `UPDATE person SET disabled_at = ${at} WHERE name = 'operator'`);
    await disabled('now()');
    const refused = await payroll.confirm(path);
    expect([refused.status, refused.data.code]).toEqual([409, 'PROPOSER_NOT_ENTITLED']);
    expect((await payroll.run(id)).instructions[0].status).toBe('SUBMIT_UNKNOWN');
    await disabled('NULL');
    expect((await payroll.confirm(path)).status).toBe(200);
  });

  it('is decided by two people: one alone, or an action that is not offered, changes nothing', async () => {
    const { id, path } = await parked('request-lost');
    expect(
      (await payroll.as('operator').post(`${path}/actions`, { action: 'RESUME', reason: 'why not' })).data
        .code,
    ).toBe('ACTION_NOT_OFFERED');
    for (const fault of [{ reason: '   ' }, { evidence: ' \t ' }, { action_: 'EXECUTED' }]) {
      const body = { action: 'EXECUTED', reason: 'seen in the portal', ...fault };
      expect((await payroll.as('second').post(`${path}/actions`, body)).data.code).toBe('VALIDATION_FAILED');
    }
    await payroll.as('second').post(`${path}/actions`, { action: 'EXECUTED', reason: 'seen in the portal' });
    expect((await payroll.confirm(path)).data.code).toBe('SECOND_PERSON_REQUIRED');
    expect((await payroll.confirm(path, 'finance')).status).toBe(403);
    expect((await payroll.run(id)).instructions[0].status).toBe('SUBMIT_UNKNOWN');
    expect((await payroll.as('operator').delete(`${path}/actions`)).status).toBe(204);
    expect((await payroll.confirm(path, 'operator')).data.code).toBe('ACTION_NOT_FOUND');
  });
});

describe('a submit whose outcome nobody knows, which two people declare not executed on two replicas at once', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({
      replicas: 2,
      settings: { BANK_LAG_BOUND_MS: '300' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
  });
  afterAll(() => payroll.close());

  it('is so by one of them, and the other is told no more than that somebody else is at it', async () => {
    const { id, path } = await payroll.parked(payRows(3));
    const proposal = { action: 'NOT_EXECUTED', reason: 'the bank never got it' };
    const { data: proposed } = await payroll.as('operator').post(`${path}/actions`, proposal);
    const confirm = (who: 'second' | 'approver', replica: number) => {
      payroll.url = payroll.services[replica]!.url;
      return payroll.as(who).post(`${path}/actions/confirmation`, { actionId: proposed.id });
    };
    const answers = await Promise.all([confirm('second', 0), confirm('approver', 1)]);
    const other = answers.find(({ status }) => status !== 200);
    expect([answers.filter(({ status }) => status === 200).length, other?.status]).toEqual([1, 409]);
    expect(['DELETED_BESIDE', 'ACTION_NOT_FOUND', 'ATTENTION_IS_RESOLVED']).toContain(other?.data.code);
    expect((await payroll.run(id)).instructions).toMatchObject([{ status: 'VOID' }]);
  });
});

describe('a submit whose outcome nobody knows, at a bank that shows no instruction', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '400', FOLLOW_DELAYS_MS: '600000' },
      sandbox: { variants: { linkReads: 'refused' } },
    });
  });
  afterAll(() => payroll.close());

  const parked = async (first: number) => {
    const rows = payRows(3, first);
    await payroll.clearFaults();
    return payroll.parked(rows);
  };
  const act = async (path: string, evidence?: string) => {
    const reason = 'the bank said so on the telephone';
    return payroll.decide(path, { action: 'NOT_EXECUTED', reason, evidence });
  };

  it("is declared not executed only with the bank's written reference", async () => {
    const { id, path } = await parked(1);
    expect(await act(path)).toMatchObject({ status: 409, data: { code: 'NOT_PROVEN_DEAD' } });
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await act(path, 'letter of today, reference B-7')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    expect((await payroll.ledger()).payees).toEqual([]);
  });

  it('is not declared not executed, whatever is written, while its payments are listed as submitted', async () => {
    const { id, path } = await parked(50);
    const [instruction] = (await payroll.run(id)).instructions;
    await payroll.submitAtBank(instruction.bankInstructionId);
    await eventually(async () => (await payroll.ledger()).payees.length === 3, 5_000);
    const answer = await act(path, 'letter of today, reference B-8');
    expect(answer).toMatchObject({ status: 409, data: { code: 'WAS_EXECUTED' } });
  });
});
