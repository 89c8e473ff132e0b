import type { BankGateway } from '../../src/bank/gateway';
import type { Config } from '../../src/config/env';
import { PersonalData } from '../../src/database/personal-data';
import { Claim, Leases, wake } from '../../src/database/leases';
import { PlannedInstruction } from '../../src/pay-run/instruction.entity';
import { findRun } from '../../src/pay-run/pay-run.store';
import { ReplacedLook } from '../../src/submission/replaced-look';
import { UnsubmittedLook } from '../../src/submission/unsubmitted-look';
import { RunGate } from '../../src/submission/run-gate';
import { idsOf } from '../database/two-employers';
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
