import { BankGateway } from '../../src/bank/gateway';
import { PaymentSource } from '../../src/settlement/payment-source';
import { eventually } from '../support/eventually';
import { payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const DAY_MS = 86_400_000;

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const decided = (path: string, action: string) =>
  payroll.decide(path, { action, reason: 'the bank was asked', evidence: 'letter 4711 of the bank' });
const askedOnce = (kind: string) =>
  eventually(async () => {
    await payroll.wakeAll();
    return (await kinds()).includes(kind);
  }, 10_000);

/** A submit that two people said was executed, whose adds were answered with a status, and of which no read shows a payment. */
async function neverShown(status: string): Promise<string> {
  payroll = await Payroll.start({
    settings: { SUBMIT_DOUBT_MS: '400' },
    sandbox: { variants: { linkReads: 'allowed', omitFromLists: [] } },
  });
  const add = BankGateway.prototype.sendAdd;
  jest.spyOn(BankGateway.prototype, 'sendAdd').mockImplementation(async function (
    this: BankGateway,
    ...asked
  ) {
    const outcome = await add.apply(this, asked);
    return outcome.kind === 'yes' ? { ...outcome, value: { ...outcome.value, status } } : outcome;
  });
  const { id, path } = await payroll.parked(payRows(3));
  const shown = jest.spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf').mockResolvedValue([]);
  expect((await decided(path, 'EXECUTED')).status).toBe(200);
  const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
  await payroll.deleteAtBank(String(bankInstructionId));
  shown.mockRestore();
  payroll.clock.offsetMs += 7 * DAY_MS;
  return id;
}

describe.each(['INITIATED', 'INI_QUEUED'])(
  'what the bank never shows once it answered its adds with %s',
  (status) => {
    it('ends by the word of the bank', async () => {
      const id = await neverShown(status);
      await askedOnce('ENDED_BY_BANK');
      const ended = await decided(await payroll.askedAbout(id, 'ENDED_BY_BANK'), 'NOT_EXECUTED');
      expect([ended.status, ended.data.code]).toEqual([200, undefined]);
    });

    it('is not in doubt for a successor once it was declared not paid', async () => {
      const id = await neverShown(status);
      await askedOnce('UNKNOWN_STATUS');
      const unpaid = await decided(await payroll.askedAbout(id, 'UNKNOWN_STATUS'), 'NOT_PAID');
      expect([unpaid.status, unpaid.data.code]).toEqual([200, undefined]);
      await eventually(async () => {
        await payroll.wakeAll();
        return (await payroll.run(id)).status === 'FAILED';
      }, 10_000);
      const made = await payroll.successorOf(id);
      expect(JSON.stringify(made.data)).not.toContain('PAYMENT_STATUS_UNCLEAR');
    });
  },
);
