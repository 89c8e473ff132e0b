import fc from 'fast-check';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { cancelRun } from '../../src/pay-run/cancellation';
import { amend } from '../../src/pay-run/amendment';
import { lockRun } from '../../src/pay-run/pay-run.store';
import { Company, PayOffice } from '../pay-run/pay-office';
import { Fate, FATES, RunAtBank } from '../pay-run/run-at-bank';
import { germanIban } from '../support/pay-rows';

/** How far a run gets. */
export const STAGES = [
  'READY',
  'AMENDED',
  'APPROVED',
  'BUILDING',
  'VERIFIED',
  'SUBMITTING',
  'FOLLOWING',
  'CANCELLED',
] as const;

/** How the submit of an instruction goes. */
const SUBMITS = {
  SUBMITTED: ['SUBMIT_INTENT', 'SUBMITTED'],
  UNKNOWN: ['SUBMIT_INTENT', 'SUBMIT_UNKNOWN'],
  REFUSED: ['SUBMIT_INTENT', 'SUBMIT_REFUSED'],
  VOID: ['SUBMIT_INTENT', 'SUBMIT_UNKNOWN', 'VOID'],
  RELEASED: ['RELEASED'],
} as const;

/** A payroll with its fates; instructions hold two rows each. */
export interface Mix {
  rows: { cents: number; held: boolean; fate: Fate }[];
  stage: (typeof STAGES)[number];
  submits: (keyof typeof SUBMITS)[];
  rebuilt: boolean;
  excluded: boolean;
}

const row = fc.record({
  cents: fc.integer({ min: 1, max: 1_000_000 }),
  held: fc.boolean(),
  fate: fc.constantFrom(...(Object.keys(FATES) as Fate[])),
});

/** Payrolls of two to seven rows, the first two of which are paid. */
export function mixes(stages: readonly Mix['stage'][] = STAGES): fc.Arbitrary<Mix> {
  return fc.record({
    rows: fc
      .array(row, { minLength: 2, maxLength: 7 })
      .map((rows) => rows.map((one, index) => ({ ...one, held: one.held && index > 1 }))),
    stage: fc.constantFrom(...stages),
    submits: fc.array(fc.constantFrom(...(Object.keys(SUBMITS) as (keyof typeof SUBMITS)[])), {
      minLength: 4,
      maxLength: 4,
    }),
    rebuilt: fc.boolean(),
    excluded: fc.boolean(),
  });
}

/** Accounts of a run's own: an amended one is held for rows that another one has. */
let accounts = 0;

/** Makes the run of a mix, for a company whose instructions hold two rows. */
export async function mixedRun(office: PayOffice, company: Company, mix: Mix): Promise<PayRun> {
  const isAmended = mix.excluded || mix.stage === 'AMENDED';
  const toPay = mix.rows.map(({ cents, held }) => ({
    amountMinor: BigInt(cents),
    held,
    ...(isAmended && { iban: germanIban((accounts += 1)) }),
  }));
  const run = await office.run(company, toPay);
  if (isAmended) await excludeFirst(office, company, run);
  if (mix.stage === 'READY' || mix.stage === 'AMENDED') return run;
  const atBank = await RunAtBank.approved(office, company, run);
  if (mix.stage === 'CANCELLED') await cancel(office, company, run);
  else if (mix.stage !== 'APPROVED') await build(atBank, mix, await parts(office, company, run));
  return run;
}

async function build(atBank: RunAtBank, mix: Mix, ordinals: number[]): Promise<void> {
  await atBank.start();
  if (mix.rebuilt) {
    await atBank.build(1, 1);
    await atBank.rebuild(1);
  }
  const [last = 1] = ordinals.slice(-1);
  for (const ordinal of ordinals) {
    await atBank.build(ordinal, mix.stage === 'BUILDING' && ordinal === last ? 1 : undefined);
  }
  if (mix.stage === 'BUILDING') return;
  await atBank.move('VERIFIED');
  if (mix.stage === 'VERIFIED') return;
  await atBank.move('SUBMITTING');
  const submitting = mix.stage === 'SUBMITTING' ? ordinals.slice(0, -1) : ordinals;
  for (const ordinal of submitting) {
    await atBank.instruction(ordinal, ...SUBMITS[mix.submits[ordinal - 1] ?? 'SUBMITTED']);
  }
  if (mix.stage === 'FOLLOWING') await atBank.move('FOLLOWING');
  await atBank.fates(await atBank.submitted(mix.rows.map(({ fate }) => fate)));
}

async function excludeFirst(office: PayOffice, company: Company, run: PayRun): Promise<void> {
  await office.in(company, async (tx) => {
    const [first] = await tx.query<{ id: string }>(
      `SELECT id FROM payment WHERE pay_run_id = $1 AND row_no = 1`,
      [run.id],
    );
    await amend(tx, office.personal, await lockRun(tx, run.id), company.preparer.personId, {
      excludePaymentIds: [first?.id ?? ''],
      reason: 'left the company',
    });
  });
}

async function cancel(office: PayOffice, company: Company, run: PayRun): Promise<void> {
  await office.in(company, async (tx) =>
    cancelRun(tx, await lockRun(tx, run.id), 'service', 'the wrong month'),
  );
}

async function parts(office: PayOffice, company: Company, run: PayRun): Promise<number[]> {
  const planned = await office.query<{ ordinal: number }>(
    company,
    `SELECT p.ordinal FROM planned_instruction p JOIN pay_run r ON r.id = p.pay_run_id
     WHERE r.id = $1 AND p.run_version = r.run_version ORDER BY p.ordinal`,
    [run.id],
  );
  return planned.map(({ ordinal }) => ordinal);
}
