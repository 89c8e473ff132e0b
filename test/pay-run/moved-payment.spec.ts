import { newId } from '../../src/database/new-id';
import type { Instruction } from '../../src/pay-run/instruction.entity';
import { tellOfMoved } from '../../src/pay-run/moved-payment';
import type { PayRun } from '../../src/pay-run/pay-run.entity';
import type { MovedPayment } from '../../src/pay-run/second-reading';
import { Company, PayOffice, rows } from './pay-office';
import { RunAtBank } from './run-at-bank';

describe('what a look before a repay shows to have moved', () => {
  let office: PayOffice;
  let company: Company;
  let run: PayRun;
  let instruction: Instruction;
  let ids: string[];
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office.close());
  /** A run of which one payment was refused, one came back, and one was paid. */
  beforeEach(async () => {
    company = await office.company();
    run = await office.run(company, rows(100, 200, 300));
    await RunAtBank.ended(office, company, run, ['EXT_REFUSED', 'RETURNED', 'SETTLED']);
    ({ instruction, ids } = await RunAtBank.instructionOf(office, company, run));
  });

  const shown = (bankStatus: string, row = 1, isElsewhere?: true): MovedPayment => ({
    paymentId: ids[row - 1]!,
    instructionId: instruction.id,
    bankInstructionId: instruction.bankInstructionId!,
    bankStatus,
    ...(isElsewhere && { isElsewhere }),
  });
  const tell = (...moved: MovedPayment[]) => office.in(company, (tx) => tellOfMoved(tx, moved));
  const kept = () =>
    office.query<{ row_no: number; bank_status: string; is_elsewhere: boolean; seen_at: Date }>(
      company,
      'SELECT row_no, bank_status, is_elsewhere, seen_at FROM moved_payment WHERE instruction_id = $1',
      [instruction.id],
    );
  const asked = () =>
    office.query<{ kind: string; payment_id: string | null; subject_id: string }>(
      company,
      'SELECT kind, payment_id, subject_id FROM attention WHERE resolved_at IS NULL ORDER BY kind, subject_id',
    );
  const ask = async (kind: string, happened: string, paymentId: string | null = null): Promise<void> => {
    await office.query(
      company,
      `INSERT INTO attention (employer_id, id, kind, pay_run_id, payment_id, subject_id, happened, certain, ask_bank)
       VALUES ($1, $2, $3, $4, $6, $7, $5, 'nothing', 'what it is')`,
      [company.employerId, newId(), kind, run.id, happened, paymentId, paymentId ?? newId()],
    );
  };

  it('is kept as it was shown last, and that it was ever shown elsewhere', async () => {
    await tell(shown('EXCHANGED', 1, true));
    const [first] = await kept();
    expect(first).toMatchObject({ row_no: 1, bank_status: 'EXCHANGED', is_elsewhere: true });
    await tell(shown('SUBMITTED'));
    const [second] = await kept();
    expect(second).toMatchObject({ bank_status: 'SUBMITTED', is_elsewhere: true });
    expect(second!.seen_at.getTime()).toBeGreaterThan(first!.seen_at.getTime());
  });

  it('is kept as what was paid where one of two records says so', async () => {
    await tell(shown('EXCHANGED'), shown('SETTLED', 1, true), shown('SUB_REQUIRED'));
    expect(await kept()).toMatchObject([{ bank_status: 'SETTLED', is_elsewhere: true }]);
  });

  it('is a contradiction where what ended unpaid is shown as paid, and told once', async () => {
    await tell(shown('EXCHANGED'), shown('SETTLED', 2));
    expect(await asked()).toEqual([]);
    await tell(shown('SETTLED'));
    expect(await asked()).toEqual([{ kind: 'CONTRADICTION', payment_id: ids[0], subject_id: ids[0] }]);
    await office.query(company, `UPDATE attention SET resolved_at = now(), resolution = 'known'`);
    await tell(shown('SETTLED'));
    expect(await asked()).toEqual([]);
  });

  it('is a contradiction though people were asked about another before', async () => {
    await ask('CONTRADICTION', 'A payment is shown otherwise: EXCHANGED after EXT_REFUSED.', ids[0]);
    await office.query(company, `UPDATE attention SET resolved_at = now(), resolution = 'known'`);
    await tell(shown('SETTLED'));
    expect(await asked()).toMatchObject([{ kind: 'CONTRADICTION' }]);
  });

  it('takes back the question for the word of the bank on its instruction, and on no other', async () => {
    await ask('REPLACED_UNSEEN', `pays again of customer instruction "${instruction.bankInstructionId}".`);
    await ask('REPLACED_UNSEEN', 'pays again of customer instruction "another".');
    await tell(shown('EXCHANGED'));
    expect(
      await office.query(
        company,
        `SELECT happened FROM attention WHERE kind = 'REPLACED_UNSEEN' AND resolved_at IS NULL`,
      ),
    ).toEqual([{ happened: 'pays again of customer instruction "another".' }]);
  });

  it('stops what pays it again, and has its instruction looked at', async () => {
    const successor = await office.successor(company, run, [ids[0]!]);
    await tell(shown('EXCHANGED'));
    expect(await asked()).toMatchObject([{ kind: 'REPLACED_PAYMENT_MOVED', subject_id: successor.id }]);
    const [stopped] = await office.query<{ stopped_reason: string }>(
      company,
      'SELECT stopped_reason FROM pay_run WHERE id = $1',
      [successor.id],
    );
    expect(stopped?.stopped_reason).toBe('REPLACED_PAYMENT_MOVED');
    const followed = () =>
      office.query(company, `SELECT kind FROM lease WHERE subject_id = $1 AND kind = 'FOLLOW'`, [
        instruction.id,
      ]);
    expect(await followed()).toHaveLength(1);
  });
});
