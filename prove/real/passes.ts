import { execute, select } from '../../test/support/database';
import { eventually } from '../../test/support/eventually';
import { type Payroll } from '../../test/support/payroll';

/** The standing reconciler makes a pass every half second. */
const PASSES_WITHIN_MS = 10_000;

/** Has each pass of the standing reconciler say at its end when it began; before the service is started. */
export function tellPasses({ database }: Payroll): Promise<void> {
  return execute(
    database.superuserUrl,
    `ALTER TABLE reconciler_pass ADD COLUMN ended_of timestamptz;
     CREATE FUNCTION pass_ended() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN NEW.ended_of = NEW.checked_at; RETURN NEW; END $$;
     CREATE TRIGGER pass_ended BEFORE UPDATE OF position ON reconciler_pass
       FOR EACH ROW EXECUTE FUNCTION pass_ended()`,
  );
}

/**
 * Waits until the standing reconciler has ended a pass over every employer that began since then; at once where no
 * service runs. @throws where it makes none
 */
export async function reconciledSince(payroll: Payroll, sinceMs: number): Promise<void> {
  const runs = payroll.spawned.some(
    ({ process }) => process.exitCode === null && process.signalCode === null,
  );
  if (!runs) return;
  const isReconciled = async () => {
    const [all] = await select<{ passed: boolean | null }>(
      payroll.database.superuserUrl,
      `SELECT bool_and(coalesce(ended_of >= to_timestamp($1::double precision / 1000), false)) AS passed
       FROM reconciler_pass`,
      [sinceMs],
    );
    return all?.passed === true;
  };
  await eventually(isReconciled, PASSES_WITHIN_MS, () => 'the standing reconciler made no pass');
}
