import type { BankGateway } from '../../src/bank/gateway';
import type { Config } from '../../src/config/env';
import { PersonalData } from '../../src/database/personal-data';
import { Claim, Leases, wake } from '../../src/database/leases';
import { PlannedInstruction } from '../../src/pay-run/instruction.entity';
import { findRun } from '../../src/pay-run/pay-run.store';
import { ReplacedLook } from '../../src/submission/replaced-look';
import { UnsubmittedLook } from '../../src/submission/unsubmitted-look';
import { RunGate } from '../../src/submission/run-gate';
import { APPROVER, hashOf, idsOf, PREPARER } from '../database/two-employers';
import { testConfig } from '../http/test-app';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { SetClock } from '../schedule/schedules';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

/** Has the spare run stand before its gate. @param sets what else is so, in SQL */
const atItsGate = (sets = '') =>
  execute(
    office.server.superuserUrl,
    `SET session_replication_role = replica;
     UPDATE pay_run SET status = 'VERIFIED' WHERE id = '${ours.spareRun}';
     ${sets}`,
  );

/** In SQL, has the other run be paid from another record of an account, which differs so from the one that the gate is of. */
const paidFrom = (other: object) => `
  INSERT INTO employer_account
  SELECT (jsonb_populate_record(a, '${JSON.stringify({ id: ours.fresh[1], ...other })}')).*
  FROM employer_account a WHERE id = '${ours.account}';
  UPDATE pay_run SET account_id = '${ours.fresh[1]}' WHERE id = '${ours.run}';`;
const DETACHED = { detached_at: '2026-01-01T00:00:00Z', iban_hash: hashOf(7) };
const SAME_IBAN = { bank_account_id: 'its other id' };

const NOT_LOOKED = { at: () => Promise.resolve() } as unknown as UnsubmittedLook;

describe('a run gate whose balance may be from before another run of the account ended', () => {
  const NOW = '2026-11-27T10:00:00Z';
  /** Has the other run of the account end so long before. Answers for how long the gate waits; undefined: not at all. */
  async function waits(before: string, { sets = '', now = NOW }): Promise<number | undefined> {
    await atItsGate(`
      UPDATE employer_account SET reads = '{INSTRUCTION_PAYMENTS,BALANCE}';
      UPDATE instruction SET status = 'ABANDONED' WHERE pay_run_id = '${ours.run}';
      UPDATE instruction SET status = 'CLOSED', outcome = 'SETTLED', closed_at = timestamptz '${now}' - interval '${before}'
      WHERE id = '${ours.instruction[0]}'; ${sets}`);
    const wentOn = new Error('it does not wait');
    const replaced = { of: () => Promise.reject(wentOn) } as unknown as ReplacedLook;
    const config = testConfig({ BANK_TIME_ZONE: 'UTC', BANK_CUT_OFF: '16:00', BANK_LAG_BOUND_MS: '30000' });
    const [gateway, personal] = [{} as BankGateway, {} as PersonalData];
    const clock = new SetClock(now);
    const gate = new RunGate(office.database, gateway, personal, replaced, NOT_LOOKED, clock, config);
    const run = await office.database.inEmployer(ours.employer, (tx) => findRun(tx, ours.spareRun));
    const claim = { employerId: ours.employer } as Claim;
    const answer = await gate.step(claim, run).catch((error: unknown) => error);
    return answer === wentOn ? undefined : (answer as number);
  }

  it('waits until that cannot be, and no longer', async () => {
    const found = [];
    for (const before of ['0 s', '20 s', '30 s', '30.001 s']) found.push(await waits(before, {}));
    expect(found).toEqual([30_001, 10_001, 1, undefined]);
  });

  it('waits too where the account was attached anew since', async () => {
    expect(await waits('20 s', { sets: paidFrom(DETACHED) })).toBe(10_001);
  });

  it.each([
    [
      'yet another is under way',
      { sets: `UPDATE instruction SET status = 'SUBMIT_UNKNOWN' WHERE id = '${ours.instruction[1]}'` },
    ],
    ['it would miss its cut-off by it', { now: '2026-11-27T15:59:40Z' }],
    ['its balance is not read', { sets: `UPDATE employer_account SET reads = '{INSTRUCTION_PAYMENTS}'` }],
    [
      'that was paid from another account',
      { sets: `UPDATE pay_run SET account_id = gen_random_uuid() WHERE id = '${ours.run}'` },
    ],
  ])('does not wait where %s', async (_, so) => {
    expect(await waits('10 s', so)).toBeUndefined();
  });
});

describe('a run gate that stops something', () => {
  it('keeps no switch as it is before that: whoever else stops something would wait for it, and it for them', async () => {
    const { superuserUrl } = office.server;
    await atItsGate(`
       UPDATE planned_instruction SET run_version = 99 WHERE id = '${ours.planned[1]}';
       UPDATE instruction SET status = 'VERIFIED', pay_run_id = '${ours.spareRun}', planned_instruction_id = '${ours.planned[2]}'
       WHERE id = '${ours.unmoved}'`);
    await office.database.inEmployer(ours.employer, async (tx) => wake(tx, 'RUN', [ours.spareRun]));
    const [claim] = await new Leases(office.database).claim('RUN', 'first', 1, 60_000);
    const [run, planned] = await office.database.inEmployer(ours.employer, async (tx) => [
      await findRun(tx, ours.spareRun),
      await tx.manager.findOneByOrFail(PlannedInstruction, { id: ours.planned[2] }),
    ]);
    const replaced = new ReplacedLook(office.database, {
      at: () => Promise.resolve({ moved: [], unseen: [] }),
    } as never);
    const config = { BANK_AMOUNT_UNIT: 'minor' } as unknown as Config;
    const clock = new SetClock('2026-03-10T10:00:00Z');
    const [gateway, personal] = [{} as BankGateway, {} as PersonalData];
    const gate = new RunGate(office.database, gateway, personal, replaced, NOT_LOOKED, clock, config);
    gate['readRun'] = () => Promise.resolve({ computed: Buffer.alloc(32), tampered: [planned] });
    await connected(superuserUrl, async (submitter) => {
      await submitter.query(`BEGIN; SELECT FROM employer WHERE id = '${ours.employer}' FOR SHARE`);
      const underWay = gate.step(claim!, run);
      await eventually(() => isWaitedFor(submitter), 5_000);
      const own = `SELECT FROM employer WHERE id = '${ours.employer}' FOR UPDATE NOWAIT`;
      await expect(submitter.query(own)).resolves.toBeDefined();
      const all = 'SELECT FROM service_switch FOR UPDATE NOWAIT';
      await expect(submitter.query(all)).resolves.toBeDefined();
      await submitter.query('COMMIT');
      await underWay;
    });
    const reason = `SELECT stopped_reason FROM employer WHERE id = '${ours.employer}'`;
    expect(await select(superuserUrl, reason)).toEqual([{ stopped_reason: 'INVARIANT_BREACH' }]);
  });
});

describe('a run gate', () => {
  const OPEN = { status: 'OPENED', balanceMinor: 1_000n, availableMinor: 500n };
  /** Another run is about to take 200 from the account, and this one 300: what it comes to. */
  async function comesTo({
    sets = '',
    atBank = {},
    now = '2026-11-26T10:00:00Z',
    hash = 1,
    isTampered = false,
    seen = {},
  }: {
    sets?: string;
    atBank?: Partial<typeof OPEN>;
    now?: string;
    hash?: number;
    isTampered?: boolean;
    seen?: object;
  }): Promise<string> {
    await atItsGate(`
      UPDATE employer_account SET reads = '{INSTRUCTION_PAYMENTS,BALANCE}', probed_at = now();
      UPDATE planned_instruction SET pay_run_id = '${ours.spareRun}' WHERE id = '${ours.planned[2]}';
      UPDATE instruction SET status = 'VERIFIED', pay_run_id = '${ours.spareRun}', planned_instruction_id = '${ours.planned[2]}'
      WHERE id = '${ours.unmoved}';
      DELETE FROM forgotten_instruction; DELETE FROM moved_instruction; DELETE FROM attention; DELETE FROM service_stop;
      UPDATE service_switch SET submits_off = false, reason = NULL;
      INSERT INTO person_role (employer_id, person_id, role) VALUES ('${ours.employer}', '${APPROVER}', 'approver');
      INSERT INTO approval (employer_id, id, pay_run_id, run_version, approver_id, prepared_by, root_hash)
      VALUES ('${ours.employer}', '${ours.fresh[0]}', '${ours.spareRun}', 1, '${APPROVER}', '${PREPARER}', '${hashOf(1)}');
      ${sets}`);
    await office.database.inEmployer(ours.employer, async (tx) => wake(tx, 'RUN', [ours.spareRun]));
    const [claim] = await new Leases(office.database).claim('RUN', 'first', 1, 60_000);
    const [run, planned] = await office.database.inEmployer(ours.employer, async (tx) => [
      await findRun(tx, ours.spareRun),
      await tx.manager.findOneByOrFail(PlannedInstruction, { id: ours.planned[2] }),
    ]);
    const replaced = new ReplacedLook(office.database, {
      at: () => Promise.resolve({ moved: [], unseen: [], ...seen }),
    } as never);
    const config = testConfig({ BANK_TIME_ZONE: 'UTC', BANK_CUT_OFF: '16:00', BANK_AMOUNT_UNIT: 'minor' });
    const gateway = { getAccount: () => Promise.resolve({ ...OPEN, ...atBank }) } as unknown as BankGateway;
    const personal = {} as PersonalData;
    const gate = new RunGate(
      office.database,
      gateway,
      personal,
      replaced,
      NOT_LOOKED,
      new SetClock(now),
      config,
    );
    const computed = Buffer.alloc(32, hash);
    gate['readRun'] = () => Promise.resolve({ computed, tampered: isTampered ? [planned] : [] });
    await gate.step(claim!, run);
    const { status, lapseReason } = await office.database.inEmployer(ours.employer, (tx) =>
      findRun(tx, ours.spareRun),
    );
    return lapseReason ?? status;
  }
  const ofPayments = (sql: string) => `UPDATE payment SET ${sql} WHERE pay_run_id = '${ours.run}' AND live`;
  const SUBMITTED = `UPDATE pay_run SET status = 'FOLLOWING' WHERE id = '${ours.run}';
    UPDATE instruction SET status = 'SUBMITTED' WHERE id = '${ours.instruction[0]}';
    UPDATE bank_payment SET row_no = 9 WHERE payment_id = '${ours.secondPayment}';
    ${ofPayments(`status = 'SUBMITTED'`)};`;
  const ranked = (rank: number) => `${SUBMITTED} UPDATE bank_payment SET bank_rank = ${rank}`;
  const CHARGED = `${ofPayments('charges_minor = 10')};`;

  it.each<[string, Parameters<typeof comesTo>[0]]>([
    ['the available balance covers it and what others are about to take', {}],
    ['the bank holds what others submitted', { sets: ranked(1_000), atBank: { availableMinor: 300n } }],
    ['the charges to be expected of both are covered', { sets: CHARGED, atBank: { availableMinor: 550n } }],
    [
      'others take from an account with another IBAN',
      {
        sets: CHARGED + paidFrom({ bank_account_id: 'another', iban_hash: hashOf(7) }),
        atBank: { availableMinor: 300n },
      },
    ],
  ])('opens where %s', async (_, so) => {
    expect(await comesTo(so)).toBe('SUBMITTING');
  });

  it.each<[string, Parameters<typeof comesTo>[0]]>([
    ['a cent lacks of that', { atBank: { availableMinor: 499n } }],
    [
      'it lacks of what is built again',
      { sets: ofPayments(`status = 'APPROVED'`), atBank: { availableMinor: 499n } },
    ],
    ['it lacks of what the bank does not hold yet', { sets: ranked(10), atBank: { availableMinor: 499n } }],
    ['it lacks of the charges', { sets: CHARGED, atBank: { availableMinor: 549n } }],
    [
      'it lacks of the charges, and the account was attached anew since these were taken',
      { sets: CHARGED + paidFrom(DETACHED), atBank: { availableMinor: 549n } },
    ],
    [
      'it lacks of what others take by another id of the account with its IBAN',
      { sets: paidFrom(SAME_IBAN), atBank: { availableMinor: 499n } },
    ],
    [
      'no read was found by which its submits are checked',
      { sets: `UPDATE employer_account SET probed_at = NULL` },
    ],
    ['the bank shows the account as blocked', { atBank: { status: 'SUSPENDED' } }],
    [
      'the unit of amounts is not confirmed',
      { sets: `UPDATE employer_account SET unit_confirmed = 'major'` },
    ],
    [
      'an instruction is built again',
      { sets: `UPDATE instruction SET status = 'BUILDING' WHERE id = '${ours.unmoved}'` },
    ],
    [
      'the run is stopped',
      {
        sets: `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a doubt' WHERE id = '${ours.spareRun}'`,
      },
    ],
    ['the stored rows are not those approved', { isTampered: true }],
    [
      'what it pays again is not shown',
      {
        seen: {
          unseen: [{ paymentId: ours.payment, instructionId: ours.unmoved, bankInstructionId: '4711' }],
        },
      },
    ],
  ])('stays shut where %s', async (_, so) => {
    expect(await comesTo(so)).toBe('VERIFIED');
  });

  it.each<[string, Parameters<typeof comesTo>[0], RegExp]>([
    ['its terms are not those approved', { hash: 2 }, /^the account or terms of the run are not/],
    [
      'an approval is gone',
      { sets: `DELETE FROM approval WHERE pay_run_id = '${ours.spareRun}'` },
      /^fewer approvals stand/,
    ],
    [
      'more approvals are required',
      { sets: `UPDATE employer SET approvals_required = 2` },
      /^fewer approvals stand/,
    ],
    ['who approved may not any more', { sets: `DELETE FROM person_role WHERE role = 'approver'` }, /approve/],
    [
      'its cut-off cannot be met',
      { now: '2026-11-27T15:59:59Z' },
      /^the cut-off of the execution date cannot be met/,
    ],
  ])('has the approval lapse where %s', async (_, so, why) => {
    expect(await comesTo(so)).toMatch(why);
  });
});
