import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

describe.each(['422', '403'])('a submit that the bank refuses with %s', (kind) => {
  let payroll: Payroll;
  let next = 1;
  beforeAll(async () => {
    payroll = await Payroll.start({ sandbox: { variants: { linkReads: 'allowed' } } });
  });
  afterAll(() => payroll.close());
  afterEach(async () => {
    await payroll.clearFaults();
    await resumed();
    await soundly();
  });

  const soundly = async () => {
    await payroll.reconcile();
    expect(await select(payroll.database.superuserUrl, 'SELECT invariant FROM invariant_breach')).toEqual([]);
  };

  const refused = async () => {
    const rows = payRows(3, next);
    next += rows.length;
    await payroll.fault({ operation: 'submit', kind, nth: 1 });
    const id = await payroll.paid(payFile(rows));
    const path = await payroll.askedAbout(id, 'SUBMIT_REFUSED');
    await soundly();
    return { id, rows, path };
  };
  const decided = (path: string, action: string) =>
    payroll.decide(path, { action, reason: 'the bank said so on the telephone' });
  const kindsOf = async (id: string) =>
    (await payroll.attention()).filter(({ payRunId }) => payRunId === id).map((one) => one.kind);
  /** A 403 stops the employer too, of which people are asked by itself. */
  const resumed = async () => {
    for (const { id } of (await payroll.attention()).filter((one) => one.kind === 'CREDENTIALS'))
      expect((await decided(payroll.path(`/attention/${id}`), 'RESUME')).status).toBe(200);
  };
  const instructionOf = async (id: string) => (await payroll.run(id)).instructions[0];
  const submitsOf = async (bankInstructionId: string) =>
    (await payroll.ledger()).instructions.find((one) => String(one.id) === bankInstructionId)?.submits;

  it('is declared not executed: nobody is paid by it, and a successor pays everybody once', async () => {
    const { id, rows, path } = await refused();
    expect((await payroll.as('operator').get(path)).data.actions).toEqual(['EXECUTED', 'NOT_EXECUTED']);
    expect((await decided(path, 'NOT_EXECUTED')).status).toBe(200);
    await payroll.until(id, ['FAILED']);
    expect((await instructionOf(id)).status).toBe('VOID');
    expect(await payroll.timesPaid(rows)).toEqual([0, 0, 0]);

    await resumed();
    expect(await kindsOf(id)).toEqual([]);
    const terms = { executionDate: payroll.executionDate(), submitAt: payroll.clock.now().toISOString() };
    const made = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), terms);
    expect(made).toMatchObject({ status: 201, data: { payments: 3, leftOut: [] } });
    expect((await payroll.approve(made.data)).status).toBe(200);
    await payroll.until(made.data.id, ['SETTLED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1]);
  });

  it('is declared executed once the bank shows that: its payments settle', async () => {
    const { id, rows, path } = await refused();
    expect(await decided(path, 'EXECUTED')).toMatchObject({ data: { code: 'SHOWN_UNSUBMITTED' } });
    expect((await payroll.as('operator').delete(`${path}/actions`)).status).toBe(204);
    await payroll.letRest('INSTRUCTION');
    const { bankInstructionId } = await instructionOf(id);
    await payroll.submitAtBank(bankInstructionId);
    expect((await decided(path, 'EXECUTED')).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1]);
    expect(await submitsOf(bankInstructionId)).toBe(1);
  });

  it('is not declared the contrary then: its payments settle by what was shown', async () => {
    const { id, rows, path } = await refused();
    await payroll.letRest('INSTRUCTION');
    await payroll.submitAtBank((await instructionOf(id)).bankInstructionId);
    expect(await decided(path, 'NOT_EXECUTED')).toMatchObject({ data: { code: 'WAS_EXECUTED' } });
    await payroll.until(id, ['SETTLED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1]);
  });

  it('is asked about no more once a read shows that the bank executed it after all, and its payments settle', async () => {
    const { id, rows, path } = await refused();
    const { bankInstructionId } = await instructionOf(id);
    await payroll.submitAtBank(bankInstructionId);
    await payroll.until(id, ['SETTLED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1]);
    expect(await submitsOf(bankInstructionId)).toBe(1);
    expect((await payroll.as('operator').get(path)).data.resolution).toBe(
      'a later read of the bank showed that the submit was executed',
    );
    expect(await kindsOf(id)).toEqual(kind === '403' ? ['CREDENTIALS'] : []);
  });
});
