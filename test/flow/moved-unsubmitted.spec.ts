import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

interface Shown {
  status: string;
  bankInstructionId: string;
}

describe('an instruction that the bank executes though it was never submitted', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 2,
      sandbox: { variants: { linkReads: 'allowed' } },
    });
  });
  afterAll(() => payroll.close());

  const act = async (path: string, action: string) => {
    const reason = 'the bank and we have looked into it';
    await payroll.as('operator').post(`${path}/actions`, { action, reason });
    expect((await payroll.as('second').post(`${path}/actions/confirmation`)).status).toBe(200);
  };
  const instruction = async (runId: string, is: (one: Shown) => boolean): Promise<Shown | undefined> =>
    ((await payroll.run(runId)).instructions as Shown[]).find(is);
  const verified = (runId: string) => instruction(runId, ({ status }) => status === 'VERIFIED');
  /** It was read since two people decided, and is read again after a while. */
  const waits = async ({ bankInstructionId }: Shown) =>
    (
      await select(
        payroll.database.superuserUrl,
        `SELECT FROM lease l JOIN instruction i ON i.id = l.subject_id WHERE i.bank_instruction_id = $1
           AND l.kind = 'INSTRUCTION' AND l.holder IS NULL AND l.wake_at > now() + interval '30 seconds'`,
        [bankInstructionId],
      )
    ).length > 0;

  it('stops everything until two people decide it, and not again while the bank shows the same', async () => {
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    const refused = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    await eventually(async () => (await verified(id)) !== undefined, 15_000);
    const moved = await verified(id);
    await payroll.submitAtBank(moved!.bankInstructionId);
    await act(refused, 'TRY_AGAIN');
    await act(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await eventually(
      async () => (await instruction(id, ({ status }) => status === 'CLOSED')) !== undefined,
      20_000,
    );
    await eventually(() => waits(moved!), 20_000);
    expect(await payroll.attention()).toEqual([]);
    expect(await verified(id)).toEqual(moved);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
    const attempts = `SELECT bank_instruction_id FROM submit_attempt WHERE bank_instruction_id = $1`;
    expect(await select(payroll.database.superuserUrl, attempts, [moved!.bankInstructionId])).toEqual([]);
  });
});
