import { BankGateway } from '../../src/bank/gateway';
import { earliestExecutionDate, nextBankingDay } from '../../src/domain/business-day';
import { InstructionReader } from '../../src/submission/read-back';
import { execute, select } from '../support/database';
import { payFile, payRows, Row } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const CUT_OFF = 'T16:00:00Z';

describe('the cut-off of the execution date', () => {
  let payroll: Payroll;
  let date: string;
  beforeEach(async () => {
    ({ payroll, date } = await Payroll.startOnPayday({
      rowsPerInstruction: 2,
      settings: { BANK_TIMEOUT_MS: '3000' },
    }));
  });
  afterEach(() => payroll.close());

  /** A run that was approved for 15:00, and lapsed under a service that is set otherwise. */
  const lapsedUnder = async (settings: Parameters<Payroll['addReplica']>[0]) => {
    const run = await payroll.uploaded(payFile(payRows(4)), {
      executionDate: date,
      submitAt: `${date}T15:00:00Z`,
    });
    await payroll.approve(run);
    await payroll.stopServices();
    payroll.url = (await payroll.addReplica(settings)).url;
    await payroll.until(run.id, ['READY'], 15_000);
    const [lapsed] = await payroll.attention();
    return { run, lapsed };
  };

  it('missed before the run was due: the approval lapses, and a new date is approved again', async () => {
    const rows = payRows(4);
    const run = await payroll.uploaded(payFile(rows), { executionDate: date, submitAt: `${date}T15:00:00Z` });
    await payroll.approve(run);
    payroll.clock.set(new Date(`${date}T16:30:00Z`));
    await payroll.until(run.id, ['READY'], 15_000);
    expect((await payroll.attention()).map((one) => one.kind)).toEqual(['APPROVAL_LAPSED']);
    expect((await payroll.ledger()).payees).toEqual([]);
    const tooLate = await payroll.as('preparer').post(payroll.path(`/pay-runs/${run.id}/amendments`), {
      executionDate: date,
      reason: 'the same date',
    });
    expect(tooLate.data.code).toBe('CUT_OFF_PASSED');
    const cancel = payroll.path(`/pay-runs/${run.id}/cancellation`);
    expect((await payroll.as('preparer').post(cancel, { reason: 'paid by hand' })).status).toBeLessThan(300);
    await payroll.until(run.id, ['CANCELLED'], 15_000);
    expect(await payroll.attention()).toEqual([]);
  });

  it('became a closed day since the approval: the approval lapses, and is not given again for that date', async () => {
    const { run, lapsed } = await lapsedUnder({ BANK_CLOSED_DAYS: date });
    expect(lapsed?.kind).toBe('APPROVAL_LAPSED');
    expect(lapsed?.happened).toBe(
      'The approval lapsed: the bank is closed on the execution date. Amend the run and have it approved again.',
    );
    const again = await payroll.approve(run);
    expect([again.status, again.data.code]).toEqual([422, 'EXECUTION_DATE_NOT_A_BANKING_DAY']);
  });

  it('came to lie before its time to be submitted: the approval lapses at once', async () => {
    const { lapsed } = await lapsedUnder({ BANK_CUT_OFF: '14:30' });
    expect(lapsed?.happened).toBe(
      'The approval lapsed: the cut-off of the execution date is before the time from which it may be submitted. Amend the run and have it approved again.',
    );
  });

  it('missed while a submit waits for its turn at the bank: it is not sent', async () => {
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const turnToSubmit = gateway.turnToSubmit.bind(gateway);
    gateway.turnToSubmit = () => {
      payroll.clock.set(new Date(Date.parse(`${date}${CUT_OFF}`) + 1_000));
      return turnToSubmit();
    };
    const run = await payroll.uploaded(payFile(payRows(2)), {
      executionDate: date,
      submitAt: `${date}T10:00:00Z`,
    });
    await payroll.approve(run);
    await payroll.until(run.id, ['FAILED'], 20_000);
    expect((await payroll.attention()).map((one) => one.kind)).toEqual(['STALE_DATE']);
    expect((await payroll.calls()).submit ?? 0).toBe(0);
  });

  it.each([['APPROVED'], ['BUILDING'], ['VERIFIED']])(
    'missed while everything is stopped and the run is %s: the approval lapses all the same',
    async (status) => {
      await execute(
        payroll.database.superuserUrl,
        `CREATE FUNCTION stop_all() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN UPDATE service_switch SET submits_off = true, reason = 'a look'; RETURN NULL; END $$;
         CREATE TRIGGER on_the_way AFTER UPDATE ON pay_run FOR EACH ROW
           WHEN (NEW.status = '${status}' AND OLD.status <> '${status}') EXECUTE FUNCTION stop_all()`,
      );
      const terms = { executionDate: date, submitAt: `${date}T10:00:00Z` };
      const id = await payroll.paid(payFile(payRows(4)), terms);
      await payroll.until(id, [status], 15_000);
      payroll.clock.set(new Date(`${date}T16:30:00Z`));
      await payroll.until(id, ['READY'], 20_000);
      expect((await payroll.attention()).map((one) => one.kind)).toContain('APPROVAL_LAPSED');
      expect((await payroll.ledger()).payees).toEqual([]);
    },
  );

  it('missed in mid-run: what was submitted is followed, the rest is released and never submitted', async () => {
    const rows = payRows(24);
    await payroll.fault({ operation: 'submit', kind: 'slow-drip', every: 1, delayMs: 30 });
    const run = await payroll.uploaded(payFile(rows), { executionDate: date, submitAt: `${date}T10:00:00Z` });
    await payroll.approve(run);
    await eventually(async () => ((await payroll.calls()).submit ?? 0) > 0, 20_000);
    payroll.clock.set(new Date(Date.parse(`${date}${CUT_OFF}`) + 1_000));
    await payroll.until(run.id, ['PARTLY_SETTLED', 'SETTLED'], 30_000);
    const { instructions, status } = await payroll.run(run.id);
    const released = instructions.filter((one: { status: string }) => one.status === 'RELEASED');
    expect(status).toBe('PARTLY_SETTLED');
    expect(released.length).toBeGreaterThan(0);
    const { payees, unsubmitted } = await payroll.ledger();
    expect(payees.every((payee) => payee.count === 1)).toBe(true);
    expect(payees.length).toBe((instructions.length - released.length) * 2);
    for (const one of released) expect(unsubmitted.map(String)).toContain(one.bankInstructionId);
    expect((await payroll.attention()).filter((one) => one.kind === 'STALE_DATE')).toHaveLength(
      released.length,
    );
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${run.id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true });
  });

  it('missed in mid-run, while nobody can tell whether somebody else submitted it: it is released, and people are told that', async () => {
    await payroll.stopPastTheGate();
    const terms = { executionDate: date, submitAt: `${date}T10:00:00Z` };
    const run = await payroll.uploaded(payFile(payRows(2)), terms);
    await payroll.approve(run);
    await payroll.until(run.id, ['SUBMITTING'], 20_000);
    const shown = { kind: 'unclear', unknown: 'PRO_ODD' } as const;
    jest.spyOn(payroll.services[0]!.app.get(InstructionReader), 'readBack').mockResolvedValue(shown);
    await payroll.letRunsGoOn();
    const { superuserUrl } = payroll.database;
    const missing = `UPDATE lease SET missing_since = missing_since - interval '11 minutes' WHERE missing IS NOT NULL RETURNING 1`;
    await eventually(async () => (await select(superuserUrl, missing)).length > 0, 15_000);
    const path = await payroll.askedAbout(run.id, 'ROW_UNSEEN');
    payroll.clock.set(new Date(Date.parse(`${date}${CUT_OFF}`) + 1_000));
    await payroll.until(run.id, ['FAILED'], 20_000);
    // The watch reads it otherwise, and closes what was told first.
    const told = await select<{ happened: string; ask: string }>(
      superuserUrl,
      `SELECT happened, ask_bank AS ask FROM attention WHERE kind = 'STALE_DATE' ORDER BY id`,
    );
    expect(told[0]?.happened).toMatch(/does not say whether somebody else submitted it.* PRO_ODD/);
    expect(told[0]?.ask).toMatch(/^Was customer instruction \d+ submitted by anybody/);
    const { resolution } = (await payroll.as('operator').get(path)).data;
    expect(resolution).toMatch(/does not say whether somebody else did/);
  });

  it('missed in mid-run, in a process of another unit of amounts: it is released, and nothing is told of any amount', async () => {
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(2)), { executionDate: date });
    await payroll.until(id, ['SUBMITTING'], 15_000);
    await payroll.stopServices();
    const unit = payroll.settings.BANK_AMOUNT_UNIT === 'minor' ? 'major' : 'minor';
    payroll.clock.set(new Date(`${date}${CUT_OFF}`));
    payroll.url = (await payroll.addReplica({ BANK_AMOUNT_UNIT: unit })).url;
    await payroll.until(id, ['FOLLOWING', 'FAILED'], 15_000);
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual(['STALE_DATE']);
    expect((await payroll.calls()).submit ?? 0).toBe(0);
  });

  it('missed in mid-run: what was released is asked about until another run that pays it is submitted', async () => {
    await payroll.stopPastTheGate();
    const rows = payRows(5);
    const run = await payroll.uploaded(payFile(rows), { executionDate: date, submitAt: `${date}T10:00:00Z` });
    await payroll.approve(run);
    await payroll.until(run.id, ['SUBMITTING'], 20_000);
    payroll.clock.set(new Date(`${date}T16:30:00Z`));
    await payroll.until(run.id, ['FAILED'], 20_000);
    const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
    expect(await kinds()).toEqual(Array(3).fill('STALE_DATE'));
    await execute(payroll.database.superuserUrl, 'DROP FUNCTION stop_it() CASCADE');
    const executionDate = nextBankingDay(date);
    payroll.clock.set(new Date(`${executionDate}T09:00:00Z`));
    const { items } = (await payroll.as('preparer').get(payroll.path(`/pay-runs/${run.id}/payments`))).data;
    const paidBy = async (paymentIds: string[]) => {
      const successor = await payroll.as('preparer').post(payroll.path(`/pay-runs/${run.id}/successor`), {
        executionDate,
        submitAt: payroll.clock.now().toISOString(),
        paymentIds,
      });
      expect(successor.status).toBe(201);
      expect((await payroll.approve(successor.data)).status).toBeLessThan(300);
      await payroll.until(successor.data.id, ['FOLLOWING', 'SETTLED'], 20_000);
    };
    const ids = items.map(({ id }: { id: string }) => id);
    await paidBy(ids.slice(0, 3));
    await eventually(async () => (await kinds()).length === 2, 5_000);
    await paidBy(ids.slice(3));
    await eventually(async () => (await kinds()).length === 0, 5_000);
  });
});

describe('the cut-off of the execution date in a run that came to lack approvals in mid-run', () => {
  let payroll: Payroll;
  let date: string;
  let id: string;
  let asked: string;
  beforeEach(async () => {
    ({ payroll, date } = await Payroll.startOnPayday({}));
    await payroll.stopPastTheGate();
    id = await payroll.paid(payFile(payRows(2)), { executionDate: date, submitAt: `${date}T10:00:00Z` });
    await payroll.until(id, ['SUBMITTING'], 20_000);
    const employer = `/v1/employers/${payroll.employer}`;
    await payroll.as('administrator').patch(employer, { approvalsRequired: 2 });
    await payroll.letRunsGoOn();
    asked = await payroll.askedAbout(id, 'INVARIANT_BREACH');
    payroll.clock.set(new Date(`${date}T16:30:00Z`));
    await payroll.until(id, ['FAILED'], 20_000);
  });
  afterEach(() => payroll.close());
  const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);

  it('missed: nobody is asked about the approvals any more, nothing is stopped, and a successor pays its rows, as it is told', async () => {
    const { resolvedAt, resolution } = (await payroll.as('operator').get(asked)).data;
    expect(resolvedAt).not.toBeNull();
    expect(resolution).toContain('too late for the cut-off');
    expect(await kinds()).toEqual(['STALE_DATE']);
    expect((await payroll.run(id)).stopped).toBeNull();
    const executionDate = nextBankingDay(date);
    const successor = payroll.path(`/pay-runs/${id}/successor`);
    const made = await payroll.as('preparer').post(successor, { executionDate });
    expect([made.status, made.data.payments]).toEqual([201, 2]);
  });

  it('missed, and then somebody else submits what was released: who resumes has read that it moved', async () => {
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    await payroll.submitAtBank(String(bankInstructionId));
    const { superuserUrl } = payroll.database;
    const service = () => payroll.as('administrator').get('/v1/service');
    // A bank that shows it late is read again.
    await eventually(async () => {
      await execute(superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
      return (await service()).data.submitsOff === true;
    }, 20_000);
    await payroll.letRest('FOLLOW');
    const breaches = (await payroll.attention()).filter(({ kind }) => kind === 'INVARIANT_BREACH');
    expect(breaches).toMatchObject([{ happened: expect.stringContaining('has moved at the bank') }]);
    const path = payroll.path(`/attention/${breaches[0]!.id}`);
    expect((await payroll.decide(path, { action: 'RESUME', reason: 'looked into' })).status).toBe(200);
    expect((await service()).data.submitsOff).toBe(false);
  });
});

describe('the cut-off of the execution date where a request may take long', () => {
  let payroll: Payroll;
  let date: string;
  beforeEach(async () => {
    ({ payroll, date } = await Payroll.startOnPayday({
      rowsPerInstruction: 2,
      settings: { BANK_TIMEOUT_MS: '15000' },
    }));
  });
  afterEach(() => payroll.close());

  it('so near that a submit might end after it: nothing is begun of a run that is built, and its approval lapses', async () => {
    await execute(
      payroll.database.superuserUrl,
      `CREATE FUNCTION stop_it() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN NEW.stopped_at = now(); NEW.stopped_reason = 'a look first'; RETURN NEW; END $$;
       CREATE TRIGGER as_soon_as_built BEFORE UPDATE ON pay_run FOR EACH ROW
         WHEN (OLD.status = 'BUILDING' AND NEW.status = 'VERIFIED') EXECUTE FUNCTION stop_it()`,
    );
    const id = await payroll.paid(payFile(payRows(2)), {
      executionDate: date,
      submitAt: `${date}T10:00:00Z`,
    });
    await payroll.until(id, ['VERIFIED'], 20_000);
    payroll.clock.set(new Date(Date.parse(`${date}${CUT_OFF}`) - 12_000));
    await payroll.letRunsGoOn();
    await payroll.until(id, ['READY', 'FAILED'], 20_000);
    const [told, ...others] = await payroll.attention();
    expect([told?.kind, told?.happened, others]).toEqual([
      'APPROVAL_LAPSED',
      'The approval lapsed: the cut-off of the execution date cannot be met. Amend the run and have it approved again.',
      [],
    ]);
    expect((await payroll.run(id)).status).toBe('READY');
    expect((await payroll.calls()).submit ?? 0).toBe(0);
  });
});

describe('the cut-off of the execution date in a run whose instruction is gone at the bank', () => {
  let payroll: Payroll;
  let date: string;
  beforeEach(async () => {
    // Half an instruction can be submitted in the bank's portal.
    const variants = { linkReads: 'allowed', enforceControlTotals: false } as const;
    ({ payroll, date } = await Payroll.startOnPayday({ sandbox: { variants } }));
  });
  afterEach(() => payroll.close());

  /** A run past its gate whose one instruction the bank has dropped, so that another is built, which is hindered. */
  async function builtAgain(rows: readonly Row[], hinder: () => Promise<unknown>): Promise<string> {
    await payroll.stopPastTheGate();
    const terms = { executionDate: date, submitAt: `${date}T10:00:00Z` };
    const run = await payroll.uploaded(payFile(rows), terms);
    await payroll.approve(run);
    await payroll.until(run.id, ['SUBMITTING'], 20_000);
    const [built] = (await payroll.run(run.id)).instructions;
    await payroll.deleteAtBank(built.bankInstructionId);
    await hinder();
    await payroll.letRunsGoOn();
    return run.id;
  }
  const states = async (id: string) =>
    (await payroll.run(id)).instructions.map((one: { status: string }) => one.status);
  const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
  const passCutOff = () => payroll.clock.set(new Date(Date.parse(`${date}${CUT_OFF}`) + 1_000));

  const hindrances: [state: string, why: string, hinder: () => Promise<unknown>][] = [
    [
      'BUILDING',
      'because the bank refuses to open another',
      () => payroll.fault({ operation: 'initiate', kind: '422', every: 1 }),
    ],
    [
      'BUILDING',
      'because the bank refuses a row',
      () => payroll.fault({ operation: 'add', kind: '422', nth: 1 }),
    ],
    [
      'PLANNED',
      'because the run was stopped',
      () =>
        execute(
          payroll.database.superuserUrl,
          `CREATE FUNCTION stop_again() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a look'; RETURN NULL; END $$;
           CREATE TRIGGER when_built_again AFTER INSERT ON instruction FOR EACH ROW
             WHEN (NEW.attempt > 1) EXECUTE FUNCTION stop_again()`,
        ),
    ],
  ];

  it.each(hindrances)('missed while it is %s again, %s: it is released too', async (state, _why, hinder) => {
    const id = await builtAgain(payRows(2), hinder);
    await eventually(async () => (await states(id)).includes(state), 20_000);
    passCutOff();
    await payroll.until(id, ['FAILED'], 30_000);
    expect(await states(id)).toEqual(['RELEASED']);
    expect((await payroll.ledger()).payees).toEqual([]);
    expect(await kinds()).toContain('STALE_DATE');
    const payments = await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/payments`));
    expect(payments.data.items.map((one: { status: string }) => one.status)).toEqual(['VOID', 'VOID']);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true, difference: '0.00' });
    const next = earliestExecutionDate(payroll.clock.now(), { cutOff: '16:00', timeZone: 'UTC' });
    const made = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${id}/successor`), { executionDate: next });
    expect([made.status, made.data.payments]).toEqual([201, 2]);
    const period = date.slice(0, 7);
    const month = await payroll.as('finance').get(payroll.path(`/reconciliation?period=${period}`));
    expect(month.data).toMatchObject({
      totals: { approved: { payments: 2 }, atBank: { payments: 0, amount: '0.00' }, void: { payments: 0 } },
    });
  });

  const decided = async (path: string, evidence?: string) => {
    await payroll.as('operator').delete(`${path}/actions`);
    const reason = 'the bank and we have looked into it';
    return payroll.decide(path, { action: 'EXECUTED', reason, evidence });
  };

  it('missed while it is built again, and moved at the bank meanwhile: it is not released before people decide it', async () => {
    const rows = payRows(2);
    const id = await builtAgain(rows, () => payroll.fault({ operation: 'add', kind: '422', nth: 1 }));
    await eventually(async () => (await kinds()).includes('ROW_REFUSED_IN_MID_RUN'), 20_000);
    const [instruction] = (await payroll.run(id)).instructions;
    await payroll.submitAtBank(String(instruction.bankInstructionId));
    // A bank that shows it late is waited for.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    passCutOff();
    await eventually(async () => (await kinds()).includes('INVARIANT_BREACH'), 20_000);
    const asked = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    const { code, detail } = (await decided(asked)).data;
    expect(code).toBe('NOT_AS_APPROVED');
    expect(detail).toContain('1 of its approved payments are not shown');
    expect(await states(id)).toEqual(['BUILDING']);
    expect(await kinds()).not.toContain('STALE_DATE');
    // Half of what was approved is never taken for the whole, whatever people say: nobody of it is paid again.
    expect((await decided(asked, 'letter of the bank, 4711')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 30_000);
    expect(await states(id)).toEqual(['RELEASED']);
    const next = earliestExecutionDate(payroll.clock.now(), { cutOff: '16:00', timeZone: 'UTC' });
    const successor = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${id}/successor`), { executionDate: next });
    const codes = successor.data.payments.map((one: { code: string }) => one.code);
    expect(codes).toEqual(['PAYMENT_STATUS_UNCLEAR', 'PAYMENT_STATUS_UNCLEAR']);
  });

  it('missed after a restore that may have forgotten a submit: it is not released before people decide it', async () => {
    const [, , [, , hinder]] = hindrances as [unknown, unknown, (typeof hindrances)[number]];
    const id = await builtAgain(payRows(2), hinder);
    await eventually(async () => (await states(id)).includes('PLANNED'), 20_000);
    await execute(
      payroll.database.superuserUrl,
      `INSERT INTO database_restore (id, what, told_at) VALUES (gen_random_uuid(), 'a test', now());
       INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status)
       SELECT r.employer_id, '4711', d.id, r.id, 'SETTLED' FROM pay_run r, database_restore d`,
    );
    passCutOff();
    const asked = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    expect((await decided(asked)).data.code).toBe('NOT_AS_APPROVED');
    expect(await states(id)).toEqual(['PLANNED']);
    expect(await kinds()).not.toContain('STALE_DATE');
    expect((await decided(asked, 'letter of the bank, 4711')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 30_000);
    expect(await states(id)).toEqual(['RELEASED']);
    expect(await kinds()).not.toContain('UNRECORDED_SUBMIT');
  });
});

describe('a bank that promises to turn a submit away before executing it', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({
      settings: { BANK_REJECTS_BEFORE_EXECUTING: 'true', SUBMIT_DOUBT_MS: '10000', REBUILD_LIMIT: '2' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
  });
  afterAll(() => payroll.close());

  it('and always does, is asked about after some times: nobody is paid, and nothing is sent again', async () => {
    const before = (await payroll.calls()).submit ?? 0;
    await payroll.fault({ operation: 'submit', kind: '429', every: 1, retryAfterS: 1 });
    const id = await payroll.paid(payFile(payRows(3, 100)));
    await eventually(
      async () =>
        (await payroll.attention()).some((one) => one.kind === 'SUBMIT_UNKNOWN' && one.payRunId === id),
      40_000,
    );
    const { certain } = (await payroll.as('operator').get(await payroll.askedAbout(id, 'SUBMIT_UNKNOWN')))
      .data;
    expect(certain).toMatch(/was sent 3 times: .* turned all but the last away/);
    // The first, and one for each of the two times it is armed again.
    expect((await payroll.calls()).submit).toBe(before + 3);
    expect((await payroll.ledger()).payees).toEqual([]);
    await payroll.clearFaults();
  });

  it('says of a refusal how often the submit was sent before', async () => {
    await payroll.fault({ operation: 'submit', kind: '429', nth: 1, retryAfterS: 1 });
    await payroll.fault({ operation: 'submit', kind: '422', nth: 2 });
    const id = await payroll.paid(payFile(payRows(2, 150)));
    const path = await payroll.askedAbout(id, 'SUBMIT_REFUSED');
    expect((await payroll.as('operator').get(path)).data.certain).toMatch(
      /refusal\. The submit was sent 2 times/,
    );
    await payroll.clearFaults();
  });

  it.each(['429', '401'])(
    'has it sent again after a %s and a read that says INITIATED, and everybody is paid once',
    async (kind) => {
      const rows = payRows(3, kind === '429' ? 1 : 50);
      const before = (await payroll.calls()).submit ?? 0;
      await payroll.fault({ operation: 'submit', kind, nth: 1, retryAfterS: 1 });
      const id = await payroll.paid(payFile(rows));
      await payroll.until(id, ['SETTLED'], 20_000);
      const payees = new Map((await payroll.ledger()).payees.map((payee) => [payee.iban, payee.count]));
      expect(rows.map((row) => payees.get(row.iban))).toEqual([1, 1, 1]);
      expect((await payroll.calls()).submit).toBe(before + 2);
      await payroll.clearFaults();
    },
  );
});
