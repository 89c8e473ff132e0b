import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { Variants } from '../../src/bank-sandbox/variants';
import { addBankingDays } from '../../src/domain/business-day';
import { execute, select } from '../support/database';
import { payFile, payRows, Row } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const DAY_MS = 86_400_000;
/** Longer than what ended is watched. */
const BANKING_DAYS_AHEAD = 40;
const RETURNS = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!.iban;

let payroll: Payroll;
afterEach(() => payroll.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const sql = (statement: string) => execute(payroll.database.superuserUrl, statement);
/** Reads what is due within a day, as if that had passed. */
const aDayOn = () =>
  sql(
    `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL AND wake_at < now() + interval '25 hours'`,
  );
const moveClocks = async (instant: Date) => {
  payroll.clock.set(instant);
  await payroll.bankClock(instant);
};

/** A run that was submitted at once and is executed long after. */
async function executedLongAfter(rows: readonly Row[], variants: Partial<Variants> = {}): Promise<string> {
  payroll = await Payroll.start({ sandbox: { variants } });
  if (variants.secondSubmit === 'executed')
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 1 });
  const executionDate = addBankingDays(payroll.executionDate(), BANKING_DAYS_AHEAD, new Set());
  const id = await payroll.paid(payFile(rows), { executionDate, period: executionDate.slice(0, 7) });
  await payroll.until(id, ['FOLLOWING'], 20_000);
  await moveClocks(new Date(`${executionDate}T10:00:00Z`));
  await payroll.until(id, ['SETTLED'], 20_000);
  return id;
}

describe('a run that is executed long after its submit', () => {
  it('is watched from its end: a payment that comes back is seen', async () => {
    const id = await executedLongAfter([{ ...payRows(1)[0]!, iban: RETURNS }, ...payRows(2, 2)]);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await moveClocks(new Date(payroll.clock.now().getTime() + 3 * DAY_MS));
    await eventually(async () => {
      await aDayOn();
      const { data } = await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/payments?limit=100`));
      return (data.items as { returnedAt: string | null }[]).filter((one) => one.returnedAt).length === 1;
    }, 15_000);
    await eventually(async () => (await kinds()).length > 0, 15_000);
    expect(await kinds()).toEqual(['PAYMENT_RETURNED']);
  });

  it('is looked at for a second submit that the bank executed too', async () => {
    await executedLongAfter(payRows(3), { secondSubmit: 'executed', submitRuns: 'at-once' });
    await eventually(async () => (await kinds()).includes('TOTAL_MISMATCH_AFTER_SUBMIT'), 15_000);
  });
});

describe('a submit that is declared not executed long after', () => {
  it('is watched from then on', async () => {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '400' } });
    const { id, path } = await payroll.parked(payRows(2));
    await sql(`UPDATE instruction SET created_at = created_at - interval '40 days'`);
    const body = { action: 'NOT_EXECUTED', reason: 'the bank has confirmed it', evidence: 'letter 4711' };
    expect((await payroll.decide(path, body)).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    const watch = (due: string) =>
      select(
        payroll.database.superuserUrl,
        `SELECT FROM lease l JOIN instruction i ON i.id = l.subject_id WHERE l.kind = 'FOLLOW' AND ${due}`,
      );
    await eventually(
      async () => (await watch(`holder IS NULL AND wake_at > now() + interval '1 hour'`)).length === 1,
      15_000,
    );
    expect(await watch(`wake_at < 'infinity'`)).toHaveLength(1);
  });
});
