import { BankGateway } from '../../src/bank/gateway';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const ROWS = 450;
/** What two batches hold: the outcomes of the first go with the intents of a third. */
const FIRST_BATCHES = 200;

interface Adds {
  intended: number;
  open: number;
  added: number;
  otherwise: number;
}

describe('between two batches of adds', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({ rowsPerInstruction: ROWS, settings: { BANK_ADDS_IN_FLIGHT: '8' } });
  });
  afterEach(() => payroll.close());

  const sql = (text: string) => execute(payroll.database.superuserUrl, text);

  async function adds(): Promise<Adds> {
    const [row] = await select<Adds>(
      payroll.database.superuserUrl,
      `SELECT (SELECT coalesce(sum(cardinality(row_nos)), 0)::int FROM add_intent) AS intended,
         (SELECT count(*)::int FROM add_intent WHERE finished_at IS NULL) AS open,
         count(*) FILTER (WHERE add_outcome = 'ADDED')::int AS added,
         count(*) FILTER (WHERE add_outcome <> 'ADDED')::int AS otherwise FROM bank_payment`,
    );
    return row!;
  }

  /** Begins a run, and does `what` before the bank is sent the nth add, while two batches are under way. */
  async function atAdd(nth: number, what: () => Promise<unknown>): Promise<string> {
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const sendAdd = gateway.sendAdd.bind(gateway);
    let sent = 0;
    gateway.sendAdd = async (prepared) => {
      sent += 1;
      if (sent === nth) {
        await eventually(async () => (await adds()).intended >= FIRST_BATCHES, 15_000);
        await what();
      }
      return sendAdd(prepared);
    };
    return payroll.paid(payFile(payRows(ROWS)));
  }

  /** Nothing was sent beyond what stands as intended, and all that was sent is recorded as taken. */
  async function expectAnswersRecorded(): Promise<void> {
    const { intended, added, otherwise } = await eventuallyClosed();
    expect(intended).toBe(FIRST_BATCHES);
    expect(added).toBeGreaterThanOrEqual(FIRST_BATCHES / 2);
    expect((await payroll.calls())['add']).toBe(added);
    expect(otherwise).toBe(0);
  }

  async function eventuallyClosed(): Promise<Adds> {
    await eventually(async () => (await adds()).added > 0 && (await adds()).open === 0, 15_000);
    return adds();
  }

  async function expectAllPaidOnce(id: string): Promise<void> {
    await payroll.until(id, ['SETTLED'], 30_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual(
      Array.from({ length: ROWS }, () => 1),
    );
    expect((await payroll.calls())['add']).toBe(ROWS);
    expect((await adds()).otherwise).toBe(0);
  }

  it('a switch stops the next one, and what was answered is recorded', async () => {
    const id = await atAdd(50, () => sql(`UPDATE employer SET stopped_at = now(), stopped_reason = 'x'`));
    await expectAnswersRecorded();
    await sql(`UPDATE employer SET stopped_at = NULL, stopped_reason = NULL`);
    await sql('UPDATE lease SET wake_at = now()');
    await expectAllPaidOnce(id);
  });

  it('who was overtaken intends nothing more, and records what was answered', async () => {
    const id = await atAdd(50, () =>
      sql(
        `UPDATE lease SET holder = NULL, leased_until = NULL, epoch = epoch + 1, wake_at = 'infinity' WHERE kind = 'INSTRUCTION'`,
      ),
    );
    await expectAnswersRecorded();
    await sql('UPDATE lease SET wake_at = now()');
    await expectAllPaidOnce(id);
  });

  it('an intent that cannot be written leaves no answer unrecorded', async () => {
    const id = await atAdd(50, () =>
      sql(
        `CREATE FUNCTION refuse_third() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$;
         CREATE TRIGGER refuse_third BEFORE INSERT ON add_intent FOR EACH ROW WHEN (NEW.batch > 2)
           EXECUTE FUNCTION refuse_third()`,
      ),
    );
    await expectAnswersRecorded();
    await sql('DROP TRIGGER refuse_third ON add_intent');
    await expectAllPaidOnce(id);
  });

  it('the outcomes of the first and the intents of the next are one commit', async () => {
    let together = 0;
    const id = await atAdd(FIRST_BATCHES + 1, async () => {
      const rows = await select(
        payroll.database.superuserUrl,
        `SELECT FROM add_intent i, bank_payment p WHERE i.batch = 3 AND p.instruction_id = i.instruction_id AND p.xmin = i.xmin`,
      );
      together = rows.length;
    });
    await expectAllPaidOnce(id);
    expect(together).toBe(FIRST_BATCHES / 2);
  });
});

describe('a run that may be submitted while another one is built', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is submitted and paid, however many instructions wait to be built', async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 2 });
    await payroll.stopPastTheGate();
    const first = await payroll.paid(payFile(payRows(4)));
    await payroll.until(first, ['SUBMITTING'], 20_000);
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const sendAdd = gateway.sendAdd.bind(gateway);
    let goOn: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    let waiting = 0;
    gateway.sendAdd = async (prepared) => {
      waiting += 1;
      await held;
      return sendAdd(prepared);
    };
    const second = await payroll.paid(payFile(payRows(24, 100)), { kindOfPay: 'BONUS' });
    await eventually(() => Promise.resolve(waiting > 1), 15_000);
    await payroll.letRunsGoOn();
    await payroll.until(first, ['SETTLED'], 15_000);
    expect((await payroll.run(second)).status).toBe('BUILDING');
    goOn?.();
    await payroll.until(second, ['SUBMITTING', 'FOLLOWING', 'SETTLED'], 30_000);
  });
});
