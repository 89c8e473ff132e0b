import { IsNull } from 'typeorm';
import { Attention } from '../../src/pay-run/attention.entity';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { closeMadeAgain, tellOfReturned } from '../../src/pay-run/made-again';
import { idsOf } from '../database/two-employers';
import { execute } from '../support/database';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);

describe('people whose pay came back', () => {
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
  });
  afterEach(() => office.close());

  const comesBack = () =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE payment SET status = 'SETTLED', returned_at = clock_timestamp() WHERE id = '${ours.payment}'`,
    );
  const tell = () =>
    office.database.inEmployer(ours.employer, async (tx) =>
      tellOfReturned(tx, await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] })),
    );
  const open = () =>
    office.database.inEmployer(ours.employer, (tx) =>
      tx.manager.find(Attention, {
        where: { employerId: ours.employer, kind: 'PAYMENT_RETURNED', resolvedAt: IsNull() },
      }),
    );

  it('are told of in one question of their instruction, with what they were paid', async () => {
    await comesBack();
    await tell();
    await tell();
    expect(await open()).toEqual([
      expect.objectContaining({
        happened: 'What had been paid by a submitted instruction came back: row 1.',
        instructionId: ours.instruction[0],
        payments: 1,
        amountMinor: 100n,
      }),
    ]);
  });

  it('are not told of where nothing came back', async () => {
    await tell();
    expect(await open()).toEqual([]);
  });

  it('are not told of again once people took note of it, but for what came back later', async () => {
    await comesBack();
    await tell();
    await office.decide();
    await tell();
    expect(await open()).toEqual([]);
    await comesBack();
    await tell();
    expect(await open()).toHaveLength(1);
  });

  it('are told of until a run that is submitted pays them again', async () => {
    const close = () => office.database.inEmployer(ours.employer, closeMadeAgain);
    await comesBack();
    await tell();
    const run = `SET session_replication_role = replica;
      INSERT INTO pay_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'sequence', 9,
        'parent_run_id', r.id, 'status', 'SUBMITTING'))).* FROM pay_run r WHERE r.id = '${ours.run}';
      INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'pay_run_id', r.id,
        'replaces_payment_id', p.id, 'status', 'AT_BANK', 'returned_at', NULL, 'release_sequence', 9))).*
        FROM payment p, pay_run r WHERE p.id = '${ours.payment}' AND r.parent_run_id = '${ours.run}'`;
    await execute(office.server.superuserUrl, run);
    await close();
    expect(await open()).toHaveLength(1);
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE pay_run SET status = 'FOLLOWING' WHERE parent_run_id = '${ours.run}'`,
    );
    await close();
    expect(await open()).toEqual([]);
  });
});
