import { Instruction } from '../../src/pay-run/instruction.entity';
import { FollowedPayment, progressOf } from '../../src/settlement/follow-plan';
import {
  contradictedForMs,
  recordAfterEnd,
  recordBehind,
  recordProgress,
} from '../../src/settlement/follow.store';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';
import { followed } from './followed-payment';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

describe('since when a payment that has ended is shown as before its end', () => {
  const settled = followed({
    instructionId: ours.instruction[0],
    paymentId: ours.payment,
    status: 'SETTLED',
    bankStatus: 'SETTLED',
    rank: 14,
  });
  const isRemembered = async () => {
    const since = 'SELECT behind_since FROM bank_payment WHERE behind_since IS NOT NULL';
    return (await select(office.server.superuserUrl, since)).length > 0;
  };
  const shows = (payment: FollowedPayment, status: string) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      const step = progressOf(payment, { status });
      await recordProgress(tx, instruction, step ? [step] : []);
    });
  beforeEach(async () => {
    for (const status of ['SUBMITTED', 'SETTLED'])
      await execute(
        office.server.superuserUrl,
        `UPDATE payment SET status = '${status}' WHERE id = '${ours.payment}'`,
      );
    await office.database.inEmployer(ours.employer, (tx) =>
      recordBehind(tx, { id: ours.instruction[0] }, [1]),
    );
    expect(await isRemembered()).toBe(true);
  });

  it('is forgotten once it came back, which is another end', async () => {
    await shows(settled, 'RETURNED');
    expect(await isRemembered()).toBe(false);
  });

  it('is kept where its end is shown again: a bank may show both by turns', async () => {
    await shows({ ...settled, shownStatus: 'PRO_MANUAL_REVIEW' }, 'SETTLED');
    expect(await isRemembered()).toBe(true);
  });
});

describe('a payment that the bank shows otherwise than two people declared it', () => {
  const waits = async (declared: 'VOID' | 'SETTLED', status: string) => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE payment SET status = '${declared}', live = ${declared === 'SETTLED'} WHERE id = '${ours.payment}';
       UPDATE bank_payment SET bank_status = 'SUBMITTED', bank_rank = 9`,
    );
    const payment = followed({
      instructionId: ours.instruction[0],
      paymentId: ours.payment,
      status: declared,
      bankStatus: 'SUBMITTED',
      rank: 9,
    });
    return office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      await recordProgress(tx, instruction, [progressOf(payment, { status })!]);
      return (await contradictedForMs(tx, instruction)) !== undefined;
    });
  };

  it.each<['VOID' | 'SETTLED', string]>([
    ['VOID', 'SETTLED'],
    ['VOID', 'RETURNED'],
    ['SETTLED', 'FAILED'],
  ])('is not waited for once it has ended (%s, shown as %s)', async (declared, status) => {
    expect(await waits(declared, status)).toBe(false);
  });

  it('is waited for while it is on its way, and no more once it has ended', async () => {
    expect(await waits('VOID', 'EXCHANGED')).toBe(true);
    expect(await waits('VOID', 'SETTLED')).toBe(false);
  });
});

it('the date a payment was settled on is the last that the bank showed, and stays where it shows none', async () => {
  const paymentId = ours.payment;
  const shows = async (added: { settledOn?: string; chargesMinor?: bigint }) => {
    await office.database.inEmployer(ours.employer, (tx) => recordAfterEnd(tx, [{ paymentId, ...added }]));
    const stored = `SELECT settled_on::text AS on FROM payment WHERE id = '${paymentId}'`;
    return (await select<{ on: string }>(office.server.superuserUrl, stored))[0]?.on;
  };
  for (const status of ['SUBMITTED', 'SETTLED'])
    await execute(
      office.server.superuserUrl,
      `UPDATE payment SET status = '${status}' WHERE id = '${paymentId}'`,
    );
  expect(await shows({ settledOn: '2026-11-30' })).toBe('2026-11-30');
  expect(await shows({ settledOn: '2026-12-01' })).toBe('2026-12-01');
  expect(await shows({ chargesMinor: 12n })).toBe('2026-12-01');
});
