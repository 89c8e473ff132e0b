import type { Row } from '../../test/support/pay-rows';
import type { Stand } from './stand';
import { refusedAfterAll, type Trial } from './trial';

const reason = 'decided in the proof';

type Refuse = (stand: Stand) => Promise<unknown>;

/** The second add: the bank refuses it, or refuses it and has executed it all the same. */
const REFUSALS: Readonly<Record<string, Refuse>> = {
  'add 422': (stand) => stand.payroll.fault({ operation: 'add', kind: '422', nth: 2 }),
  'add 422 that was executed after all': async (stand) => {
    stand.proxy.meddle = refusedAfterAll('add', 422, 2);
  },
};
const SHORT = 'add 422 that was executed after all, and the row is tried again';

/** A row that the bank refuses: two people take it out, or have it tried again. */
export function refusedRowTrials(): Trial[] {
  return Object.entries(REFUSALS).flatMap(([refusal, refuse]) => [
    trialOf(`${refusal}, and the row is taken out`, async (stand, rows) => {
      const { id, asked } = await refused(stand, rows, refuse);
      await decided(stand, asked, 'EXCLUDE_PAYMENT');
      await paidWithoutIt(stand, id, rows);
      return id;
    }),
    trialOf(`${refusal}, and the row is tried again`, async (stand, rows) => {
      const { id, asked } = await refused(stand, rows, refuse);
      await decided(stand, asked, 'TRY_AGAIN');
      await stand.payroll.until(id, ['SETTLED'], 20_000);
      return id;
    }),
  ]);
}

function trialOf(fault: string, meet: Trial['meet']): Trial {
  return {
    fault,
    assumptions: 'inside',
    short: fault === SHORT,
    stand: 'plain',
    expects: ['ROW_REFUSED_BY_BANK'],
    meet,
  };
}

/** Waits for the run without the row that was taken out, approves it, and waits until it is paid. */
export async function paidWithoutIt(stand: Stand, id: string, rows: readonly Row[]): Promise<void> {
  stand.disapprove(rows);
  await stand.payroll.until(id, ['READY'], 20_000);
  const out = await excluded(stand, id);
  if (out.length !== 1) throw new Error(`${out.length} payments were taken out`);
  const left = rows.filter(({ employeeId }) => !out.includes(employeeId));
  await stand.approve(await stand.payroll.run(id), left);
  await stand.payroll.until(id, ['SETTLED'], 20_000);
}

/** Pays rows of which the bank refuses the second; answers where people are asked about it. */
async function refused(
  stand: Stand,
  rows: readonly Row[],
  refuse: Refuse,
): Promise<{ id: string; asked: string }> {
  await refuse(stand);
  const id = await stand.pay(rows);
  return { id, asked: await stand.payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK') };
}

/** @throws where two people cannot decide so */
async function decided({ payroll }: Stand, asked: string, action: string): Promise<void> {
  const { status, data } = await payroll.decide(asked, { action, reason });
  if (status !== 200) throw new Error(`${action} was refused: ${JSON.stringify(data)}`);
}

async function excluded({ payroll }: Stand, id: string): Promise<string[]> {
  const { data } = await payroll
    .as('finance')
    .get(payroll.path(`/pay-runs/${id}/payments`), { params: { status: 'EXCLUDED' } });
  return data.items.map(({ employeeId }: { employeeId: string }) => employeeId);
}
