import { IsNull } from 'typeorm';
import { Attention } from '../../src/pay-run/attention.entity';
import { aboutInstruction, raise } from '../../src/pay-run/attention.store';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { closeMadeAgain, tellOfReturned } from '../../src/pay-run/made-again';
import { idsOf } from '../database/two-employers';
import { execute, isLockAwaited } from '../support/database';
import { eventually } from '../support/eventually';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);
/** Rows 1 and 2 of the instruction. */
const [FIRST, SECOND] = [ours.payment, ours.voidPayment];

describe('people whose pay came back', () => {
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
    await replicate(`UPDATE planned_instruction SET last_row = 2 WHERE id = '${ours.planned[0]}'`);
  });
  afterEach(() => office.close());

  const replicate = (sql: string) =>
    execute(office.server.superuserUrl, `SET session_replication_role = replica; ${sql}`);
  const comeBack = (ids: readonly string[], at = 'clock_timestamp()') =>
    replicate(
      `UPDATE payment SET status = 'SETTLED', live = true, returned_at = ${at} WHERE id IN ('${ids.join("', '")}')`,
    );
  const tell = (once = 'SELECT') =>
    office.database.inEmployer(ours.employer, async (tx) => {
      await tx.query(once);
      await tellOfReturned(tx, await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] }));
    });
  const close = () => office.database.inEmployer(ours.employer, closeMadeAgain);
  const open = () =>
    office.database.inEmployer(ours.employer, (tx) =>
      tx.manager.find(Attention, {
        where: { employerId: ours.employer, kind: 'PAYMENT_RETURNED', resolvedAt: IsNull() },
      }),
    );
  /** A successor of the run that pays a payment again. */
  const paidAgain = (id: string, status: string) =>
    replicate(
      `INSERT INTO pay_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'sequence', 9,
         'parent_run_id', r.id, 'status', '${status}'))).* FROM pay_run r WHERE r.id = '${ours.run}';
       INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'pay_run_id', r.id,
         'replaces_payment_id', p.id, 'status', 'AT_BANK', 'returned_at', NULL, 'release_sequence', 9))).*
       FROM payment p, pay_run r WHERE p.id = '${id}' AND r.parent_run_id = '${ours.run}'`,
    );
  const FOLLOWING = `UPDATE pay_run SET status = 'FOLLOWING' WHERE parent_run_id = '${ours.run}'`;
  /** Another run pays who was paid by a payment, and replaces nothing. */
  const paidOtherwise = (id: string, returnedAt = 'NULL') =>
    replicate(
      `INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(),
         'pay_run_id', '${ours.spareRun}', 'status', 'SETTLED', 'release_sequence', 9, 'returned_at', ${returnedAt}))).*
       FROM payment p WHERE p.id = '${id}'`,
    );
  /** The bank shows two ends of a payment. */
  const contradicted = (paymentId: string) =>
    office.database.inEmployer(ours.employer, (tx) =>
      raise(tx, {
        kind: 'CONTRADICTION',
        subjectId: paymentId,
        paymentId,
        payRunId: ours.run,
        happened: 'The bank showed a second final status that differs from the first.',
      }),
    );
  const came = (rows: string) => `What had been paid by a submitted instruction came back: ${rows}.`;
  const told = async () => (await open()).map(({ happened, payments }) => [happened, payments]);

  it('are told of in one question of their instruction, with what they were paid', async () => {
    await comeBack([FIRST]);
    await tell();
    await tell();
    expect(await open()).toEqual([
      expect.objectContaining({
        happened: came('row 1'),
        certain: expect.stringContaining('These people are not paid') as string,
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

  it('are not told of again once people took note of it, but for whom they were not told of, whenever that came back', async () => {
    await comeBack([FIRST]);
    await tell();
    await office.decide();
    await tell();
    expect(await open()).toEqual([]);
    await comeBack([SECOND], `now() - interval '1 second'`);
    await tell();
    expect(await told()).toEqual([[came('row 2'), 1]]);
  });

  it('are told of on where two people decided it of some while it was told of more', async () => {
    await comeBack([FIRST]);
    await tell();
    await office.decide();
    await comeBack([SECOND], `now() - interval '1 second'`);
    await office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      const about = aboutInstruction(instruction);
      await raise(tx, { kind: 'PAYMENT_RETURNED', ...about, happened: came('rows 1, 2'), payments: 2 });
    });
    await close();
    expect(await told()).toEqual([[came('row 2'), 1]]);
  });

  it('are told of until a run that is submitted pays them again', async () => {
    await comeBack([FIRST]);
    await tell();
    await paidAgain(FIRST, 'SUBMITTING');
    await close();
    expect(await told()).toEqual([[came('row 1'), 1]]);
    await replicate(FOLLOWING);
    await close();
    expect(await open()).toEqual([]);
  });

  it('are told of anew once some of them are paid again', async () => {
    await comeBack([FIRST, SECOND]);
    await tell();
    expect(await told()).toEqual([[came('rows 1, 2'), 2]]);
    const [before] = await open();
    await close();
    expect((await open()).map(({ id }) => id)).toEqual([before!.id]);
    await paidAgain(FIRST, 'FOLLOWING');
    await close();
    expect(await open()).toEqual([
      expect.objectContaining({ happened: came('row 2'), payments: 1, amountMinor: 100n }),
    ]);
  });

  it('are told of without those whose run is submitted at that moment', async () => {
    await comeBack([FIRST]);
    await tell();
    await paidAgain(FIRST, 'SUBMITTING');
    await comeBack([SECOND]);
    await replicate(`UPDATE payment SET returned_at = NULL WHERE id = '${SECOND}'`);
    let beside = Promise.resolve();
    await office.database.inEmployer(ours.employer, async (tx) => {
      await tx.query(FOLLOWING);
      await closeMadeAgain(tx);
      beside = tell(`UPDATE payment SET returned_at = clock_timestamp() WHERE id = '${SECOND}'`);
      await eventually(() => isLockAwaited(office.server.superuserUrl), 5_000);
    });
    await beside;
    expect(await told()).toEqual([[came('row 2'), 1]]);
  });

  it('are not said to be unpaid where another payment of the period pays them, and are told apart', async () => {
    await comeBack([FIRST]);
    await paidOtherwise(FIRST);
    await tell();
    const [alone] = await open();
    expect(alone!.happened).toBe(
      `${came('row 1')} Another payment of the period pays the person of row 1, or may.`,
    );
    expect(alone!.certain).not.toContain('not paid');
    expect(alone!.certain).toContain('acknowledge');
    await comeBack([SECOND]);
    await tell();
    const [both] = await open();
    expect(both!.happened).toBe(
      `${came('rows 1, 2')} Another payment of the period pays the person of row 1, or may.`,
    );
    expect(both!.certain).toContain('The others are not paid');
    expect(both!.certain).not.toContain('These people');
  });

  it('are told apart once a run that is submitted pays them without replacing what came back', async () => {
    await comeBack([FIRST]);
    await tell();
    await paidOtherwise(FIRST);
    await close();
    expect((await open()).map(({ certain }) => certain)).toEqual([
      expect.not.stringContaining('not paid') as string,
    ]);
  });

  it('are said to be unpaid where the other payment came back too', async () => {
    await comeBack([FIRST]);
    await paidOtherwise(FIRST, 'now()');
    await tell();
    expect(await told()).toEqual([[came('row 1'), 1]]);
  });

  it('are left to the question about two ends of their payment, whichever comes first', async () => {
    await comeBack([FIRST]);
    await contradicted(FIRST);
    await tell();
    expect(await open()).toEqual([]);
    await comeBack([SECOND]);
    await tell();
    expect(await told()).toEqual([[came('row 2'), 1]]);
    await contradicted(SECOND);
    await tell();
    expect(await open()).toEqual([]);
  });

  it('may be paid by a payment of two ends that theirs was made in the stead of', async () => {
    await comeBack([FIRST]);
    await replicate(`UPDATE payment SET replaces_payment_id = '${ours.secondPayment}' WHERE id = '${FIRST}'`);
    await contradicted(ours.secondPayment);
    await tell();
    expect((await open()).map(({ certain }) => certain)).toEqual([
      expect.not.stringContaining('not paid') as string,
    ]);
  });
});
