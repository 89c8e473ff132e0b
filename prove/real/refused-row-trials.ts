import type { Row } from '../../test/support/pay-rows';
import type { Stand } from './stand';
import type { Trial } from './trial';

const reason = 'decided in the proof';

/** A row that the bank refuses: two people take it out, or have it tried again. */
export function refusedRowTrials(): Trial[] {
  const base = {
    assumptions: 'inside',
    short: false,
    stand: 'plain',
    expects: ['ROW_REFUSED_BY_BANK'],
  } as const;
  return [
    {
      ...base,
      fault: 'add 422, and the row is taken out',
      meet: async (stand, rows) => {
        const { id, asked } = await refused(stand, rows);
        await decided(stand, asked, 'EXCLUDE_PAYMENT');
        await paidWithoutIt(stand, id, rows);
        return id;
      },
    },
    {
      ...base,
      fault: 'add 422, and the row is tried again',
      meet: async (stand, rows) => {
        const { id, asked } = await refused(stand, rows);
        await decided(stand, asked, 'TRY_AGAIN');
        await stand.payroll.until(id, ['SETTLED'], 20_000);
        return id;
      },
    },
  ];
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
async function refused(stand: Stand, rows: readonly Row[]): Promise<{ id: string; asked: string }> {
  await stand.payroll.fault({ operation: 'add', kind: '422', nth: 2 });
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
