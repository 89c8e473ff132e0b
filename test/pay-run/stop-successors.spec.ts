import { Client } from 'pg';
import { stopSuccessors } from '../../src/pay-run/stop-successors';
import { idsOf } from '../database/two-employers';
import { execute, isLockAwaited, select } from '../support/database';
import { eventually } from '../support/eventually';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);

describe('payments of several instructions that moved after they were replaced', () => {
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
    // The spare run pays both again; what else must hold of a run is beside the point.
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO bank_payment
       SELECT (jsonb_populate_record(b, jsonb_build_object('instruction_id', '${ours.instruction[1]}',
         'row_no', 2, 'payment_id', '${ours.voidPayment}', 'bank_payment_id', 'bank-payment-1-2'))).*
       FROM bank_payment b WHERE instruction_id = '${ours.instruction[0]}' AND row_no = 1;
       INSERT INTO payment
       SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'pay_run_id', '${ours.spareRun}',
         'employee_id', 'again ' || row_no, 'status', 'READY', 'live', true, 'replaces_payment_id', id))).*
       FROM payment p WHERE id IN ('${ours.payment}', '${ours.voidPayment}')`,
    );
  });
  afterEach(() => office.close());

  it('are asked of the bank by all of these', async () => {
    const moved = [ours.payment, ours.voidPayment].map((paymentId) => ({ paymentId }));
    const shown = { shown: 'SETTLED', words: [] };
    await office.database.inEmployer(ours.employer, (tx) => stopSuccessors(tx, moved, () => shown));
    expect(
      await select(
        office.server.superuserUrl,
        `SELECT kind, payments, ask_bank FROM attention WHERE resolved_at IS NULL`,
      ),
    ).toEqual([
      {
        kind: 'REPLACED_PAYMENT_MOVED',
        payments: 2,
        ask_bank: expect.stringMatching(/ customer instruction bank-1-1, bank-1-2 paid after all\?/),
      },
    ]);
  });

  it('stop nothing that was sent where people are asked about them otherwise, but for those of which they are not', async () => {
    const { superuserUrl } = office.server;
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE payment SET status = 'SUBMITTED' WHERE pay_run_id = '${ours.spareRun}'`,
    );
    const shown = { shown: 'less', words: [] };
    const tell = (isAsked: boolean) =>
      office.database.inEmployer(ours.employer, (tx) =>
        stopSuccessors(
          tx,
          [
            { paymentId: ours.payment, isAsked: true },
            { paymentId: ours.voidPayment, isAsked },
          ],
          () => shown,
        ),
      );
    const asked = () =>
      select(superuserUrl, 'SELECT kind, payments FROM attention WHERE resolved_at IS NULL');
    await tell(true);
    expect(await asked()).toEqual([]);
    expect(await select(superuserUrl, 'SELECT FROM service_switch WHERE submits_off')).toEqual([]);
    await tell(false);
    expect(await asked()).toEqual([{ kind: 'INVARIANT_BREACH', payments: 1 }]);
  });

  it('stop everything where their successors are being submitted at that moment', async () => {
    const { superuserUrl } = office.server;
    const [plan] = ours.fresh;
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE pay_run SET status = 'SUBMITTING' WHERE id = '${ours.spareRun}';
       UPDATE payment SET status = 'AT_BANK' WHERE pay_run_id = '${ours.spareRun}';
       INSERT INTO planned_instruction
       SELECT (jsonb_populate_record(n, jsonb_build_object('id', '${plan}', 'pay_run_id', '${ours.spareRun}',
         'last_row', 9))).*
       FROM planned_instruction n WHERE id = '${ours.planned[0]}'`,
    );
    const submitter = new Client({ connectionString: superuserUrl });
    await submitter.connect();
    try {
      await submitter.query(
        `BEGIN; SET LOCAL session_replication_role = replica;
         SELECT FROM pay_run WHERE id = '${ours.spareRun}' FOR SHARE;
         INSERT INTO submit_attempt
         SELECT (jsonb_populate_record(s, jsonb_build_object('id', '${plan}', 'planned_instruction_id', '${plan}',
           'outcome', null))).*
         FROM submit_attempt s WHERE id = '${ours.attempt}'`,
      );
      const moved = [ours.payment, ours.voidPayment].map((paymentId) => ({ paymentId }));
      const shown = { shown: 'SETTLED', words: [] };
      const stopped = office.database.inEmployer(ours.employer, (tx) =>
        stopSuccessors(tx, moved, () => shown),
      );
      await eventually(() => isLockAwaited(superuserUrl), 5_000);
      await submitter.query('COMMIT');
      await stopped;
    } finally {
      await submitter.end();
    }
    expect(
      await select(superuserUrl, 'SELECT kind, payments FROM attention WHERE resolved_at IS NULL'),
    ).toEqual([{ kind: 'INVARIANT_BREACH', payments: 2 }]);
    expect(await select(superuserUrl, 'SELECT submits_off FROM service_switch')).toEqual([
      { submits_off: true },
    ]);
  });
});
