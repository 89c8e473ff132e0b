import { Database } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { DIFFERENCE_KINDS } from '../domain/difference';
import { csvLine } from '../http/csv';
import { DifferenceDocument } from './comparison.dto';
import { listDifferences } from './comparison.reads';
import { showDifference } from './comparison.view';
import { PayRun } from './pay-run.entity';

/** Some hundred kilobytes, whatever the length of the run. */
const ROWS_AT_ONCE = 1_000;

const HEADER = csvLine([
  'kind',
  'row',
  'employee_id',
  'name',
  'iban',
  'amount',
  'payment_id',
  'before_employee_id',
  'before_name',
  'before_iban',
  'before_amount',
  'before_payment_id',
  'before_pay_run_id',
  'ticked_by',
  'ticked_at',
]);

/**
 * What the given version of a run differs in from the pay before it, as CSV in the order of the kinds and rows. Each
 * part is a transaction of its own, so that a slow client keeps none open.
 */
export async function* differencesFile(
  database: Database,
  personal: PersonalData,
  employerId: string,
  run: PayRun,
): AsyncGenerator<string> {
  yield HEADER;
  for (const kind of DIFFERENCE_KINDS) {
    for (let after = 0; ;) {
      const rows = await database.inEmployer(employerId, (tx) =>
        listDifferences(tx, run, { kind, after }, ROWS_AT_ONCE),
      );
      const lines = rows.map((row) => lineOf(showDifference(row, (sealed) => personal.open(sealed))));
      if (lines.length > 0) yield lines.join('');
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_AT_ONCE) break;
      after = last.n;
    }
  }
}

function lineOf({ kind, now, before, ticked }: DifferenceDocument): string {
  return csvLine([
    kind,
    now?.row ?? null,
    ...sideOf(now),
    ...sideOf(before),
    before?.payRunId ?? null,
    ticked?.person.name ?? null,
    ticked?.at ?? null,
  ]);
}

function sideOf(side: DifferenceDocument['now'] | DifferenceDocument['before']): (string | null)[] {
  if (!side) return [null, null, null, null, null];
  return [side.employeeId, side.name, side.iban, side.amount, side.paymentId];
}
