import { isPayRunFinal } from '../../src/domain/pay-run';
import type { PaymentStatus } from '../../src/domain/payment';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import type { Context } from './context';
import type { Payment, Run } from './store';
import type { Outside } from './world';

/** What became of a seed, by the bank's own book. */
export interface Verdict {
  outside: Outside | undefined;
  paidTwice: boolean;
  /** Somebody, or some amount, that nobody approved. */
  paidUnapproved: boolean;
  /**
   * The service says something else than the book, or nothing final of a payment whose run is, and no attention is open; or
   * one of the above and none says so.
   */
  silent: boolean;
  /** Not final, and no attention is open. */
  stuck: boolean;
  raised: ReadonlySet<AttentionKind>;
  /** What people have not decided in the end. */
  left: readonly AttentionKind[];
  /** Whether they left something though everything was as assumed and nobody went around them. */
  undecided: boolean;
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

/** States in which the service says nothing final of a payment. */
const OPEN: readonly PaymentStatus[] = ['APPROVED', 'AT_BANK', 'SUBMITTED'];

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
  differs ||= store.runs.some(leavesOpen);
  const asked = store.open.size > 0;
  const stuck = !asked && store.runs.some(({ status }) => !isPayRunFinal(status));
  const told = [...store.open.values()].some((kind) => MONEY_MOVED.includes(kind));
  const silent = (differs && !asked) || ((paidTwice || paidUnapproved) && !told);
  const { outside, tampered, armedByHand } = world;
  const { raised, nowMs: endedMs } = store;
  const left = [...new Set(store.open.values())];
  const undecided = asked && outside === undefined && !tampered && !armedByHand;
  const { strayed } = bank;
  return { outside, paidTwice, paidUnapproved, silent, stuck, raised, left, undecided, strayed, endedMs };
}

/** Whether a run is final and one of its payments is not; all of one that was cancelled is CANCELLED. */
function leavesOpen({ status, planned }: Run): boolean {
  const statuses = planned.flatMap(({ payments }) => payments.map((one) => one.status));
  if (status === 'CANCELLED') return statuses.some((one) => one !== 'CANCELLED');
  return isPayRunFinal(status) && statuses.some((one) => OPEN.includes(one));
}

/** What is said of an employee, whose payment may have successors. */
function together(
  before: { paid: boolean; open: boolean } | undefined,
  { status, approvedMinor }: Payment,
): { paid: boolean; open: boolean; approvedMinor: bigint } {
  const paid = status === 'SETTLED' || before?.paid === true;
  const open = OPEN.includes(status) || before?.open === true;
  return { paid, open, approvedMinor };
}
