import axios from 'axios';
import { BankError, ContractDrift } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { DEFAULT_VARIANTS } from '../../src/bank-sandbox/variants';
import { BankReads } from '../../src/employer/bank-reads';
import type { BankRead } from '../../src/employer/employer.entity';
import { FollowRecord } from '../../src/settlement/follow-record';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { emptyList } from '../support/empty-list';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { MovedClock, Payroll, PayrollOptions } from '../support/payroll';

const DAY_MS = 86_400_000;
const GIVEN_UP = 60;
const LISTS = 'listInstructionPaymentTransactions';
const READS = ['getInstruction', LISTS];

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const reads = async () => {
  const calls = await payroll.calls();
  return READS.reduce((sum, operation) => sum + (calls[operation] ?? 0), 0);
};
/** Waits until the bank was read so often since, and so what followed the last but one read is written down. */
const readAgain = async (times: number) => {
  const before = await reads();
  await eventually(async () => {
    await execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
    return (await reads()) > before + times;
  }, 20_000);
};
/** Reads what is watched, and waits until nothing of it is read within the hour. */
const readOnce = async (withLease = '') => {
  const { superuserUrl } = payroll.database;
  const woken = `UPDATE lease SET wake_at = now(), woken_at = now()${withLease}
    WHERE kind = 'FOLLOW' AND holder IS NULL RETURNING subject_id`;
  // One that is held just then is not woken, nor as old as it is to be.
  await eventually(async () => (await select(superuserUrl, woken)).length > 0, 5_000);
  const due = `SELECT FROM lease WHERE kind = 'FOLLOW' AND (holder IS NOT NULL OR wake_at < now() + interval '1 hour')`;
  await eventually(async () => (await select(superuserUrl, due)).length === 0, 5_000);
};
/** A run that is followed, at a bank in which nothing moves. */
const following = async (options: PayrollOptions = {}) => {
  payroll = await Payroll.start({
    ...options,
    sandbox: {
      stepMs: 600_000,
      variants: { linkReads: 'allowed', submitRuns: 'at-once', ...options.sandbox?.variants },
    },
  });
  const id = await payroll.paid(payFile(payRows(3)));
  await payroll.until(id, ['FOLLOWING'], 20_000);
  return id;
};

describe('an instruction that has ended and is not shown any more', () => {
  it.each([
    ['403', ['ROW_UNSEEN']],
    // Each payment is shown by itself: one too many would not be.
    ['404', ['TOTALS_UNSEEN']],
    ['500-before', []],
  ])('stops nobody and is read again a day later, told once (%s)', async (kind, asked) => {
    const clock = new MovedClock();
    payroll = await Payroll.start({
      clock,
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000', SUBMIT_DOUBT_MS: '60000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    for (const operation of [...READS, 'listPaymentTransactions'])
      await payroll.fault({ operation, kind, every: 1 });
    clock.offsetMs = 61_000;
    for (let n = 0; n < 2; n += 1) {
      await readOnce();
    }
    expect(await kinds()).toEqual(asked);
    expect((await payroll.as('operator').get(payroll.path(''))).data.stopped).toBeNull();
  });

  it('is not asked for its totals by a read during which they become due, and looked at anew at once', async () => {
    const clock = new MovedClock();
    payroll = await Payroll.start({
      clock,
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000', SUBMIT_DOUBT_MS: '60000' },
      sandbox: { variants: { linkReads: 'allowed', omitFromLists: ['parties', 'messageId'] } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    for (const operation of [...READS, 'listPaymentTransactions'])
      await payroll.fault({ operation, kind: '404', every: 1 });
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    const shown = jest.spyOn(source, 'paymentsOf').mockImplementationOnce(async (...asked) => {
      const seen = await paymentsOf.apply(source, asked);
      await payroll.fault({ operation: 'getPaymentTransaction', kind: '404', every: 1 });
      clock.offsetMs = 61_000;
      return seen;
    });
    await readOnce();
    expect(await shown.mock.results[0]!.value).toHaveLength(2);
    // The second look is still to come.
    expect(shown).toHaveBeenCalledTimes(2);
    expect(await kinds()).toEqual([]);
  });
});

describe('an instruction that has ended and cannot be read', () => {
  /** Reads what is watched, as if it had not been read for so long. */
  const readAfter = (since: string) =>
    readOnce(`, missing_since = CASE WHEN missing IS NOT NULL THEN now() - interval '${since}' END`);

  it('is not asked about any more once all of its run can be read, and anew when that is lost again', async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 1,
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    for (let n = 0; n < 2; n += 1) {
      for (const operation of [...READS, 'listPaymentTransactions'])
        await payroll.fault({ operation, kind: '500-before', every: 1 });
      await readAfter('0 hours');
      await readAfter('25 hours');
      await payroll.askedAbout(id, 'ROW_UNSEEN');
      await payroll.clearFaults();
      await readAfter('26 hours');
      expect(await kinds()).toEqual([]);
    }
  });

  it('is asked about anew when access is refused again, and not any more once all of its run can be read', async () => {
    payroll = await Payroll.start({
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    const refuse = async () => {
      for (const operation of [...READS, 'listPaymentTransactions'])
        await payroll.fault({ operation, kind: '403', every: 1 });
      await readAfter('1 hour');
    };
    await refuse();
    const path = await payroll.askedAbout(id, 'ROW_UNSEEN');
    const reason = 'the bank looks into it';
    expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason })).status).toBe(200);
    await readAfter('2 hours');
    expect(await kinds()).toEqual([]);
    await payroll.clearFaults();
    await readAfter('3 hours');
    await refuse();
    expect(await payroll.askedAbout(id, 'ROW_UNSEEN')).not.toBe(path);
    await payroll.clearFaults();
    await readAfter('1 hour');
    expect(await kinds()).toEqual([]);
  });

  it('is asked about a day later where it is shown without some of its payments', async () => {
    payroll = await Payroll.start({
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SETTLED'], 20_000);
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    jest
      .spyOn(source, 'paymentsOf')
      .mockImplementation(async (...asked) => (await paymentsOf.apply(source, asked)).slice(2));
    await readAfter('0 hours');
    await readAfter('23 hours');
    expect(await kinds()).toEqual([]);
    await readAfter('25 hours');
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    const lost = `customer instruction "${bankInstructionId}": 2 of 3 payments of it are not shown`;
    const told = await payroll.attention();
    expect(told.map(({ kind, happened }) => [kind, happened])).toEqual([
      ['ROW_UNSEEN', expect.stringMatching(new RegExp(`${lost} \\("\\d+", "\\d+"\\)\\.$`))],
    ]);
    const { data } = await payroll.as('finance').get(payroll.path(`/attention/${told[0]!.id}`));
    expect(data.askBank).toContain(`customer instruction "${bankInstructionId}"`);
    jest.restoreAllMocks();
    await readAfter('26 hours');
    expect(await kinds()).toEqual([]);
  });

  it('is asked about still once its run has ended, which is not explained', async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 1,
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    let goesOn: string | undefined;
    let isOver = false;
    jest.spyOn(source, 'paymentsOf').mockImplementation(async (account, of, at) => {
      const shown = await paymentsOf.apply(source, [account, of, at]);
      if (of.ended) return [];
      goesOn ??= of.id;
      return goesOn === of.id && !isOver ? shown.map((one) => ({ ...one, status: 'EXCHANGED' })) : shown;
    });
    const id = await payroll.paid(payFile(payRows(2)));
    const ended = async () =>
      ((await payroll.run(id)).instructions as { status: string }[]).some(
        ({ status }) => status === 'CLOSED',
      );
    await eventually(ended, 20_000);
    const aDayOn = `UPDATE lease SET wake_at = now(), woken_at = now(), missing_since = now() - interval '25 hours'
      WHERE kind = 'FOLLOW' AND missing IS NOT NULL AND holder IS NULL RETURNING subject_id`;
    await eventually(async () => {
      await payroll.wakeAll();
      return (await select(payroll.database.superuserUrl, aDayOn)).length > 0;
    }, 20_000);
    const asked = await payroll.askedAbout(id, 'ROW_UNSEEN');
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
    isOver = true;
    await eventually(async () => {
      await payroll.wakeAll();
      return (await payroll.run(id)).status === 'SETTLED';
    }, 20_000);
    expect((await payroll.as('finance').get(asked)).data.resolution).toBeNull();
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: false, openDoubts: ['ROW_UNSEEN'] });
  });

  describe('and has more payments than one read tries each by itself', () => {
    const [lost, garbled] = [new Set<number>(), new Set<number>()];
    let tried = 0;
    /** The next one is tried, by this read and any more that follows it by itself. */
    const readNext = (since: string) => {
      tried = (tried + 1) % 3;
      return readAfter(since);
    };
    /** A run of three payments has ended, of which each read tries one. */
    beforeEach(async () => {
      lost.clear();
      garbled.clear();
      payroll = await Payroll.start({
        settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
        sandbox: { variants: { linkReads: 'allowed' } },
      });
      await payroll.until(await payroll.paid(payFile(payRows(3))), ['SETTLED'], 20_000);
      await payroll.letRest('FOLLOW');
      const source = payroll.services[0]!.app.get(PaymentSource);
      const { paymentsOf } = source;
      tried = 2;
      jest.spyOn(source, 'paymentsOf').mockImplementation(async (account, asked, at) => {
        const seen = await paymentsOf.call(source, account, asked, at);
        const inTurn = seen.sort((a, b) => a.bankPaymentId.localeCompare(b.bankPaymentId));
        const left = inTurn.filter((_, n) => n !== tried).map(({ bankPaymentId }) => bankPaymentId);
        at.onUntried?.(left);
        if (garbled.has(tried)) at.onUnread?.(new ContractDrift(['status']), 'one');
        return garbled.has(tried) || lost.has(tried) ? [] : inTurn.slice(tried, tried + 1);
      });
    });
    /** The next pass over its payments. @returns what is asked after each read */
    const pass = async (since: string): Promise<string[][]> => {
      const asked: string[][] = [];
      for (let n = 0; n < 3; n += 1) {
        await readNext(since);
        asked.push(await kinds());
      }
      return asked;
    };
    const isSoon = async () => {
      const due = `SELECT FROM lease WHERE kind = 'FOLLOW' AND wake_at < now() + interval '3 hours'`;
      return (await select(payroll.database.superuserUrl, due)).length > 0;
    };
    const none = [[], [], []];

    it('is not asked about: the next reads follow soon until each payment was tried', async () => {
      for (const soon of [true, true, false, true, true, false]) {
        await readNext('25 hours');
        expect(await isSoon()).toBe(soon);
      }
      expect(await kinds()).toEqual([]);
    });

    it('is asked about a day later where one that was tried is not shown, and not any more once each was', async () => {
      lost.add(0);
      expect(await pass('1 hour')).toEqual(none);
      expect(await pass('25 hours')).toEqual([['ROW_UNSEEN'], ['ROW_UNSEEN'], ['ROW_UNSEEN']]);
      expect((await payroll.attention())[0]!.happened).toContain('1 of 3 payments of it are not shown');
      lost.clear();
      expect(await pass('26 hours')).toEqual([['ROW_UNSEEN'], ['ROW_UNSEEN'], []]);
    });

    it('is not asked about for a read that fails once a day, where each payment was shown in between', async () => {
      const source = payroll.services[0]!.app.get(PaymentSource);
      for (let day = 0; day < 2; day += 1) {
        jest.spyOn(source, 'paymentsOf').mockRejectedValueOnce(new BankError(500, { raw: '' }));
        await readAfter('25 hours');
        expect(await pass('25 hours')).toEqual(none);
      }
    });

    it('is read as a whole since the first of the reads that showed each payment', async () => {
      const { superuserUrl } = payroll.database;
      await execute(superuserUrl, 'UPDATE instruction SET payments_read_at = NULL');
      const readAt = async () =>
        (
          await select<{ at: Date | null }>(superuserUrl, 'SELECT payments_read_at AS at FROM instruction')
        )[0]!.at;
      lost.add(1);
      const begun: Date[] = [];
      for (let n = 0; n < 6; n += 1) {
        if (n === 3) lost.clear();
        expect(await readAt()).toBeNull();
        begun.push(new Date());
        await readNext('1 hour');
      }
      const at = await readAt();
      expect([at! >= begun[3]!, at! < begun[4]!]).toEqual([true, true]);
    });

    it('is asked about for an answer that cannot be used until each payment was shown', async () => {
      garbled.add(1);
      expect(await pass('1 hour')).toEqual([[], ['CONTRACT_DRIFT'], ['CONTRACT_DRIFT']]);
      garbled.clear();
      expect(await pass('1 hour')).toEqual([['CONTRACT_DRIFT'], ['CONTRACT_DRIFT'], []]);
    });
  });

  it.each(['500-before', '404', '422'])('is asked about once, a day later (%s)', async (kind) => {
    payroll = await Payroll.start({
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    for (const operation of [...READS, 'listPaymentTransactions', 'getPaymentTransaction'])
      await payroll.fault({ operation, kind, every: 1 });
    const { superuserUrl } = payroll.database;
    await readAfter('0 hours');
    await readAfter('23 hours');
    expect(await kinds()).toEqual([]);
    await readAfter('25 hours');
    const path = await payroll.askedAbout(id, 'ROW_UNSEEN');
    expect((await payroll.attention())[0]!.happened).toContain('could not be read in full for a day');
    const reason = 'the bank looks into it';
    expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason })).status).toBe(200);
    await readAfter('49 hours');
    expect(await kinds()).toEqual([]);
    await payroll.clearFaults();
    await readAfter('49 hours');
    expect(
      await select(superuserUrl, `SELECT FROM lease WHERE kind = 'FOLLOW' AND missing IS NOT NULL`),
    ).toEqual([]);
  });
});

describe('a submitted run', () => {
  it('is asked about for a strong authentication that begins once its totals were compared', async () => {
    await following();
    const bank = payroll.services[0]!.app.get(BankReads);
    const { instruction } = bank;
    jest.spyOn(bank, 'instruction').mockImplementation(async (...asked) => {
      const shown = await instruction.apply(bank, asked);
      return shown && { ...shown, status: 'SUB_STRONG_AUTH_REQUIRED' };
    });
    await eventually(async () => (await kinds()).includes('BANK_ACTION_REQUIRED'), 15_000);
    jest.restoreAllMocks();
    await eventually(async () => (await kinds()).length === 0, 15_000);
  });

  it.each([
    ['500-before', ['BANK_ACTION_REQUIRED']],
    ['garbage', ['BANK_ACTION_REQUIRED', 'CONTRACT_DRIFT']],
  ])(
    'is asked about for the bank to act though its own list is empty and the general one cannot be read (%s)',
    async (kind, asked) => {
      await following();
      const bank = payroll.services[0]!.app;
      await payroll.fault({ operation: 'listPaymentTransactions', kind, every: 1 });
      await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
      jest.spyOn(bank.get(BankGateway), 'listInstructionPayments').mockImplementation(emptyList);
      const reads = bank.get(BankReads);
      const { instruction } = reads;
      jest.spyOn(reads, 'instruction').mockImplementation(async (...which) => {
        const shown = await instruction.apply(reads, which);
        return shown && { ...shown, status: 'C_INST_WAITING_FOR_APPROVAL' };
      });
      const isAsked = async () => (await kinds()).sort().join() === asked.join();
      await eventually(isAsked, 15_000);
      await readAgain(4);
      expect((await kinds()).sort()).toEqual(asked);
    },
  );

  it('is not asked about again while what the bank answers cannot be read, once two people have decided it', async () => {
    const id = await following();
    for (const operation of READS) await payroll.fault({ operation, kind: 'garbage', every: 1 });
    const path = await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    const reason = 'the bank looks into it';
    expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason })).status).toBe(200);
    await readAgain(4);
    expect(await kinds()).toEqual([]);
  });

  it('is asked about where its own list cannot be read, and what is read instead lacks a payment, until that is shown', async () => {
    await following();
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    let lacking = 0;
    jest.spyOn(source, 'paymentsOf').mockImplementation(async (...asked) => {
      asked[2].onUnread?.(new ContractDrift(['items.0.status']));
      return (await paymentsOf.apply(source, asked)).slice(lacking);
    });
    await readAgain(4);
    expect(await kinds()).toEqual([]);
    lacking = 1;
    await eventually(async () => (await kinds()).includes('CONTRACT_DRIFT'), 15_000);
    lacking = 0;
    await readAgain(4);
    expect(await kinds()).toEqual([]);
  });

  it('is asked about by time alone also where a defect of ours keeps what is read from being recorded', async () => {
    const clock = new MovedClock();
    await following({ clock });
    const recording = jest.spyOn(payroll.services[0]!.app.get(FollowRecord), 'record');
    recording.mockRejectedValue(new Error('a defect'));
    const wakeAll = () =>
      execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
    // What was being recorded before would be recorded at the moved time.
    await eventually(async () => {
      await wakeAll();
      return recording.mock.calls.length > 0;
    }, 20_000);
    clock.offsetMs = 9 * DAY_MS;
    await eventually(async () => {
      await wakeAll();
      return (await kinds()).includes('UNKNOWN_STATUS');
    }, 20_000);
    const { happened } = (await payroll.attention()).find(({ kind }) => kind === 'UNKNOWN_STATUS')!;
    expect(happened).toContain('cannot be recorded');
  });
});

it.each(['403', '409'])(
  'what was given up and is gone at the bank is looked for in the general list where its own is no more (%s)',
  async (kind) => {
    // Half an instruction can be submitted in the bank's portal.
    const variants = { linkReads: 'allowed', enforceControlTotals: false } as const;
    payroll = await Payroll.start({ sandbox: { variants } });
    await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    const { superuserUrl } = payroll.database;
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), { reason: 'not now' });
    await payroll.until(id, ['CANCELLED'], 20_000);
    await payroll.fault({ operation: 'getInstruction', kind: '404', every: 1 });
    await payroll.fault({ operation: LISTS, kind, every: 1 });
    const looked = async () => (await payroll.calls()).listPaymentTransactions ?? 0;
    const before = await looked();
    const look = () =>
      execute(superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`);
    await eventually(async () => {
      await look();
      return (await looked()) > before + 1;
    }, 20_000);
    expect((await payroll.attention()).map((one) => one.kind)).not.toContain('ROW_UNSEEN');
    const [built] = await select<{ id: string }>(
      superuserUrl,
      'SELECT bank_instruction_id AS id FROM instruction WHERE bank_instruction_id IS NOT NULL',
    );
    await payroll.submitAtBank(built!.id);
    await eventually(async () => {
      await look();
      return (await kinds()).includes('INVARIANT_BREACH');
    }, 20_000);
  },
);

it('a submitted run is followed in the general list where its own is shown no more', async () => {
  const id = await following();
  await payroll.fault({ operation: LISTS, kind: '409', every: 1 });
  await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
  await payroll.until(id, ['SETTLED'], 20_000);
  expect(await kinds()).toEqual([]);
});

it('what was given up and is gone at the bank is looked for by sweeps that many share', async () => {
  payroll = await Payroll.start({
    rowsPerInstruction: 1,
    settings: { SUBMIT_DOUBT_MS: '400', FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '1' },
    // How many calls a sweep takes is each bank's own.
    sandbox: { variants: { ...DEFAULT_VARIANTS, linkReads: 'allowed' } },
  });
  const rows = payRows(GIVEN_UP + 1);
  rows[GIVEN_UP]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAtAdd')!.iban;
  const id = await payroll.paid(payFile(rows));
  const path = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
  const givenUp = () =>
    select<{ reads: number }>(
      payroll.database.superuserUrl,
      `SELECT l.epoch::int AS reads FROM lease l JOIN instruction i ON i.id = l.subject_id
       WHERE l.kind = 'FOLLOW' AND l.holder IS NULL AND i.status = 'ABANDONED'`,
    );
  expect((await payroll.decide(path, { action: 'EXCLUDE_PAYMENT', reason: 'left out' })).status).toBe(200);
  await eventually(async () => (await givenUp()).filter((one) => one.reads > 0).length >= GIVEN_UP, 20_000);
  await payroll.fault({ operation: 'getInstruction', kind: '404', every: 1 });
  await payroll.fault({ operation: LISTS, kind: '404', every: 1 });
  // A list that takes its time: on a slow machine too, who asks meanwhile shares the next.
  const gateway = payroll.services[0]!.app.get(BankGateway);
  const listed = gateway.listPayments.bind(gateway);
  jest.spyOn(gateway, 'listPayments').mockImplementation(async function* (...asked) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    yield* listed(...asked);
  });
  const before = await payroll.calls();
  const readsBefore = (await givenUp()).reduce((sum, one) => sum + one.reads, 0);
  await execute(
    payroll.database.superuserUrl,
    `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
  );
  await eventually(async () => {
    const after = await givenUp();
    const times = after.reduce((sum, one) => sum + one.reads, 0) - readsBefore;
    return after.length >= GIVEN_UP && times >= GIVEN_UP;
  }, 20_000);
  const after = await payroll.calls();
  const called = (operation: string) => (after[operation] ?? 0) - (before[operation] ?? 0);
  expect(called('getInstruction')).toBeGreaterThanOrEqual(GIVEN_UP);
  expect(called('listPaymentTransactions')).toBeLessThan(GIVEN_UP);
  expect(await kinds()).toEqual([]);
});

describe('a submitted instruction that the bank hides', () => {
  const everyRead = [...READS, 'listPaymentTransactions', 'getPaymentTransaction'];
  const hide = async (operations: readonly string[], kind: string) => {
    for (const operation of operations) await payroll.fault({ operation, kind, every: 1 });
  };
  const stopped = async () => (await payroll.as('operator').get(payroll.path(''))).data.stopped as unknown;

  it.each(['403', '404'])('is followed by the general list, and stops nobody (%s)', async (kind) => {
    const id = await following();
    await hide(READS, kind);
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
    await payroll.until(id, ['SETTLED'], 20_000);
    // That what has ended is hidden may be asked about already.
    expect((await kinds()).filter((one) => one !== 'ROW_UNSEEN')).toEqual([]);
    expect(await stopped()).toBeNull();
  });

  it('by a lasting fault of its own list is verified and followed by the general one, and stops nobody', async () => {
    payroll = await Payroll.start({ sandbox: { variants: { linkReads: 'allowed', omitFromLists: [] } } });
    await payroll.fault({ operation: LISTS, kind: '500-before', every: 1 });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SETTLED'], 30_000);
    expect(await kinds()).toEqual([]);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1]);
  });

  it('by every read stops its employer until two people have decided it, and not again', async () => {
    const id = await following();
    await hide(everyRead, '403');
    const path = await payroll.askedAbout(id, 'CREDENTIALS');
    expect(await stopped()).toMatchObject({ reason: 'CREDENTIALS' });
    const reason = 'the bank refuses this one, and shows all others';
    expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
    await readAgain(4);
    expect(await kinds()).toEqual([]);
    expect(await stopped()).toBeNull();
  });

  it.each([
    ['as they are', /of run_\w+, run_\w+: The bank answered 403/, undefined],
    ['for another reason', /answered 403.*probe it again\.|probe it again\..*answered 403/, '{BALANCE}'],
  ])(
    'is one question with all others that are hidden %s, and one word lets the employer go on',
    async (_, all, allowed) => {
      const first = await following();
      const second = await payroll.paid(payFile(payRows(3, 11)));
      await payroll.until(second, ['FOLLOWING'], 20_000);
      const other = '01980000-0000-7000-8000-000000001003';
      await execute(
        payroll.database.superuserUrl,
        `SET session_replication_role = replica;
       INSERT INTO employer_account SELECT (jsonb_populate_record(a, jsonb_build_object(
         'id', '${other}', 'bank_account_id', '1003', 'iban_hash', '\\x' || repeat('01', 32)))).* FROM employer_account a;
       UPDATE pay_run SET account_id = '${other}' WHERE replace(id::text, '-', '') = '${second.slice(4)}'`,
      );
      if (allowed) {
        const left = `UPDATE employer_account SET reads = '${allowed}' WHERE id = '${other}'`;
        await execute(payroll.database.superuserUrl, left);
      }
      await hide(everyRead, '403');
      const told = async () => (await payroll.attention()).filter(({ kind }) => kind === 'CREDENTIALS');
      const isTold = async () =>
        (await told()).some(({ happened }) => [first, second].every((id) => happened.includes(id)));
      await eventually(async () => (await told()).length > 0, 20_000);
      await readAgain(4);
      await eventually(isTold, 5_000);
      const [asked] = await told();
      expect(asked!.happened).toMatch(all);
      expect((await payroll.as('operator').get(payroll.path(`/attention/${asked!.id}`))).data.payments).toBe(
        6,
      );
      expect(asked!.askBank).toMatch(/1002, 1003|1003, 1002/);
      const open = await Promise.all([first, second].map((id) => payroll.run(id)));
      expect(open.map(({ openAttentions }) => openAttentions as number)).toEqual([1, 1]);
      const reason = 'the bank refuses these, and shows all others';
      const path = payroll.path(`/attention/${asked!.id}`);
      expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
      await readAgain(8);
      expect(await kinds()).toEqual([]);
      expect(await stopped()).toBeNull();
    },
  );

  it('stops its employer, and is told with those decided before, where it is hidden after that', async () => {
    const first = await following();
    await hide(everyRead, '403');
    const reason = 'the bank refuses this one, and shows all others';
    const decided = await payroll.askedAbout(first, 'CREDENTIALS');
    expect((await payroll.decide(decided, { action: 'RESUME', reason })).status).toBe(200);
    await payroll.letRest('FOLLOW');
    await payroll.clearFaults();
    const second = await payroll.paid(payFile(payRows(3, 11)));
    await payroll.until(second, ['FOLLOWING'], 20_000);
    await hide(everyRead, '403');
    await payroll.wakeAll();
    const path = await payroll.askedAbout(second, 'CREDENTIALS');
    expect(await stopped()).toMatchObject({ reason: 'CREDENTIALS' });
    expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
    await readAgain(8);
    expect(await kinds()).toEqual([]);
    expect(await stopped()).toBeNull();
  });

  it('is read again once it is shown, though a probe found meanwhile that no read is allowed', async () => {
    const id = await following();
    await hide([...everyRead], '403');
    const probed = await payroll.as('operator').post(payroll.path(`/accounts/${payroll.account}/probe`));
    expect(probed.data.findings).toMatchObject({ INSTRUCTION_PAYMENTS: 'refused', PAYMENT_LIST: 'refused' });
    const path = await payroll.askedAbout(id, 'CREDENTIALS');
    await payroll.clearFaults();
    const reason = 'the bank mended its gateway';
    expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
    await payroll.untilSettled(id);
    expect(await stopped()).toBeNull();
  });

  it('since a probe found no read allowed is told as that, and what to do about it', async () => {
    const id = await following();
    await payroll.letsRead('BALANCE');
    await payroll.askedAbout(id, 'CREDENTIALS');
    const [asked] = await payroll.attention();
    expect(asked!.happened).toMatch(/no read of its payments was found .* probe it again\.$/);
    expect(asked!.happened).not.toMatch(/answered/);
    const path = payroll.path(`/attention/${asked!.id}`);
    expect((await payroll.decide(path, { action: 'RESUME', reason: 'it is probed again' })).status).toBe(200);
    await hide(everyRead, '403');
    await payroll.letsRead('BALANCE', 'INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST');
    await payroll.wakeAll();
    await payroll.askedAbout(id, 'CREDENTIALS', 15_000);
    expect((await payroll.attention())[0]!.happened).toMatch(/answered 403/);
    expect(await stopped()).toMatchObject({ reason: 'CREDENTIALS' });
  });

  it.each([
    ['while it is built', 'BUILDING', undefined],
    ['at its gate', 'VERIFIED', 'getAccount'],
  ])(
    'stops nobody where nothing of it is submitted yet, and waits for its account since a probe found no read allowed: %s',
    async (_, status, held) => {
      payroll = await Payroll.start({ settings: { BANK_LAG_BOUND_MS: held ? '0' : '20000' } });
      if (held) await payroll.fault({ operation: held, kind: '500-before', every: 1 });
      const id = await payroll.paid(payFile(payRows(3)));
      await payroll.until(id, [status], 20_000);
      await payroll.letsRead('BALANCE');
      await payroll.clearFaults();
      await eventually(async () => {
        await payroll.wakeAll();
        return (await kinds()).length > 0;
      }, 20_000);
      expect(await kinds()).toEqual(['ACCOUNT_UNUSABLE']);
      const [asked] = await payroll.attention();
      expect(asked!.happened).toMatch(/no read of its payments at the bank was found/);
      expect((await payroll.run(id)).status).toBe(status);
      expect(await stopped()).toBeNull();
      await payroll.letsRead('BALANCE', 'INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST');
      await payroll.until(id, ['FOLLOWING', 'SETTLED'], 40_000);
      await eventually(async () => (await kinds()).length === 0, 5_000);
    },
  );

  it.each(['403', '404'])('is read by the configured delays (%s)', async (kind) => {
    await following({ settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '1' } });
    await hide(everyRead, kind);
    const { superuserUrl } = payroll.database;
    await execute(superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`);
    const due = `SELECT FROM lease WHERE kind = 'FOLLOW' AND (holder IS NOT NULL OR wake_at < now() + interval '1 hour')`;
    await eventually(async () => (await select(superuserUrl, due)).length === 0, 5_000);
  });
});

describe('a submitted instruction whose own read fails, while its payments are listed', () => {
  const READ_NOW = `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`;
  const stored = <Row>(sql: string) => select<Row>(payroll.database.superuserUrl, sql);
  /** Until it holds, with no pause of ours in between. */
  const read = (holds: () => Promise<boolean>) =>
    eventually(async () => {
      await execute(payroll.database.superuserUrl, READ_NOW);
      return holds();
    }, 20_000);
  const isSettled = (id: string) => async () => (await payroll.run(id)).status === 'SETTLED';
  const later = () => axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
  /** Until reads that began after this have failed. */
  const failsAgain = async () => {
    const hits = async () => (await payroll.faults())[0]?.hits ?? 0;
    const before = await hits();
    await read(async () => (await hits()) > before + 1);
  };

  /** Until nothing is under way that began before this, and nothing begins by itself. */
  const nobodyReads = () =>
    eventually(async () => {
      await stored(
        `UPDATE lease SET wake_at = now() + interval '1 hour' WHERE kind = 'FOLLOW' AND holder IS NULL`,
      );
      const due = `SELECT FROM lease WHERE kind = 'FOLLOW' AND (holder IS NOT NULL OR wake_at < now() + interval '30 minutes')`;
      return (await stored(due)).length === 0;
    }, 20_000);

  it.each([
    ['500-before', [], []],
    ['500-before', [], ['customerInstructionId', 'messageId'] as const],
    ['409', [], []],
    ['garbage', ['CONTRACT_DRIFT'], []],
  ])('is followed by these to its end, and its totals stay due (%s)', async (kind, asked, omitFromLists) => {
    // Its totals are in no answer to the submit.
    const variants = {
      submitRuns: 'later',
      groupsFill: 'at-once',
      groupsLeaveOut: 'nothing',
      onceSubmitted: 'shown',
      omitFromLists,
    } as const;
    const id = await following({ sandbox: { variants } });
    await payroll.fault({ operation: 'getInstruction', kind, every: 1 });
    await later();
    await read(isSettled(id));
    const [paid] = await stored<{ payments: number; checked: boolean }>(
      `SELECT (SELECT count(*)::int FROM payment WHERE status = 'SETTLED') AS payments,
         EXISTS (SELECT FROM instruction WHERE totals_checked_at IS NOT NULL) AS checked`,
    );
    expect(paid).toEqual({ payments: 3, checked: false });
    // A fault that was met often enough hides it, and then a list without names need not be all.
    const mayBeAsked = omitFromLists.length === 0 ? [] : ['TOTALS_UNSEEN'];
    const surely = async () => (await kinds()).filter((one) => !mayBeAsked.includes(one));
    await read(async () => (await surely()).join() === asked.join());
    await payroll.clearFaults();
    await read(async () => {
      const seen = await stored('SELECT FROM instruction WHERE totals_checked_at IS NOT NULL');
      return seen.length === 1 && (await kinds()).length === 0;
    });
  });

  it.each([
    ['garbage', ['CONTRACT_DRIFT']],
    ['403', []],
    ['422', []],
  ])('is followed to its end where only it could tell that the list is whole (%s)', async (kind, asked) => {
    // Every page of the list holds all of it and says no more: it may be the first of many that are all alike.
    const variants = { submitRuns: 'later', instructionList: 'whole', countMeans: 'page' } as const;
    const id = await following({ sandbox: { variants: { ...variants, ignorePageParams: true } } });
    await payroll.fault({ operation: 'getInstruction', kind, every: 1 });
    await later();
    await read(isSettled(id));
    expect((await kinds()).filter((one) => !['ROW_UNSEEN', 'TOTALS_UNSEEN'].includes(one))).toEqual(asked);
    expect((await payroll.as('operator').get(payroll.path(''))).data.stopped).toBeNull();
  });

  it('is asked about by what its list shows, and not as if nothing could be read', async () => {
    const clock = new MovedClock();
    await following({ clock, sandbox: { variants: { submitRuns: 'later', groupsFill: 'at-once' } } });
    await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
    await failsAgain();
    await nobodyReads();
    clock.offsetMs = 9 * DAY_MS;
    await read(async () => (await kinds()).includes('UNKNOWN_STATUS'));
    const { happened } = (await payroll.attention()).find(({ kind }) => kind === 'UNKNOWN_STATUS')!;
    expect(happened).not.toContain('Nothing can be read');
  });

  it('shows what comes back after its end, also where its second look fails', async () => {
    payroll = await Payroll.start({
      sandbox: { stepMs: 600_000, variants: { linkReads: 'allowed', submitRuns: 'at-once' } },
    });
    const rows = payRows(2);
    rows[0]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
    await later();
    await read(isSettled(id));
    await failsAgain();
    await payroll.bankClock(new Date(Date.now() + 10 * DAY_MS));
    await read(async () => (await stored('SELECT FROM payment WHERE returned_at IS NOT NULL')).length === 1);
  });
});

describe('where no list shows a payment, and each is shown only by itself', () => {
  it.each<[string, BankRead[], string, number]>([
    ['neither the instruction is read, nor its own list found', ['INSTRUCTION_PAYMENTS'], '404', 2],
    ['neither the instruction is read, nor anything in its own list', ['INSTRUCTION_PAYMENTS'], 'empty', 2],
    ['its own list is not found', ['INSTRUCTION', 'INSTRUCTION_PAYMENTS'], '404', 2],
    ['the general list is not found', ['INSTRUCTION', 'PAYMENT_LIST'], '404', 2],
    ['the general list is empty', ['INSTRUCTION', 'PAYMENT_LIST'], 'empty', 2],
    [
      'both are empty, however many are read',
      ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'],
      'empty',
      8,
    ],
  ])('its end, and what comes back after it, are seen: %s', async (_, allowed, answer, count) => {
    payroll = await Payroll.start({
      rowsPerInstruction: 1,
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const { superuserUrl } = payroll.database;
    await payroll.letsRead(...allowed);
    if (answer === 'empty') {
      const bank = payroll.services[0]!.app.get(BankGateway);
      jest.spyOn(bank, 'listPayments').mockImplementation(emptyList);
      jest.spyOn(bank, 'listInstructionPayments').mockImplementation(emptyList);
    } else {
      await payroll.fault({ operation: LISTS, kind: answer, every: 1 });
      await payroll.fault({ operation: 'listPaymentTransactions', kind: answer, every: 1 });
    }
    const rows = payRows(count);
    rows[0]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SETTLED'], 20_000);
    await payroll.restsForADay();
    await payroll.bankClock(new Date(Date.now() + 10 * DAY_MS));
    await payroll.aDayLater();
    expect(await select(superuserUrl, 'SELECT FROM payment WHERE returned_at IS NOT NULL')).toHaveLength(1);
    const told = ['PAYMENT_RETURNED', ...(allowed.includes('INSTRUCTION') ? [] : ['TOTALS_UNSEEN'])];
    expect(new Set(await kinds())).toEqual(new Set(told));
  });

  it.each([
    ['and asks about that where payments are known to be shown so', ['PAYMENT'], 'CREDENTIALS'],
    ['and asks nothing yet where they are not: it may be this read alone', [], undefined],
  ] as const)(
    'keeps what the general list shows where access to what it lacks is refused, %s',
    async (_, known, told) => {
      await following();
      await payroll.letsRead('INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST', ...known);
      const bank = payroll.services[0]!.app.get(BankGateway);
      const { listPayments } = bank;
      jest.spyOn(bank, 'listInstructionPayments').mockImplementation(emptyList);
      jest.spyOn(bank, 'listPayments').mockImplementation(async function* (...asked) {
        let count = 0;
        for await (const payment of listPayments.apply(bank, asked)) if ((count += 1) !== 2) yield payment;
      });
      await payroll.fault({ operation: 'getPaymentTransaction', kind: '401', every: 1 });
      await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
      await eventually(async () => {
        const settled = `SELECT FROM payment WHERE status = 'SETTLED'`;
        return (await select(payroll.database.superuserUrl, settled)).length === 2;
      }, 20_000);
      if (told) await eventually(async () => (await kinds()).includes(told), 20_000);
      else expect(await kinds()).toEqual([]);
    },
  );

  it('is asked about where each is answered, by itself, so that it cannot be used', async () => {
    await following();
    const bank = payroll.services[0]!.app.get(BankGateway);
    jest.spyOn(bank, 'listPayments').mockImplementation(emptyList);
    jest.spyOn(bank, 'listInstructionPayments').mockImplementation(emptyList);
    await payroll.fault({ operation: 'getPaymentTransaction', kind: 'garbage', every: 1 });
    await eventually(async () => (await kinds()).includes('CONTRACT_DRIFT'), 20_000);
  });

  it('the others are read no more often than they would have been where one is answered so', async () => {
    payroll = await Payroll.start({
      settings: { FOLLOW_DELAYS_MS: '600000' },
      sandbox: { stepMs: 600_000, variants: { linkReads: 'allowed', submitRuns: 'at-once' } },
    });
    const { superuserUrl } = payroll.database;
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    const bank = payroll.services[0]!.app.get(BankGateway);
    const { getPayment } = bank;
    jest.spyOn(bank, 'listPayments').mockImplementation(emptyList);
    jest.spyOn(bank, 'listInstructionPayments').mockImplementation(emptyList);
    let odd: string | undefined;
    jest.spyOn(bank, 'getPayment').mockImplementation(async (ids) => {
      odd ??= ids[0];
      if (ids[0] === odd) throw new ContractDrift(['status']);
      return getPayment.call(bank, ids);
    });
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
    await eventually(async () => {
      const wake = `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL AND NOT EXISTS
        (SELECT FROM payment WHERE status = 'SETTLED')`;
      await execute(superuserUrl, wake);
      return (await kinds()).includes('CONTRACT_DRIFT');
    }, 20_000);
    const settled = `SELECT FROM payment WHERE status = 'SETTLED'`;
    expect(await select(superuserUrl, settled)).toHaveLength(2);
    const later = `SELECT FROM lease WHERE kind = 'FOLLOW' AND holder IS NULL AND wake_at > now() + interval '5 minutes'`;
    await eventually(async () => (await select(superuserUrl, later)).length === 1, 10_000);
  });

  it('its end is seen in the general list where its own shows none once it was submitted', async () => {
    payroll = await Payroll.start({ sandbox: { variants: { linkReads: 'allowed' } } });
    const bank = payroll.services[0]!.app.get(BankGateway);
    const { listInstructionPayments } = bank;
    jest.spyOn(bank, 'listInstructionPayments').mockImplementation(async function* (...asked) {
      const isSubmitted = ((await payroll.calls()).submit ?? 0) > 0;
      if (!isSubmitted) yield* listInstructionPayments.apply(bank, asked);
    });
    await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    await payroll.restsForADay();
    expect(await kinds()).toEqual([]);
  });

  it('what comes back is seen as soon as the bank tells that something moved', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '500' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const { superuserUrl } = payroll.database;
    await payroll.letsRead('INSTRUCTION', 'INSTRUCTION_PAYMENTS');
    await payroll.fault({ operation: LISTS, kind: '404', every: 1 });
    const rows = payRows(2);
    rows[0]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SETTLED'], 20_000);
    await payroll.restsForADay();
    await payroll.bankClock(new Date(Date.now() + 10 * DAY_MS));
    await eventually(async () => {
      const wake = `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`;
      await execute(superuserUrl, wake);
      const back = await select(superuserUrl, 'SELECT FROM payment WHERE returned_at IS NOT NULL');
      return back.length === 1;
    }, 10_000);
    expect(await kinds()).toEqual(['PAYMENT_RETURNED']);
  });
});

describe('the balance after the end of a run, at a bank that shows its account no more', () => {
  it('is not read over and over where the account is gone', async () => {
    const id = await following();
    await payroll.fault({ operation: 'getAccount', kind: '404', every: 1 });
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
    await payroll.until(id, ['SETTLED'], 20_000);
    await payroll.restsForADay();
  });

  it('is read again soon for a day, and from then on once a day', async () => {
    const id = await following();
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
    await payroll.until(id, ['SETTLED'], 20_000);
    const accountReads = async () => (await payroll.calls()).getAccount ?? 0;
    const before = await accountReads();
    await eventually(async () => (await accountReads()) > before + 2, 20_000);
    await payroll.aDayLater();
  });
});

describe('the probe of an account', () => {
  it('does not overwrite what was learnt of the account while it was under way', async () => {
    payroll = await Payroll.start();
    const status = async () =>
      (await payroll.as('operator').get(payroll.path('/accounts'))).data.items[0].status;
    await payroll.fault({ operation: 'initiate', kind: 'slow-drip', every: 1, delayMs: 4 });
    const probing = payroll.as('operator').post(payroll.path(`/accounts/${payroll.account}/probe`));
    await eventually(async () => ((await payroll.calls()).initiate ?? 0) > 1, 10_000);
    await axios.post(`${payroll.bank.url}/sandbox/accounts/1002/block`);
    await execute(payroll.database.superuserUrl, `UPDATE employer_account SET bank_status = 'BLOCKED'`);
    const { data } = await probing;
    expect([data.status, await status()]).not.toContain('OPENED');
  });
});
