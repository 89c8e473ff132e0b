import { ReadFails } from '../../src/bank/errors';
import type { KnownIds } from '../../src/bank/payment-ids';
import type { BankInstruction } from '../../src/bank/records';
import type { BackgroundDatabase } from '../../src/database/background-database';
import type { BankReads } from '../../src/employer/bank-reads';
import type { Standing } from '../../src/employer/standing';
import type { EmployerAccount } from '../../src/employer/employer.entity';
import { aboutInstruction, raise } from '../../src/pay-run/attention.store';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { instructionOfRun } from '../../src/pay-run/instruction.store';
import { accountLostAgain } from '../../src/pay-run/lost-again';
import { withDoubt } from '../../src/pay-run/released-doubt';
import { LACKS_APPROVALS } from '../../src/pay-run/stop';
import { acknowledgedOf } from '../../src/reconciliation/acknowledged';
import { loadFollowed } from '../../src/settlement/followed';
import type { PaymentSource } from '../../src/settlement/payment-source';
import { TombstoneWatch } from '../../src/settlement/tombstone-watch';
import { tellOfUnrecordedMove } from '../../src/submission/unrecorded-move';
import { idsOf, RESTORE } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';
import { readsOf } from '../support/reads-of';

const LAG = { BANK_LAG_BOUND_MS: 60_000 };
const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
  await execute(
    office.server.superuserUrl,
    `SET session_replication_role = replica;
     UPDATE instruction SET bank_instruction_id = 'given-up' WHERE id = '${ours.unmoved}'`,
  );
});
afterEach(() => office.close());

/** Reads what was abandoned where the bank shows it, or a payment of it, so. */
async function read(...statuses: string[]): Promise<void> {
  const shown = statuses[0] === undefined ? undefined : ({ status: statuses[0] } as BankInstruction);
  await readAs({ shown, statuses, isUnclear: false, isWhole: true });
}

async function readAs(standing: Partial<Standing>, tookMs = 0): Promise<void> {
  const shown = () => new Promise((resolve) => setTimeout(resolve, tookMs, standing));
  const reads = { standing: shown } as unknown as BankReads;
  const database = office.database as unknown as BackgroundDatabase;
  const watch = new TombstoneWatch(database, reads, {} as PaymentSource, LAG);
  await watch.step(
    (await office.database.inEmployer(ours.employer, (tx) => loadFollowed(tx, ours.unmoved)))!,
  );
}

const MOVED = `SELECT bank_status AS status FROM moved_instruction WHERE instruction_id = '${ours.unmoved}'`;
const asked = () =>
  select(
    office.server.superuserUrl,
    `SELECT kind, happened FROM attention WHERE resolved_at IS NULL AND instruction_id = '${ours.unmoved}'`,
  );

/** What a restore found of it, and whether two people said on the bank's word that it was executed. */
const foundAs = (status: string, action: string | null = null) =>
  execute(
    office.server.superuserUrl,
    `SET session_replication_role = replica;
     INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status, action_id)
     VALUES ('${ours.employer}', 'given-up', '${RESTORE}', '${ours.run}', '${status}', ${action === null ? 'NULL' : `'${action}'`})`,
  );

it('what was given up is asked for by itself too where no list shows it, whether or not an account is known to allow that', async () => {
  const standing = jest.fn(() => Promise.resolve({ statuses: [], isUnclear: false }));
  const watch = new TombstoneWatch(
    office.database as unknown as BackgroundDatabase,
    { standing } as unknown as BankReads,
    {} as PaymentSource,
    LAG,
  );
  await watch.step(
    (await office.database.inEmployer(ours.employer, (tx) => loadFollowed(tx, ours.unmoved)))!,
  );
  const evenUnlisted = expect.objectContaining({ byAnyList: true, evenUnlisted: true }) as unknown;
  expect(standing).toHaveBeenCalledWith(expect.anything(), evenUnlisted, expect.anything());
});

describe('what was given up, and is shown in a status that no document names', () => {
  it('is asked about once, since it may have been paid', async () => {
    expect(
      (
        await office.database.inEmployer(ours.employer, (tx) =>
          tx.manager.findOneByOrFail(Instruction, { id: ours.unmoved }),
        )
      ).status,
    ).toBe('ABANDONED');
    await read('INITIATED', 'BOOKED_OUT');
    await read('INITIATED', 'BOOKED_OUT');
    expect(await asked()).toEqual([
      { kind: 'UNKNOWN_STATUS', happened: expect.stringContaining(' BOOKED_OUT.') as string },
    ]);
  });

  it('is asked about until the bank shows it and each of its payments in a status that is clear; what it does not show proves nothing', async () => {
    await read('BOOKED_OUT');
    await read();
    await readAs({
      shown: { status: 'CANCELLED' } as BankInstruction,
      statuses: ['CANCELLED'],
      isWhole: false,
    });
    expect(await asked()).toHaveLength(1);
    await read('CANCELLED');
    expect(await asked()).toEqual([]);
    await read('BOOKED_OUT');
    expect(await asked()).toHaveLength(1);
  });

  it('closes though the add of one payment had no answer, so that nobody knows it at the bank', async () => {
    await read('BOOKED_OUT');
    const reads = readsOf({ getInstruction: () => Promise.resolve({ status: 'CANCELLED' }) });
    const source = { paymentsOf: () => Promise.resolve([{ bankPaymentId: '901', status: 'CANCELLED' }]) };
    const database = office.database as unknown as BackgroundDatabase;
    const watch = new TombstoneWatch(database, reads, source as unknown as PaymentSource, LAG);
    const followed = (await office.database.inEmployer(ours.employer, (tx) =>
      loadFollowed(tx, ours.unmoved),
    ))!;
    const account = { reads: ['INSTRUCTION'] } as unknown as EmployerAccount;
    const knownAs = (...ids: string[][]) =>
      watch.step({
        ...followed,
        account,
        known: ids.map((bankIds) => ({ ...followed.known[0]!, bankIds: bankIds as unknown as KnownIds })),
      });
    await knownAs(['901'], ['902'], []);
    expect(await asked()).toHaveLength(1);
    await knownAs(['901'], []);
    expect(await asked()).toEqual([]);
  });

  it('is still asked about where it is shown as before its submit again, which an old read may show', async () => {
    await read('BOOKED_OUT');
    await readAs({ shown: { status: 'INITIATED' } as BankInstruction, statuses: ['INITIATED'] });
    expect(await asked()).toHaveLength(1);
  });

  it('is not asked about as what a restore found it in already, and is as anything else', async () => {
    await foundAs('BOOKED_OUT');
    await read('BOOKED_OUT');
    expect(await asked()).toEqual([]);
    await read('BOOKED_IN');
    expect(await asked()).toMatchObject([{ kind: 'UNKNOWN_STATUS' }]);
  });

  it('is asked about in each such status by itself', async () => {
    await read('BOOKED_OUT');
    await read('BOOKED_IN');
    await read('BOOKED_OUT');
    expect((await asked()).map(({ happened }) => String(happened).split(': ')[1]).sort()).toEqual([
      'BOOKED_IN.',
      'BOOKED_OUT.',
    ]);
  });

  it.each(['BOOKED_OUT', 'EXCHANGED'])(
    'is neither asked about nor written down as moved once two people said that it was executed: %s',
    async (status) => {
      await foundAs('BOOKED_OUT', ours.action);
      await read(status);
      expect(await asked()).toEqual([]);
      expect(await select(office.server.superuserUrl, MOVED)).toEqual([]);
    },
  );

  it('is a breach where anything of it is past its submit too', async () => {
    await read('BOOKED_OUT', 'EXCHANGED');
    expect(await asked()).toMatchObject([{ kind: 'INVARIANT_BREACH' }]);
  });

  it('is as it should be where it stands before its submit, or was ended unpaid', async () => {
    await read('INITIATED', 'CANCELLED');
    expect(await asked()).toEqual([]);
  });
});

describe('what was released while the bank left open whether somebody else submitted it', () => {
  const STALE = 'The cut-off passed.';
  const released = (ask?: string) =>
    office.database.inEmployer(ours.employer, (tx) => {
      const told = { happened: STALE, askBank: ask };
      return raise(tx, {
        kind: 'STALE_DATE',
        ...aboutInstruction({ id: ours.unmoved, payRunId: ours.run, bankInstructionId: 'given-up' }),
        payments: 3,
        ...withDoubt(told, 'could not be read'),
      });
    });
  const told = () =>
    select(
      office.server.superuserUrl,
      `SELECT happened, ask_bank AS ask, payments, resolution FROM attention WHERE kind = 'STALE_DATE'
         AND resolution IS DISTINCT FROM 'before the test' ORDER BY id`,
    );
  const initiated = (tookMs?: number) =>
    readAs(
      { shown: { status: 'INITIATED' } as BankInstruction, statuses: ['INITIATED'], isUnclear: false },
      tookMs,
    );
  const DOUBTED = {
    happened: `${STALE} The bank does not say whether somebody else submitted it: it could not be read.`,
    payments: 3,
  };

  it.each([
    ['', undefined, 'Nothing: this is decided here.'],
    [', but for what else is asked', 'Which were submitted?', 'Which were submitted?'],
  ])('is told anew without that once a read that is later shows it clear%s', async (_, ask, left) => {
    await released(ask);
    await read();
    expect(await told()).toMatchObject([{ ...DOUBTED, resolution: null }]);
    await initiated();
    expect(await told()).toMatchObject([{ ...DOUBTED, resolution: null }]);
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE attention SET opened_at = opened_at - interval '61 s'`,
    );
    await initiated();
    await initiated();
    expect(await told()).toEqual([
      {
        ...DOUBTED,
        ask: expect.stringMatching(/^Was customer instruction given-up submitted by anybody/) as string,
        resolution: 'the bank shows it in a status that is clear: told anew',
      },
      { happened: STALE, ask: left, payments: 3, resolution: null },
    ]);
  });

  it('is not told anew by a read that was old enough only once it was over', async () => {
    await released();
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE attention SET opened_at = opened_at - interval '59 s'`,
    );
    await initiated(2_000);
    expect(await told()).toMatchObject([{ ...DOUBTED, resolution: null }]);
    await initiated();
    expect(await told()).toMatchObject([DOUBTED, { happened: STALE, resolution: null }]);
  });

  it('is not told anew by a read that shows it ended and not each payment of it', async () => {
    await released();
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE attention SET opened_at = opened_at - interval '61 s'`,
    );
    const ended = { shown: { status: 'CANCELLED' } as BankInstruction, statuses: ['CANCELLED'] };
    await readAs({ ...ended, isUnclear: false, isWhole: false });
    expect(await told()).toMatchObject([{ ...DOUBTED, resolution: null }]);
    await readAs({ ...ended, isUnclear: false, isWhole: true });
    expect(await told()).toMatchObject([DOUBTED, { happened: STALE, resolution: null }]);
  });

  it('is not told anew once it was decided, nor where the bank shows a status that no document names', async () => {
    await released();
    await read('BOOKED_OUT');
    expect(await told()).toMatchObject([{ ...DOUBTED, resolution: null }]);
    await execute(
      office.server.superuserUrl,
      `UPDATE attention SET resolved_at = now(), resolution = 'two people said so' WHERE resolved_at IS NULL`,
    );
    await initiated();
    expect(await told()).toMatchObject([{ resolution: 'two people said so' }]);
  });
});

describe('what was given up, has moved, and is paid again by a run of which nothing is sent', () => {
  beforeEach(() =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO payment
       SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'pay_run_id', '${ours.spareRun}',
         'employee_id', 'again', 'status', 'READY', 'replaces_payment_id', id))).*
       FROM payment p WHERE id = '${ours.payment}'`,
    ),
  );
  const stopped = async () =>
    (
      await select<{ id: string; reason: string }>(
        office.server.superuserUrl,
        'SELECT id, stopped_reason AS reason FROM pay_run WHERE stopped_at IS NOT NULL ORDER BY id',
      )
    ).filter(({ id }) => id === ours.spareRun);

  it('stops that run, and everything', async () => {
    await read('EXCHANGED');
    expect(await stopped()).toEqual([{ id: ours.spareRun, reason: 'REPLACED_PAYMENT_MOVED' }]);
    expect(await asked()).toMatchObject([{ kind: 'INVARIANT_BREACH' }]);
  });

  it.each([1, 2])(
    'waits for its turn at that run before everything stops, at read %d: whoever submits or resumes it does so too',
    async (reads) => {
      const { superuserUrl } = office.server;
      if (reads > 1) await read('EXCHANGED');
      await connected(superuserUrl, async (submitter) => {
        await submitter.query(`BEGIN; SELECT FROM pay_run WHERE id = '${ours.spareRun}' FOR SHARE`);
        const underWay = read('EXCHANGED');
        await eventually(() => isWaitedFor(submitter), 5_000);
        await expect(submitter.query('SELECT FROM service_switch FOR SHARE NOWAIT')).resolves.toBeDefined();
        await submitter.query('COMMIT');
        await underWay;
      });
    },
  );
});

describe('what was given up, has moved, and was to pay whom an open run pays', () => {
  const stopped = () =>
    select(
      office.server.superuserUrl,
      `SELECT stopped_reason AS reason FROM pay_run WHERE id = '${ours.run}' AND stopped_at IS NOT NULL`,
    );

  it('stops that run', async () => {
    await read('EXCHANGED');
    expect(await stopped()).toEqual([{ reason: 'POSSIBLE_DUPLICATE_PAY' }]);
    const told = `SELECT FROM attention WHERE kind = 'POSSIBLE_DUPLICATE_PAY' AND subject_id = '${ours.run}'`;
    expect(await select(office.server.superuserUrl, told)).toHaveLength(1);
    expect(await asked()).toContainEqual({
      kind: 'INVARIANT_BREACH',
      happened: expect.anything() as unknown,
    });
  });

  it('stops that run once: people may have resumed it', async () => {
    await read('EXCHANGED');
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL`,
    );
    await read('SETTLED');
    expect(await stopped()).toEqual([]);
  });

  it('stops none that has ended', async () => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE pay_run SET status = 'SETTLED' WHERE id = '${ours.run}'`,
    );
    await read('EXCHANGED');
    expect(await stopped()).toEqual([]);
  });

  it('leaves the stop of a person as it is', async () => {
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE pay_run SET stopped_at = now(), stopped_reason = 'they said so' WHERE id = '${ours.run}'`,
    );
    await read('EXCHANGED');
    expect(await stopped()).toEqual([{ reason: 'they said so' }]);
  });

  it('does not stop it where they are left out of it when its turn comes', async () => {
    await connected(office.server.superuserUrl, async (people) => {
      await people.query(`BEGIN; SELECT FROM pay_run WHERE id = '${ours.run}' FOR UPDATE`);
      const underWay = read('EXCHANGED');
      await eventually(() => isWaitedFor(people), 5_000);
      await people.query(
        `SET LOCAL session_replication_role = replica;
         UPDATE payment SET status = 'EXCLUDED', live = false, excluded_reason = 'paid' WHERE id = '${ours.payment}'; COMMIT`,
      );
      await underWay;
    });
    expect(await stopped()).toEqual([]);
    expect(await asked()).toMatchObject([{ kind: 'INVARIANT_BREACH' }]);
  });
});

describe('what people decided as moved though it was never submitted, and was given up since', () => {
  const [DECIDED, FURTHER] = ['SUB_REQUIRED', 'SETTLED'] as const;
  /** Nothing of it was sent by another attempt. */
  const unsent = () =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; DELETE FROM submit_attempt WHERE id = '${ours.attempt}'`,
    );
  /** It was seen before it was given up. */
  const seenMoved = (status: string = DECIDED) =>
    office.database.inEmployer(ours.employer, async (tx) => {
      const work = await instructionOfRun(tx, ours.unmoved);
      await tellOfUnrecordedMove(tx, { ...work!, run: { ...work!.run, status: 'BUILDING' } }, status);
    });
  /** Something else that must never happen is found of it. */
  const elseAsked = () =>
    office.database.inEmployer(ours.employer, (tx) =>
      raise(tx, {
        kind: 'INVARIANT_BREACH',
        ...aboutInstruction({ id: ours.unmoved, payRunId: ours.run, bankInstructionId: 'given-up' }),
        payments: 1,
        amountMinor: 100n,
        happened: LACKS_APPROVALS,
      }),
    );
  const elseDecided = async () => {
    await elseAsked();
    await office.resume();
  };
  const isStopped = async () =>
    (await select(office.server.superuserUrl, 'SELECT FROM service_switch WHERE submits_off')).length > 0;
  const acknowledged = async (runs = [ours.run]) =>
    (await office.database.inEmployer(ours.employer, (tx) => acknowledgedOf(tx, runs))).map(
      ({ kind, count, amountMinor }) => ({ kind, count, amountMinor }),
    );
  const moved = { kind: 'INVARIANT_BREACH', count: 1, amountMinor: 100n };
  const remembered = () => select(office.server.superuserUrl, MOVED);

  it('is remembered, and stops nothing a second time, however far the bank goes on with it', async () => {
    await unsent();
    await seenMoved();
    expect(await isStopped()).toBe(true);
    await office.resume();
    await read(DECIDED);
    await read(DECIDED);
    await read(FURTHER);
    expect([await asked(), await isStopped()]).toEqual([[], false]);
    expect(await remembered()).toEqual([{ status: DECIDED }]);
  });

  it('stops nothing a second time where what was sent since is another row of its run', async () => {
    await unsent();
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE payment SET status = 'SETTLED' WHERE id = '${ours.secondPayment}'`,
    );
    await seenMoved();
    await office.resume();
    await read(FURTHER);
    expect([await asked(), await isStopped()]).toEqual([[], false]);
  });

  it('stops nothing a second time either, before it is given up, when the bank goes on with it', async () => {
    await seenMoved();
    await office.resume();
    await seenMoved(FURTHER);
    expect([await asked(), await isStopped()]).toEqual([[], false]);
  });

  it('is what the report says as acknowledged, once, with what was approved of it, and not where it was taken over', async () => {
    await unsent();
    await seenMoved();
    await office.resume();
    expect(await acknowledged()).toEqual([]);
    await read(DECIDED);
    expect(await acknowledged()).toEqual([moved]);
    await read(FURTHER);
    await office.resume();
    expect(await acknowledged()).toEqual([moved]);
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET status = 'ABANDONED' WHERE id = '${ours.instruction[0]}';
       UPDATE instruction SET status = 'SUBMITTED' WHERE id = '${ours.unmoved}'`,
    );
    expect(await acknowledged()).toEqual([]);
  });

  /** The account lost so much besides, once, which is told of another run that is paid from it, and decided. */
  const lostAgain = async (amountMinor: bigint) => {
    const of = { payRunId: ours.spareRun, instructionId: undefined, someOf: [], times: 1, payments: 1 };
    await office.database.inEmployer(ours.employer, (tx) =>
      accountLostAgain(tx, [
        { ...of, amountMinor, takenMinor: amountMinor, ofAll: { count: 1, amountMinor } },
      ]),
    );
    await office.resume();
  };

  it.each([
    ['so much', 100n, []],
    ['more', 101n, [moved]],
  ])(
    'is so of what people had declared not executed too, but where its account is told of as having lost %s',
    async (_what, amountMinor, left) => {
      await execute(
        office.server.superuserUrl,
        `SET session_replication_role = replica;
         UPDATE instruction SET status = 'ABANDONED' WHERE id = '${ours.instruction[0]}';
         UPDATE instruction SET status = 'VOID' WHERE id = '${ours.unmoved}'`,
      );
      await read(FURTHER);
      expect(await asked()).toMatchObject([{ happened: expect.stringContaining('was void has moved') }]);
      await office.resume();
      expect(await acknowledged()).toEqual([moved]);
      await lostAgain(amountMinor);
      const again = { kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', count: 1, amountMinor };
      expect(await acknowledged([ours.run, ours.spareRun])).toEqual([...left, again]);
    },
  );

  it('stops nothing while people are asked about it as a submit that a restore found, and is remembered', async () => {
    await unsent();
    await foundAs('SUB_REQUIRED');
    await read(FURTHER);
    expect([await asked(), await isStopped()]).toEqual([[], false]);
    expect(await remembered()).toEqual([{ status: FURTHER }]);
  });

  it('stops everything where a restore found it in a status that no document names', async () => {
    await unsent();
    await foundAs('BOOKED_OUT');
    await read(FURTHER);
    expect([await asked(), await isStopped()]).toMatchObject([[{ kind: 'INVARIANT_BREACH' }], true]);
  });

  it('stops everything where nobody has decided yet, or something else of it', async () => {
    await unsent();
    await elseDecided();
    await seenMoved();
    await read(FURTHER);
    expect([await asked(), await isStopped()]).toMatchObject([[{ kind: 'INVARIANT_BREACH' }], true]);
  });

  it.each([
    ['before it was given up', seenMoved, 'though it was never submitted'],
    ['since', () => read(FURTHER), 'has moved at the bank'],
  ])('is told in the place of what else is asked of it, where it moved %s', async (_, moves, words) => {
    await unsent();
    await elseAsked();
    await moves();
    await moves();
    expect(await asked()).toEqual([
      { kind: 'INVARIANT_BREACH', happened: expect.stringContaining(words) as string },
    ]);
    expect(await isStopped()).toBe(true);
    await office.resume();
    await moves();
    expect([await asked(), await isStopped()]).toEqual([[], false]);
  });

  it('is not in the report as acknowledged where what was decided of it was something else', async () => {
    await unsent();
    await elseDecided();
    await read(FURTHER);
    expect(await asked()).toMatchObject([{ happened: expect.stringContaining('has moved') as string }]);
    expect(await acknowledged()).toEqual([]);
    await office.resume();
    expect(await acknowledged()).toEqual([moved]);
  });

  it('stops everything where its rows were submitted by another attempt since, or may have been', async () => {
    await seenMoved();
    await office.resume();
    await read(DECIDED);
    expect([await asked(), await isStopped()]).toMatchObject([[{ kind: 'INVARIANT_BREACH' }], true]);
  });
});

describe('what was given up, and the bank fails to show for good', () => {
  const failing = { failing: 'instruction', isUnclear: true } as const;

  it('is not taken for read, as it may have been submitted', async () => {
    await expect(readAs({ ...failing, statuses: ['INITIATED'] })).rejects.toThrow(ReadFails);
    await expect(readAs({ ...failing, statuses: [] })).rejects.toThrow(
      'The bank fails again and again to show the instruction',
    );
  });

  it('is as it should be where each of its payments ended unpaid, and asked about by what else they show', async () => {
    await readAs({ failing: 'instruction', isUnclear: false, statuses: ['CANCELLED'] });
    expect(await asked()).toEqual([]);
    await readAs({ ...failing, statuses: ['BOOKED_OUT'] });
    expect(await asked()).toMatchObject([{ kind: 'UNKNOWN_STATUS' }]);
  });
});
