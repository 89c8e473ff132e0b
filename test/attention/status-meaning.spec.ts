import type { InstructionSight } from '../../src/attention/instruction-sight';
import { StatusMeaning } from '../../src/attention/status-meaning';
import { newId } from '../../src/database/new-id';
import { NEVER_SHOWN, readBankStatus } from '../../src/domain/bank-status';
import { Attention, AttentionActionRow } from '../../src/pay-run/attention.entity';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { subjectAfterEnd } from '../../src/pay-run/named-subject';
import type { PayRun } from '../../src/pay-run/pay-run.entity';
import { Company, PayOffice, rows } from '../pay-run/pay-office';
import { RunAtBank } from '../pay-run/run-at-bank';

const REVIEW = 'PRO_MANUAL_REVIEW';
const ODD = 'PRO_ODD';
const OF_ALL = 'C_ODD';

type Word = 'PAID' | 'NOT_PAID';

/** A payment as the bank shows it while people decide. */
interface Shown {
  row?: number;
  status: string;
  wasSettled?: boolean;
  amountMinor?: bigint;
}

interface Situation {
  /** As what each payment was last shown; null: never. */
  kept: readonly (string | null)[];
  /** The status of their instruction. */
  of?: string;
  /** That status as it is shown while people decide; absent where the bank does not show it. */
  now?: string;
  /** What people were asked about; of each payment the status it was kept with where absent. */
  asked?: { status: string; rows: number[] }[];
}

describe('what two people decide that a status means', () => {
  let office: PayOffice;
  let company: Company;
  let run: PayRun;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office.close());

  async function inQuestion({ kept, of = 'SUBMITTED', asked }: Situation) {
    company = await office.company();
    run = await office.run(company, rows(...kept.map((_, n) => 100 + n)));
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    await atBank.build(1);
    await atBank.move('VERIFIED', 'SUBMITTING');
    await atBank.instruction(1, 'SUBMIT_INTENT', 'SUBMITTED');
    const { id } = await office.in(company, (tx) =>
      tx.manager.findOneByOrFail(Instruction, { payRunId: run.id }),
    );
    await office.tamper('UPDATE instruction SET bank_status = $2 WHERE id = $1', [id, of]);
    for (const [n, status] of kept.entries()) await keep(id, n + 1, status);
    const payments = await office.query<{ id: string; bankPaymentId: string }>(
      company,
      `SELECT payment_id AS id, bank_payment_id AS "bankPaymentId" FROM bank_payment
       WHERE instruction_id = $1 ORDER BY row_no`,
      [id],
    );
    const askedRows = asked ?? kept.map((status, n) => ({ status: status ?? NEVER_SHOWN, rows: [n + 1] }));
    const attention = { instructionId: id, subjectId: id, askedRows } as unknown as Attention;
    return { id, attention, payments };
  }

  async function keep(instructionId: string, row: number, status: string | null) {
    const reading = readBankStatus(status ?? '');
    await office.tamper(
      `UPDATE bank_payment SET bank_status = coalesce($3, bank_status), bank_rank = $4,
         bank_status_at = CASE WHEN $3 IS NOT NULL THEN now() END WHERE instruction_id = $1 AND row_no = $2`,
      [instructionId, row, status, reading.kind === 'progress' ? reading.rank : 0],
    );
  }

  /** Decided at a bank that shows the payments so now. */
  function meaning(
    payments: readonly { bankPaymentId: string }[] = [],
    shown: readonly Shown[] = [],
    instruction?: string,
  ) {
    const seen = shown.map(({ row = 1, ...one }) => ({
      wasSettled: false,
      ...one,
      bankPaymentId: payments[row - 1]!.bankPaymentId,
    }));
    const record = jest.fn(() => Promise.resolve());
    const read = () => Promise.resolve({ instruction: instruction && { status: instruction }, seen });
    const sight = { read, record } as unknown as InstructionSight;
    return { meaning: new StatusMeaning(office.database, office.personal, sight), record };
  }

  /** What was proposed: of some payments, by the statuses they had. */
  const proposed = (action: Word, of: readonly { id: string }[], statuses: readonly string[]) =>
    ({
      action,
      reason: 'the bank says so',
      paymentIds: of.map(({ id }) => id),
      paymentStatuses: statuses,
      proposedBy: company.preparer.personId,
    }) as unknown as AttentionActionRow;

  it.each<[string, Situation, Shown[], Word, string | undefined]>([
    ['holds while it is shown so', { kept: [REVIEW] }, [{ status: REVIEW }], 'NOT_PAID', undefined],
    ['holds where it is not shown', { kept: [REVIEW] }, [], 'NOT_PAID', undefined],
    [
      'is not needed of what was paid',
      { kept: [REVIEW] },
      [{ status: 'SETTLED' }],
      'PAID',
      'STATUS_IS_CLEAR',
    ],
    [
      'is not needed of what went on from an unclear status',
      { kept: [REVIEW] },
      [{ status: 'EXCHANGED' }],
      'PAID',
      'STATUS_IS_CLEAR',
    ],
    [
      'is refuted as NOT_PAID by another unclear status',
      { kept: [REVIEW] },
      [{ status: ODD }],
      'NOT_PAID',
      'WAS_EXECUTED',
    ],
    ['holds as PAID under another unclear status', { kept: [REVIEW] }, [{ status: ODD }], 'PAID', undefined],
    [
      'is refuted by a history that says it was settled',
      { kept: [REVIEW] },
      [{ status: REVIEW, wasSettled: true }],
      'NOT_PAID',
      'WAS_EXECUTED',
    ],
    [
      'holds of what rests on its way',
      { kept: ['EXCHANGED'] },
      [{ status: 'EXCHANGED' }],
      'NOT_PAID',
      undefined,
    ],
    [
      'is refuted by a step further',
      { kept: ['SUBMITTED'] },
      [{ status: 'EXCHANGED' }],
      'NOT_PAID',
      'WAS_EXECUTED',
    ],
    [
      'holds where a step is shown that an older read may show',
      { kept: ['SUBMITTED'] },
      [{ status: 'SUB_STARTED' }],
      'NOT_PAID',
      undefined,
    ],
    [
      'holds of what was never shown, and is as before its submit',
      { kept: [null] },
      [{ status: 'INITIATED' }],
      'NOT_PAID',
      undefined,
    ],
    [
      'is refuted where it is shown as paid with another amount',
      { kept: [REVIEW] },
      [{ status: 'SETTLED', amountMinor: 99n }],
      'NOT_PAID',
      'SHOWN_OTHERWISE',
    ],
    [
      'is refuted where it is shown as unpaid with another amount',
      { kept: [REVIEW] },
      [{ status: 'FAILED', amountMinor: 99n }],
      'PAID',
      'SHOWN_OTHERWISE',
    ],
    [
      'holds where what is shown with another amount says the same',
      { kept: [REVIEW] },
      [{ status: 'FAILED', amountMinor: 99n }],
      'NOT_PAID',
      undefined,
    ],
    [
      'holds where what is shown with another amount has not ended',
      { kept: [REVIEW] },
      [{ status: 'EXCHANGED', amountMinor: 99n }],
      'NOT_PAID',
      undefined,
    ],
    [
      'holds while its instruction is unclear and the bank is past its submit with none',
      { kept: ['INITIATED'], of: OF_ALL, asked: [{ status: OF_ALL, rows: [1] }] },
      [{ status: 'INITIATED' }],
      'NOT_PAID',
      undefined,
    ],
    [
      'is refuted by another payment with which the bank went on',
      { kept: ['INITIATED', 'INITIATED'], of: OF_ALL, asked: [{ status: OF_ALL, rows: [1, 2] }] },
      [{ status: 'INITIATED' }, { row: 2, status: 'SUBMITTED' }],
      'NOT_PAID',
      'WAS_EXECUTED',
    ],
    [
      'holds where the bank had gone on with another, which it does not show now',
      { kept: ['INITIATED', 'SUBMITTED'], of: OF_ALL, asked: [{ status: 'INITIATED', rows: [1] }] },
      [{ status: 'INITIATED' }],
      'NOT_PAID',
      undefined,
    ],
    [
      'is not needed once its instruction is clear',
      { kept: ['INITIATED'], of: OF_ALL, now: 'SUB_REQUIRED', asked: [{ status: OF_ALL, rows: [1] }] },
      [{ status: 'INITIATED' }],
      'NOT_PAID',
      'STATUS_IS_CLEAR',
    ],
  ])('%s', async (_, situation, shown, word, code) => {
    const { attention, payments } = await inQuestion(situation);
    const { meaning: asked, record } = meaning(payments, shown, situation.now);
    const action = proposed(word, payments.slice(0, 1), [attention.askedRows![0]!.status]);
    const proving = asked.prove(company.employerId, attention, action);
    if (code === undefined) await expect(proving).resolves.toBeUndefined();
    else await expect(proving).rejects.toMatchObject({ code });
    // The bank need not show it again.
    expect(record).toHaveBeenCalledTimes(code === undefined ? 0 : 1);
  });

  it('is proposed of what people were told of, by the status it has', async () => {
    const { attention, payments } = await inQuestion({
      kept: [REVIEW, REVIEW, ODD],
      asked: [{ status: REVIEW, rows: [1, 3] }],
    });
    const of = await office.in(company, (tx) =>
      meaning().meaning.paymentsOf(tx, attention, { evidence: 'letter 4711' }),
    );
    expect(of).toEqual({ paymentIds: [payments[0]!.id], paymentStatuses: [REVIEW] });
  });

  it.each<[string, Word, string, string | undefined, string | undefined]>([
    ['was paid', 'NOT_PAID', `UPDATE payment SET status = 'SETTLED'`, undefined, 'WAS_EXECUTED'],
    ['failed', 'PAID', `UPDATE payment SET status = 'FAILED', live = false`, undefined, 'ENDED_UNPAID'],
    [
      'failed',
      'NOT_PAID',
      `UPDATE payment SET status = 'FAILED', live = false`,
      undefined,
      'NOTHING_TO_DECIDE',
    ],
    ['went on to what is asked about too', 'NOT_PAID', '', ODD, 'WAS_EXECUTED'],
    ['went on to what is not asked about', 'PAID', '', 'PRO_ODDER', 'STATUS_NOT_ASKED'],
  ])('is not done where a payment %s since it was proposed as %s', async (_, word, sets, now, code) => {
    const { id, attention, payments } = await inQuestion({
      kept: [REVIEW],
      asked: [REVIEW, ODD].map((status) => ({ status, rows: [1] })),
    });
    if (sets !== '') await office.tamper(`${sets} WHERE pay_run_id = $1`, [run.id]);
    if (now !== undefined) await keep(id, 1, now);
    const deciding = office.in(company, (tx) =>
      meaning().meaning.decide(tx, attention, proposed(word, payments, [REVIEW])),
    );
    await expect(deciding).rejects.toMatchObject({ code });
  });

  it('is not done of an instruction that is not followed any more', async () => {
    const { id, attention, payments } = await inQuestion({ kept: [REVIEW] });
    await office.tamper(`UPDATE instruction SET status = 'ABANDONED' WHERE id = $1`, [id]);
    const deciding = office.in(company, (tx) =>
      meaning().meaning.decide(tx, attention, proposed('PAID', payments, [REVIEW])),
    );
    await expect(deciding).rejects.toMatchObject({ code: 'NOTHING_TO_DECIDE' });
  });

  it('is not done of what the bank has contradicted, whatever its end', async () => {
    const { id, attention, payments } = await inQuestion({ kept: [REVIEW] });
    await office.tamper(`UPDATE payment SET status = 'VOID', live = false WHERE pay_run_id = $1`, [run.id]);
    await office.query(
      company,
      `INSERT INTO attention (employer_id, id, kind, pay_run_id, instruction_id, payment_id, subject_id, happened,
         certain, ask_bank) VALUES ($1, $2, 'CONTRADICTION', $3, $4, $5, $5, 'two ends', 'nothing', 'which')`,
      [company.employerId, newId(), run.id, id, payments[0]!.id],
    );
    const deciding = office.in(company, (tx) =>
      meaning().meaning.decide(tx, attention, proposed('NOT_PAID', payments, [REVIEW])),
    );
    await expect(deciding).rejects.toMatchObject({ code: 'WAS_EXECUTED' });
  });

  it('is done of nothing by a status that nobody was asked about', async () => {
    const { attention, payments } = await inQuestion({ kept: [REVIEW] });
    const deciding = office.in(company, (tx) =>
      meaning().meaning.decide(tx, attention, proposed('PAID', payments, [ODD])),
    );
    await expect(deciding).rejects.toMatchObject({ code: 'NOTHING_TO_DECIDE' });
  });

  it.each([
    ['PAID', 'SETTLED'],
    ['NOT_PAID', 'VOID'],
  ] as const)('as %s ends the payments it names as %s, and no others', async (word, status) => {
    const { attention, payments } = await inQuestion({ kept: [REVIEW, REVIEW] });
    const action = await confirmed(attention, proposed(word, payments.slice(0, 1), [REVIEW]));
    await office.in(company, (tx) => meaning().meaning.decide(tx, attention, action));
    expect(await statuses()).toEqual([status, 'SUBMITTED']);
  });

  it('is asked of each end and status by itself after an end, leaves it, and is decided once', async () => {
    const { id, attention, payments } = await inQuestion({ kept: ['EXT_REFUSED', 'FAILED', 'FAILED'] });
    await office.tamper(
      `UPDATE payment SET live = false, status = CASE row_no WHEN 1 THEN 'REJECTED' ELSE 'FAILED' END
      WHERE pay_run_id = $1`,
      [run.id],
    );
    await office.tamper(
      'UPDATE bank_payment SET shown_status = CASE row_no WHEN 3 THEN $2 ELSE $3 END WHERE instruction_id = $1',
      [id, REVIEW, ODD],
    );
    const after = {
      ...attention,
      subjectId: subjectAfterEnd(id, 'FAILED', ODD),
      askedRows: [{ status: ODD, rows: [1, 2] }],
    } as Attention;
    const asked = () =>
      office.in(company, (tx) => meaning().meaning.paymentsOf(tx, after, { evidence: 'letter 4711' }));
    expect((await asked()).paymentIds).toEqual([payments[1]!.id]);
    const action = await confirmed(after, proposed('NOT_PAID', [payments[1]!], [ODD]));
    await office.in(company, (tx) => meaning().meaning.decide(tx, after, action));
    expect(await statuses()).toEqual(['REJECTED', 'FAILED', 'FAILED']);
    await expect(asked()).rejects.toMatchObject({ code: 'NOTHING_TO_DECIDE' });
  });

  async function statuses() {
    const found = await office.query<{ status: string }>(
      company,
      'SELECT status FROM payment WHERE pay_run_id = $1 ORDER BY row_no',
      [run.id],
    );
    return found.map(({ status }) => status);
  }

  /** As it is once another person has confirmed it. */
  async function confirmed(
    { instructionId, subjectId, askedRows }: Attention,
    action: AttentionActionRow,
  ): Promise<AttentionActionRow> {
    const [id, attentionId] = [newId(), newId()];
    await office.query(
      company,
      `INSERT INTO attention (employer_id, id, kind, pay_run_id, instruction_id, subject_id, happened, certain, ask_bank,
         asked_rows) VALUES ($1, $2, 'UNKNOWN_STATUS', $3, $4, $5, $7, 'nothing', 'what it means', $6)`,
      [
        company.employerId,
        attentionId,
        run.id,
        instructionId,
        subjectId,
        JSON.stringify(askedRows),
        `payments show ${action.paymentStatuses?.[0] ?? ''} (rows 1).`,
      ],
    );
    await office.query(
      company,
      `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, evidence, payment_ids,
         payment_statuses, proposed_by, confirmed_by, confirmed_at)
       VALUES ($1, $2, $3, $4, $5, 'letter 4711', $6, $7, $8, $9, now())`,
      [
        company.employerId,
        id,
        attentionId,
        action.action,
        action.reason,
        action.paymentIds,
        action.paymentStatuses,
        action.proposedBy,
        company.approver.personId,
      ],
    );
    return { ...action, id };
  }
});
