import axios from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';
import { Variants } from '../../src/bank-sandbox/variants';
import { PATHS, SCOPES } from '../../src/bank/types';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const magic = (effect: string) => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban;

describe('rows the bank does not take', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 4,
      sandbox: { variants: { failedChecks: 'end-it' } },
    });
  });
  afterAll(() => payroll.close());

  it('refused when added: nobody is paid until two people have excluded it and the rest is approved again', async () => {
    const rows = payRows(10);
    rows[5]!.iban = magic('refusedAtAdd');
    const run = await payroll.uploaded(payFile(rows));
    await payroll.approve(run);
    let attention: { id: string; kind: string } | undefined;
    await eventually(async () => {
      attention = (await payroll.attention()).find((one) => one.kind === 'ROW_REFUSED_BY_BANK');
      return attention !== undefined;
    }, 15_000);
    expect((await payroll.ledger()).payees).toEqual([]);
    const path = payroll.path(`/attention/${attention!.id}`);
    const proposal = { action: 'EXCLUDE_PAYMENT', reason: 'the bank does not know the account' };
    for (const who of ['approver', 'operator', 'finance'] as const) {
      const refused = await payroll.as(who).post(`${path}/actions`, proposal);
      expect([refused.status, refused.data.code]).toEqual([403, 'PREPARER_REQUIRED']);
    }
    expect((await payroll.as('preparer').post(`${path}/actions`, proposal)).status).toBe(201);
    const roles = (to: string) =>
      execute(
        payroll.database.superuserUrl,
        `UPDATE person_role SET role = $1 WHERE person_id = (SELECT id FROM person WHERE name = 'preparer')`,
        [to],
      );
    await roles('finance');
    expect((await payroll.confirm(path)).data.code).toBe('PROPOSER_NOT_ENTITLED');
    await roles('preparer');
    const at = payroll.path(`/pay-runs/${run.id}`);
    const tag = async () => String((await payroll.as('operator').get(at)).headers['etag']);
    const before = await tag();
    // What is built ends only once it is read.
    const reads = ['getInstruction', 'listInstructionPaymentTransactions', 'listPaymentTransactions'];
    for (const operation of [...reads, 'getPaymentTransaction'])
      await payroll.fault({ operation, kind: '500-before', every: 1 });
    expect((await payroll.confirm(path)).status).toBe(200);
    expect([(await payroll.run(run.id)).status, await tag()]).toEqual([
      'BUILDING',
      expect.not.stringMatching(before),
    ]);
    await payroll.clearFaults();
    await payroll.until(run.id, ['READY']);
    const amended = await payroll.run(run.id);
    expect(amended.runVersion).toBe(2);
    expect((await payroll.ledger()).payees).toEqual([]);
    const approved = await payroll.approve({ id: run.id, rootHash: amended.rootHash, total: amended.total });
    expect(approved.status).toBeLessThan(300);
    await payroll.until(run.id, ['SETTLED']);
    const payees = (await payroll.ledger()).payees;
    expect(payees.map((payee) => payee.count)).toEqual(Array(9).fill(1));
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${run.id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true });
  });

  it.each([
    ['notProcessable', 'FAILED'],
    ['routingFails', 'FAILED'],
    ['refusedAfterExchange', 'REJECTED'],
  ])('%s after the submit: the others are paid, and it ends %s', async (effect, status) => {
    const rows = payRows(6, effect === 'notProcessable' ? 100 : effect === 'routingFails' ? 200 : 300);
    rows[2]!.iban = magic(effect);
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['PARTLY_SETTLED']);
    const payments = (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data.items;
    expect(payments.map((payment: { status: string }) => payment.status)).toEqual(
      rows.map((_, n) => (n === 2 ? status : 'SETTLED')),
    );
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true });
  });

  it('never settles: the run stays open, and an unknown status raises attention and moves nothing', async () => {
    const rows = payRows(3, 400);
    rows[1]!.iban = magic('undocumentedStatus');
    const id = await payroll.paid(payFile(rows));
    await eventually(
      async () =>
        (await payroll.attention()).some((one) => one.kind === 'UNKNOWN_STATUS' && one.payRunId === id),
      15_000,
    );
    await payroll.until(id, ['FOLLOWING']);
    const asked = await payroll.attention();
    const { listPaymentTransactions = 0, listInstructionPaymentTransactions = 0 } = await payroll.calls();
    await eventually(async () => {
      const now = await payroll.calls();
      return (
        (now.listPaymentTransactions ?? 0) + (now.listInstructionPaymentTransactions ?? 0) >
        listPaymentTransactions + listInstructionPaymentTransactions + 4
      );
    }, 20_000);
    expect(await payroll.attention()).toEqual(asked);
  });

  it('a refused submit parks its instruction alone: the others of the run are paid', async () => {
    const rows = payRows(8, 450);
    rows[6]!.iban = magic('submitRefused');
    const id = await payroll.paid(payFile(rows));
    await eventually(
      async () =>
        (await payroll.attention()).some((one) => one.kind === 'SUBMIT_REFUSED' && one.payRunId === id),
      15_000,
    );
    await payroll.until(id, ['FOLLOWING']);
    const wanted = rows.slice(0, 4).map((row) => row.iban);
    await eventually(async () => {
      const payees = (await payroll.ledger()).payees.map((payee) => payee.iban);
      return wanted.every((iban) => payees.includes(iban));
    }, 15_000);
    const payees = (await payroll.ledger()).payees.map((payee) => payee.iban);
    expect(rows.slice(4).some((row) => payees.includes(row.iban))).toBe(false);
  });
});

describe('a payment that the bank takes and ends before the submit', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());
  const asked = async (path: string) => (await payroll.as('operator').get(path)).data;
  const paidOnce = async () => (await payroll.ledger()).payees.map(({ iban, count }) => `${iban} ${count}`);

  it.each([
    ['not-counted', 'initiationControlFails', 'INI_INT_CTRL_FAILED', 'paged'],
    ['not-listed', 'initiationNotValid', 'INI_NOT_IS_VALID', 'paged'],
    ['not-counted', 'initiationControlFails', 'INI_INT_CTRL_FAILED', 'whole'],
  ] as const)(
    'is asked about by its row where it is %s, and the others are paid once it is excluded (%s, %s, its list %s)',
    async (failedAtAdd, effect, status, instructionList) => {
      const variants = {
        failedAtAdd,
        instructionList,
        linkReads: 'allowed',
        enforceControlTotals: true,
      } as const;
      // No list but its own is read then.
      const scopes = SCOPES.filter((scope) => scope !== 'payment-instruction_view');
      const tokens = instructionList === 'whole' ? [{ token: DEFAULT_TOKEN, scopes }] : undefined;
      payroll = await Payroll.start({ sandbox: { variants, tokens } });
      const rows = payRows(3);
      rows[1]!.iban = magic(effect);
      const id = await payroll.paid(payFile(rows));
      const path = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
      const payments = (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data.items;
      const { paymentId, happened, actions } = await asked(path);
      expect([paymentId, actions]).toEqual([payments[1].id, ['EXCLUDE_PAYMENT', 'TRY_AGAIN']]);
      expect(happened).toMatch(new RegExp(`row 2, .*${status}`));
      expect(await payroll.attention()).toHaveLength(1);
      const excluded = { action: 'EXCLUDE_PAYMENT', reason: 'the bank does not pay this account' };
      expect((await payroll.decide(path, excluded)).status).toBe(200);
      await payroll.until(id, ['READY']);
      const { rootHash, total } = await payroll.run(id);
      expect((await payroll.approve({ id, rootHash, total })).status).toBeLessThan(300);
      await payroll.until(id, ['SETTLED']);
      expect((await paidOnce()).sort()).toEqual([`${rows[0]!.iban} 1`, `${rows[2]!.iban} 1`].sort());
      expect(await payroll.attention()).toEqual([]);
    },
  );

  it('is asked about where its instruction was verified before, and is paid once that is built again', async () => {
    const variants: Partial<Variants> = {
      failedAtAdd: 'not-counted',
      linkReads: 'allowed',
      omitFromLists: ['parties'],
    };
    payroll = await Payroll.start({ sandbox: { variants } });
    await payroll.stopPastTheGate();
    const rows = payRows(2);
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SUBMITTING']);
    const [added] = await select<{ id: string }>(
      payroll.database.superuserUrl,
      'SELECT bank_payment_id AS id FROM bank_payment WHERE row_no = 2',
    );
    const accountId = { type: 'IBAN', value: magic('initiationControlFails') };
    await axios.patch(
      payroll.bank.url + PATHS.creditTransferPaymentTransaction(added!.id),
      { paymentTransactionParties: { creditor: { name: 'Nobody', accountId } } },
      { headers: { authorization: `Bearer ${DEFAULT_TOKEN}` } },
    );
    await payroll.letRunsGoOn();
    const path = await payroll.askedAbout(id, 'ROW_REFUSED_IN_MID_RUN');
    expect((await asked(path)).happened).toMatch(/row 2, .*INI_INT_CTRL_FAILED/);
    const again = { action: 'TRY_AGAIN', reason: 'it was changed in the portal' };
    expect((await payroll.decide(path, again)).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
    expect((await paidOnce()).sort()).toEqual(rows.map(({ iban }) => `${iban} 1`).sort());
    expect(await payroll.attention()).toEqual([]);
  });
});
