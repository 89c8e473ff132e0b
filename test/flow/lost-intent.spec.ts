import { BankGateway } from '../../src/bank/gateway';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

/** What a failover to a standby loses that had not received the last second. */
const LOST_INITIATE = `DELETE FROM bank_call WHERE operation = 'initiate';
  UPDATE instruction SET status = 'PLANNED'; UPDATE payment SET status = 'APPROVED';`;
const LOST_ADDS = 'DELETE FROM add_intent;';

/** Where a bank shows less, people need its written word before they resume: see the stories of restores. */
const SHOWN = {
  linkReads: 'allowed',
  omitFromLists: [],
  optionalFields: 'sent',
  emptyLists: 'envelope',
} as const;

describe('an answer to a call whose intent a failover lost', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  const question = async () =>
    (await payroll.attention()).find(
      ({ kind, happened }) => kind === 'RESTORED' && !/is being read/.test(happened),
    );

  /** A run of two instructions, of which the failover struck while the first such call was under way. */
  async function failedOver(operation: 'initiate' | 'add', lost: string): Promise<string> {
    const sandbox = { variants: SHOWN };
    const settings = { BANK_TIMEOUT_MS: '20000' };
    payroll = await Payroll.start({ rowsPerInstruction: 2, sandbox, settings, paidBefore: true });
    await payroll.fault({ operation, kind: 'slow-drip', nth: 1, delayMs: 4 });
    const calls = async () => (await payroll.calls())[operation] ?? 0;
    const before = await calls();
    const id = await payroll.paid(payFile(payRows(2)));
    await eventually(async () => (await calls()) > before, 20_000);
    await execute(
      payroll.database.superuserUrl,
      `BEGIN; SET LOCAL session_replication_role = replica; ${lost}
       UPDATE database_identity SET timeline = timeline + 1, written_by = pg_current_xact_id(); COMMIT`,
    );
    return id;
  }

  async function resumed(): Promise<void> {
    await eventually(async () => (await question()) !== undefined, 20_000);
    const path = payroll.path(`/attention/${(await question())?.id}`);
    const confirmed = await payroll.decide(path, { action: 'RESUME', reason: 'the lists were compared' });
    expect(confirmed.status).toBe(200);
  }

  it.each([
    ['initiate', LOST_INITIATE],
    ['add', LOST_ADDS],
  ] as const)(
    'is not recorded (%s): the run is approved again, begins as the database has it, and pays once',
    async (operation, lost) => {
      const id = await failedOver(operation, lost);
      await resumed();
      await payroll.until(id, ['READY'], 20_000);
      await payroll.approve(await payroll.run(id));
      await payroll.until(id, ['SETTLED'], 40_000);
      expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
      const unintended = await select(
        payroll.database.superuserUrl,
        `SELECT b.row_no FROM bank_payment b WHERE NOT EXISTS (SELECT FROM add_intent a
         WHERE a.instruction_id = b.instruction_id AND b.row_no = ANY (a.row_nos))`,
      );
      expect(unintended).toEqual([]);
    },
  );

  it('tells of itself that it was lost (submit), so that nothing is submitted twice', async () => {
    // Neither does the guard see it, for the mark was made again since, nor the bank show what it executes so late.
    const lost = `BEGIN; SET LOCAL session_replication_role = replica;
      DELETE FROM submit_attempt; DELETE FROM bank_call WHERE operation = 'submit';
      UPDATE instruction SET status = 'VERIFIED'; COMMIT`;
    payroll = await Payroll.start({
      sandbox: { variants: { ...SHOWN, secondSubmit: 'executed' } },
      settings: { BANK_LAG_BOUND_MS: '8000' },
      paidBefore: true,
    });
    await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs: 7_500 });
    const bank = payroll.services[0]!.app.get(BankGateway);
    const send = bank.sendSubmit.bind(bank);
    jest.spyOn(bank, 'sendSubmit').mockImplementationOnce(async (...prepared) => {
      await execute(payroll.database.superuserUrl, lost);
      return send(...prepared);
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await eventually(async () => (await payroll.ledger()).payees.length === 2, 30_000);
    expect((await payroll.calls()).submit).toBe(1);
    await eventually(async () => (await question()) !== undefined, 20_000);
    expect((await question())?.happened).toContain('lost the intent of a submit');
    await resumed();
    await payroll.until(id, ['SETTLED'], 30_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
    expect((await payroll.calls()).submit).toBe(1);
  });
});
