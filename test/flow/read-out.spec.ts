import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

describe('what an attention says on the telephone', () => {
  let payroll: Payroll;
  let next = 1;
  beforeAll(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 2,
      settings: { REBUILD_LIMIT: '1' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
  });
  afterAll(() => payroll.close());

  /** The words about a run of two instructions whose calls meet a fault, which is over when they are told. */
  const told = async (kind: string, fault: Record<string, unknown>) => {
    next += 4;
    await payroll.fault(fault);
    const id = await payroll.paid(payFile(payRows(4, next)));
    const path = await payroll.askedAbout(id, kind);
    await payroll.clearFaults();
    const { data } = await payroll.as('operator').get(path);
    return { id, path, certain: String(data.certain), askBank: String(data.askBank) };
  };
  const bankAccountId = async () => {
    const { data } = await payroll.as('operator').get(payroll.path(`/accounts/${payroll.account}`));
    return String(data.bankAccountId);
  };

  // Before the others: whatever of a run is initiated next is refused our access, and told of once.
  it('names the account to which our access is refused', async () => {
    const { id, path, askBank } = await told('CREDENTIALS', { operation: 'initiate', kind: '403', every: 1 });
    expect(askBank).toContain(` for account ${await bankAccountId()}?`);
    expect(
      (await payroll.decide(path, { action: 'RESUME', reason: 'our scopes were put right' })).status,
    ).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
  });

  it('is true of a refused initiation while the bank knows other instructions of the run', async () => {
    const { certain } = await told('INITIATE_REFUSED', { operation: 'initiate', kind: '422', nth: 2 });
    expect(certain).toBe(
      'No instruction with these payments is known at the bank, and nothing of this run is submitted.',
    );
  });

  it('is true of initiations that stay unanswered, and names the account', async () => {
    const unanswered = { operation: 'initiate', kind: '500-before', every: 1 };
    const { certain, askBank } = await told('REBUILD_LIMIT', unanswered);
    expect(certain).toMatch(/^No instruction with these payments is known at the bank/);
    expect(askBank).toContain(` on account ${await bankAccountId()} `);
  });

  it('names the call whose answer cannot be used', async () => {
    const unusable = { operation: 'getInstruction', kind: 'garbage', every: 1 };
    const { askBank } = await told('CONTRACT_DRIFT', unusable);
    expect(askBank).toMatch(/ GET \/api\/service-domain\/v1\/customer-instructions\/\d+\b/);
  });
});
