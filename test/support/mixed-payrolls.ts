import { BankGateway } from '../../src/bank/gateway';
import { nextPeriod, periodOf } from '../../src/domain/business-day';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { payFile, payRows, Row } from './pay-rows';
import { eventually } from './eventually';
import { MovedClock, Payroll, PayrollOptions } from './payroll';

/** The ends a run can come to, as they are named by `mixedPayrolls`. */
export const MIXED = [
  'settled',
  'partlySettled',
  'rebuilt',
  'cancelled',
  'amended',
  'unknown',
  'voided',
  'secondMonth',
  'released',
  'ready',
  'approved',
] as const;
export type Mixed = Record<(typeof MIXED)[number], string>;

const ENDS = ['SETTLED', 'PARTLY_SETTLED', 'FAILED'];
const magic = (effect: string) => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban;

/** A payroll at ten in the morning of a day with a cut-off at four, as `mixedPayrolls` needs it. */
export async function startMixedPayroll(settings: PayrollOptions['settings'] = {}): Promise<Payroll> {
  const clock = new MovedClock();
  const payroll = await Payroll.start({
    clock,
    rowsPerInstruction: 3,
    settings: { BANK_CUT_OFF: '16:00', BANK_TIMEOUT_MS: '1000', SUBMIT_DOUBT_MS: '400', ...settings },
    sandbox: { variants: { linkReads: 'allowed' } },
  });
  return payroll;
}

/** One run to each end, each of other people but the second month. Answers their ids. */
export async function mixedPayrolls(payroll: Payroll): Promise<Mixed> {
  const date = payroll.executionDate();
  const at = (time: string) => new Date(`${date}T${time}Z`);
  payroll.clock.set(at('10:00:00'));
  const due = { executionDate: date, submitAt: at('10:00:00').toISOString() };
  const later = { executionDate: date, submitAt: at('15:00:00').toISOString() };
  let next = 1;
  const people = (count: number): Row[] => {
    const rows = payRows(count, next);
    next += count;
    return rows;
  };
  const ended = async (rows: Row[], query: Record<string, string> = due) => {
    const id = await payroll.paid(payFile(rows), query);
    await payroll.until(id, ENDS);
    return id;
  };

  const first = people(7);
  const settled = await ended(first);
  const failing = people(5);
  failing[1]!.iban = magic('routingFails');
  const partlySettled = await ended(failing);
  await payroll.fault({ operation: 'add', kind: 'request-lost', nth: 2 });
  const rebuilt = await ended(people(4));
  // With the same pay on the same day it would be held.
  const raised = first.map((row) => ({ ...row, amount: row.amount.replace(/..$/, '99') }));
  const secondMonth = await ended(raised, { ...due, period: nextPeriod(periodOf(date)) });
  const cancelled = await cancelledWhileBuilt(payroll, people(40), due);
  const amended = await amendedAfterRefusal(payroll, people(5), due);
  const unknown = (await parked(payroll, people(3), due)).id;
  const voided = await buried(payroll, people(3), due);
  const ready = (await payroll.uploaded(payFile(people(4)), later)).id;
  const released = await releasedAtCutOff(payroll, people(36), due, at('16:00:01'));
  payroll.clock.set(at('10:00:00'));
  const approved = await payroll.paid(payFile(people(4)), later);
  return {
    settled,
    partlySettled,
    rebuilt,
    cancelled,
    amended,
    unknown,
    voided,
    secondMonth,
    released,
    ready,
    approved,
  };
}

type Query = Record<string, string>;

async function cancelledWhileBuilt(payroll: Payroll, rows: Row[], query: Query): Promise<string> {
  await payroll.fault({ operation: 'add', kind: 'slow-drip', every: 3, delayMs: 100 });
  const id = await payroll.paid(payFile(rows), query);
  await payroll.until(id, ['BUILDING']);
  await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), { reason: 'wrong file' });
  await payroll.until(id, ['CANCELLED']);
  await payroll.clearFaults();
  return id;
}

async function amendedAfterRefusal(payroll: Payroll, rows: Row[], query: Query): Promise<string> {
  rows[3]!.iban = magic('refusedAtAdd');
  const id = await payroll.paid(payFile(rows), query);
  await decide(payroll, await asked(payroll, id, 'ROW_REFUSED_BY_BANK'), 'EXCLUDE_PAYMENT');
  await payroll.until(id, ['READY']);
  await payroll.approve(await payroll.run(id));
  await payroll.until(id, ENDS);
  return id;
}

async function parked(payroll: Payroll, rows: Row[], query: Query): Promise<{ id: string; asks: string }> {
  await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
  const id = await payroll.paid(payFile(rows), query);
  return { id, asks: await asked(payroll, id, 'SUBMIT_UNKNOWN') };
}

async function buried(payroll: Payroll, rows: Row[], query: Query): Promise<string> {
  const { id, asks } = await parked(payroll, rows, query);
  await decide(payroll, asks, 'NOT_EXECUTED');
  await payroll.until(id, ENDS);
  return id;
}

async function releasedAtCutOff(payroll: Payroll, rows: Row[], query: Query, after: Date): Promise<string> {
  await payroll.fault({ operation: 'submit', kind: 'slow-drip', every: 1, delayMs: 30 });
  // Before its place is free: what has none by then is left, however slow the machine.
  const sent = onceSubmitted(payroll, () => payroll.clock.set(after));
  const id = await payroll.paid(payFile(rows), query);
  await payroll.until(id, ENDS);
  for (const spy of sent) spy.mockRestore();
  await payroll.clearFaults();
  return id;
}

/** Does something as soon as the first submit from now on has left and its outcome is known, whoever sent it. */
function onceSubmitted({ services }: Payroll, does: () => void): jest.SpyInstance[] {
  let isFirst = true;
  return services.map(({ app }) => {
    const gateway = app.get(BankGateway);
    const { sendSubmit } = gateway;
    return jest.spyOn(gateway, 'sendSubmit').mockImplementation(async (...prepared) => {
      const outcome = await sendSubmit.apply(gateway, prepared);
      if (isFirst && outcome.kind !== 'no') {
        isFirst = false;
        does();
      }
      return outcome;
    });
  });
}

async function asked(payroll: Payroll, payRunId: string, kind: string): Promise<string> {
  let id: string | undefined;
  await eventually(async () => {
    id = (await payroll.attention()).find((one) => one.payRunId === payRunId && one.kind === kind)?.id;
    return id !== undefined;
  }, 20_000);
  return id!;
}

async function decide(payroll: Payroll, attentionId: string, action: string): Promise<void> {
  const word = { action, reason: 'the bank said so on the telephone' };
  const confirmed = await payroll.decide(payroll.path(`/attention/${attentionId}`), word);
  if (confirmed.status !== 200) throw new Error(`not confirmed: ${JSON.stringify(confirmed.data)}`);
}
