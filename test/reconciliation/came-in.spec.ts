import fc from 'fast-check';
import { EmployerTransaction } from '../../src/database/database';
import { sumMinor } from '../../src/domain/money';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { messageIdOf } from '../../src/pay-run/message-id';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { movePayments } from '../../src/pay-run/payment.store';
import { acknowledgedOf } from '../../src/reconciliation/acknowledged';
import { followedPayments } from '../../src/settlement/follow.store';
import { CameBack, tellOfPossibleReturns } from '../../src/settlement/possible-returns';
import { Company, PayOffice, rows } from '../pay-run/pay-office';
import { Fate, RunAtBank } from '../pay-run/run-at-bank';

const DEBTOR = 'DE70999900000000001001';

/** A record of money that came in, in cents; the row it names, or none. */
interface CameIn {
  minor: number;
  row?: number;
}

/** What a read shows of one payment; to what it moves, where that ends it. */
interface Shown {
  row: number;
  as: string;
  to?: 'SETTLED' | 'FAILED';
}

let office: PayOffice;
let company: Company;
beforeAll(async () => {
  office = await PayOffice.open();
  company = await office.company();
});
afterAll(() => office?.close());

/** An instruction of which each payment was paid unless something else is said of it, and what is told of the money that comes in to its account. */
class PaidInstruction {
  private readonly cameIn: CameIn[] = [];

  private constructor(
    private readonly run: PayRun,
    private readonly instruction: Instruction,
  ) {}

  static async of(...payments: (number | [minor: number, fate: Fate])[]): Promise<PaidInstruction> {
    const all = payments.map((one) => (typeof one === 'number' ? ([one, 'SETTLED'] as const) : one));
    const drafted = await office.run(company, rows(...all.map(([minor]) => minor)));
    const fates = all.map(([, fate]) => fate);
    const { run } = await RunAtBank.followed(office, company, drafted, fates);
    const instruction = await office.in(company, (tx) =>
      tx.manager.findOneByOrFail(Instruction, { payRunId: run.id }),
    );
    return new PaidInstruction(run, instruction);
  }

  comesIn(...records: CameIn[]): void {
    this.cameIn.push(...records);
  }

  /** As the bank shows it, in the same unit of work as what is told of that. */
  async read(change: { back?: number; hidden?: readonly number[]; shown?: Shown } = {}): Promise<void> {
    await office.in(company, async (tx) => {
      if (change.shown) await this.show(tx, change.shown);
      const returned = await tx.query<{ id: string }>(
        'UPDATE payment SET returned_at = clock_timestamp() WHERE pay_run_id = $1 AND row_no = $2 AND returned_at IS NULL RETURNING id',
        [this.run.id, change.back ?? 0],
      );
      if (returned.length > 0)
        await tx.query(
          `UPDATE bank_payment SET bank_status = 'RETURNED' WHERE instruction_id = $1 AND row_no = $2`,
          [this.instruction.id, change.back],
        );
      const payments = await followedPayments(tx, office.personal, this.instruction);
      const cameBack = new CameBack(this.instruction.id);
      this.cameIn.forEach(({ minor, row }, n) => {
        if (change.hidden?.includes(n)) return;
        const messageId = row === undefined ? undefined : messageIdOf(this.instruction.id, row);
        const marks = { creditorIban: DEBTOR, amountMinor: BigInt(minor), currency: 'EUR', messageId };
        cameBack.add({ ...marks, bankPaymentId: `${n}` });
      });
      await tellOfPossibleReturns(tx, office.personal, this.instruction, payments, cameBack);
    });
  }

  private async show(tx: EmployerTransaction, { row, as, to }: Shown): Promise<void> {
    const [shown] = await tx.query<{ payment_id: string }>(
      'UPDATE bank_payment SET bank_status = $3 WHERE instruction_id = $1 AND row_no = $2 RETURNING payment_id',
      [this.instruction.id, row, as],
    );
    const settledOn = to === 'SETTLED' ? '2026-11-27' : undefined;
    if (shown && to)
      await movePayments(
        tx,
        this.run.id,
        'SUBMITTED',
        [{ paymentId: shown.payment_id, to, settledOn }],
        'service',
      );
  }

  /** The records that people are asked about. */
  async asked(): Promise<string[]> {
    const open = await office.query<{ records: { id: string }[] }>(
      company,
      'SELECT records FROM attention WHERE subject_id = $1 AND resolved_at IS NULL',
      [this.instruction.id],
    );
    return open.flatMap(({ records }) => records.map(({ id }) => id)).sort();
  }

  acknowledge(): Promise<void> {
    return office.in(company, async (tx) => {
      await tx.query(
        `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
         SELECT employer_id, gen_random_uuid(), id, 'ACKNOWLEDGE', 'the bank knows', $3, $4, clock_timestamp()
         FROM attention WHERE employer_id = $1 AND subject_id = $2 AND resolved_at IS NULL`,
        [tx.employerId, this.instruction.id, company.operator.personId, company.approver.personId],
      );
      await tx.query(
        `UPDATE attention SET resolved_at = clock_timestamp(), resolution = 'ACKNOWLEDGE'
         WHERE employer_id = $1 AND subject_id = $2 AND resolved_at IS NULL`,
        [tx.employerId, this.instruction.id],
      );
    });
  }

  /** In cents what the report says that came back, and what was acknowledged. */
  reported(): Promise<{ returned: number; acknowledged: number }> {
    return office.in(company, async (tx) => {
      const acknowledged = await acknowledgedOf(tx, [this.run.id]);
      const [back] = await tx.query<{ minor: string }>(
        'SELECT coalesce(sum(amount_minor), 0) AS minor FROM payment WHERE pay_run_id = $1 AND returned_at IS NOT NULL',
        [this.run.id],
      );
      const minor = sumMinor(acknowledged.map(({ amountMinor }) => amountMinor));
      return { returned: Number(back?.minor), acknowledged: Number(minor) };
    });
  }
}

it('tells only as many that name no payment as more came in than came back, those that were not told before', async () => {
  const paid = await PaidInstruction.of(100, 100);
  paid.comesIn({ minor: 100 });
  await paid.read();
  await paid.acknowledge();
  await paid.read({ back: 1 });
  expect(await paid.reported()).toEqual({ returned: 100, acknowledged: 0 });
  paid.comesIn({ minor: 100 });
  await paid.read();
  expect(await paid.asked()).toEqual(['1']);
  await paid.acknowledge();
  await paid.read();
  expect(await paid.asked()).toEqual([]);
  expect(await paid.reported()).toEqual({ returned: 100, acknowledged: 100 });
});

it('tells what came in with a return that the same read shows first, and keeps it', async () => {
  const paid = await PaidInstruction.of(100, 100);
  paid.comesIn({ minor: 100 }, { minor: 100 });
  await paid.read({ back: 1 });
  expect(await paid.asked()).toEqual(['1']);
  await paid.acknowledge();
  await paid.read();
  expect(await paid.asked()).toEqual([]);
  expect(await paid.reported()).toEqual({ returned: 100, acknowledged: 100 });
});

it.each([
  ['comes with the return', true],
  ['comes later', false],
])('keeps what was acknowledged where a record that names the payment %s', async (_when, isAtOnce) => {
  const paid = await PaidInstruction.of(100, 100);
  paid.comesIn({ minor: 100 });
  await paid.read();
  await paid.acknowledge();
  if (!isAtOnce) await paid.read({ back: 1 });
  paid.comesIn({ minor: 100, row: 1 });
  await paid.read({ back: 1 });
  await paid.read({ hidden: [1] });
  expect(await paid.asked()).toEqual([]);
  expect(await paid.reported()).toEqual({ returned: 100, acknowledged: 100 });
});

it('goes on asking about a record that a read does not show where another comes in', async () => {
  const paid = await PaidInstruction.of(100, 100);
  paid.comesIn({ minor: 100 });
  await paid.read();
  paid.comesIn({ minor: 100, row: 2 });
  await paid.read({ hidden: [0] });
  expect(await paid.asked()).toEqual(['0', '1']);
});

it('asks about a record that names a row which the instruction does not have', async () => {
  const paid = await PaidInstruction.of(100);
  paid.comesIn({ minor: 100, row: 9 });
  await paid.read();
  expect(await paid.asked()).toEqual(['0']);
});

it('goes on asking about a record that names none while a payment of as much goes on, or ends unpaid', async () => {
  const paid = await PaidInstruction.of([100, 'EXCHANGED'], 100);
  paid.comesIn({ minor: 100 });
  await paid.read({ shown: { row: 1, as: 'SUB_IS_VALID' } });
  expect(await paid.asked()).toEqual(['0']);
  await paid.read({ shown: { row: 1, as: 'SUBMITTED' } });
  expect(await paid.asked()).toEqual(['0']);
  await paid.read({ shown: { row: 1, as: 'EXT_REFUSED', to: 'FAILED' } });
  expect(await paid.asked()).toEqual(['0']);
  await paid.read({ back: 2 });
  expect(await paid.asked()).toEqual([]);
});

it('remembers which record names a payment before it comes back', async () => {
  const paid = await PaidInstruction.of([100, 'EXCHANGED'], 100);
  paid.comesIn({ minor: 100, row: 1 }, { minor: 100 });
  await paid.read();
  expect(await paid.asked()).toEqual(['1']);
  await paid.read({ hidden: [0] });
  expect(await paid.asked()).toEqual(['1']);
  await paid.read({ shown: { row: 1, as: 'RETURNED', to: 'SETTLED' }, back: 1, hidden: [0] });
  expect(await paid.asked()).toEqual(['1']);
});

it('lets no payment in flight explain what names none where a record names it that the read does not show', async () => {
  const paid = await PaidInstruction.of([100, 'EXCHANGED'], 100);
  paid.comesIn({ minor: 100, row: 1 });
  await paid.read();
  paid.comesIn({ minor: 100 });
  await paid.read({ hidden: [0] });
  expect(await paid.asked()).toEqual(['1']);
});

it('asks about what was acknowledged no more when another comes in, and closes once that is explained', async () => {
  const paid = await PaidInstruction.of(70, 100);
  paid.comesIn({ minor: 70 });
  await paid.read();
  await paid.acknowledge();
  paid.comesIn({ minor: 100, row: 2 });
  await paid.read();
  expect(await paid.asked()).toEqual(['1']);
  await paid.read({ back: 2 });
  expect(await paid.asked()).toEqual([]);
});

it('asks on about the later of two that name none where one payment comes back: the one that was decided is explained', async () => {
  const paid = await PaidInstruction.of(100, 100);
  for (const decides of [true, false]) {
    paid.comesIn({ minor: 100 });
    await paid.read();
    if (decides) await paid.acknowledge();
  }
  expect(await paid.asked()).toEqual(['1']);
  await paid.read({ back: 1 });
  expect(await paid.asked()).toEqual(['1']);
});

const AMOUNTS = [100, 100, 100, 250];
const row = fc.integer({ min: 1, max: AMOUNTS.length });
const steps = fc.array(
  fc.oneof(
    fc.record({
      minor: fc.constantFrom(...AMOUNTS),
      row: fc.option(row, { nil: undefined, freq: 1 }),
      isRead: fc.boolean(),
    }),
    fc.record({ back: row, isRead: fc.constant(true) }),
    fc.record({ hidden: fc.array(fc.nat(4), { minLength: 1, maxLength: 3 }), isRead: fc.constant(true) }),
    fc.record({ acknowledge: fc.constant(true), isRead: fc.constant(false) }),
  ),
  { minLength: 2, maxLength: 10 },
);
type Steps = typeof steps extends fc.Arbitrary<infer All> ? All : never;

/** In cents what comes back and what else comes in: a record is of the payment it names, or of any of as much that none names. */
function expected(all: Steps): { returned: number; acknowledged: number } {
  const back = new Set(all.flatMap((one) => ('back' in one ? [one.back] : [])));
  const records = all.filter((one) => 'minor' in one);
  const amountOf = (row: number) => AMOUNTS[row - 1] ?? 0;
  const named = new Set(records.flatMap(({ row }) => row ?? []));
  const byName = [...named].filter(
    (row) => back.has(row) && records.some((one) => one.row === row && one.minor === amountOf(row)),
  );
  const explained = [...new Set(AMOUNTS)].map((amount) => {
    const unnamed = records.filter(({ row, minor }) => row === undefined && minor === amount).length;
    const givers = [...back].filter((row) => !named.has(row) && amountOf(row) === amount).length;
    return Math.min(unnamed, givers) * amount;
  });
  const sum = (amounts: readonly number[]) => amounts.reduce((a, b) => a + b, 0);
  return {
    returned: sum([...back].map(amountOf)),
    acknowledged: sum(records.map(({ minor }) => minor)) - sum(byName.map(amountOf)) - sum(explained),
  };
}

it('counts every cent that came in once, as returned or as acknowledged, whatever was shown, and decided, when', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const paid = await PaidInstruction.of(...AMOUNTS);
      for (const step of all) {
        if ('minor' in step) paid.comesIn(step);
        if ('acknowledge' in step) await paid.acknowledge();
        if (step.isRead) await paid.read('minor' in step ? {} : step);
      }
      await paid.read();
      await paid.acknowledge();
      await paid.read();
      expect(await paid.asked()).toEqual([]);
      expect(await paid.reported()).toEqual(expected(all));
    }),
    { numRuns: 40 },
  );
});
