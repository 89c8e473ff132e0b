import { BankGateway } from '../../src/bank/gateway';
import { Database } from '../../src/database/database';
import { earliestExecutionDate } from '../../src/domain/business-day';
import { readId, showId } from '../../src/http/prefixed-id';
import { aboutInstruction, raise } from '../../src/pay-run/attention.store';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const VERIFIED = `SELECT id, status FROM pay_run WHERE status = 'VERIFIED'`;

describe('what the bank refused while a run was built', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  const propose = (path: string) =>
    payroll
      .as('operator')
      .post(`${path}/actions`, { action: 'TRY_AGAIN', reason: 'the bank has mended what it was' });
  const confirm = (path: string) => payroll.confirm(path);

  it.each([
    ['an add', 'add', 'ROW_REFUSED_BY_BANK'],
    ['an initiation', 'initiate', 'INITIATE_REFUSED'],
  ])(
    '(%s) is built again when two people say so, and everybody is paid once',
    async (_what, operation, kind) => {
      payroll = await Payroll.start({ rowsPerInstruction: 2 });
      await payroll.fault({ operation, kind: '422', nth: 1 });
      const rows = payRows(4);
      const id = await payroll.paid(payFile(rows));
      const path = await payroll.askedAbout(id, kind);
      expect((await propose(path)).status).toBe(201);
      expect((await payroll.ledger()).payees).toEqual([]);
      expect((await confirm(path)).status).toBe(200);
      await payroll.until(id, ['SETTLED'], 20_000);
      const { instructions } = await payroll.run(id);
      expect((instructions as { attempt: number }[]).map(({ attempt }) => attempt).sort()).toEqual([1, 2]);
      expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
      expect(await payroll.attention()).toEqual([]);
    },
  );

  it.each([
    ['a status that leaves a doubt', { why: 'status 409', status: 409 }, 'status 409'],
    [
      'a success of which nothing can be read',
      { why: 'paymentTransactionInformation', status: 200 },
      'status 200 [(]not as it must be[)]',
    ],
  ])(
    'is named where the bank answers the same payment with %s whenever it is added',
    async (_, doubt, told) => {
      payroll = await Payroll.start({ rowsPerInstruction: 4, settings: { REBUILD_LIMIT: '1' } });
      const rows = payRows(4);
      const gateway = payroll.services[0]!.app.get(BankGateway);
      const { sendAdd } = gateway;
      jest
        .spyOn(gateway, 'sendAdd')
        .mockImplementation((add) =>
          add.body.includes(rows[2]!.iban)
            ? Promise.resolve({ kind: 'in-doubt', ...doubt })
            : sendAdd.call(gateway, add),
        );
      const id = await payroll.paid(payFile(rows));
      const path = await payroll.askedAbout(id, 'REBUILD_LIMIT');
      const { happened } = (await payroll.as('operator').get(path)).data;
      expect(happened).toMatch(
        'the last because an add was not answered as it must be, and not seen within the lag bound',
      );
      expect(happened).toMatch(
        new RegExp(`The bank answered row 3 [(]pay_\\w+[)] with ${told} 2 times: without them`),
      );
      jest.restoreAllMocks();
      expect((await propose(path)).status).toBe(201);
      expect((await confirm(path)).status).toBe(200);
      await payroll.until(id, ['SETTLED'], 20_000);
    },
  );

  it('is built again before anything is submitted, also where people say so while the gate reads the bank', async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 1 });
    const { app } = payroll.services[0]!;
    const gateway = app.get(BankGateway);
    const getAccount = gateway.getAccount.bind(gateway);
    let said = false;
    jest.spyOn(gateway, 'getAccount').mockImplementation(async (account) => {
      const [run] = await select<{ id: string; status: string }>(payroll.database.superuserUrl, VERIFIED);
      if (run !== undefined && !said) {
        said = true;
        await app.get(Database).inEmployer(readId('emp', payroll.employer), async (tx) => {
          const [instruction] = await tx.manager.findBy(Instruction, { payRunId: run.id });
          const about = { ...aboutInstruction(instruction!), subjectId: instruction!.plannedInstructionId };
          await raise(tx, { kind: 'REBUILD_LIMIT', ...about, happened: 'a test' });
        });
        const path = await payroll.askedAbout(showId('run', run.id), 'REBUILD_LIMIT');
        expect([(await propose(path)).status, (await confirm(path)).status]).toEqual([201, 200]);
      }
      return getAccount(account);
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    const moves = await select<{ to_status: string }>(
      payroll.database.superuserUrl,
      `SELECT to_status FROM state_change WHERE subject = 'instruction' AND to_status IN ('VERIFIED', 'ABANDONED')
         OR subject = 'pay_run' AND to_status = 'SUBMITTING' ORDER BY seq`,
    );
    const states = ['VERIFIED', 'VERIFIED', 'ABANDONED', 'VERIFIED', 'SUBMITTING'];
    expect(moves.map((one) => one.to_status)).toEqual(states);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('is asked about again where it lasts, also of a row that was refused beside the one that was tried again', async () => {
    payroll = await Payroll.start();
    await payroll.fault({ operation: 'add', kind: '422', every: 1, times: 2 });
    const id = await payroll.paid(payFile(payRows(2)));
    const refusals = () => payroll.attention();
    await eventually(async () => (await refusals()).length === 2, 15_000);
    const [tried, beside] = await refusals();
    await payroll.fault({ operation: 'add', kind: '422', every: 1, times: 2 });
    await propose(payroll.path(`/attention/${tried!.id}`));
    expect((await confirm(payroll.path(`/attention/${tried!.id}`))).status).toBe(200);
    await eventually(async () => (await refusals()).length === 2, 15_000);
    const [asked] = await refusals();
    expect([tried!.id, beside!.id]).not.toContain(asked!.id);
    await propose(payroll.path(`/attention/${asked!.id}`));
    expect((await confirm(payroll.path(`/attention/${asked!.id}`))).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });

  describe.each([
    ['beside another', { addsOfOne: 'in-turn' }, '0'],
    ['too early', { addableAfterMs: 600 }, '700'],
  ] as const)('because it was added %s', (_when, choice, BANK_LAG_BOUND_MS) => {
    const start = async () => {
      const variants = { ...choice, untimelyAdds: 'refused' } as const;
      payroll = await Payroll.start({ sandbox: { variants }, settings: { BANK_LAG_BOUND_MS } });
    };
    const attempts = async (id: string): Promise<number> => (await payroll.run(id)).instructions[0].attempt;
    const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);

    it('is taken once two people say so, one at a time and later', async () => {
      await start();
      const id = await payroll.paid(payFile(payRows(3)));
      const path = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
      expect([(await propose(path)).status, (await confirm(path)).status]).toEqual([201, 200]);
      await payroll.until(id, ['SETTLED'], 10_000);
      expect([await attempts(id), await timesPaid()]).toEqual([2, [1, 1, 1]]);
      expect(await payroll.attention()).toEqual([]);
    });

    it('is taken by itself where many are, and nobody is left asked', async () => {
      await start();
      const id = await payroll.paid(payFile(payRows(24)));
      await payroll.until(id, ['SETTLED'], 10_000);
      expect([await attempts(id), await timesPaid()]).toEqual([2, Array(24).fill(1)]);
      expect(await payroll.attention()).toEqual([]);
    });
  });

  it('is asked about by its row, however many are, once it is refused one at a time too', async () => {
    payroll = await Payroll.start();
    await payroll.fault({ operation: 'add', kind: '422', every: 1 });
    const id = await payroll.paid(payFile(payRows(6)));
    await eventually(async () => (await payroll.attention()).length === 6, 15_000);
    expect((await payroll.run(id)).instructions[0].attempt).toBe(2);
  });

  it.each([
    ['an add', 'add', 'ROW_REFUSED_BY_BANK'],
    ['an initiation', 'initiate', 'INITIATE_REFUSED'],
  ])(
    '(%s) is not asked about once the approval lapsed, and the run is amended',
    async (_what, operation, kind) => {
      const { payroll: onPayday, date } = await Payroll.startOnPayday({ rowsPerInstruction: 2 });
      payroll = onPayday;
      await payroll.fault({ operation, kind: '422', nth: 1 });
      const submitAt = `${date}T10:00:00Z`;
      const run = await payroll.uploaded(payFile(payRows(4)), { executionDate: date, submitAt });
      await payroll.approve(run);
      const path = await payroll.askedAbout(run.id, kind);
      expect((await propose(path)).status).toBe(201);
      payroll.clock.set(new Date(`${date}T16:30:00Z`));
      await payroll.until(run.id, ['READY'], 20_000);
      expect((await confirm(path)).data.code).toBe('ATTENTION_IS_RESOLVED');
      expect((await payroll.attention()).map((one) => one.kind)).toEqual(['APPROVAL_LAPSED']);
      const executionDate = earliestExecutionDate(payroll.clock.now(), { cutOff: '16:00', timeZone: 'UTC' });
      const amended = await payroll
        .as('preparer')
        .post(payroll.path(`/pay-runs/${run.id}/amendments`), { executionDate, reason: 'the next day then' });
      expect(amended.data).toMatchObject({ status: 'READY', runVersion: 2, executionDate, amendment: null });
    },
  );
});
