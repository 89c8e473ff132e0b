import { setTimeout as sleep } from 'node:timers/promises';
import { execute } from '../../test/support/database';
import type { Report } from '../report';
import { Line } from '../table';
import { Stand } from './stand';

/** The first submit reaches the bank only after the second one was sent. */
const LATE_MS = 12_000;

/**
 * A parked submit is armed again by hand, past every trigger, at a bank that executes a second submit. With the unique
 * index nobody is paid twice; with the index dropped the same hand pays everybody twice. Answers whether it did so.
 */
export async function proveWithoutUnique(report: Report): Promise<boolean> {
  const guarded = await armByHand('armed by hand, with the unique index', undefined, report);
  const bare = await armByHand(
    'armed by hand, the unique index dropped',
    'one_submit_per_planned_instruction',
    report,
  );
  return !guarded && bare;
}

async function armByHand(fault: string, dropped: string | undefined, report: Report): Promise<boolean> {
  const stand = await Stand.open({
    sandbox: { variants: { secondSubmit: 'executed' } },
    // The standing reconciler would see the hand and stop the employer before the second submit.
    settings: { RECONCILE_MS: '300000' },
  });
  const { payroll } = stand;
  const { superuserUrl } = payroll.database;
  try {
    if (dropped !== undefined) await execute(superuserUrl, `DROP INDEX ${dropped}`);
    const rows = stand.freshRows(1);
    await payroll.fault({ operation: 'submit', kind: 'late-commit', nth: 1, delayMs: LATE_MS });
    const id = await stand.pay(rows);
    await payroll.until(id, ['FOLLOWING'], LATE_MS);
    await execute(superuserUrl, PAST_EVERY_TRIGGER);
    await sleep(LATE_MS + 2_000);
    const { payees } = await payroll.ledger();
    const paidTwice = rows.some(({ iban }) => (payees.find((payee) => payee.iban === iban)?.count ?? 0) > 1);
    const attention = (await payroll.attention()).length > 0;
    const line = new Line(fault, 'outside');
    line.add({ paidTwice, paidUnapproved: false, silent: paidTwice && !attention, stuck: false, attention });
    report.line(line);
    return paidTwice;
  } finally {
    await stand.close();
  }
}

const PAST_EVERY_TRIGGER = `
  SET session_replication_role = replica;
  UPDATE instruction SET status = 'VERIFIED' WHERE status = 'SUBMIT_UNKNOWN';
  UPDATE pay_run SET status = 'SUBMITTING' WHERE status = 'FOLLOWING';
  UPDATE lease SET wake_at = now() WHERE kind = 'INSTRUCTION'`;
