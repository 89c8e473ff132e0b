import type { BankGateway } from '../../src/bank/gateway';
import type { Config } from '../../src/config/env';
import { PersonalData } from '../../src/database/personal-data';
import { Leases, wake } from '../../src/database/leases';
import { PlannedInstruction } from '../../src/pay-run/instruction.entity';
import { findRun } from '../../src/pay-run/pay-run.store';
import { ReplacedLook } from '../../src/submission/replaced-look';
import { RunGate } from '../../src/submission/run-gate';
import { idsOf } from '../database/two-employers';
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

describe('a run gate that stops something', () => {
  it('keeps no switch as it is before that: whoever else stops something would wait for it, and it for them', async () => {
    const { superuserUrl } = office.server;
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE pay_run SET status = 'VERIFIED' WHERE id = '${ours.spareRun}';
       UPDATE planned_instruction SET run_version = 99 WHERE id = '${ours.planned[1]}';
       UPDATE instruction SET status = 'VERIFIED', pay_run_id = '${ours.spareRun}', planned_instruction_id = '${ours.planned[2]}'
       WHERE id = '${ours.unmoved}'`,
    );
    await office.database.inEmployer(ours.employer, async (tx) =>
      wake(tx, 'RUN', ours.employer, [ours.spareRun]),
    );
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
    const gate = new RunGate(office.database, {} as BankGateway, {} as PersonalData, replaced, clock, config);
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
