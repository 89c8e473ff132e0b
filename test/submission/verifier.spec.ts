import type { PaymentIds } from '../../src/bank/payment-ids';
import { Claim, Fenced, Leases, wake } from '../../src/database/leases';
import { instructionOfRun } from '../../src/pay-run/instruction.store';
import type { SeenPayment } from '../../src/pay-run/match';
import type { Abandonment } from '../../src/submission/abandonment';
import type { InstructionReader, ReadBack } from '../../src/submission/read-back';
import type { UnsubmittedLook } from '../../src/submission/unsubmitted-look';
import { Verifier } from '../../src/submission/verifier';
import { Halted, type PayableRow, Work } from '../../src/submission/work';
import { idsOf } from '../database/two-employers';
import { testConfig } from '../http/test-app';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { SetClock } from '../schedule/schedules';
import { execute, select } from '../support/database';

const ours = idsOf(1);
const LAG_MS = 30_000;
const CONFIG = testConfig({ BANK_LAG_BOUND_MS: String(LAG_MS) });

let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
  await replicate(
    `UPDATE instruction SET status = 'BUILDING', bank_status = 'INITIATED' WHERE id = '${ours.instruction[0]}';
     UPDATE pay_run SET status = 'BUILDING' WHERE id = '${ours.run}';
     UPDATE bank_payment SET add_outcome = 'IN_DOUBT', bank_payment_id = NULL
     WHERE instruction_id = '${ours.instruction[0]}' AND row_no = 1;
     DELETE FROM submit_attempt; DELETE FROM forgotten_instruction; DELETE FROM moved_instruction;
     DELETE FROM service_stop; DELETE FROM attention_action; DELETE FROM lease;
     UPDATE service_switch SET submits_off = false, reason = NULL`,
  );
});
afterEach(() => {
  jest.restoreAllMocks();
  return office.close();
});

const replicate = (sql: string) =>
  execute(office.server.superuserUrl, `SET session_replication_role = replica; ${sql}`);

/** An add that has not ended yet. */
const anotherAdd = () =>
  replicate(
    `INSERT INTO add_intent SELECT (jsonb_populate_record(a, jsonb_build_object('batch', 7,
      'intended_at', clock_timestamp(), 'finished_at', null))).* FROM add_intent a WHERE employer_id = '${ours.employer}'`,
  );

const rowThat = (rowNo: number, addOutcome: PayableRow['addOutcome'], more: Partial<PayableRow> = {}) =>
  ({
    rowNo,
    paymentId: ours.payment,
    addOutcome,
    addDoubt: null,
    bankStatus: null,
    name: 'Ada',
    ...more,
  }) as PayableRow;
const seenAs = (bankPaymentId: string, status = 'INITIATED'): SeenPayment => ({
  bankPaymentId,
  ids: [bankPaymentId] as unknown as PaymentIds,
  status,
});
/** An add without an answer, and one that the bank confirmed. */
const [DOUBTED, ADDED] = [rowThat(1, 'IN_DOUBT'), rowThat(2, 'ADDED')];
const BOTH = new Map([
  [1, seenAs('seen-1')],
  [2, seenAs('seen-2')],
]);
const shows = (kind: 'equal' | 'fewer', matched: ReadonlyMap<number, SeenPayment> = BOTH) =>
  ({ kind, judgement: { kind, matched, missing: [] } }) as unknown as ReadBack;

/** A step of an instruction whose last add ended so long ago, and what it comes to. */
async function step(
  reading: ReadBack,
  {
    sinceMs = LAG_MS + 1_000,
    rows = [DOUBTED, ADDED],
    between = '',
    of = {},
    kept = {},
  }: {
    sinceMs?: number;
    rows?: PayableRow[];
    between?: string;
    of?: Partial<Work>;
    /** Keeps what takes the step, for another one. */
    kept?: { verifier?: Verifier };
  } = {},
) {
  await replicate(
    `UPDATE add_intent SET intended_at = now() - interval '1 hour',
       finished_at = clock_timestamp() - make_interval(secs => ${sinceMs / 1_000}) WHERE batch = 1;
     DELETE FROM lease`,
  );
  await office.database.inEmployer(ours.employer, async (tx) =>
    wake(tx, 'INSTRUCTION', [ours.instruction[0]]),
  );
  const [claim] = await new Leases(office.database).claim('INSTRUCTION', 'first', 1, 60_000);
  const work = await office.database.inEmployer(ours.employer, (tx) =>
    instructionOfRun(tx, ours.instruction[0]),
  );
  const done: string[] = [];
  const reader = {
    readBack: async () => {
      done.push('read');
      if (between) await replicate(between);
      return reading;
    },
  } as unknown as InstructionReader;
  const ends = (what: string) => (_claim: Claim, _work: Work, why: unknown) => {
    done.push(typeof why === 'string' ? `${what}: ${why}` : what);
    return Promise.resolve('never');
  };
  const abandonment = { rebuild: ends('rebuild'), endAsRead: ends('end') } as unknown as Abandonment;
  const look = { at: () => Promise.resolve() } as unknown as UnsubmittedLook;
  const clock = new SetClock('2026-11-26T10:00:00Z');
  kept.verifier ??= new Verifier(office.database, reader, abandonment, look, clock, CONFIG);
  const inMs = await kept.verifier.step(claim!, { ...work!, ...of }, rows);
  const [now] = await select<{ status: string; asked: string | null }>(
    office.server.superuserUrl,
    `SELECT status, (SELECT string_agg(kind, ',' ORDER BY kind) FROM attention WHERE resolved_at IS NULL) AS asked
     FROM instruction WHERE id = '${ours.instruction[0]}'`,
  );
  return { inMs, done, ...now };
}

const payments = () =>
  select(
    office.server.superuserUrl,
    `SELECT row_no, bank_payment_id AS id, add_outcome AS as FROM bank_payment
     WHERE instruction_id = '${ours.instruction[0]}' ORDER BY row_no`,
  );
const STOOD = [
  { row_no: 1, id: null, as: 'IN_DOUBT' },
  { row_no: 2, id: 'bank-payment-1-1-2', as: 'ADDED' },
];

/** About what is left of the lag bound. */
const left = (ms: number) => ({
  asymmetricMatch: (is: unknown) => typeof is === 'number' && is > ms - 5_000 && is <= ms,
});

describe('an instruction whose rows are all shown as approved', () => {
  it('is verified a lag bound after its last add, and what had no answer has the id it is shown with', async () => {
    expect(await step(shows('equal'))).toEqual({
      inMs: 'never',
      done: ['read'],
      status: 'VERIFIED',
      asked: null,
    });
    expect(await payments()).toEqual([{ row_no: 1, id: 'seen-1', as: 'ADOPTED' }, STOOD[1]]);
    expect(
      await select(office.server.superuserUrl, `SELECT kind FROM lease WHERE kind = 'RUN'`),
    ).toHaveLength(1);
  });

  it('keeps the id of an add whose answer was recorded while it was read', async () => {
    const between = `UPDATE bank_payment SET add_outcome = 'ADDED', bank_payment_id = 'answered-1'
      WHERE instruction_id = '${ours.instruction[0]}' AND row_no = 1`;
    await step(shows('equal'), { between });
    expect(await payments()).toEqual([{ row_no: 1, id: 'answered-1', as: 'ADDED' }, STOOD[1]]);
  });

  it('goes on at once where its run is being submitted', async () => {
    await replicate(`UPDATE pay_run SET status = 'SUBMITTING' WHERE id = '${ours.run}'`);
    expect(await step(shows('equal'))).toMatchObject({ inMs: 0, status: 'VERIFIED' });
  });

  it('is not verified before that: what else was added may show until then', async () => {
    expect(await step(shows('equal'), { sinceMs: 10_000 })).toEqual({
      inMs: left(20_000),
      done: ['read'],
      status: 'BUILDING',
      asked: null,
    });
    expect(await payments()).toEqual(STOOD);
  });

  it('is not read before that where every add was answered', async () => {
    const stays = { inMs: left(20_000), done: [], status: 'BUILDING' };
    expect(await step(shows('equal'), { sinceMs: 10_000, rows: [ADDED] })).toMatchObject(stays);
  });

  it('is verified a lag bound later where its adds are dated ahead, by a clock that was put right since', async () => {
    let nowMs = 1_000_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const ahead = { sinceMs: -7_200_000, kept: {} };
    expect(await step(shows('equal'), ahead)).toMatchObject({ inMs: LAG_MS, status: 'BUILDING' });
    nowMs += LAG_MS - 1;
    expect(await step(shows('equal'), ahead)).toMatchObject({ inMs: 1, status: 'BUILDING' });
    nowMs += 1;
    await anotherAdd();
    expect(await step(shows('equal'), ahead)).toMatchObject({ inMs: left(LAG_MS), status: 'BUILDING' });
    await replicate('DELETE FROM add_intent WHERE batch = 7');
    expect(await step(shows('equal'), ahead)).toMatchObject({ inMs: 'never', status: 'VERIFIED' });
  });

  it('is not verified within a lag bound of an add that has not ended yet', async () => {
    await anotherAdd();
    expect(await step(shows('equal'))).toMatchObject({ inMs: left(LAG_MS), status: 'BUILDING' });
  });

  it.each([
    [
      'was taken over while it was read',
      `UPDATE lease SET holder = 'another', epoch = epoch + 1`,
      'BUILDING',
    ],
    [
      'was ended while it was read',
      `UPDATE instruction SET status = 'ABANDONED' WHERE id = '${ours.instruction[0]}'`,
      'ABANDONED',
    ],
  ])('is not verified by a step whose instruction %s', async (_, between, status) => {
    await expect(step(shows('equal'), { between })).rejects.toBeInstanceOf(Error);
    const { superuserUrl } = office.server;
    const sql = `SELECT status FROM instruction WHERE id = '${ours.instruction[0]}'`;
    expect(await select(superuserUrl, sql)).toEqual([{ status }]);
    expect(await payments()).toEqual(STOOD);
  });

  it('is built again where the id of one of its payments is that of another', async () => {
    const taken = new Map([...BOTH, [1, seenAs('bank-payment-2-1')]]);
    expect(await step(shows('equal', taken))).toMatchObject({
      done: ['read', 'rebuild: the bank gave a payment of it the id of another payment'],
      status: 'BUILDING',
    });
    const noted = `SELECT add_doubt AS doubt FROM bank_payment WHERE instruction_id = '${ours.instruction[0]}' AND row_no = 1`;
    expect(await select(office.server.superuserUrl, noted)).toEqual([
      { doubt: 'the id bank-payment-2-1 of another payment' },
    ]);
  });
});

describe('an instruction of which less is shown than was added', () => {
  const only = (...rowNos: number[]) =>
    shows('fewer', new Map([...BOTH].filter(([no]) => rowNos.includes(no))));

  it('is waited for until the lag bound ends', async () => {
    expect(await step(only(2), { sinceMs: 10_000 })).toMatchObject({ done: ['read'], inMs: 5_000 });
    expect(await step({ kind: 'gone' }, { sinceMs: 10_000 })).toMatchObject({
      done: ['read'],
      inMs: left(20_000),
    });
  });

  it('is built again then where it lacks what had no answer, and is waited for where it lacks what had one', async () => {
    expect(await step(only(2))).toMatchObject({
      done: ['read', 'rebuild: an add without an answer was not seen within the lag bound'],
    });
    const answered = [rowThat(1, 'IN_DOUBT', { addDoubt: 'status 500' }), ADDED];
    expect(await step(only(2), { rows: answered })).toMatchObject({
      done: ['read', 'rebuild: an add was not answered as it must be, and not seen within the lag bound'],
    });
    expect(await step(only(1))).toMatchObject({
      done: ['read'],
      inMs: expect.any(Number),
      status: 'BUILDING',
    });
    expect(await step({ kind: 'gone' })).toMatchObject({ done: ['read', 'end'] });
  });

  const ENDED = rowThat(2, 'ADDED', { bankStatus: 'REJECTED' });
  it('is asked about where all that it lacks was ended by the bank', async () => {
    expect(await step(only(1), { rows: [rowThat(1, 'ADDED'), ENDED] })).toMatchObject({
      inMs: 'never',
      asked: 'ROW_REFUSED_BY_BANK',
    });
  });

  it('is waited for where it lacks another row too', async () => {
    const rows = [rowThat(1, 'ADDED'), ENDED];
    expect(await step(only(), { rows })).toMatchObject({ inMs: expect.any(Number), asked: null });
  });
});

describe('an instruction that is shown as something else than unsubmitted and whole', () => {
  it.each<[string, ReadBack]>([
    ['waits', { kind: 'wait', bankStatus: 'INI_STARTED' }],
    ['waits', { kind: 'unclear' }],
    ['is decided by people', { kind: 'moved', bankStatus: 'EXCHANGED' }],
  ])('%s, and is not verified', async (_, reading) => {
    const seen = await step(reading);
    expect(seen).toMatchObject({ done: ['read'], inMs: expect.any(Number), status: 'BUILDING' });
    expect(seen.asked).toBe(reading.kind === 'moved' ? 'INVARIANT_BREACH' : null);
  });

  it.each<[string, ReadBack]>([
    ['dead', { kind: 'dead', bankStatus: 'CANCELLED' }],
    ['different', { kind: 'different', why: 'a row', named: {} } as unknown as ReadBack],
    ['unidentified', { kind: 'unidentified', why: 'a row' }],
  ])('is ended as it was read: %s', async (_, reading) => {
    expect(await step(reading)).toMatchObject({ done: ['read', 'end'] });
  });

  it.each<[string, ReadBack]>([
    ['moved', { kind: 'moved', bankStatus: 'EXCHANGED' }],
    ['not whole', shows('fewer', new Map([[1, seenAs('seen-1')]]))],
    [
      'ended',
      shows(
        'fewer',
        new Map([
          [2, seenAs('seen-2', 'REJECTED')],
          [1, seenAs('seen-1')],
        ]),
      ),
    ],
  ])('says nothing of it once that was concluded otherwise: %s', async (_, reading) => {
    const ended = `UPDATE instruction SET status = 'ABANDONED' WHERE id = '${ours.instruction[0]}'`;
    await expect(step(reading, { between: ended })).rejects.toEqual(new Halted('NOT_ITS_TURN'));
    await replicate(
      `UPDATE instruction SET status = 'BUILDING' WHERE id = '${ours.instruction[0]}'; DELETE FROM lease`,
    );
    const lost = `UPDATE lease SET holder = 'another', epoch = epoch + 1`;
    await expect(step(reading, { between: lost })).rejects.toBeInstanceOf(Fenced);
  });
});
