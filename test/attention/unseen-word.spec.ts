import { UnseenWord } from '../../src/attention/unseen-word';
import { newId } from '../../src/database/new-id';
import { Attention, AttentionActionRow } from '../../src/pay-run/attention.entity';
import type { Instruction } from '../../src/pay-run/instruction.entity';
import { tellOfMoved } from '../../src/pay-run/moved-payment';
import type { PayRun } from '../../src/pay-run/pay-run.entity';
import type { SecondLook } from '../../src/pay-run/second-look';
import type { MovedPayment, SecondReading, UnseenPayment } from '../../src/pay-run/second-reading';
import { Company, PayOffice, rows } from '../pay-run/pay-office';
import { RunAtBank } from '../pay-run/run-at-bank';

describe('the word of the bank on what is paid again and it does not show', () => {
  let office: PayOffice;
  let company: Company;
  let run: PayRun;
  let instruction: Instruction;
  let ids: string[];
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office.close());
  /** A run of which two payments were refused, and one was paid. */
  beforeEach(async () => {
    company = await office.company();
    run = await office.run(company, rows(100, 200, 300));
    await RunAtBank.ended(office, company, run, ['EXT_REFUSED', 'EXT_REFUSED', 'SETTLED']);
    ({ instruction, ids } = await RunAtBank.instructionOf(office, company, run));
  });

  const unseen = (row: number, bankInstructionId = instruction.bankInstructionId!): UnseenPayment => ({
    paymentId: ids[row - 1]!,
    instructionId: instruction.id,
    bankInstructionId,
  });
  const moved = (row: number): MovedPayment => ({ ...unseen(row), bankStatus: 'EXCHANGED' });
  const wordAt = (reading: Partial<SecondReading> = {}) => {
    const ofPayments = () => Promise.resolve({ moved: [], unseen: [], ...reading });
    return new UnseenWord(office.database, { ofPayments } as unknown as SecondLook);
  };
  const about = (payRunId: string, over: Partial<Attention> = {}) =>
    ({
      payRunId,
      instructionId: null,
      happened: `It pays again 2 payments of customer instruction "${instruction.bankInstructionId}".`,
      openedAt: new Date(),
      ...over,
    }) as Attention;
  const proposed = (action: string, ...named: number[]) =>
    ({ action, paymentIds: named.map((row) => ids[row - 1]!) }) as unknown as AttentionActionRow;

  it('is asked of what a run that is not sent replaces', async () => {
    const successor = await office.successor(company, run, [ids[0]!]);
    const of = await office.in(company, (tx) =>
      wordAt().paymentsOf(tx, about(successor.id), { evidence: 'letter 4711' }),
    );
    expect(of).toEqual([ids[0]]);
  });

  it('is asked of what of a run that has ended could be replaced, and of nothing where none could', async () => {
    const of = () =>
      office.in(company, (tx) => wordAt().paymentsOf(tx, about(run.id), { evidence: 'letter 4711' }));
    await office.tamper(`UPDATE payment SET returned_at = now(), returned_minor = 1 WHERE id = $1`, [ids[2]]);
    expect(await of()).toEqual([ids[0], ids[1]]);
    await office.tamper(`UPDATE payment SET status = 'SETTLED', live = true WHERE pay_run_id = $1`, [run.id]);
    await expect(of()).rejects.toMatchObject({ code: 'NOTHING_TO_DECIDE' });
  });

  it('does not hold where the bank shows that it moved, which is kept', async () => {
    const proving = wordAt({ moved: [moved(1)], unseen: [unseen(2)] }).prove(
      company.employerId,
      about(run.id),
      proposed('NOT_PAID', 1, 2),
    );
    await expect(proving).rejects.toMatchObject({ code: 'REPLACED_PAYMENT_MOVED' });
    expect(await office.query(company, 'SELECT bank_status FROM moved_payment')).toEqual([
      { bank_status: 'EXCHANGED' },
    ]);
  });

  it('holds for what was named, is not shown, and was asked about', async () => {
    const word = wordAt({ unseen: [unseen(1), unseen(2), unseen(1, 'another')] });
    const proven = await word.prove(company.employerId, about(run.id), proposed('NOT_PAID', 1));
    expect(proven).toEqual([unseen(1)]);
    const other = word.prove(
      company.employerId,
      about(run.id, { happened: 'of "other"' }),
      proposed('NOT_PAID', 1),
    );
    await expect(other).rejects.toMatchObject({ code: 'NOTHING_TO_DECIDE' });
  });

  it('proves nothing of another action', async () => {
    const word = wordAt({ moved: [moved(1)] });
    expect(await word.prove(company.employerId, about(run.id), proposed('ACKNOWLEDGE', 1))).toEqual([]);
  });

  it('is kept of no payment that was shown to have moved since it was asked for', async () => {
    const openedAt = new Date(Date.now() - 60_000);
    const action = await confirmed(openedAt, 1, 2);
    await office.in(company, (tx) => tellOfMoved(tx, [moved(1)]));
    await office.in(company, (tx) =>
      wordAt().decide(tx, about(run.id, { openedAt }), action, [unseen(1), unseen(2)]),
    );
    expect(await office.query(company, 'SELECT payment_id FROM unseen_decision')).toEqual([
      { payment_id: ids[1] },
    ]);
  });

  /** As it is once another person has confirmed it. */
  async function confirmed(openedAt: Date, ...named: number[]): Promise<AttentionActionRow> {
    const [id, attentionId] = [newId(), newId()];
    await office.query(
      company,
      `INSERT INTO attention (employer_id, id, kind, pay_run_id, subject_id, happened, certain, ask_bank, opened_at)
       VALUES ($1, $2, 'REPLACED_UNSEEN', $3, $3, 'not shown', 'nothing', 'what became of it', $4)`,
      [company.employerId, attentionId, run.id, openedAt],
    );
    await office.query(
      company,
      `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, evidence, payment_ids,
         proposed_by, confirmed_by, confirmed_at)
       VALUES ($1, $2, $3, 'NOT_PAID', 'it says so', 'letter 4711', $4, $5, $6, now())`,
      [
        company.employerId,
        id,
        attentionId,
        named.map((row) => ids[row - 1]),
        company.preparer.personId,
        company.approver.personId,
      ],
    );
    return { ...proposed('NOT_PAID', ...named), id };
  }
});
