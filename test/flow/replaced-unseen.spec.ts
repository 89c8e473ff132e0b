import { NotAllowed, NotFound } from '../../src/bank/errors';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { BankReads } from '../../src/employer/bank-reads';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const FAILS = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;

let payroll: Payroll;
afterEach(() => payroll.close());

const sql = (statement: string) => execute(payroll.database.superuserUrl, statement);
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const lookNow = () =>
  sql(`UPDATE lease SET wake_at = now() WHERE kind IN ('RUN', 'INSTRUCTION') AND holder IS NULL`);
const hasWaitedLong = () =>
  sql(`UPDATE lease SET missing_since = missing_since - interval '11 minutes' WHERE missing IS NOT NULL`);

/** What the bank does with a question about an instruction that it does not show any more. */
const hidden: Record<string, () => never[]> = {
  'left out of the list': () => [],
  'not allowed': () => {
    throw new NotAllowed(403, { raw: '' });
  },
  'not found': () => {
    throw new NotFound(404, { raw: '' });
  },
};

/** A run whose one payment failed, its successor, and how to hide what that replaces. */
async function successor() {
  payroll = await Payroll.start({ settings: { FOLLOW_DELAYS_MS: '600000' } });
  const parent = await payroll.paid(payFile(payRows(1).map((row) => ({ ...row, iban: FAILS }))));
  const followNow = () => sql(`UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`);
  await eventually(async () => {
    await followNow();
    return (await payroll.run(parent)).status === 'FAILED';
  }, 20_000);
  const made = await payroll.successorOf(parent);
  expect(made.status).toBe(201);
  // Only the looks before a repay are to meet what is hidden.
  await payroll.letRest('FOLLOW');
  const [{ bankInstructionId: replaced }] = (await payroll.run(parent)).instructions;
  const reads = payroll.services[0]!.app.get(BankReads);
  const { read } = reads;
  let looks = 0;
  let hide: (() => never[]) | undefined;
  let shownAs: string | undefined;
  jest.spyOn(reads, 'read').mockImplementation(async (account, instruction) => {
    const shown = await read.call(reads, account, instruction);
    if (instruction.bankInstructionId !== replaced) return shown;
    if (hide !== undefined) {
      looks += 1;
      return { found: hide() };
    }
    return { ...shown, found: shown.found.map((one) => ({ ...one, status: shownAs ?? one.status })) };
  });
  return {
    run: made.data as { id: string; rootHash: string; total: string },
    replaced: String(replaced),
    hide: (how: () => never[]) => (hide = how),
    show: (status?: string) => {
      hide = undefined;
      shownAs = status;
    },
    /** Until it was looked at so often more, and so what followed from the last look but one is written down. */
    lookAgain: () => {
      const before = looks;
      return eventually(async () => {
        await lookNow();
        return looks > before + 2;
      }, 20_000);
    },
  };
}

/** Until it is submitted; the bank may have shown its end before anybody looked. */
const sent = (id: string) => {
  let seen = '';
  return eventually(
    async () => {
      await lookNow();
      const { status, stopped, instructions } = await payroll.run(id);
      seen = JSON.stringify({ status, stopped, instructions, questions: await kinds() });
      return ['FOLLOWING', 'SETTLED', 'FAILED'].includes(status);
    },
    20_000,
    () => `it was not sent: ${seen}`,
  );
};

const asked = async (id: string) => {
  await eventually(async () => {
    await lookNow();
    return (await kinds()).includes('REPLACED_UNSEEN');
  }, 20_000);
  return payroll.askedAbout(id, 'REPLACED_UNSEEN');
};

describe('a run that pays again what the bank does not show now', () => {
  it.each(Object.keys(hidden))(
    'is asked about after ten minutes at its gate, and goes on: %s',
    async (how) => {
      const { run, replaced, hide, show, lookAgain } = await successor();
      hide(hidden[how]!);
      await payroll.approve(run);
      await lookAgain();
      expect(await kinds()).toEqual([]);
      expect((await payroll.run(run.id)).status).toBe('VERIFIED');
      await hasWaitedLong();
      const question = (await payroll.as('operator').get(await asked(run.id))).data;
      expect(question.askBank).toContain(replaced);
      show();
      await sent(run.id);
      expect(await kinds()).toEqual([]);
    },
  );

  it.each(Object.keys(hidden))('is asked about after ten minutes before its submit too: %s', async (how) => {
    const { run, replaced, hide, show, lookAgain } = await successor();
    await payroll.stopPastTheGate();
    await payroll.approve(run);
    await payroll.until(run.id, ['SUBMITTING'], 15_000);
    hide(hidden[how]!);
    await payroll.letRunsGoOn();
    await lookAgain();
    expect(await kinds()).toEqual([]);
    await hasWaitedLong();
    const question = (await payroll.as('operator').get(await asked(run.id))).data;
    expect(question.askBank).toContain(replaced);
    show();
    await sent(run.id);
    expect(await kinds()).toEqual([]);
  });

  it('waits for the word of the bank, or for what it shows: that it is known does not close the question', async () => {
    const { run, hide, show, lookAgain } = await successor();
    hide(hidden['left out of the list']!);
    await payroll.approve(run);
    await lookAgain();
    await hasWaitedLong();
    const known = { action: 'ACKNOWLEDGE', reason: 'the bank was asked' };
    const refused = await payroll.decide(await asked(run.id), known);
    expect([refused.status, refused.data.code]).toEqual([409, 'ACTION_NOT_OFFERED']);
    show();
    await sent(run.id);
    expect(await kinds()).toEqual([]);
  });

  const letter = async (path: string) => {
    const body = { action: 'NOT_PAID', reason: 'the bank wrote so', evidence: 'letter 4712 of the bank' };
    return payroll.decide(path, body);
  };

  it.each(Object.keys(hidden))('is sent on the word of the bank in writing: %s', async (how) => {
    const { run, hide, lookAgain } = await successor();
    hide(hidden[how]!);
    await payroll.approve(run);
    await lookAgain();
    await hasWaitedLong();
    const path = await asked(run.id);
    const bare = { action: 'NOT_PAID', reason: 'nobody wrote' };
    expect((await payroll.as('operator').post(`${path}/actions`, bare)).data.code).toBe('EVIDENCE_REQUIRED');
    expect((await letter(path)).status).toBe(200);
    await sent(run.id);
    expect(await kinds()).toEqual([]);
  });

  it('is stopped, and that word is not taken, where the bank shows by then that it was paid', async () => {
    const { run, hide, show, lookAgain } = await successor();
    hide(hidden['left out of the list']!);
    await payroll.approve(run);
    await lookAgain();
    await hasWaitedLong();
    const path = await asked(run.id);
    await payroll.letRest('RUN', 'INSTRUCTION');
    show('SETTLED');
    const moved = await letter(path);
    expect([moved.status, moved.data.code]).toEqual([409, 'REPLACED_PAYMENT_MOVED']);
    expect((await payroll.run(run.id)).stopped).toMatchObject({ reason: 'REPLACED_PAYMENT_MOVED' });
  });

  it('is stopped where the bank shows that it was paid after that word was taken', async () => {
    const { run, hide, show, lookAgain } = await successor();
    await payroll.stopPastTheGate();
    hide(hidden['left out of the list']!);
    await payroll.approve(run);
    await lookAgain();
    await hasWaitedLong();
    expect((await letter(await asked(run.id))).status).toBe(200);
    await payroll.until(run.id, ['SUBMITTING'], 20_000);
    show('SETTLED');
    await payroll.letRunsGoOn();
    await payroll.askedAbout(run.id, 'REPLACED_PAYMENT_MOVED');
    expect((await payroll.ledger()).payees).toEqual([]);
  });

  it('is made as a successor only once the bank’s word is there, and the same question asks for that', async () => {
    const { run, hide } = await successor();
    const cancel = payroll.path(`/pay-runs/${run.id}/cancellation`);
    expect((await payroll.as('preparer').post(cancel, { reason: 'another' })).status).toBeLessThan(300);
    const parent = (await payroll.run(run.id)).parentRunId as string;
    const again = () => payroll.successorOf(parent);
    hide(hidden['left out of the list']!);
    const refused = await again();
    expect([refused.status, refused.data.code]).toEqual([503, 'BANK_UNREADABLE']);
    expect((await letter(await payroll.askedAbout(parent, 'REPLACED_UNSEEN'))).status).toBe(200);
    const made = await again();
    expect(made.status).toBe(201);
    await payroll.approve(made.data);
    await sent(made.data.id);
    expect(await kinds()).toEqual([]);
  });

  /** A look before its submit shows what it replaces so, once; then two people let it go on. */
  const sightedAs = async (
    { run, hide, show, lookAgain }: Awaited<ReturnType<typeof successor>>,
    status: string,
    { byWord, then }: { byWord: boolean; then: 'hidden' | 'as it ended' },
  ) => {
    await payroll.stopPastTheGate();
    if (byWord) {
      hide(hidden['left out of the list']!);
      await payroll.approve(run);
      await lookAgain();
      await hasWaitedLong();
      expect((await letter(await asked(run.id))).status).toBe(200);
    } else await payroll.approve(run);
    await payroll.until(run.id, ['SUBMITTING'], 20_000);
    show(status);
    await payroll.letRunsGoOn();
    const moved = await payroll.askedAbout(run.id, 'REPLACED_PAYMENT_MOVED');
    if (then === 'hidden') hide(hidden['left out of the list']!);
    else show();
    const goOn = { action: 'RESUME', reason: 'the bank shows it no more' };
    expect((await payroll.decide(moved, goOn)).status).toBe(200);
  };

  it('is sent on the word of the bank only where that came after it was last shown to have moved', async () => {
    const made = await successor();
    await sightedAs(made, 'EXCHANGED', { byWord: true, then: 'hidden' });
    await made.lookAgain();
    await hasWaitedLong();
    const anew = await asked(made.run.id);
    expect((await payroll.ledger()).payees).toEqual([]);
    expect((await letter(anew)).status).toBe(200);
    await sent(made.run.id);
  });

  it.each([
    { byWord: true, then: 'hidden' as const },
    { byWord: false, then: 'as it ended' as const },
  ])('is never sent once it was shown as paid, whatever is shown since: %o', async (shown) => {
    const made = await successor();
    await sightedAs(made, 'SETTLED', shown);
    if (shown.then === 'hidden') await made.lookAgain();
    await hasWaitedLong();
    const question = shown.then === 'hidden' ? 'REPLACED_UNSEEN' : 'POSSIBLE_DUPLICATE_PAY';
    await eventually(async () => {
      await lookNow();
      return (await kinds()).includes(question);
    }, 20_000);
    if (shown.then === 'hidden') {
      expect((await letter(await asked(made.run.id))).status).toBe(200);
      await payroll.askedAbout(made.run.id, 'POSSIBLE_DUPLICATE_PAY');
    }
    expect(await kinds()).toContain('CONTRADICTION');
    expect((await payroll.ledger()).payees).toEqual([]);
  });

  it('is made by no request after one that showed as paid what it would replace', async () => {
    const { run, hide, show } = await successor();
    const cancel = payroll.path(`/pay-runs/${run.id}/cancellation`);
    expect((await payroll.as('preparer').post(cancel, { reason: 'another' })).status).toBeLessThan(300);
    const parent = (await payroll.run(run.id)).parentRunId as string;
    hide(hidden['left out of the list']!);
    expect((await payroll.successorOf(parent)).status).toBe(503);
    expect((await letter(await payroll.askedAbout(parent, 'REPLACED_UNSEEN'))).status).toBe(200);
    show('SETTLED');
    expect((await payroll.successorOf(parent)).data.code).toBe('REPLACED_PAYMENT_MOVED');
    hide(hidden['left out of the list']!);
    const refused = await payroll.successorOf(parent);
    expect([refused.status, refused.data.code]).toEqual([409, 'NOTHING_TO_REPLACE']);
    expect(refused.data.payments).toEqual([expect.objectContaining({ code: 'PAYMENT_CONTRADICTED' })]);
  });

  it('is not asked about any more once it is cancelled', async () => {
    const { run, hide, lookAgain } = await successor();
    hide(hidden['left out of the list']!);
    await payroll.approve(run);
    await lookAgain();
    await hasWaitedLong();
    await asked(run.id);
    const path = payroll.path(`/pay-runs/${run.id}/cancellation`);
    expect((await payroll.as('preparer').post(path, { reason: 'paid by hand' })).status).toBeLessThan(300);
    await eventually(async () => {
      await lookNow();
      return (await payroll.run(run.id)).status === 'CANCELLED';
    }, 20_000);
    expect(await kinds()).toEqual([]);
  });
});
