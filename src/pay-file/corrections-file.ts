import { Database } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { ERRORS_COLUMN } from '../domain/pay-file-profile';
import { FaultyFile, listFaultyRows } from './faulty-file.store';
import { bytesOf, errorsOf, writeLine } from './faulty-row';
import { markOfFile } from './file-rows';

/** Some hundred kilobytes, whatever the length of the file. */
const ROWS_AT_ONCE = 1_000;

/**
 * The rows that are kept back as the employer writes them, with the errors column at the end. Each part is a
 * transaction of its own, so that a slow client keeps none open.
 */
export async function* correctionsFile(
  database: Database,
  personal: PersonalData,
  employerId: string,
  { id, layout }: Pick<FaultyFile, 'id' | 'layout'>,
): AsyncGenerator<Buffer> {
  yield bytesOf(layout, writeLine(layout, [...layout.header, ERRORS_COLUMN]), true);
  for (let after = 0; ;) {
    const rows = await database.inEmployer(employerId, (tx) =>
      listFaultyRows(tx, personal, id, { after, keptBack: true }, ROWS_AT_ONCE),
    );
    const lines = rows.map((row) => writeLine(layout, [...row.cells, errorsOf(row, markOfFile(id))]));
    if (lines.length > 0) yield bytesOf(layout, lines.join(''), false);
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_AT_ONCE) return;
    after = last.line;
  }
}
