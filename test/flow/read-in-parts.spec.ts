import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { BankReads } from '../../src/employer/bank-reads';
import { execute } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(() => payroll.close());

const UNPAID = ['fails', 'rejected', 'routingFails'].map(
  (effect) => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban,
);

/** A run of as many instructions as payments, each of which ended unpaid. */
async function unpaid(): Promise<string> {
  payroll = await Payroll.start({ rowsPerInstruction: 1, settings: { FOLLOW_DELAYS_MS: '600000' } });
  const rows = payRows(UNPAID.length).map((row, n) => ({ ...row, iban: UNPAID[n]! }));
  const id = await payroll.paid(payFile(rows));
  await eventually(async () => {
    await execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
    );
    return (await payroll.run(id)).status === 'FAILED';
  }, 30_000);
  await payroll.letRest('FOLLOW');
  return id;
}

/** Has each read of an instruction's payments take so long. @returns which were read so */
function readsTake(ms: number): string[] {
  const reads = payroll.services[0]!.app.get(BankReads);
  const { read } = reads;
  const asked: string[] = [];
  jest.spyOn(reads, 'read').mockImplementation((account, instruction) => {
    asked.push(instruction.bankInstructionId);
    payroll.clock.offsetMs += ms;
    return read.call(reads, account, instruction);
  });
  return asked;
}

describe('a successor of many old instructions, at a bank that is slow to show them', () => {
  it('is answered before a proxy gives up, and is made by asking again, which reads each of them once', async () => {
    const parent = await unpaid();
    const asked = readsTake(15_000);
    const successor = () => payroll.successorOf(parent);
    const first = await successor();
    expect([first.status, first.data.code]).toEqual([503, 'BANK_UNREADABLE']);
    // One read more searches the general list for all of them.
    expect(first.data.detail).toBe(
      'The bank could not be read: of 4 reads 2 were made in the time that one request may take. Ask again now: what was read is kept for 30 minutes, by the replica that read it, which goes on with the others.',
    );
    expect(first.headers['retry-after']).toBe('5');
    expect(asked).toHaveLength(2);
    expect((await successor()).status).toBe(201);
    expect([asked.length, new Set(asked).size]).toEqual([3, 3]);
  });
});
