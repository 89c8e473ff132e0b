import { newId } from '../../src/database/new-id';
import { raise } from '../../src/pay-run/attention.store';
import type { Instruction } from '../../src/pay-run/instruction.entity';
import { tellOfMoved } from '../../src/pay-run/moved-payment';
import { instructionsOf } from '../../src/pay-run/replaced.store';
import { recordBackInPart } from '../../src/settlement/returned-in-part';
import { followed } from '../settlement/followed-payment';
import { Company, PayOffice, rows } from './pay-office';
import { RunAtBank } from './run-at-bank';

const PAID = 200n;

describe('what a look before a repay shows to be back of a payment', () => {
  let office: PayOffice;
  let company: Company;
  let instruction: Instruction;
  let paymentId: string;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office.close());
  beforeEach(async () => {
    company = await office.company();
    const run = await office.run(company, rows(Number(PAID)));
    await RunAtBank.ended(office, company, run, ['RETURNED']);
    const at = await RunAtBank.instructionOf(office, company, run);
    [instruction, paymentId] = [at.instruction, at.ids[0]!];
  });

  const look = (backMinor: bigint) =>
    office.in(company, (tx) =>
      tellOfMoved(tx, [
        {
          paymentId,
          instructionId: instruction.id,
          bankInstructionId: instruction.bankInstructionId!,
          bankStatus: 'less',
          isAsked: true,
          backMinor,
        },
      ]),
    );
  /** Who follows it is shown so much, and has been for long. */
  const follow = (amountMinor: bigint) =>
    office.in(company, (tx) =>
      recordBackInPart(tx, office.personal, instruction, [
        {
          payment: followed({ paymentId, amountMinor: PAID, status: 'SETTLED', returned: true }),
          shown: {
            bankPaymentId: 'b',
            ids: ['b'],
            status: 'RETURNED',
            wasSettled: true,
            currency: 'EUR',
            amountMinor,
          },
          counts: true,
        },
      ]),
    );
  const open = () =>
    office.query<{ id: string }>(
      company,
      'SELECT id FROM attention WHERE subject_id = $1 AND resolved_at IS NULL',
      [paymentId],
    );
  const decide = async (action: 'RESUME' | 'ACKNOWLEDGE'): Promise<void> => {
    const [{ id } = { id: '' }] = await open();
    const { finance, operator } = company;
    await office.query(
      company,
      `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
       VALUES ($1, $2, $3, $4, 'the bank says so', $5, $6, clock_timestamp())`,
      [company.employerId, newId(), id, action, finance.personId, operator.personId],
    );
    await office.query(
      company,
      `UPDATE attention SET resolved_at = clock_timestamp(), resolution = 'decided' WHERE id = $1`,
      [id],
    );
  };
  const known = async () => {
    const [found] = await office.in(company, (tx) => instructionsOf(tx, [paymentId]));
    const { backMinor, hasMovedInPart } = found!.payments[0]!;
    return [backMinor, hasMovedInPart];
  };

  it('is kept while who follows it knows of more', async () => {
    await look(150n);
    expect(await known()).toEqual([150n, true]);
    await follow(160n);
    await decide('RESUME');
    expect(await known()).toEqual([150n, true]);
  });

  it('is kept no more once who follows it knows of no more, and what more comes back is told', async () => {
    await look(150n);
    await follow(150n);
    await decide('ACKNOWLEDGE');
    expect(await known()).toEqual([150n, false]);
    await follow(PAID);
    await decide('RESUME');
    expect(await known()).toEqual([PAID, false]);
  });

  it('is news again where it is seen once more, unless two people said that nobody kept the rest', async () => {
    await follow(150n);
    await decide('ACKNOWLEDGE');
    await follow(PAID);
    await decide('RESUME');
    await look(150n);
    expect(await known()).toEqual([150n, true]);
    await follow(150n);
    await decide('RESUME');
    await follow(PAID);
    expect(await known()).toEqual([150n, false]);
    await look(150n);
    expect(await known()).toEqual([150n, false]);
    await look(140n);
    expect(await known()).toEqual([140n, true]);
  });

  it('is asked about once, also where another question about the payment was answered since', async () => {
    await follow(150n);
    await decide('ACKNOWLEDGE');
    await office.in(company, (tx) =>
      raise(tx, { kind: 'ECHO_MISMATCH', subjectId: paymentId, paymentId, happened: 'another account' }),
    );
    await decide('RESUME');
    await follow(150n);
    expect(await open()).toEqual([]);
  });
});
