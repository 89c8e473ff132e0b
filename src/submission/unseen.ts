import { EmployerTransaction } from '../database/database';
import { Claim, isThere, missingForMs } from '../database/leases';
import { Alarm, clear, raiseNaming } from '../pay-run/attention.store';
import type { AttentionKind } from '../pay-run/attention-words';

/** How long the bank may not show what a submit needs before a person is told. */
const UNSEEN_DEADLINE_MS = 600_000;

/** What may not be shown: the rows of an instruction, whole and as they were added, or what a payment replaces. */
type Needed = 'ROWS' | 'REPLACED';

/** What is asked about it. */
const KINDS = { ROWS: 'ROW_UNSEEN', REPLACED: 'REPLACED_UNSEEN' } as const satisfies Record<
  Needed,
  AttentionKind
>;

/** A question about what the bank does not show, whatever it is asked about. */
export type Unseen = Omit<Alarm, 'kind'>;

/**
 * Tells a person, once, of what the bank has not shown for too long since it was first looked for in vain; anew where
 * what is open lacks one of the words that matter.
 * @param until when it is asked no more, as for `raiseNaming`
 */
export async function tellOfUnseen(
  tx: EmployerTransaction,
  claim: Claim,
  needed: Needed,
  unseen: Unseen,
  words: readonly string[] = [],
  until: 'decided' | 'over' = 'decided',
): Promise<void> {
  if (missingForMs(tx, claim, needed) < UNSEEN_DEADLINE_MS) return;
  await raiseNaming(tx, { kind: KINDS[needed], ...unseen }, words, until);
}

/** Between reads that wait for it: seldom, the longer it is not shown, since the bank counts them. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
/** A fortieth of the wait so far is hardly noticed beside it. */
const PART_OF_WAIT = 40;

/** How long to wait before what the bank does not show is looked for again, in ms. */
export function pauseWhileUnseen({ missing }: Pick<Claim, 'missing'>, needed: Needed): number {
  const forMs = missing?.what === needed ? missing.forMs : 0;
  return Math.min(Math.max(SHORTEST_PAUSE_MS, forMs / PART_OF_WAIT), LONGEST_PAUSE_MS);
}

/** The bank shows it: nobody needs to be asked about it. */
export async function nowSeen(
  tx: EmployerTransaction,
  claim: Claim,
  needed: Needed,
  subjectId: string,
): Promise<void> {
  if (claim.missing?.what !== needed) return;
  isThere(tx, claim, needed);
  await clear(tx, [KINDS[needed]], subjectId, 'the bank shows it again');
}
