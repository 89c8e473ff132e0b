import { IsNull } from 'typeorm';
import { showId } from '../../src/http/prefixed-id';
import { clear } from '../../src/pay-run/attention.store';
import { Attention } from '../../src/pay-run/attention.entity';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { resumeAfter } from '../../src/pay-run/stop';
import { contradictedForMs } from '../../src/settlement/contradiction';
import { FollowedPayment, progressOf } from '../../src/settlement/follow-plan';
import { recordAfterEnd, recordBehind, recordProgress } from '../../src/settlement/follow.store';
import { APPROVER, idsOf, PREPARER } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';
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

describe('a payment that two people declared paid before the bank showed anything of it', () => {
  const stored = async () =>
    (
      await select<{ bank_status: string | null; shown_status: string | null }>(
        office.server.superuserUrl,
        `SELECT bank_status, shown_status FROM bank_payment
         WHERE payment_id = '${ours.payment}' AND instruction_id = '${ours.instruction[0]}'`,
      )
    )[0];
  const shows = async (status: string) => {
    const { bank_status: bankStatus, shown_status: shownStatus } = (await stored())!;
    const payment = followed({
      instructionId: ours.instruction[0],
      paymentId: ours.payment,
      status: 'SETTLED',
      bankStatus,
      shownStatus,
    });
    await office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      const step = progressOf(payment, { status });
      await recordProgress(tx, instruction, step ? [step] : []);
    });
    return Object.values((await stored())!);
  };
  const asked = () =>
    select<{ happened: string }>(
      office.server.superuserUrl,
      `SELECT happened FROM attention WHERE resolved_at IS NULL AND kind = 'CONTRADICTION'`,
    );
  beforeEach(() =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE payment SET status = 'SETTLED' WHERE id = '${ours.payment}';
       UPDATE bank_payment SET bank_status = NULL, bank_rank = 0`,
    ),
  );

  it('has beside it what contradicts that now, and the question says so, and what was shown before', async () => {
    expect(await shows('FAILED')).toEqual(['FAILED', null]);
    expect(await shows('REJECTED')).toEqual(['REJECTED', null]);
    expect(await asked()).toEqual([
      {
        happened:
          'A payment that two people declared paid is shown otherwise: REJECTED (row 1, payment b), before that FAILED (row 1, payment b).',
      },
    ]);
    expect(await shows('FAILED')).toEqual(['FAILED', null]);
    expect(await asked()).toHaveLength(1);
  });

  it('has beside it the status without a meaning that is shown now, and not the first of several', async () => {
    for (const status of ['MADE_UP', 'BOOKED_OUT', 'MADE_UP'])
      expect(await shows(status)).toEqual([null, status]);
    expect(await shows('FAILED')).toEqual(['FAILED', null]);
    expect(await shows('SETTLED')).toEqual(['SETTLED', null]);
  });
});

describe('a payment that two people declared not executed, and that was paid again by what was submitted', () => {
  const paymentId = ours.payment;
  const name = showId('pay', paymentId);
  const TAKEN = { bankStatus: 'SUBMITTED', rank: 9 };
  beforeEach(() =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE payment SET status = 'VOID', live = false WHERE id = '${paymentId}';
       UPDATE bank_payment SET bank_status = 'SUBMITTED', bank_rank = 9;
       INSERT INTO payment
       SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'pay_run_id', '${ours.spareRun}',
         'employee_id', 'again', 'status', 'SUBMITTED', 'live', true, 'replaces_payment_id', id))).*
       FROM payment p WHERE id = '${paymentId}'`,
    ),
  );
  const shows = (status: string, before: { bankStatus: string | null; rank: number } = TAKEN) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      const payment = followed({ instructionId: instruction.id, paymentId, status: 'VOID', ...before });
      await recordProgress(tx, instruction, [progressOf(payment, { status })!]);
    });
  const asked = async (kind: string) =>
    (
      await select<{ happened: string }>(
        office.server.superuserUrl,
        `SELECT happened FROM attention WHERE resolved_at IS NULL AND kind = $1`,
        [kind],
      )
    ).map(({ happened }) => happened);
  const breach = async () => (await asked('INVARIANT_BREACH')).join();
  /** Two people let everything go on. */
  const letGoOn = () =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const of = { employerId: ours.employer, resolvedAt: IsNull() };
      const open = await tx.manager.findOneByOrFail(Attention, { ...of, kind: 'INVARIANT_BREACH' });
      await tx.query(
        `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
           confirmed_at) VALUES ($1, gen_random_uuid(), $2, 'RESUME', 'the bank knows', $3, $4, now())`,
        [ours.employer, open.id, PREPARER, APPROVER],
      );
      await resumeAfter(tx, open);
      await clear(tx, ['INVARIANT_BREACH'], open.subjectId, 'two people said so');
    });
  const isStopped = async () =>
    (await select(office.server.superuserUrl, 'SELECT FROM service_switch WHERE submits_off')).length > 0;

  it('is told anew where it is shown as paid while people are asked about it as on its way', async () => {
    await shows('EXCHANGED');
    expect(await breach()).toContain(`${name} (on its way)`);
    await shows('SETTLED');
    expect(await breach()).toContain(`${name} (paid)`);
    expect(await breach()).not.toContain('on its way');
    await letGoOn();
    await shows('SETTLED');
    expect(await breach()).toBe('');
    expect(await isStopped()).toBe(false);
  });

  it('is not told anew where it is shown as on its way while people are asked about it as paid', async () => {
    await shows('SETTLED');
    const before = [await breach(), await asked('CONTRADICTION')];
    await shows('EXCHANGED');
    expect([await breach(), await asked('CONTRADICTION')]).toEqual(before);
  });

  it('keeps what it was shown as in the question about it, so that statuses to and fro replace it no more', async () => {
    const seen: (string | undefined)[] = [];
    for (const status of ['SETTLED', 'RETURNED', 'SETTLED', 'RETURNED']) {
      await shows(status);
      seen.push((await asked('CONTRADICTION')).join());
    }
    const shown = (status: string) => `${status} after SUBMITTED (row 1, payment b)`;
    expect(seen[0]).toContain(`: ${shown('SETTLED')}.`);
    expect(seen[1]).toContain(`: ${shown('RETURNED')}, before that ${shown('SETTLED')}.`);
    expect(seen.slice(2)).toEqual([seen[1], seen[1]]);
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
       SELECT employer_id, gen_random_uuid(), id, 'ACKNOWLEDGE', 'the bank knows', '${PREPARER}', '${APPROVER}', now()
       FROM attention WHERE kind = 'CONTRADICTION' AND resolved_at IS NULL;
       UPDATE attention SET resolved_at = now(), resolution = 'two people said so' WHERE kind = 'CONTRADICTION'`,
    );
    for (const status of ['SETTLED', 'RETURNED']) await shows(status);
    expect(await asked('CONTRADICTION')).toEqual([]);
  });

  it('names the latest of many statuses that it was shown as, and says that there were others', async () => {
    const told = async (from: number, to: number) => {
      for (let n = from; n <= to; n += 1) await shows(`MADE_UP_${n}`);
      return (await asked('CONTRADICTION')).join();
    };
    const named = (from: number, to: number) =>
      Array.from(
        { length: from - to + 1 },
        (_, n) => `MADE_UP_${from - n} after SUBMITTED (row 1, payment b)`,
      );
    const happened = (statuses: string[]) =>
      `A payment that two people declared not executed went on: ${statuses.join(', before that ')}.`;
    expect(await told(1, 20)).toBe(happened(named(20, 1)));
    expect(await told(21, 21)).toBe(happened([...named(21, 2), 'others']));
    expect(await told(22, 22)).toBe(happened([...named(22, 3), 'others']));
    await shows('MADE_UP_3');
    expect((await asked('CONTRADICTION')).join()).toBe(happened([...named(22, 3), 'others']));
  });

  it('is told of by every read also where the bank had shown nothing of it before', async () => {
    await shows('SETTLED', { bankStatus: null, rank: 0 });
    expect(await asked('CONTRADICTION')).toEqual([
      'A payment that two people declared not executed went on: SETTLED (row 1, payment b).',
    ]);
    expect(
      await select(
        office.server.superuserUrl,
        `SELECT bank_status, bank_rank FROM bank_payment WHERE payment_id = '${paymentId}' AND instruction_id = '${ours.instruction[0]}'`,
      ),
    ).toEqual([{ bank_status: null, bank_rank: 9 }]);
  });

  it('stops nothing that two people let go on while the stop waited for its turn, by what matters of the words', async () => {
    await shows('SETTLED');
    await connected(office.server.superuserUrl, async (people) => {
      await people.query(
        `SET session_replication_role = replica; BEGIN;
         SELECT FROM service_switch FOR UPDATE;
         INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
         SELECT employer_id, gen_random_uuid(), id, 'RESUME', 'the bank knows', '${PREPARER}', '${APPROVER}', now()
         FROM attention WHERE kind = 'INVARIANT_BREACH' AND resolved_at IS NULL;
         UPDATE attention SET resolved_at = now(), resolution = 'two people said so' WHERE kind = 'INVARIANT_BREACH';
         UPDATE service_switch SET submits_off = false, reason = NULL`,
      );
      const underWay = shows('RETURNED');
      await eventually(() => isWaitedFor(people), 5_000);
      await people.query('COMMIT');
      await underWay;
    });
    expect(await breach()).toBe('');
    expect(await isStopped()).toBe(false);
  });

  it.each(['EXCHANGED', 'RETURNED', 'EXCHANGE_ERROR'])(
    'stops nothing any more once it was decided as paid, however it is shown since (%s)',
    async (status) => {
      await shows('SETTLED');
      await letGoOn();
      await shows(status);
      expect(await breach()).toBe('');
      expect(await isStopped()).toBe(false);
    },
  );

  it('is asked about as paid and otherwise shown since, where that was so before it was paid again', async () => {
    const sent = (status: string) =>
      execute(
        office.server.superuserUrl,
        `SET session_replication_role = replica;
         UPDATE payment SET status = '${status}' WHERE pay_run_id = '${ours.spareRun}'`,
      );
    await sent('READY');
    await shows('SETTLED');
    await sent('SUBMITTED');
    await shows('RETURNED');
    expect(await breach()).toContain(`${name} (paid, and since then returned)`);
    await letGoOn();
    await shows('SETTLED');
    expect(await breach()).toBe('');
  });

  it.each([
    ['RETURNED', 'returned'],
    ['EXCHANGE_ERROR', 'unclear'],
    ['BOOKED_OUT', 'unclear'],
  ])(
    'is told as it is shown (%s: %s), and stops everything anew once it is shown as paid',
    async (status, words) => {
      await shows(status);
      expect(await breach()).toContain(`${name} (${words})`);
      await letGoOn();
      await shows(status);
      expect(await breach()).toBe('');
      await shows('SETTLED');
      expect(await breach()).toContain(`${name} (paid)`);
      expect(await isStopped()).toBe(true);
    },
  );
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
