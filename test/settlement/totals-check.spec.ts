import type { BankInstruction } from '../../src/bank/records';
import { Clock } from '../../src/config/clock';
import type { Config } from '../../src/config/env';
import { Instruction, PlannedInstruction } from '../../src/pay-run/instruction.entity';
import { Lateness } from '../../src/settlement/lateness';
import { isAsPlanned, TotalsCheck } from '../../src/settlement/totals-check';
import { firstRows, idsOf, insertion } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

const shownAs = (shown: Partial<BankInstruction>): BankInstruction => ({
  bankInstructionId: 'bank-1-1',
  status: 'SUB_REQUIRED',
  ...shown,
});
const processable = [{ group: 'PROCESSABLE', count: 1, totalMinor: 100n }];

/** Checks what the bank shows of the first instruction, which is planned with one payment of 1.00. */
async function check(shown: Partial<BankInstruction>): Promise<Instruction> {
  const lateness = Object.assign(Object.create(Lateness.prototype) as Lateness, { isOld: () => true });
  const totals = new TotalsCheck(lateness, new Clock(), { SUBMIT_DOUBT_MS: 1_000 } as Config);
  return office.database.inEmployer(ours.employer, async (tx) => {
    const planned = await tx.manager.findOneByOrFail(PlannedInstruction, { id: ours.planned[0] });
    const found = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
    const instruction = Object.assign(found, { status: 'SUBMITTED' });
    await totals.check(tx, planned, instruction, shownAs(shown));
    return instruction;
  });
}

const asked = () =>
  select(
    office.server.superuserUrl,
    `SELECT kind, payments, amount_minor AS minor, beyond_payments AS more, beyond_minor AS "moreMinor"
     FROM attention WHERE resolved_at IS NULL`,
  );
const mismatch = (payments: number, minor: string) => ({
  kind: 'TOTAL_MISMATCH_AFTER_SUBMIT',
  payments,
  minor,
  more: payments - 1,
  moreMinor: String(Number(minor) - 100),
});

describe('what the bank has calculated of a submitted instruction', () => {
  it('stops everything where it is more than was planned, also at a bank that shows no groups', async () => {
    await check({ calculatedCount: 2, calculatedTotalMinor: 200n });
    expect(await asked()).toEqual([mismatch(2, '200')]);
    expect(await select(office.server.superuserUrl, `SELECT submits_off FROM service_switch`)).toEqual([
      { submits_off: true },
    ]);
  });

  it.each<[string, Partial<BankInstruction>, ReturnType<typeof mismatch>]>([
    ['a count alone', { calculatedCount: 2 }, mismatch(2, '100')],
    ['a sum alone', { calculatedTotalMinor: 101n }, mismatch(1, '101')],
    [
      'both, beside groups that agree',
      { calculatedCount: 2, calculatedTotalMinor: 200n, groups: processable },
      mismatch(2, '200'),
    ],
  ])('is told as it is shown: %s', async (_, shown, told) => {
    await check(shown);
    await check(shown);
    expect(await asked()).toEqual([told]);
  });

  it('is told with the groups where these differ too', async () => {
    const groups = [{ group: 'PROCESSABLE', count: 3, totalMinor: 300n }];
    await check({ calculatedCount: 2, calculatedTotalMinor: 200n, groups });
    expect(await asked()).toEqual([mismatch(3, '300')]);
  });

  it('says nothing where it is what was planned, or less: what failed need not be counted', async () => {
    await check({ calculatedCount: 1, calculatedTotalMinor: 100n });
    const after = await check({ calculatedCount: 0, calculatedTotalMinor: 0n, groups: processable });
    expect(await asked()).toEqual([]);
    expect(after.totalsCheckedAt).not.toBeNull();
  });

  it('is looked at too where a glance at the instruction saves reading its payments', () => {
    const planned = { rowCount: 1, totalMinor: 100n } as PlannedInstruction;
    expect(isAsPlanned(planned, shownAs({ groups: processable, calculatedCount: 1 }))).toBe(true);
    expect(isAsPlanned(planned, shownAs({ groups: processable, calculatedCount: 2 }))).toBe(false);
  });
});

it('what has failed is counted once where people decided what several statuses after its end mean', async () => {
  const { payment_decision: decision } = firstRows(1);
  await execute(
    office.server.superuserUrl,
    `SET session_replication_role = replica;
     UPDATE payment SET status = 'REJECTED', live = false WHERE id = '${ours.payment}';
     ${insertion('payment_decision', { ...decision, bank_status: 'PRO_ODDER' })}`,
  );
  const { totalsCheckedAt } = await check({ groups: [{ group: 'PROCESSABLE', count: 0, totalMinor: 0n }] });
  expect(totalsCheckedAt).not.toBeNull();
  expect(await asked()).toEqual([]);
});
