import axios from 'axios';
import { execute, select } from '../support/database';
import { payFile, payRows, Row } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

describe('following a submitted run', () => {
  let payroll: Payroll | undefined;
  afterEach(async () => {
    await payroll?.close();
    payroll = undefined;
  });

  it('finishes without any webhook, by polling alone', async () => {
    payroll = await Payroll.start({ sandbox: { stepMs: 20 } });
    const hooks = await axios.get(`${payroll.bank.url}/api/distributor/v1/hooks`, {
      headers: { authorization: 'Bearer sandbox-token' },
    });
    expect(hooks.data).toEqual([]);
    const id = await payroll.paid(payFile(payRows(20)));
    await payroll.until(id, ['SETTLED'], 30_000);
  });

  it('finishes by webhooks while polling is slowed to an hour', async () => {
    payroll = await Payroll.start({
      sandbox: { stepMs: 150 },
      settings: { FOLLOW_DELAYS_MS: '3600000', PUBLIC_URL: 'http://127.0.0.1:1' },
      hooked: true,
    });
    const id = await payroll.paid(payFile(payRows(20)));
    await payroll.until(id, ['SETTLED'], 30_000);
    const inbox = await payroll.inbox();
    expect(inbox.length).toBeGreaterThan(0);
    expect(inbox.every((one) => one.event.length > 0)).toBe(true);
  });

  it.each([
    ['after the first delay, where its answer showed that the totals are right', 'at-once', false],
    ['at once, where its answer did not', 'later', true],
  ] as const)('reads what was submitted %s', async (_when, submitRuns, atOnce) => {
    payroll = await Payroll.start({
      sandbox: { variants: { submitRuns, linkReads: 'allowed' } },
      // What is not answered in time, or taken over from who lost its lease, is read at once, too.
      settings: { FOLLOW_DELAYS_MS: '600000', BANK_TIMEOUT_MS: '20000', LEASE_MS: '20000' },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['FOLLOWING', 'SETTLED'], 20_000);
    const readSinceSubmit = async () => {
      const [instruction] = await select<{ read: boolean }>(
        payroll!.database.superuserUrl,
        `SELECT woken_at IS NULL AS read FROM lease WHERE kind = 'FOLLOW'`,
      );
      return instruction?.read === true;
    };
    if (atOnce) return eventually(readSinceSubmit, 10_000);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await readSinceSubmit()).toBe(false);
  });

  it('compares what ended once more soon after, by one call, and reads it whole where somebody asked for it', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '5000' },
      sandbox: { variants: { linkReads: 'allowed', optionalFields: 'sent', groupsLeaveOut: 'nothing' } },
    });
    const { database } = payroll;
    const comparedAgain = async (id: string) => {
      const [instruction] = await select<{ again: boolean }>(
        database.superuserUrl,
        `SELECT totals_checked_at > closed_at + interval '1 second' AS again FROM instruction WHERE pay_run_id = split_part($1, '_', 2)::uuid`,
        [id],
      );
      return instruction?.again === true;
    };
    const callsOfSecondLook = async (rows: readonly Row[], meanwhile: () => Promise<void>) => {
      const id = await payroll!.paid(payFile(rows));
      await payroll!.until(id, ['SETTLED'], 20_000);
      const before = await payroll!.calls();
      await meanwhile();
      await eventually(() => comparedAgain(id), 10_000);
      const after = await payroll!.calls();
      return ['getInstruction', 'listInstructionPaymentTransactions', 'listPaymentTransactions'].map(
        (operation) => (after[operation] ?? 0) - (before[operation] ?? 0),
      );
    };
    expect(await callsOfSecondLook(payRows(3), async () => undefined)).toEqual([1, 0, 0]);
    const asked = await callsOfSecondLook(payRows(3, 4), () =>
      execute(database.superuserUrl, `UPDATE lease SET woken_at = now() WHERE kind = 'FOLLOW'`),
    );
    expect(asked[1]! + asked[2]!).toBeGreaterThan(0);
    const open = await select(
      database.superuserUrl,
      `SELECT FROM lease WHERE kind = 'FOLLOW' AND woken_at IS NOT NULL AND wake_at < now() + interval '1 hour'`,
    );
    expect(open).toEqual([]);
  });

  it.each([
    ['names an instruction', (id: string) => ({ customerInstructionId: id })],
    ['of payments names their account alone', () => ({ accountId: '1002' })],
  ])('reads again for a webhook whose very bytes came before, which %s', async (_what, dataOf) => {
    payroll = await Payroll.start({
      sandbox: { stepMs: 600_000, variants: { submitRuns: 'at-once', linkReads: 'allowed' } },
      settings: { FOLLOW_DELAYS_MS: '600000' },
    });
    await payroll.until(await payroll.paid(payFile(payRows(2))), ['FOLLOWING'], 20_000);
    const [instruction] = (await payroll.ledger()).instructions;
    const told = JSON.stringify({
      id: 'e7',
      webhookId: '1',
      type: 'payment_transaction',
      event: 'payment_transaction.settled',
      data: dataOf(String(instruction!.id)),
    });
    const reads = async () => (await payroll!.calls()).listInstructionPaymentTransactions ?? 0;
    for (let delivery = 0; delivery < 3; delivery += 1) {
      const before = await reads();
      expect((await payroll.deliver(told)).status).toBe(200);
      await eventually(async () => (await reads()) > before, 10_000);
    }
    expect(await payroll.inbox()).toHaveLength(1);
  });

  it('believes no webhook: a forged one is refused, and one that lies moves nothing', async () => {
    payroll = await Payroll.start({ sandbox: { stepMs: 600_000 } });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    const [instruction] = (await payroll.ledger()).instructions;
    const lie = JSON.stringify({
      id: 'e1',
      webhookId: '1',
      type: 'payment_transaction',
      event: 'payment_transaction.settled',
      data: { paymentTransactionId: instruction!.rows[0] },
    });
    const forged = await payroll.deliver(lie, 'a secret of somebody else');
    expect(forged.status).toBe(401);
    const lying = await payroll.deliver(lie);
    expect(lying.status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
  });
});
