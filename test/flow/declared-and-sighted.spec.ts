import axios from 'axios';
import type { BankPayment } from '../../src/bank/records';
import { BankReads } from '../../src/employer/bank-reads';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const WORD = { reason: 'the bank wrote so', evidence: 'letter 4711 of the bank' };

let payroll: Payroll;
afterEach(() => {
  jest.restoreAllMocks();
  return payroll.close();
});

const sql = (statement: string) => execute(payroll.database.superuserUrl, statement);
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const followNow = () => sql(`UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
const lookNow = () =>
  sql(`UPDATE lease SET wake_at = now() WHERE kind IN ('RUN', 'INSTRUCTION') AND holder IS NULL`);
const sightings = () =>
  select<{ bank_status: string }>(
    payroll.database.superuserUrl,
    'SELECT bank_status FROM moved_payment ORDER BY row_no',
  );

/** A run of which the bank ended the instruction, left its payments as before, and two people declared them not executed. */
async function declared(): Promise<{ id: string; bankInstructionId: string }> {
  payroll = await Payroll.start({
    settings: { FOLLOW_DELAYS_MS: '200,900000', FOLLOW_STEP_MS: '4000' },
    sandbox: {
      variants: {
        submitWaitsFor: 'strong-authentication',
        refusalEnds: 'itself',
        linkReads: 'allowed',
        omitFromLists: [],
      },
    },
  });
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.askedAbout(id, 'BANK_ACTION_REQUIRED');
  for (const one of (await payroll.ledger()).instructions)
    await axios
      .post(`${payroll.bank.url}/sandbox/instructions/${one.id}/refuse`)
      .catch((error: unknown) => axios.isAxiosError(error) || Promise.reject(error as Error));
  const path = await payroll.askedAbout(id, 'ENDED_BY_BANK');
  await payroll.letRest('FOLLOW');
  expect((await payroll.decide(path, { ...WORD, action: 'NOT_EXECUTED' })).status).toBe(200);
  await followNow();
  await payroll.until(id, ['FAILED'], 15_000);
  await payroll.letRest('FOLLOW');
  const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
  return { id, bankInstructionId: String(bankInstructionId) };
}

/** From now on the payments of an instruction are shown so, to whoever reads them to decide; as they are while undefined. */
function showsPayments(of: string) {
  const reads = payroll.services[0]!.app.get(BankReads);
  const { read } = reads;
  const shown: { as?: string; iban?: string; looks: number } = { looks: 0 };
  jest.spyOn(reads, 'read').mockImplementation(async (account, asked) => {
    const all = await read.call(reads, account, asked);
    if (String(asked.bankInstructionId) !== of || asked.isOnlyFollowed) return all;
    shown.looks += 1;
    return {
      ...all,
      found: all.found.map((one): BankPayment =>
        shown.as === undefined || (shown.iban !== undefined && shown.iban !== one.iban?.replaceAll(' ', ''))
          ? one
          : { ...one, status: shown.as },
      ),
    };
  });
  return shown;
}

/** The same of the instruction itself. */
function showsInstruction(of: string, status: string): void {
  const reads = payroll.services[0]!.app.get(BankReads);
  const { instruction } = reads;
  jest.spyOn(reads, 'instruction').mockImplementation(async (account, asked, ...more) => {
    const shown = await instruction.call(reads, account, asked, ...more);
    return shown && String(asked) === of ? { ...shown, status } : shown;
  });
}

describe('what was declared not executed, and a look before it is paid again showed on its way', () => {
  it('is not paid again though it is shown as before its submit since, unless people have the word of the bank anew', async () => {
    const { id, bankInstructionId } = await declared();
    const shown = showsPayments(bankInstructionId);
    shown.as = 'EXCHANGED';
    const refused = await payroll.successorOf(id);
    expect([refused.status, refused.data.code]).toEqual([409, 'REPLACED_PAYMENT_MOVED']);
    expect(await sightings()).toEqual([{ bank_status: 'EXCHANGED' }, { bank_status: 'EXCHANGED' }]);
    shown.as = undefined;
    const again = await payroll.successorOf(id);
    expect([again.status, again.data.code]).toEqual([503, 'BANK_UNREADABLE']);
    const asked = await payroll.askedAbout(id, 'REPLACED_UNSEEN');
    const word = await payroll.decide(asked, { ...WORD, action: 'NOT_PAID' });
    expect([word.status, word.data.code]).toEqual([200, undefined]);
    expect((await payroll.successorOf(id)).status).toBe(201);
  });

  it('hinders nobody else of its run, who is paid by a successor that names them', async () => {
    const { id, bankInstructionId } = await declared();
    const shown = showsPayments(bankInstructionId);
    shown.iban = payRows(1)[0]!.iban;
    shown.as = 'EXCHANGED';
    const moved = await payroll.successorOf(id);
    expect([moved.status, moved.data.code]).toEqual([409, 'REPLACED_PAYMENT_MOVED']);
    shown.as = undefined;
    const { data } = await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/payments`));
    const [first, second] = data.items.map((one: { id: string }) => one.id);
    const refused = await payroll.successorOf(id);
    expect([refused.status, refused.data.code]).toEqual([503, 'BANK_UNREADABLE']);
    expect(refused.data.payments).toEqual([first]);
    expect(refused.data.detail).toContain('The others are paid by a successor that names them.');
    const made = await payroll.successorOf(id, [second]);
    expect([made.status, made.data.total]).toEqual([201, payRows(2)[1]!.amount]);
  });

  it('is not paid again by a run that people resumed either, before that word', async () => {
    const { id, bankInstructionId } = await declared();
    const made = await payroll.successorOf(id);
    expect(made.status).toBe(201);
    await payroll.stopPastTheGate();
    await payroll.approve(made.data);
    await payroll.until(made.data.id, ['SUBMITTING'], 20_000);
    const shown = showsPayments(bankInstructionId);
    shown.as = 'EXCHANGED';
    await payroll.letRunsGoOn();
    const moved = await payroll.askedAbout(made.data.id, 'REPLACED_PAYMENT_MOVED');
    shown.as = undefined;
    const before = shown.looks;
    expect((await payroll.decide(moved, { action: 'RESUME', reason: 'as it was' })).status).toBe(200);
    await eventually(async () => {
      await lookNow();
      return shown.looks > before + 2;
    }, 20_000);
    expect((await payroll.calls()).submit).toBe(1);
    await sql(
      `UPDATE lease SET missing_since = missing_since - interval '11 minutes' WHERE missing IS NOT NULL`,
    );
    await eventually(async () => {
      await lookNow();
      return (await kinds()).includes('REPLACED_UNSEEN');
    }, 20_000);
    const asked = await payroll.askedAbout(made.data.id, 'REPLACED_UNSEEN');
    expect((await payroll.decide(asked, { ...WORD, action: 'NOT_PAID' })).status).toBe(200);
    await eventually(async () => {
      await lookNow();
      return (await payroll.calls()).submit === 2;
    }, 20_000);
  });
});

describe('what was declared not executed, and whose instruction the bank shows as settled', () => {
  it('is not paid again, also by who asks for it once that is shown no more', async () => {
    const { id, bankInstructionId } = await declared();
    showsInstruction(bankInstructionId, 'SETTLED');
    const refused = await payroll.successorOf(id);
    expect([refused.status, refused.data.code]).toEqual([409, 'REPLACED_PAYMENT_MOVED']);
    expect(await sightings()).toEqual([{ bank_status: 'SETTLED' }, { bank_status: 'SETTLED' }]);
    jest.restoreAllMocks();
    const again = await payroll.successorOf(id);
    expect([again.status, again.data.code]).toEqual([409, 'NOTHING_TO_REPLACE']);
    expect(again.data.payments[0].code).toBe('PAYMENT_CONTRADICTED');
  });

  it.each(['EXCHANGED', 'SETTLED'])(
    'is kept by who follows it as %s, and stops what was to pay it again',
    async (status) => {
      const { id, bankInstructionId } = await declared();
      const made = await payroll.successorOf(id);
      expect(made.status).toBe(201);
      await payroll.stopPastTheGate();
      await payroll.approve(made.data);
      await payroll.until(made.data.id, ['SUBMITTING'], 20_000);
      showsInstruction(bankInstructionId, status);
      await eventually(async () => {
        // What has ended is itself read once a day.
        await sql(`UPDATE instruction SET totals_checked_at = totals_checked_at - interval '2 days'`);
        await followNow();
        return (await sightings()).length === 2;
      }, 20_000);
      jest.restoreAllMocks();
      await payroll.askedAbout(made.data.id, 'REPLACED_PAYMENT_MOVED');
      expect((await payroll.run(made.data.id)).stopped).not.toBeNull();
      expect((await kinds()).includes('CONTRADICTION')).toBe(status === 'SETTLED');
      expect((await payroll.calls()).submit).toBe(1);
    },
  );
});
