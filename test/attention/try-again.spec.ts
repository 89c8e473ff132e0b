import { Database, EmployerTransaction } from '../../src/database/database';
import { amend } from '../../src/pay-run/amendment';
import { voidApprovals } from '../../src/pay-run/approval';
import { Alarm, raise } from '../../src/pay-run/attention.store';
import { UNSENT_OR_NOT } from '../../src/pay-run/attention-actions';
import { Attention } from '../../src/pay-run/attention.entity';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { endUnsubmitted, lockInstruction, moveInstruction } from '../../src/pay-run/instruction.store';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { lockRun, moveRun } from '../../src/pay-run/pay-run.store';
import { AttentionDesk } from '../../src/attention/attention-desk';
import { EndedInstruction } from '../../src/attention/ended-instruction';
import { Burial } from '../../src/submission/burial';
import { ExecutedWord } from '../../src/attention/executed-word';
import { InstructionReader, SubmittedBefore } from '../../src/submission/read-back';
import { StatusMeaning } from '../../src/attention/status-meaning';
import { TryAgain } from '../../src/attention/try-again';
import { UnseenWord } from '../../src/attention/unseen-word';
import { UnrecordedSubmits } from '../../src/restore/unrecorded-submits';
import { lapseRun } from '../../src/pay-run/lapse';
import { Company, PayOffice, rows } from '../pay-run/pay-office';
import { RunAtBank } from '../pay-run/run-at-bank';

describe('trying again what the bank refused', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office?.close());
  // Of its own: an amended run is held beside another one with the same rows.
  beforeEach(async () => {
    company = await office.company();
  });

  const nothing = () => Promise.resolve();

  /** A desk where `meanwhile` happens between the reading of what is confirmed and its carrying out, and `whileRead` while the bank is. */
  const deskWhile = (
    meanwhile: () => Promise<void>,
    shown: Partial<SubmittedBefore> = {},
    whileRead = nothing,
  ): AttentionDesk => {
    let transactions = 0;
    const inEmployer: Database['inEmployer'] = async (employerId, work) => {
      transactions += 1;
      if (transactions === 2) await meanwhile();
      return office.database.inEmployer(employerId, work);
    };
    return new AttentionDesk(
      { inEmployer } as Database,
      office.personal,
      {} as Burial,
      {} as EndedInstruction,
      {} as ExecutedWord,
      {} as UnrecordedSubmits,
      {} as StatusMeaning,
      {} as UnseenWord,
      new TryAgain(office.database, {
        submittedBefore: async () => {
          await whileRead();
          return { isUnclear: false, ...shown };
        },
      } as unknown as InstructionReader),
      office.clock,
    );
  };

  const refusal = { kind: 'ROW_REFUSED_BY_BANK', happened: 'The bank refused row 2.' } as const;
  const unclear = {
    kind: 'ROW_UNSEEN',
    happened: `${UNSENT_OR_NOT}: it shows the status PRO_ODD, which no document names.`,
  } as const;

  /** A run that is being built, of which something is asked, and the proposal to try it again. */
  const asked = async (
    question: Pick<Alarm, 'kind' | 'happened'> = refusal,
    evidence?: string,
  ): Promise<{ run: PayRun; confirm: (by: AttentionDesk) => Promise<void> }> => {
    const run = await office.run(company, rows(100, 200));
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    await atBank.build(1, 1);
    const attentionId = await office.in(company, async (tx) => {
      const { id: instructionId } = await tx.manager.findOneByOrFail(Instruction, { payRunId: run.id });
      await raise(tx, { ...question, subjectId: instructionId, payRunId: run.id, instructionId });
      return (await tx.manager.findOneByOrFail(Attention, { payRunId: run.id })).id;
    });
    const desk = deskWhile(nothing);
    const proposal = { action: 'TRY_AGAIN', reason: 'it was a mistake of the bank', evidence } as const;
    const { id } = await desk.propose(company.employerId, attentionId, company.operator.personId, proposal);
    const confirm = (by: AttentionDesk) =>
      by.confirm(company.employerId, attentionId, company.approver.personId, id);
    return { run, confirm };
  };
  const attempts = async (run: PayRun) =>
    (
      await office.query<{ now: string }>(
        company,
        `SELECT attempt || ' ' || status AS now FROM instruction WHERE pay_run_id = $1 ORDER BY attempt`,
        [run.id],
      )
    ).map(({ now }) => now);

  const breaches = (run: PayRun) =>
    office.query(
      company,
      `SELECT id FROM attention WHERE pay_run_id = $1 AND kind = 'INVARIANT_BREACH' AND resolved_at IS NULL`,
      [run.id],
    );

  it('builds it as the next attempt', async () => {
    const { run, confirm } = await asked();
    await confirm(deskWhile(nothing));
    expect(await attempts(run)).toEqual(['1 ABANDONED', '2 PLANNED']);
  });

  it('builds nothing where the bank leaves open whether somebody else submitted it', async () => {
    const { run, confirm } = await asked(refusal, 'letter of the bank, 4711');
    const confirming = confirm(deskWhile(nothing, { isUnclear: true, unknown: 'PRO_ODD' }));
    await expect(confirming).rejects.toMatchObject({ code: 'MAY_BE_SUBMITTED' });
    expect(await attempts(run)).toEqual(['1 BUILDING']);
  });

  it('asks for the word of the bank where that was asked, and builds on it', async () => {
    await expect(asked(unclear)).rejects.toMatchObject({ code: 'EVIDENCE_REQUIRED' });
    const { run, confirm } = await asked(unclear, 'letter of the bank, 4711');
    const another = confirm(deskWhile(nothing, { isUnclear: true, unknown: 'PRO_EVEN' }));
    await expect(another).rejects.toMatchObject({ code: 'MAY_BE_SUBMITTED' });
    await confirm(deskWhile(nothing, { isUnclear: true, unknown: 'PRO_ODD' }));
    expect(await attempts(run)).toEqual(['1 ABANDONED', '2 PLANNED']);
  });

  it('takes no word for that of the bank on a submit that was not asked for', async () => {
    const happened = `${refusal.happened} The bank shows the status PRO_ODD, which no document names.`;
    const { run, confirm } = await asked({ ...refusal, happened }, 'letter of the bank, 4711');
    const confirming = confirm(deskWhile(nothing, { isUnclear: true, unknown: 'PRO_ODD' }));
    await expect(confirming).rejects.toMatchObject({ code: 'MAY_BE_SUBMITTED' });
    expect(await attempts(run)).toEqual(['1 BUILDING']);
  });

  it('builds nothing where somebody else has submitted it, which stops everything', async () => {
    const { run, confirm } = await asked();
    const confirming = confirm(deskWhile(nothing, { moved: 'EXCHANGED' }));
    await expect(confirming).rejects.toMatchObject({ code: 'WAS_EXECUTED' });
    expect(await attempts(run)).toEqual(['1 BUILDING']);
    expect(await breaches(run)).toHaveLength(1);
  });

  const submits = (run: PayRun) => () =>
    office.in(company, async (tx) => {
      const { id } = await tx.manager.findOneByOrFail(Instruction, { payRunId: run.id });
      const instruction = await lockInstruction(tx, id);
      await moveInstruction(tx, instruction, 'VERIFIED', 'service', { verifiedAt: new Date() });
      const locked = await lockRun(tx, run.id);
      await moveRun(tx, locked, 'VERIFIED', 'service');
      await moveRun(tx, locked, 'SUBMITTING', 'service');
      await moveInstruction(tx, instruction, 'SUBMIT_INTENT', 'service');
    });

  it('builds nothing once it is being submitted', async () => {
    const { run, confirm } = await asked();
    const confirming = confirm(deskWhile(submits(run)));
    await expect(confirming).rejects.toMatchObject({ code: 'NOT_BEING_BUILT' });
    expect(await attempts(run)).toEqual(['1 SUBMIT_INTENT']);
  });

  it('takes no submit of ours that it saw for that of somebody else', async () => {
    const { run, confirm } = await asked();
    const confirming = confirm(deskWhile(nothing, { moved: 'SUB_STARTED' }, submits(run)));
    await expect(confirming).rejects.toMatchObject({ code: 'WAS_EXECUTED' });
    expect(await breaches(run)).toEqual([]);
    expect(await attempts(run)).toEqual(['1 SUBMIT_INTENT']);
  });

  it('builds nothing of a version that another one took the place of, once that is approved and built', async () => {
    const { run, confirm } = await asked();
    const changes = async () => {
      await office.in(company, async (tx) => {
        const locked = await lockRun(tx, run.id);
        await endAll(tx, locked);
        await nextDay(tx, locked);
      });
      const atBank = await RunAtBank.approved(office, company, run);
      await atBank.start();
    };
    await expect(confirm(deskWhile(changes))).rejects.toMatchObject({ code: 'NOT_BEING_BUILT' });
    expect(await attempts(run)).toEqual(['1 ABANDONED', '1 PLANNED']);
  });

  const nextDay = (tx: EmployerTransaction, run: PayRun) =>
    amend(tx, office.personal, run, company.preparer.personId, {
      excludePaymentIds: [],
      executionDate: '2026-11-30',
      reason: 'the bank was slow',
    });
  const endAll = async (tx: EmployerTransaction, run: PayRun) => {
    const { id } = await tx.manager.findOneByOrFail(Instruction, { payRunId: run.id });
    await endUnsubmitted(tx, await lockInstruction(tx, id), 'service', 'the run is being amended');
  };

  it.each<[string, (tx: EmployerTransaction, run: PayRun) => Promise<unknown>, string]>([
    ['its approval lapses', (tx, run) => lapseRun(tx, run, 'the cut-off passed'), '1 BUILDING'],
    [
      'its approval has lapsed',
      async (tx, run) => [await endAll(tx, run), await voidApprovals(tx, run, 'service', 'it lapsed')],
      '1 ABANDONED',
    ],
    ['it is being amended', nextDay, '1 BUILDING'],
    ['it is amended', async (tx, run) => [await endAll(tx, run), await nextDay(tx, run)], '1 ABANDONED'],
  ])('builds nothing where %s meanwhile', async (_what, change, still) => {
    const { run, confirm } = await asked();
    const changes = () =>
      office.in(company, async (tx) => {
        await change(tx, await lockRun(tx, run.id));
      });
    const confirming = confirm(deskWhile(changes));
    await expect(confirming).rejects.toMatchObject({ code: 'NOT_BEING_BUILT' });
    expect(await attempts(run)).toEqual([still]);
  });
});
