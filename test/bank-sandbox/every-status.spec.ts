import { PATHS } from '../../src/bank/types';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import type { Variants } from '../../src/bank-sandbox/variants';
import { BANK_STATUSES } from '../../src/domain/bank-status';
import { BIRCH, CEDAR, historyOf, type Json, statusesOf, Tester } from './client';

const TWO_DAYS_MS = 2 * 86_400_000;
/** Creditors whose refusal leaves no payment to look at. */
const WITHOUT_PAYMENT = ['refusedAtAdd', 'submitRefused'];

/** Statuses in the histories of all instructions and payments of a bank. */
async function statusesAt(bank: Tester): Promise<string[]> {
  const { instructions } = await bank.ledger();
  const payments = (await bank.get(`${PATHS.paymentTransactions()}?pageSize=100`)).body.items;
  const histories: Json[][] = payments.map(historyOf);
  for (const { id } of instructions)
    histories.push((await bank.get(PATHS.customerInstruction(String(id)))).body.history);
  return histories.flatMap(statusesOf);
}

async function unusualPayments(): Promise<string[]> {
  const bank = await Tester.start();
  const creditors = MAGIC_CREDITORS.filter(({ effect }) => !WITHOUT_PAYMENT.includes(effect));
  await bank.pay(creditors.map(({ iban }) => ({ iban })));
  await bank.pay([{ value: 150_001 }, { iban: BIRCH.account!.iban }], {}, CEDAR);
  await bank.advance(TWO_DAYS_MS);
  const seen = await statusesAt(bank);
  await bank.close();
  return seen;
}

async function waiting(variants: Partial<Variants>, verb: 'release' | 'refuse'): Promise<string[]> {
  const bank = await Tester.start({ variants, nowMs: Date.parse('2026-03-30T08:00:00Z') });
  const { id } = await bank.pay([{}], { requestedExecutionDate: '2026-04-01' });
  await bank.post(`/sandbox/instructions/${id}/${verb}`);
  await bank.advance(0);
  const seen = await statusesAt(bank);
  await bank.close();
  return seen;
}

it('can bring about every status that is known of this family of banks, and one that is not', async () => {
  const seen = new Set([
    ...(await unusualPayments()),
    ...(await waiting({ submitWaitsFor: 'strong-authentication' }, 'release')),
    ...(await waiting({ submitWaitsFor: 'approval' }, 'refuse')),
    ...(await waiting({ waitsAs: 'PRO_WAIT_SETTLEMENT_DATE' }, 'release')),
  ]);
  expect([...seen].sort()).toEqual([...BANK_STATUSES, 'PRO_MANUAL_REVIEW'].sort());
});
