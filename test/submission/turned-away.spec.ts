import { setTimeout as sleep } from 'node:timers/promises';
import { BankGateway } from '../../src/bank/gateway';
import { Database } from '../../src/database/database';
import { InstructionReader } from '../../src/submission/read-back';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const LAG_MS = 1_000;

describe('a submit that the bank says it turned away before executing it', () => {
  let payroll: Payroll;
  const start = async (doubtMs: number): Promise<void> => {
    payroll = await Payroll.start({
      settings: {
        BANK_REJECTS_BEFORE_EXECUTING: 'true',
        BANK_LAG_BOUND_MS: String(LAG_MS),
        SUBMIT_DOUBT_MS: String(doubtMs),
      },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
  };
  afterEach(() => payroll.close());

  const attempts = (): Promise<{ outcome: string | null; outcome_detail: string | null }[]> =>
    select(
      payroll.database.superuserUrl,
      'SELECT outcome, outcome_detail FROM submit_attempt ORDER BY attempted_at',
    );

  it('is not armed again on a read from before it, however late that is concluded from', async () => {
    await start(30_000);
    const { app } = payroll.services[0]!;
    const [gateway, reader, database] = [app.get(BankGateway), app.get(InstructionReader), app.get(Database)];
    let wasRead: () => void = () => undefined;
    let wakeUp: () => void = () => undefined;
    const read = new Promise<void>((resolve) => (wasRead = resolve));
    const asleep = new Promise<void>((resolve) => (wakeUp = resolve));

    // It is executed all the same, once another worker has read that it was not.
    const sendSubmit = gateway.sendSubmit.bind(gateway);
    let isSending = false;
    jest.spyOn(gateway, 'sendSubmit').mockImplementationOnce(async (prepared) => {
      isSending = true;
      await read;
      await sendSubmit(prepared);
      return { kind: 'no', reason: 'unauthorised', why: 'status 401' };
    });
    // That worker is frozen between its read and what it concludes.
    const standing = reader.standing.bind(reader);
    const inEmployer = database.inEmployer.bind(database);
    let freezesNext = false;
    jest.spyOn(reader, 'standing').mockImplementationOnce(async (work) => {
      const shown = await standing(work);
      freezesNext = true;
      return shown;
    });
    jest.spyOn(database, 'inEmployer').mockImplementation(async (employerId, work) => {
      if (!freezesNext) return inEmployer(employerId, work);
      freezesNext = false;
      wasRead();
      await asleep;
      return inEmployer(employerId, work);
    });

    const id = await payroll.paid(payFile(payRows(2)));
    await eventually(async () => isSending, 15_000);
    await payroll.stealLeases();
    await eventually(
      async () => (await attempts())[0]?.outcome_detail?.startsWith('turned away') ?? false,
      15_000,
    );
    await sleep(2 * LAG_MS);
    wakeUp();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['EXECUTED']);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
    expect(await payroll.attention()).toEqual([]);
  });

  it('is not armed again while no read says that it is INITIATED: people decide it', async () => {
    await start(4 * LAG_MS);
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const sendSubmit = jest.spyOn(gateway, 'sendSubmit').mockImplementation(async () => {
      await payroll.fault({ operation: 'getInstruction', kind: '404', every: 1 });
      return { kind: 'no', reason: 'unauthorised', why: 'status 401' };
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['IN_DOUBT']);
    expect(sendSubmit).toHaveBeenCalledTimes(1);
  });
});
