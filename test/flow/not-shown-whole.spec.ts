import { BankError, BankUnreachable } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { InstructionReader, ReadBack } from '../../src/submission/read-back';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(() => payroll.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const decide = async (path: string, action: string) => {
  expect((await payroll.decide(path, { action, reason: 'the bank was asked' })).status).toBe(200);
};

describe('an instruction that the bank does not show whole before its submit', () => {
  const fewer: ReadBack = { kind: 'fewer', judgement: { kind: 'fewer', matched: new Map(), missing: [1] } };
  const waits: ReadBack = { kind: 'wait', bankStatus: 'INI_STARTED' };

  /**
   * A run whose instruction is read so while it has the status; answers how to read it as it is again. `begin` does
   * what is to be done before the first such read.
   */
  async function reading(status: string, lacking: ReadBack, begin = () => payroll.paid(payFile(payRows(2)))) {
    payroll = await Payroll.start();
    const reader = payroll.services[0]!.app.get(InstructionReader);
    const { readBack } = reader;
    let reads = 0;
    let shown: ReadBack | undefined = lacking;
    jest.spyOn(reader, 'readBack').mockImplementation(async (work, rows) => {
      const read = await readBack.call(reader, work, rows);
      if (work.instruction.status !== status) return read;
      reads += 1;
      return shown ?? read;
    });
    const id = await begin();
    const readOn = () => {
      const before = reads;
      return eventually(async () => {
        await payroll.wakeAll();
        return reads > before + 1;
      }, 15_000);
    };
    await readOn();
    const shows = (other: ReadBack | undefined) => (shown = other);
    return { id, readOn, shows, asItIs: () => shows(undefined), lacksAgain: () => shows(lacking) };
  }

  const hasWaitedLong = () =>
    execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET missing_since = missing_since - interval '11 minutes' WHERE missing IS NOT NULL`,
    );

  it.each([
    ['while it is built, with too few payments', 'BUILDING', fewer],
    ['while it is built, and not INITIATED', 'BUILDING', waits],
    ['at its gate, with too few payments', 'VERIFIED', fewer],
    ['at its gate, and not INITIATED', 'VERIFIED', waits],
  ])('is asked about after ten minutes, and closes by itself: %s', async (_, status, shown) => {
    const { id, asItIs } = await reading(status, shown);
    expect(await kinds()).toEqual([]);
    await hasWaitedLong();
    await payroll.askedAbout(id, 'ROW_UNSEEN');
    asItIs();
    await payroll.untilSettled(id);
    expect(await kinds()).toEqual([]);
  });

  it.each(['BUILDING', 'VERIFIED'])(
    'is built again by two people where waiting does not help (%s)',
    async (status) => {
      const { id, asItIs } = await reading(status, waits);
      await hasWaitedLong();
      const path = await payroll.askedAbout(id, 'ROW_UNSEEN');
      expect((await payroll.as('operator').get(path)).data.actions).toEqual(['TRY_AGAIN', 'ACKNOWLEDGE']);
      await decide(path, 'TRY_AGAIN');
      asItIs();
      await payroll.untilSettled(id);
      expect((await payroll.run(id)).instructions).toMatchObject([{ attempt: 2 }]);
      expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
      expect(await kinds()).toEqual([]);
    },
  );

  it('is asked about in other words where something else is shown, and is built again on the word of the bank alone where nobody can tell', async () => {
    const { id, shows, asItIs } = await reading('BUILDING', waits);
    await hasWaitedLong();
    const first = await payroll.askedAbout(id, 'ROW_UNSEEN');
    expect((await payroll.as('operator').get(first)).data.certain).toMatch(/^Nothing of it was submitted/);
    shows({ kind: 'unclear', unknown: 'PRO_ODD' });
    await eventually(async () => (await payroll.as('operator').get(first)).data.resolvedAt !== null, 15_000);
    const path = await payroll.askedAbout(id, 'ROW_UNSEEN');
    const { data } = await payroll.as('operator').get(path);
    expect(data.happened).toMatch(/the status PRO_ODD, which no document names/);
    expect(data.certain).not.toMatch(/Nothing of it was submitted/);
    expect(data.actions).toEqual(['TRY_AGAIN']);
    const again = { action: 'TRY_AGAIN', reason: 'the bank was asked' };
    expect(await payroll.decide(path, again)).toMatchObject({ data: { code: 'EVIDENCE_REQUIRED' } });
    expect((await payroll.decide(path, { ...again, evidence: 'letter of the bank, 4711' })).status).toBe(200);
    asItIs();
    await payroll.untilSettled(id);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('is asked about anew once somebody else has submitted it and people have resumed: nothing else takes its run on', async () => {
    const { id, asItIs } = await reading('BUILDING', waits);
    await hasWaitedLong();
    const unseen = await payroll.askedAbout(id, 'ROW_UNSEEN');
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    await payroll.submitAtBank(String(bankInstructionId));
    asItIs();
    await payroll.wakeAll();
    await decide(await payroll.askedAbout(id, 'INVARIANT_BREACH'), 'RESUME');
    await eventually(async () => {
      await payroll.wakeAll();
      return (await payroll.as('operator').get(unseen)).data.resolvedAt !== null;
    }, 15_000);
    const asked = await payroll.askedAbout(id, 'ROW_UNSEEN');
    expect((await payroll.as('operator').get(asked)).data).toMatchObject({
      happened: expect.stringContaining('though it was never submitted.') as string,
      certain: expect.stringContaining('once it is amended to leave its payments out') as string,
      actions: ['ACKNOWLEDGE'],
    });
    await decide(asked, 'ACKNOWLEDGE');
    const cancelled = payroll.path(`/pay-runs/${id}/cancellation`);
    expect((await payroll.as('preparer').post(cancelled, { reason: 'paid by hand' })).status).toBeLessThan(
      300,
    );
    await payroll.until(id, ['CANCELLED'], 20_000);
    expect(await kinds()).toEqual([]);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('is asked about no more once its run is cancelled', async () => {
    const { id } = await reading('BUILDING', fewer);
    await hasWaitedLong();
    await payroll.askedAbout(id, 'ROW_UNSEEN');
    const path = payroll.path(`/pay-runs/${id}/cancellation`);
    expect((await payroll.as('preparer').post(path, { reason: 'a mistake' })).status).toBeLessThan(300);
    await payroll.until(id, ['CANCELLED'], 20_000);
    expect(await kinds()).toEqual([]);
  });

  describe('and whose run is cancelled', () => {
    const down = () => Promise.reject(new BankUnreachable('ECONNREFUSED', false));
    const unclear = () => Promise.resolve({ moved: undefined, isUnclear: true });
    const acknowledge = { action: 'ACKNOWLEDGE', reason: 'the bank was asked' };

    /** A run that is being cancelled, and whose instruction is read so. @returns how to have it read otherwise */
    async function cancelling(first: InstructionReader['submittedBefore']) {
      const { id } = await reading('BUILDING', fewer);
      const reader = payroll.services[0]!.app.get(InstructionReader);
      let answer = first;
      const read = jest.spyOn(reader, 'submittedBefore').mockImplementation((work) => answer(work));
      const path = payroll.path(`/pay-runs/${id}/cancellation`);
      expect((await payroll.as('preparer').post(path, { reason: 'a mistake' })).status).toBeLessThan(300);
      const readAgain = async () => {
        const before = read.mock.calls.length;
        await eventually(async () => {
          await payroll.wakeAll();
          return read.mock.calls.length > before + 1;
        }, 15_000);
      };
      await readAgain();
      await hasWaitedLong();
      await readAgain();
      return { id, readAgain, readsSo: (now: typeof first) => (answer = now) };
    }
    const asked = async (id: string) => {
      const path = await payroll.askedAbout(id, 'ROW_UNSEEN');
      const { happened, certain } = (await payroll.as('operator').get(path)).data;
      return { path, happened: happened as string, certain: certain as string };
    };

    it('asks whether somebody submitted it, though people acknowledged that the bank was down', async () => {
      const { id, readAgain, readsSo } = await cancelling(down);
      const outage = await asked(id);
      expect(outage.happened).toMatch(/this instruction of it cannot be read: .*ECONNREFUSED/);
      expect(outage.certain).not.toMatch(/evidence|acknowledge this/);
      await decide(outage.path, 'ACKNOWLEDGE');
      await readAgain();
      expect(await kinds()).toEqual([]);
      readsSo(unclear);
      await readAgain();
      const question = await asked(id);
      expect(question.happened).toMatch(/it shows payments of this instruction and not the instruction/);
      expect(question.certain).toMatch(/acknowledge this with the reference of its written word/);
      expect(await payroll.decide(question.path, acknowledge)).toMatchObject({
        status: 422,
        data: { code: 'EVIDENCE_REQUIRED' },
      });
      const word = { ...acknowledge, evidence: 'letter of the bank, 4711' };
      expect((await payroll.decide(question.path, word)).status).toBe(200);
      await eventually(async () => {
        await payroll.wakeAll();
        return (await payroll.run(id)).status === 'CANCELLED';
      }, 20_000);
      expect(await kinds()).toEqual([]);
    });

    it('asks nothing where it ends by itself at the next moment at which what fails is read', async () => {
      const failing = (momentsLeft: number) => () =>
        Promise.reject(Object.assign(new BankError(500, { raw: '' }), { inARow: { momentsLeft } }));
      const { id, readAgain, readsSo } = await cancelling(failing(1));
      expect(await kinds()).toEqual([]);
      readsSo(failing(2));
      await readAgain();
      expect((await asked(id)).happened).toMatch(/this instruction of it cannot be read: .*500/);
    });

    it('asks that again where it was answered without the word of the bank, and keeps it open while the bank is down', async () => {
      const { id, readAgain, readsSo } = await cancelling(unclear);
      const { path } = await asked(id);
      readsSo(down);
      await readAgain();
      expect((await asked(id)).path).toBe(path);
      await payroll.decide(path, { ...acknowledge, evidence: 'letter of the bank, 4711' });
      await execute(
        payroll.database.superuserUrl,
        `SET session_replication_role = replica; UPDATE attention_action SET evidence = NULL`,
      );
      readsSo(unclear);
      await readAgain();
      const anew = await asked(id);
      expect(anew.path).not.toBe(path);
      expect(anew.happened).toMatch(/it shows payments of this instruction and not the instruction/);
      expect((await payroll.run(id)).status).toBe('CANCELLING');
    });

    it.each(['before', 'after'])(
      'asks anew where the bank shows something else than what its word is of (%s the decision)',
      async (when) => {
        const { id, readAgain, readsSo } = await cancelling(unclear);
        const { path } = await asked(id);
        const showsAnother = () => readsSo(() => Promise.resolve({ isUnclear: true, unknown: 'PRO_ODD' }));
        const word = { ...acknowledge, evidence: 'letter of the bank, 4711' };
        if (when === 'before') {
          showsAnother();
          await readAgain();
        } else readsSo(down);
        const decision = await payroll.decide(path, word);
        showsAnother();
        await eventually(async () => {
          await payroll.wakeAll();
          const isAsked = (await payroll.attention()).some((one) => one.happened.includes('PRO_ODD'));
          return isAsked || (await payroll.run(id)).status !== 'CANCELLING';
        }, 15_000);
        expect((await payroll.run(id)).status).toBe('CANCELLING');
        expect(decision.status).toBe(when === 'before' ? 409 : 200);
        const anew = await asked(id);
        expect(anew.path).not.toBe(path);
        expect(anew.happened).toMatch(/it shows the status PRO_ODD, which no document names/);
        expect((await payroll.decide(anew.path, word)).status).toBe(200);
        await eventually(async () => {
          await payroll.wakeAll();
          return (await payroll.run(id)).status === 'CANCELLED';
        }, 20_000);
        expect(await kinds()).toEqual([]);
      },
    );
  });

  it('is not asked about before ten minutes, however long others were submitted before it', async () => {
    const { id } = await reading('VERIFIED', fewer, async () => {
      await payroll.stopPastTheGate();
      const run = await payroll.paid(payFile(payRows(2)));
      await payroll.until(run, ['SUBMITTING'], 15_000);
      await execute(
        payroll.database.superuserUrl,
        `SET session_replication_role = replica;
         UPDATE add_intent SET intended_at = intended_at - interval '11 minutes', finished_at = finished_at - interval '11 minutes';
         UPDATE lease SET woken_at = woken_at - interval '11 minutes' WHERE kind = 'INSTRUCTION'`,
      );
      await payroll.letRunsGoOn();
      return run;
    });
    expect(await kinds()).toEqual([]);
    await hasWaitedLong();
    await payroll.askedAbout(id, 'ROW_UNSEEN');
  });

  it('is asked about only after another ten minutes where it was shown in between', async () => {
    const { id, readOn, asItIs, lacksAgain } = await reading('VERIFIED', fewer);
    await hasWaitedLong();
    await payroll.askedAbout(id, 'ROW_UNSEEN');
    const bank = payroll.services[0]!.app.get(BankGateway);
    const unsent = { kind: 'no', reason: 'not-sent', why: 'a test' } as const;
    const sending = jest.spyOn(bank, 'sendSubmit').mockResolvedValue(unsent);
    asItIs();
    await eventually(async () => (await kinds()).length === 0, 15_000);
    lacksAgain();
    await readOn();
    expect(await kinds()).toEqual([]);
    await hasWaitedLong();
    await payroll.askedAbout(id, 'ROW_UNSEEN');
    sending.mockRestore();
    asItIs();
    await payroll.untilSettled(id);
    expect(await kinds()).toEqual([]);
  });

  it('is not asked about again when that was decided, and is read on', async () => {
    const { id, readOn, asItIs } = await reading('BUILDING', fewer);
    await hasWaitedLong();
    await decide(await payroll.askedAbout(id, 'ROW_UNSEEN'), 'ACKNOWLEDGE');
    await readOn();
    await readOn();
    expect(await kinds()).toEqual([]);
    asItIs();
    await payroll.untilSettled(id);
  });
});
