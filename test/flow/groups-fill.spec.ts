import { BankGateway } from '../../src/bank/gateway';
import type { BankInstruction } from '../../src/bank/records';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { payFile, payRows, totalMinor as totalMinorOf } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const submitsOff = async () =>
  (await payroll.as('administrator').get('/v1/service')).data.submitsOff as boolean;
const ROWS = payRows(5);
const lackingIn = (shown: BankInstruction, lacking: { count?: number; totalMinor?: bigint }) => ({
  ...shown,
  groups: shown.groups?.map((group) => ({ ...group, ...lacking })),
});
/** So long that no busy machine takes it, and over before the cut-off of a day that is begun with enough time left. */
const DOUBT_MS = 60_000;
const settings = { SUBMIT_DOUBT_MS: String(DOUBT_MS) };
const doubtsAreOver = () => (payroll.clock.offsetMs += DOUBT_MS);
const start = async () => {
  payroll = await Payroll.start({
    settings,
    sandbox: { variants: { linkReads: 'allowed', submitRuns: 'later', groupsFill: 'progressively' } },
  });
};

describe('a bank that puts the payments of a submitted instruction into their groups one by one', () => {
  it.each([1, 5])(
    'stops nothing, and the totals are compared once they are whole (%d payments)',
    async (rows) => {
      await start();
      const id = await payroll.paid(payFile(payRows(rows)));
      await payroll.until(id, ['SETTLED'], 20_000);
      expect([await kinds(), await submitsOff()]).toEqual([[], false]);
    },
  );

  it.each([
    ['their sum', { totalMinor: 0n }],
    ['their count', { count: 0 }],
  ])('stops nothing while it fills %s last, from the answer to the submit on', async (_what, lacking) => {
    await start();
    const lackUntil = { ms: Number.POSITIVE_INFINITY };
    const lacks = (shown: BankInstruction) =>
      performance.now() < lackUntil.ms ? lackingIn(shown, lacking) : shown;
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { sendSubmit, getInstruction } = gateway;
    jest.spyOn(gateway, 'sendSubmit').mockImplementation(async (...sent) => {
      const answer = await sendSubmit.apply(gateway, sent);
      lackUntil.ms = performance.now() + 1_200;
      if (answer.kind !== 'yes') return answer;
      const whole = [{ group: 'PROCESSABLE', count: ROWS.length, totalMinor: totalMinorOf(ROWS) }];
      return { ...answer, value: lacks({ ...answer.value, groups: whole }) };
    });
    jest
      .spyOn(gateway, 'getInstruction')
      .mockImplementation(async (...asked) => lacks(await getInstruction.apply(gateway, asked)));
    const id = await payroll.paid(payFile(ROWS));
    await payroll.until(id, ['SETTLED'], 20_000);
    const checked = 'SELECT FROM instruction WHERE totals_checked_at IS NOT NULL';
    await eventually(async () => {
      await payroll.wakeAll();
      return (await select(payroll.database.superuserUrl, checked)).length === 1;
    }, 20_000);
    expect([await kinds(), await submitsOff()]).toEqual([[], false]);
  });

  it.each([
    ['they are', { count: 1, totalMinor: 1n }, '1 payments.'],
    [
      'their sum is',
      { totalMinor: 1n },
      'another sum than was approved, for the approved count: 5 payments.',
    ],
    ['their count is', { count: 4 }, 'another count or sum than was approved: 4 payments.'],
  ])(
    'stops everything where %s still too little when the time for doubts is over',
    async (_what, lacking, told) => {
      await start();
      const reads = payroll.services[0]!.app.get(BankReads);
      const { instruction } = reads;
      jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
        const shown = await instruction.call(reads, ...asked);
        if (!shown?.groups) return shown;
        const whole = [{ group: 'PROCESSABLE', count: ROWS.length, totalMinor: totalMinorOf(ROWS) }];
        return lackingIn({ ...shown, groups: whole }, lacking);
      });
      const id = await payroll.paid(payFile(ROWS));
      await payroll.until(id, ['SETTLED'], 20_000);
      expect([await kinds(), await submitsOff()]).toEqual([[], false]);
      doubtsAreOver();
      await eventually(async () => {
        await payroll.wakeAll();
        return (await kinds()).includes('TOTAL_MISMATCH_AFTER_SUBMIT');
      }, 20_000);
      expect(await payroll.attention()).toMatchObject([
        { happened: expect.stringContaining(told) as string },
      ]);
      expect(await submitsOff()).toBe(true);
    },
  );
});

describe('a submit in which the bank is still at work when the time for doubts is over', () => {
  /** What the bank shows of the groups from the answer to the submit on, as a share of what was sent. */
  const showsFor = async (lacking: { count?: number; totalMinor?: bigint }) => {
    payroll = await Payroll.start({
      settings,
      sandbox: { stepMs: 600_000, variants: { linkReads: 'allowed' } },
    });
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { sendSubmit, getInstruction } = gateway;
    jest.spyOn(gateway, 'sendSubmit').mockImplementation(async (...sent) => {
      const answer = await sendSubmit.apply(gateway, sent);
      return answer.kind === 'yes' ? { ...answer, value: lackingIn(answer.value, lacking) } : answer;
    });
    const reads = jest
      .spyOn(gateway, 'getInstruction')
      .mockImplementation(async (...asked) => lackingIn(await getInstruction.apply(gateway, asked), lacking));
    const id = await payroll.paid(payFile(ROWS));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    return { id, reads };
  };

  it.each([
    ['a smaller sum for the approved count', { totalMinor: 1n }],
    ['a smaller count for the approved sum', { count: 4 }],
  ])('stops everything where the groups show %s, before the money has moved', async (_what, lacking) => {
    const { id } = await showsFor(lacking);
    expect([await kinds(), await submitsOff()]).toEqual([[], false]);
    doubtsAreOver();
    await payroll.askedAbout(id, 'TOTAL_MISMATCH_AFTER_SUBMIT');
    expect([(await payroll.run(id)).status, await submitsOff()]).toEqual(['FOLLOWING', true]);
  });

  it('stops nothing where they show fewer payments, of which nobody knows yet what became', async () => {
    const { reads } = await showsFor({ count: 4, totalMinor: 1n });
    doubtsAreOver();
    reads.mockClear();
    await eventually(async () => {
      await payroll.wakeAll();
      return reads.mock.calls.length > 2;
    }, 20_000);
    expect([await kinds(), await submitsOff()]).toEqual([[], false]);
  });
});

describe('a bank that leaves out of the groups what failed, or what settled too', () => {
  it.each([
    ['failed', 'notProcessable', 'allowed', [], 1],
    ['failed', 'fails', 'allowed', [], 1],
    ['failed', 'notProcessable', 'refused', [], 0],
    ['ended', 'fails', 'allowed', [], 1],
    ['ended', 'notProcessable', 'allowed', [], 0],
  ] as const)(
    'stops nothing (%s, %s, links %s)',
    async (groupsLeaveOut, effect, linkReads, asked, compared) => {
      payroll = await Payroll.start({
        settings: { SUBMIT_DOUBT_MS: '400' },
        sandbox: { variants: { linkReads, groupsLeaveOut, submitRuns: 'at-once', optionalFields: 'sent' } },
      });
      const rows = payRows(4);
      rows[2]!.iban = MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban;
      const id = await payroll.paid(payFile(rows));
      await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
      const { superuserUrl } = payroll.database;
      const reads = jest.spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf');
      await new Promise((resolve) => setTimeout(resolve, 500));
      await eventually(async () => {
        await execute(superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
        return reads.mock.calls.length > 3;
      }, 20_000);
      expect([await kinds(), await submitsOff()]).toEqual([asked, false]);
      const checked = 'SELECT FROM instruction WHERE totals_checked_at IS NOT NULL';
      expect(await select(superuserUrl, checked)).toHaveLength(compared);
    },
  );

  it('stops nothing where that is only some of what failed', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '400' },
      sandbox: { variants: { linkReads: 'allowed', submitRuns: 'later', optionalFields: 'sent' } },
    });
    const rows = payRows(5);
    const [left, counted] = [rows[1]!, rows[2]!];
    left.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;
    counted.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'notProcessable')!.iban;
    const totalMinor = totalMinorOf(rows.filter((row) => row !== left));
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { getInstruction } = gateway;
    const reads = jest.spyOn(gateway, 'getInstruction').mockImplementation(async (...asked) => {
      return { ...(await getInstruction.apply(gateway, asked)), groups: undefined };
    });
    await payroll.until(await payroll.paid(payFile(rows)), ['PARTLY_SETTLED'], 30_000);
    reads.mockImplementation(async (...asked) => {
      const shown = await getInstruction.apply(gateway, asked);
      return { ...shown, groups: [{ group: 'PROCESSABLE', count: 4, totalMinor }] };
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
    reads.mockClear();
    await eventually(async () => {
      await execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
      return reads.mock.calls.length > 2 || (await kinds()).length > 0;
    }, 20_000);
    expect([await kinds(), await submitsOff()]).toEqual([[], false]);
  });
});

describe('a bank that counts no longer what it has processed', () => {
  /** What the groups of the one instruction show from now on. */
  const showsGroups = (count: number, totalMinor: bigint) => {
    const reads = payroll.services[0]!.app.get(BankReads);
    const { instruction } = BankReads.prototype;
    jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
      const shown = await instruction.apply(reads, asked);
      return shown && { ...shown, groups: [{ group: 'PROCESSABLE', count, totalMinor }] };
    });
  };
  const readAgain = (until: () => Promise<boolean>) =>
    eventually(async () => {
      await execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
      return until();
    }, 20_000);
  const settled = async () => {
    payroll = await Payroll.start({
      sandbox: { variants: { linkReads: 'allowed', groupsLeaveOut: 'nothing', onceSubmitted: 'shown' } },
    });
    const rows = payRows(4);
    await payroll.until(await payroll.paid(payFile(rows)), ['SETTLED'], 20_000);
    return rows.reduce((sum, { amount }) => sum + BigInt(amount.replace('.', '')), 0n);
  };
  const aDayLater = () => (payroll.clock.offsetMs += 86_400_000);

  it.each([0, 1])('stops nothing where its totals were equal before (%d payments left)', async (left) => {
    await settled();
    showsGroups(left, BigInt(left));
    aDayLater();
    const reads = jest.spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf');
    await readAgain(() => Promise.resolve(reads.mock.calls.length > 2));
    expect([await kinds(), await submitsOff()]).toEqual([[], false]);
  });

  it('stops nothing where it counts anew what came back', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '400' },
      sandbox: { variants: { linkReads: 'allowed', submitRuns: 'later', optionalFields: 'sent' } },
    });
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { getInstruction } = gateway;
    const shows = jest.spyOn(gateway, 'getInstruction').mockImplementation(async (...asked) => {
      return { ...(await getInstruction.apply(gateway, asked)), groups: undefined };
    });
    const rows = payRows(4);
    rows[1]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SETTLED'], 20_000);
    // From the same moment on as the list shows it.
    shows.mockImplementation(async (...asked) => {
      const totalMinor = totalMinorOf([rows[1]!]);
      const shown = await getInstruction.apply(gateway, asked);
      return { ...shown, groups: [{ group: 'PROCESSABLE', count: 1, totalMinor }] };
    });
    const later = new Date(payroll.clock.now().getTime() + 7 * 86_400_000);
    await payroll.bankClock(later);
    payroll.clock.set(later);
    await readAgain(async () => (await payroll.run(id)).returned.payments === 1);
    shows.mockClear();
    await readAgain(async () => shows.mock.calls.length > 2 || (await kinds()).length > 1);
    expect([await kinds(), await submitsOff()]).toEqual([['PAYMENT_RETURNED'], false]);
  });

  it('stops nothing by what a read may show of the time before the end', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '100', BANK_TIMEOUT_MS: '20000' },
      sandbox: { variants: { linkReads: 'allowed', submitRuns: 'later' } },
    });
    showsGroups(0, 0n);
    await payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 20_000);
    jest.restoreAllMocks();
    showsGroups(2, 3n);
    const reads = jest.spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf');
    await readAgain(() => Promise.resolve(reads.mock.calls.length > 2));
    expect([await kinds(), await submitsOff()]).toEqual([[], false]);
    aDayLater();
    await readAgain(async () => (await kinds()).includes('TOTAL_MISMATCH_AFTER_SUBMIT'));
  });

  it.each([
    ['more payments', 5, 1n],
    ['as many payments of another sum', 4, -1n],
    ['fewer payments of as much', 3, 0n],
  ])('stops everything where it counts %s', async (_what, count, besideMinor) => {
    showsGroups(count, (await settled()) + besideMinor);
    aDayLater();
    await readAgain(async () => (await kinds()).includes('TOTAL_MISMATCH_AFTER_SUBMIT'));
    expect(await submitsOff()).toBe(true);
  });
});
