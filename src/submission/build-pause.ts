import type { Outcome } from '../bank/outcome';
import type { EmployerTransaction } from '../database/database';
import { Claim, stands } from '../database/leases';
import type { StepEnd } from '../database/lease-worker';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { accessRefused } from '../pay-run/refused-access';
import { whyOf } from './call-record';
import type { AfterRefusal } from './decision';
import type { PayableRow, Work } from './work';
import { waitingAfter } from './waits-for';

/**
 * When building goes on after an answer to which nothing more was taken. What was answered stays recorded where somebody else
 * has taken over; only its holder stops anything for it.
 */
export async function pauseAfter(
  tx: EmployerTransaction,
  claim: Claim,
  work: Work,
  next: AfterRefusal,
  {
    path,
    outcome,
    forbidden,
  }: { path: string; outcome: Outcome<unknown>; forbidden?: readonly PayableRow[] },
): Promise<StepEnd> {
  switch (next.kind) {
    case 'doubt':
      return 0;
    case 'refused':
      return 'never';
    case 'wait':
      return waitingAfter(path, outcome, next.ms);
    case 'credentials':
      // The next step finds out whether it is another's now, or only was held for too long.
      if (!(await stands(tx, claim))) return 0;
      await accessRefused(
        tx,
        work.run,
        work.instruction,
        forbidden === undefined
          ? `The bank refused our access while building: ${whyOf(outcome)}.`
          : whatIsForbidden(work, forbidden, whyOf(outcome)),
        forbidden?.map(({ paymentId }) => paymentId),
      );
      return 'never';
  }
}

function whatIsForbidden({ instruction }: Work, forbidden: readonly PayableRow[], why: string): string {
  const rows = textOfFirstFew(
    forbidden.map(({ rowNo }) => String(rowNo)),
    MOST_NAMED,
  );
  const which =
    forbidden.length === 1 ? `1 payment: row ${rows}` : `${forbidden.length} payments: rows ${rows}`;
  return `The bank forbids payments to be added while building, and took none after them: ${why}. In customer instruction ${instruction.bankInstructionId} it forbids ${which}.`;
}
