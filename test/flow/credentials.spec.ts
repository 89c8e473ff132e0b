import { ServerResponse } from 'node:http';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

/** Short, so that a token ends between two runs, and longer than a call is on its way on a busy machine. */
const LIFETIME_S = 5;

describe('an access token from client credentials', () => {
  let payroll: Payroll;
  let next = 1;
  beforeAll(async () => {
    payroll = await Payroll.start({ sandbox: { variants: { tokenLifetimeS: LIFETIME_S } } });
  });
  afterAll(() => payroll.close());
  afterEach(() => payroll.clearFaults());

  const rows = () => {
    next += 3;
    return payRows(3, next);
  };
  const credentials = async () => (await payroll.attention()).find((one) => one.kind === 'CREDENTIALS');
  /** Once nothing asks the bank any more, which may renew it. */
  const tokenEnds = async () => {
    await payroll.restsForADay();
    await new Promise((resolve) => setTimeout(resolve, LIFETIME_S * 1_000 + 200));
  };
  /** Later than callers share the last failure. */
  const resume = async (id: string) => {
    await new Promise((resolve) => setTimeout(resolve, 2_200));
    const path = payroll.path(`/attention/${id}`);
    const reason = 'the bank gave us new credentials';
    expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
  };

  it('is renewed as often as a run needs it', async () => {
    const before = (await payroll.calls()).token ?? 0;
    await tokenEnds();
    await payroll.until(await payroll.paid(payFile(rows())), ['SETTLED']);
    expect((await payroll.calls()).token).toBeGreaterThan(before);
    expect(await payroll.attention()).toEqual([]);
  });

  it('that is refused stops the employer and asks a person; resumed, everybody is paid once', async () => {
    await tokenEnds();
    await payroll.fault({ operation: 'token', kind: '401' });
    const paid = rows();
    const id = await payroll.paid(payFile(paid));
    await eventually(async () => (await credentials()) !== undefined, 10_000);
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual(['CREDENTIALS']);
    expect(await payroll.timesPaid(paid)).toEqual([0, 0, 0]);
    await payroll.clearFaults();
    await resume((await credentials())!.id);
    await payroll.until(id, ['SETTLED']);
    expect(await payroll.timesPaid(paid)).toEqual([1, 1, 1]);
    expect(await payroll.attention()).toEqual([]);
  });

  it.each(['500-before', '404'])(
    'whose endpoint is down for a while only delays the run (%s)',
    async (kind) => {
      await tokenEnds();
      await payroll.fault({ operation: 'token', kind, times: 2 });
      const paid = rows();
      await payroll.until(await payroll.paid(payFile(paid)), ['SETTLED']);
      expect(await payroll.timesPaid(paid)).toEqual([1, 1, 1]);
      expect(await payroll.attention()).toEqual([]);
    },
  );
});

describe('an access token that the bank turns away', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    // Short enough to be asked for, and longer than the test takes.
    payroll = await Payroll.start({ sandbox: { variants: { tokenLifetimeS: 599, linkReads: 'allowed' } } });
  });
  afterAll(() => payroll.close());

  it.each([
    ['initiate', 1],
    ['add', 4],
    ['getInstruction', 7],
  ])('at a moment in which it cannot be renewed only delays the run (%s)', async (operation, firstRow) => {
    await payroll.clearFaults();
    // First, or the run before, which is still looked at, has the token renewed between the two.
    await payroll.fault({ operation: 'token', kind: '500-before', times: 1 });
    await payroll.fault({ operation, kind: '401', times: 1 });
    const paid = payRows(3, firstRow);
    await payroll.until(await payroll.paid(payFile(paid)), ['SETTLED']);
    expect((await payroll.faults()).map(({ hits }) => hits)).toEqual([1, 1]);
    const payees = (await payroll.ledger()).payees.filter(({ iban }) =>
      paid.some((one) => one.iban === iban),
    );
    expect(payees.map(({ count }) => count)).toEqual([1, 1, 1]);
    expect(await payroll.attention()).toEqual([]);
  });
});

describe('an access token that serves for some reads and is turned away by others, however often it is renewed', () => {
  it('is asked about while a run is followed', async () => {
    const variants = { tokenLifetimeS: 599, linkReads: 'allowed', submitWaitsFor: 'approval' } as const;
    const payroll = await Payroll.start({ sandbox: { variants } });
    try {
      await payroll.until(await payroll.paid(payFile(payRows(2))), ['FOLLOWING']);
      for (const operation of ['listPaymentTransactions', 'listInstructionPaymentTransactions'])
        await payroll.fault({ operation, kind: '401', every: 1 });
      await eventually(async () => {
        await payroll.wakeAll();
        return (await payroll.attention()).some(({ kind }) => kind === 'CREDENTIALS');
      }, 10_000);
    } finally {
      await payroll.close();
    }
  });
});

describe('a token that the bank turns away in an answer that cannot be unpacked', () => {
  it('is asked about while a run is followed', async () => {
    const variants = { linkReads: 'allowed', submitWaitsFor: 'approval' } as const;
    const payroll = await Payroll.start({ sandbox: { variants } });
    const { writeHead } = ServerResponse.prototype;
    const bank = jest.spyOn(ServerResponse.prototype, 'writeHead');
    try {
      await payroll.until(await payroll.paid(payFile(payRows(2))), ['FOLLOWING']);
      bank.mockImplementation(function (this: ServerResponse, status: number, headers?: object) {
        const packed = status === 401 ? { ...headers, 'content-encoding': 'gzip' } : headers;
        return writeHead.call(this, status, packed as never);
      } as typeof writeHead);
      await payroll.fault({ operation: '*', kind: '401', every: 1 });
      await eventually(async () => {
        await payroll.wakeAll();
        return (await payroll.attention()).some(({ kind }) => kind === 'CREDENTIALS');
      }, 10_000);
    } finally {
      bank.mockRestore();
      await payroll.close();
    }
  });
});
