import { NotAllowed } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { InstructionReader } from '../../src/submission/read-back';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

describe('a replica that was paused for longer than its lease', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({ settings: { LEASE_MS: '600' } });
  });
  afterAll(() => payroll.close());

  it('concludes nothing from what it read of its successor: no false alarm, and nothing stops', async () => {
    const [paused] = payroll.services;
    const reader = paused!.app.get(InstructionReader);
    const readBack = reader.readBack.bind(reader);
    let wakeUp: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => (wakeUp = resolve));
    let gates = 0;
    reader.readBack = async (work, rows) => {
      if (work.instruction.status === 'VERIFIED' && gates++ === 0) await asleep;
      return readBack(work, rows);
    };
    const rows = payRows(3);
    const id = await payroll.paid(payFile(rows));
    await eventually(async () => gates > 0, 15_000);
    await payroll.stealLeases();
    await payroll.addReplica();
    await payroll.until(id, ['SETTLED'], 20_000);
    wakeUp();
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect((await payroll.ledger()).payees.map((payee) => payee.count)).toEqual([1, 1, 1]);
    expect(await payroll.attention()).toEqual([]);
    expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(false);
  });

  it('stops nobody for access that was refused before its successor had it again, nor asks anything anew', async () => {
    let wakeUp: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => (wakeUp = resolve));
    let [reads, isOver] = [0, false];
    for (const { app } of payroll.services) {
      const reader = app.get(InstructionReader);
      const { readBack } = InstructionReader.prototype;
      reader.readBack = async (work, rows) => {
        reads += 1;
        if (reads > 1) return readBack.call(reader, work, rows);
        await asleep;
        isOver = true;
        throw new NotAllowed(403, { raw: '' });
      };
    }
    const id = await payroll.paid(payFile(payRows(2, 80)), { kindOfPay: 'BONUS' });
    await eventually(async () => reads > 0, 15_000);
    await payroll.stealLeases();
    await payroll.until(id, ['SETTLED'], 20_000);
    wakeUp();
    await eventually(async () => isOver, 5_000);
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect((await payroll.attention()).map(({ kind }) => kind)).not.toContain('CREDENTIALS');
    const stopped = (await payroll.as('operator').get(payroll.path(''))).data.stopped;
    expect(stopped ?? null).toBeNull();
  });

  it('does not open the gate of a run on the balance it read before its successor found less', async () => {
    let wakeUp: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => (wakeUp = resolve));
    let reads = 0;
    for (const { app } of payroll.services) {
      const gateway = app.get(BankGateway);
      const getAccount = gateway.getAccount.bind(gateway);
      gateway.getAccount = async (id) => {
        const account = await getAccount(id);
        reads += 1;
        if (reads > 1) return { ...account, balanceMinor: 0n, availableMinor: 0n };
        await asleep;
        return account;
      };
    }
    const submits = (await payroll.calls()).submit;
    const id = await payroll.paid(payFile(payRows(3, 50)));
    await eventually(async () => reads > 0, 15_000);
    await payroll.stealLeases();
    await payroll.askedAbout(id, 'LOW_BALANCE');
    wakeUp();
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect((await payroll.run(id)).status).toBe('VERIFIED');
    expect((await payroll.calls()).submit).toBe(submits);
  });
});
