import { isPayRunFinal } from '../../src/domain/pay-run';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import type { Context } from './context';
import type { Payment } from './store';
import type { Outside } from './world';

/** What became of a seed, by the bank's own book. */
export interface Verdict {
  outside: Outside | undefined;
  paidTwice: boolean;
  /** Somebody, or some amount, that nobody approved. */
  paidUnapproved: boolean;
  /** The service says something else than the book and no attention is open, or one of the above and none says so. */
  silent: boolean;
  /** Not final, and no attention is open. */
  stuck: boolean;
  raised: ReadonlySet<AttentionKind>;
  /** What people have not decided in the end. */
  left: readonly AttentionKind[];
  /** How often what is outside the assumptions came about. */
  strayed: number;
  endedMs: number;
}

/** What is asked where money moved that should not have; while a submit is in doubt the balance cannot say so. */
export const MONEY_MOVED: readonly AttentionKind[] = [
  'TOTAL_MISMATCH_AFTER_SUBMIT',
  'FOREIGN_RECORD',
  'INVARIANT_BREACH',
  'CONTRADICTION',
  'SUBMIT_UNKNOWN',
];

/** Holds what the service says against the bank's book. */
export function judge({ store, bank, world }: Context): Verdict {
  const moved = new Map<string, { times: number; minor: bigint }>();
  for (const { payments } of bank.instructions.values()) {
    for (const { iban, amountMinor, moved: times } of payments) {
      const sum = moved.get(iban) ?? { times: 0, minor: 0n };
      moved.set(iban, { times: sum.times + times, minor: sum.minor + amountMinor * BigInt(times) });
    }
  }
  const rows = store.runs.flatMap((run) => run.planned.flatMap(({ payments }) => payments));
  const said = new Map<string, { paid: boolean; open: boolean; approvedMinor: bigint }>();
  for (const row of rows) said.set(row.approvedIban, together(said.get(row.approvedIban), row));

  let paidTwice = false;
  let paidUnapproved = false;
  let differs = false;
  for (const [iban, { times, minor }] of moved) {
    const employee = said.get(iban);
    paidTwice ||= times > 1;
    paidUnapproved ||= times > 0 && (!employee || minor !== employee.approvedMinor * BigInt(times));
  }
  for (const [iban, { paid, open }] of said) {
    const isPaid = (moved.get(iban)?.times ?? 0) > 0;
    differs ||= !open && paid !== isPaid;
  }
  const asked = store.open.size > 0;
  const stuck = !asked && store.runs.some(({ status }) => !isPayRunFinal(status));
  const told = [...store.open.values()].some((kind) => MONEY_MOVED.includes(kind));
  const silent = (differs && !asked) || ((paidTwice || paidUnapproved) && !told);
  const { outside } = world;
  const { raised, nowMs: endedMs } = store;
  const left = [...new Set(store.open.values())];
  return { outside, paidTwice, paidUnapproved, silent, stuck, raised, left, strayed: bank.strayed, endedMs };
}

/** What is said of an employee, whose payment may have successors. */
function together(
  before: { paid: boolean; open: boolean } | undefined,
  { status, approvedMinor }: Payment,
): { paid: boolean; open: boolean; approvedMinor: bigint } {
  const paid = status === 'SETTLED' || before?.paid === true;
  const open = ['APPROVED', 'AT_BANK', 'SUBMITTED'].includes(status) || before?.open === true;
  return { paid, open, approvedMinor };
}
