import { newId } from '../../src/database/new-id';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(() => payroll.close());

it.each(['nothing', 'a payment whose account and date the bank did not show'])(
  'a submit that the bank executes twice is told 200 days after a restore that forgot %s',
  async (forgot) => {
    payroll = await Payroll.start({
      rowsPerInstruction: 3,
      sandbox: { variants: { secondSubmit: 'executed' } },
    });
    const id = newId();
    const at = "now() - interval '200 days'";
    await execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO database_restore (id, what, noticed_at, told_at, bank_read_at, nth) VALUES ('${id}', 'a backup', ${at}, ${at}, ${at}, 1);
       ${forgot === 'nothing' ? '' : `INSERT INTO forgotten_debit (restore_id, bank_instruction_id, found_at) VALUES ('${id}', '4711', ${at});`}
       UPDATE employer SET known_restores = 1`,
    );
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 2 });
    const run = await payroll.uploaded(payFile(payRows(6)));
    const path = payroll.path(`/pay-runs/${run.id}`);
    const { items } = (await payroll.as('approver').get(`${path}/holds?open=true`)).data;
    for (const { payment, code } of items)
      await payroll
        .as('approver')
        .post(`${path}/holds/release`, { paymentId: payment?.id, code, reason: 'the bank was asked' });
    expect((await payroll.approve(await payroll.run(run.id))).status).toBe(200);
    await payroll.until(run.id, ['SETTLED'], 30_000);
    await eventually(
      async () => (await payroll.ledger()).payees.filter(({ count }) => count === 2).length === 3,
      10_000,
    );
    await payroll.restsForADay();
    await eventually(
      async () => (await payroll.attention()).length > 0,
      10_000,
      () => `paid twice: ${JSON.stringify(forgot)}, and nobody was told`,
    );
  },
);
