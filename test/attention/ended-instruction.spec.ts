import { EndedInstruction } from '../../src/attention/ended-instruction';
import { InstructionSight } from '../../src/attention/instruction-sight';
import { NotFound } from '../../src/bank/errors';
import type { BankPayment } from '../../src/bank/records';
import { BANK_LADDER } from '../../src/domain/bank-status';
import type { BankReads } from '../../src/employer/bank-reads';
import type { Attention, AttentionActionRow } from '../../src/pay-run/attention.entity';
import { Instruction } from '../../src/pay-run/instruction.entity';
import type { FollowRecord } from '../../src/settlement/follow-record';
import { lockInstruction } from '../../src/pay-run/instruction.store';
import { eventually } from '../support/eventually';
import { Company, PayOffice, rows } from '../pay-run/pay-office';
import { RunAtBank } from '../pay-run/run-at-bank';

const WRITTEN = 'letter of the bank, 4711';

describe('that a submitted instruction was not executed', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office.close());

  /** A submitted instruction of one payment, at a bank that shows it and its payment so. @param sets what else is so, in SQL; beside: records of it beside that */
  async function submitted(shown?: string, payment?: string, sets = '', beside: Partial<BankPayment>[] = []) {
    company = await office.company();
    const run = await office.run(company, rows(100));
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    await atBank.build(1);
    await atBank.move('VERIFIED', 'SUBMITTING');
    await atBank.instruction(1, 'SUBMIT_INTENT', 'SUBMITTED');
    const { id } = await office.in(company, (tx) =>
      tx.manager.findOneByOrFail(Instruction, { payRunId: run.id }),
    );
    if (sets !== '') await office.tamper(sets.replaceAll('$id', `'${id}'`));
    const [{ bankPaymentId } = { bankPaymentId: '' }] = await office.query<{ bankPaymentId: string }>(
      company,
      `SELECT bank_payment_id AS "bankPaymentId" FROM bank_payment WHERE instruction_id = $1`,
      [id],
    );
    const found = [...(payment === undefined ? [] : [{ status: payment, bankPaymentId }]), ...beside];
    const reads = {
      instruction: () =>
        shown === undefined
          ? Promise.reject(new NotFound(404, { raw: '' }))
          : Promise.resolve({ status: shown }),
      read: () => Promise.resolve({ found }),
    } as unknown as BankReads;
    const recordSight = jest.fn(() => Promise.resolve());
    const records = { recordSight } as unknown as FollowRecord;
    const attention = { instructionId: id, openedAt: new Date() } as Attention;
    return {
      ended: new EndedInstruction(
        office.database,
        new InstructionSight(office.database, reads, records, office.clock),
      ),
      attention,
      recordSight,
    };
  }

  const RANKED = `UPDATE bank_payment SET bank_rank = ${BANK_LADDER.SUB_STARTED} WHERE instruction_id = $id`;
  const CANCELLED = `UPDATE instruction SET bank_status = 'CANCELLED' WHERE id = $id;
    UPDATE bank_payment SET bank_rank = ${BANK_LADDER.SUB_STARTED} WHERE instruction_id = $id`;

  it.each<[string, Parameters<typeof submitted>, string | undefined, string | null]>([
    [
      'is proven where it is shown as ended and its payment as before',
      ['CANCELLED', 'INITIATED'],
      undefined,
      WRITTEN,
    ],
    ['is proven where both are shown as ended unpaid', ['CANCELLED', 'REJECTED'], undefined, WRITTEN],
    ['is proven where neither is shown', [], undefined, WRITTEN],
    [
      'is proven where its payment went further before that end was shown',
      ['CANCELLED', 'SUB_INT_CTRL_PASSED', RANKED],
      undefined,
      WRITTEN,
    ],
    [
      'is proven by the end it had, though its payment is shown',
      [undefined, 'SUB_STARTED', CANCELLED],
      undefined,
      WRITTEN,
    ],
    ['is not proven without the word of the bank', ['CANCELLED', 'INITIATED'], 'NOT_PROVEN_DEAD', ' '],
    ['is not proven while it is shown as going on', ['SUBMITTED'], 'NOT_PROVEN_DEAD', WRITTEN],
    [
      'is not proven where it is not shown, and its payment is',
      [undefined, 'SUB_STARTED'],
      'NOT_PROVEN_DEAD',
      WRITTEN,
    ],
    [
      'is proven where a fee was booked in it, and nothing else',
      ['CANCELLED', 'INITIATED', '', [{ status: 'SETTLED', bankPaymentId: 'fee', transactionType: 'FEE' }]],
      undefined,
      WRITTEN,
    ],
    [
      'is refuted by a payment in it that is not known',
      ['CANCELLED', 'INITIATED', '', [{ status: 'SETTLED', bankPaymentId: 'other' }]],
      'WAS_EXECUTED',
      WRITTEN,
    ],
    ['is refuted by a payment that is taken', ['CANCELLED', 'EXCHANGED'], 'WAS_EXECUTED', WRITTEN],
    ['is refuted by a payment that was paid', [undefined, 'SETTLED'], 'WAS_EXECUTED', WRITTEN],
    [
      'is refuted by a payment that went further since that end',
      ['CANCELLED', 'SUB_INT_CTRL_PASSED', CANCELLED],
      'WAS_EXECUTED',
      WRITTEN,
    ],
  ])('%s', async (_, of, code, evidence) => {
    const { ended, attention, recordSight } = await submitted(...of);
    const proving = ended.prove(company.employerId, attention, evidence);
    if (code === undefined) await expect(proving).resolves.toBeUndefined();
    else await expect(proving).rejects.toMatchObject({ code });
    // The bank need not show it again.
    const isTold = code === 'WAS_EXECUTED' || of[0] === 'SUBMITTED';
    expect(recordSight).toHaveBeenCalledTimes(isTold ? 1 : 0);
  });

  it.each([
    [
      'a payment of it was taken',
      `UPDATE bank_payment SET bank_status = 'EXCHANGED', bank_status_at = now() WHERE instruction_id = $id`,
    ],
    [
      'the bank went on with it',
      `UPDATE instruction SET went_on_at = now() + interval '1 minute' WHERE id = $id`,
    ],
    [
      'it has ended',
      `UPDATE instruction SET status = 'CLOSED', outcome = 'SETTLED', closed_at = now() WHERE id = $id`,
    ],
    [
      'its only payment was paid',
      `UPDATE payment SET status = 'SETTLED' WHERE pay_run_id = (SELECT pay_run_id FROM instruction WHERE id = $id)`,
    ],
    [
      'its only payment ended',
      `UPDATE payment SET status = 'FAILED', live = false
       WHERE pay_run_id = (SELECT pay_run_id FROM instruction WHERE id = $id)`,
      'NOTHING_TO_DECIDE',
    ],
  ])('is refused where %s since the bank was read', async (_, sets, code = 'WAS_EXECUTED') => {
    const { ended, attention } = await submitted(undefined, undefined, sets);
    const action = {
      proposedBy: company.preparer.personId,
      reason: 'the bank says so',
    } as AttentionActionRow;
    const burying = office.in(company, (tx) => ended.bury(tx, attention, action));
    await expect(burying).rejects.toMatchObject({ code });
  });

  it('waits for what is being recorded of it, and is refused by that', async () => {
    const { ended, attention } = await submitted();
    const action = {
      proposedBy: company.preparer.personId,
      reason: 'the bank says so',
    } as AttentionActionRow;
    let begin = () => {};
    const burying = new Promise<void>((resolve) => (begin = resolve)).then(() =>
      office.in(company, (tx) => ended.bury(tx, attention, action)),
    );
    const refused = expect(burying).rejects.toMatchObject({ code: 'WAS_EXECUTED' });
    await office.in(company, async (tx) => {
      await lockInstruction(tx, attention.instructionId!);
      begin();
      await eventually(() => office.isLockAwaited(), 3_000);
      await tx.query(
        `UPDATE bank_payment SET bank_status = 'EXCHANGED', bank_rank = ${BANK_LADDER.EXCHANGED}, bank_status_at = now()
         WHERE employer_id = $1 AND instruction_id = $2`,
        [tx.employerId, attention.instructionId],
      );
    });
    await refused;
  });
});
