import axios from 'axios';
import { MAGIC_CREDITORS, MagicCreditor } from '../../src/bank-sandbox/magic';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(() => payroll.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const payees = async () => (await payroll.ledger()).payees.length;
const atBank = async (verb: 'release' | 'refuse') => {
  for (const { id } of (await payroll.ledger()).instructions)
    await axios
      .post(`${payroll.bank.url}/sandbox/instructions/${id}/${verb}`)
      .catch((error: unknown) => axios.isAxiosError(error) || Promise.reject(error as Error));
};

describe.each(['strong-authentication', 'approval'] as const)(
  'a submit that waits at the bank for %s',
  (wait) => {
    const waiting = async () => {
      payroll = await Payroll.start({
        rowsPerInstruction: 4,
        // A bank that does not show its instructions is asked about by time alone, elsewhere.
        sandbox: { variants: { submitWaitsFor: wait, linkReads: 'allowed' } },
      });
      const id = await payroll.paid(payFile(payRows(8)));
      await eventually(async () => (await kinds()).length === 2, 15_000);
      return id;
    };

    it('is asked about once for each instruction, and goes on by itself when the bank lets it', async () => {
      const id = await waiting();
      expect(await kinds()).toEqual(['BANK_ACTION_REQUIRED', 'BANK_ACTION_REQUIRED']);
      expect((await payroll.run(id)).status).toBe('FOLLOWING');
      expect(await payees()).toBe(0);
      await atBank('release');
      await payroll.until(id, ['SETTLED']);
      expect(await payees()).toBe(8);
      await eventually(async () => (await kinds()).length === 0, 5_000);
    });

    it('fails with all its payments when the bank refuses it, and nobody is paid', async () => {
      const id = await waiting();
      await atBank('refuse');
      await payroll.until(id, ['FAILED']);
      expect(await payees()).toBe(0);
      await eventually(async () => (await kinds()).length === 0, 5_000);
      const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect(report.data).toMatchObject({ explained: true });
    });
  },
);

/** What a scripted payee's end makes of its payment and of the attention list; the others are paid in any case. */
const ENDS: { readonly [E in MagicCreditor['effect']]?: { status: string; kinds: string[] } } = {
  notProcessable: { status: 'FAILED', kinds: [] },
  routingFails: { status: 'FAILED', kinds: [] },
  settlementFails: { status: 'FAILED', kinds: [] },
  fails: { status: 'FAILED', kinds: [] },
  initiationControlFails: { status: 'FAILED', kinds: [] },
  initiationNotValid: { status: 'FAILED', kinds: [] },
  submissionControlFails: { status: 'FAILED', kinds: [] },
  processingControlFails: { status: 'FAILED', kinds: [] },
  refusedAfterExchange: { status: 'REJECTED', kinds: [] },
  payeeAccountClosed: { status: 'REJECTED', kinds: [] },
  rejected: { status: 'REJECTED', kinds: [] },
  cancelled: { status: 'CANCELLED', kinds: [] },
  abandoned: { status: 'CANCELLED', kinds: [] },
  exchangeError: { status: 'SUBMITTED', kinds: ['UNKNOWN_STATUS'] },
  undocumentedStatus: { status: 'SUBMITTED', kinds: ['UNKNOWN_STATUS'] },
  neverSettles: { status: 'SUBMITTED', kinds: [] },
};

describe('a run with a payee of every kind of end', () => {
  const scripted = MAGIC_CREDITORS.filter(({ effect }) => ENDS[effect] !== undefined);

  it('pays the others, ends each payment as the bank says, and asks once about what is not documented', async () => {
    // What is not counted before the submit is asked about then, and what is left where it was only when its day is over.
    payroll = await Payroll.start({
      sandbox: { variants: { failedAtAdd: 'counted', failedChecks: 'end-it' } },
    });
    const ordinary = payRows(5);
    const special = payRows(scripted.length, 100).map((row, n) => ({ ...row, iban: scripted[n]!.iban }));
    const id = await payroll.paid(payFile([...ordinary, ...special]));
    const ended = async () => {
      const { data } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`), {
        params: { limit: 100 },
      });
      return (data.items as { status: string }[]).map(({ status }) => status);
    };
    const expected = [
      ...ordinary.map(() => 'SETTLED'),
      ...scripted.map(({ effect }) => ENDS[effect]!.status),
    ];
    await eventually(
      async () => JSON.stringify(await ended()) === JSON.stringify(expected),
      20_000,
      () => 'the payments did not end as the bank ended them',
    );
    expect(await payees()).toBe(5);
    expect(await kinds()).toEqual(['UNKNOWN_STATUS']);
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
    const told = (await payroll.attention()).map(({ happened }) => happened).join();
    for (const status of ['EXCHANGE_ERROR', 'PRO_MANUAL_REVIEW']) expect(told).toContain(`${status} (rows `);
  });
});

describe('a second status whose meaning nobody knows', () => {
  it('is told anew with the first, and what was proposed on the first alone goes with it', async () => {
    const stepMs = 600_000;
    payroll = await Payroll.start({ sandbox: { stepMs, variants: { submitRuns: 'at-once' } } });
    const steps = (count: number) =>
      axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: count * stepMs });
    const scripted = MAGIC_CREDITORS.filter(({ effect }) =>
      ['undocumentedStatus', 'exchangeError'].includes(effect),
    );
    const id = await payroll.paid(payFile(payRows(2).map((row, n) => ({ ...row, iban: scripted[n]!.iban }))));
    await payroll.until(id, ['FOLLOWING']);
    // The first is at the one, the second a step before the other.
    await steps(7.5);
    const first = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const words = async () => (await payroll.attention()).map(({ happened }) => happened);
    expect(await words()).toEqual([expect.stringMatching(/^(?!.*EXCHANGE_ERROR).* PRO_MANUAL_REVIEW \(/)]);
    const proposed = await payroll
      .as('operator')
      .post(`${first}/actions`, { action: 'NOT_PAID', reason: 'it is sent back', evidence: 'letter 4711' });
    expect(proposed.status).toBe(201);
    await steps(1);
    await eventually(async () => (await words()).join().includes('EXCHANGE_ERROR'), 15_000);
    expect(await words()).toEqual([
      expect.stringMatching(
        / PRO_MANUAL_REVIEW \(rows \d\), EXCHANGE_ERROR \(rows \d\)| EXCHANGE_ERROR .*PRO_MANUAL_REVIEW/,
      ),
    ]);
    const confirmed = await payroll.confirm(first);
    expect([confirmed.status, confirmed.data.code]).toEqual([409, 'ATTENTION_IS_RESOLVED']);
  });
});
