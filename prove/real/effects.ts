import { select } from '../../test/support/database';
import type { Payroll } from '../../test/support/payroll';

/** Of what people make, and the entries of what they did in the audit chains. */
const MADE = {
  entries: 'audit_entry WHERE person_id IS NOT NULL',
  accounts: 'employer_account',
  actions: 'attention_action',
  amendments: 'amendment',
  approvals: 'approval',
  employers: 'employer',
  profiles: 'pay_file_profile',
  releases: 'pay_release',
  runs: 'pay_run',
  schedules: 'pay_schedule',
} as const;
type Made = keyof typeof MADE;
const KINDS = Object.keys(MADE) as Made[];

/** How many of each were made. */
export type Effects = Partial<Record<Made, number>>;

/** How many there are of each. */
export async function madeSoFar({ database }: Payroll): Promise<Record<Made, number>> {
  const counts = KINDS.map((made) => `(SELECT count(*)::int FROM ${MADE[made]}) AS ${made}`);
  const [row] = await select<Record<Made, number>>(database.superuserUrl, `SELECT ${counts.join(', ')}`);
  if (row === undefined) throw new Error('nothing was counted');
  return row;
}

/**
 * In words, of which kinds others were made between two counts than were to be.
 * @param unknown what was said again so often may have made so many more of what was to be made
 */
export function otherEffects(
  before: Record<Made, number>,
  after: Record<Made, number>,
  expected: Effects,
  unknown = 0,
): string[] {
  return KINDS.flatMap((made) => {
    const count = after[made] - before[made];
    const least = expected[made] ?? 0;
    const most = least === 0 ? 0 : least + unknown;
    return count >= least && count <= most ? [] : [`${count} ${made}, not ${least}`];
  });
}
