import { BankGateway } from '../../src/bank/gateway';
import type { BankInstruction } from '../../src/bank/records';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
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

  it.each([
    ['answered', true],
    ['not answered', false],
  ])(
    'is asked about where the bank does so whenever it is built again, its add %s, and nothing is submitted',
    async (_, isAnswered) => {
      payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '1' } });
      anotherHasTheIdsOf(Infinity, isAnswered);
      const id = await payroll.paid(payFile(payRows(1)));
      const path = await payroll.askedAbout(id, 'REBUILD_LIMIT', 20_000);
      const { happened, askBank } = (await payroll.as('operator').get(path)).data;
      expect(happened).toMatch(/the last because the bank gave a payment of it the id of another payment\./);
      const given = await select<{ bank: string; id: string }>(
        payroll.database.superuserUrl,
        `SELECT i.bank_instruction_id AS bank, substring(b.add_doubt FROM 'the id (.*) of another') AS id
         FROM bank_payment b JOIN instruction i ON i.id = b.instruction_id ORDER BY i.attempt DESC`,
      );
      expect(given).toHaveLength(2);
      for (const { bank, id: given_ } of given) {
        expect(happened).toMatch(new RegExp(`"${given_}" to row 1 [(]pay_\\w+[)] in ${bank}`));
        expect(askBank).toContain(`"${given_}" in customer instruction ${bank} and in another instruction`);
      }
      expect(askBank).toMatch(/^Why did you give one payment id to two payments/);
      expect((await payroll.calls()).submit ?? 0).toBe(0);
    },
  );

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

  it('is not taken over where somebody else submits it, unless the bank says so in writing: then its run ends at the cut-off', async () => {
    let date: string;
    const variants = { linkReads: 'allowed', enforceControlTotals: false, listingLagMs: 0 } as const;
    ({ payroll, date } = await Payroll.startOnPayday({
      rowsPerInstruction: 2,
      sandbox: { variants },
      settings: { BANK_LAG_BOUND_MS: '20000' },
    }));
    await payroll.stopPastTheGate();
    const terms = { executionDate: date, submitAt: `${date}T10:00:00Z` };
    const id = await payroll.paid(payFile(payRows(4)), terms);
    await payroll.until(id, ['SUBMITTING'], 60_000);
    const instructions = async () =>
      (await payroll.run(id)).instructions as { status: string; bankInstructionId: string }[];
    await payroll.deleteAtBank((await instructions())[1]!.bankInstructionId);
    anotherHasTheIdsOf(1, true);
    await payroll.letRunsGoOn();
    const added = `SELECT FROM bank_payment b JOIN instruction i ON i.id = b.instruction_id
      WHERE i.status = 'BUILDING' GROUP BY i.id HAVING count(*) = 2 AND bool_or(b.add_outcome = 'IN_DOUBT')`;
    const { superuserUrl } = payroll.database;
    await eventually(async () => (await select(superuserUrl, added)).length > 0, 60_000);
    const building = (await instructions()).find(({ status }) => status === 'BUILDING');
    await payroll.submitAtBank(building!.bankInstructionId);
    const path = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT', 60_000);
    const proposal = { action: 'EXECUTED', reason: 'somebody was too quick in the portal' };
    const refused = await payroll.decide(path, proposal);
    expect([refused.status, refused.data.code]).toEqual([409, 'NOT_AS_APPROVED']);
    expect(refused.data.detail).toMatch(/row \d with "\w+"/);
    await payroll.as('operator').delete(`${path}/actions`);
    const evidence = 'letter of the bank, 4711';
    expect((await payroll.decide(path, { ...proposal, evidence })).status).toBe(200);
    for (const { id: other } of (await payroll.attention()).filter(({ kind }) => kind === 'INVARIANT_BREACH'))
      await payroll.decide(payroll.path(`/attention/${other}`), { action: 'RESUME', reason: 'we know' });
    payroll.clock.set(new Date(`${date}T16:00:01Z`));
    await payroll.until(id, ['PARTLY_SETTLED', 'FAILED'], 60_000);
    const [stale] = (await payroll.attention()).filter(({ kind }) => kind === 'STALE_DATE');
    expect(stale!.happened).toContain('no successor pays them');
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });
});

const OPENED = 'SELECT bank_instruction_id AS id FROM instruction WHERE bank_instruction_id IS NOT NULL';

/** From the second initiation on the bank answers with the id it gave in the first, and says no more, so many times. */
function initiationsHaveTheFirstId(times: number): void {
  const gateway = payroll.services[0]!.app.get(BankGateway);
  const { sendInitiate } = gateway;
  let first: BankInstruction | undefined;
  let left = times;
  jest.spyOn(gateway, 'sendInitiate').mockImplementation(async (prepared) => {
    const outcome = await sendInitiate.call(gateway, prepared);
    if (outcome.kind !== 'yes') return outcome;
    if (first === undefined) {
      const { bankInstructionId, status } = outcome.value;
      first = { bankInstructionId, status };
      return outcome;
    }
    // Both are worked on side by side: before the first is in the record the id would be that of the second.
    await eventually(async () => (await select(payroll.database.superuserUrl, OPENED)).length > 0, 10_000);
    return left-- > 0 ? { ...outcome, value: first } : outcome;
  });
}

describe('an initiation answered with the id of an instruction in the record', () => {
  it('is a doubt: it is tried again ever later, a person is told which id it is, and nobody is paid', async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 1, settings: { REBUILD_LIMIT: '3' } });
    const before = await payroll.calls();
    initiationsHaveTheFirstId(Infinity);
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, 'REBUILD_LIMIT', 20_000);
    const { happened, askBank } = (await payroll.as('operator').get(path)).data;
    const [opened, ...others] = await select<{ id: string }>(payroll.database.superuserUrl, OPENED);
    expect(others).toEqual([]);
    const told = `the id is that of customer instruction ${opened!.id}, which is in the record already`;
    expect(happened).toContain(`initiations was answered, but not as it must be (${told})`);
    expect(askBank).toContain(`answered otherwise than sent (${told})?`);
    const calls = await payroll.calls();
    expect(calls).toMatchObject({ add: 1 });
    // The one that opened the first, and the doubts until people are told; the next is four seconds later.
    expect(calls.initiate! - before.initiate!).toBeLessThanOrEqual(5);
    const doubts = await select(
      payroll.database.superuserUrl,
      `SELECT FROM bank_call WHERE operation = 'initiate' AND outcome = 'IN_DOUBT'`,
    );
    expect(doubts.length).toBeGreaterThanOrEqual(4);
    expect(await timesPaid()).toEqual([]);
  });

  it('goes on with the first answer that has an id of its own, and everybody is paid once', async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 1 });
    initiationsHaveTheFirstId(1);
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1]);
    expect(await payroll.attention()).toEqual([]);
  });
});
