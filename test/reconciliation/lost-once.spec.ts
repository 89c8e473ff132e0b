import { parse } from 'csv-parse/sync';
import { PaidByInstruction, paidAgain, TakenAgain } from '../../src/domain/balance';
import { accountLostAgain } from '../../src/pay-run/lost-again';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { Company, pathOf, PayOffice } from '../pay-run/pay-office';
import { mixedRun } from './mixed-run';

let office: PayOffice;
let company: Company;
beforeAll(async () => {
  office = await PayOffice.open();
});
afterAll(() => office?.close());
beforeEach(async () => {
  company = await office.company({ rowsPerInstruction: 2 });
});

const MONTH = '2026-11';

/** A run of one instruction that was paid, and what that took. */
async function paidRun(cents: number): Promise<{ run: PayRun; took: PaidByInstruction }> {
  const run = await mixedRun(office, company, {
    rows: [{ cents, held: false, fate: 'SETTLED' }],
    ...{ stage: 'FOLLOWING', submits: [], rebuilt: false, excluded: false },
  });
  const [one] = await office.query<{ id: string }>(
    company,
    'SELECT id FROM instruction WHERE pay_run_id = $1',
    [run.id],
  );
  const nothing = { returnedMinor: 0n, unpaidMinor: 0n, unpaidChargesMinor: 0n, voidMinor: 0n };
  const amounts = { payments: 1, amountMinor: BigInt(cents), chargesMinor: 0n };
  return { run, took: { payRunId: run.id, instructionId: one!.id, ...amounts, ...nothing } };
}

/** What a look at the balance tells of runs, whose account lost so much besides what they took. */
async function lost(runs: readonly { took: PaidByInstruction }[], minor: bigint): Promise<void> {
  const paid = runs.map(({ took }) => took);
  const took = paid.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const again = paidAgain(paid, took + minor) as readonly TakenAgain[];
  await office.in(company, (tx) => accountLostAgain(tx, again));
}

/** Two people let go on what is open, of all runs or of some. */
const decide = (...runs: { run: PayRun }[]) =>
  office.in(company, (tx) =>
    tx.query(
      `WITH open AS (UPDATE attention SET resolved_at = now(), resolution = 'seen'
         WHERE employer_id = $1 AND resolved_at IS NULL AND (cardinality($4::uuid[]) = 0 OR pay_run_id = ANY ($4)) RETURNING employer_id, id)
       INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
       SELECT employer_id, gen_random_uuid(), id, 'RESUME', 'the bank took it back', $2, $3, clock_timestamp() FROM open`,
      [
        ...[company.employerId, company.operator.personId, company.approver.personId],
        runs.map(({ run }) => run.id),
      ],
    ),
  );

/** What a month tells beyond what was approved: each, and its total as CSV, which its runs add up to. */
async function beyond(period = MONTH): Promise<{ listed: string[]; total: string }> {
  const finance = office.as(company, 'finance');
  const { body } = await finance.get(`/reconciliation?period=${period}`).expect(200);
  const { text } = await finance.get(`/reconciliation?period=${period}&format=csv`).expect(200);
  const lines: Record<string, string>[] = parse(text, { columns: true });
  const cents = (line: Record<string, string>) => Math.round(Number(line.beyond_amount) * 100);
  const total = lines.at(-1)!;
  expect(lines.slice(0, -1).reduce((sum, line) => sum + cents(line), 0)).toBe(cents(total));
  const listed = (body.acknowledged as { kind: string; amount: string }[]).map(({ amount }) => amount);
  return { listed: listed.sort(), total: `${total.beyond_payments} ${total.beyond_amount}` };
}

const ofRun = async ({ run }: { run: PayRun }) => {
  const { body } = await office.as(company, 'finance').get(pathOf(run, '/reconciliation')).expect(200);
  return (body.acknowledged as { amount: string }[]).map(({ amount }) => amount);
};

describe('what an account lost, and may be of any of several runs', () => {
  it('counts once in a month, and is told of each of these runs by itself', async () => {
    const both = [await paidRun(10_000), await paidRun(10_000)];
    await lost(both, 10_000n);
    await decide();
    expect(await beyond()).toEqual({ listed: ['100.00'], total: '1 100.00' });
    expect([await ofRun(both[0]!), await ofRun(both[1]!)]).toEqual([['100.00'], ['100.00']]);
  });

  it('counts as soon as people have decided it of one of these runs', async () => {
    const [one, other] = [await paidRun(10_000), await paidRun(10_000)];
    await lost([one, other], 10_000n);
    await decide(other);
    expect(await beyond()).toEqual({ listed: ['100.00'], total: '1 100.00' });
    await decide(one);
    expect(await beyond()).toEqual({ listed: ['100.00'], total: '1 100.00' });
  });

  it('counts in the month of each of them, where these are different ones', async () => {
    const [one, other] = [await paidRun(10_000), await paidRun(10_000)];
    await office.tamper(`UPDATE pay_run SET period = '2026-12' WHERE id = '${other.run.id}'`);
    await lost([one, other], 10_000n);
    await decide();
    const once = { listed: ['100.00'], total: '1 100.00' };
    expect([await beyond(), await beyond('2026-12')]).toEqual([once, once]);
  });

  it('counts as what was lost in the end where more is lost', async () => {
    const both = [await paidRun(10_000), await paidRun(10_000)];
    await lost(both, 10_000n);
    await decide(both[0]!);
    await lost(both, 30_000n);
    await decide();
    expect(await beyond()).toEqual({ listed: ['300.00'], total: '3 300.00' });
  });

  it('counts all that some of them took together, whichever these were', async () => {
    const runs = [await paidRun(10_000), await paidRun(10_000), await paidRun(7_000), await paidRun(50_000)];
    await lost(runs, 17_000n);
    await decide();
    expect(await beyond()).toEqual({ listed: ['100.00', '70.00'], total: '2 170.00' });
  });

  it('counts of each of them where all were taken again', async () => {
    await lost([await paidRun(10_000), await paidRun(7_000)], 17_000n);
    await decide();
    expect(await beyond()).toEqual({ listed: ['100.00', '70.00'], total: '2 170.00' });
  });
});

describe('losses of the same sum', () => {
  it('count each where they were told of one after the other', async () => {
    const [one, other] = [await paidRun(10_000), await paidRun(10_000)];
    await lost([one], 10_000n);
    await lost([other], 10_000n);
    await decide();
    expect(await beyond()).toEqual({ listed: ['100.00', '100.00'], total: '2 200.00' });
  });

  it('count each where it was not kept yet whether they are one', async () => {
    await lost([await paidRun(10_000), await paidRun(10_000)], 10_000n);
    await office.tamper(`UPDATE attention SET loss = NULL WHERE employer_id = '${company.employerId}'`);
    await decide();
    expect(await beyond()).toEqual({ listed: ['100.00', '100.00'], total: '2 200.00' });
  });
});
